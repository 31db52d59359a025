/* Declarations shared by the files of the bench: the machine under measurement, and timing. */
#ifndef STN_BENCH_BENCH_H
#define STN_BENCH_BENCH_H
#include <stdbool.h>

#include "cases.h"
#include "context/context.h"

typedef struct bench {
    stn_context *context;
    stn_device *device; /* NULL on the host; borrowed from the context */
    stn_timer *timer;   /* NULL on the host */
    stn_pool *pool;     /* fills arrays, and copies on the host */
    bool quick, tune;
    double tolerance;      /* of stencil problems */
    int repeat;            /* timed runs; the median counts */
    double copy_bandwidth; /* bytes/s, read + write */
} bench;

typedef stn_status (*bench_work)(void *user, stn_error *error);

stn_status bench_open(int device, int threads, const char *cache_dir, bench *machine, stn_error *error);
void bench_close(bench *machine);

/* Wall-clock seconds since a fixed time. */
double bench_now(void);
/* Sorts the times and returns their median. count: at least 1. */
double bench_median(double *seconds, int count);

/* Idles a GPU for 0.3 s. A check computes up to thousands of steps at full memory bandwidth, after
 * which a GPU at its power limit may have a lower clock: measured times would depend on the length
 * of the check. */
void bench_rest(const bench *machine);

/* The median time of machine->repeat runs after two warm-up runs, by the wall clock on the host and
 * by events on a GPU. There an untimed run precedes each timed run of less than 2 ms, so that the
 * GPU never waits for a launch, as in a loop of steps. */
stn_status bench_time(bench *machine, bench_work work, void *user, double *seconds, stn_error *error);
/* The same, of as many calls, timed together, as take 0.3 ms on a GPU, at most 100: the seconds of
 * one. */
stn_status bench_time_short(bench *machine, bench_work work, void *user, double *seconds, stn_error *error);

/* The work of executing a plan, with a bench_execution as its user. */
typedef struct bench_execution {
    stn_plan *plan;
    stn_execution run;
} bench_execution;
stn_status bench_execute(void *user, stn_error *error);
/* workspace: NULL if the plan has its own. */
static inline bench_execution bench_execution_of(stn_plan *plan, const void *in, void *out, void *workspace) {
    return (bench_execution){plan,
                             {.struct_size = sizeof(stn_execution), .in = in, .out = out, .workspace = workspace}};
}

/* Fills machine->copy_bandwidth: copies between arrays of about 4 GiB on a GPU, of 512 MiB on the
 * host. */
stn_status bench_measure_copy(bench *machine, stn_error *error);

/* ---- data.c: random values as a function of the index, so that the host needs no copy -------- */
/* In [-1, 1), uniform, rounded to the dtype. */
double bench_value(uint64_t index, stn_dtype dtype);
double bench_load(const void *data, uint64_t index, stn_dtype dtype);
void bench_store(void *data, uint64_t index, stn_dtype dtype, double value);
/* Fills `count` elements of `dtype` at `data` (in the context's memory) with bench_value of their
 * index, rounded to the type `values`. */
stn_status bench_fill(bench *machine, void *data, uint64_t count, stn_dtype values, stn_dtype dtype, stn_error *error);
/* Fills with shift + scale * bench_value(first + index). */
stn_status bench_fill_scaled(bench *machine, void *data, uint64_t first, uint64_t count, stn_dtype dtype, double shift,
                             double scale, stn_error *error);

/* A case's stencil: by name, or dense-2d:R with random weights of both signs whose magnitudes sum
 * to 1. */
stn_status bench_stencil(const char *spec, stn_stencil **stencil, stn_error *error);

/* ---- check.c --------------------------------------------------------------------------------- */
/* One execution; `source` is used if the plan has a source. */
stn_status bench_run(stn_plan *plan, const void *in, const void *source, void *out, stn_error *error);
typedef struct bench_buffers {
    void *in;  /* filled by bench_fill; unchanged */
    void *out; /* of the same size */
} bench_buffers;
/* Runs the plan once and checks a sample of points with faces and corners. One step is compared
 * with a direct evaluation on the CPU, several steps with single f64 steps of `direct` on the same
 * machine, whose first step is compared in the same way. A problem's source is its input. Gives the
 * relative L2 error of the sample (NaN if a point was not written) and the largest error that
 * rounding explains. */
stn_status bench_check(bench *machine, const stn_problem *problem, stn_plan *plan, const bench_buffers *buffers,
                       double *found, double *allowed, stn_error *error);

/* ---- overhead.c ------------------------------------------------------------------------------ */
typedef struct bench_overhead {
    double context_seconds; /* driver start included */
    /* First plan of a process with an empty cache: NVRTC's start and compile. */
    double cold_plan_seconds;
    double warm_context_seconds; /* the next process */
    /* Its first plan, from the disk; the part spent in the driver. */
    double warm_plan_seconds, load_seconds;
    double memory_plan_seconds; /* the same plan again in the same context */
    double execute_seconds;     /* CPU time of one execute */
    char strategy[32];
} bench_overhead;
/* Measures each in a new child process. Call it before bench_open, because a process that has used
 * the driver must not fork. */
stn_status bench_measure_overhead(int device, bench_overhead *overhead, stn_error *error);

/* ---- report.c -------------------------------------------------------------------------------- */
typedef struct bench_result {
    const bench_case *what;
    size_t extent[STN_MAX_RANK];
    uint64_t steps;
    const char *boundary;
    stn_dtype dtype;
    char strategy[32];
    /* bandwidth: bytes/s for one read and one write per step */
    double seconds, gstencils, bandwidth, percent_of_copy;
    double bar; /* in what->unit; 0: none */
    /* Seconds of the same problem by cuFFT transforms of the whole grid; 0: not measured. */
    double whole_grid;
    double error, allowed;
    stn_status status; /* of the measurement */
    char problem[256]; /* why there is no measurement, or "" */
} bench_result;

bool bench_result_right(const bench_result *result);
/* Prints a row of the table immediately, so that an interrupted run keeps its results. `first`:
 * with the table's header. */
void bench_report_row(const bench *machine, const bench_result *result, bool first);
/* Prints failures, below the table. */
void bench_report_problems(const bench_result *results, size_t count, stn_text *text);
/* transforms: their results as a JSON array, or NULL. */
void bench_report_json(const bench *machine, const bench_result *results, size_t count, const char *transforms,
                       const bench_overhead *overhead, stn_text *text);
void bench_report_overhead(const bench_overhead *overhead, stn_text *text);
#endif
