/* Reference transforms; see fft_reference.h. */
#include "fft_reference.h"

#include <math.h>
#include <stdlib.h>

#include "host/fft_by_type.h"

stn_fft dense_f64(const stn_fft *fft) {
    stn_transform t = STN_TRANSFORM_INIT;
    stn_fft dense;
    t.rank = fft->rank;
    for (int axis = 0; axis < fft->rank; axis++) t.extent[axis] = (size_t)fft->n[3 - fft->rank + axis];
    t.batch = (size_t)fft->batch;
    t.kind = fft->kind;
    t.direction = fft->inverse ? STN_INVERSE : STN_FORWARD;
    t.forward_scale = t.inverse_scale = fft->scale;
    t.dtype = STN_F64;
    if (stn_fft_make(&t, &dense, NULL) != STN_OK) abort();
    return dense;
}

/* exp(2 pi i k / n) for all k < n. */
static long double *make_circle(int64_t n) {
    long double *circle = malloc((size_t)n * 2 * sizeof *circle);
    for (int64_t k = 0; k < n; k++) {
        circle[2 * k] = cosl(2 * acosl(-1) * (long double)k / (long double)n);
        circle[2 * k + 1] = sinl(2 * acosl(-1) * (long double)k / (long double)n);
    }
    return circle;
}

/* Element j of the full input of one transform; elements missing from a half spectrum are
 * conjugates of the elements at -j. */
static void element_at(const stn_fft *fft, const double *in, const int64_t j[3], long double value[2]) {
    int64_t at[3] = {j[0], j[1], j[2]};
    bool mirrored = !fft->in.real && j[2] >= fft->in.n[2];
    for (int a = 0; a < 3 && mirrored; a++) at[a] = (fft->n[a] - j[a]) % fft->n[a];
    int64_t place = (at[0] * fft->in.n[1] + at[1]) * fft->in.n[2] + at[2];
    value[0] = fft->in.real ? in[place] : in[2 * place];
    value[1] = fft->in.real ? 0 : mirrored ? -in[2 * place + 1] : in[2 * place + 1];
}

/* Output element k of one transform. */
static void sum_at(const stn_fft *fft, long double *const circle[3], const double *in, const int64_t k[3],
                   long double sum[2]) {
    sum[0] = sum[1] = 0;
    int64_t j[3];
    for (j[0] = 0; j[0] < fft->n[0]; j[0]++)
        for (j[1] = 0; j[1] < fft->n[1]; j[1]++)
            for (j[2] = 0; j[2] < fft->n[2]; j[2]++) {
                long double re = 1, im = 0, x[2];
                for (int a = 0; a < 3; a++) {
                    const long double *w = circle[a] + 2 * (j[a] * k[a] % fft->n[a]);
                    long double rotated = re * w[0] - im * w[1];
                    im = re * w[1] + im * w[0];
                    re = rotated;
                }
                if (!fft->inverse) im = -im;
                element_at(fft, in, j, x);
                sum[0] += x[0] * re - x[1] * im;
                sum[1] += x[0] * im + x[1] * re;
            }
    sum[0] *= fft->scale;
    sum[1] *= fft->scale;
}

void reference_sum(const stn_fft *fft, const double *in, double *out) {
    long double *circle[3], sum[2];
    for (int a = 0; a < 3; a++) circle[a] = make_circle(fft->n[a]);
    int64_t k[3], at = 0;
    for (int64_t b = 0; b < fft->batch; b++)
        for (k[0] = 0; k[0] < fft->out.n[0]; k[0]++)
            for (k[1] = 0; k[1] < fft->out.n[1]; k[1]++)
                for (k[2] = 0; k[2] < fft->out.n[2]; k[2]++) {
                    sum_at(fft, circle, in + b * fft->in.batch_stride * (fft->in.real ? 1 : 2), k, sum);
                    out[at++] = (double)sum[0];
                    if (!fft->out.real) out[at++] = (double)sum[1];
                }
    for (int a = 0; a < 3; a++) free(circle[a]);
}

bool reference_host(const stn_fft *fft, stn_pool *pool, const double *in, double *out) {
    stn_host_fft *host;
    if (stn_host_fft_create(fft, stn_pool_threads(pool), &host, NULL) != STN_OK) return false;
    void *workspace = malloc(stn_host_fft_workspace(host) + 1);
    stn_host_fft_run(host, pool, in, out, workspace);
    stn_host_fft_destroy(host);
    free(workspace);

    enum { SAMPLES = 4 };
    long double *circle[3], sum[2];
    double largest = 0, size = 0;
    for (int a = 0; a < 3; a++) circle[a] = make_circle(fft->n[a]);
    for (int i = 0; i < SAMPLES; i++) { /* in the last transform of the batch */
        int64_t k[3], at = 0, first = (fft->batch - 1) * fft->out.batch_stride;
        for (int a = 0; a < 3; a++) {
            k[a] = (fft->out.n[a] - 1) * (i * 37 % 101) / 100;
            at = at * fft->out.n[a] + k[a];
        }
        sum_at(fft, circle, in + (fft->batch - 1) * fft->in.batch_stride * (fft->in.real ? 1 : 2), k, sum);
        double re = fft->out.real ? out[first + at] : out[2 * (first + at)];
        double im = fft->out.real ? (double)sum[1] : out[2 * (first + at) + 1];
        largest = fmax(largest, hypot(re - (double)sum[0], im - (double)sum[1]));
        size = fmax(size, hypot(re, im));
    }
    for (int a = 0; a < 3; a++) free(circle[a]);
    return largest <= 1e-14 * size;
}
