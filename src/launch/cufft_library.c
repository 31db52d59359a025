/* Opens cuFFT and makes cuFFT plans from stn_fft. */
#include "launch/cufft_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "compile/library.h"
#include "launch/cufft_functions.h"
#include "launch/launch_internal.h"

#define OLDEST_VERSION 11000 /* CUDA 12.0 */

struct stn_cufft {
    stn_cufft_functions call;
    int version;
};

struct stn_cufft_plan {
    const stn_cufft *cufft;
    stn_device *device;
    stn_cufft_handle handle;
    bool made;
    int direction;
    pthread_mutex_t lock; /* Guards stream and work area, which belong to the cuFFT plan. */
};

/* ---- opening --------------------------------------------------------------------------------- */

static bool resolve(stn_cufft_functions *call, void *library, const char **missing) {
    static const char *const names[] = {
#define STN_CUFFT_NAME(name, arguments) #name,
        STN_CUFFT_FUNCTION_LIST(STN_CUFFT_NAME)
#undef STN_CUFFT_NAME
    };
    _Static_assert(sizeof *call == sizeof names, "the table is an array of pointers");
    return stn_library_resolve(library, names, sizeof names / sizeof *names, call, missing);
}

typedef struct opening {
    stn_cufft *cufft;
    stn_text reasons;
    const stn_logger *logger;
} opening;

static bool try_library(void *user, const char *path) {
    opening *o = user;
    stn_cufft *cufft = o->cufft;
    const char *missing = NULL;
    void *library = stn_library_open(path, &o->reasons);
    if (!library) return false;
    bool works = false;
    if (!resolve(&cufft->call, library, &missing))
        stn_text_printf(&o->reasons, "%s lacks %s and is no cuFFT of CUDA 12 or later; ", path, missing);
    else if (cufft->call.cufftGetVersion(&cufft->version) || cufft->version < OLDEST_VERSION)
        stn_text_printf(&o->reasons, "%s is cuFFT %d.%d and 11.0 is needed; ", path, cufft->version / 1000,
                        cufft->version % 1000 / 100);
    else
        works = true;
    if (works) stn_log(o->logger, STN_LOG_DEBUG, "opened cuFFT %d: %s", cufft->version, path);
    dlclose(library);
    return works;
}

stn_status stn_cufft_open(const stn_logger *logger, stn_cufft **cufft, stn_error *error) {
    *cufft = NULL;
    stn_cufft *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "cuFFT's table", sizeof *made);
    opening o = {made, STN_TEXT_EMPTY, logger};
    stn_status status = STN_OK;
    if (stn_library_search(&stn_library_cufft, try_library, &o)) {
        *cufft = made;
        made = NULL;
    } else {
        status = stn_library_fail(&stn_library_cufft, &o.reasons, STN_ERROR_UNSUPPORTED, error);
    }
    stn_text_clear(&o.reasons);
    stn_cufft_close(made);
    return status;
}

void stn_cufft_close(stn_cufft *cufft) { free(cufft); }
int stn_cufft_version(const stn_cufft *cufft) { return cufft->version; }

static stn_status check(const char *function, stn_cufft_result result, stn_error *error) {
    static const struct {
        stn_cufft_result result;
        const char *name, *advice;
    } known[] = {
#define STN_CUFFT_RESULT_ROW(name, value, advice) {STN_##name, #name, advice},
        STN_CUFFT_RESULT_LIST(STN_CUFFT_RESULT_ROW)
#undef STN_CUFFT_RESULT_ROW
    };
    if (result == STN_CUFFT_SUCCESS) return STN_OK;
    const char *name = "an unknown error", *advice = "please report this message";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].result == result) name = known[i].name, advice = known[i].advice;
    stn_status status = STN_ERROR_DRIVER;
    if (result == STN_CUFFT_ALLOC_FAILED) status = STN_ERROR_OUT_OF_MEMORY;
    if (result == STN_CUFFT_INVALID_SIZE || result == STN_CUFFT_NOT_SUPPORTED || result == STN_CUFFT_NOT_IMPLEMENTED)
        status = STN_ERROR_UNSUPPORTED;
    return stn_fail(error, status, "%s failed: %s = %d: %s", function, name, (int)result, advice);
}
#define CUFFT(cufft, function, arguments, error) check(#function, (cufft)->call.function arguments, (error))

/* ---- plans ----------------------------------------------------------------------------------- */

/* The axes passed to cuFFT: all but those of one point, except the last axis of a real
 * transform. */
static int axes_of(const stn_fft *fft, int axes[3]) {
    int count = 0;
    for (int axis = 3 - fft->rank; axis < 3; axis++)
        if (fft->n[axis] > 1 || (axis == 2 && (fft->kind != STN_C2C || !count))) axes[count++] = axis;
    return count;
}

/* cuFFT's form of a layout: the stride of the innermost axis, and for each outer axis its stride in
 * units of the next axis' stride. */
typedef struct embedding {
    long long embed[3], stride, distance;
} embedding;

static bool embed(const stn_fft *fft, const stn_fft_side *side, embedding *e) {
    int axes[3] = {2, 2, 2}, count = axes_of(fft, axes);
    /* There is always one axis: count >= 1. NOLINTNEXTLINE(clang-analyzer-core.*) */
    *e = (embedding){.stride = side->stride[axes[count - 1]], .distance = side->batch_stride};
    e->embed[0] = side->n[axes[0]];
    for (int i = 1; i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.*) */
        int64_t outer = side->stride[axes[i - 1]], inner = side->stride[axes[i]];
        if (outer % inner || outer / inner < side->n[axes[i]]) return false;
        e->embed[i] = outer / inner;
    }
    return true;
}

static bool power_of_two(int64_t n) { return !(n & (n - 1)); }

/* A c2r transform writes past its rows where these are as far apart as the spectrum's rows: the
 * padding then gets the one or two numbers by which a spectrum is longer (seen in cuFFT 12.0 for
 * most rows of 5 to 32 numbers; with other padding, in none of 30,000 transforms of one to three
 * axes). In place this does not matter, because the padding belongs to the spectrum. */
static bool writes_past_rows(const stn_fft *fft) {
    const stn_fft_side *out = &fft->out;
    if (!out->real || fft->in_place || out->stride[2] != 1 || fft->n[0] * fft->n[1] * fft->batch == 1) return false;
    const int64_t next = fft->n[1] > 1 ? out->stride[1] : fft->n[0] > 1 ? out->stride[0] : out->batch_stride;
    return next == 2 * (fft->n[2] / 2 + 1);
}

bool stn_cufft_takes(const stn_fft *fft, char *reason, size_t reason_size) {
    embedding unused;
    bool powers = power_of_two(fft->n[0]) && power_of_two(fft->n[1]) && power_of_two(fft->n[2]);
    const stn_fft_side *real = fft->in.real ? &fft->in : fft->out.real ? &fft->out : NULL;
    const char *why = NULL;
    if (!embed(fft, &fft->in, &unused) || !embed(fft, &fft->out, &unused))
        why = "cuFFT needs each stride to be a multiple of the next axis' and to step past that axis";
    else if (fft->dtype == STN_F16 && !powers)
        why = "cuFFT transforms f16 at powers of two only: use f32";
    else if (fft->dtype == STN_F16 && real && real->stride[2] != 1)
        why = "cuFFT needs stride 1 along the last axis of the real side in f16";
    else if (writes_past_rows(fft))
        why = "cuFFT writes past each row, into the padding";
    if (why) snprintf(reason, reason_size, "%s", why);
    return !why;
}

static stn_cufft_type type_of(const stn_fft *fft, bool real) {
    switch (fft->dtype) {
        case STN_F64:
            return real ? STN_CUDA_R_64F : STN_CUDA_C_64F;
        case STN_F32:
            return real ? STN_CUDA_R_32F : STN_CUDA_C_32F;
        case STN_F16:
            break;
    }
    return real ? STN_CUDA_R_16F : STN_CUDA_C_16F;
}

static stn_status make(stn_cufft_plan *plan, const stn_fft *fft, size_t *workspace, stn_error *error) {
    embedding in, out;
    long long n[3] = {0};
    int axes[3] = {2, 2, 2}, count = axes_of(fft, axes);
    for (int i = 0; i < count; i++) n[i] = fft->n[axes[i]];
    if (!embed(fft, &fft->in, &in) || !embed(fft, &fft->out, &out))
        return stn_fail(error, STN_ERROR_INTERNAL, "a layout went to cuFFT that it does not take");
    STN_TRY(CUFFT(plan->cufft, cufftCreate, (&plan->handle), error));
    plan->made = true;
    STN_TRY(CUFFT(plan->cufft, cufftSetAutoAllocation, (plan->handle, 0), error));
    return CUFFT(plan->cufft, cufftXtMakePlanMany,
                 (plan->handle, count, n, in.embed, in.stride, in.distance, type_of(fft, fft->in.real), out.embed,
                  out.stride, out.distance, type_of(fft, fft->out.real), fft->batch, workspace, type_of(fft, false)),
                 error);
}

stn_status stn_cufft_plan_create(const stn_cufft *cufft, stn_device *device, const stn_fft *fft, stn_cufft_plan **plan,
                                 size_t *workspace, stn_error *error) {
    *plan = NULL;
    *workspace = 0;
    stn_cufft_plan *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a plan", sizeof *made);
    made->cufft = cufft;
    made->device = device;
    made->direction = fft->inverse ? STN_CUFFT_INVERSE : STN_CUFFT_FORWARD;
    pthread_mutex_init(&made->lock, NULL);
    stn_status status = stn_device_enter(device, error);
    if (status == STN_OK) {
        status = make(made, fft, workspace, error);
        stn_device_leave(device);
    }
    if (status == STN_OK)
        *plan = made;
    else
        stn_cufft_plan_destroy(made);
    return status;
}

void stn_cufft_plan_destroy(stn_cufft_plan *plan) {
    if (!plan) return;
    if (plan->made && stn_device_enter(plan->device, NULL) == STN_OK) {
        plan->cufft->call.cufftDestroy(plan->handle);
        stn_device_leave(plan->device);
    }
    pthread_mutex_destroy(&plan->lock);
    free(plan);
}

static stn_status enqueue(const stn_cufft_plan *plan, void *in, void *out, void *workspace, void *stream,
                          stn_error *error) {
    STN_TRY(CUFFT(plan->cufft, cufftSetStream, (plan->handle, stream), error));
    STN_TRY(CUFFT(plan->cufft, cufftSetWorkArea, (plan->handle, workspace), error));
    return CUFFT(plan->cufft, cufftXtExec, (plan->handle, in, out, plan->direction), error);
}

stn_status stn_cufft_plan_execute(stn_cufft_plan *plan, void *in, void *out, void *workspace, void *stream,
                                  stn_error *error) {
    STN_TRY(stn_device_enter(plan->device, error));
    pthread_mutex_lock(&plan->lock);
    stn_status status = enqueue(plan, in, out, workspace, stream, error);
    pthread_mutex_unlock(&plan->lock);
    stn_device_leave(plan->device);
    return status;
}
