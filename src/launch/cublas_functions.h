/* X-macro lists of the cuBLAS functions and constants that we use. If the toolkit's header is
 * installed, tests/launch compares them with it. */
#ifndef STN_LAUNCH_CUBLAS_FUNCTIONS_H
#define STN_LAUNCH_CUBLAS_FUNCTIONS_H
#include "launch/cuda_types.h"

typedef struct stn_cublas_context *stn_cublas_handle;
/* cublasOperation_t, cudaDataType, cublasComputeType_t, cublasGemmAlgo_t */
typedef unsigned stn_cublas_operation, stn_cublas_type, stn_cublas_compute;
typedef int stn_cublas_algorithm;

/* cuBLAS's status values, and advice for the user. */
#define STN_CUBLAS_RESULT_LIST(X)                                                                                      \
    X(CUBLAS_STATUS_SUCCESS, 0, "")                                                                                    \
    X(CUBLAS_STATUS_NOT_INITIALIZED, 1, "check that the driver is as new as this cuBLAS needs")                        \
    X(CUBLAS_STATUS_ALLOC_FAILED, 3, "free device memory")                                                             \
    X(CUBLAS_STATUS_INVALID_VALUE, 7, "please report this message")                                                    \
    X(CUBLAS_STATUS_ARCH_MISMATCH, 8, "use another strategy: this GPU lacks what the type needs")                      \
    X(CUBLAS_STATUS_EXECUTION_FAILED, 13, "check that the pointers are device memory that holds the layer")            \
    X(CUBLAS_STATUS_INTERNAL_ERROR, 14, "check that the driver is as new as this cuBLAS needs")                        \
    X(CUBLAS_STATUS_NOT_SUPPORTED, 15, "use another strategy or dtype")

typedef enum stn_cublas_result {
#define STN_CUBLAS_RESULT_ENUM(name, value, advice) STN_##name = value,
    STN_CUBLAS_RESULT_LIST(STN_CUBLAS_RESULT_ENUM)
#undef STN_CUBLAS_RESULT_ENUM
} stn_cublas_result;

/* cublasOperation_t, cublasComputeType_t, cublasGemmAlgo_t; the element types (cudaDataType) are in
 * launch/cufft_functions.h. */
enum { STN_CUBLAS_OP_N = 0, STN_CUBLAS_OP_T = 1, STN_CUBLAS_OP_C = 2 };
enum { STN_CUBLAS_COMPUTE_32F = 68, STN_CUBLAS_COMPUTE_64F = 70, STN_CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum { STN_CUBLAS_GEMM_DEFAULT = -1 };

/* clang-format off */
#define STN_CUBLAS_FUNCTION_LIST(X)                                                                                    \
    X(cublasCreate_v2, (stn_cublas_handle *handle))                                                                    \
    X(cublasDestroy_v2, (stn_cublas_handle handle))                                                                    \
    X(cublasGetVersion_v2, (stn_cublas_handle handle, int *version))                                                   \
    X(cublasSetStream_v2, (stn_cublas_handle handle, stn_cu_stream stream))                                            \
    X(cublasSetWorkspace_v2, (stn_cublas_handle handle, void *workspace, size_t bytes))                                \
    X(cublasGemmStridedBatchedEx,                                                                                      \
      (stn_cublas_handle handle, stn_cublas_operation op_a, stn_cublas_operation op_b, int m, int n, int k,            \
       const void *alpha, const void *a, stn_cublas_type type_a, int lda, long long stride_a, const void *b,           \
       stn_cublas_type type_b, int ldb, long long stride_b, const void *beta, void *c, stn_cublas_type type_c,         \
       int ldc, long long stride_c, int batch, stn_cublas_compute compute, stn_cublas_algorithm algorithm))
/* clang-format on */

typedef struct stn_cublas_functions {
#define STN_CUBLAS_FIELD(name, arguments) stn_cublas_result(*name) arguments;
    STN_CUBLAS_FUNCTION_LIST(STN_CUBLAS_FIELD)
#undef STN_CUBLAS_FIELD
} stn_cublas_functions;
#endif
