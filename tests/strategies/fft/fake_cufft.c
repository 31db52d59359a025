/* A stand-in for libcufft in the emulator: plans of any layout, transformed by their defining sums
 * in host memory, one line at a time. It imitates cuFFT where that matters: it has no workspace
 * unless one is set, overwrites all of it, fails for an out-of-place c2r of several axes, and
 * writes real rows that are as far apart as those of the spectrum with their padding. The call
 * named by $FAKE_CUFFT_FAIL fails (half: plans in f16). */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "launch/cufft_functions.h"

enum { MAX_PLANS = 64, WORKSPACE = 1000 };

typedef struct side {
    long long n[3], stride[3], distance; /* elements */
    stn_cufft_type type;
} side;
static struct fake {
    int used, automatic;
    long long n[3], batch;
    side in, out;
    void *workspace;
    stn_cu_stream stream;
} plans[MAX_PLANS];

#define FAKE __attribute__((visibility("default"))) stn_cufft_result
static int fails(const char *function) {
    const char *name = getenv("FAKE_CUFFT_FAIL");
    return name && !strcmp(name, function);
}
static int is_real(stn_cufft_type type) { return type < STN_CUDA_C_32F; }

static double number(stn_cufft_type type, const void *data, long long i) {
    switch (type & 3) {
        case STN_CUDA_R_32F:
            return (double)((const float *)data)[i];
        case STN_CUDA_R_64F:
            return ((const double *)data)[i];
        default:
            return (double)stn_half_to_float(((const uint16_t *)data)[i]);
    }
}
static void set_number(stn_cufft_type type, void *data, long long i, double value) {
    switch (type & 3) {
        case STN_CUDA_R_32F:
            ((float *)data)[i] = (float)value;
            return;
        case STN_CUDA_R_64F:
            ((double *)data)[i] = value;
            return;
        default:
            ((uint16_t *)data)[i] = stn_float_to_half((float)value);
    }
}

FAKE cufftGetVersion(int *version) {
    const char *given = getenv("FAKE_CUFFT_VERSION");
    return *version = given ? atoi(given) : 12000, STN_CUFFT_SUCCESS;
}
FAKE cufftCreate(stn_cufft_handle *plan) {
    for (int i = 0; i < MAX_PLANS; i++)
        if (!plans[i].used) {
            memset(&plans[i], 0, sizeof plans[i]);
            plans[i].used = plans[i].automatic = 1;
            return *plan = i + 1, STN_CUFFT_SUCCESS;
        }
    return STN_CUFFT_ALLOC_FAILED; /* plans are not destroyed */
}
FAKE cufftDestroy(stn_cufft_handle plan) { return plans[plan - 1].used = 0, STN_CUFFT_SUCCESS; }
FAKE cufftSetAutoAllocation(stn_cufft_handle plan, int automatic) {
    return plans[plan - 1].automatic = automatic, STN_CUFFT_SUCCESS;
}
FAKE cufftSetStream(stn_cufft_handle plan, stn_cu_stream stream) {
    return plans[plan - 1].stream = stream, STN_CUFFT_SUCCESS;
}
FAKE cufftSetWorkArea(stn_cufft_handle plan, void *workspace) {
    return plans[plan - 1].workspace = workspace, STN_CUFFT_SUCCESS;
}

static side side_of(const struct fake *p, int rank, const long long *embed, long long stride, long long distance,
                    stn_cufft_type type, int half) {
    side s = {{p->n[0], p->n[1], half ? p->n[2] / 2 + 1 : p->n[2]}, {0, 0, stride}, distance, type};
    for (int axis = 1; axis >= 0; axis--)
        s.stride[axis] = axis >= 3 - rank ? s.stride[axis + 1] * embed[axis + 1 - (3 - rank)] : 0;
    return s;
}

FAKE cufftXtMakePlanMany(stn_cufft_handle plan, int rank, long long *n, long long *in_embed, long long in_stride,
                         long long in_distance, stn_cufft_type in_type, long long *out_embed, long long out_stride,
                         long long out_distance, stn_cufft_type out_type, long long batch, size_t *workspace,
                         stn_cufft_type execution_type) {
    struct fake *p = &plans[plan - 1];
    if (fails("cufftXtMakePlanMany")) return STN_CUFFT_NOT_SUPPORTED;
    if (p->automatic || is_real(execution_type)) return STN_CUFFT_INVALID_VALUE;
    if (fails("half") && execution_type == STN_CUDA_C_16F) return STN_CUFFT_SETUP_FAILED;
    for (int axis = 0; axis < 3; axis++) {
        p->n[axis] = axis < 3 - rank ? 1 : n[axis - (3 - rank)];
        if (execution_type == STN_CUDA_C_16F && (p->n[axis] & (p->n[axis] - 1))) return STN_CUFFT_NOT_SUPPORTED;
    }
    p->batch = batch;
    p->in = side_of(p, rank, in_embed, in_stride, in_distance, in_type, is_real(out_type));
    p->out = side_of(p, rank, out_embed, out_stride, out_distance, out_type, is_real(in_type));
    return *workspace = WORKSPACE, STN_CUFFT_SUCCESS;
}

/* Transforms one line of x, whose points are `step` apart, in place. */
static void transform_line(double *x, long long n, long long step, int direction) {
    double *y = malloc((size_t)n * 4 * sizeof *y), *w = y + 2 * n; /* w: the n-th roots of unity */
    for (long long k = 0; k < n; k++) {
        long double turn = direction * 2 * acosl(-1) * (long double)k / (long double)n;
        w[2 * k] = (double)cosl(turn), w[2 * k + 1] = (double)sinl(turn);
    }
    for (long long k = 0; k < n; k++) {
        long double re = 0, im = 0;
        /* at: j k mod n */
        for (long long j = 0, at = 0; j < n; j++, at = at + k < n ? at + k : at + k - n) {
            const double *v = x + 2 * j * step;
            re += (long double)v[0] * w[2 * at] - (long double)v[1] * w[2 * at + 1];
            im += (long double)v[0] * w[2 * at + 1] + (long double)v[1] * w[2 * at];
        }
        y[2 * k] = (double)re, y[2 * k + 1] = (double)im;
    }
    for (long long k = 0; k < n; k++) x[2 * k * step] = y[2 * k], x[2 * k * step + 1] = y[2 * k + 1];
    free(y);
}

static long long place(const side *s, long long b, const long long k[3]) {
    return b * s->distance + k[0] * s->stride[0] + k[1] * s->stride[1] + k[2] * s->stride[2];
}

static void load(const struct fake *p, long long b, const void *in, double *x) {
    const side *s = &p->in;
    long long k[3], at = 0;
    for (k[0] = 0; k[0] < p->n[0]; k[0]++)
        for (k[1] = 0; k[1] < p->n[1]; k[1]++)
            for (k[2] = 0; k[2] < p->n[2]; k[2]++, at++) {
                long long from[3] = {k[0], k[1], k[2]};
                int mirrored = k[2] >= s->n[2];
                for (int a = 0; a < 3 && mirrored; a++) from[a] = (p->n[a] - k[a]) % p->n[a];
                long long i = place(s, b, from);
                x[2 * at] = number(s->type, in, is_real(s->type) ? i : 2 * i);
                x[2 * at + 1] = is_real(s->type) ? 0 : number(s->type, in, 2 * i + 1) * (mirrored ? -1 : 1);
            }
}

/* The numbers of padding that are written past each real row. */
static long long written_padding(const struct fake *p) {
    const side *s = &p->out;
    const long long rows = p->n[0] * p->n[1] > 1 ? s->stride[1] : p->batch > 1 ? s->distance : 0;
    const long long of_spectrum = 2 * (p->n[2] / 2 + 1);
    return is_real(s->type) && s->stride[2] == 1 && rows == of_spectrum ? rows - p->n[2] : 0;
}

static void store(const struct fake *p, long long b, const double *x, void *out) {
    const side *s = &p->out;
    long long k[3];
    for (k[0] = 0; k[0] < s->n[0]; k[0]++)
        for (k[1] = 0; k[1] < s->n[1]; k[1]++)
            for (k[2] = 0; k[2] < s->n[2]; k[2]++) {
                long long i = place(s, b, k), at = (k[0] * p->n[1] + k[1]) * p->n[2] + k[2];
                set_number(s->type, out, is_real(s->type) ? i : 2 * i, x[2 * at]);
                if (!is_real(s->type)) set_number(s->type, out, 2 * i + 1, x[2 * at + 1]);
                /* The last row may end the memory. */
                const int last = b == p->batch - 1 && k[0] == s->n[0] - 1 && k[1] == s->n[1] - 1;
                for (long long past = 1; k[2] == s->n[2] - 1 && !last && past <= written_padding(p); past++)
                    set_number(s->type, out, i + past, 0);
            }
}

/* Waits for earlier launches on the stream, since this stand-in runs synchronously. */
static int wait_for(stn_cu_stream stream) {
    const char *path = getenv("STENTOR_CUDA_PATH");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL, *found = NULL;
    int (*synchronize)(stn_cu_stream) = NULL;
    if (driver) found = dlsym(driver, "cuStreamSynchronize"), dlclose(driver);
    memcpy(&synchronize, &found, sizeof found);
    return synchronize && synchronize(stream) == 0;
}

FAKE cufftXtExec(stn_cufft_handle plan, void *in, void *out, int direction) {
    const struct fake *p = &plans[plan - 1];
    if (fails("cufftXtExec")) return STN_CUFFT_EXEC_FAILED;
    if (!p->workspace) return STN_CUFFT_NO_WORKSPACE;
    if (!wait_for(p->stream)) return STN_CUFFT_EXEC_FAILED;
    if (is_real(p->out.type) && in != out && p->n[0] * p->n[1] > 1) return STN_CUFFT_EXEC_FAILED;
    memset(p->workspace, 0x55, WORKSPACE);
    long long points = p->n[0] * p->n[1] * p->n[2], k[3];
    double *x = malloc((size_t)points * 2 * sizeof *x);
    for (long long b = 0; b < p->batch; b++) {
        load(p, b, in, x);
        for (int axis = 0; axis < 3; axis++)
            for (k[0] = 0; k[0] < (axis == 0 ? 1 : p->n[0]); k[0]++)
                for (k[1] = 0; k[1] < (axis == 1 ? 1 : p->n[1]); k[1]++)
                    for (k[2] = 0; k[2] < (axis == 2 ? 1 : p->n[2]); k[2]++)
                        transform_line(x + 2 * ((k[0] * p->n[1] + k[1]) * p->n[2] + k[2]), p->n[axis],
                                       axis == 0   ? p->n[1] * p->n[2]
                                       : axis == 1 ? p->n[2]
                                                   : 1,
                                       direction);
        store(p, b, x, out);
    }
    free(x);
    return STN_CUFFT_SUCCESS;
}
