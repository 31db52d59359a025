/* See tune_precompile.h: a compile thread that stays a bounded number of problems ahead of the
 * measurements. */
#include "cli/tune_precompile.h"

#include <pthread.h>
#include <stdlib.h>

#include "context/compile_batch.h"
#include "context/context.h"

enum {
    SPARE_PROCESSORS = 2, /* processors left to the measuring thread, if there are twice as many */
    /* The thread is at most this many problems ahead, because a full cache folder removes its
     * oldest entries, perhaps before they are used. */
    MAX_AHEAD = 6
};

struct cli_tune_precompile {
    const cli_listed_problem *const *problems;
    size_t count;
    stn_context *context; /* owned: the same GPU, treated as absent */
    stn_plan_options options;
    tune_request order;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t more;
    size_t done, requested; /* number of compiled problems; index of the one that is waited for */
    bool stop;
};

/* Failures are ignored: they occur again, with their message, when the problem is measured. */
static void compile_one(const cli_tune_precompile *ahead, const cli_listed_problem *problem) {
    stn_plan_options options = ahead->options;
    stn_plan *plan = NULL;
    void *job = calloc(1, problem->kind->job_size);
    if (problem->strategy) options.strategy = problem->strategy;
    if (job && problem->kind->make(problem->value, job, NULL) == STN_OK &&
        problem->kind->plan(job, ahead->context, &options, &plan, NULL) == STN_OK)
        tune_compile(plan, options.strategy, &ahead->order);
    stn_plan_destroy(plan);
    if (job && problem->kind->clear) problem->kind->clear(job);
    free(job);
}

/* Waits while the thread is MAX_AHEAD problems ahead. Returns false if the thread must end. */
static bool wait_for_turn(cli_tune_precompile *ahead) {
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop && ahead->done >= ahead->requested + MAX_AHEAD) pthread_cond_wait(&ahead->more, &ahead->lock);
    const bool stop = ahead->stop;
    pthread_mutex_unlock(&ahead->lock);
    return !stop;
}

static void *compile_all(void *user) {
    cli_tune_precompile *ahead = user;
    for (size_t i = 0; i < ahead->count && wait_for_turn(ahead); i++) {
        compile_one(ahead, ahead->problems[i]);
        pthread_mutex_lock(&ahead->lock);
        ahead->done = i + 1;
        pthread_cond_broadcast(&ahead->more);
        pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

/* Opens a context that compiles for the GPU without using it, with the present GPU's machine
 * description so that it ranks the same candidates. */
static stn_context *open_absent(const stn_context *like, const cli_device_settings *device) {
    static const cli_report_settings silent = {.quiet = true};
    cli_device_settings settings = *device;
    stn_context *context;
    const int threads = stn_compile_threads(like);
    settings.arch = like->machine.arch;
    settings.device = settings.strategy = NULL;
    settings.threads = (uint64_t)(threads >= 2 * SPARE_PROCESSORS ? threads - SPARE_PROCESSORS : threads);
    if (cli_open_context(&settings, &silent, &context, NULL) != STN_OK) return NULL;
    stn_search_cache *const own = context->machine.searches; /* results belong to one context */
    context->machine = like->machine;
    context->machine.searches = own;
    context->machine.present = false;
    return context;
}

cli_tune_precompile *cli_tune_precompile_begin(const cli_listed_problem *const *problems, size_t count,
                                               stn_context *context, const cli_device_settings *device,
                                               const stn_plan_options *options, const tune_request *order) {
    if (!context->device || !context->cache->folder.path) return NULL;
    cli_tune_precompile *ahead = calloc(1, sizeof *ahead);
    if (!ahead) return NULL;
    *ahead = (cli_tune_precompile){.problems = problems, .count = count, .options = *options, .order = *order};
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->more, NULL);
    ahead->context = open_absent(context, device);
    if (ahead->context && !pthread_create(&ahead->thread, NULL, compile_all, ahead)) return ahead;
    stn_context_destroy(ahead->context);
    free(ahead);
    return NULL;
}

void cli_tune_precompile_wait(cli_tune_precompile *ahead, size_t i) {
    if (!ahead) return;
    pthread_mutex_lock(&ahead->lock);
    ahead->requested = i;
    pthread_cond_broadcast(&ahead->more);
    while (ahead->done <= i) pthread_cond_wait(&ahead->more, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
}

void cli_tune_precompile_end(cli_tune_precompile *ahead) {
    if (!ahead) return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_broadcast(&ahead->more);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    stn_context_destroy(ahead->context);
    pthread_cond_destroy(&ahead->more);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
