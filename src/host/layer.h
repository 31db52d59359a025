/* The definition of Fourier layers: every pass on the CPU, computed in float64 and rounded once at
 * the end. */
#ifndef STN_HOST_LAYER_H
#define STN_HOST_LAYER_H
#include "host/pool.h"
#include "problem/layer.h"

typedef struct stn_host_layer stn_host_layer; /* tables; immutable, so several threads may run it with own workspaces */

/* threads: of the pool that will run it. */
stn_status stn_host_layer_create(const stn_layer *layer, int threads, stn_host_layer **made, stn_error *error);
void stn_host_layer_destroy(stn_host_layer *host); /* NULL is fine */
size_t stn_host_layer_workspace(const stn_host_layer *host);
/* run: its pointers as the layer's pass takes them; its workspace is one of that size. */
void stn_host_layer_run(const stn_host_layer *host, stn_pool *pool, const stn_execution *run);
#endif
