/* The reference implementation of Fourier layers: every pass on the CPU, computed in float64 and
 * rounded once at the end. */
#ifndef STN_HOST_FOURIER_LAYER_H
#define STN_HOST_FOURIER_LAYER_H
#include "host/pool.h"
#include "problem/fourier_layer.h"

/* Immutable tables: several threads may run it, each with its own workspace. */
typedef struct stn_host_layer stn_host_layer;

/* threads: size of the pool that will run it. */
stn_status stn_host_layer_create(const stn_layer *layer, int threads, stn_host_layer **made, stn_error *error);
void stn_host_layer_destroy(stn_host_layer *host); /* NULL has no effect */
size_t stn_host_layer_workspace(const stn_host_layer *host);
/* run: the pointers that the layer's pass needs, and a workspace of stn_host_layer_workspace
 * bytes. */
void stn_host_layer_run(const stn_host_layer *host, stn_pool *pool, const stn_execution *run);
#endif
