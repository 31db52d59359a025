/* Transforms of float64 are computed in float64, all others in float32. */
#include "host/fft_by_type.h"

#include <stdlib.h>

#include "base/error.h"
#include "host/fft_axes.h"
#include "host/fft_axes_f32.h"

struct stn_host_fft { /* one of the two is NULL */
    stn_fft_axes *f64;
    stn_fft_axes_f32 *f32;
};

stn_status stn_host_fft_create(const stn_fft *fft, int threads, stn_host_fft **made, stn_error *error) {
    *made = NULL;
    stn_host_fft *host = calloc(1, sizeof *host);
    if (!host) return stn_fail_memory(error, "a transform", sizeof *host);
    stn_status status = fft->dtype == STN_F64 ? stn_fft_axes_create(fft, threads, &host->f64, error)
                                              : stn_fft_axes_create_f32(fft, threads, &host->f32, error);
    if (status != STN_OK) return free(host), status;
    *made = host;
    return STN_OK;
}

void stn_host_fft_destroy(stn_host_fft *host) {
    if (!host) return;
    stn_fft_axes_destroy(host->f64);
    stn_fft_axes_destroy_f32(host->f32);
    free(host);
}

size_t stn_host_fft_workspace(const stn_host_fft *host) {
    return host->f64 ? stn_fft_axes_workspace(host->f64) : stn_fft_axes_workspace_f32(host->f32);
}

void stn_host_fft_run(const stn_host_fft *host, stn_pool *pool, const void *in, void *out, void *workspace) {
    if (host->f64)
        stn_fft_axes_run(host->f64, pool, in, out, workspace);
    else
        stn_fft_axes_run_f32(host->f32, pool, in, out, workspace);
}
