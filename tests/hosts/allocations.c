/* Counts allocations: none from the second run of a shape on, and none beyond what larger shapes have needed. */
#include "contract.h"
#include "shifted.h"
#include "sums.h"

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void __libc_free(void *memory);

static long calls;

/* Takes the place of libc's functions in the whole program, shared libraries included. */
void *malloc(size_t bytes) { calls++; return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { calls++; return __libc_calloc(count, bytes); }
void *realloc(void *memory, size_t bytes) { calls++; return __libc_realloc(memory, bytes); }
void free(void *memory) { calls++; __libc_free(memory); }

int main(void) {
    static float x[400], y[800];
    lithify_context *fixed = NULL, *open = NULL;
    long before = calls;
    int64_t n;
    int round;
    CHECK(shifted_create(NULL, &fixed) == LITHIFY_OK && sums_create(NULL, &open) == LITHIFY_OK);
    CHECK(calls > before);
    CHECK(shifted_infer(fixed, x, y) == LITHIFY_OK && sums_infer(open, x, y, 100) == LITHIFY_OK);
    before = calls;
    for (round = 0; round < 50; round++) {
        CHECK(shifted_infer(fixed, x, y) == LITHIFY_OK);
        for (n = 0; n <= 100; n += 7) CHECK(sums_infer(open, x, y, n) == LITHIFY_OK);
        CHECK(sums_infer(open, x, y, -1) != LITHIFY_OK);
    }
    CHECK(calls == before);
    shifted_destroy(fixed);
    sums_destroy(open);
    CHECK(calls > before);
    return 0;
}
