/* Two models in one program: one scores images of digits, the other turns scores into probabilities. */
#include "digits.h"
#include "probabilities.h"

#include <stdio.h>

#define ROWS 2

int main(void) {
    float images[ROWS][64], scores[ROWS][10], shares[ROWS][10];
    lithify_context *reader = NULL, *normalizer = NULL;
    int failed = digits_create(NULL, &reader) != LITHIFY_OK || probabilities_create(NULL, &normalizer) != LITHIFY_OK;

    /* Two images with a vertical stroke, the second a faint one. */
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < 64; i++) {
            images[row][i] = i % 8 == 3 || i % 8 == 4 ? (row == 0 ? 1.0f : 0.25f) : 0.0f;
        }
    }
    for (int row = 0; row < ROWS && !failed; row++) {
        failed = digits_infer(reader, images[row], scores[row]) != LITHIFY_OK;
    }
    /* The second model takes any number of rows: its symbolic dimension is the last argument. */
    failed = failed || probabilities_infer(normalizer, scores[0], shares[0], ROWS) != LITHIFY_OK;
    for (int row = 0; row < ROWS && !failed; row++) {
        int best = 0;
        for (int digit = 1; digit < 10; digit++) {
            best = shares[row][digit] > shares[row][best] ? digit : best;
        }
        printf("%d with probability %.3f\n", best, shares[row][best]);
    }
    if (failed) {
        fprintf(stderr, "%s%s\n", digits_error(reader), probabilities_error(normalizer));
    }
    digits_destroy(reader);
    probabilities_destroy(normalizer);
    return failed;
}
