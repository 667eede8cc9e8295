/* Loads, uses and unloads a library again and again, through the generic table alone. */
#include <dlfcn.h>

#include "contract.h"
#include "shifted.h"

int main(int count, char **arguments) {
    int round;
    CHECK(count == 2);
    for (round = 0; round < 20; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        const lithify_model *(*model)(void);
        const lithify_model *table;
        lithify_context *context = NULL;
        const float x[6] = {0, 0, 0, 1, 1, 1};
        float y[6] = {0};
        int64_t in[2] = {2, 3}, out[2];
        lithify_value from = lithify_tensor(LITHIFY_F32, x, sizeof x, in, 2);
        lithify_value to = lithify_tensor(LITHIFY_F32, y, sizeof y, out, 2);
        CHECK(library);
        *(void **)&model = dlsym(library, "shifted_model");
        CHECK(model);
        table = model();
        CHECK(table->input_count == 1 && table->inputs[0].rank == 2 && table->inputs[0].dims[1] == 3);
        CHECK(table->create(NULL, &context) == LITHIFY_OK);
        CHECK(table->run(context, &from, 1, &to, 1) == LITHIFY_OK && y[0] == 1 && y[4] == 0 && y[5] == 1.5f);
        table->destroy(context);
        CHECK(dlclose(library) == 0);
        CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
    }
    return 0;
}
