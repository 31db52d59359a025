/* The context: what plans share. Device or host, compiler (opened on first need), templates, cache, kernels, threads.
 */
#ifndef STN_CONTEXT_CONTEXT_H
#define STN_CONTEXT_CONTEXT_H
#include <pthread.h>

#include "base/log.h"
#include "cache/cache.h"
#include "compile/compiler.h"
#include "host/pool.h"
#include "launch/driver.h"
#include "render/render.h"

struct stn_context {
    stn_logger logger;
    stn_machine machine; /* of the device, the absent GPU, or the host */
    stn_driver *driver;  /* NULL on a host context */
    stn_device *device;
    stn_pool *pool; /* host threads; NULL until a host plan needs it */
    stn_templates templates;
    stn_cache *cache;
    stn_memo *kernels;
    pthread_mutex_t lock; /* guards compiler, pool and measuring */
    stn_compiler *compiler;
    int threads;
    char no_device[512]; /* AUTO found no GPU: why */
};

/* Opens NVRTC on first need; the same error every time it is missing. */
stn_status stn_context_compiler(stn_context *context, stn_compiler **compiler, stn_error *error);
/* The pool of host threads, made on first need. */
stn_status stn_context_pool(stn_context *context, stn_pool **pool, stn_error *error);
#endif
