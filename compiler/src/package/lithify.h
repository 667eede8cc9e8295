#ifndef LITHIFY_H
#define LITHIFY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. Fields keep their places and meanings; lithify_options and lithify_model grow at the end. */
#define LITHIFY_ABI_VERSION 1u

/* Kinds of values; the others are reserved. */
#define LITHIFY_TENSOR 0u
#define LITHIFY_SEQUENCE 1u
#define LITHIFY_OPTIONAL 2u
#define LITHIFY_MAP 3u

/* Flag of a value: its data was allocated by the library; give it back with the model's release function. */
#define LITHIFY_ALLOCATED 1u

/* Entry of lithify_port.dims for a size that is decided during the run. */
#define LITHIFY_DIM_RUNTIME INT64_MIN

/* Results. The error function of a model has the message of a failed run. */
typedef enum lithify_status {
    LITHIFY_OK = 0,
    LITHIFY_INVALID_ARGUMENT = 1,
    LITHIFY_WRONG_TYPE = 2,
    LITHIFY_WRONG_RANK = 3,
    LITHIFY_WRONG_SHAPE = 4,
    LITHIFY_BUFFER_TOO_SMALL = 5,
    LITHIFY_OVERLAPPING_BUFFERS = 6,
    LITHIFY_OUT_OF_MEMORY = 7,
    LITHIFY_WORKSPACE_TOO_SMALL = 8,
    LITHIFY_UNSUPPORTED_CPU = 9,
    LITHIFY_INDEX_OUT_OF_RANGE = 10,
    LITHIFY_CHECK_FAILED = 11,
    LITHIFY_INVALID_VALUE = 12,
    LITHIFY_VERSION_MISMATCH = 13
} lithify_status;

/* Element types, with their numbers in ONNX. Types below 8 bits are packed, the first element in the low bits. */
typedef enum lithify_element_type {
@ELEMENTS@
} lithify_element_type;

/* An element of type LITHIFY_STRING. */
typedef struct lithify_string {
    const char *data;
    uint64_t bytes;
} lithify_string;

/* An input or output of a run. */
typedef struct lithify_value {
    uint32_t kind;
    int32_t element_type;
    /* Elements in row-major order, of any alignment. Null in an output: the library allocates it. */
    void *data;
    /* Inputs: size of the data. Outputs: room in the data before the run, size after it. */
    uint64_t bytes;
    /* Shape. Outputs: room for it. */
    int64_t *dims;
    /* Inputs: entries of dims. Outputs: room in dims before the run, entries after it. */
    uint32_t rank;
    uint32_t flags;
    /* Items of a sequence, optional or map. */
    struct lithify_value *items;
    uint64_t count;
} lithify_value;

/* What a model says about an input or output. */
typedef struct lithify_port {
    const char *name;
    uint32_t kind;
    int32_t element_type;
    /* Sizes: from 0 fixed, -1 - k for symbol number k, or LITHIFY_DIM_RUNTIME. */
    const int64_t *dims;
    uint32_t rank;
    uint32_t reserved;
} lithify_port;

/* Choices of a context; set size to sizeof(lithify_options) and all that is not needed to 0. */
typedef struct lithify_options {
    size_t size;
    /* Workspace owned by the caller, used by one context; without it the context allocates one when it needs it. */
    void *workspace;
    uint64_t workspace_bytes;
    /* Threads that a run may use; 0 and 1 for the calling thread alone. */
    uint32_t threads;
    uint32_t reserved;
    /* Calls task(data, begin, end) for ranges that together cover 0 to count once, on any threads, and waits for them. */
    void (*parallel_for)(void *user, void (*task)(void *data, int64_t begin, int64_t end), void *data, int64_t count);
    void *parallel_user;
} lithify_options;

/* The state of one caller of a model. Contexts are independent; one context runs in one thread at a time. */
typedef struct lithify_context lithify_context;

/* A model, for hosts that know nothing about it. */
typedef struct lithify_model {
    uint32_t abi_version;
    uint32_t size;
    const char *name;
    /* JSON text: compiler version, options, metadata. */
    const char *build;
    uint32_t input_count;
    uint32_t output_count;
    const lithify_port *inputs;
    const lithify_port *outputs;
    const char *const *symbols;
    uint32_t symbol_count;
    uint32_t reserved;
    uint64_t cpu_features;
    int32_t (*create)(const lithify_options *options, lithify_context **context);
    void (*destroy)(lithify_context *context);
    int32_t (*run)(lithify_context *context, const lithify_value *inputs, size_t input_count, lithify_value *outputs,
                   size_t output_count);
    const char *(*error)(const lithify_context *context);
    int64_t (*workspace_bytes)(lithify_context *context, const int64_t *dims, size_t count);
    void (*release)(lithify_context *context, lithify_value *value);
} lithify_model;

/* A tensor as a value. */
static inline lithify_value lithify_tensor(int32_t element_type, const void *data, uint64_t bytes, int64_t *dims,
                                           uint32_t rank) {
    lithify_value value;
    value.kind = LITHIFY_TENSOR;
    value.element_type = element_type;
    value.data = (void *)data;
    value.bytes = bytes;
    value.dims = dims;
    value.rank = rank;
    value.flags = 0;
    value.items = NULL;
    value.count = 0;
    return value;
}

#ifdef __cplusplus
}
#endif

#endif /* LITHIFY_H */
