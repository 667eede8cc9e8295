/* Two models in one program, through their typed functions. */
#include "contract.h"
#include "kept.h"
#include "shifted.h"

int main(void) {
    lithify_context *shifted = NULL, *kept = NULL;
    const float x[6] = {-3, 3, 0, 1, 2, -5};
    const float wanted[6] = {0, 1, 0.5f, 2, 0, 0};
    float y[6], picked[4];
    const uint8_t keep[6] = {0, 1, 0, 1, 1, 1};
    const int64_t rows[2] = {2, -3};
    int64_t dims[1] = {0};
    int round;
    CHECK(shifted_create(NULL, &shifted) == LITHIFY_OK);
    CHECK(kept_create(NULL, &kept) == LITHIFY_OK);
    for (round = 0; round < 3; round++) {
        lithify_value positive = lithify_tensor(LITHIFY_F32, NULL, 0, dims, 1);
        CHECK(shifted_infer(shifted, x, y) == LITHIFY_OK);
        CHECK(memcmp(y, wanted, sizeof y) == 0);
        CHECK(kept_infer(kept, x, keep, rows, &positive, picked, 6) == LITHIFY_OK);
        CHECK(positive.bytes == 16 && dims[0] == 4 && (positive.flags & LITHIFY_ALLOCATED));
        CHECK(memcmp(positive.data, (float[4]){3, 1, 2, 0}, 16) == 0);
        CHECK(memcmp(picked, (float[4]){20, 21, 0, 1}, 16) == 0);
        kept_release(kept, &positive);
        CHECK(positive.data == NULL && positive.flags == 0);
    }
    CHECK(strcmp(shifted_model()->name, "shifted") == 0 && strcmp(kept_model()->name, "kept") == 0);
    CHECK(shifted_model()->abi_version == LITHIFY_ABI_VERSION && kept_model()->symbol_count >= 1);
    shifted_destroy(shifted);
    kept_destroy(kept);
    shifted_destroy(NULL);
    return 0;
}
