/* The context: the runtime that plans share. It holds the device, the compiler (opened on first
 * use), the templates, the cache, the loaded kernels and the host's threads, and knows no plan. */
#ifndef STN_CONTEXT_CONTEXT_H
#define STN_CONTEXT_CONTEXT_H
#include <pthread.h>
#include <stdbool.h>

#include "base/log.h"
#include "cache/cache.h"
#include "cache/wisdom.h"
#include "compile/compiler.h"
#include "context/kernel_memory.h"
#include "host/pool.h"
#include "host/watch.h"
#include "launch/cublas_library.h"
#include "launch/cufft_library.h"
#include "launch/driver.h"
#include "render/render.h"

struct stn_context {
    stn_logger logger;
    stn_machine machine; /* the device, a GPU that is not present, or the host */
    stn_driver *driver;  /* NULL on a host context */
    stn_device *device;
    stn_pool *_Atomic pool; /* host threads; NULL until a host plan needs them */
    stn_templates templates;
    stn_cache *cache;
    stn_kernel_memory kernels;
    /* Guards compiler, cuFFT, cuBLAS, pool, copy bandwidth, wisdom, and the loading of compiled
     * kernels. */
    pthread_mutex_t lock;
    pthread_mutex_t tuning; /* held while candidates are measured: one thread at a time */
    stn_compiler *compiler;
    stn_error no_compiler;         /* why it could not be opened; status 0: not tried */
    stn_compiler_location located; /* the NVRTC that would be opened; an empty identity: none */
    bool looked;                   /* `located` is set */
    stn_cufft *cufft;              /* NULL until a plan needs it */
    stn_error no_cufft;            /* why it could not be opened; status 0: not tried */
    stn_cublas *cublas;            /* likewise */
    stn_error no_cublas;
    stn_key templates_key;   /* hash of the names and texts of all templates */
    int threads;             /* of the options; 0: all that the process may use */
    double start_seconds;    /* of opening the driver and the device */
    double driver_seconds;   /* spent in the driver after that, while creating the context */
    stn_wisdom wisdom;       /* of the cache folder, as last read (tune/plan_wisdom.h) */
    struct stat wisdom_seen; /* the wisdom file as it was then */
    char no_device[1020];    /* why STN_DEVICE_AUTO found no GPU */
};

/* Opens NVRTC on first use; the same error every time it is missing. */
stn_status stn_context_compiler(stn_context *context, stn_compiler **compiler, stn_error *error);
/* The identity of the NVRTC that is open, or else of the one that would be opened; "" when there is
 * none. Opens nothing, so that a stored kernel does not wait for NVRTC to start. Borrowed; it
 * changes at most once, when the compiler is opened. */
const char *stn_context_compiler_identity(stn_context *context);
/* Opens cuFFT on first use; the same error every time it is missing. */
stn_status stn_context_cufft(stn_context *context, stn_cufft **cufft, stn_error *error);
/* Likewise cuBLAS, with a handle on the context's GPU, which must be present. */
stn_status stn_context_cublas(stn_context *context, stn_cublas **cublas, stn_error *error);
/* The pool of host threads, created on first use. */
stn_status stn_context_pool(stn_context *context, stn_pool **pool, stn_error *error);
/* Measures the copy bandwidth, unless it is known, and stores it in the cache folder for this GPU
 * and driver. Does nothing without a present GPU. No other thread may be using the context. */
stn_status stn_context_measure_bandwidth(stn_context *context, stn_error *error);
/* Reads the stored copy bandwidth, if there is one; called when the context is created. */
void stn_context_recall_bandwidth(stn_context *context);

/* Copies the machine that a context plans for. standard: on the host, a machine whose number of
 * threads does not depend on the context, so that the strategies chosen for it do not depend on the
 * context either. */
void stn_context_machine_copy(const stn_context *context, bool standard, stn_machine *machine);
/* Waits for the stream to reach the timer's mark, and calls the progress function of the watch
 * meanwhile. cancels: a progress function that cancels ends the wait, but not the enqueued work. */
stn_status stn_stream_wait(stn_timer *timer, stn_watch *watch, bool cancels, stn_error *error);
/* Waits for all work on the context's GPU, on any stream. */
stn_status stn_context_wait(stn_context *context, stn_error *error);
/* Checks the arguments of a function that describes `what`, and clears *result. */
stn_status stn_describe_check(const char *needs, const void *what, stn_format format, char **result, stn_error *error);
#endif
