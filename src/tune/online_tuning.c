/* Online plans: opening, executing one part after the other, trials, new weights, description,
 * closing. See online_tuning.h. */
#include "tune/online_tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "tune/compare_results.h"
#include "tune/plan_wisdom.h"

/* Chunks, after which rivals may be tried, are predicted to take at least this many seconds. */
#define CHUNK_SECONDS 2e-3
/* Largest part of device memory for the input, the output and the online workspace together. */
#define MEMORY_PART 0.6
enum { MIN_CHUNKS = 8, MAX_CHUNKS = 1024, ALIGNMENT = 256 };

/* ---- candidates ------------------------------------------------------------------------------ */

/* The work of one part, with the estimates of its candidates. */
static stn_plan *make_part(const stn_plan *plan, uint64_t steps, const char *strategy) {
    stn_plan *part;
    if (stn_plan_copy(plan, plan->kind, stn_plan_work(plan), steps, &part, NULL) != STN_OK) return NULL;
    stn_plan_rank(part, strategy, STN_CANDIDATES);
    return part;
}

/* The seconds of a part by the plan's own candidate. */
static double estimate_part(const stn_plan *plan, const stn_plan *part) {
    stn_estimate one = {0};
    plan->kind->estimate(part, plan->strategy, &plan->candidate, &one);
    return one.seconds;
}

/* The number of chunks that a run of many single steps is divided into: each takes long enough to
 * be timed, and all together at most 1% longer than one run by estimate. 1 for other runs. */
static uint64_t choose_chunks(const stn_plan *plan, const char *strategy, stn_plan **part) {
    const uint64_t steps = plan->kind->shape(plan).steps;
    uint64_t chunks = (uint64_t)fmin(plan->estimate.seconds / CHUNK_SECONDS, MAX_CHUNKS);
    for (; plan->estimate.stepping && chunks >= MIN_CHUNKS; chunks--) {
        if (steps % chunks) continue;
        *part = make_part(plan, steps / chunks, strategy);
        if (*part && estimate_part(plan, *part) * (double)chunks <= 1.01 * plan->estimate.seconds) return chunks;
        stn_plan_destroy(*part);
    }
    *part = make_part(plan, steps, strategy);
    return 1;
}

static void add_trial(stn_online *o, const stn_strategy *strategy, const stn_candidate *candidate, double seconds) {
    o->trials[o->count++] = (tune_trial){
        .strategy = strategy, .candidate = *candidate, .predicted = seconds, .whole = true, .state = TUNE_NEW};
}

/* Adds the plan's own candidate, then rivals: the best of each other strategy, then the next
 * best. */
static void choose_trials(stn_online *o) {
    const stn_plan *plan = o->plan;
    const stn_ranked *rows[2 + TUNE_RIVALS];
    size_t unused;
    const size_t count =
        tune_select(o->one_part, plan->strategy, TUNE_LIKELY, TUNE_LIKELY, 2 + TUNE_RIVALS, rows, &unused);
    o->seconds = estimate_part(plan, o->one_part);
    add_trial(o, plan->strategy, &plan->candidate, o->seconds);
    for (size_t i = 0; i < count && o->count < 1 + TUNE_RIVALS; i++)
        if (rows[i]->strategy != plan->strategy ||
            memcmp(&rows[i]->candidate, &plan->candidate, sizeof plan->candidate))
            add_trial(o, rows[i]->strategy, &rows[i]->candidate, rows[i]->estimate.seconds);
}

/* ---- opening ---------------------------------------------------------------------------------
 * Compiling takes long and needs no device, so a thread does it. Loading modules and allocating
 * memory would break a stream capture or wait for one. Executions know whether their stream is
 * captured, so they build the rivals whose kernels are compiled. */

static void release(stn_online *o) {
    if (o->trials[0].plan == o->plan) o->trials[0].plan = NULL;
    for (size_t i = 0; i < o->count; i++) tune_trial_clear(&o->trials[i]);
    stn_compile_batch_free(o->check_kernels);
    stn_timer_destroy(o->trial_timer);
    tune_stage_close(&o->stage);
    stn_plan_destroy(o->one_part);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* Builds the plan's own candidate (most of its kernels are loaded already), and the rivals whose
 * kernels are stored. */
static bool build_trials(stn_online *o) {
    tune_trial *own = &o->trials[0];
    if (o->chunks > 1) tune_trial_build(o->one_part, own);
    if (own->missing && stn_compile_batch_try(own->missing, NULL) == STN_OK) tune_trial_build(o->one_part, own);
    if (o->chunks == 1) own->plan = o->plan;
    if (!own->plan) return false;
    own->state = TUNE_GOOD;
    own->scale = (double)o->chunks;
    o->candidate_workspace = own->plan->workspace_size;
    for (size_t i = 1; i < o->count; i++) {
        tune_trial_build(o->one_part, &o->trials[i]);
        if (o->trials[i].workspace > o->candidate_workspace) o->candidate_workspace = o->trials[i].workspace;
    }
    return true;
}

/* Starts a thread that compiles the kernels that check results, then those of one rival after the
 * other. */
static void start_compiling(stn_online *o) {
    stn_compile_batch *missing[1 + TUNE_RIVALS];
    o->check_kernels = stn_compile_batch_create(o->plan->context);
    if (!o->check_kernels || tune_stage_kernels(&o->stage, o->check_kernels, NULL) != STN_OK) return;
    missing[0] = o->check_kernels;
    for (size_t i = 1; i < o->count; i++) missing[i] = o->trials[i].missing;
    o->background = stn_background_compile_start(missing, o->count);
}

static bool open_online(stn_online *o, const char *strategy) {
    stn_context *context = o->plan->context;
    o->chunks = choose_chunks(o->plan, strategy, &o->one_part);
    if (!o->one_part) return false;
    choose_trials(o);
    const stn_work_shape shape = o->plan->kind->shape(o->one_part);
    o->stage = (tune_stage){.context = context,
                            .plan = o->one_part,
                            .kernels.context = context,
                            .shape = shape,
                            .reference_steps = shape.steps};
    o->grid = (size_t)stn_round_up(shape.out_numbers * (int64_t)stn_dtype_size(shape.dtype), ALIGNMENT);
    if (!build_trials(o)) return false;
    o->candidate_workspace = (size_t)stn_round_up((int64_t)o->candidate_workspace, ALIGNMENT);
    return (double)o->candidate_workspace + 4.0 * (double)o->grid <=
               MEMORY_PART * (double)o->plan->machine.memory_bytes &&
           stn_timer_create(context->device, &o->stage.timer, NULL) == STN_OK &&
           stn_timer_create(context->device, &o->trial_timer, NULL) == STN_OK &&
           stn_memory_alloc(context, TUNE_SUMS_BYTES, &o->stage.sums, NULL) == STN_OK;
}

void tune_online_open(stn_plan *plan, const char *strategy, double executions) {
    stn_online *o = plan->kind->shape(plan).can_continue ? calloc(1, sizeof *o) : NULL;
    if (!o) return;
    pthread_mutex_init(&o->lock, NULL);
    o->plan = plan;
    o->owner = getpid();
    if (!open_online(o, strategy)) {
        release(o);
        return;
    }
    o->known_parts = executions * (double)o->chunks;
    if (o->chunks > 1 && !(executions > 0)) o->known_parts = (double)o->chunks;
    plan->workspace_size = o->candidate_workspace + o->grid * (o->chunks > 1 ? 2 : 1);
    plan->online = o;
    start_compiling(o);
    o->next = o->background ? 1 : o->count;
}

/* ---- trials ---------------------------------------------------------------------------------- */

static void end_trials(stn_online *o) {
    for (size_t i = 1; i < o->count; i++) stn_compile_batch_cancel(o->trials[i].missing);
    o->next = o->count;
}

/* Whether a part is shorter than a sample. If so, the time of a rival's first run, which may
 * include loading its code, does not tell how often a sample must repeat the part. */
static bool is_shorter_than_sample(const stn_online *o) { return o->seconds < TUNE_SAMPLE_SECONDS; }

/* Upper bound of a trial's seconds, if the rival takes at most TUNE_WORST times its estimate. The
 * terms of the sum are: the rival's first runs; filling and comparing a grid; the rival's first
 * sample; a run and a sample of the current candidate in each round; and the rival's samples in
 * further rounds, which take place only if it was faster than the current candidate. */
static double most_seconds(const stn_online *o, const tune_trial *rival) {
    const double run = TUNE_WORST * rival->predicted, sample = fmax(TUNE_SAMPLE_SECONDS, o->seconds);
    const double compare = TUNE_LOAD_SECONDS + 3 * (double)o->grid / o->plan->machine.copy_bandwidth;
    return (is_shorter_than_sample(o) ? 3 : 1) * run + compare + fmax(TUNE_SAMPLE_SECONDS, run) +
           TUNE_ROUNDS * (o->seconds + sample) + (TUNE_ROUNDS - 1) * sample;
}

static void skip(tune_trial *rival, stn_status status, const char *why) {
    (void)stn_fail(&rival->why, status, "%s", why);
    rival->state = TUNE_SKIPPED;
    stn_plan_destroy(rival->plan);
    rival->plan = NULL;
}

static bool is_compiled(const stn_compile_batch *batch) { return !batch || atomic_load(&batch->finished); }

static bool is_affordable(const stn_online *o, const tune_trial *rival) {
    return o->trial_seconds + most_seconds(o, rival) <= TUNE_SHARE * fmax(o->parts_done, o->known_parts) * o->seconds;
}

/* Builds the rival that is tried after the next part; NULL: none yet, or none any more. */
static tune_trial *next_rival(stn_online *o) {
    for (; o->next < o->count; o->next++) {
        tune_trial *const rival = &o->trials[o->next];
        if (!is_compiled(o->check_kernels) || !is_compiled(rival->missing)) return NULL;
        if (!is_affordable(o, rival)) {
            /* If all known parts are done, the rival waits for more; else it is skipped. */
            if (o->parts_done >= o->known_parts) return NULL;
            continue;
        }
        tune_trial_build(o->one_part, rival);
        if (rival->workspace > o->candidate_workspace)
            skip(rival, STN_ERROR_UNSUPPORTED, "the new weights need a larger workspace than the plan has");
        rival->scale = (double)o->chunks;
        if (rival->plan) return rival;
        tune_log_trial(o->plan, rival, NAN);
    }
    return NULL;
}

/* Is the rival, whose result is right, faster in every round? Both write to the caller's output, as
 * they do later, since addresses may affect the time. */
static bool is_faster(stn_online *o, tune_trial *current, tune_trial *rival) {
    tune_trial *both[] = {current, rival};
    current->count = 0;
    o->stage.out = o->stage.reference;
    if (is_shorter_than_sample(o)) tune_trial_time_once(&o->stage, rival);
    for (int i = 0; i < 2; i++) tune_trial_lengthen(both[i], TUNE_SAMPLE_SECONDS);
    for (size_t round = 0; round < TUNE_ROUNDS; round++) {
        tune_time_alternately(&o->stage, both, 2, 1, INFINITY);
        if (current->count <= round || rival->count <= round) return false; /* not timed */
        if (rival->samples[round] >= TUNE_FASTER * tune_trial_least(current)) return false;
    }
    return true;
}

/* Tries the rival on the part that was just run and timed by stage->timer. */
static stn_status try_rival(stn_online *o, tune_trial *rival, const stn_execution *each, stn_error *error) {
    tune_stage *const stage = &o->stage;
    tune_trial *const current = &o->trials[o->current];
    double difference = NAN, cost;
    stage->in = (void *)(uintptr_t)each->in, stage->reference = each->out;
    stage->out = (char *)each->workspace + o->candidate_workspace;
    stage->workspace = each->workspace, stage->workspace_size = o->candidate_workspace;
    stage->stream = each->stream;
    STN_TRY(stn_timer_read(stage->timer, &current->run_seconds, error));
    o->seconds = current->run_seconds;
    if (!is_affordable(o, rival)) return STN_OK; /* The part takes less than was estimated. */
    o->next++;
    STN_TRY(stn_timer_start(o->trial_timer, each->stream, error));
    tune_trial_check(stage, rival, &difference);
    const bool faster = rival->state == TUNE_GOOD && is_faster(o, current, rival);
    STN_TRY(stn_timer_stop(o->trial_timer, each->stream, &cost, error));
    o->trial_seconds += cost;
    tune_log_trial(o->plan, rival, difference);
    /* One of the two failed, perhaps in a sample, which left the output incomplete. */
    if (rival->state == TUNE_SKIPPED || current->state == TUNE_SKIPPED) {
        current->state = TUNE_GOOD;
        return stn_plan_run_whole(current->plan, each, error);
    }
    if (!faster) return STN_OK;
    stn_log(&o->plan->context->logger, STN_LOG_INFO, "online: strategy %s takes over from %s", rival->strategy->name,
            current->strategy->name);
    o->current = (size_t)(rival - o->trials);
    o->seconds = tune_trial_median(rival) / rival->scale;
    return STN_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status run_part(stn_online *o, const stn_execution *each, stn_error *error) {
    tune_trial *rival = next_rival(o);
    if (rival && tune_stage_kernels(&o->stage, NULL, NULL) != STN_OK) { /* none can be checked */
        end_trials(o);
        rival = NULL;
    }
    if (rival) STN_TRY(stn_timer_start(o->stage.timer, each->stream, error));
    STN_TRY(stn_plan_run_whole(o->trials[o->current].plan, each, error));
    o->parts_done++;
    if (!rival) return STN_OK;
    stn_status status = stn_timer_mark(o->stage.timer, each->stream, error);
    if (status == STN_OK) status = try_rival(o, rival, each, error);
    o->stage.in = o->stage.out = o->stage.reference = o->stage.workspace = NULL; /* the caller's */
    return status;
}

/* The buffer that holds the state after a chunk; after the last chunk it is the output. */
static void *state_after(const stn_online *o, uint64_t chunk, const stn_execution *run) {
    return (o->chunks - 1 - chunk) % 2 ? (char *)run->workspace + o->candidate_workspace + o->grid : run->out;
}

stn_status tune_online_run(stn_plan *plan, stn_part chunks, const stn_execution *run, stn_error *error) {
    stn_online *o = plan->online;
    stn_status status = STN_OK;
    pthread_mutex_lock(&o->lock);
    /* A captured graph keeps its kernels, so the choice is final. */
    if (o->next < o->count && stn_device_capturing(plan->context->device, run->stream)) end_trials(o);
    for (uint64_t chunk = chunks.first; chunk < chunks.first + chunks.count && status == STN_OK; chunk++) {
        stn_execution each = *run;
        each.in = chunk ? state_after(o, chunk - 1, run) : run->in;
        each.out = state_after(o, chunk, run);
        status = run_part(o, &each, error);
        /* Otherwise all chunks would be enqueued before a rival is compiled. */
        if (status == STN_OK && o->chunks > 1 && o->next < o->count)
            status = stn_synchronize(plan->context, run->stream, error);
    }
    pthread_mutex_unlock(&o->lock);
    return status;
}

uint64_t tune_online_chunks(const stn_plan *plan) { return plan->online->chunks; }

const stn_plan *tune_online_current(const stn_plan *plan) { return plan->online->trials[plan->online->current].plan; }

/* ---- closing, and new weights ---------------------------------------------------------------- */

void tune_online_close(stn_plan *plan) {
    stn_online *o = plan->online;
    if (!o) return;
    plan->online = NULL;
    stn_background_compile_end(o->background, true);
    /* Not stored as wrong: NaN in the caller's data, which transforms spread, may be the reason. */
    for (size_t i = 0; i < o->count; i++)
        if (o->trials[i].state == TUNE_WRONG) o->trials[i].state = TUNE_SKIPPED;
    tune_records *records = o->owner == getpid() ? calloc(1, sizeof *records) : NULL;
    if (records) tune_record_trials(o->trials, o->count, records);
    if (records && records->count > 1) tune_remember(plan, records);
    free(records);
    release(o);
}

/* Sets the weights of one_part, from which rivals are built, and of all built plans. A rival that
 * cannot use them is not tried; if it is the current candidate, the plan's own choice replaces
 * it. */
stn_status tune_online_set_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error) {
    stn_online *o = plan->online;
    STN_TRY(stn_task_set_weights(&o->one_part->task, count, weights, error));
    for (size_t i = 0; i < o->count; i++) {
        tune_trial *each = &o->trials[i];
        stn_error why = {0};
        if (!each->plan || each->plan == plan || plan->kind->set_weights(each->plan, count, weights, &why) == STN_OK)
            continue;
        if (i == 0) return stn_fail(error, why.status, "%s", why.message);
        if (o->current == i) o->current = 0;
        skip(each, why.status, why.message);
    }
    return STN_OK;
}

/* ---- description ----------------------------------------------------------------------------- */

void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const stn_online *o = plan->online;
    const tune_trial *current = &o->trials[o->current], *bad = NULL;
    const bool over = o->next == o->count;
    size_t tried = 0, failed = 0;
    for (size_t i = o->count; i-- > 1;) {
        tried += o->trials[i].run_seconds > 0;
        if (o->trials[i].state == TUNE_SKIPPED) failed++, bad = &o->trials[i];
    }
    if (format == STN_JSON) {
        stn_json_open(text, "online", "{");
        stn_json_text(text, "strategy", current->strategy->name);
        stn_json_integer(text, "others", (int64_t)o->count - 1);
        stn_json_integer(text, "tried", (int64_t)tried);
        stn_json_integer(text, "skipped", (int64_t)failed);
        stn_json_text(text, "skipped_because", bad ? bad->why.message : NULL);
        stn_json_integer(text, "chunks", (int64_t)o->chunks);
        stn_json_flag(text, "over", over);
        stn_text_printf(text, "}");
        return;
    }
    stn_text_printf(text, "\nonline:     %s", current->strategy->name);
    if (current->strategy->name_candidate) {
        stn_text_printf(text, ", ");
        current->strategy->name_candidate(&o->one_part->task, &current->candidate, text);
    }
    stn_text_printf(text, " runs; %zu of %zu others tried%s", tried, o->count - 1, over ? ", and no more" : "");
    if (bad) stn_text_printf(text, "; %zu skipped, as %s: %s", failed, bad->strategy->name, bad->why.message);
}
