/* Modes regret and survey of stentor-plans; see plans.c. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "launch/driver.h"
#include "plans.h"
#include "tune/tuner.h"

/* Strategies predicted at more than this many times the choice are not forced. */
#define FORCED 8.0
#define MEASURE_SECONDS 3
#define SAMPLE_SECONDS 4e-3
#define SLOW 1.6 /* a plan whose first time is this many times the best gets no more samples */
enum { MAX_PLANS = 16, MAX_SAMPLES = 7, AHEAD = 48, MAX_THREADS = 128, MAX_DRAWN = 100000, NAME = 400 };

typedef enum state { NEW, REJECTED, READY, TAKEN } state;

typedef struct item {
    state state;
    drawn_problem *problem; /* NULL once it is measured or rejected */
    double predicted;
    size_t strategies;
    const stn_strategy *strategy[MAX_PLANS]; /* the best estimate first */
    double estimate[MAX_PLANS];
} item;

typedef struct session {
    const plans_options *options;
    stn_machine machine; /* of the GPU; `found` is not used */
    bool has_machine;
    const char *folder;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    item *items;
    size_t next, taken; /* the next index to draw; indices below `taken` are measured */
    size_t end;         /* of the indices */
    size_t accepted, drawn;
    bool stop;
} session;

/* ---- threads that draw and compile ----------------------------------------------------------- */

static stn_status open_absent(const session *s, stn_context **context) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    options.cache_dir = s->folder;
    options.arch = s->has_machine ? s->machine.arch : s->options->arch ? s->options->arch : "sm_90";
    STN_TRY(stn_context_create(&options, context, NULL));
    if (s->has_machine) {
        stn_search_cache *const own = (*context)->machine.searches;
        (*context)->machine = s->machine;
        (*context)->machine.searches = own, (*context)->machine.present = false;
    }
    return STN_OK;
}

/* Which strategies to force, the best estimate of each. */
static void list_strategies(const stn_plan *plan, item *it) {
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies; i++) {
        const stn_ranked *row = &plan->ranking[i];
        bool has = row->estimate.seconds > FORCED * plan->estimate.seconds;
        for (size_t k = 0; k < it->strategies; k++) has = has || it->strategy[k] == row->strategy;
        if (has || it->strategies == MAX_PLANS - 2) continue;
        it->estimate[it->strategies] = row->estimate.seconds;
        it->strategy[it->strategies++] = row->strategy;
    }
}

static void compile_all(const session *s, stn_context *context, stn_plan *estimated, const item *it) {
    for (size_t k = 0; k < it->strategies; k++) {
        stn_plan *plan = NULL;
        (void)drawn_problem_plan(context, it->problem, k ? it->strategy[k]->name : NULL, false, &plan, NULL);
        stn_plan_destroy(plan);
    }
    if (!s->options->no_measure)
        tune_compile(estimated, NULL, &(tune_request){.seconds = MEASURE_SECONDS, .without_wisdom = true});
}

static void print_ranking(const drawn_problem *p, const stn_plan *plan, double choosing) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_printf(&text, "{\"label\":");
    stn_json_string(&text, p->label);
    stn_json_key(&text, "choosing"), stn_json_number(&text, choosing);
    stn_json_key(&text, "ranking");
    stn_text_printf(&text, "[");
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies; i++) {
        const stn_ranked *row = &plan->ranking[i];
        stn_text name = STN_TEXT_EMPTY;
        if (row->strategy->name_candidate) row->strategy->name_candidate(&plan->task, &row->candidate, &name);
        stn_text_append(&name, "", 1);
        stn_text_printf(&text, "%s[", i ? "," : "");
        stn_json_string(&text, row->strategy->name);
        stn_text_printf(&text, ",");
        stn_json_string(&text, name.data);
        stn_text_printf(&text, ",%.6g,%.6g]", row->estimate.seconds, stn_estimate_cost(&row->estimate));
        stn_text_clear(&name);
    }
    stn_text_printf(&text, "]}");
    stn_text_append(&text, "", 1);
    if (!text.failed) puts(text.data), fflush(stdout);
    stn_text_clear(&text);
}

/* CPU seconds of this thread. */
static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static size_t end_of(const plans_options *o) {
    size_t pairs = 1;
    for (const char *c = o->only; c && *c; c++) pairs += *c == ',';
    return o->only && pairs < MAX_DRAWN ? pairs : MAX_DRAWN;
}

/* The index-th problem of the seed, or of the list --only. */
static bool draw(const plans_options *o, size_t index, drawn_problem *p) {
    const char *pair = o->only;
    uint64_t seed = o->seed, number = index + (uint64_t)o->first;
    for (size_t i = 0; pair && i < index; i++) pair = (pair = strchr(pair, ',')) ? pair + 1 : "";
    if (pair && sscanf(pair, "%" SCNu64 ":%" SCNu64, &seed, &number) != 2) return false;
    return drawn_problem_make(seed, number, o->small, p);
}

/* Draws a problem; rejects it unless the prediction is in the range; compiles what measuring
 * needs. */
static state prepare(const session *s, stn_context *context, size_t index, item *it) {
    stn_plan *plan = NULL;
    stn_error why = {0};
    it->problem = calloc(1, sizeof *it->problem);
    if (!it->problem || !draw(s->options, index, it->problem)) return REJECTED;
    const double begin = cpu_seconds();
    if (drawn_problem_plan(context, it->problem, NULL, true, &plan, &why) != STN_OK) {
        fprintf(stderr, "%s: no plan: %s\n", it->problem->label, why.message);
        return REJECTED;
    }
    const double choosing = cpu_seconds() - begin;
    it->predicted = plan->estimate.seconds;
    const bool wanted = it->predicted >= s->options->least && it->predicted <= s->options->most;
    if (wanted && !s->has_machine) {
        stn_plan_rank(plan, NULL, STN_CANDIDATES);
        print_ranking(it->problem, plan, choosing);
    } else if (wanted) {
        stn_plan_rank(plan, NULL, STN_CANDIDATES);
        list_strategies(plan, it);
        compile_all(s, context, plan, it);
    }
    stn_plan_destroy(plan);
    return wanted ? READY : REJECTED;
}

static void release(item *it) {
    if (it->problem) drawn_problem_clear(it->problem);
    free(it->problem);
    it->problem = NULL;
}

/* Whether all problems are drawn. */
static bool is_drawn(const session *s) { return s->next == s->end || s->accepted >= (size_t)s->options->count; }

static void *work(void *user) {
    session *s = user;
    stn_context *context = NULL;
    if (open_absent(s, &context) != STN_OK) return NULL;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->stop && s->has_machine && s->next > s->taken + AHEAD) pthread_cond_wait(&s->changed, &s->lock);
        if (s->stop || is_drawn(s)) break;
        const size_t index = s->next++;
        pthread_mutex_unlock(&s->lock);
        item it = {0};
        const state state = prepare(s, context, index, &it);
        if (state == REJECTED || !s->has_machine) release(&it);
        pthread_mutex_lock(&s->lock);
        s->accepted += state == READY, s->drawn++;
        it.state = state;
        s->items[index] = it;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    stn_context_destroy(context);
    return NULL;
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct timed {
    stn_plan *plan;
    char name[NAME];
    double predicted, samples[MAX_SAMPLES];
    int count, repeats;
} timed;

static void name_row(const stn_task *task, const stn_strategy *strategy, const stn_candidate *candidate, char *to,
                     size_t size) {
    stn_text name = STN_TEXT_EMPTY;
    if (strategy->name_candidate) strategy->name_candidate(task, candidate, &name);
    stn_text_append(&name, "", 1);
    snprintf(to, size, "%s: %s", strategy->name, name.failed ? "" : name.data);
    stn_text_clear(&name);
}

/* One sample, behind an untimed run, which also warms up. */
static bool sample(plans_device *d, const drawn_problem *p, timed *t, stn_error *error) {
    double seconds;
    if (plans_enqueue(d, p, t->plan, 1, error) != STN_OK || stn_timer_start(d->machine.timer, NULL, error) != STN_OK ||
        plans_enqueue(d, p, t->plan, (uint64_t)t->repeats, error) != STN_OK ||
        stn_timer_stop(d->machine.timer, NULL, &seconds, error) != STN_OK)
        return false;
    t->samples[t->count++] = seconds / t->repeats;
    return true;
}

static double median_of(const timed *t) {
    double sorted[MAX_SAMPLES];
    memcpy(sorted, t->samples, sizeof sorted);
    return t->count ? bench_median(sorted, t->count) : INFINITY;
}

/* Times the plans alternately. */
static void time_all(plans_device *d, const drawn_problem *p, timed *list, size_t count) {
    double best = INFINITY;
    stn_error why = {0};
    for (size_t i = 0; i < count; i++) {
        timed *t = &list[i];
        t->repeats = 1;
        if (plans_device_workspace(d, t->plan, &why) != STN_OK || !sample(d, p, t, &why)) {
            fprintf(stderr, "%s: %s: %s\n", p->label, t->name, why.message);
            continue;
        }
        best = fmin(best, t->samples[0]);
    }
    const int samples = best > 0.03 ? 3 : MAX_SAMPLES;
    for (size_t i = 0; i < count; i++) {
        timed *t = &list[i];
        if (!t->count || t->samples[0] > SLOW * best + 50e-6) continue;
        t->repeats = (int)fmin(1000, fmax(1, SAMPLE_SECONDS / t->samples[0]));
        t->count = 0;
    }
    for (int round = 0; round < samples; round++)
        for (size_t i = 0; i < count; i++)
            if (list[i].count == round && list[i].repeats && list[i].samples[0] <= SLOW * best + 50e-6)
                (void)sample(d, p, &list[i], &why);
}

/* The choice, each strategy forced, and MEASURE's choice last. */
static size_t make_plans(const session *s, plans_device *d, const item *it, timed *list) {
    size_t count = 0;
    stn_error why = {0};
    for (size_t k = 0; k <= it->strategies; k++) {
        timed *t = &list[count];
        *t = (timed){0};
        if (k == it->strategies) {
            stn_plan_options options = STN_PLAN_OPTIONS_INIT;
            options.mode = STN_MODE_MEASURE, options.tune_seconds = MEASURE_SECONDS, options.no_auto_workspace = 1;
            if (s->options->no_measure) break;
            if (stn_plan_create(d->machine.context, &it->problem->r.problem, &options, &t->plan, &why) != STN_OK)
                t->plan = NULL;
        } else if (drawn_problem_plan(d->machine.context, it->problem, k ? it->strategy[k]->name : NULL, false,
                                      &t->plan, &why) != STN_OK)
            t->plan = NULL;
        if (!t->plan) {
            fprintf(stderr, "%s: %s: %s\n", it->problem->label, k < it->strategies ? it->strategy[k]->name : "MEASURE",
                    why.message);
            if (!k) return 0;
            continue;
        }
        t->predicted = t->plan->estimate.seconds;
        name_row(&t->plan->task, t->plan->strategy, &t->plan->candidate, t->name, sizeof t->name);
        count++;
    }
    return count;
}

/* The candidates that MEASURE timed, by its own times. */
static void print_trials(const stn_plan *plan, stn_text *text) {
    bool any = false;
    stn_text_printf(text, "],\"trials\":[");
    for (size_t i = 0; i < plan->ranked; i++) {
        const stn_ranked *row = &plan->ranking[i];
        char name[NAME];
        if (!(row->measured > 0)) continue;
        name_row(&plan->task, row->strategy, &row->candidate, name, sizeof name);
        stn_text_printf(text, "%s[", any ? "," : "");
        stn_json_string(text, name);
        stn_text_printf(text, ",%.6g,%.6g]", row->estimate.seconds, row->measured);
        any = true;
    }
}

static void measure(const session *s, plans_device *d, const item *it) {
    timed list[MAX_PLANS];
    stn_error why = {0};
    const double begin = bench_now();
    const size_t count = make_plans(s, d, it, list);
    const double made = bench_now();
    if (plans_device_load(d, it->problem, &why) == STN_OK) time_all(d, it->problem, list, count);
    stn_text text = STN_TEXT_EMPTY;
    stn_text_printf(&text, "{\"label\":");
    stn_json_string(&text, it->problem->label);
    stn_text_printf(&text, ",\"made\":%.4g,\"timed\":%.4g,\"measured\":%s,\"plans\":[", made - begin,
                    bench_now() - made, s->options->no_measure ? "false" : "true");
    for (size_t i = 0; i < count; i++) {
        stn_text_printf(&text, "%s[", i ? "," : "");
        stn_json_string(&text, list[i].name);
        stn_text_printf(&text, ",%.6g,", list[i].predicted);
        stn_json_number(&text, median_of(&list[i]));
        stn_text_printf(&text, "]");
    }
    if (count && !s->options->no_measure) print_trials(list[count - 1].plan, &text);
    for (size_t i = 0; i < count; i++) stn_plan_destroy(list[i].plan);
    stn_text_printf(&text, "]}");
    stn_text_append(&text, "", 1);
    if (count && !text.failed) puts(text.data), fflush(stdout);
    stn_text_clear(&text);
}

/* Measures in the order of the draw; waits for the threads where they are behind. */
static void measure_all(session *s, plans_device *d) {
    const double end = bench_now() + s->options->limit;
    size_t done = 0;
    for (size_t i = 0; i < s->end && done < (size_t)s->options->count && bench_now() < end; i++) {
        pthread_mutex_lock(&s->lock);
        while (s->items[i].state == NEW && !(is_drawn(s) && s->next <= i)) pthread_cond_wait(&s->changed, &s->lock);
        const item it = s->items[i];
        s->taken = i;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        if (it.state == NEW) break;
        if (it.state == READY) measure(s, d, &it), done++;
        release(&s->items[i]);
    }
}

stn_status plans_regret(const plans_options *o, stn_error *error) {
    char folder[64];
    session s = {.options = o, .folder = ":memory:"};
    plans_device device = {0};
    stn_status status = STN_OK;
    pthread_t threads[MAX_THREADS];
    int count = 0;
    if (strcmp(o->mode, "survey")) {
        if (!plans_folder_make(folder, sizeof folder)) return stn_fail(error, STN_ERROR_IO, "no temporary folder");
        s.folder = folder;
        STN_TRY_GOTO(status, plans_device_open(folder, &device, error), done);
        s.machine = device.machine.context->machine, s.has_machine = true;
    }
    s.end = end_of(o);
    s.items = calloc(MAX_DRAWN, sizeof *s.items);
    if (!s.items) STN_TRY_GOTO(status, stn_fail_memory(error, "the problems", MAX_DRAWN * sizeof *s.items), done);
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    while (count < MAX_THREADS && count < (int)o->threads && !pthread_create(&threads[count], NULL, work, &s)) count++;
    if (s.has_machine) {
        measure_all(&s, &device);
        pthread_mutex_lock(&s.lock);
        s.stop = true;
        pthread_cond_broadcast(&s.changed);
        pthread_mutex_unlock(&s.lock);
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    fprintf(stderr, "%zu drawn\n", s.drawn);
done:
    for (size_t i = 0; s.items && i < s.next; i++) release(&s.items[i]);
    free(s.items);
    if (s.folder != folder) return status;
    plans_device_close(&device);
    plans_folder_remove(folder);
    return status;
}
