/* The context: what plans share. Device or host, compiler (opened on first need), templates, cache,
 * kernels, threads.
 */
#ifndef STN_CONTEXT_CONTEXT_H
#define STN_CONTEXT_CONTEXT_H
#include <pthread.h>
#include <stdbool.h>

#include "base/log.h"
#include "cache/cache.h"
#include "cache/wisdom.h"
#include "compile/compiler.h"
#include "host/pool.h"
#include "launch/cublas.h"
#include "launch/cufft.h"
#include "launch/driver.h"
#include "render/render.h"

struct stn_context {
    stn_logger logger;
    stn_machine machine; /* of the device, the absent GPU, or the host */
    stn_driver *driver;  /* NULL on a host context */
    stn_device *device;
    stn_pool *_Atomic pool; /* host threads; NULL until a host plan needs it, made under the lock */
    stn_templates templates;
    stn_cache *cache;
    stn_memo *kernels;
    struct stn_compile_batch *batches; /* that threads record now: compile_batch.h */
    pthread_mutex_t lock;   /* guards compiler, cuFFT, cuBLAS, pool, copy bandwidth, batches, kernels and wisdom */
    pthread_mutex_t tuning; /* held while candidates are measured: one thread at a time */
    stn_compiler *compiler;
    stn_error no_compiler;      /* why it could not be opened; status 0: not tried */
    stn_compiler_place located; /* what would be opened; an empty identity: nothing */
    bool looked;
    stn_cufft *cufft;   /* NULL until a plan needs it */
    stn_error no_cufft; /* why it could not be opened; status 0: not tried */
    stn_cublas *cublas; /* likewise */
    stn_error no_cublas;
    stn_key templates_key;        /* of all templates' names and texts, hashed once */
    int threads;                  /* as asked for; 0: all that the process may use */
    double start_seconds;         /* that the driver and the device took to open */
    double driver_seconds;        /* that making the context spent in the driver after that */
    stn_wisdom wisdom;            /* the folder's, as it was when a plan last looked; tune/wisdom.h */
    struct stat wisdom_seen;      /* that file */
    char *seeds;                  /* text of $STENTOR_SEEDS; NULL: not read, or not set */
    const struct tune_play *play; /* tests play the GPU's speed: tune/online.h; borrowed; NULL: it is measured */
    char no_device[1020];         /* AUTO found no GPU: why */
};

/* Opens NVRTC on first need; the same error every time it is missing. */
stn_status stn_context_compiler(stn_context *context, stn_compiler **compiler, stn_error *error);
/* The identity of the NVRTC that is open, or else of the one that would be opened; "" when there is
 * none. Opens nothing: a kernel that is stored already costs no start of NVRTC. Borrowed; it
 * changes at most once, when the compiler opens. */
const char *stn_context_compiler_identity(stn_context *context);
/* Opens cuFFT on first need; the same error every time it is missing. */
stn_status stn_context_cufft(stn_context *context, stn_cufft **cufft, stn_error *error);
/* Likewise cuBLAS, with a handle on the context's GPU, which must be here. */
stn_status stn_context_cublas(stn_context *context, stn_cublas **cublas, stn_error *error);
/* The pool of host threads, made on first need. */
stn_status stn_context_pool(stn_context *context, stn_pool **pool, stn_error *error);
/* Replaces the assumed copy bandwidth by the measured one: the one that is remembered in the cache
 * folder for this GPU and driver, or else measured now and remembered. Does nothing on a context
 * without a present GPU. No other thread may be using the context. */
stn_status stn_context_measure(stn_context *context, stn_error *error);
/* Only what is remembered; called when the context is made. */
void stn_context_recall_measured(stn_context *context);
/* The host as a machine: names and sizes from the system, ceilings assumed. threads: 0 for all. */
void stn_machine_of_host(int threads, stn_machine *machine);

/* The machine that a context plans for; owned by the context. */
const stn_machine *stn_context_machine(const stn_context *context);
/* A copy of it. standard: on the host, a machine whose number of threads does not depend on the
 * context, so that the strategies chosen for it do not depend on the context either. */
void stn_context_machine_copy(const stn_context *context, bool standard, stn_machine *machine);
/* Waits for all work on the context's GPU, on any stream. */
stn_status stn_context_wait(stn_context *context, stn_error *error);
#endif
