/* Timing, and the copy bandwidth of the machine in the same run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "bench.h"

enum { WARM_UP = 2, MAX_REPEATS = 101, MAX_CALLS = 100, REST = 300 * 1000 * 1000 /* ns */ };
#define SHORT 2e-3      /* seconds */
#define SHORT_CALL 3e-4 /* seconds: shorter calls are timed in groups */

stn_status bench_open(int device, int threads, const char *cache_dir, bench *machine, stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = device;
    options.threads = threads;
    options.cache_dir = cache_dir;
    STN_TRY(stn_context_create(&options, &machine->context, error));
    stn_status status;
    machine->device = machine->context->device;
    STN_TRY_GOTO(status, stn_pool_create(threads, &machine->pool, error), failed);
    if (machine->device) STN_TRY_GOTO(status, stn_timer_create(machine->device, &machine->timer, error), failed);
    return STN_OK;
failed:
    bench_close(machine);
    return status;
}

void bench_close(bench *machine) {
    stn_timer_destroy(machine->timer);
    stn_pool_destroy(machine->pool);
    stn_context_destroy(machine->context);
    machine->timer = NULL;
    machine->pool = NULL;
    machine->context = NULL;
}

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_rest(const bench *machine) {
    if (machine->timer && !machine->quick) nanosleep(&(struct timespec){.tv_nsec = REST}, NULL);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof *seconds, ascending);
    return 0.5 * (seconds[(count - 1) / 2] + seconds[count / 2]);
}

/* Times one run by events. behind: after an untimed run, because an idle GPU would pass the first
 * event while the CPU still prepares the launch, and those microseconds would count. */
static stn_status time_once(bench *machine, bench_work work, void *user, bool behind, double *seconds,
                            stn_error *error) {
    if (behind) STN_TRY(work(user, error));
    STN_TRY(stn_timer_start(machine->timer, NULL, error));
    STN_TRY(work(user, error));
    return stn_timer_stop(machine->timer, NULL, seconds, error);
}

stn_status bench_time(bench *machine, bench_work work, void *user, double *seconds, stn_error *error) {
    double times[MAX_REPEATS], elapsed = INFINITY;
    int repeat = machine->repeat < MAX_REPEATS ? machine->repeat : MAX_REPEATS;
    for (int run = -WARM_UP; run < repeat; run++) {
        double begin = bench_now();
        if (machine->timer) {
            STN_TRY(time_once(machine, work, user, elapsed < SHORT, &elapsed, error));
        } else {
            STN_TRY(work(user, error));
            elapsed = bench_now() - begin;
        }
        if (run >= 0) times[run] = elapsed;
    }
    *seconds = bench_median(times, repeat);
    return STN_OK;
}

typedef struct calls {
    bench_work work;
    void *user;
    int count;
} calls;

static stn_status call_work(void *user, stn_error *error) {
    const calls *c = user;
    for (int i = 0; i < c->count; i++) STN_TRY(c->work(c->user, error));
    return STN_OK;
}

stn_status bench_time_short(bench *machine, bench_work work, void *user, double *seconds, stn_error *error) {
    const int repeat = machine->repeat;
    int count = 1;
    machine->repeat = 1;
    stn_status status = bench_time(machine, work, user, seconds, error);
    machine->repeat = repeat;
    if (status != STN_OK) return status;
    if (machine->device && !machine->quick && *seconds < SHORT_CALL)
        count = (int)fmin(MAX_CALLS, ceil(SHORT_CALL / fmax(*seconds, 1e-6)));
    status = bench_time(machine, call_work, &(calls){work, user, count}, seconds, error);
    *seconds /= count;
    return status;
}

stn_status bench_execute(void *user, stn_error *error) {
    const bench_execution *e = user;
    return stn_plan_run(e->plan, &e->run, error);
}

typedef struct copy {
    bench *machine;
    void *to, *from;
    size_t bytes;
} copy;

static void copy_piece(void *user, int64_t begin, int64_t end) {
    copy *work = user;
    memcpy((char *)work->to + begin, (const char *)work->from + begin, (size_t)(end - begin));
}

static stn_status copy_once(void *user, stn_error *error) {
    copy *work = user;
    if (work->machine->device)
        return stn_device_copy(work->machine->device, work->to, work->from, work->bytes, NULL, error);
    stn_pool_for(work->machine->pool, (int64_t)work->bytes, 4 << 20, copy_piece, work);
    return STN_OK;
}

stn_status bench_measure_copy(bench *machine, stn_error *error) {
    size_t bytes = machine->quick ? (size_t)16 << 20 : machine->device ? (size_t)4 << 30 : (size_t)512 << 20;
    size_t memory = machine->context->machine.memory_bytes;
    if (memory && bytes > memory / 8) bytes = memory / 8 & ~(size_t)255;
    copy work = {machine, NULL, NULL, bytes};
    double seconds;
    stn_status status;
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &work.from, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &work.to, error), done);
    STN_TRY_GOTO(status, bench_fill(machine, work.from, bytes / sizeof(double), STN_F64, STN_F64, error), done);
    STN_TRY_GOTO(status, bench_time(machine, copy_once, &work, &seconds, error), done);
    machine->copy_bandwidth = 2 * (double)bytes / seconds;
done:
    stn_memory_free(machine->context, work.to);
    stn_memory_free(machine->context, work.from);
    return status;
}
