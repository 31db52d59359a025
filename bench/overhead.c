/* Overheads: the first plan, the first plan of the next process, CPU time of one execute. */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "bench.h"

enum { SIDE = 4096, SMALL_SIDE = 256, BATCH = 100, BATCHES = 51 };

typedef struct probe {
    stn_status status;
    stn_error error;
    bench_overhead times; /* some of its members */
} probe;

static stn_status timed_plan(bench *machine, const stn_problem *problem, stn_plan **plan, double *seconds,
                             stn_error *error) {
    double begin = bench_now();
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ESTIMATE; /* no background compile during measurements */
    stn_status status = stn_plan_create(machine->context, problem, &options, plan, error);
    *seconds = bench_now() - begin;
    return status;
}

typedef struct executes {
    stn_plan *plan;
    void *in, *out;
} executes;

/* CPU time of an execute: enough executes to measure, too few to fill the launch queue. */
static stn_status time_executes(bench *machine, executes *work, double *seconds, stn_error *error) {
    double best = INFINITY;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = bench_now();
        for (int i = 0; i < BATCH; i++) STN_TRY(stn_plan_execute(work->plan, work->in, work->out, NULL, error));
        double each = (bench_now() - begin) / BATCH;
        if (each < best) best = each;
        STN_TRY(stn_synchronize(machine->context, NULL, error));
    }
    *seconds = best;
    return STN_OK;
}

static stn_status measure_execute(bench *machine, stn_problem problem, double *seconds, stn_error *error) {
    executes work = {0};
    size_t count = SMALL_SIDE * SMALL_SIDE, bytes = count * sizeof(double);
    problem.extent[0] = problem.extent[1] = SMALL_SIDE;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ESTIMATE;
    stn_status status;
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &work.in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &work.out, error), done);
    STN_TRY_GOTO(status, bench_fill(machine, work.in, count, STN_F64, STN_F64, error), done);
    STN_TRY_GOTO(status, stn_plan_create(machine->context, &problem, &options, &work.plan, error), done);
    status = time_executes(machine, &work, seconds, error);
done:
    stn_plan_destroy(work.plan);
    stn_memory_free(machine->context, work.in);
    stn_memory_free(machine->context, work.out);
    return status;
}

static stn_status measure_child(int device, const char *cache, bool warm, bench_overhead *times, stn_error *error) {
    bench machine = {.repeat = 1};
    stn_stencil *heat = NULL;
    stn_plan *plan = NULL, *again = NULL;
    stn_problem problem = STN_PROBLEM_INIT;
    stn_cache_stats stats = {0};
    double plan_seconds, begin = bench_now();
    stn_status status;
    STN_TRY_GOTO(status, bench_open(device, 0, cache, &machine, error), done);
    *(warm ? &times->warm_context_seconds : &times->context_seconds) = bench_now() - begin;
    STN_TRY_GOTO(status, stn_stencil_parse("heat-2d", &heat, error), done);
    problem.stencil = heat;
    problem.extent[0] = problem.extent[1] = SIDE;
    STN_TRY_GOTO(status, timed_plan(&machine, &problem, &plan, &plan_seconds, error), done);
    *(warm ? &times->warm_plan_seconds : &times->cold_plan_seconds) = plan_seconds;
    if (!warm) goto done;
    stn_context_cache_stats(machine.context, &stats);
    times->load_seconds = stats.load_seconds;
    snprintf(times->strategy, sizeof times->strategy, "%s", stn_plan_strategy(plan));
    STN_TRY_GOTO(status, timed_plan(&machine, &problem, &again, &times->memory_plan_seconds, error), done);
    times->execute_seconds = NAN; /* on the host a call does the work itself */
    if (machine.device) status = measure_execute(&machine, problem, &times->execute_seconds, error);
done:
    stn_plan_destroy(again);
    stn_plan_destroy(plan);
    stn_stencil_destroy(heat);
    bench_close(&machine);
    return status;
}

/* Runs measure_child in a child process, which writes its result to a pipe. */
static stn_status measure_process(int device, const char *cache, bool warm, bench_overhead *times, stn_error *error) {
    int ends[2];
    if (pipe(ends)) return stn_fail(error, STN_ERROR_IO, "no pipe to a child process: too many files are open");
    probe found = {.times = *times};
    pid_t child = fork();
    if (child == 0) {
        found.status = measure_child(device, cache, warm, &found.times, &found.error);
        ssize_t written = write(ends[1], &found, sizeof found);
        _exit(written == (ssize_t)sizeof found ? 0 : 1);
    }
    close(ends[1]);
    size_t size = 0;
    for (ssize_t part; child > 0 && size < sizeof found; size += (size_t)part) {
        part = read(ends[0], (char *)&found + size, sizeof found - size);
        if (part <= 0) break;
    }
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
    if (size < sizeof found)
        return stn_fail(error, STN_ERROR_INTERNAL, "the child process that measures a first plan ended early");
    if (found.status != STN_OK) return stn_fail(error, found.status, "%s", found.error.message);
    *times = found.times;
    return STN_OK;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place) {
    (void)about, (void)type, (void)place;
    return remove(path);
}

stn_status bench_measure_overhead(int device, bench_overhead *overhead, stn_error *error) {
    const char *folder = getenv("TMPDIR");
    char cache[4096];
    *overhead = (bench_overhead){0};
    int size = snprintf(cache, sizeof cache, "%s/stentor-bench-XXXXXX", folder && *folder ? folder : "/tmp");
    if (size >= (int)sizeof cache || !mkdtemp(cache))
        return stn_fail(error, STN_ERROR_IO, "no folder for an empty cache in %s: set TMPDIR",
                        folder ? folder : "/tmp");
    stn_status status = measure_process(device, cache, false, overhead, error);
    if (status == STN_OK) status = measure_process(device, cache, true, overhead, error);
    nftw(cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}
