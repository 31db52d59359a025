/* A stand-in for libcublas in the emulator: strided batches of products by their defining sums in
 * host memory. It imitates cuBLAS where that matters: it sums f32 in f32 sequentially, refuses
 * leading dimensions that are too small, overwrites its workspace, and does not read C if beta is
 * 0. The call named by $FAKE_CUBLAS_FAIL fails. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cublas_functions.h"
#include "launch/cufft_functions.h"

struct stn_cublas_context {
    stn_cu_stream stream;
    void *workspace;
    size_t bytes;
};

#define FAKE __attribute__((visibility("default"))) stn_cublas_result
static int fails(const char *function) {
    const char *name = getenv("FAKE_CUBLAS_FAIL");
    return name && !strcmp(name, function);
}

FAKE cublasCreate_v2(stn_cublas_handle *handle) {
    if (fails("cublasCreate_v2")) return STN_CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    return *handle ? STN_CUBLAS_STATUS_SUCCESS : STN_CUBLAS_STATUS_ALLOC_FAILED;
}
FAKE cublasDestroy_v2(stn_cublas_handle handle) { return free(handle), STN_CUBLAS_STATUS_SUCCESS; }
FAKE cublasGetVersion_v2(stn_cublas_handle handle, int *version) {
    const char *given = getenv("FAKE_CUBLAS_VERSION");
    (void)handle;
    return *version = given ? atoi(given) : 130000, STN_CUBLAS_STATUS_SUCCESS;
}
FAKE cublasSetStream_v2(stn_cublas_handle handle, stn_cu_stream stream) {
    handle->stream = stream, handle->workspace = NULL; /* resets the workspace, as cuBLAS does */
    return STN_CUBLAS_STATUS_SUCCESS;
}
FAKE cublasSetWorkspace_v2(stn_cublas_handle handle, void *workspace, size_t bytes) {
    if ((uintptr_t)workspace % 256) return STN_CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace, handle->bytes = bytes;
    return STN_CUBLAS_STATUS_SUCCESS;
}

typedef struct matrix {
    int type, op, lead;
    const char *at;
} matrix;
typedef struct number {
    double re, im;
} number;

static int parts_of(int type) { return type == STN_CUDA_C_32F || type == STN_CUDA_C_64F ? 2 : 1; }
static int is_wide(int type) { return type == STN_CUDA_R_64F || type == STN_CUDA_C_64F; }
static long long bytes_of(int type) { return (is_wide(type) ? 8LL : 4LL) * parts_of(type); }

static number load(int type, const void *at) {
    const double *wide = at;
    const float *narrow = at;
    number n = {is_wide(type) ? wide[0] : (double)narrow[0], 0};
    if (parts_of(type) == 2) n.im = is_wide(type) ? wide[1] : (double)narrow[1];
    return n;
}
static void store(int type, void *at, number n) {
    for (int p = 0; p < parts_of(type); p++) {
        if (is_wide(type))
            ((double *)at)[p] = p ? n.im : n.re;
        else
            ((float *)at)[p] = (float)(p ? n.im : n.re);
    }
}
/* Element (row, column) of op(matrix). */
static number element_of(const matrix *m, long long row, long long column) {
    const long long i = m->op == STN_CUBLAS_OP_N ? row : column, j = m->op == STN_CUBLAS_OP_N ? column : row;
    number n = load(m->type, m->at + (i + j * m->lead) * bytes_of(m->type));
    if (m->op == STN_CUBLAS_OP_C) n.im = -n.im;
    return n;
}
static number times(number a, number b) { return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* Waits for earlier launches on the stream, since this stand-in runs synchronously. */
static int wait_for(stn_cu_stream stream) {
    const char *path = getenv("STENTOR_CUDA_PATH");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL, *found = NULL;
    int (*synchronize)(stn_cu_stream) = NULL;
    if (driver) found = dlsym(driver, "cuStreamSynchronize"), dlclose(driver);
    memcpy(&synchronize, &found, sizeof found);
    return synchronize && synchronize(stream) == 0;
}

static void multiply(matrix a, matrix b, int m, int n, int k, number alpha, number beta, int type, char *c, int ldc) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            number sum = {0, 0};
            for (int l = 0; l < k; l++) {
                number term = times(element_of(&a, i, l), element_of(&b, l, j));
                sum.re += term.re, sum.im += term.im;
                if (!is_wide(type)) sum.re = (float)sum.re, sum.im = (float)sum.im;
            }
            sum = times(alpha, sum);
            char *to = c + (i + (long long)j * ldc) * bytes_of(type);
            if (beta.re != 0 || beta.im != 0) {
                number was = times(beta, load(type, to));
                sum.re += was.re, sum.im += was.im;
            }
            store(type, to, sum);
        }
}

FAKE cublasGemmStridedBatchedEx(stn_cublas_handle handle, stn_cublas_operation op_a, stn_cublas_operation op_b, int m,
                                int n, int k, const void *alpha, const void *a, stn_cublas_type type_a, int lda,
                                long long stride_a, const void *b, stn_cublas_type type_b, int ldb, long long stride_b,
                                const void *beta, void *c, stn_cublas_type type_c, int ldc, long long stride_c,
                                int batch, stn_cublas_compute compute, stn_cublas_algorithm algorithm) {
    const int rows_a = op_a == STN_CUBLAS_OP_N ? m : k, rows_b = op_b == STN_CUBLAS_OP_N ? k : n;
    if (fails("cublasGemmStridedBatchedEx")) return STN_CUBLAS_STATUS_EXECUTION_FAILED;
    if (m < 1 || n < 1 || k < 1 || batch < 1 || lda < rows_a || ldb < rows_b || ldc < m || (int)algorithm != -1)
        return STN_CUBLAS_STATUS_INVALID_VALUE;
    if ((int)type_a != (int)type_b || (int)type_a != (int)type_c ||
        ((int)compute == STN_CUBLAS_COMPUTE_64F) != is_wide((int)type_a))
        return STN_CUBLAS_STATUS_NOT_SUPPORTED;
    if (!handle->workspace) return STN_CUBLAS_STATUS_ALLOC_FAILED; /* a workspace must be set */
    if (!wait_for(handle->stream)) return STN_CUBLAS_STATUS_EXECUTION_FAILED;
    memset(handle->workspace, 0x55, handle->bytes < 4096 ? handle->bytes : 4096);
    const int type = (int)type_a;
    for (int i = 0; i < batch; i++)
        multiply((matrix){type, (int)op_a, lda, (const char *)a + i * stride_a * bytes_of(type)},
                 (matrix){type, (int)op_b, ldb, (const char *)b + i * stride_b * bytes_of(type)}, m, n, k,
                 load(type, alpha), load(type, beta), type, (char *)c + i * stride_c * bytes_of(type), ldc);
    return STN_CUBLAS_STATUS_SUCCESS;
}
