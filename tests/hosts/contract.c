/* What the interface promises about wrong calls: an error code, a message, and a context that still works. */
#include "contract.h"
#include "kept.h"
#include "sums.h"

static float memory[64];

static lithify_value tensor(int32_t type, void *data, uint64_t bytes, int64_t *dims, uint32_t rank) {
    return lithify_tensor(type, data, bytes, dims, rank);
}

static void values_of_wrong_form(void) {
    lithify_context *context = NULL;
    int64_t good[2] = {2, 4}, bad[2] = {2, 5}, negative[2] = {-1, 4}, huge[2] = {INT64_C(1) << 62, 4}, out[2] = {0, 0};
    lithify_value x = tensor(LITHIFY_F32, memory, 32, good, 2), y = tensor(LITHIFY_F32, memory + 8, 64, out, 2), v;
    CHECK(sums_create(NULL, &context) == LITHIFY_OK);
#define RUN(input, output) (v = (output), sums_run(context, &(lithify_value){(input).kind, (input).element_type, (input).data, \
    (input).bytes, (input).dims, (input).rank, 0, NULL, 0}, 1, &v, 1))
    CHECK(RUN(x, y) == LITHIFY_OK && out[0] == 2 && out[1] == 8 && v.bytes == 64);
    CHECK_FAILS(sums, RUN(tensor(LITHIFY_I64, memory, 32, good, 2), y), LITHIFY_WRONG_TYPE, "x");
    CHECK_FAILS(sums, RUN(tensor(LITHIFY_F32, memory, 32, good, 1), y), LITHIFY_WRONG_RANK, "x");
    CHECK_FAILS(sums, RUN(tensor(LITHIFY_F32, memory, 32, NULL, 2), y), LITHIFY_WRONG_RANK, "x");
    CHECK_FAILS(sums, RUN(tensor(LITHIFY_F32, memory, 40, bad, 2), y), LITHIFY_WRONG_SHAPE, "dimension 1 is 5");
    CHECK_FAILS(sums, RUN(tensor(LITHIFY_F32, memory, 32, negative, 2), y), LITHIFY_WRONG_SHAPE, "-1");
    CHECK_FAILS(sums, RUN(tensor(LITHIFY_F32, memory, 31, good, 2), y), LITHIFY_BUFFER_TOO_SMALL, "x");
    CHECK_FAILS(sums, RUN(tensor(LITHIFY_F32, NULL, 32, good, 2), y), LITHIFY_BUFFER_TOO_SMALL, "x");
    CHECK(RUN(tensor(LITHIFY_F32, memory, 32, huge, 2), y) != LITHIFY_OK && *sums_error(context));
    CHECK_FAILS(sums, RUN(x, tensor(LITHIFY_F32, memory + 8, 63, out, 2)), LITHIFY_BUFFER_TOO_SMALL, "y");
    CHECK_FAILS(sums, RUN(x, tensor(LITHIFY_I32, memory + 8, 64, out, 2)), LITHIFY_WRONG_TYPE, "y");
    CHECK_FAILS(sums, RUN(x, tensor(LITHIFY_F32, memory + 8, 64, out, 1)), LITHIFY_WRONG_RANK, "y");
    CHECK_FAILS(sums, RUN(x, tensor(LITHIFY_F32, memory + 7, 64, out, 2)), LITHIFY_OVERLAPPING_BUFFERS, "y");
    CHECK_FAILS(sums, RUN(x, tensor(LITHIFY_F32, memory, 64, out, 2)), LITHIFY_OVERLAPPING_BUFFERS, "y");
    CHECK_FAILS(sums, sums_run(context, &x, 0, &y, 1), LITHIFY_INVALID_ARGUMENT, "inputs");
    CHECK_FAILS(sums, sums_run(context, &x, 1, &y, 0), LITHIFY_INVALID_ARGUMENT, "outputs");
    CHECK(sums_run(NULL, &x, 1, &y, 1) == LITHIFY_INVALID_ARGUMENT);
    CHECK(sums_run(context, NULL, 1, &y, 1) == LITHIFY_INVALID_ARGUMENT);
    CHECK(sums_create(NULL, NULL) == LITHIFY_INVALID_ARGUMENT);
    CHECK(RUN(x, y) == LITHIFY_OK && *sums_error(context) == 0);
    sums_destroy(context);
}

static void buffers_of_any_alignment(void) {
    lithify_context *context = NULL;
    char input[33], output[65];
    const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const float wanted[16] = {1, 2, 3, 4, 2, 4, 6, 8, 5, 6, 7, 8, 12, 16, 20, 24};
    int64_t in[2] = {2, 4}, out[2];
    int skip;
    CHECK(sums_create(NULL, &context) == LITHIFY_OK);
    for (skip = 0; skip < 2; skip++) {
        lithify_value from = tensor(LITHIFY_F32, input + skip, 32, in, 2);
        lithify_value to = tensor(LITHIFY_F32, output + skip, 64, out, 2);
        memcpy(input + skip, x, 32);
        CHECK(sums_run(context, &from, 1, &to, 1) == LITHIFY_OK);
        CHECK(memcmp(output + skip, wanted, 64) == 0 && memcmp(input + skip, x, 32) == 0);
    }
    sums_destroy(context);
}

static void empty_tensors(void) {
    lithify_context *context = NULL;
    CHECK(sums_create(NULL, &context) == LITHIFY_OK);
    CHECK(sums_infer(context, memory, memory, 0) == LITHIFY_OK);
    CHECK(sums_infer(context, NULL, NULL, 0) == LITHIFY_OK);
    sums_destroy(context);
}

static void indices_and_late_outputs(void) {
    lithify_context *context = NULL;
    const float x[3] = {5, -6, 7};
    const uint8_t keep[3] = {1, 1, 1};
    const int64_t good[2] = {1, -1}, bad[2] = {0, 3};
    float room[3], picked[4];
    int64_t dims[1];
    lithify_value small = tensor(LITHIFY_F32, room, 8, dims, 1), fits = tensor(LITHIFY_F32, room, 12, dims, 1);
    lithify_value over = tensor(LITHIFY_F32, picked, 16, dims, 1), flat = tensor(LITHIFY_F32, room, 12, dims, 0);
    CHECK(kept_create(NULL, &context) == LITHIFY_OK);
    CHECK_FAILS(kept, kept_infer(context, x, keep, bad, &fits, picked, 3), LITHIFY_INDEX_OUT_OF_RANGE, "Gather");
    CHECK_FAILS(kept, kept_infer(context, x, keep, good, &small, picked, 3), LITHIFY_BUFFER_TOO_SMALL, "positive");
    CHECK_FAILS(kept, kept_infer(context, x, keep, good, &over, picked, 3), LITHIFY_OVERLAPPING_BUFFERS, "p");
    CHECK_FAILS(kept, kept_infer(context, x, keep, good, &flat, picked, 3), LITHIFY_WRONG_RANK, "positive");
    CHECK(kept_infer(context, x, keep, good, &fits, picked, 3) == LITHIFY_OK);
    CHECK(dims[0] == 3 && fits.bytes == 12 && fits.flags == 0 && room[0] == 5 && room[1] == 0 && room[2] == 7);
    kept_destroy(context);
}

static void workspace_of_the_caller(void) {
    lithify_context *context = NULL, *asked = NULL;
    lithify_options options;
    int64_t dims[2] = {2, 4}, more[2] = {200, 4}, wrong[2] = {2, 5};
    float *x = calloc(800, 4), *y = malloc(6400);
    int64_t bytes;
    char *own;
    CHECK(sums_create(NULL, &asked) == LITHIFY_OK);
    bytes = sums_workspace_bytes(asked, dims, 2);
    CHECK(bytes > 64 && sums_workspace_bytes(asked, more, 2) > bytes);
    CHECK(sums_workspace_bytes(asked, wrong, 2) < 0 && sums_workspace_bytes(asked, dims, 1) < 0);
    own = malloc((size_t)bytes + 2);
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.workspace = own + 1;
    options.workspace_bytes = (uint64_t)bytes;
    own[bytes + 1] = 77;
    own[0] = 77;
    CHECK(sums_create(&options, &context) == LITHIFY_OK);
    CHECK(sums_infer(context, x, y, 2) == LITHIFY_OK);
    CHECK_FAILS(sums, sums_infer(context, x, y, 200), LITHIFY_WORKSPACE_TOO_SMALL, "workspace");
    CHECK(sums_infer(context, x, y, 2) == LITHIFY_OK);
    CHECK(own[bytes + 1] == 77 && own[0] == 77);
    sums_destroy(context);
    options.size = 4;
    CHECK(sums_create(&options, &context) == LITHIFY_VERSION_MISMATCH && context == NULL);
    sums_destroy(asked);
    free(own);
    free(x);
    free(y);
}

int main(void) {
    values_of_wrong_form();
    buffers_of_any_alignment();
    empty_tensors();
    indices_and_late_outputs();
    workspace_of_the_caller();
    return 0;
}
