/* Transforms of any size and dtype on the CPU. Those of float64 are the definition that all others
 * are compared with; float32 and float16 are computed in float32. */
#ifndef STN_HOST_FFT_BY_TYPE_H
#define STN_HOST_FFT_BY_TYPE_H
#include "host/pool.h"
#include "problem/transform.h"

/* Immutable tables: several threads may run it, each with its own workspace. */
typedef struct stn_host_fft stn_host_fft;

/* threads: size of the pool that will run it. */
stn_status stn_host_fft_create(const stn_fft *fft, int threads, stn_host_fft **made, stn_error *error);
void stn_host_fft_destroy(stn_host_fft *host); /* NULL has no effect */
size_t stn_host_fft_workspace(const stn_host_fft *host);
void stn_host_fft_run(const stn_host_fft *host, stn_pool *pool, const void *in, void *out, void *workspace);
#endif
