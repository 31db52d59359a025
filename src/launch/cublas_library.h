/* cuBLAS, opened at run time: strided batched GEMM. */
#ifndef STN_LAUNCH_CUBLAS_LIBRARY_H
#define STN_LAUNCH_CUBLAS_LIBRARY_H
#include <stdbool.h>

#include "launch/driver.h"

typedef struct stn_cublas stn_cublas; /* the library and one handle; thread-safe */

/* Opens libcublas ($STENTOR_CUBLAS_PATH overrides) and makes a handle on the device.
 * STN_ERROR_UNSUPPORTED: not found; the message says what was tried and how to install it. */
stn_status stn_cublas_open(const stn_logger *logger, stn_device *device, stn_cublas **cublas, stn_error *error);
void stn_cublas_close(stn_cublas *cublas);        /* NULL has no effect */
int stn_cublas_version(const stn_cublas *cublas); /* 130000 */

/* For each of `batch` triples, column-major as in cuBLAS: C (m x n) = alpha op(A) (m x k) op(B) (k
 * x n) + beta C. */
typedef enum stn_gemm_op { STN_GEMM_PLAIN, STN_GEMM_TRANSPOSED, STN_GEMM_ADJOINT } stn_gemm_op;
typedef struct stn_gemm {
    stn_dtype dtype; /* STN_F64 or STN_F32 */
    bool complex, tf32;
    stn_gemm_op op_a, op_b;
    int64_t m, n, k, lda, ldb, ldc;       /* elements */
    int64_t stride_a, stride_b, stride_c; /* from one triple to the next */
    int64_t batch;
    double alpha, beta;
} stn_gemm;
/* Workspace in bytes that cuBLAS recommends since Hopper. */
#define STN_CUBLAS_WORKSPACE ((size_t)32 << 20)

/* Do all sizes fit into cuBLAS's 32-bit integers? */
bool stn_gemm_fits(const stn_gemm *gemm);
/* Enqueues without allocating or waiting. workspace: STN_CUBLAS_WORKSPACE bytes. */
stn_status stn_cublas_run(stn_cublas *cublas, const stn_gemm *gemm, const void *a, const void *b, void *c,
                          void *workspace, void *stream, stn_error *error);
#endif
