/* What the pieces of the bench share: the machine under measurement, and how a thing is timed on
 * it. */
#ifndef STN_BENCH_BENCH_H
#define STN_BENCH_BENCH_H
#include <stdbool.h>

#include "cases.h"
#include "context/context.h"

typedef struct bench {
    stn_context *context;
    stn_device *device; /* NULL on the host; borrowed from the context */
    stn_timer *timer;   /* NULL on the host */
    stn_pool *pool;     /* for filling, and for copies on the host */
    bool quick, tune;
    double tolerance;      /* of stencils */
    int repeat;            /* timed runs; the median counts */
    double copy_bandwidth; /* bytes/s, read + write */
} bench;

typedef stn_status (*bench_work)(void *user, stn_error *error);

stn_status bench_open(int device, int threads, const char *cache_dir, bench *machine, stn_error *error);
void bench_close(bench *machine);

/* Seconds by the wall clock since some fixed moment. */
double bench_now(void);

/* Lets a GPU rest for 0.3 s. A check steps up to thousands of times at full memory bandwidth, after
 * which a machine that keeps to its power limit may run at a lower clock: what a case takes would
 * depend on how long its check was. */
void bench_rest(const bench *machine);

/* The median time of machine->repeat runs after two warm-up runs, by the wall clock on the host and
 * by events on a GPU, where what takes less than 2 ms runs once more, untimed, in front of each: as
 * in a loop of steps, launches wait for the GPU and not the GPU for them. */
stn_status bench_time(bench *machine, bench_work work, void *user, double *seconds, stn_error *error);

/* Fills machine->copy_bandwidth: copies between arrays of about 4 GiB on a GPU, of 512 MiB on the
 * host. */
stn_status bench_measure_copy(bench *machine, stn_error *error);

/* ---- data.c: random values that are a function of the index, so that no copy on the host is needed
 * ---- */
/* In [-1, 1), uniform, rounded to the dtype. */
double bench_value(uint64_t index, stn_dtype dtype);
double bench_load(const void *data, uint64_t index, stn_dtype dtype);
/* Fills `count` elements of `dtype` at `data` (where the context's memory is) with bench_value,
 * rounded to `values`, of their index. */
stn_status bench_fill(bench *machine, void *data, uint64_t count, stn_dtype values, stn_dtype dtype, stn_error *error);

/* A case's stencil: by name, or dense-2d:R of random weights of either sign whose magnitudes add up
 * to 1. */
stn_status bench_stencil(const char *spec, stn_stencil **stencil, stn_error *error);

/* ---- check.c --------------------------------------------------------------------------------- */
/* One execution; the source counts where the plan has one. */
stn_status bench_run(stn_plan *plan, const void *in, const void *source, void *out, stn_error *error);
typedef struct bench_buffers {
    void *in;  /* filled by bench_fill; unchanged */
    void *out; /* as large */
} bench_buffers;
/* A problem's source is the input once more. Runs the plan once and compares a sample of points,
 * faces and corners included: one step with a direct evaluation on the CPU; several with single f64
 * steps of the plain strategy on the same machine, themselves so compared. Gives the relative L2
 * error of the sample (NaN if a point was not written) and the largest one that rounding
 * explains. */
stn_status bench_check(bench *machine, const stn_problem *problem, stn_plan *plan, const bench_buffers *buffers,
                       double *found, double *allowed, stn_error *error);

/* ---- overhead.c ------------------------------------------------------------------------------ */
typedef struct bench_overhead {
    double context_seconds; /* driver start included */
    /* First plan of a process, nothing cached: NVRTC's start and compile */
    double cold_plan_seconds;
    double warm_context_seconds; /* the next process */
    /* Its first plan, from the disk; the driver's part of that */
    double warm_plan_seconds, load_seconds;
    double memory_plan_seconds; /* the same plan again in the same context */
    double execute_seconds;     /* the CPU's part of one execute */
    char strategy[32];
} bench_overhead;
/* Each in a fresh child process, so call this before bench_open: a process that has used the driver
 * must not fork. */
stn_status bench_measure_overhead(int device, bench_overhead *overhead, stn_error *error);

/* ---- report.c -------------------------------------------------------------------------------- */
typedef struct bench_result {
    const bench_case *what;
    size_t extent[STN_MAX_RANK];
    uint64_t steps;
    const char *boundary;
    stn_dtype dtype;
    char strategy[32];
    /* Bandwidth: bytes/s that one read and write a step take */
    double seconds, gstencils, bandwidth, percent_of_copy;
    double bar; /* in what->unit; 0: none */
    /* Seconds of the same by cuFFT's transforms of the whole grid; 0: not measured */
    double whole_grid;
    double error, allowed;
    stn_status status; /* of measuring it */
    char problem[256]; /* why it was not measured; "" if it was */
} bench_result;

bool bench_result_right(const bench_result *result);
bool bench_result_reaches_bar(const bench_result *result);
/* A row of the table, on stdout at once: what is cut short keeps what it has measured. `first`:
 * after the table's head. */
void bench_report_row(const bench *machine, const bench_result *result, bool first);
/* What went wrong, below the table. */
void bench_report_problems(const bench_result *results, size_t count, stn_text *text);
/* transforms: their JSON array, or NULL. */
void bench_report_json(const bench *machine, const bench_result *results, size_t count, const char *transforms,
                       const bench_overhead *overhead, stn_text *text);
void bench_report_overhead(const bench_overhead *overhead, stn_text *text);
#endif
