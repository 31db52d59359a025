/* Stentor: linear stencils with arbitrary coefficients, at the speed of the machine.
 *
 * Describe a problem, get a plan, execute it many times:
 *
 *     stn_context *ctx;    stn_context_create(NULL, &ctx, &err);
 *     stn_stencil *heat;   stn_stencil_parse("heat-2d:alpha=0.2", &heat, &err);
 *     stn_problem p = STN_PROBLEM_INIT;
 *     p.stencil = heat;  p.extent[0] = ny;  p.extent[1] = nx;  p.steps = 500;
 *     stn_plan *plan;      stn_plan_create(ctx, &p, NULL, &plan, &err);
 *     stn_plan_execute(plan, in, out, NULL, &err);
 *
 * in and out are device pointers where stn_context_is_device says so (as here, where there is a
 * GPU), else host pointers: stn_memory_alloc gives either. options.device = STN_DEVICE_HOST asks
 * for the host.
 *
 * What is computed, for every grid point x and step t:
 *
 *     u[t+1](x) = sum over taps o of  weight[o] * u[t](x + offset[o])
 *
 * that is, a correlation, as PDE codes write stencils (scipy.ndimage.correlate, not convolve). The
 * host strategy, run in float64 one step after the other, is the definition; every other strategy
 * is held to it.
 *
 * Conventions
 *   Axes     C order: axis 0 is the slowest, axis rank-1 the fastest. Extents and strides count elements, 64 bits.
 *   Structs  A zero-initialised struct is valid and means "the defaults". Structs that may grow start with struct_size:
 *            use their _INIT macro, which says what this header knows. 0 is the layout of the first release (0.1.0), whatever
 *            the header: members that came later are not read. A size that no release had is refused.
 *   Errors   Every call that can fail returns a stn_status and takes a stn_error (or NULL) that the caller owns. It
 *            gets one sentence that says what was wrong, where, and what to do. On failure outputs are NULL or
 *            untouched; nothing leaks. The library never prints, aborts or keeps global state.
 *   Threads  Different objects may be used from different threads freely. One stn_context may create plans from
 *            many threads at once. A stn_stencil is immutable. One stn_plan may be executed from several threads at
 *            once only with separate workspaces (stn_plan_execute_with); stn_plan_set_weights needs it alone.
 *   Fork     Make contexts after a fork, in the process that uses them: CUDA does not survive one. A forked child may
 *            destroy the contexts and plans that it got, which frees its copies and leaves the GPU and the parent alone;
 *            plans on the host may also be made and executed there, and it does not matter whether other threads were
 *            executing plans on the host at the fork. Whatever else needs the GPU fails with STN_ERROR_DRIVER. None of
 *            this holds if another thread was making or destroying something of the context at the fork.
 *   Exit     Host threads wait two seconds for more work, then end: a program whose main thread ends by pthread_exit
 *            ends with the last of its own threads, or that much later.
 */
#ifndef STENTOR_H
#define STENTOR_H

#include <stddef.h>
#include <stdint.h>

#define STN_VERSION_MAJOR 0
#define STN_VERSION_MINOR 1
#define STN_VERSION_PATCH 0

#if defined(__GNUC__)
#define STN_API __attribute__((visibility("default")))
#else
#define STN_API
#endif

/* An initialiser for a struct that starts with struct_size. */
#ifdef __cplusplus
extern "C++" { /* though a caller may include this header where declarations are C's */
template <class type>
inline type stn_init_of() {
    type made = type(); /* all zero */
    made.struct_size = sizeof(type);
    return made;
}
}
#define STN_INIT_OF(type) stn_init_of<type>()
#else
#define STN_INIT_OF(type)                                                                                              \
    { .struct_size = sizeof(type) }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and errors ----------------------------------------------------------------------- */

/* name, exit code of the `stentor` command, meaning */
#define STN_STATUS_LIST(X)                                                                                             \
    X(STN_OK, 0, "success")                                                                                            \
    X(STN_ERROR_INVALID_ARGUMENT, 2, "an argument is invalid")                                                         \
    X(STN_ERROR_OUT_OF_MEMORY, 3, "out of memory")                                                                     \
    X(STN_ERROR_NO_DEVICE, 4, "no usable GPU")                                                                         \
    X(STN_ERROR_DRIVER, 5, "the CUDA driver reported an error")                                                        \
    X(STN_ERROR_NO_COMPILER, 6, "NVRTC is missing or unusable and no stored kernel fits")                              \
    X(STN_ERROR_COMPILE, 7, "a kernel did not compile")                                                                \
    X(STN_ERROR_UNSUPPORTED, 8, "no strategy serves this problem")                                                     \
    X(STN_ERROR_IO, 9, "a file could not be read or written")                                                          \
    X(STN_ERROR_FORMAT, 10, "a file's content is not what its format demands")                                         \
    X(STN_ERROR_INTERNAL, 11, "an internal error: please report it")                                                   \
    X(STN_ERROR_CANCELLED, 130, "the caller cancelled it")

typedef enum stn_status {
#define STN_STATUS_ENUM(name, exit_code, text) name,
    STN_STATUS_LIST(STN_STATUS_ENUM)
#undef STN_STATUS_ENUM
} stn_status;

/* The constant English meaning of a status. Never NULL. */
STN_API const char *stn_status_string(stn_status status);

/* The process exit code that the `stentor` command uses for a status. */
STN_API int stn_status_exit_code(stn_status status);

/* The story of one failure; owned by the caller, filled by the call that failed, untouched by one
 * that succeeded. */
typedef struct stn_error {
    stn_status status;
    char message[1020]; /* one sentence: what, where, what to do; always terminated */
} stn_error;

typedef enum stn_log_level { STN_LOG_DEBUG, STN_LOG_INFO, STN_LOG_WARNING, STN_LOG_ERROR } stn_log_level;

/* Receives what the library has to say. May be called from any thread that is inside a call on the
 * context. */
typedef void (*stn_log_fn)(void *user, stn_log_level level, const char *message);

/* Is told how many of an execution's steps are done, and of how many; of a transform, a layer or a
 * strategy that makes all steps at once, 0 until it ends. Non-zero cancels the execution. It must
 * not use the plan, nor another one of its context. */
typedef int (*stn_progress_fn)(void *user, uint64_t done, uint64_t total);

STN_API const char *stn_version(void);

/* Frees text that the library returned (stn_plan_describe and others). NULL is fine. */
STN_API void stn_text_free(char *text);

/* ---- Contexts -------------------------------------------------------------------------------- */

typedef struct stn_context stn_context;

#define STN_DEVICE_AUTO 0 /* the first usable GPU, else the host */
#define STN_DEVICE_HOST (-1)
#define STN_DEVICE_CUDA(n) ((n) + 1)

typedef struct stn_context_options {
    size_t struct_size;
    int device;  /* STN_DEVICE_AUTO, STN_DEVICE_HOST or STN_DEVICE_CUDA(n) */
    int threads; /* host threads; 0: all that this process may use */
    /* NULL or "": $STENTOR_CACHE_DIR, $XDG_CACHE_HOME/stentor, ~/.cache/stentor; ":memory:":
     * none. */
    const char *cache_dir;
    stn_log_fn log; /* NULL: silence */
    void *log_user;
    const char *arch; /* "sm_90": plan and compile for a GPU that is not here (no execution); NULL: the device's */
    int cache_shared; /* non-zero: accept a cache folder that others own or may write (explicit trust) */
    const char *const *packs; /* files of ready kernels, searched first; NULL-terminated, or NULL */
    const void *pack_data;    /* a pack in memory, borrowed for the context's life, or NULL */
    size_t pack_size;
} stn_context_options;
#define STN_CONTEXT_OPTIONS_INIT STN_INIT_OF(stn_context_options)

/* options may be NULL. Loads what it needs at run time; with STN_DEVICE_AUTO a machine without a
 * GPU gives a host context. The context must outlive its plans. The first context on a GPU measures
 * its copy bandwidth (milliseconds) and remembers it in the cache folder. */
STN_API stn_status stn_context_create(const stn_context_options *options, stn_context **context, stn_error *error);
/* NULL is fine; plans must be gone. In a forked child it only frees. */
STN_API void stn_context_destroy(stn_context *context);

/* Non-zero if plans of this context take device pointers. */
STN_API int stn_context_is_device(const stn_context *context);

/* What the context found: device, driver, NVRTC, cuFFT, cuBLAS, cache folder, what is missing and
 * how to get it. Text for people, or one JSON object. *text is the caller's, freed with
 * stn_text_free. */
typedef enum stn_format { STN_TEXT, STN_JSON } stn_format;
STN_API stn_status stn_context_describe(stn_context *context, stn_format format, char **text, stn_error *error);

/* Counters since the context was made. */
typedef struct stn_cache_stats {
    uint64_t memory_hits, pack_hits, disk_hits, misses; /* kernels */
    uint64_t rejected;                                  /* damaged or foreign entries dropped */
    uint64_t bytes_read, bytes_written;
    double compile_seconds, load_seconds;
} stn_cache_stats;
STN_API void stn_context_cache_stats(stn_context *context, stn_cache_stats *stats);

/* Memory where the context's plans run: device memory on a GPU, host memory otherwise. For programs
 * that have no other CUDA code; any device pointer of the device's primary context serves as well.
 * upload and download wait until the bytes have arrived. Errors: out of memory, driver. */
STN_API stn_status stn_memory_alloc(stn_context *context, size_t bytes, void **pointer, stn_error *error);
STN_API void stn_memory_free(stn_context *context, void *pointer);
STN_API stn_status stn_memory_upload(stn_context *context, void *to, const void *from_host, size_t bytes,
                                     stn_error *error);
STN_API stn_status stn_memory_download(stn_context *context, void *to_host, const void *from, size_t bytes,
                                       stn_error *error);
/* Waits for all work on a stream (NULL: the default stream). */
STN_API stn_status stn_synchronize(stn_context *context, void *stream, stn_error *error);
/* The same; `progress` is called about every 50 ms, with 0 of 1. Non-zero ends the wait, not the
 * work: STN_ERROR_CANCELLED. */
STN_API stn_status stn_synchronize_told(stn_context *context, void *stream, stn_progress_fn progress, void *user,
                                        stn_error *error);

/* ---- Stencils -------------------------------------------------------------------------------- */

#define STN_MAX_RANK 3
#define STN_MAX_RADIUS 64  /* largest |offset| of a tap along any axis */
#define STN_MAX_TAPS 35937 /* 33^3 */

typedef struct stn_tap {
    int64_t offset[STN_MAX_RANK]; /* along axis 0, 1, 2; entries past the rank must be 0 */
    double weight;                /* finite */
} stn_tap;

typedef struct stn_stencil stn_stencil; /* immutable once made */

/* A stencil from a list of taps, copied. rank 1..3. Two taps at one offset, a weight that is not
 * finite, or an offset past STN_MAX_RADIUS is an error that names the tap. */
STN_API stn_status stn_stencil_create(int rank, size_t ntaps, const stn_tap *taps, stn_stencil **stencil,
                                      stn_error *error);

/* A stencil from a dense array of weights in C order, centred; extents must be odd. Zeros are taps
 * too unless they are exactly 0.0, which are dropped (an all-zero array keeps one zero tap at the
 * centre). */
STN_API stn_status stn_stencil_create_dense(int rank, const size_t *extent, const double *weights,
                                            stn_stencil **stencil, stn_error *error);

/* A stencil by name: heat-1d, heat-2d, heat-3d (alpha=), 1d5p, 1d7p, box-2d9p, box-2d49p,
 * box-3d27p, star-2d13p, laplace-1d, laplace-2d, laplace-3d (order=2..16), gaussian-1d, -2d, -3d
 * (sigma=, truncate=; gaussian alone is 2D). Form: NAME or NAME:key=value,key=value. An unknown
 * name's error lists the known ones. */
STN_API stn_status stn_stencil_parse(const char *spec, stn_stencil **stencil, stn_error *error);

STN_API void stn_stencil_destroy(stn_stencil *stencil); /* NULL is fine */

STN_API int stn_stencil_rank(const stn_stencil *stencil);
STN_API size_t stn_stencil_tap_count(const stn_stencil *stencil);
/* The taps, sorted by offset (axis 0 first); owned by the stencil. The order of weights in
 * stn_plan_set_weights. */
STN_API const stn_tap *stn_stencil_taps(const stn_stencil *stencil);

/* max over frequencies k of |K(k)|, K(k) = sum_o w_o exp(2 pi i k.o), the symbol: above 1 a long
 * run grows without bound in any method. Sampled densely and refined around the largest sample;
 * good to about 1e-6. */
STN_API double stn_stencil_max_symbol(const stn_stencil *stencil);

/* ---- Problems -------------------------------------------------------------------------------- */

typedef enum stn_dtype { STN_F64, STN_F32, STN_F16 } stn_dtype; /* f16: IEEE half storage, float32 arithmetic */

STN_API size_t stn_dtype_size(stn_dtype dtype);
STN_API const char *stn_dtype_name(stn_dtype dtype);
STN_API stn_status stn_dtype_parse(const char *name, stn_dtype *dtype, stn_error *error);

/* What a tap sees past an edge; a b c d are the points of an axis. The names are scipy.ndimage's,
 * plus fixed. A tap past the edges of several axes at once: each axis folds its own index; where
 * one gives a constant, the slowest such axis decides the value. An index that a mirrored side
 * folds past the other side (n points, reach n or further) is folded by that side's rule then, and
 * so on: mirror:nearest on a b c d shows d at -4, mirror:constant the value; one that lands past a
 * fixed side so is refused. */
typedef enum stn_boundary_kind {
    STN_WRAP,     /* the grid repeats:                          ... c d | a b c d | a b ...  both sides or none */
    STN_CONSTANT, /* a value:                                   ... v v | a b c d | v v ...                     */
    STN_NEAREST,  /* the last point repeats:                    ... a a | a b c d | d d ...                     */
    STN_REFLECT,  /* mirrored about the edge of the last cell:  ... b a | a b c d | d c ...                     */
    STN_MIRROR,   /* mirrored about the last point's centre:    ... c b | a b c d | c b ...                     */
    STN_FIXED     /* points whose taps would reach past this side keep their initial values (Dirichlet)         */
} stn_boundary_kind;

typedef struct stn_boundary {
    stn_boundary_kind kind; /* 0 is STN_WRAP */
    double value;           /* for STN_CONSTANT */
} stn_boundary;

/* Parses "KIND" or "LOW:HIGH" for one axis, where each is wrap, constant, constant=V, nearest,
 * reflect, mirror or fixed, into sides[0] (low) and sides[1] (high). scipy's grid-wrap,
 * grid-constant and grid-mirror (reflect) are taken too. */
STN_API stn_status stn_boundary_parse(const char *spec, stn_boundary sides[2], stn_error *error);

/* What a result is accurate relative to. A strategy that transforms errs at every point in
 * proportion to the largest value of the whole grid, and one NaN or infinity reaches all of it. */
typedef enum stn_accuracy {
    STN_ACCURACY_GLOBAL, /* relative to the grid: any strategy serves */
    STN_ACCURACY_LOCAL /* relative to the values that reach a point: only strategies that take step by step serve, zeros
                            stay zeros, and what is not finite spreads as far as taps carry it */
} stn_accuracy;

typedef struct stn_problem {
    size_t struct_size;
    const stn_stencil *stencil;                  /* borrowed during the call only; plans copy it */
    size_t extent[STN_MAX_RANK];                 /* points along each of the stencil's axes; more are not looked at */
    ptrdiff_t in_stride[STN_MAX_RANK];           /* elements; all 0 means dense in C order */
    ptrdiff_t out_stride[STN_MAX_RANK];          /* likewise */
    size_t batch;                                /* independent grids; 0 means 1 */
    ptrdiff_t in_batch_stride, out_batch_stride; /* elements between grids; 0: the largest extent * stride of an axis */
    stn_boundary boundary[STN_MAX_RANK][2];      /* [axis][0 = low side, 1 = high side] */
    stn_dtype dtype;
    uint64_t steps; /* 0 means 1 */
    /* Relative L2 error allowed for the whole run, of numbers of usual size; 0 means rounding of
     * dtype only. Above that a strategy may drop separable terms of the taps, and use tensor cores
     * with less than dtype's precision: f32 by TF32 from 5e-4 on (2D: 1e-3), f16 with weights
     * rounded to f16 from 1e-3 on. stn_plan_describe says which arithmetic was chosen. */
    double tolerance;
    int in_place;  /* non-zero: in and out will be the same pointer (same strides) */
    int alignment; /* bytes that the pointers in and out are multiples of, a power of two; 0 means 16 */
    /* Snapshots: with every = k the output is a stack of steps / k states, those after k, 2 k, ...
     * and `steps` steps, each with all grids of the batch, snapshot_stride elements after the one
     * before (0: batch * the grids' stride). k must divide steps; not in place. 0: the last state
     * alone. */
    uint64_t every;
    ptrdiff_t snapshot_stride;
    /* Non-zero: a constant source b, u[t+1] = S u[t] + b. Executions bring its values
     * (stn_execution), which lie as in does: in_stride, in_batch_stride, dtype, alignment. Points
     * that a fixed side freezes keep their value. Where transforms make many steps at once, the
     * source takes about as long again, however many they are, and no more workspace. */
    int has_source;
    /* A stn_accuracy. Where a constant side has a value that is not finite in the dtype it is
     * LOCAL. */
    int accuracy;
} stn_problem;
#define STN_PROBLEM_INIT STN_INIT_OF(stn_problem)

/* Checks a problem without planning it: extents, size overflow, strides that overlap, boundary
 * pairs, finite values. Needs no device. Taps that reach further past a side than the axis is long
 * are served by the host strategy alone. */
STN_API stn_status stn_problem_validate(const stn_problem *problem, stn_error *error);

/* ---- Plans ----------------------------------------------------------------------------------- */

typedef struct stn_plan stn_plan;

/* How a plan is chosen among all strategies and their candidates. Times that were measured before
 * (wisdom) decide in all of them where there are any, but not with
 * stn_plan_options.deterministic. */
typedef enum stn_plan_mode {
    STN_MODE_AUTO,     /* the same as ESTIMATE */
    STN_MODE_ESTIMATE, /* the cheapest by estimate */
    STN_MODE_MEASURE,  /* the likely candidates are measured first, on grids of the plan's own: seconds */
    STN_MODE_PATIENT,  /* all candidates are, with no limit of time but tune_seconds */
    /* The plan runs the estimate's choice, compiles other candidates on a thread of its own, lets
     * them run the caller's own executions or parts of long ones, checks each against the first
     * one's result before it may take over, and stays with the fastest. See stn_plan_create. */
    STN_MODE_ONLINE,
    STN_MODE_WISDOM_ONLY /* what was measured before, or STN_ERROR_UNSUPPORTED: nothing is measured or guessed */
} stn_plan_mode;

typedef struct stn_plan_options {
    size_t struct_size;
    const char *strategy;  /* NULL or "auto": the cheapest; else "host", "direct", ... */
    int no_auto_workspace; /* non-zero: the plan allocates no workspace; use stn_plan_execute_with */
    int tune;              /* non-zero: measure instead of estimating, and remember: see stn_plan_create */
    int estimate_only;     /* non-zero: choose and describe, build nothing: needs no compiler, cannot be executed */
    double tune_seconds;   /* with MEASURE and PATIENT: about so long at most; 0: 10 seconds, PATIENT: no limit */
    int mode;              /* a stn_plan_mode; tune is the same as STN_MODE_MEASURE */
    int deterministic; /* non-zero: one choice, by estimate alone: no wisdom, nothing measured, nothing that changes later */
    /* With ONLINE: how often the plan will be executed, if that is known; it bounds what trials may
     * cost. 0: not known. */
    uint64_t executions;
    /* Non-zero: measured, and looked up, are times with a cold L2 cache, as where other work runs
     * between two executions. By default executions follow each other, and small grids stay in
     * it. */
    int tune_cold;
    /* Non-zero, with AUTO and ESTIMATE: the first result as soon as possible; see "Ready" at
     * stn_plan_create. For callers who make a plan for one execution. */
    int first_result;
} stn_plan_options;
#define STN_PLAN_OPTIONS_INIT STN_INIT_OF(stn_plan_options)

/* Chooses a strategy by its estimated cost (options.mode has other ways), renders its kernels,
 * compiles them or finds them stored, and builds tables and workspace. options may be NULL. The
 * plan holds copies of all it needs but keeps using the context.
 *
 *   Ready     A plan that comes back runs its chosen kernels from the first execution on. Stored kernels are loaded in
 *             milliseconds; others are compiled first, all at once on the context's threads, and then stored.
 *             options.first_result asks for one exception: where the generic kernel (one serves all stencils of a
 *             type) is predicted to finish a whole execution before the chosen kernels would be compiled, it runs the first
 *             execution while they compile in the background. The second execution waits for them and runs them, and
 *             so do all after it; results differ by rounding. A stream that is captured before that keeps the generic
 *             kernel. If a kernel does not compile the generic one stays: the log and stn_plan_describe say why.
 *             Not for a named strategy, a stack of snapshots, transforms and Fourier layers.
 *             Destroy such a plan before the process ends: its background compile ends with it.
 *
 * With STN_MODE_MEASURE, or options.tune, the likely candidates (strategies, steps a launch,
 * tiles), best estimate first, are compiled, run for a few launches on random grids, compared with
 * single steps of the direct strategy, and timed; the fastest one whose result is right is the
 * plan's. Those of a transform (kernels, lengths of access) are compared with cuFFT where it is
 * here.
 *   Cost      seconds, mostly compiles (kept in the cache, on as many host threads as the context has), at most about
 *             tune_seconds; device memory for three grids and a workspace, freed before the call returns. It uses the
 *             default stream and waits. What cannot be measured (no memory, a candidate that does not compile) is
 *             passed over; if nothing can, the estimate decides.
 *   Memory    The times are kept in the cache folder, under the problem (extents, strides, boundary kinds, dtype, steps,
 *             taps' offsets and symmetry, but not their values), GPU, driver and library. Later plans of the same problem
 *             use them, without tune too, and stn_plan_describe shows them. With the folder ":memory:" only this plan
 *             profits.
 *   Nowhere   On the host, and in a context for a GPU that is not here, there is nothing to measure: tune has no effect but a
 *             warning in the log.
 *   Online    STN_MODE_ONLINE. A unit is one execution, or where the strategy
 *             takes step by step one of up to 512 legs of it. At times a candidate runs a unit into a grid of its own, beside the one whose
 *             result is the caller's, and the two are compared at every point on the GPU; only then it may run units itself. What all this
 *             costs beyond the estimate's choice stays within 5% of the units done, or known to come (executions, legs). Executions may
 *             wait for the GPU until the search is over: for a move that two executions or more are behind, and where they have legs for
 *             each. Results differ by rounding with what ran when. The workspace holds a grid more, or two. A stream that is captured
 *             freezes the choice. Not for transforms, in place, with a source, snapshots or gaps between points: there the estimate's
 *             choice stays. stn_plan_destroy ends what is still compiled, and may wait for one kernel (with NVRTC before 12.9 for seconds).
 *             What was measured is kept like that of the other modes.
 *   Threads   One thread of a context tunes at a time, others wait; other work on the GPU meanwhile disturbs the
 * times. */
STN_API stn_status stn_plan_create(stn_context *context, const stn_problem *problem, const stn_plan_options *options,
                                   stn_plan **plan, stn_error *error);
STN_API void stn_plan_destroy(stn_plan *plan); /* NULL is fine; waits for nothing: synchronise first */

/* Runs all steps from in to out, in stream order. Pointers are device pointers on a GPU context,
 * host pointers otherwise (the call then returns when done; stream is ignored). stream is a
 * CUstream or cudaStream_t, NULL for the default stream. in keeps its content unless the problem is
 * in place; otherwise no byte of a point of in may be one of out (they may lie between each other,
 * such as two halves of each row). Once warm (after the first call) this allocates, compiles and
 * synchronises nothing and can be captured in a CUDA graph. */
STN_API stn_status stn_plan_execute(stn_plan *plan, const void *in, void *out, void *stream, stn_error *error);

/* The same with the caller's workspace of stn_plan_workspace_size bytes, aligned to 256. May be
 * shared between plans whose executions do not overlap. */
STN_API stn_status stn_plan_execute_with(stn_plan *plan, const void *in, void *out, void *workspace, void *stream,
                                         stn_error *error);
/* Plans of transforms: about a grid, less where frequencies die away in many steps, twice that for
 * snapshots; 3D between fixed or constant sides up to 2.5 grids, since lines longer by what taps
 * reach lie there along two axes (src/strategies/README.md). */
STN_API size_t stn_plan_workspace_size(const stn_plan *plan);

struct stn_system_arrays; /* below, under "Systems" */

/* All that an execution takes. Pointers are as those of stn_plan_execute; they are borrowed until
 * the work is done, in stream order. */
typedef struct stn_execution {
    size_t struct_size;
    const void *in;
    void *out;
    const void
        *source;     /* problem.has_source: the source's first point; may be other values at each execution. It must not
                           overlap out. NULL for all other plans */
    void *workspace; /* stn_plan_workspace_size bytes, aligned to 256; NULL: the plan's own */
    void *stream;    /* CUstream or cudaStream_t; NULL: the default stream; ignored on the host */
    /* Of Fourier layers, as their pass takes them and NULL otherwise; for all other plans NULL. No
     * two that are written, or one that is written and one that is read, may overlap. */
    const void *weights, *bias, *skip;   /* bias: forward only */
    const void *gradient;                /* of y, for the backward pass to the weights */
    void *bias_gradient, *skip_gradient; /* written by that pass, as bias and skip lie */
    /* NULL, or called on the executing thread about every 50 ms, and once at the end; at most 0.2 s
     * apart on the host. Non-zero cancels: the call then returns STN_ERROR_CANCELLED within 0.2 s,
     * the output is undefined, and the plan may be executed again. On a GPU the call returns when
     * the work is done: it enqueues a part of the launches at a time, and a cancel waits for those
     * that are enqueued, about 0.1 s; a strategy that makes all steps at once has one part. Not
     * where a stream is captured. */
    stn_progress_fn progress;
    void *progress_user;
    const struct stn_system_arrays *system; /* of systems, which leave in and out NULL; NULL for all other plans */
} stn_execution;
#define STN_EXECUTION_INIT STN_INIT_OF(stn_execution)

/* As stn_plan_execute and stn_plan_execute_with, which take what has no source and no weights.
 * Errors besides theirs: one of the other pointers is missing, or given to a plan that takes
 * none. */
STN_API stn_status stn_plan_run(stn_plan *plan, const stn_execution *execution, stn_error *error);

/* New weights, one for each tap in the order of stn_stencil_taps; they must be finite. As a rule
 * this compiles nothing. Weights that the plan's strategy cannot take, or would err by more with
 * than is allowed, make the plan choose again inside the call, as if it were made for them, which
 * may compile, waits for the GPU and ends the trials of STN_MODE_ONLINE: stn_plan_describe says so.
 * A strategy that was named is preferred, and is taken again as soon as it serves. Where the caller
 * brings the workspace, ask stn_plan_workspace_size after each call: it grows where no choice fits
 * in what it was. Executions enqueued before keep the old weights, and so does the plan where this
 * fails: for want of memory, or where what has to be compiled cannot be. Capture graphs anew: one
 * captured before may use the old or the new ones, or memory that is gone. For stencils only:
 * transforms have no weights, and Fourier layers get theirs with each execution. */
STN_API stn_status stn_plan_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error);

/* The plan in words: problem, strategy and its parameters, the ranking of all candidates with their
 * predicted time, kernels and their resources, stability. *text is the caller's, freed with
 * stn_text_free. Of stability JSON has
 *     max_symbol               the largest |K|: what a step multiplies a wave by at most
 *     overflow_step            the first after which numbers of about 1 may be past the type's range; null: none
 *     step_growth, log10_growth    what a step, and this run, may multiply a grid's norm by; above max_symbol where sides fold taps that
 *                              are not symmetric, which bounds nothing by K
 *     lasting_growth           what a step of a long run does at most, once waves have left through constant and fixed sides; no
 *                              eigenvalue is above it
 *     log10_above_eigenvalues  how far this run may be above its power, and errors above what is predicted
 *     nearly_defective         eigenvectors are parallel to rounding: eigenvalues do not tell what a run
 * does */
STN_API stn_status stn_plan_describe(const stn_plan *plan, stn_format format, char **text, stn_error *error);

STN_API const char *stn_plan_strategy(const stn_plan *plan); /* owned by the plan */
STN_API double stn_plan_predicted_seconds(const stn_plan *plan);

/* The kernels that a plan uses, for people who want to look at them (`stentor compile --keep`).
 * Pointers are owned by the plan. Fields that are not known (registers without a device, PTX of a
 * stored kernel) are 0 or NULL. */
typedef struct stn_kernel_info {
    const char *name;   /* template, such as "direct_tile" */
    const char *params; /* the rendered params.cuh */
    const char *source; /* the template's own text */
    const char *ptx;
    const void *cubin;
    size_t cubin_size;
    int registers, shared_bytes, local_bytes, threads;
} stn_kernel_info;
STN_API size_t stn_plan_kernel_count(const stn_plan *plan);
STN_API stn_status stn_plan_kernel(const stn_plan *plan, size_t index, stn_kernel_info *info, stn_error *error);

/* ---- Transforms ------------------------------------------------------------------------------ */

/* Batched discrete Fourier transforms of 1 to 3 axes, with the habits of cuFFT and FFTW; on GPUs on
 * tensor cores, after tcFFT (Li, Cheng, Lin 2021). For a transform of n points along an axis, and
 * likewise along each of the axes:
 *
 *     forward:  out[k] = scale * sum over j of  in[j] * exp(-2 pi i j k / n)
 *     inverse:  out[k] = scale * sum over j of  in[j] * exp(+2 pi i j k / n)
 *
 * Input and output are in natural order. A complex number is two numbers of the dtype, real part
 * first (cufftComplex, fftw_complex, C's complex). One plan transforms in one direction, as in
 * FFTW; a second plan from the same struct with the other direction or kind shares what it can.
 * Sizes that no strategy of Stentor serves go to cuFFT, where there is one; stn_plan_describe says
 * which strategy runs and why not another.
 *
 * On the host, a number that is not finite makes every number of its line's transform NaN or
 * infinite and reaches no other line of a batch; and no sum on the way is larger than the results,
 * so that a result that fits the dtype is right. GPU kernels form sums of all points before they
 * multiply by the scale, and those of real transforms may be four times the largest result before
 * it is scaled: keep that below a quarter of the dtype's largest number there. */
typedef enum stn_transform_kind {
    STN_C2C, /* complex to complex */
    STN_R2C, /* real to the half of its spectrum that says all: elements 0 to n/2 of the last axis; always forward */
    STN_C2R  /* the way back, always inverse: reads elements 0 to n/2 of the last axis, out has n real numbers there */
} stn_transform_kind;

typedef enum stn_direction { STN_FORWARD, STN_INVERSE } stn_direction;

typedef struct stn_transform {
    size_t struct_size;
    int rank;                    /* axes that are transformed, 1 to 3; axis rank-1 is the last one */
    size_t extent[STN_MAX_RANK]; /* points along each; of R2C and C2R the real side's, as in cuFFT and FFTW */
    /* Elements (complex numbers, or real ones on the real side of R2C and C2R) from one point to
     * the next, for each axis; all 0: dense in C order. The real side of an in-place R2C or C2R is
     * then padded: its last axis takes 2 (n/2 + 1) real numbers, so that each row lies where its
     * half spectrum lies. Given strides must do the same: 1 along the last axis, and the real
     * side's others twice the complex side's. */
    ptrdiff_t in_stride[STN_MAX_RANK], out_stride[STN_MAX_RANK];
    size_t batch;                                /* independent transforms; 0 means 1 */
    ptrdiff_t in_batch_stride, out_batch_stride; /* elements between them; 0: the largest extent * stride of an axis */
    stn_transform_kind kind;
    stn_direction direction;             /* of C2C; the others have their own and it is not looked at */
    stn_dtype dtype;                     /* of real and imaginary parts, in and out */
    int f16_sums;                        /* non-zero, f16 only: products and sums in f16 too, as in the paper's fastest
                                            form; less exact. Default: float32 sums. A strategy may sum in float32 anyhow */
    double forward_scale, inverse_scale; /* each for its direction; 0 means 1: there and back gives n times the input */
    int in_place;                        /* non-zero: in and out will be the same pointer (C2C: same strides) */
    int alignment;                       /* bytes that in and out are multiples of, a power of two; 0 means 16 */
} stn_transform;
#define STN_TRANSFORM_INIT STN_INIT_OF(stn_transform)

/* Checks a transform without planning it: rank, extents, size overflow, strides that overlap,
 * in-place layouts, finite scales. Needs no device. */
STN_API stn_status stn_transform_validate(const stn_transform *transform, stn_error *error);

/* The same for a transform; the plan is executed, described and destroyed as any other. The input
 * of a C2R that is not in place keeps its content. Errors besides those above:
 * STN_ERROR_UNSUPPORTED when only cuFFT could serve it and cuFFT is not here (what was looked for,
 * and how to get it), or when nothing serves it. Source: the paper named above. */
STN_API stn_status stn_plan_create_fft(stn_context *context, const stn_transform *transform,
                                       const stn_plan_options *options, stn_plan **plan, stn_error *error);

/* ---- Fourier layers -------------------------------------------------------------------------- */

/* The spectral convolution of neural operators (Li and others 2021; fused on GPUs after TurboFNO,
 * 2025), with what follows it in a layer. x is [batch, in_channels, extent...], y is [batch,
 * out_channels, extent...], dense in C order, N points a channel; k runs over the kept frequencies
 * only:
 *
 *     X[b,i,k] = 1/N * sum over points p of  x[b,i,p] * exp(-2 pi i k.p/n)
 *     Z[b,o,k] =       sum over channels i of  weights[i,o,k] * X[b,i,k]
 *     y[b,o,p] = activation(  sum over k of  Z[b,o,k] * exp(+2 pi i k.p/n)
 *                           + sum over channels i of  skip[i,o] * x[b,i,p]  +  bias[o] )
 *
 * Of real data the sum over k is the inverse real transform of the half spectrum, as in
 * torch.fft.irfftn: its real part, with weight 1 at frequencies 0 and n/2 of the last axis and 2 at
 * all others between. Every norm of neuraloperator gives the same y. Weights are complex,
 * [in_channels, out_channels, modes...] or, shared, [in_channels, out_channels]; bias
 * [out_channels] and skip [in_channels, out_channels] are of the data's kind. All are of the dtype,
 * dense, and come with each execution (stn_execution), so that they may change while a layer is
 * trained. */
typedef enum stn_mode_choice {
    STN_MODES_BOTH_SIGNS, /* m kept of n: frequencies -(m/2) to (m-1)/2 in this order, as neuraloperator's weights have
                             them after its fftshift; of real data 0 to m-1 along the last axis */
    STN_MODES_LOW         /* frequencies 0 to m-1 along every axis, as in TurboFNO */
} stn_mode_choice;

typedef enum stn_activation {
    STN_ACTIVATION_NONE,
    STN_ACTIVATION_GELU, /* x/2 (1 + erf(x / sqrt 2)); of complex numbers, both: on the real and the imaginary part each */
    STN_ACTIVATION_RELU
} stn_activation;

/* Gradients are those of a real loss; of complex numbers dL/d(real part) + i dL/d(imaginary part),
 * as in PyTorch. */
typedef enum stn_layer_pass {
    STN_PASS_FORWARD,
    STN_PASS_BACKWARD_X,      /* in is y's gradient, out that of x; takes weights and skip */
    STN_PASS_BACKWARD_WEIGHTS /* in is x, stn_execution.gradient is y's; out is the gradient of weights; those of bias and
                                 skip go where stn_execution says, if the layer has them */
} stn_layer_pass;

typedef struct stn_spectral_conv {
    size_t struct_size;
    int rank;                    /* axes, 1 to 3 */
    size_t extent[STN_MAX_RANK]; /* points along each */
    size_t batch;                /* 0 means 1 */
    size_t in_channels, out_channels;
    /* Frequencies kept along each axis: at most n, along the last one of real data n/2 + 1; 0: all
     * of them. */
    size_t modes[STN_MAX_RANK];
    stn_mode_choice mode_choice;
    int complex_data;   /* non-zero: x and y are complex, two numbers of the dtype each, else real */
    int shared_weights; /* non-zero: one matrix for all modes, else one for each */
    int has_bias, has_skip;
    stn_activation activation; /* of the forward pass only: the gradient of what goes into it is what the others take */
    stn_layer_pass pass;
    stn_dtype dtype; /* f16: sums are float32 */
    /* Relative L2 error allowed; 0 means rounding of dtype only. Above that a strategy may use
     * tensor cores with less than dtype's precision: f32 by TF32 from 5e-4 on, by bf16 from 5e-3
     * on. */
    double tolerance;
    int alignment; /* bytes that all pointers are multiples of, a power of two; 0 means 16 */
} stn_spectral_conv;
#define STN_SPECTRAL_CONV_INIT STN_INIT_OF(stn_spectral_conv)

/* Checks a layer without planning it: rank, extents, channels, modes against extents, size
 * overflow. Needs no device. */
STN_API stn_status stn_spectral_conv_validate(const stn_spectral_conv *layer, stn_error *error);

/* The same for a Fourier layer; it is executed by stn_plan_run, which brings its weights. Errors
 * besides those above: STN_ERROR_UNSUPPORTED when what only cuFFT and cuBLAS could run meets no
 * such libraries (what was looked for, and how to get it). */
STN_API stn_status stn_plan_create_spectral_conv(stn_context *context, const stn_spectral_conv *layer,
                                                 const stn_plan_options *options, stn_plan **plan, stn_error *error);

/* ---- Systems --------------------------------------------------------------------------------- */

/* Explicit steps of several coupled fields, with coefficients that vary by place and fields of
 * several time levels, written as a text:
 *
 *     field u(2)                                 # two levels: u, and u.prev one step earlier
 *     coefficient c2                             # an array with the grid's extents, or a number, with each execution
 *     coefficient damping = 0.01                 # a number; an execution may bring another one
 *     stencil lap = laplace-2d:order=8           # any name of stn_stencil_parse, or taps:
 *     stencil dxf = taps x [0, 1] (-1 1), mix = taps [0 0, 0 -1, -1 0] (1/2 1/4 1/4)
 *     boundary u = reflect, odd-mirror:constant=0.5
 *     u.next = 2*u - u.prev + c2*lap(u) - damping*(u - u.prev)
 *
 * A statement ends with its line or a semicolon; a line goes on inside brackets and after an
 * operator or a comma. # begins a comment. Names may be used only after the line that declares
 * them, except that all fields and coefficients may.
 *
 *   field        NAME or NAME(LEVELS), 1 to STN_SYSTEM_MAX_LEVELS. u is the present state, u.prev the one a step earlier,
 *                u.prev2 two steps. u.next is assigned once for each field.
 *   stencil      "taps [offset, ...] (weight ...)", an offset being one whole number for each axis, or along one axis
 *                "taps x [...] (...)": x is the last axis, y the one before, z the one before that. Weights may be ratios.
 *                A stencil takes any expression, stencils of expressions included: taps are summed in the order of their
 *                offsets, axis 0 first.
 *   boundary     for all fields, for some ("boundary u, v = ...") or for coefficients: one rule for all axes, or one for each
 *                axis, as stn_boundary_parse takes them, and two more: odd-reflect, which is reflect with the sign changed
 *                (zero on the edge of the outer cell), and odd-mirror, which is mirror with the sign changed (zero at the outer
 *                point). Fields wrap and coefficients continue as nearest where nothing is said.
 *   expressions  + - * / and unary -, < <= > >= == != (1 or 0; they do not chain), abs sqrt exp log sin cos tanh, min max
 *                pow, where(condition, a, b): b where the condition is 0. min and max pass over NaN, as fmin and fmax do.
 *
 * What a step computes: the assignments in the order of the text, each at every point. A later one
 * may use u.next of an earlier one, inside stencils too. Then all levels move on by one. Arithmetic
 * is that of the dtype (f16: float32), in the order written, each u.next rounded to the dtype. Past
 * a side each field and coefficient is folded by its own rule, axis 0 first, and whatever is built
 * of them is evaluated there: dxb(k*dxf(u)) sees k and u past the side, not an extension of the
 * product. With a fixed side, points whose assignment reads anything past that side keep their
 * value; others that read past it see nearest. */
#define STN_SYSTEM_MAX_TEXT 65536
#define STN_SYSTEM_MAX_FIELDS 16
#define STN_SYSTEM_MAX_LEVELS 4
#define STN_SYSTEM_MAX_COEFFICIENTS 32

typedef struct stn_system stn_system; /* immutable once made: any number of threads may use it */

/* A checked system. Errors name line and column: syntax, names that are not declared, u.next before
 * it is assigned, ranks that differ, fields without an assignment, texts longer than
 * STN_SYSTEM_MAX_TEXT or nested deeper than 200, stencils of stencils that reach further than
 * STN_MAX_RADIUS. */
STN_API stn_status stn_system_parse(const char *text, stn_system **system, stn_error *error);
STN_API void stn_system_destroy(stn_system *system); /* NULL is fine */

/* The one text of all systems that compute the same in the same order, which parses to this system
 * again. The caller's, freed with stn_text_free. */
STN_API stn_status stn_system_print(const stn_system *system, char **text, stn_error *error);

/* The rank that stencils and boundaries ask for; 0: any from stn_system_least_rank on. */
STN_API int stn_system_rank(const stn_system *system);
STN_API int stn_system_least_rank(const stn_system *system);
STN_API size_t stn_system_field_count(const stn_system *system);
STN_API const char *stn_system_field_name(const stn_system *system, size_t field); /* the system's; "" past the end */
STN_API int stn_system_field_levels(const stn_system *system, size_t field);       /* 0 past the end */
STN_API size_t stn_system_coefficient_count(const stn_system *system);
STN_API const char *stn_system_coefficient_name(const stn_system *system, size_t coefficient);
/* Non-zero if the text gives it a number, *value (may be NULL). */
STN_API int stn_system_coefficient_value(const stn_system *system, size_t coefficient, double *value);
/* How many points an assignment reads towards the low (side 0) or high side (1) of an axis of a
 * grid of this rank; the most of all assignments. A grid needs more points than that along the
 * axis. */
STN_API int stn_system_reach(const stn_system *system, int rank, int axis, int side);

/* A weighted grid point of a field. Several of one channel interpolate. */
typedef struct stn_system_point {
    size_t channel;              /* which amplitude is added here, or which record this adds to */
    size_t field;                /* in the order of declaration */
    int64_t index[STN_MAX_RANK]; /* along each axis of the grid */
    double weight;
} stn_system_point;

typedef struct stn_system_problem {
    size_t struct_size;
    const stn_system *system; /* borrowed during the call only; plans copy it */
    int rank;                 /* 0: the system's, if it asks for one */
    size_t extent[STN_MAX_RANK];
    size_t batch; /* independent sets of fields; 0 means 1. Coefficients and amplitudes are shared */
    stn_dtype dtype;
    uint64_t steps; /* 0 means 1 */
    uint64_t
        every; /* outputs are stacks of the states after k, 2 k, ... `steps` steps; k must divide steps. 0: the last one */
    int in_place;  /* non-zero: out will be the same pointers as in */
    int alignment; /* bytes that all arrays are multiples of, a power of two; 0 means 16 */
    /* One for each coefficient, non-zero: executions bring a number for it, not an array. NULL:
     * those with a number in the text are numbers, all others arrays. */
    const int *is_number;
    /* In each step sources add weight * amplitude to their field's next state, right after its
     * assignment; receivers add up weight * field after each record_every steps (0 means 1; it must
     * divide steps). Borrowed during the call only. */
    size_t source_count, receiver_count;
    const stn_system_point *sources, *receivers;
    uint64_t record_every;
} stn_system_problem;
#define STN_SYSTEM_PROBLEM_INIT STN_INIT_OF(stn_system_problem)

/* The arrays of an execution: [batch][extent...], dense in C order, of the plan's dtype. Arrays are
 * listed field by field in the order of declaration, for each its levels, the newest first: u,
 * u.prev, p, q, ... Pointers are those of the context's device; the lists themselves are host
 * memory, read during the call only. No array that is written may overlap another, but for those in
 * place. */
typedef struct stn_system_arrays {
    size_t struct_size;
    const void *const *in;
    void *const
        *out; /* of a stack [steps / every][batch][extent...]; there entries may be NULL: that level is not kept */
    const void *const *coefficients; /* [extent...]; NULL for numbers. The list may be NULL if all are numbers */
    const double *numbers; /* one for each coefficient, looked at for numbers alone; NULL: all have one in the text */
    /* [steps][channels], and written [steps / record_every][batch][channels]: float64 with f64,
     * else float32; channels is one more than the largest that the points name. */
    const void *amplitudes;
    void *records;
} stn_system_arrays;
#define STN_SYSTEM_ARRAYS_INIT STN_INIT_OF(stn_system_arrays)

/* Checks a problem without planning it. Needs no device. */
STN_API stn_status stn_system_problem_validate(const stn_system_problem *problem, stn_error *error);

/* The most that a step multiplies a plane wave by, to 1e-5, for a linear system whose coefficients
 * are constants anywhere between low and high (one of each for each coefficient; NULL: the numbers
 * of the text, and all must have one): the largest eigenvalue over frequencies and over the corners
 * of those bounds, which of coefficients that vary by place is an estimate. Above 1, by more than
 * that, long runs overflow. NaN: the system is not linear, or nothing is known. */
STN_API stn_status stn_system_growth(const stn_system *system, int rank, const double *low, const double *high,
                                     double *growth, stn_error *error);

/* The same for a system; it is executed by stn_plan_run, which brings its arrays in
 * stn_execution.system. */
STN_API stn_status stn_plan_create_system(stn_context *context, const stn_system_problem *problem,
                                          const stn_plan_options *options, stn_plan **plan, stn_error *error);

/* ---- Box filter ------------------------------------------------------------------------------ */

/* The means over a sliding box along one axis of dense arrays on the host: `outer` x `points` x
 * `inner` numbers in C order, of which the middle axis is filtered. The box of point i is the
 * `size` points from i - before on. What sums lose depends on the box alone, however long the axis;
 * a point that is not finite reaches the boxes that hold it alone, and sums of f64 past the largest
 * number still give their mean. */
typedef struct stn_box_filter {
    size_t struct_size; /* sizeof(stn_box_filter) */
    stn_dtype dtype;    /* STN_F64, STN_F32, STN_F16; sums are made in f64 */
    size_t outer, points, inner;
    size_t size, before;   /* before < size */
    stn_boundary sides[2]; /* low and high; not STN_FIXED */
    double divisor;        /* of the sums: the size for means */
} stn_box_filter;

/* Runs it on the context's threads; in and out may not overlap. */
STN_API stn_status stn_box_filter_run(stn_context *context, const stn_box_filter *box, const void *in, void *out,
                                      stn_error *error);

/* ---- Wisdom ---------------------------------------------------------------------------------- */

/* What was measured of problems' candidates is kept in the context's cache folder (stn_plan_create
 * says how), and travels between folders and machines as one text with a checksum. An entry is of
 * one problem on one device and driver, with the kernels of one library. Plans look for their
 * problem first, then for others of its class (extents and strides within half a power of two, the
 * same model of device), then for those that were measured with other kernels, which decide only
 * where estimates are close. Any number of processes may import, measure and export at once: what
 * another wrote meanwhile is kept.
 *
 * Errors of all: no cache folder, or wisdom in it that cannot be read or written now, which then
 * stays as it is (STN_ERROR_IO); memory. Thread safety: as the context's. */

/* All entries as a text, the caller's, freed with stn_text_free. STN_ERROR_FORMAT: what is in the
 * folder is damaged. */
STN_API stn_status stn_wisdom_export(stn_context *context, char **text, stn_error *error);
/* Takes the entries of such a text; of a candidate that is known already the known time stays.
 * *report (may be NULL), freed with stn_text_free: a line that counts, and one that counts the
 * entries of other kernels, if any. STN_ERROR_FORMAT, with nothing taken: it is no wisdom, damaged,
 * of another format, or more than fits. */
STN_API stn_status stn_wisdom_import(stn_context *context, const char *text, size_t size, char **report,
                                     stn_error *error);
/* Two texts in one, which is the caller's, freed with stn_text_free: of a candidate in both, the
 * first one's time. Nothing else is dropped; STN_ERROR_FORMAT as of an import. */
STN_API stn_status stn_wisdom_merge(const char *first, size_t first_size, const char *second, size_t second_size,
                                    char **merged, stn_error *error);
/* Drops the entry whose key begins so (at least 4 hex digits; `stentor wisdom list` shows them), or
 * with NULL all. */
STN_API stn_status stn_wisdom_forget(stn_context *context, const char *key, stn_error *error);

/* ---- Teams: one grid over several GPUs -------------------------------------------------------------------------------
 *
 * A team is some devices of this process that work on one grid. The grid is cut along its slowest
 * axis into parts of whole rows (planes of a 3D grid). Each member keeps, beside its own rows,
 * copies of its neighbours' nearest rows, the halos, and takes several steps between two exchanges
 * of halos: with f steps between them a halo is f times the stencil's reach deep. The plan chooses
 * f by what steps and exchanges are predicted to take. Results equal those of one device: to the
 * bit where members step by the same strategy, but for f16 on GPUs, which is rounded once in
 * several steps.
 *
 * A team and its plans are one thread's at a time. */

typedef struct stn_team stn_team;
/* One context for each of `count` devices, STN_DEVICE_CUDA(n) each (or STN_DEVICE_HOST: members
 * that share the processors, for tests). A device may be named more than once. options: of all
 * contexts, but for their device; NULL for the defaults. Errors: those of stn_context_create, for
 * the first member that fails; a count below 1 or above 64; devices of both kinds. */
STN_API stn_status stn_team_create(const stn_context_options *options, int count, const int *devices, stn_team **team,
                                   stn_error *error);
STN_API void stn_team_destroy(stn_team *team); /* after its plans; NULL is fine */
STN_API int stn_team_size(const stn_team *team);
/* Member number `member`'s context, owned by the team; NULL where there is none. */
STN_API stn_context *stn_team_context(const stn_team *team, int member);
/* Bytes per second of a copy from the last member to the first, as it was measured when the team
 * was made. */
STN_API double stn_team_link_bandwidth(const stn_team *team);

typedef struct stn_team_plan stn_team_plan;
/* The problem has global extents; its grids are packed (no strides), and it keeps no snapshots.
 * options: of the members' plans. Where the grid has too few rows for all members, some of them get
 * none. The team must outlive the plan. Errors: those of stn_plan_create; STN_ERROR_UNSUPPORTED:
 * strides or snapshots. */
STN_API stn_status stn_team_plan_create(stn_team *team, const stn_problem *problem, const stn_plan_options *options,
                                        stn_team_plan **plan, stn_error *error);
STN_API void stn_team_plan_destroy(stn_team_plan *plan); /* NULL is fine */
/* A member's part: `rows` indices of the slowest axis from `first` on; 0 rows: it has none. */
STN_API stn_status stn_team_plan_local(const stn_team_plan *plan, int member, size_t *first, size_t *rows,
                                       stn_error *error);
/* Runs all steps and returns when they are done. in[m], out[m], and where the problem has a source
 * source[m] (else source is NULL), are pointers of member m's device to its part:
 * [batch][rows][other extents], packed; those of members without rows are not looked at. in[m] may
 * be out[m] where the problem is in place, and is kept otherwise. Members keep grids of their own:
 * `in` NULL goes on from the result of the run before, `out` NULL leaves the result there, so that
 * a long simulation moves data only where somebody looks. After a failure the outputs are
 * undefined, and nothing runs any more. */
STN_API stn_status stn_team_plan_execute(stn_team_plan *plan, const void *const *in, void *const *out,
                                         const void *const *source, stn_error *error);
/* The same of whole grids in host memory, packed; `in` and `out` may be NULL likewise. */
STN_API stn_status stn_team_plan_execute_host(stn_team_plan *plan, const void *in, void *out, const void *source,
                                              stn_error *error);
/* As stn_plan_set_weights, of all members' plans. */
STN_API stn_status stn_team_plan_set_weights(stn_team_plan *plan, size_t count, const double *weights,
                                             stn_error *error);
/* The parts, steps between exchanges, and each member's plan, as text; *text is freed with
 * stn_text_free. */
STN_API stn_status stn_team_plan_describe(const stn_team_plan *plan, char **text, stn_error *error);

#ifdef __cplusplus
}
#endif
#endif
