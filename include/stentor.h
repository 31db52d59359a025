/* Stentor: linear stencils with arbitrary coefficients, at the speed of the machine.
 *
 * Describe a problem, make a plan, execute it many times:
 *
 *     stn_context *ctx;    stn_context_create(NULL, &ctx, &err);
 *     stn_stencil *heat;   stn_stencil_parse("heat-2d:alpha=0.2", &heat, &err);
 *     stn_problem p = STN_PROBLEM_INIT;
 *     p.stencil = heat;  p.extent[0] = ny;  p.extent[1] = nx;  p.steps = 500;
 *     stn_plan *plan;      stn_plan_create(ctx, &p, NULL, &plan, &err);
 *     stn_plan_execute(plan, in, out, NULL, &err);
 *
 * in and out are device pointers if stn_context_is_device says so (by default, if there is a GPU),
 * else host pointers; stn_memory_alloc allocates either. options.device = STN_DEVICE_HOST selects
 * the host.
 *
 * A plan computes, for every grid point x and step t,
 *
 *     u[t+1](x) = sum over taps o of  weight[o] * u[t](x + offset[o])
 *
 * a correlation, as PDE codes write stencils (scipy.ndimage.correlate, not convolve). The correct
 * result is that of the host strategy with the dtype f64, which computes step by step; every other
 * strategy is tested against it.
 *
 * Sections of this file: Status and errors; Contexts; Stencils; Problems; Plans; and for other work
 * Transforms (batched FFTs), Fourier layers, Systems (coupled fields), Filters without a plan; then
 * Wisdom (stored measurements) and Teams (several GPUs).
 *
 * Conventions
 *   Axes     C order: axis 0 is the slowest, axis rank-1 the fastest. Extents and strides count
 *            elements, in 64 bits.
 *   Structs  A zero-initialised struct is valid and selects the defaults. Structs that may grow
 *            start with struct_size: initialise them with their _INIT macro, which sets it. Members
 *            that do not exist in the caller's older header get their defaults. A struct_size of 0
 *            means the layout of release 0.2.0; any other value must be the struct's size in some
 *            release up to that of the library.
 *   Errors   Every call that can fail returns a stn_status and takes a pointer to the caller's
 *            stn_error, or NULL, for a one-sentence message: what is wrong, where, what to do.
 *            After a failure output parameters are NULL or untouched, output arrays may be
 *            undefined (see the executing functions), and nothing leaks. The library never prints,
 *            aborts or keeps global state (except MPI's, if stn_team_create_mpi initialises it).
 *   Threads  Different objects may be used from different threads. Several threads may create plans
 *            of one stn_context at once. A stn_stencil is immutable. One stn_plan may be executed
 *            from several threads at once only with separate workspaces (stn_plan_execute_with);
 *            stn_plan_set_weights needs exclusive use of it.
 *   Fork     Create contexts after a fork, in the process that uses them: CUDA does not survive a
 *            fork. A child may destroy inherited contexts and plans, which frees its copies and
 *            leaves the GPU and the parent alone; it may also make and execute plans on the host,
 *            even if other threads were executing such plans at the fork. Everything else that
 *            needs the GPU fails with STN_ERROR_DRIVER. The child must not use a context if
 *            another thread was creating or destroying one of its objects at the fork.
 *   Exit     Idle host threads end after two seconds; a program whose main thread calls
 *            pthread_exit may therefore end two seconds later. */
#ifndef STENTOR_H
#define STENTOR_H

#include <stddef.h>
#include <stdint.h>

#define STN_VERSION_MAJOR 0
#define STN_VERSION_MINOR 2
#define STN_VERSION_PATCH 0

#if defined(__GNUC__)
#define STN_API __attribute__((visibility("default")))
#else
#define STN_API
#endif

/* Initialiser of a struct that starts with struct_size. */
#ifdef __cplusplus
extern "C++" { /* templates need C++ linkage, even if the includer is inside extern "C" */
template <class type>
inline type stn_init_of() {
    type made = type(); /* value-initialised: all zero */
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
    X(STN_ERROR_FORMAT, 10, "the content of a file does not conform to its format")                                    \
    X(STN_ERROR_INTERNAL, 11, "an internal error: please report it")                                                   \
    X(STN_ERROR_CANCELLED, 130, "the progress function cancelled the call")

typedef enum stn_status {
#define STN_STATUS_ENUM(name, exit_code, text) name,
    STN_STATUS_LIST(STN_STATUS_ENUM)
#undef STN_STATUS_ENUM
} stn_status;

/* The English meaning of a status, a constant string. Never NULL. */
STN_API const char *stn_status_string(stn_status status);

/* The exit code of the `stentor` command for a status. */
STN_API int stn_status_exit_code(stn_status status);

/* The error message of a failed call. Owned by the caller, filled by the call that fails, untouched
 * by a call that succeeds. */
typedef struct stn_error {
    stn_status status;
    char message[1020]; /* one sentence, always terminated */
} stn_error;

typedef enum stn_log_level { STN_LOG_DEBUG, STN_LOG_INFO, STN_LOG_WARNING, STN_LOG_ERROR } stn_log_level;

/* Receives log messages until stn_context_destroy returns, from any threads, several at once. */
typedef void (*stn_log_fn)(void *user, stn_log_level level, const char *message);

/* Receives the number of steps done and the total. For transforms, layers and strategies that
 * compute all steps at once, `done` is 0 until the end. A non-zero result cancels the execution.
 * The function must not use any plan of the context. */
typedef int (*stn_progress_fn)(void *user, uint64_t done, uint64_t total);

STN_API const char *stn_version(void);

/* Frees a text returned by the library (stn_plan_describe and others). NULL has no effect. */
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
    /* Folder of stored kernels and measurements. NULL or "": $STENTOR_CACHE_DIR, else
     * $XDG_CACHE_HOME/stentor, else ~/.cache/stentor. ":memory:": nothing is stored. */
    const char *cache_dir;
    stn_log_fn log; /* NULL: no messages */
    void *log_user;
    /* An architecture such as "sm_90": plans are made and compiled for an absent GPU, and cannot be
     * executed. NULL: the architecture of the device. */
    const char *arch;
    int cache_shared; /* non-zero: accept a cache folder that others own or may write */
    /* files of compiled kernels, searched first; NULL-terminated, or NULL */
    const char *const *packs;
    const void *pack_data; /* a pack in memory, borrowed while the context lives, or NULL */
    size_t pack_size;
    /* A public key made by `stentor pack keys`, as 64 hex digits or the name of a file that begins
     * with them. Every file FILE of `packs` must then have a signature FILE.sig, made with the
     * secret key by `stentor pack sign`. NULL or "": packs need no signature. The signature of
     * pack_data is not checked. */
    const char *trust;
} stn_context_options;
#define STN_CONTEXT_OPTIONS_INIT STN_INIT_OF(stn_context_options)

/* Creates a context; options may be NULL. Libraries are loaded at run time; with STN_DEVICE_AUTO a
 * machine without a GPU gives a host context. The context must outlive its plans. The first context
 * on a GPU measures its copy bandwidth (milliseconds) and stores it in the cache folder. */
STN_API stn_status stn_context_create(const stn_context_options *options, stn_context **context, stn_error *error);
/* NULL has no effect. Destroy the context's plans first. In a forked child this only frees
 * memory. */
STN_API void stn_context_destroy(stn_context *context);

/* Non-zero if plans of this context take device pointers. */
STN_API int stn_context_is_device(const stn_context *context);

/* The form of a description: text for people, or one JSON object. */
typedef enum stn_format { STN_TEXT, STN_JSON } stn_format;
/* Describes the context: device, driver, NVRTC, cuFFT, cuBLAS, cache folder, missing libraries and
 * how to get them. *text is the caller's, freed with stn_text_free. */
STN_API stn_status stn_context_describe(stn_context *context, stn_format format, char **text, stn_error *error);

/* Counts of kernels, bytes and seconds since the context was created. */
typedef struct stn_cache_stats {
    /* Numbers of kernels; pack_hits includes the kernels that are built into the library. */
    uint64_t memory_hits, pack_hits, disk_hits, misses;
    /* Stored kernels that were not used: damaged, of another key, or refused by the driver. */
    uint64_t rejected;
    uint64_t bytes_read, bytes_written;
    double compile_seconds, load_seconds;
} stn_cache_stats;
STN_API void stn_context_cache_stats(stn_context *context, stn_cache_stats *stats);

/* Allocate, free and copy `bytes` bytes of the context's memory: device memory on a GPU, else host
 * memory. Plans also accept memory from other allocators of the device's primary context
 * (cudaMalloc). upload and download return when the bytes have arrived. Errors:
 * STN_ERROR_OUT_OF_MEMORY, STN_ERROR_DRIVER. */
STN_API stn_status stn_memory_alloc(stn_context *context, size_t bytes, void **pointer, stn_error *error);
STN_API void stn_memory_free(stn_context *context, void *pointer);
STN_API stn_status stn_memory_upload(stn_context *context, void *to, const void *from_host, size_t bytes,
                                     stn_error *error);
STN_API stn_status stn_memory_download(stn_context *context, void *to_host, const void *from, size_t bytes,
                                       stn_error *error);
/* Waits for all work on a stream (NULL: the default stream). */
STN_API stn_status stn_synchronize(stn_context *context, void *stream, stn_error *error);
/* Waits for all work on a stream, and calls `progress` about every 50 ms with done = 0 and total =
 * 1. If that returns non-zero, this call returns STN_ERROR_CANCELLED, and the work continues. */
STN_API stn_status stn_synchronize_with_progress(stn_context *context, void *stream, stn_progress_fn progress,
                                                 void *user, stn_error *error);

/* ---- Stencils -------------------------------------------------------------------------------- */

#define STN_MAX_RANK 3
#define STN_MAX_RADIUS 64        /* largest |offset| along an axis, on GPUs and in systems */
#define STN_MAX_HOST_RADIUS 1024 /* largest |offset| along an axis for the strategy `host` */
#define STN_MAX_TAPS 35937       /* 33^3 */

typedef struct stn_tap {
    int64_t offset[STN_MAX_RANK]; /* along axes 0, 1, 2; entries past the rank must be 0 */
    double weight;                /* finite */
} stn_tap;

typedef struct stn_stencil stn_stencil; /* immutable */

/* Makes a stencil of rank 1 to 3 from a list of taps, which is copied. Errors name the tap: two
 * taps at one offset, a weight that is not finite, an offset past STN_MAX_HOST_RADIUS. */
STN_API stn_status stn_stencil_create(int rank, size_t ntaps, const stn_tap *taps, stn_stencil **stencil,
                                      stn_error *error);

/* Makes a stencil from a dense, centred array of weights in C order; extents must be odd. Weights
 * of exactly 0.0 are dropped (an all-zero array keeps one zero tap at the centre). */
STN_API stn_status stn_stencil_create_dense(int rank, const size_t *extent, const double *weights,
                                            stn_stencil **stencil, stn_error *error);

/* Makes a stencil by name: heat-1d, heat-2d, heat-3d (alpha=), 1d5p, 1d7p, box-2d9p, box-2d49p,
 * box-3d27p, star-2d13p, laplace-1d, laplace-2d, laplace-3d (order=2..16), gaussian-1d, -2d, -3d
 * (sigma=, truncate=; gaussian alone is 2D). Syntax: NAME or NAME:key=value,key=value. The error
 * for an unknown name lists the known ones. */
STN_API stn_status stn_stencil_parse(const char *spec, stn_stencil **stencil, stn_error *error);

STN_API void stn_stencil_destroy(stn_stencil *stencil); /* NULL has no effect */

STN_API int stn_stencil_rank(const stn_stencil *stencil);
STN_API size_t stn_stencil_tap_count(const stn_stencil *stencil);
/* The taps, sorted by offset (axis 0 first); owned by the stencil. stn_plan_set_weights takes
 * weights in this order. */
STN_API const stn_tap *stn_stencil_taps(const stn_stencil *stencil);

/* The largest absolute value of the symbol, max over k of |K(k)|, K(k) = sum_o w_o exp(2 pi i k.o).
 * If it is above 1, a long run grows without bound if all sides are periodic, and may with other
 * boundaries (see lasting_growth at stn_plan_describe). The symbol is sampled densely and refined
 * around the largest sample, to about 1e-6. If a stencil is too wide to be sampled in seconds, the
 * result is an upper bound: the sum of |weights|. */
STN_API double stn_stencil_max_symbol(const stn_stencil *stencil);

/* ---- Problems -------------------------------------------------------------------------------- */

/* f16 is stored as IEEE half and computed in float32 on GPUs. The host sums f32 and f16 in
 * float64. */
typedef enum stn_dtype { STN_F64, STN_F32, STN_F16 } stn_dtype;

STN_API size_t stn_dtype_size(stn_dtype dtype);
STN_API const char *stn_dtype_name(stn_dtype dtype);
STN_API stn_status stn_dtype_parse(const char *name, stn_dtype *dtype, stn_error *error);

/* The number type of an array's elements, if it differs from the dtype of the computation
 * (stn_problem.in_element, out_element). BF16 is bfloat16, and a BOOL is a byte, 0 or 1. */
typedef enum stn_element {
    STN_ELEMENT_DTYPE, /* the dtype */
    STN_ELEMENT_F64,
    STN_ELEMENT_F32,
    STN_ELEMENT_F16,
    STN_ELEMENT_BF16,
    STN_ELEMENT_I8,
    STN_ELEMENT_U8,
    STN_ELEMENT_I16,
    STN_ELEMENT_U16,
    STN_ELEMENT_I32,
    STN_ELEMENT_U32,
    STN_ELEMENT_I64,
    STN_ELEMENT_U64,
    STN_ELEMENT_BOOL
} stn_element;

/* Bytes and name ("u8", "bf16", "bool") of a number type; 0 and "unknown" for STN_ELEMENT_DTYPE. */
STN_API size_t stn_element_size(stn_element element);
STN_API const char *stn_element_name(stn_element element);

/* Boundary conditions: the value that a tap reads past a side, named as in scipy.ndimage, plus
 * fixed. a b c d are the points of an axis:
 *
 *     WRAP      ... c d | a b c d | a b ...   periodic; both sides of an axis or none
 *     CONSTANT  ... v v | a b c d | v v ...   a value
 *     NEAREST   ... a a | a b c d | d d ...   the last point repeats
 *     REFLECT   ... b a | a b c d | d c ...   mirrored about the edge of the last cell
 *     MIRROR    ... c b | a b c d | c b ...   mirrored about the last point's centre
 *     FIXED     points whose taps would reach past this side are frozen: they keep their initial
 *               values (Dirichlet)
 *
 * A tap past sides of several axes is folded along each axis separately. If several of these sides
 * are constant, it reads the value of the one on the slowest axis. On a short axis (no more points
 * than a tap reaches) an index that one side reflects or mirrors may leave the grid at the other
 * side. It is then folded again, by that side's rule, until it is inside: on a b c d, index -4
 * reads d if the sides are mirror and nearest, and the constant value if they are mirror and
 * constant. It is an error if an index is folded past a fixed side in this way. */
typedef enum stn_boundary_kind {
    STN_WRAP,
    STN_CONSTANT,
    STN_NEAREST,
    STN_REFLECT,
    STN_MIRROR,
    STN_FIXED
} stn_boundary_kind;

typedef struct stn_boundary {
    stn_boundary_kind kind; /* 0 is STN_WRAP */
    double value;           /* for STN_CONSTANT */
} stn_boundary;

/* Parses "KIND" or "LOW:HIGH" for one axis into sides[0] (low) and sides[1] (high). Each is wrap,
 * constant, constant=V, nearest, reflect, mirror or fixed; scipy's grid-wrap, grid-constant and
 * grid-mirror (reflect) are accepted too. */
STN_API stn_status stn_boundary_parse(const char *spec, stn_boundary sides[2], stn_error *error);

/* What rounding errors are relative to. In a strategy that uses Fourier transforms, the error at
 * each point is proportional to the largest value of the whole grid, and one NaN or infinity
 * spreads to all points. */
typedef enum stn_accuracy {
    STN_ACCURACY_GLOBAL, /* relative to the largest value of the grid: any strategy may be used */
    /* Relative to the values that reach a point: only strategies that take single steps are used,
     * which compute each step from the values of the previous one (in one launch each, or several
     * in a launch). Zeros stay zeros, and NaN and infinity spread only as far as taps reach. */
    STN_ACCURACY_LOCAL
} stn_accuracy;

/* Normalized convolution: points may be missing, and the weights of the other points are rescaled
 * so that their sum is that of all weights:
 *
 *     out(p) = (sum of w * in) / (share of the weights),   share = (sum of w) / (sum of all w)
 *
 * where the sums of w * in and of w are over points that are not missing; out is NaN if there are
 * none. For separable weights, execute one problem for each axis, each on the output of the
 * previous one. All problems but the last write pairs of the weighted sum and the share, two
 * adjacent numbers of the dtype, and all but the first read such pairs. The strides of an array of
 * pairs count pairs, and a pair must be aligned to its size. */
typedef enum stn_normalized {
    STN_NORMALIZED = 1,          /* points past a constant side whose value is NaN are missing */
    STN_NORMALIZED_NAN = 2,      /* points that are NaN are missing too */
    STN_NORMALIZED_PAIRS_IN = 4, /* the array `in` has pairs */
    STN_NORMALIZED_PAIRS_OUT = 8 /* the array `out` has pairs */
} stn_normalized;

typedef struct stn_problem {
    size_t struct_size;
    const stn_stencil *stencil; /* borrowed during the call only; plans copy it */
    /* points along each of the stencil's axes; further entries are ignored */
    size_t extent[STN_MAX_RANK];
    ptrdiff_t in_stride[STN_MAX_RANK];  /* elements; all 0 means dense in C order */
    ptrdiff_t out_stride[STN_MAX_RANK]; /* likewise */
    size_t batch;                       /* independent grids; 0 means 1 */
    /* elements from one grid's first point to the next grid's; 0: the largest extent * stride of an
     * axis */
    ptrdiff_t in_batch_stride, out_batch_stride;
    stn_boundary boundary[STN_MAX_RANK][2]; /* [axis][0 = low side, 1 = high side] */
    stn_dtype dtype;
    uint64_t steps; /* 0 means 1 */
    /* Allowed relative L2 error of the whole run, for values far from the dtype's limits; 0 allows
     * only the rounding of the dtype. With a tolerance a strategy may approximate the weights by a
     * sum of fewer separable terms and use tensor cores in lower precision:
     *   f32   TF32, if the tolerance is at least 5e-4 (`lowrank` in 2D and 3D: 1e-3)
     *   f16   weights rounded to f16, if the tolerance is at least 1e-3
     * stn_plan_describe reports the chosen arithmetic. */
    double tolerance;
    int in_place;  /* non-zero: in and out will be the same pointer (same strides) */
    int alignment; /* alignment in bytes of the pointers in and out, a power of two; 0 means 16 */
    /* Snapshots: with every = k the output is a stack of steps / k states, after k, 2 k, ...,
     * `steps` steps. A state has all grids of the batch and begins snapshot_stride elements after
     * the previous one (0: batch * the batch stride, or the number of elements that a state spans,
     * whichever is larger). k must divide steps, and the problem must not be in place. 0: only the
     * last state is written. */
    uint64_t every;
    ptrdiff_t snapshot_stride;
    /* Non-zero: a constant source b is added in each step, u[t+1] = S u[t] + b for a step S.
     * Executions supply its values (stn_execution) in the layout of `in`: in_stride,
     * in_batch_stride, dtype, alignment. Points frozen by a fixed side keep their value. If Fourier
     * transforms compute many steps at once, the source about doubles the time, and the workspace
     * holds all frequencies: about one grid, and two or more in 3D between fixed or constant sides.
     * If no transform supports the boundaries, the workspace may need up to 4 grids more. On a GPU
     * one step in f16 rounds S u to f16 before b is added, so S u must be within f16's range. */
    int has_source;
    /* A stn_accuracy. A constant side whose value is not finite in the dtype implies
     * STN_ACCURACY_LOCAL. */
    int accuracy;
    /* Each a stn_element: the number types of the arrays in and out. Input is converted to the
     * dtype when it is read; the values of the last step are converted when they are written, as in
     * C and SciPy. For an integer type they are truncated towards zero to int64 (values outside of
     * its range become -2^63), of which the lowest bits are kept; a bool is 1 if the truncated
     * value is not 0. If steps is 1, the output is integers and tolerance is 0, every device sums
     * in float64 in the same order, so that all devices give the same integers. Points frozen by a
     * fixed side are converted in the same way. Strides count elements of each array. Elements
     * other than STN_ELEMENT_DTYPE exclude a source, snapshots and in_place. */
    int in_element, out_element;
    /* The values of the last step are divided by `divisor` before they are converted, so that
     * weights can be integers and sums exact; 0 means 1. Points frozen by a fixed side are not
     * divided. Allowed only if out_element is an integer type. */
    double divisor;
    /* Bits of stn_normalized; 0: no points are missing. Otherwise the plan must be for a GPU, steps
     * 0 or 1, the dtype f64 or f32, divisor 0 or 1, and no side fixed. in_element and out_element
     * may be given for arrays without pairs. */
    int normalized;
} stn_problem;
#define STN_PROBLEM_INIT STN_INIT_OF(stn_problem)

/* Checks a problem without planning it: extents, size overflow, overlapping strides, wrap on both
 * sides of an axis or on none, finite values. Needs no device. Only the host strategy supports taps
 * that reach further than STN_MAX_RADIUS, or past a side by more points than the axis has. */
STN_API stn_status stn_problem_validate(const stn_problem *problem, stn_error *error);

/* ---- Plans ----------------------------------------------------------------------------------- */

typedef struct stn_plan stn_plan;

/* How a plan is chosen among all candidates. A candidate is a strategy with values of its
 * parameters (steps per launch, tile sizes). All modes use stored measurements (wisdom) if there
 * are any, except with stn_plan_options.deterministic. */
typedef enum stn_plan_mode {
    STN_MODE_AUTO,     /* the same as ESTIMATE */
    STN_MODE_ESTIMATE, /* the cheapest by predicted time, or by wisdom */
    /* The likely candidates are measured on random grids of the problem's size, which takes
     * seconds. */
    STN_MODE_MEASURE,
    /* all candidates are measured, without a time limit unless tune_seconds is set */
    STN_MODE_PATIENT,
    /* The plan runs the estimate's choice, compiles a few other candidates in the background, tries
     * them in the caller's executions or in parts of long ones, checks each result before a
     * candidate may replace the current choice, and ends with the fastest. See stn_plan_create. */
    STN_MODE_ONLINE,
    STN_MODE_WISDOM_ONLY /* the fastest by wisdom; STN_ERROR_UNSUPPORTED if it has no times */
} stn_plan_mode;

typedef struct stn_plan_options {
    size_t struct_size;
    /* NULL or "auto": the cheapest; else "host", "direct", ... If the predicted errors of all
     * candidates of a named strategy exceed the error bound, the plan uses one of them all the
     * same; stn_plan_describe reports this. */
    const char *strategy;
    /* non-zero: the plan allocates no workspace; use stn_plan_execute_with */
    int no_auto_workspace;
    int tune; /* non-zero: the same as mode = STN_MODE_MEASURE; ignored if mode is not 0 */
    /* non-zero: choose and describe only; needs no compiler, cannot be executed */
    int estimate_only;
    /* With MEASURE and PATIENT: the approximate limit of the measurements in seconds; the likely
     * best of each strategy is measured in any case. 0: 10 seconds with MEASURE, no limit with
     * PATIENT. */
    double tune_seconds;
    int mode; /* a stn_plan_mode */
    /* Non-zero: one choice by estimate alone, which never changes: no wisdom, no measurements. */
    int deterministic;
    /* With ONLINE: the number of executions of the plan, which bounds the cost of trials. 0: not
     * known. */
    uint64_t executions;
    /* Non-zero: candidates are measured (and looked up) with a cold L2 cache, as if other work ran
     * between two executions. By default executions follow each other, and small grids stay in the
     * cache. */
    int tune_cold;
    /* Non-zero, with AUTO and ESTIMATE: the first result as soon as possible, for callers who
     * execute a plan once; see "Kernels" at stn_plan_create. */
    int first_result;
} stn_plan_options;
#define STN_PLAN_OPTIONS_INIT STN_INIT_OF(stn_plan_options)

/* Chooses a strategy by its estimated cost (or as options.mode says), renders its kernels, compiles
 * them or finds them stored, and allocates tables and workspace. options may be NULL. The plan
 * copies all that it needs but keeps using the context.
 *
 * Kernels  Unless first_result is set, a plan runs its chosen kernels from the first execution on.
 *          Stored kernels are loaded in milliseconds; others are compiled first, in parallel on
 *          the context's threads, and then stored.
 *          With options.first_result the chosen kernels compile in the background, and the first
 *          execution uses the generic kernel (one for all stencils of a dtype; the library contains
 *          it for common GPUs, if NVRTC was found when the library was built), if that kernel is
 *          predicted to finish an execution before the chosen kernels are compiled. The second
 *          execution waits for the chosen kernels; all executions from it on use them. Results of
 *          the two kinds of kernels differ by rounding. The generic kernel stays in use in a stream
 *          that is captured before the second execution, and in a plan whose chosen kernels do not
 *          compile (the log and stn_plan_describe say so). The option has no effect with a named
 *          strategy or snapshots, and on work other than stencils. Destroy such a plan before the
 *          process ends: this ends the background compile.
 *
 * With STN_MODE_MEASURE, or options.tune, the likely candidates (strategies, steps per launch,
 * tiles) are compiled in order of their estimates, run for a few launches on random grids, compared
 * with single steps of the direct strategy, and timed; the plan is the fastest one whose result is
 * right. Candidates of transforms (kernels, bytes per memory access) are compared with cuFFT if it
 * is installed. Plans of systems are never measured.
 *
 * Cost     Seconds, mostly for compiling (kernels are stored; compiles use all of the context's
 *          threads), up to about tune_seconds; device memory for three grids and a workspace,
 *          freed before the call returns. Uses the default stream and waits. Candidates that
 *          cannot be measured (memory, compile errors) are skipped; if none can, the estimate
 *          decides.
 * Stored   Times are stored in the cache folder, by problem (extents, strides, boundary kinds,
 *          dtype, steps, the taps' offsets and symmetry but not their values), GPU, driver and
 *          library. Later plans of the same problem use them, without tune too, and
 *          stn_plan_describe shows them. With the folder ":memory:" only this plan uses them.
 * No GPU   On the host, and for an absent GPU, nothing can be measured: tune only logs a warning.
 * Online   STN_MODE_ONLINE searches during the caller's executions, one part after the other. A
 *          part is a whole execution; but if the strategy takes single steps, a long execution is
 *          divided into up to 1024 chunks of steps, and each chunk is a part. Up to three
 *          candidates besides the estimate's choice have a trial each: the best one of every other
 *          strategy, then the next best ones. Each is estimated to take at most 1.5 times as long
 *          as that choice. In its trial, a candidate computes a part a second time, into a grid of
 *          its own, and the GPU compares the two results at every point. Only if its result is
 *          right are both timed alternately on this part, and only if it is faster does it compute
 *          the following parts. A trial begins only if all trials together would add at most 2% to
 *          the time of the parts that are done or known to come, even if the candidate took 2.5
 *          times its estimate. An execution that contains a trial waits for the GPU. A run in
 *          chunks waits after each chunk as long as trials remain. Results differ by rounding,
 *          depending on the candidates that ran. The workspace holds one or two more grids.
 *          Capturing a stream freezes the choice. Only plans of stencils search. The estimate's
 *          choice is kept for all other work, and for problems that are in place, or have a source,
 *          snapshots, converted elements, or strides that are not dense or differ between in and
 *          out.
 *          stn_plan_destroy cancels compiles and may wait for one kernel (seconds with NVRTC before
 *          12.9). Times are stored as in other modes.
 * Threads  One thread of a context measures at a time, others wait. Other work on the GPU
 *          disturbs the times. */
STN_API stn_status stn_plan_create(stn_context *context, const stn_problem *problem, const stn_plan_options *options,
                                   stn_plan **plan, stn_error *error);
/* NULL has no effect; does not wait for executions: synchronise first. A CUDA graph that was
 * captured from executions must not be launched any more, since the plan's kernels may be
 * unloaded. */
STN_API void stn_plan_destroy(stn_plan *plan);

/* Runs all steps from in to out, in stream order. Pointers are device pointers on a GPU context,
 * else host pointers (the call then returns when done and ignores stream). stream is a CUstream or
 * cudaStream_t, NULL for the default stream. Unless the problem is in place, in keeps its
 * content, and no point of out may share a byte with a point of in (rows of in and out may
 * alternate in one array). After the first call, or the second with options.first_result, this
 * allocates and compiles nothing, does not synchronise (but see Online), and can be captured in a
 * CUDA graph. */
STN_API stn_status stn_plan_execute(stn_plan *plan, const void *in, void *out, void *stream, stn_error *error);

/* The same with the caller's workspace of stn_plan_workspace_size bytes, aligned to 256. Plans
 * whose executions do not overlap may share it. */
STN_API stn_status stn_plan_execute_with(stn_plan *plan, const void *in, void *out, void *workspace, void *stream,
                                         stn_error *error);
/* The workspace of an execution in bytes. Strategies that use Fourier transforms need about one
 * grid in the arithmetic type (float32 for f16), or less if most frequencies decay below rounding
 * during the run. They need more for snapshots (about twice as much), for a constant source (see
 * has_source), and for small 3D grids between fixed or constant sides (128^3 in f64: 2.5 grids for
 * 50 steps, 10 for 1000). src/strategies/README.md has a table. */
STN_API size_t stn_plan_workspace_size(const stn_plan *plan);

struct stn_system_arrays; /* see "Systems" */

/* All arguments of an execution. Pointers are as those of stn_plan_execute, and borrowed until the
 * work is done, in stream order. */
typedef struct stn_execution {
    size_t struct_size;
    const void *in;
    void *out;
    /* With problem.has_source: the first point of the source, which may change between executions
     * and must not overlap out. NULL for all other plans. */
    const void *source;
    void *workspace; /* stn_plan_workspace_size bytes, aligned to 256; NULL: the plan's own */
    void *stream;    /* CUstream or cudaStream_t; NULL: the default stream; ignored on the host */
    /* Arrays of a Fourier layer: those that its pass needs, else NULL. NULL for all other plans. No
     * array that is written may overlap another. */
    const void *weights, *bias, *skip;   /* bias: forward pass only */
    const void *gradient;                /* gradient of y, for STN_PASS_BACKWARD_WEIGHTS */
    void *bias_gradient, *skip_gradient; /* written by that pass, in the layout of bias and skip */
    /* NULL, or called on the executing thread about every 50 ms (at most 0.2 s apart on the host),
     * and once at the end. A non-zero result cancels: the call returns STN_ERROR_CANCELLED, usually
     * within 0.2 s, the output is undefined, and the plan may be executed again. With a progress
     * function, a call on a GPU enqueues a part of the launches at a time and returns when the work
     * is done; if it is cancelled, it waits for the enqueued launches, about 0.1 s. A strategy that
     * computes all steps at once cannot be cancelled in between. While the stream is captured,
     * progress must be NULL. */
    stn_progress_fn progress;
    void *progress_user;
    /* the arrays of a system, whose plans need in and out NULL; NULL for all other plans */
    const struct stn_system_arrays *system;
} stn_execution;
#define STN_EXECUTION_INIT STN_INIT_OF(stn_execution)

/* Executes any plan. Errors: those of stn_plan_execute, and STN_ERROR_INVALID_ARGUMENT if a pointer
 * that the plan needs is NULL, or a pointer that it does not use is given. */
STN_API stn_status stn_plan_run(stn_plan *plan, const stn_execution *execution, stn_error *error);

/* Replaces the weights of a stencil's plan, one for each tap in the order of stn_stencil_taps; they
 * must be finite. This usually compiles nothing. If the plan's strategy cannot use the new weights,
 * or would exceed the allowed error, the plan chooses again as if it were made for them: it may
 * compile, waits for the GPU, and ends the trials of STN_MODE_ONLINE (see stn_plan_describe).
 *
 * If the caller named a strategy that cannot use the weights, another one is used until a later
 * call gives weights that the named one can use. If the caller supplies the workspace, query
 * stn_plan_workspace_size after each call: it grows if no choice fits into the previous size.
 *
 * Executions enqueued before keep the old weights, and so does the plan if this call fails (memory,
 * compile errors). Capture CUDA graphs again: an old graph may use old or new weights, or freed
 * memory. */
STN_API stn_status stn_plan_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error);

/* Describes a plan: problem, strategy and its parameters, the ranking of all candidates with
 * predicted times, kernels and their resources, stability. *text is the caller's, freed with
 * stn_text_free. JSON members about stability:
 *   max_symbol             the largest |K|: the largest factor by which one step multiplies a wave
 *   overflow_step          first step after which values of initially about 1 may exceed the range
 *                          of the dtype, or null
 *   step_growth            upper bound of the factor by which one step multiplies a grid's norm:
 *                          the sum of |weights| if sides fold asymmetric taps (reflect, mirror;
 *                          nearest past one point), else max_symbol
 *   log10_growth           log10 of an upper bound of the factor by which this run multiplies a
 *                          grid's norm, at the step where the norm is largest
 *   lasting_growth         upper bound of the absolute eigenvalues of a step: a long run grows by
 *                          at most this factor per step, once waves have left through constant and
 *                          fixed sides
 *   log10_above_eigenvalues  log10(g), where this run grows by at most g * lasting_growth^steps;
 *                          rounding errors may be g times as large as predicted
 *   nearly_defective       true if eigenvectors are parallel up to rounding, so that eigenvalues
 *                          predict nothing */
STN_API stn_status stn_plan_describe(const stn_plan *plan, stn_format format, char **text, stn_error *error);

STN_API const char *stn_plan_strategy(const stn_plan *plan); /* owned by the plan */
STN_API double stn_plan_predicted_seconds(const stn_plan *plan);

/* The kernels of a plan, for inspection (`stentor compile --keep`). Pointers are owned by the plan.
 * Unknown members (registers without a device, PTX of a stored kernel) are 0 or NULL. After new
 * weights, kernels of the former weights may be among them. */
typedef struct stn_kernel_info {
    const char *name;   /* name of the template, such as "direct_tile" */
    const char *params; /* the rendered params.cuh */
    const char *source; /* the template's text */
    const char *ptx;
    const void *cubin;
    size_t cubin_size;
    int registers, shared_bytes, local_bytes, threads;
} stn_kernel_info;
STN_API size_t stn_plan_kernel_count(const stn_plan *plan);
STN_API stn_status stn_plan_kernel(const stn_plan *plan, size_t index, stn_kernel_info *info, stn_error *error);

/* ---- Transforms ------------------------------------------------------------------------------ */

/* Batched discrete Fourier transforms of 1 to 3 axes, with the conventions of cuFFT and FFTW. On
 * GPUs with tensor cores, f16 may be computed by the method of tcFFT (Li, Cheng, Lin 2021). Along
 * each transformed axis of n points:
 *
 *     forward:  out[k] = scale * sum over j of  in[j] * exp(-2 pi i j k / n)
 *     inverse:  out[k] = scale * sum over j of  in[j] * exp(+2 pi i j k / n)
 *
 * Input and output are in natural order. A complex number is two numbers of the dtype, real part
 * first (cufftComplex, fftw_complex, C's complex). A plan transforms in one direction, as in FFTW.
 * Sizes that Stentor's own kernels do not support use cuFFT if it is installed; stn_plan_describe
 * says which strategy runs and why.
 *
 * On the host, a NaN or infinity affects the whole transform that contains it, and no other
 * transform of the batch; lines (the points along one axis) are scaled so that intermediate sums do
 * not overflow, and a result that fits the dtype is right.
 * GPU kernels sum before they scale, and sums of real transforms may be four times the largest
 * unscaled result: keep the unscaled results below a quarter of the dtype's largest number.
 *
 * Cosine and sine transforms are real to real (REDFT and RODFT of FFTW), along each axis of n
 * points, DCT1 of two or more:
 *
 *     DCT1:  out[k] = in[0] + (-1)^k in[n-1] + 2 sum over 0 < j < n-1 of  in[j] * cos(pi j k/(n-1))
 *     DST1:  out[k] = 2 sum over j of  in[j] * sin(pi (j+1) (k+1) / (n+1))
 *     DCT2:  out[k] = 2 sum over j of  in[j] * cos(pi (2j+1) k / (2n))
 *     DST2:  out[k] = 2 sum over j of  in[j] * sin(pi (2j+1) (k+1) / (2n))
 *     DCT3:  out[k] = in[0] + 2 sum over j > 0 of  in[j] * cos(pi (2k+1) j / (2n))
 *     DST3:  out[k] = (-1)^k in[n-1] + 2 sum over j < n-1 of  in[j] * sin(pi (2k+1) (j+1) / (2n))
 *     DCT4:  out[k] = 2 sum over j of  in[j] * cos(pi (2j+1) (2k+1) / (4n))
 *     DST4:  out[k] = 2 sum over j of  in[j] * sin(pi (2j+1) (2k+1) / (4n))
 *
 *
 * These transforms are always forward. The host runs them all. GPUs run types 2 and 3, in f64 and
 * f32. There, extents must have no prime factors but 2, 3, 5 and 7, and a line must fit into a
 * block's shared memory. Adjacent numbers are accessed in pairs. Therefore either `in` and `out`
 * must both have stride 1 along the same axis, and its extent must be even; or both must have batch
 * stride 1, and the batch must be even. All other strides must be even, except along axes of one
 * point and between the grids of a batch of one. */
typedef enum stn_transform_kind {
    STN_C2C, /* complex to complex */
    STN_R2C, /* real to half spectrum: elements 0 to n/2 of the last axis; always forward */
    STN_C2R, /* half spectrum to real, n real numbers along the last axis; always inverse */
    STN_DCT2,
    STN_DCT3,
    STN_DST2,
    STN_DST3,
    STN_DCT1,
    STN_DST1,
    STN_DCT4,
    STN_DST4
} stn_transform_kind;

typedef enum stn_direction { STN_FORWARD, STN_INVERSE } stn_direction;

typedef struct stn_transform {
    size_t struct_size;
    int rank; /* transformed axes, 1 to 3; axis rank-1 is the last one */
    /* Points along each axis. For R2C and C2R they count real numbers, as in cuFFT and FFTW. */
    size_t extent[STN_MAX_RANK];
    /* Elements from one point to the next along each axis (complex numbers, or real ones on the
     * real side of R2C and C2R); all 0: dense in C order. The real side of an in-place R2C or C2R
     * is then padded: its last axis takes 2 (n/2 + 1) real numbers, so that each row lies where its
     * half spectrum lies. Explicit strides must do the same: 1 along the last axis, and other real
     * strides twice the complex ones. */
    ptrdiff_t in_stride[STN_MAX_RANK], out_stride[STN_MAX_RANK];
    size_t batch; /* independent transforms; 0 means 1 */
    /* elements from one transform's first point to the next transform's; 0: the largest extent *
     * stride of an axis */
    ptrdiff_t in_batch_stride, out_batch_stride;
    stn_transform_kind kind;
    stn_direction direction; /* used for C2C, ignored for the other kinds */
    stn_dtype dtype;         /* type of real and imaginary parts, in and out */
    /* Non-zero, f16 only: products and sums may be f16 too, as in tcFFT's fastest variant, which is
     * less exact. Otherwise sums are float32. */
    int f16_sums;
    /* The scale of each direction; 0 means 1. With both scales 1, a forward and an inverse
     * transform one after the other multiply the input by its number of points. */
    double forward_scale, inverse_scale;
    int in_place;  /* non-zero: in and out will be the same pointer (C2C: same strides) */
    int alignment; /* alignment in bytes of in and out, a power of two; 0 means 16 */
    /* Non-zero, cosine and sine transforms only: out[0] of DCT2 and out[n-1] of DST2 are multiplied
     * by sqrt(1/2), in[0] of DCT3 and in[n-1] of DST3 by sqrt(2), in[0] and in[n-1] of DCT1 by
     * sqrt(2) and out[0] and out[n-1] by sqrt(1/2). With the scale sqrt(1 / (2n)) along each axis,
     * with n-1 for n in DCT1 and n+1 in DST1, the transform is then orthogonal. */
    int orthogonal;
} stn_transform;
#define STN_TRANSFORM_INIT STN_INIT_OF(stn_transform)

/* Checks a transform without planning it: rank, extents, size overflow, overlapping strides,
 * in-place layouts, finite scales. Needs no device. */
STN_API stn_status stn_transform_validate(const stn_transform *transform, stn_error *error);

/* As stn_plan_create; the plan is executed, described and destroyed as any other. The input of a
 * C2R keeps its content unless the transform is in place. Further errors: STN_ERROR_UNSUPPORTED if
 * no strategy supports the transform, and cuFFT is missing or does not support it either. */
STN_API stn_status stn_plan_create_fft(stn_context *context, const stn_transform *transform,
                                       const stn_plan_options *options, stn_plan **plan, stn_error *error);

/* ---- Fourier layers -------------------------------------------------------------------------- */

/* The spectral convolution of neural operators (Li and others 2021; fused on GPUs after TurboFNO,
 * 2025), with the bias, skip connection and activation of its layer. x is [batch, in_channels,
 * extent...], y is [batch, out_channels, extent...], dense in C order, N points per channel; k runs
 * over the kept frequencies only:
 *
 *     X[b,i,k] = 1/N * sum over points p of  x[b,i,p] * exp(-2 pi i k.p/n)
 *     Z[b,o,k] =       sum over channels i of  weights[i,o,k] * X[b,i,k]
 *     y[b,o,p] = activation(  sum over k of  Z[b,o,k] * exp(+2 pi i k.p/n)
 *                           + sum over channels i of  skip[i,o] * x[b,i,p]  +  bias[o] )
 *
 * For real data the sum over k is the inverse real transform of the half spectrum, as in
 * torch.fft.irfftn: the real part, with weight 1 at frequencies 0 and n/2 of the last axis and 2 at
 * all others. y does not depend on neuraloperator's fft_norm. Weights are complex, [in_channels,
 * out_channels, modes...] or, shared, [in_channels, out_channels]; bias [out_channels] and skip
 * [in_channels, out_channels] are real or complex like the data. All are dense, of the dtype, and
 * supplied at each execution (stn_execution), so that training may change them. */
typedef enum stn_mode_choice {
    /* If m of n frequencies are kept along an axis, these are -(m/2) to (m-1)/2 (rounded towards 0)
     * in this order, as in neuraloperator's weights after its fftshift; along the last axis of real
     * data they are 0 to m-1. */
    STN_MODES_BOTH_SIGNS,
    STN_MODES_LOW /* frequencies 0 to m-1 along every axis, as in TurboFNO */
} stn_mode_choice;

typedef enum stn_activation {
    STN_ACTIVATION_NONE,
    /* x/2 (1 + erf(x / sqrt 2)); of complex numbers, on real and imaginary parts separately */
    STN_ACTIVATION_GELU,
    STN_ACTIVATION_RELU
} stn_activation;

/* Gradients of a real loss L; for complex numbers dL/d(real part) + i dL/d(imaginary part), as in
 * PyTorch. */
typedef enum stn_layer_pass {
    STN_PASS_FORWARD,
    /* in is the gradient of y, out is the gradient of x; weights and skip are read */
    STN_PASS_BACKWARD_X,
    /* in is x, stn_execution.gradient is the gradient of y, and out is the gradient of weights. The
     * gradients of bias and skip, if the layer has them, are written to bias_gradient and
     * skip_gradient of stn_execution. */
    STN_PASS_BACKWARD_WEIGHTS
} stn_layer_pass;

typedef struct stn_spectral_conv {
    size_t struct_size;
    int rank;                    /* axes, 1 to 3 */
    size_t extent[STN_MAX_RANK]; /* points along each */
    size_t batch;                /* 0 means 1 */
    size_t in_channels, out_channels;
    /* Number of frequencies kept along each axis, at most n, or n/2 + 1 along the last axis of real
     * data; 0: all */
    size_t modes[STN_MAX_RANK];
    stn_mode_choice mode_choice;
    int complex_data;   /* non-zero: x and y are complex, else real */
    int shared_weights; /* non-zero: one matrix for all modes, else one for each */
    int has_bias, has_skip;
    /* Applied in the forward pass. For the other passes this must be STN_ACTIVATION_NONE; in place
     * of the gradient of y, pass the gradient of the activation's input. */
    stn_activation activation;
    stn_layer_pass pass;
    stn_dtype dtype; /* f16: sums are float32 */
    /* Allowed relative L2 error; 0 means rounding of the dtype only. Otherwise a strategy may use
     * tensor cores in lower precision for f32: TF32 if the tolerance is at least 5e-4, bf16 if it
     * is at least 5e-3. */
    double tolerance;
    int alignment; /* alignment in bytes of all pointers, a power of two; 0 means 16 */
} stn_spectral_conv;
#define STN_SPECTRAL_CONV_INIT STN_INIT_OF(stn_spectral_conv)

/* Checks a layer without planning it: rank, extents, channels, modes against extents, size
 * overflow. Needs no device. */
STN_API stn_status stn_spectral_conv_validate(const stn_spectral_conv *layer, stn_error *error);

/* As stn_plan_create. The plan is executed by stn_plan_run, which supplies the weights. Further
 * errors: STN_ERROR_UNSUPPORTED if the layer needs cuFFT and cuBLAS and they are missing. */
STN_API stn_status stn_plan_create_spectral_conv(stn_context *context, const stn_spectral_conv *layer,
                                                 const stn_plan_options *options, stn_plan **plan, stn_error *error);

/* ---- Systems --------------------------------------------------------------------------------- */

/* Explicit time steps of several coupled fields, with coefficients that vary in space and fields of
 * several time levels, written as a text:
 *
 *     field u(2)                                 # two levels: u, and u.prev one step earlier
 *     coefficient c2                             # per execution: an array on the grid, or a number
 *     coefficient damping = 0.01                 # a number, which an execution may replace
 *     stencil lap = laplace-2d:order=8           # any name of stn_stencil_parse, or taps:
 *     stencil dxf = taps x [0, 1] (-1 1), mix = taps [0 0, 0 -1, -1 0] (1/2 1/4 1/4)
 *     boundary u = reflect, odd-mirror:constant=0.5
 *     u.next = 2*u - u.prev + c2*lap(u) - damping*(u - u.prev)
 *
 * A statement ends at the end of its line or at a semicolon; it continues on the next line inside
 * brackets and after an operator or a comma. # starts a comment. Names must be declared before they
 * are used.
 *
 * field        NAME or NAME(LEVELS), 1 to STN_SYSTEM_MAX_LEVELS. u is the present state, u.prev the
 *              state one step earlier, u.prev2 two steps. u.next is assigned once per field.
 * stencil      "taps [offset, ...] (weight ...)": an offset is one integer per axis, or along one
 *              axis "taps x [...] (...)": x is the last axis, y the one before, z the one before
 *              that. Weights may be ratios. A stencil applies to any expression, also to stencils
 *              of expressions: taps are summed in the order of their offsets, axis 0 first.
 * boundary     for all fields, for some ("boundary u, v = ...") or for coefficients: one rule for
 *              all axes, or one per axis, as in stn_boundary_parse; also odd-reflect, which is
 *              reflect with the sign changed (zero on the edge of the outer cell), and odd-mirror,
 *              which is mirror with the sign changed (zero at the outer point). Defaults: wrap for
 *              fields, nearest for coefficients.
 * expressions  + - * / and unary -, < <= > >= == != (1 or 0; they do not chain), abs sqrt exp log
 *              sin cos tanh, min max pow, where(condition, a, b): b where the condition is 0. min
 *              and max ignore NaN, as fmin and fmax do.
 *
 * A step computes the assignments in the order of the text, each at every point. Later ones may use
 * u.next of earlier ones, inside stencils too. Then all levels advance by one. Arithmetic is that
 * of the dtype (f16: float32), in the order written; each u.next is rounded to the dtype. Past a
 * side each field and coefficient is folded by its own rule, axis 0 first, and expressions are
 * evaluated there: dxb(k*dxf(u)) reads k and u past the side, not an extension of the product. At a
 * field's fixed side, points whose assignment reads anything past it keep their value; assignments
 * of other fields that read this field past the side get its outermost value, as by nearest. */
#define STN_SYSTEM_MAX_TEXT 65536
#define STN_SYSTEM_MAX_FIELDS 16
#define STN_SYSTEM_MAX_LEVELS 4
#define STN_SYSTEM_MAX_COEFFICIENTS 32

typedef struct stn_system stn_system; /* immutable: any number of threads may use it */

/* Parses and checks a system. Errors name line and column: syntax, undeclared names, u.next before
 * its assignment, different ranks, fields without an assignment, texts longer than
 * STN_SYSTEM_MAX_TEXT or nested deeper than 200, stencils of stencils that reach further than
 * STN_MAX_RADIUS. */
STN_API stn_status stn_system_parse(const char *text, stn_system **system, stn_error *error);
STN_API void stn_system_destroy(stn_system *system); /* NULL has no effect */

/* The canonical text of the system: the same for all systems that compute the same operations in
 * the same order; it parses to this system again. The caller's, freed with stn_text_free. */
STN_API stn_status stn_system_print(const stn_system *system, char **text, stn_error *error);

/* The rank that stencils and boundaries imply; 0: any rank of at least stn_system_least_rank. */
STN_API int stn_system_rank(const stn_system *system);
STN_API int stn_system_least_rank(const stn_system *system);
STN_API size_t stn_system_field_count(const stn_system *system);
/* owned by the system; "" past the end */
STN_API const char *stn_system_field_name(const stn_system *system, size_t field);
STN_API int stn_system_field_levels(const stn_system *system, size_t field); /* 0 past the end */
STN_API size_t stn_system_coefficient_count(const stn_system *system);
STN_API const char *stn_system_coefficient_name(const stn_system *system, size_t coefficient);
/* Non-zero if the text gives the coefficient a number, *value (may be NULL). */
STN_API int stn_system_coefficient_value(const stn_system *system, size_t coefficient, double *value);
/* The reach of a step's assignments along an axis, on grids of this rank: the largest distance, in
 * points, between a point and those that its assignments read towards the low (side 0) or high side
 * (1). A grid needs more points than that along the axis. */
STN_API int stn_system_reach(const stn_system *system, int rank, int axis, int side);

/* A source or receiver at a grid point of a field, with a weight. A source or receiver between grid
 * points is several of these points with the same channel. */
typedef struct stn_system_point {
    size_t channel;              /* last index in `amplitudes` (source) or `records` (receiver) */
    size_t field;                /* in the order of declaration */
    int64_t index[STN_MAX_RANK]; /* along each axis of the grid */
    double weight;
} stn_system_point;

typedef struct stn_system_problem {
    size_t struct_size;
    const stn_system *system; /* borrowed during the call only; plans copy it */
    int rank;                 /* 0: the rank that the system implies, if it implies one */
    size_t extent[STN_MAX_RANK];
    /* independent sets of fields, with shared coefficients and amplitudes; 0 means 1 */
    size_t batch;
    stn_dtype dtype;
    uint64_t steps; /* 0 means 1 */
    /* With every = k outputs are stacks of the states after k, 2 k, ... `steps` steps; k must
     * divide steps. 0: only the last state is written. */
    uint64_t every;
    int in_place;  /* non-zero: out will be the same pointers as in */
    int alignment; /* alignment in bytes of all arrays, a power of two; 0 means 16 */
    /* One entry per coefficient; non-zero: executions supply a number for it, not an array. NULL:
     * coefficients with a number in the text are numbers, all others arrays. */
    const int *is_number;
    /* In each step sources add weight * amplitude to their field's next state, right after its
     * assignment. Receivers sum weight * field after each record_every steps (0 means 1; it must
     * divide steps). Borrowed during the call only. */
    size_t source_count, receiver_count;
    const stn_system_point *sources, *receivers;
    uint64_t record_every;
    double tolerance; /* relative L2 error allowed for the whole run; 0: rounding of the dtype */
    /* A stn_accuracy. GLOBAL: if a step is linear and all coefficients are numbers, all steps may
     * be computed at once by Fourier transforms. LOCAL: the steps are computed one by one. */
    int accuracy;
} stn_system_problem;
#define STN_SYSTEM_PROBLEM_INIT STN_INIT_OF(stn_system_problem)

/* The arrays of an execution: [batch][extent...], dense in C order, of the plan's dtype. They are
 * listed by field in the order of declaration, and for each by level, the newest first: u, u.prev,
 * p, q, ... Arrays are in the context's memory; the lists themselves are host memory, read during
 * the call only. Except in place, no array that is written may overlap another. */
typedef struct stn_system_arrays {
    size_t struct_size;
    const void *const *in;
    /* With `every`: [steps / every][batch][extent...]; entries may be NULL for levels that are not
     * kept. */
    void *const *out;
    /* [extent...]; NULL entries for numbers, or a NULL list if all are numbers */
    const void *const *coefficients;
    /* one entry per coefficient, used for numbers only; NULL: the text's numbers */
    const double *numbers;
    /* `amplitudes` are read, [steps][channels]; `records` are written,
     * [steps / record_every][batch][channels]. Both are float64 if the dtype is f64, else float32.
     * The number of channels is the largest channel of the sources, or of the receivers, plus 1. */
    const void *amplitudes;
    void *records;
} stn_system_arrays;
#define STN_SYSTEM_ARRAYS_INIT STN_INIT_OF(stn_system_arrays)

/* Checks a problem without planning it. Needs no device. */
STN_API stn_status stn_system_problem_validate(const stn_system_problem *problem, stn_error *error);

/* Computes the largest factor by which a step multiplies a plane wave (von Neumann analysis): the
 * largest absolute eigenvalue over all frequencies, which are sampled and refined around the
 * largest samples, to about 1e-5 (less for dozens of levels). low and high hold bounds of each
 * coefficient, and the result is the maximum over all combinations of bounds. If they are NULL, the
 * text must give each coefficient a number, which is used. For coefficients that vary in space the
 * result is an estimate. If it exceeds 1 by more than 1e-5, long runs overflow. *growth is NaN if
 * the system is not linear, or its coefficients are not known. */
STN_API stn_status stn_system_growth(const stn_system *system, int rank, const double *low, const double *high,
                                     double *growth, stn_error *error);

/* As stn_plan_create. The plan is executed by stn_plan_run, with its arrays in
 * stn_execution.system. */
STN_API stn_status stn_plan_create_system(stn_context *context, const stn_system_problem *problem,
                                          const stn_plan_options *options, stn_plan **plan, stn_error *error);

/* ---- Filters without a plan ------------------------------------------------------------------ */

/* Sums over a sliding box along one axis of dense arrays in host memory, divided by `divisor`:
 * `outer` x `points` x `inner` numbers in C order, filtered along the middle axis. The box of point
 * i is the points i - before to i - before + size - 1. Rounding errors depend only on the box, not
 * on the length of the axis; a value that is not finite affects only boxes that contain it, and a
 * mean in f64 is right even if the sum overflows. */
typedef struct stn_box_filter {
    size_t struct_size;
    stn_dtype dtype; /* STN_F64, STN_F32, STN_F16; summed in f64 */
    size_t outer, points, inner;
    size_t size, before;   /* before < size */
    stn_boundary sides[2]; /* low and high; not STN_FIXED */
    double divisor;        /* `size` for means */
    /* 0: both arrays hold numbers of the dtype. An integer type or STN_ELEMENT_BOOL: both hold
     * numbers of this type. Sums below 2^53 are exact, and quotients are truncated towards zero. */
    stn_element element;
    /* NULL, or a second filter along the last axis, applied to the result of this one. It must have
     * the same dtype and element, next->next == NULL (no third filter), next->inner == 1,
     * inner % next->points == 0, next->outer * next->points == outer * points * inner. An integer
     * type must be STN_ELEMENT_U8 or STN_ELEMENT_U16, the divisors the sizes, constants of the
     * sides integers of the type, and the largest number of the type times a size below 2^32. Both
     * filters are computed at once, and the results between them stay in cache. */
    const struct stn_box_filter *next;
    /* Called about every 50 ms with done = 0 and total = 1, and at the end with done = 1; NULL:
     * never. A result other than 0 cancels the filter: STN_ERROR_CANCELLED, `out` undefined. */
    stn_progress_fn progress;
    void *progress_user;
} stn_box_filter;
#define STN_BOX_FILTER_INIT STN_INIT_OF(stn_box_filter)

/* Filters on the context's threads; in and out must not overlap. */
STN_API stn_status stn_box_filter_run(stn_context *context, const stn_box_filter *filter, const void *in, void *out,
                                      stn_error *error);

/* The taps of a filter along the first `axes` of `rank` axes, sorted by offset. Taps of weight 0
 * are left out, so that NaN at their points does not spread. */
typedef struct stn_filter_taps {
    int rank, axes;
    size_t count;
    const int64_t *offsets; /* [count][axes] */
    const double *weights;  /* [count] */
    /* A second filter that is applied to the result of this one, or NULL. If it is given, this
     * filter's taps must lie along one axis other than the last, the second filter's along the last
     * axis, and neither may have more than 129; the arrays must be dense, and no side may be
     * fixed. */
    const struct stn_filter_taps *next;
} stn_filter_taps;

/* Runs one step of a problem on the host without a plan, with the result of the strategy `host`:
 * for small arrays whose extents or weights are new in each call. The problem's stencil is NULL;
 * one step, no source, not in place. in and out must not overlap. Thread safety: any number of
 * calls at once. Errors: those of stn_plan_create. */
STN_API stn_status stn_filter_run(stn_context *context, const stn_problem *problem, const stn_filter_taps *taps,
                                  const void *in, void *out, stn_error *error);

/* ---- Wisdom ---------------------------------------------------------------------------------- */

/* Wisdom: measured times of candidates, stored in the context's cache folder (see stn_plan_create),
 * which can be copied between folders and machines as a text with a checksum. An entry is about one
 * problem on one device and driver with the kernels of one library version. Plans look for their
 * own problem first, then for similar ones on the same model of device. In a similar problem,
 * extents, strides and batch may differ by less than a factor of sqrt(2) if the same powers of two
 * up to 16 divide them, and a number of steps above 64 by less than a factor of 2. Entries that a
 * library with other kernels made are kept, but not used. Any number of processes may import,
 * measure and export at once without losing entries.
 *
 * Errors of all calls: STN_ERROR_IO if there is no cache folder, or if its wisdom cannot be read or
 * written, which then stays unchanged; STN_ERROR_OUT_OF_MEMORY. Several threads may make these
 * calls on one context at once. */

/* Exports all entries as a text, the caller's, freed with stn_text_free. STN_ERROR_FORMAT: the
 * folder's wisdom is damaged. */
STN_API stn_status stn_wisdom_export(stn_context *context, char **text, stn_error *error);
/* Imports the entries of such a text; known times are kept. *report (may be NULL), freed with
 * stn_text_free: a line with the counts. STN_ERROR_FORMAT, with nothing imported: the text is not
 * wisdom, damaged, of another format version, or too large. */
STN_API stn_status stn_wisdom_import(stn_context *context, const char *text, size_t size, char **report,
                                     stn_error *error);
/* Merges two texts into one, the caller's, freed with stn_text_free; if both have a time of a
 * candidate, the first one's is kept. STN_ERROR_FORMAT as for an import. */
STN_API stn_status stn_wisdom_merge(const char *first, size_t first_size, const char *second, size_t second_size,
                                    char **merged, stn_error *error);
/* Deletes the entry whose key starts with `key` (at least 4 hex digits; see `stentor wisdom list`);
 * NULL: all entries. */
STN_API stn_status stn_wisdom_forget(stn_context *context, const char *key, stn_error *error);

/* ---- Teams: one grid over several GPUs ----------------------------------------------------------
 *
 * A team is a set of devices of this process, or a set of processes, that compute on one grid. The
 * grid is cut along its slowest axis into parts of whole rows (planes in 3D). Each member stores,
 * in addition to its own rows, copies of its neighbours' nearest rows, the halos, and takes several
 * steps between two halo exchanges: with f steps between them a halo is f times the stencil's reach
 * deep. The plan chooses f by the predicted cost of steps and exchanges. Results are bit-identical
 * to those of one device if both take single steps by the same strategy and kernels (direct, host);
 * else they agree to rounding. In f16 on GPUs they agree to rounding only, because direct rounds
 * values once per launch, and launches may have other numbers of steps than on one device. Runs of
 * many steps with periodic sides may be computed by Fourier transforms of the divided grid.
 *
 * A team and its plans must not be used by two threads at once. */

typedef struct stn_team stn_team;
/* Creates one context for each of `count` devices, each STN_DEVICE_CUDA(n) (or STN_DEVICE_HOST:
 * members that share the processors, for tests). A device may be named more than once. options: of
 * all contexts, except their device; NULL for the defaults. Errors: those of stn_context_create,
 * for the first member that fails; STN_ERROR_INVALID_ARGUMENT if count is below 1 or above 64, or
 * if devices are both GPUs and the host. */
STN_API stn_status stn_team_create(const stn_context_options *options, int count, const int *devices, stn_team **team,
                                   stn_error *error);
/* Creates a team with one member in each process. All processes of an MPI communicator must call
 * it, and must make all later calls on the team and its plans in the same order. MPI (Open MPI, or
 * MPICH and libraries of its ABI) is opened at run time: the library that the process has loaded,
 * else $STENTOR_MPI_PATH, else the one that the dynamic loader finds. It is initialised here if
 * nobody has done so, and then finalised at exit. Only host memory is sent through MPI. If every
 * process has a GPU of its own and the same NCCL is found, NCCL exchanges the halos.
 *   options        of this process's context; NULL for the defaults. STN_DEVICE_AUTO: a GPU of the
 *                  machine, by the process's number on it, else the host; threads 0: this process's
 *                  share of the processors
 *   communicator   points to an MPI_Comm, which is duplicated; NULL: MPI_COMM_WORLD
 *   seconds        a process that is silent for longer is considered lost; 0: $STENTOR_MPI_SECONDS,
 *                  else 300. A process is silent while it makes a plan and between two calls, not
 *                  while it computes
 * A failure of one process makes the call fail in all processes, with the same status and a
 * sentence that names the rank. After the loss of a process (STN_ERROR_IO) all calls fail, and MPI
 * is not finalised; after other failures the team remains usable. Errors: those of
 * stn_context_create; STN_ERROR_UNSUPPORTED: no usable MPI, or not started by mpirun. */
STN_API stn_status stn_team_create_mpi(const stn_context_options *options, const void *communicator, double seconds,
                                       stn_team **team, stn_error *error);
/* Makes the id by which processes find each other with NCCL: STN_NCCL_ID_BYTES bytes at `id`. One
 * process makes it and hands it to the others, by any means; it is valid for one team. NCCL (2.18
 * or newer) is opened at run time: $STENTOR_NCCL_PATH, else the library that the process has
 * loaded, else the one installed by pip, else the one that the dynamic loader finds. Errors:
 * STN_ERROR_UNSUPPORTED: no usable NCCL; the message says how to get it. */
#define STN_NCCL_ID_BYTES 128
STN_API stn_status stn_nccl_make_id(void *id, stn_error *error);
/* Creates a team of `count` processes without MPI, each with a GPU of its own, that exchange data
 * by NCCL. It differs from stn_team_create_mpi in this:
 *   options        STN_DEVICE_AUTO: a GPU by the process's number on the machine, if its launcher
 *                  (mpirun, srun, torchrun) tells it, else by its rank
 *   id             of STN_NCCL_ID_BYTES bytes, the same in all processes
 *   rank           of this process, from 0 to count - 1
 *   seconds        how long a call may wait for other processes without completing an exchange; 0:
 *                  $STENTOR_MPI_SECONDS, else 300. There are no heartbeats: a process is considered
 *                  lost when this limit passes, and the message names all that were waited for. If
 *                  stn_team_plan_execute fails in one process, the others learn this at the end of
 *                  the run
 * Errors: those of stn_context_create; STN_ERROR_UNSUPPORTED: no usable NCCL, or no GPU. */
STN_API stn_status stn_team_create_nccl(const stn_context_options *options, const void *id, int rank, int count,
                                        double seconds, stn_team **team, stn_error *error);
STN_API void stn_team_destroy(stn_team *team); /* after its plans; NULL has no effect */
STN_API int stn_team_size(const stn_team *team);
/* The member that this process is; 0 if all members are in this process. */
STN_API int stn_team_rank(const stn_team *team);
/* The rank that the last failure of a team of processes names; -1: none. */
STN_API int stn_team_failed_rank(const stn_team *team);
/* The context of member number `member`, owned by the team; NULL: there is none, or it is in
 * another process. */
STN_API stn_context *stn_team_context(const stn_team *team, int member);
/* Bytes per second of a copy from the last member to the first, or of messages between neighbouring
 * processes, measured when the team was created. */
STN_API double stn_team_link_bandwidth(const stn_team *team);

typedef struct stn_team_plan stn_team_plan;
/* Makes a plan of a problem with global extents, all strides 0 (dense) and no snapshots. options:
 * of the members' plans. If the grid has too few rows for all members, some have none. The team
 * must outlive the plan. Errors: those of stn_plan_create; STN_ERROR_UNSUPPORTED: strides or
 * snapshots; STN_ERROR_INVALID_ARGUMENT in all processes if their problems, options or library
 * versions differ. */
STN_API stn_status stn_team_plan_create(stn_team *team, const stn_problem *problem, const stn_plan_options *options,
                                        stn_team_plan **plan, stn_error *error);
/* Makes a plan of a Fourier transform of 1 to 3 axes with global extents, all strides 0 (dense). If
 * the transforms have one axis, or the batch has at least as many transforms as the team has
 * members, each member gets whole transforms, and stn_team_plan_local counts transforms. Otherwise
 * each transform is divided along its first axis, in and out: the members transform the other axes
 * of their rows, exchange blocks (each sends most of its data to the others, twice), and transform
 * the first axis between the two exchanges. On the host results are bit-identical to those of one
 * device, except for lines that one device computes in another order; else they agree to rounding.
 * f16 is rounded once more, since the exchanged blocks are f16 too. stn_team_plan_execute needs
 * both in and out: the same pointers if the transform is in place, different ones otherwise.
 * Errors: as stn_team_plan_create, with those of stn_plan_create_fft. */
STN_API stn_status stn_team_plan_create_fft(stn_team *team, const stn_transform *transform,
                                            const stn_plan_options *options, stn_team_plan **plan, stn_error *error);
STN_API void stn_team_plan_destroy(stn_team_plan *plan); /* NULL has no effect */
/* A member's part of the grid: the rows first to first + rows - 1 of the slowest axis; with 0 rows
 * the member has no part. */
STN_API stn_status stn_team_plan_local(const stn_team_plan *plan, int member, size_t *first, size_t *rows,
                                       stn_error *error);
/* Runs all steps and returns when they are done. in[m] and out[m] are pointers of member
 * m's device to its part, [batch][rows][other extents], dense; so is source[m] if the problem has a
 * source (else source is NULL). Entries of members without rows are ignored. In a team of
 * processes each gives only its own part, as in[0], out[0] and source[0]. in[m] may be out[m] if
 * the problem is in place, and is kept otherwise. Members also have grids of their own: with `in`
 * NULL the run continues from the previous result, with `out` NULL the result stays in the
 * members, so that a long simulation moves data only when needed. After a failure no work is
 * running, and the outputs are undefined; in a team of processes a run of steps writes them only
 * after all processes have made all steps, so that an earlier failure leaves them untouched. */
STN_API stn_status stn_team_plan_execute(stn_team_plan *plan, const void *const *in, void *const *out,
                                         const void *const *source, stn_error *error);
/* The same for whole dense grids in host memory; `in` and `out` may be NULL likewise. In a team of
 * processes, in, out and source are this process's part, in host memory. */
STN_API stn_status stn_team_plan_execute_host(stn_team_plan *plan, const void *in, void *out, const void *source,
                                              stn_error *error);
/* As stn_plan_set_weights, for all members' plans. */
STN_API stn_status stn_team_plan_set_weights(stn_team_plan *plan, size_t count, const double *weights,
                                             stn_error *error);
/* Makes a plan of a system, with global extents: fields, levels and coefficients are divided along
 * axis 0. A halo is as deep as a step reaches there, through all assignments and stencils, times
 * the steps between two exchanges; coefficients' halos are sent once an execution. Errors: those of
 * stn_plan_create_system; STN_ERROR_UNSUPPORTED: axis 0 cannot be divided, because some of the
 * fields that are read past its sides wrap there and others do not, or because a coefficient wraps
 * there and no such field does, or (for some systems) the reverse. */
STN_API stn_status stn_team_plan_create_system(stn_team *team, const stn_system_problem *problem,
                                               const stn_plan_options *options, stn_team_plan **plan, stn_error *error);
/* Runs all steps, as stn_team_plan_execute: arrays[m]->in, out and coefficients are the rows of
 * member m, on its device. In a team of processes each passes its own arrays[0], also if it has no
 * rows. `in` NULL for all: the run continues from the previous result; `out` NULL: the result stays
 * in the members; `coefficients` NULL: as in the previous execution. With `every`, out is written
 * during the run. `amplitudes` and `records` are read from and written to arrays[0] only, and are
 * in host memory. In a team of processes every process passes the amplitudes, and only rank 0
 * passes `records`. The values of a channel with several receivers are added on the host, so that
 * the records of a team of GPUs may differ by rounding from those of one GPU. */
STN_API stn_status stn_team_plan_execute_system(stn_team_plan *plan, const stn_system_arrays *const *arrays,
                                                stn_error *error);
/* The same for whole arrays in host memory. STN_ERROR_UNSUPPORTED for a team of processes. */
STN_API stn_status stn_team_plan_execute_system_host(stn_team_plan *plan, const stn_system_arrays *arrays,
                                                     stn_error *error);
/* Sets the function that later executions of a stencil or system call with the steps done and the
 * number of all steps, as stn_execution.progress; NULL removes it. On GPUs an execution then waits
 * for the work about every 50 ms. If the function cancels in one process of a team, the execution
 * fails in all processes, and the team cannot be used again (with NCCL and without MPI, the
 * execution fails at its end). STN_ERROR_UNSUPPORTED: the plan is a transform. */
STN_API stn_status stn_team_plan_set_progress(stn_team_plan *plan, stn_progress_fn progress, void *user,
                                              stn_error *error);
/* Describes the parts, the steps between exchanges, and each member's plan. *text is freed with
 * stn_text_free. */
STN_API stn_status stn_team_plan_describe(const stn_team_plan *plan, char **text, stn_error *error);

#ifdef __cplusplus
}
#endif
#endif
