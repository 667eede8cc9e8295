/* Four contexts of one model at once, each with shapes of its own that change from run to run. */
#include <pthread.h>

#include "contract.h"
#include "sums.h"

enum { ROUNDS = 200, ROWS = 60 };

static void *work(void *argument) {
    const int64_t first = *(const int64_t *)argument;
    float x[4 * ROWS], y[8 * ROWS];
    lithify_context *context = NULL;
    int round;
    CHECK(sums_create(NULL, &context) == LITHIFY_OK);
    for (round = 0; round < ROUNDS; round++) {
        const int64_t rows = (first * 13 + round * 7) % ROWS;
        int64_t row, column;
        for (row = 0; row < 4 * rows; row++) x[row] = (float)(first + row % 5);
        CHECK(sums_infer(context, x, y, rows) == LITHIFY_OK);
        for (column = 0; column < 4; column++) {
            float sum = 0;
            for (row = 0; row < rows; row++) {
                sum += x[4 * row + column];
                CHECK(y[8 * row + column] == x[4 * row + column] && y[8 * row + 4 + column] == 2 * sum);
            }
        }
    }
    sums_destroy(context);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    const int64_t numbers[4] = {0, 1, 2, 3};
    int i;
    for (i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)&numbers[i]) == 0);
    for (i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
