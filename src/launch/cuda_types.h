/* The part of the driver's binary interface that we use: handles, constants, launch structs. The
 * build needs no CUDA header; if one is installed, tests/launch compares every line of this file
 * with it. */
#ifndef STN_LAUNCH_CUDA_TYPES_H
#define STN_LAUNCH_CUDA_TYPES_H
#include <stddef.h>
#include <stdint.h>

/* Handles have the driver's own struct tags, so that pointers from cuda.h or the CUDA runtime need
 * no cast. */
typedef struct CUctx_st *stn_cu_context;
typedef struct CUmod_st *stn_cu_module;
typedef struct CUfunc_st *stn_cu_function;
typedef struct CUstream_st *stn_cu_stream;
typedef struct CUevent_st *stn_cu_event;
typedef struct CUgraph_st *stn_cu_graph;
typedef struct CUgraphExec_st *stn_cu_graph_exec;
typedef int stn_cu_device;
typedef unsigned long long stn_cu_pointer; /* a device address */
typedef unsigned stn_cu_result;            /* 0: success */
typedef unsigned stn_cu_enum;              /* every enumerated argument */

typedef struct stn_cu_uuid {
    unsigned char bytes[16];
} stn_cu_uuid;

/* The driver's names and values; each becomes STN_<name>. */
#define STN_CU_CONSTANT_LIST(X)                                                                                        \
    X(CUDA_SUCCESS, 0)                                                                                                 \
    X(CUDA_ERROR_INVALID_VALUE, 1)                                                                                     \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                                     \
    X(CUDA_ERROR_NOT_INITIALIZED, 3)                                                                                   \
    X(CUDA_ERROR_DEINITIALIZED, 4)                                                                                     \
    X(CUDA_ERROR_STUB_LIBRARY, 34)                                                                                     \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                                                               \
    X(CUDA_ERROR_NO_DEVICE, 100)                                                                                       \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                                                                                  \
    X(CUDA_ERROR_INVALID_IMAGE, 200)                                                                                   \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                                                 \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                                               \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                                               \
    X(CUDA_ERROR_INVALID_PTX, 218)                                                                                     \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)                                                                          \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                                         \
    X(CUDA_ERROR_INVALID_HANDLE, 400)                                                                                  \
    X(CUDA_ERROR_NOT_FOUND, 500)                                                                                       \
    X(CUDA_ERROR_NOT_READY, 600)                                                                                       \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                                                 \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                                         \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                                                  \
    X(CUDA_ERROR_ASSERT, 710)                                                                                          \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                                             \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                                              \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                                                   \
    X(CUDA_ERROR_NOT_PERMITTED, 800)                                                                                   \
    X(CUDA_ERROR_NOT_SUPPORTED, 801)                                                                                   \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802)                                                                                \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                                          \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804)                                                                  \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                                                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                                                                      \
    X(CUDA_ERROR_UNKNOWN, 999)                                                                                         \
    X(CU_GET_PROC_ADDRESS_DEFAULT, 0)                                                                                  \
    X(CU_GET_PROC_ADDRESS_SUCCESS, 0)                                                                                  \
    X(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1)                                                                         \
    X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)                                                                   \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                                                                    \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                              \
    X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                                                              \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                                    \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                                                                       \
    X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                                                                 \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                                           \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                          \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                                \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                                    \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                                                        \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                                       \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                                      \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                                          \
    X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                                                           \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                                                   \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                              \
    X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)                                                         \
    X(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                                      \
    X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                                                                           \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                                                             \
    X(CU_MEMORYTYPE_HOST, 1)                                                                                           \
    X(CU_MEMORYTYPE_DEVICE, 2)                                                                                         \
    X(CU_EVENT_DEFAULT, 0)                                                                                             \
    X(CU_EVENT_DISABLE_TIMING, 2)                                                                                      \
    X(CU_STREAM_DEFAULT, 0)                                                                                            \
    X(CU_STREAM_NON_BLOCKING, 1)                                                                                       \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                                                \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                                                                \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                                          \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)                                                                               \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                                                        \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)

enum {
#define STN_CU_CONSTANT(name, value) STN_##name = value,
    STN_CU_CONSTANT_LIST(STN_CU_CONSTANT)
#undef STN_CU_CONSTANT
};

/* One side of a copy of rows, as in CUDA_MEMCPY3D_PEER. */
typedef struct stn_cu_copy_side {
    size_t x, y, z, level;
    stn_cu_enum memory_type; /* 2: device memory */
    const void *host;
    stn_cu_pointer device;
    void *array;
    stn_cu_context context;
    size_t pitch, height; /* bytes from one row to the next; rows of a plane */
} stn_cu_copy_side;

typedef struct stn_cu_memcpy_3d_peer {
    stn_cu_copy_side from, to;
    size_t width, height, depth; /* bytes, rows, planes */
} stn_cu_memcpy_3d_peer;

/* This struct and the next one are read by cuLaunchKernelEx. */
typedef struct stn_cu_launch_attribute {
    stn_cu_enum id;
    char padding[4];
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } cluster;
        int programmatic_stream_serialization;
    } value;
} stn_cu_launch_attribute;

typedef struct stn_cu_launch_config {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    stn_cu_stream stream;
    stn_cu_launch_attribute *attributes;
    unsigned attribute_count;
} stn_cu_launch_config;
#endif
