/* Opens cuBLAS and runs batched matrix products (GEMM). */
#include "launch/cublas_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "compile/library.h"
#include "launch/cublas_functions.h"
#include "launch/cufft_functions.h"
#include "launch/launch_internal.h"

#define OLDEST_VERSION 120000

struct stn_cublas {
    stn_cublas_functions call;
    stn_device *device;
    stn_cublas_handle handle;
    int version;
    pthread_mutex_t lock; /* Guards stream and workspace, which belong to the handle. */
};

/* ---- opening --------------------------------------------------------------------------------- */

static bool resolve(stn_cublas_functions *call, void *library, const char **missing) {
    static const char *const names[] = {
#define STN_CUBLAS_NAME(name, arguments) #name,
        STN_CUBLAS_FUNCTION_LIST(STN_CUBLAS_NAME)
#undef STN_CUBLAS_NAME
    };
    _Static_assert(sizeof *call == sizeof names, "the table is an array of pointers");
    return stn_library_resolve(library, names, sizeof names / sizeof *names, call, missing);
}

/* Makes a handle on the device, whose context must be current. */
static bool make_handle(stn_cublas *cublas) {
    if (cublas->call.cublasCreate_v2(&cublas->handle) != STN_CUBLAS_STATUS_SUCCESS) {
        cublas->handle = NULL;
        return false;
    }
    if (cublas->call.cublasGetVersion_v2(cublas->handle, &cublas->version) == STN_CUBLAS_STATUS_SUCCESS &&
        cublas->version >= OLDEST_VERSION)
        return true;
    cublas->call.cublasDestroy_v2(cublas->handle);
    cublas->handle = NULL;
    return false;
}

typedef struct opening {
    stn_cublas *cublas;
    stn_text reasons;
    const stn_logger *logger;
} opening;

static bool try_library(void *user, const char *path) {
    opening *o = user;
    stn_cublas *cublas = o->cublas;
    const char *missing = NULL;
    void *library = stn_library_open(path, &o->reasons);
    if (!library) return false;
    bool works = false;
    if (!resolve(&cublas->call, library, &missing))
        stn_text_printf(&o->reasons, "%s lacks %s and is no cuBLAS of CUDA 12 or later; ", path, missing);
    else if (!make_handle(cublas))
        stn_text_printf(&o->reasons, "%s gives no handle on this GPU, or is older than CUDA 12; ", path);
    else
        works = true;
    if (works) stn_log(o->logger, STN_LOG_DEBUG, "opened cuBLAS %d: %s", cublas->version, path);
    dlclose(library);
    return works;
}

stn_status stn_cublas_open(const stn_logger *logger, stn_device *device, stn_cublas **cublas, stn_error *error) {
    *cublas = NULL;
    stn_cublas *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "cuBLAS's table", sizeof *made);
    made->device = device;
    pthread_mutex_init(&made->lock, NULL);
    opening o = {made, STN_TEXT_EMPTY, logger};
    stn_status status = stn_device_enter(device, error);
    if (status == STN_OK) {
        const bool found = stn_library_search(&stn_library_cublas, try_library, &o);
        stn_device_leave(device);
        if (found) {
            *cublas = made;
            made = NULL;
        } else
            status = stn_library_fail(&stn_library_cublas, &o.reasons, STN_ERROR_UNSUPPORTED, error);
    }
    stn_text_clear(&o.reasons);
    stn_cublas_close(made);
    return status;
}

void stn_cublas_close(stn_cublas *cublas) {
    if (!cublas) return;
    if (cublas->handle && stn_device_enter(cublas->device, NULL) == STN_OK) {
        cublas->call.cublasDestroy_v2(cublas->handle);
        stn_device_leave(cublas->device);
    }
    pthread_mutex_destroy(&cublas->lock);
    free(cublas);
}

int stn_cublas_version(const stn_cublas *cublas) { return cublas->version; }

/* ---- GEMM ------------------------------------------------------------------------------------ */

static stn_status check(const char *function, stn_cublas_result result, stn_error *error) {
    static const struct {
        stn_cublas_result result;
        const char *name, *advice;
    } known[] = {
#define STN_CUBLAS_RESULT_ROW(name, value, advice) {STN_##name, #name, advice},
        STN_CUBLAS_RESULT_LIST(STN_CUBLAS_RESULT_ROW)
#undef STN_CUBLAS_RESULT_ROW
    };
    if (result == STN_CUBLAS_STATUS_SUCCESS) return STN_OK;
    const char *name = "an unknown error", *advice = "please report this message";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].result == result) name = known[i].name, advice = known[i].advice;
    return stn_fail(error, result == STN_CUBLAS_STATUS_ALLOC_FAILED ? STN_ERROR_OUT_OF_MEMORY : STN_ERROR_DRIVER,
                    "%s failed: %s = %d: %s", function, name, (int)result, advice);
}
#define CUBLAS(cublas, function, arguments, error) check(#function, (cublas)->call.function arguments, (error))

bool stn_gemm_fits(const stn_gemm *g) {
    const int64_t ints[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc, g->batch};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        if (ints[i] < 1 || ints[i] > INT32_MAX) return false;
    return true;
}

/* alpha or beta in the type that cuBLAS reads. */
typedef union factor {
    double wide[2];
    float narrow[2];
} factor;

static factor factor_of(const stn_gemm *g, double value) {
    factor f = {{0, 0}};
    if (g->dtype == STN_F64)
        f.wide[0] = value;
    else
        f.narrow[0] = (float)value;
    return f;
}

static stn_status enqueue(const stn_cublas *cublas, const stn_gemm *g, const void *a, const void *b, void *c,
                          void *workspace, void *stream, stn_error *error) {
    const bool wide = g->dtype == STN_F64;
    const stn_cublas_type type =
        g->complex ? (wide ? STN_CUDA_C_64F : STN_CUDA_C_32F) : (wide ? STN_CUDA_R_64F : STN_CUDA_R_32F);
    const stn_cublas_compute compute = wide      ? STN_CUBLAS_COMPUTE_64F
                                       : g->tf32 ? STN_CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : STN_CUBLAS_COMPUTE_32F;
    const factor alpha = factor_of(g, g->alpha), beta = factor_of(g, g->beta);
    STN_TRY(CUBLAS(cublas, cublasSetStream_v2, (cublas->handle, stream), error));
    STN_TRY(CUBLAS(cublas, cublasSetWorkspace_v2, (cublas->handle, workspace, STN_CUBLAS_WORKSPACE), error));
    return CUBLAS(cublas, cublasGemmStridedBatchedEx,
                  (cublas->handle, g->op_a, g->op_b, (int)g->m, (int)g->n, (int)g->k, &alpha, a, type, (int)g->lda,
                   g->stride_a, b, type, (int)g->ldb, g->stride_b, &beta, c, type, (int)g->ldc, g->stride_c,
                   (int)g->batch, compute, STN_CUBLAS_GEMM_DEFAULT),
                  error);
}

stn_status stn_cublas_run(stn_cublas *cublas, const stn_gemm *gemm, const void *a, const void *b, void *c,
                          void *workspace, void *stream, stn_error *error) {
    STN_TRY(stn_device_enter(cublas->device, error));
    pthread_mutex_lock(&cublas->lock);
    stn_status status = enqueue(cublas, gemm, a, b, c, workspace, stream, error);
    pthread_mutex_unlock(&cublas->lock);
    stn_device_leave(cublas->device);
    return status;
}
