/* stentor pack build: one context for each architecture, whose cache passes every kernel that it
 * finds or compiles to the pack; threads take (problem, architecture) pairs from a queue. */
#include "cli/pack_build.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/generic_kernels.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "context/context.h"
#include "io/output.h"
#include "io/output_path.h"
#include "plan/plan.h"

enum { MAX_ARCHS = 16, MAX_THREADS = 256 };

/* The kinds of work in a list; an object without another kind's first key is of the last kind. */
static const cli_listed_kind *const kinds[] = {&cli_listed_transform, &cli_listed_stencil, NULL};

typedef struct build {
    const cli_pack_options *options;
    cli_problem_list problems;
    void **jobs; /* one job for each problem, of its kind */
    char archs[MAX_ARCHS][16];
    size_t arch_count;
    stn_context *contexts[MAX_ARCHS];
    stn_pack_writer *writer;
    atomic_size_t next; /* queue index: problem * arch_count + arch */
    atomic_bool failed;
    pthread_mutex_t lock; /* guards error */
    stn_error error;      /* the first failure */
} build;

static stn_status split_archs(build *b, stn_error *error) {
    for (const char *at = b->options->archs; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        if (b->arch_count == MAX_ARCHS || !length || length >= sizeof b->archs[0])
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "--arch '%.60s': give 1 to %d architectures, such as sm_80,sm_90", b->options->archs,
                            MAX_ARCHS);
        snprintf(b->archs[b->arch_count++], sizeof b->archs[0], "%.*s", (int)length, at);
    }
    return STN_OK;
}

static stn_status make_jobs(build *b, stn_error *error) {
    STN_TRY(cli_problem_list_read(b->options->problems, kinds, &b->problems, error));
    b->jobs = calloc(b->problems.count, sizeof *b->jobs);
    if (!b->jobs) return stn_fail_memory(error, "the problems", b->problems.count * sizeof *b->jobs);
    for (size_t i = 0; i < b->problems.count; i++) {
        stn_error why = {0};
        const cli_listed_problem *problem = &b->problems.list[i];
        b->jobs[i] = calloc(1, problem->kind->job_size);
        if (!b->jobs[i]) return stn_fail_memory(error, "a problem of the list", problem->kind->job_size);
        stn_status status = problem->kind->make(problem->value, b->jobs[i], &why);
        if (status != STN_OK)
            return stn_fail(error, status, "'%s': problem %zu (%s): %s", b->options->problems, i, problem->label,
                            why.message);
    }
    return STN_OK;
}

static void free_jobs(build *b) {
    for (size_t i = 0; b->jobs && i < b->problems.count; i++) {
        const cli_listed_kind *kind = b->problems.list[i].kind;
        if (b->jobs[i] && kind->clear) kind->clear(b->jobs[i]);
        free(b->jobs[i]);
    }
    free(b->jobs);
}

static stn_status open_contexts(build *b, const cli_report_settings *report, stn_error *error) {
    int newest = 0;
    STN_TRY(stn_pack_writer_create(&b->writer, error));
    for (size_t i = 0; i < b->arch_count; i++) {
        cli_device_settings settings = {.arch = b->archs[i], .cache_dir = b->options->cache_dir};
        memcpy(settings.packs, b->options->packs, sizeof settings.packs);
        STN_TRY(cli_open_context(&settings, report, &b->contexts[i], error));
        stn_cache_record(b->contexts[i]->cache, b->writer);
        if (b->contexts[i]->machine.sm > newest) newest = b->contexts[i]->machine.sm;
    }
    if (!b->options->all_ptx) stn_pack_writer_keep_ptx(b->writer, newest);
    return STN_OK;
}

static void record_failure(build *b, size_t problem, size_t arch, stn_status status, const stn_error *why) {
    pthread_mutex_lock(&b->lock);
    if (!atomic_exchange(&b->failed, true))
        (void)stn_fail(&b->error, status, "'%s': problem %zu (%s) for %s: %s", b->options->problems, problem,
                       b->problems.list[problem].label, b->archs[arch], why->message);
    pthread_mutex_unlock(&b->lock);
}

/* Adds the generic kernels, so that a user of the pack compiles nothing before a first result. Only
 * lists with stencils that may use any strategy need them. */
static stn_status add_generics(build *b, stn_error *error) {
    bool needed = false;
    for (size_t i = 0; i < b->problems.count; i++)
        needed = needed || (b->problems.list[i].kind == &cli_listed_stencil && !b->problems.list[i].strategy);
    for (size_t i = 0; i < b->arch_count && needed; i++) STN_TRY(cli_make_generic_kernels(b->contexts[i], true, error));
    return STN_OK;
}

/* Processes the queue until it is empty. progress: NULL if this thread shows none. */
static void process_items(build *b, cli_progress *progress) {
    size_t item, count = b->problems.count * b->arch_count;
    while (!atomic_load(&b->failed) && (item = atomic_fetch_add(&b->next, 1)) < count) {
        if (progress) (void)cli_progress_update(progress, item, count);
        size_t problem = item / b->arch_count, arch = item % b->arch_count;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *plan = NULL;
        stn_error why = {0};
        const cli_listed_problem *listed = &b->problems.list[problem];
        options.strategy = listed->strategy;
        options.no_auto_workspace = 1; /* nothing is executed */
        stn_status status = listed->kind->plan(b->jobs[problem], b->contexts[arch], &options, &plan, &why);
        if (status != STN_OK) record_failure(b, problem, arch, status, &why);
        stn_plan_destroy(plan);
    }
}

static void *thread_main(void *user) {
    process_items(user, NULL);
    return NULL;
}

static size_t allowed_threads(uint64_t requested, size_t items) {
    cpu_set_t set;
    size_t count = requested ? (size_t)requested : sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
    if (count > MAX_THREADS) count = MAX_THREADS;
    return count < items ? count : items;
}

/* Processes the queue on several threads, of which this one is one, so that it ends even if no
 * other can be started. */
static size_t process_queue(build *b, bool show) {
    pthread_t threads[MAX_THREADS];
    size_t started = 0, count = allowed_threads(b->options->threads, b->problems.count * b->arch_count);
    while (started + 1 < count && !pthread_create(&threads[started], NULL, thread_main, b)) started++;
    cli_progress progress;
    cli_progress_start(&progress, show);
    process_items(b, show ? &progress : NULL);
    cli_progress_end(&progress);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return started + 1;
}

static void add_stats(build *b, stn_cache_stats *sum) {
    for (size_t i = 0; i < b->arch_count; i++) {
        stn_cache_stats one;
        stn_context_cache_stats(b->contexts[i], &one);
        sum->memory_hits += one.memory_hits;
        sum->pack_hits += one.pack_hits;
        sum->disk_hits += one.disk_hits;
        sum->misses += one.misses;
        sum->rejected += one.rejected;
        sum->bytes_read += one.bytes_read;
        sum->bytes_written += one.bytes_written;
        sum->compile_seconds += one.compile_seconds;
        sum->load_seconds += one.load_seconds;
    }
}

stn_status cli_pack_build(const cli_pack_options *options, const cli_report_settings *report, cli_pack_result *result,
                          stn_error *error) {
    build b = {.options = options};
    stn_status status;
    void *pack = NULL;
    double start = stn_clock_seconds();
    *result = (cli_pack_result){0};
    pthread_mutex_init(&b.lock, NULL);
    if (stn_output_path_same(options->out, options->problems)) {
        status =
            stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "-o '%s' would overwrite the list of problems", options->out);
        goto done;
    }
    /* Fails now rather than after minutes of compiling. */
    STN_TRY_GOTO(status, stn_output_probe(options->out, error), done);
    STN_TRY_GOTO(status, split_archs(&b, error), done);
    STN_TRY_GOTO(status, make_jobs(&b, error), done);
    STN_TRY_GOTO(status, open_contexts(&b, report, error), done);
    result->threads = process_queue(&b, !report->quiet && !report->json && isatty(STDERR_FILENO));
    if (b.failed) {
        if (error) *error = b.error;
        status = b.error.status;
        goto done;
    }
    STN_TRY_GOTO(status, add_generics(&b, error), done);
    result->kernels = stn_pack_writer_count(b.writer);
    if (!result->kernels) {
        status = stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the problems of '%s' need no kernels: there is no pack",
                          options->problems);
        goto done;
    }
    STN_TRY_GOTO(status, stn_pack_finish(b.writer, &pack, &result->bytes, error), done);
    STN_TRY_GOTO(status, stn_output_write(options->out, pack, result->bytes, error), done);
    result->problems = b.problems.count;
    result->archs = b.arch_count;
    add_stats(&b, &result->stats);
    result->seconds = stn_clock_seconds() - start;
done:
    free(pack);
    for (size_t i = 0; i < b.arch_count; i++) stn_context_destroy(b.contexts[i]);
    stn_pack_writer_destroy(b.writer);
    free_jobs(&b);
    cli_problem_list_clear(&b.problems);
    pthread_mutex_destroy(&b.lock);
    return status;
}
