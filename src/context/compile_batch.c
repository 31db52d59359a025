/* The kernels that a plan lacks, recorded and then compiled on several threads: compile_batch.h;
 * predicted compile times, from a table of templates. */
#include "context/compile_batch.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "context/context.h"

stn_compile_batch *stn_compile_batch_create(stn_context *context) {
    stn_compile_batch *batch = calloc(1, sizeof *batch);
    if (batch) batch->context = context;
    return batch;
}

void stn_compile_batch_free(stn_compile_batch *batch) {
    if (!batch) return;
    for (size_t i = 0; i < batch->count; i++) stn_kernel_free(batch->missing[i]);
    free(batch);
}

/* ---- predicted times ------------------------------------------------------------------------- */

typedef struct cost {
    const char *name;        /* a prefix of the template's name */
    const char *lacks;       /* a text that the parameters must not contain */
    double seconds, per_fma; /* per_fma: additional seconds for each unrolled multiplication */
} cost;

/* The first row that matches applies. Seconds of NVRTC 13.0 for sm_90 on one core of an H200's
 * host, that of direct_any when compiled together with others; other CPUs differ by a factor of up
 * to two. */
static const cost costs[] = {{"direct_any", "", 0.15, 0},
                             {"direct_gather", "", 0.16, 0},
                             {"direct_skew", "", 0.2, 1.3e-3},
                             {"direct_line", "", 0.08, 1.5e-3},
                             {"direct_tile", "", 0.1, 1e-3},
                             {"direct_time_line", "", 0.35, 0.03},
                             {"direct_time_tile", "Y_LOW = 0;", 0.15, 1.8e-3},
                             {"direct_time", "", 0.15, 1.2e-3},
                             {"faces_copy", "", 0.08, 0},
                             {"sourced_add", "", 0.08, 0},
                             {"faces_tile", "", 0.08, 6e-4},
                             {"lowrank_mixed", "", 0.4, 0},
                             {"lowrank_axis", "", 0.25, 0},
                             {"lowrank", "", 0.5, 0},
                             {"sparse", "", 0.7, 0},
                             {"segment_dense_tile", "", 0.9, 0},
                             {"segment_face", "", 0.9, 0},
                             {"segment_fft_tile", "", 0.5, 0},
                             {"segment_source", "", 0.1, 0},
                             {"segment", "", 0.77, 0},
                             {"spectral_columns", "DIRECTION = 2;", 0.25, 0},
                             {"spectral_columns", "", 0.45, 0},
                             {"spectral_rows", "", 0.35, 0},
                             {"spectral_source", "", 0.27, 0},
                             {"", "", 0.5, 0}};

static double value_of(const char *params, const char *name) {
    const char *at = strstr(params, name);
    return at ? strtod(at + strlen(name), NULL) : 1;
}

/* Is the boundary one that folds planes back into the grid? The kernel then has a third copy of its
 * unrolled code, besides those for the interior and the edge. */
static bool folds(const char *params, const char *side) {
    const double kind = value_of(params, side);
    return kind == STN_NEAREST || kind == STN_REFLECT || kind == STN_MIRROR;
}

/* The number of unrolled multiplications in the loop body of direct_time_tile. Opposite taps of an
 * axis with mirrored weights share one multiplication. */
static double unrolled_turn(const char *params) {
    const double taps = value_of(params, " NTAPS = ") / (value_of(params, " MIRROR_X = ") > 0 ? 1.5 : 1) /
                        (value_of(params, " MIRROR_Z = ") > 0 ? 1.5 : 1);
    const double copies = folds(params, " Z_SIDE_LOW = ") || folds(params, " Z_SIDE_HIGH = ") ? 3 : 1;
    return taps * value_of(params, " ROWS = ") * value_of(params, " POINTS = ") * value_of(params, " FUSED = ") *
           copies;
}

/* Unrolled multiplications of faces_tile, whose code is made for each tiled axis. What else is
 * compiled for an axis takes as long as 200 multiplications; sums of separable weights halve their
 * number. */
static double unrolled_faces(const char *params, double all) {
    const char *tiled = strstr(params, " TILED[3] = {");
    int axes = 0;
    for (const char *at = tiled ? strchr(tiled, '{') : ""; *at && *at != '}'; at++) axes += *at == '1';
    /* LOOP_OF_PLANES of faces_tile.cu; where it does not hold although the taps fill whole planes,
     * the time is predicted too short. */
    const double planes = value_of(params, " Z_LOW = ") + value_of(params, " Z_HIGH = ") + 1;
    if (all > 200 && fmod(value_of(params, " NTAPS = "), planes) == 0) all /= planes;
    return axes * (200 + all / (value_of(params, " SEPARABLE = ") > 0 ? 2 : 1));
}

/* Unrolled multiplications of a thread's loop body. direct_tile has less code without a loop over
 * columns (0), or if all blocks are at edges along x (2); its time grows no further near 1000. */
static double unrolled(const char *name, const char *params) {
    static const struct { double base, each; } loops[] = {{0, 0.2}, {100, 1}, {0, 0.6}};
    const double taps = value_of(params, " NTAPS = "), all = taps * value_of(params, " ROWS = ");
    if (!strcmp(name, "direct_time_line")) return taps;
    if (!strcmp(name, "direct_time_tile")) return unrolled_turn(params);
    if (!strcmp(name, "faces_tile")) return unrolled_faces(params, all * value_of(params, " POINTS = "));
    const double body = all * value_of(params, " VECTOR = ") * value_of(params, " UNROLL = ");
    if (strcmp(name, "direct_tile") != 0) return body;
    const int loop = (int)value_of(params, " COLUMN_LOOP = ") % 3;
    return loops[loop].base + loops[loop].each * fmin(body, 1000);
}

/* Seconds to compile the code that moves rows of f16 of any length through shared memory. */
static double odd_row_seconds(const char *name, const char *params) {
    const bool odd = !strncmp(name, "direct_time", 11) && strstr(params, "STORE = unsigned short;") &&
                     value_of(params, " VECTOR = ") == 1;
    return odd ? 0.5 : 0;
}

double stn_compile_seconds(const char *template_name, const char *params) {
    const cost *each = costs;
    while (strncmp(template_name, each->name, strlen(each->name)) != 0 || (*each->lacks && strstr(params, each->lacks)))
        each++; /* the last row matches every template */
    return each->seconds + odd_row_seconds(template_name, params) +
           (each->per_fma > 0 ? each->per_fma * unrolled(template_name, params) : 0);
}

/* Seconds per kernel in NVRTC's front end, which holds a lock of the whole process; its later
 * passes run in parallel. The value is fitted to the times of batches of five kernels. One kernel
 * alone takes only 0.022 to 0.027 CPU seconds there (NVRTC 13.0), which would predict too short
 * times. */
#define FRONT_SECONDS 0.045

/* A kernel of a batch. */
typedef struct timed_kernel {
    stn_compile_batch *batch;
    const stn_kernel *kernel;
    double seconds; /* predicted, of compiling it on one thread */
} timed_kernel;

static int longest_first(const void *a, const void *b) {
    const timed_kernel *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

double stn_compile_batch_seconds(const stn_compile_batch *batch) {
    timed_kernel list[STN_COMPILE_BATCH_MAX];
    double all = 0, last = 0;
    for (size_t i = 0; i < batch->count; i++)
        list[i].seconds = stn_compile_seconds(batch->missing[i]->name, batch->missing[i]->params);
    qsort(list, batch->count, sizeof *list, longest_first);
    for (size_t i = 0; i < batch->count; i++) {
        all += list[i].seconds;
        last = fmax(last, (double)i * FRONT_SECONDS + list[i].seconds);
    }
    return fmax(all / stn_compile_threads(batch->context), last);
}

/* ---- compiling ------------------------------------------------------------------------------- */

int stn_compile_threads(const stn_context *context) { return context->threads ? context->threads : stn_pool_allowed(); }

/* The first failure is kept and cancels the batch. */
static void fail(stn_compile_batch *batch, const stn_error *failure) {
    if (!atomic_flag_test_and_set(&batch->has_failed)) batch->failure = *failure;
    atomic_store(&batch->cancel, true);
}

static bool is_listed(const timed_kernel *list, size_t count, const stn_kernel *kernel) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].kernel->name, kernel->name) && !strcmp(list[i].kernel->params, kernel->params)) return true;
    return false;
}

/* Kernels are only compiled here: the thread that prepares the plan loads them. */
static void compile_range(void *user, int64_t begin, int64_t end) {
    const timed_kernel *list = user;
    for (int64_t i = begin; i < end; i++) {
        stn_compile_batch *batch = list[i].batch;
        stn_error failure = {0};
        if (!atomic_load(&batch->cancel) &&
            stn_kernel_compile(batch->context, list[i].kernel, &batch->cancel, &failure) != STN_OK)
            fail(batch, &failure);
    }
}

/* NVRTC's front end serves one thread at a time, its later passes all threads in parallel, so the
 * kernel that takes longest is started first. A kernel that several batches lack comes last in all
 * but the first of them, where it is found compiled. Creates a pool of its own, since the caller
 * may run on the context's. */
void stn_compile_batches_run(stn_context *context, stn_compile_batch *const *batches, size_t count) {
    timed_kernel *list = calloc(count * STN_COMPILE_BATCH_MAX, sizeof *list);
    stn_pool *pool = NULL;
    stn_error failure = {0};
    size_t listed = 0;
    if (!list) (void)stn_fail_memory(&failure, "a list of kernels", count * STN_COMPILE_BATCH_MAX * sizeof *list);
    for (size_t b = 0; b < count; b++) {
        if (!list && batches[b]) fail(batches[b], &failure);
        for (size_t i = 0; list && batches[b] && i < batches[b]->count; i++) {
            const stn_kernel *kernel = batches[b]->missing[i];
            const bool again = is_listed(list, listed, kernel);
            list[listed++] =
                (timed_kernel){batches[b], kernel, again ? 0 : stn_compile_seconds(kernel->name, kernel->params)};
        }
    }
    if (listed) qsort(list, listed, sizeof *list, longest_first);
    const size_t threads = (size_t)stn_compile_threads(context), used = threads < listed ? threads : listed;
    if (used > 1) (void)stn_pool_create((int)used, &pool, NULL);
    stn_pool_for(pool, (int64_t)listed, 1, compile_range, list);
    stn_pool_destroy(pool);
    free(list);
}

stn_status stn_compile_batch_result(const stn_compile_batch *batch, stn_error *error) {
    if (!atomic_load(&batch->cancel)) return STN_OK;
    return batch->failure.status ? stn_fail(error, batch->failure.status, "%s", batch->failure.message)
                                 : stn_fail(error, STN_ERROR_INTERNAL, "compiling was cancelled");
}

stn_status stn_compile_batch_try(stn_compile_batch *batch, stn_error *error) {
    stn_compile_batches_run(batch->context, &batch, 1);
    return stn_compile_batch_result(batch, error);
}

void stn_compile_batch_cancel(stn_compile_batch *batch) {
    if (batch) atomic_store(&batch->cancel, true);
}

/* ---- in the background ----------------------------------------------------------------------- */

struct stn_background_compile {
    pthread_t thread;
    pid_t owner; /* a forked child has no such thread */
    size_t count;
    stn_compile_batch *batches[];
};

static void *compile_in_background(void *user) {
    stn_background_compile *background = user;
    for (size_t i = 0; i < background->count; i++) {
        if (!background->batches[i]) continue;
        /* The thread that asks for a kernel that failed gets its error. */
        (void)stn_compile_batch_try(background->batches[i], NULL);
        atomic_store(&background->batches[i]->finished, true);
    }
    return NULL;
}

stn_background_compile *stn_background_compile_start(stn_compile_batch *const *batches, size_t count) {
    stn_background_compile *background = calloc(1, sizeof *background + count * sizeof *batches);
    if (!background) return NULL;
    background->owner = getpid();
    background->count = count;
    memcpy(background->batches, batches, count * sizeof *batches);
    if (!stn_thread_start(&background->thread, compile_in_background, background)) return background;
    free(background);
    return NULL;
}

void stn_background_compile_end(stn_background_compile *background, bool cancel) {
    if (!background) return;
    for (size_t i = 0; cancel && i < background->count; i++) stn_compile_batch_cancel(background->batches[i]);
    if (background->owner == getpid()) pthread_join(background->thread, NULL);
    free(background);
}
