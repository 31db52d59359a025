/* Timing trials of single candidates; see timing_trial.h. A trial runs a few launches. Its time is
 * multiplied by the estimate of the whole run divided by the estimate of the trial. */
#include "tune/timing_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "tune/compare_results.h"

#define TRIAL_SECONDS 1e-3
/* If a run takes fewer seconds, an untimed run precedes the first sample of a round. */
#define LEAD_RUN_BELOW 2e-3
enum { MIN_LAUNCHES = 2, MAX_LAUNCHES = 8, MAX_REPEATS = 4096 };
enum { SEED = 2025 };

/* Mirrors the kernel's argument struct. */
typedef struct fill_arguments {
    void *out;
    int64_t count;
    uint64_t seed;
    double low, high;
    int64_t half_row, half_last;
} fill_arguments;

/* ---- candidates ------------------------------------------------------------------------------ */

size_t tune_select(const stn_plan *plan, const stn_strategy *except, double first_limit, double other_limit,
                   size_t most, const stn_ranked **rows, size_t *first_part) {
    size_t count = 0;
    for (int others = 0; others < 2; others++) {
        *first_part = count;
        for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies && count < most; i++) {
            const stn_ranked *row = &plan->ranking[i];
            bool first = i == 0 || row->strategy != except, listed = false;
            for (size_t k = 0; k < count; k++) {
                first = first && rows[k]->strategy != row->strategy;
                listed = listed || rows[k] == row;
            }
            const double limit = (others ? other_limit : first_limit) * plan->ranking[0].estimate.seconds;
            if ((others || first) && !listed && row->estimate.seconds <= limit) rows[count++] = row;
        }
    }
    return count;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Fills with numbers between `low` and `high`. The input of a transform to real numbers is a
 * Hermitian spectrum, since the result is undefined for any other input. */
static stn_status fill(const tune_stage *stage, uint64_t seed, void *grid, int64_t numbers, double low, double high,
                       stn_error *error) {
    const bool input = seed == SEED;
    fill_arguments arguments = {
        grid, numbers, seed, low, high, input ? stage->shape.half_row : 0, input ? stage->shape.half_last : 0};
    return stn_kernel_launch(stage->fill, tune_blocks(numbers), TUNE_THREADS, 0, &arguments, stage->stream, error);
}

/* In place: the array holds the input before a run. */
static stn_status fill_in_place(const tune_stage *stage, void *grid, stn_error *error) {
    return fill(stage, SEED, grid, stage->shape.out_numbers, -1, 1, error);
}

/* Allocates an array, and fills it with random numbers if a seed is given. */
static stn_status open_array(const tune_stage *stage, int64_t numbers, uint64_t seed, void **array, stn_error *error) {
    if (!numbers) return STN_OK;
    STN_TRY(stn_memory_alloc(stage->context, (size_t)numbers * stn_dtype_size(stage->shape.dtype), array, error));
    return seed ? fill(stage, seed, *array, numbers, -1, 1, error) : STN_OK;
}

/* Operands that are written have a second array, for the reference result. */
static stn_status open_operands(tune_stage *stage, stn_error *error) {
    const stn_kind *kind = stage->plan->kind;
    if (kind->operands) kind->operands(stage->plan, stage->operand_numbers);
    for (int i = 0; i < STN_OPERANDS; i++) {
        const int64_t numbers = stage->operand_numbers[i];
        const bool written = stn_operand_is_written(i);
        STN_TRY(open_array(stage, numbers, written ? 0 : SEED + 1 + (uint64_t)i, &stage->operand[i], error));
        if (written) STN_TRY(open_array(stage, numbers, 0, &stage->reference_operand[i], error));
    }
    return STN_OK;
}

static uint64_t steps_of(const stn_plan *plan) { return plan->kind->shape(plan).steps; }

static stn_status find_reference_candidate(tune_stage *stage, stn_error *error) {
    return stage->plan->kind->reference_candidate(stage->plan, &stage->reference_index, &stage->reference_strategy,
                                                  &stage->reference_candidate, error);
}

/* Numbers to write to flush the L2 cache: twice its size. */
static int64_t flush_numbers(const tune_stage *stage) {
    return (int64_t)(2 * stage->context->machine.l2_bytes / stn_dtype_size(stage->shape.dtype));
}

/* Rescales the plan's taps if its values would overflow, since those cannot be compared. */
static stn_status rescale(tune_stage *stage, stn_error *error) {
    const stn_plan *plan = stage->plan;
    if (!plan->kind->rescale_for_timing) return STN_OK;
    STN_TRY(stn_plan_copy(plan, plan->kind, stn_plan_work(plan), stage->shape.steps, &stage->rescaled, error));
    plan->kind->rescale_for_timing(stage->rescaled);
    stage->rescaled->cold = plan->cold;
    stage->plan = stage->rescaled;
    return STN_OK;
}

stn_status tune_stage_kernels(tune_stage *stage, stn_compile_batch *batch, stn_error *error) {
    stage->kernels.batch = batch;
    stn_status status = tune_kernel(&stage->kernels, stage->shape.dtype, "tune_fill", &stage->fill, error);
    if (status == STN_OK)
        status = tune_kernel(&stage->kernels, stage->shape.dtype, "tune_compare", &stage->compare, error);
    stage->kernels.batch = NULL;
    return status;
}

static stn_status open_stage(tune_stage *stage, stn_error *error) {
    stn_context *context = stage->context;
    STN_TRY(rescale(stage, error));
    STN_TRY(find_reference_candidate(stage, error));
    STN_TRY(tune_stage_kernels(stage, NULL, error));
    STN_TRY(stn_timer_create(context->device, &stage->timer, error));
    STN_TRY(stn_memory_alloc(context, TUNE_SUMS_BYTES, &stage->sums, error));
    STN_TRY(open_array(stage, stage->shape.out_numbers, 0, &stage->out, error));
    STN_TRY(open_array(stage, stage->shape.out_numbers, 0, &stage->reference, error));
    STN_TRY(open_operands(stage, error));
    STN_TRY(open_array(stage, stage->shape.source_numbers, SEED + 1 + STN_OPERANDS, &stage->source, error));
    if (stage->plan->cold) STN_TRY(open_array(stage, flush_numbers(stage), 0, &stage->flush, error));
    return stage->shape.in_place ? STN_OK : open_array(stage, stage->shape.in_numbers, SEED, &stage->in, error);
}

stn_status tune_stage_open(const stn_plan *plan, tune_stage *stage, stn_error *error) {
    *stage = (tune_stage){
        .context = plan->context, .plan = plan, .kernels.context = plan->context, .shape = plan->kind->shape(plan)};
    stn_status status = open_stage(stage, error);
    if (status != STN_OK) tune_stage_close(stage);
    return status;
}

void tune_stage_close(tune_stage *stage) {
    void *const memory[] = {stage->in,    stage->out,       stage->reference, stage->sums,
                            stage->flush, stage->workspace, stage->source};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) stn_memory_free(stage->context, memory[i]);
    for (int i = 0; i < STN_OPERANDS; i++) {
        stn_memory_free(stage->context, stage->operand[i]);
        stn_memory_free(stage->context, stage->reference_operand[i]);
    }
    stn_timer_destroy(stage->timer);
    stn_plan_destroy(stage->rescaled);
    stn_kernel_set_clear(&stage->kernels);
    *stage = (tune_stage){0};
}

/* ---- running a plan -------------------------------------------------------------------------- */

static stn_status grow_workspace(tune_stage *stage, const stn_plan *plan, stn_error *error) {
    if (plan->workspace_size <= stage->workspace_size) return STN_OK;
    stn_memory_free(stage->context, stage->workspace); /* No work on it is pending. */
    stage->workspace = NULL;
    stage->workspace_size = 0;
    STN_TRY(stn_memory_alloc(stage->context, plan->workspace_size, &stage->workspace, error));
    stage->workspace_size = plan->workspace_size;
    return STN_OK;
}

/* Written operands go to `written`. */
static stn_status run_plan(const tune_stage *stage, stn_plan *plan, const void *in, void *out, void *const *written,
                           stn_error *error) {
    const stn_execution run = {.struct_size = sizeof run,
                               .in = in,
                               .out = out,
                               .source = stage->source,
                               .workspace = stage->workspace,
                               .stream = stage->stream,
                               .weights = stage->operand[STN_OPERAND_WEIGHTS],
                               .bias = stage->operand[STN_OPERAND_BIAS],
                               .skip = stage->operand[STN_OPERAND_SKIP],
                               .gradient = stage->operand[STN_OPERAND_GRADIENT],
                               .bias_gradient = written[STN_OPERAND_BIAS_GRADIENT],
                               .skip_gradient = written[STN_OPERAND_SKIP_GRADIENT]};
    return plan->online ? stn_plan_run_whole(plan, &run, error) : stn_plan_run(plan, &run, error);
}

/* Fills the output and the written operands with NaN (in place: with the random input), runs the
 * plan into them, and times it. */
static stn_status run_fresh(const tune_stage *stage, stn_plan *plan, void *to, void *const *written, stn_error *error) {
    const bool same = stage->shape.in_place;
    STN_TRY(same ? fill_in_place(stage, to, error) : fill(stage, 0, to, stage->shape.out_numbers, NAN, NAN, error));
    for (int i = 0; i < STN_OPERANDS; i++)
        if (stn_operand_is_written(i) && written[i])
            STN_TRY(fill(stage, 0, written[i], stage->operand_numbers[i], NAN, NAN, error));
    STN_TRY(stn_timer_start(stage->timer, stage->stream, error));
    STN_TRY(run_plan(stage, plan, same ? to : stage->in, to, written, error));
    return stn_timer_mark(stage->timer, stage->stream, error);
}

static stn_status run_reference_candidate(tune_stage *stage, uint64_t steps, stn_error *error) {
    stn_plan *plan;
    stage->reference_steps = 0;
    STN_TRY(
        stn_plan_build(stage->plan, steps, stage->reference_strategy, &stage->reference_candidate, NULL, &plan, error));
    stn_status status = grow_workspace(stage, plan, error);
    if (status == STN_OK) status = run_fresh(stage, plan, stage->reference, stage->reference_operand, error);
    /* The run must end before the plan's tables are freed. */
    if (status == STN_OK) status = stn_synchronize(stage->context, NULL, error);
    stn_plan_destroy(plan);
    if (status == STN_OK) stage->reference_steps = steps;
    return status;
}

static stn_status run_reference_or_next(tune_stage *stage, uint64_t steps, stn_error *error) {
    stn_status status = run_reference_candidate(stage, steps, error);
    tune_stage next = *stage;
    next.reference_index++;
    if (status == STN_OK || find_reference_candidate(&next, NULL) != STN_OK) return status;
    *stage = next;
    return run_reference_candidate(stage, steps, error);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The largest difference over everything that is written; NaN stays NaN. */
static stn_status compare(const tune_stage *stage, double *difference, stn_error *error) {
    double each;
    STN_TRY(tune_compare(stage->context, stage->compare, stage->out, stage->reference, stage->sums,
                         stage->shape.out_numbers, stage->stream, difference, error));
    for (int i = 0; i < STN_OPERANDS; i++) {
        if (!stage->reference_operand[i]) continue;
        STN_TRY(tune_compare(stage->context, stage->compare, stage->operand[i], stage->reference_operand[i],
                             stage->sums, stage->operand_numbers[i], stage->stream, &each, error));
        if (!isnan(*difference) && !(each <= *difference)) *difference = each;
    }
    return STN_OK;
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* Returns the number of steps of the trial, sets the candidate for so many steps and the estimate
 * of the whole run. */
static uint64_t shorten(const stn_plan *plan, const tune_trial *trial, stn_candidate *candidate, stn_estimate *whole) {
    const stn_strategy *strategy = trial->strategy;
    *candidate = trial->candidate;
    *whole = (stn_estimate){0};
    plan->kind->estimate(plan, strategy, candidate, whole);
    if (trial->whole || !strategy->shorten) return steps_of(plan);
    /* Few launches suffice, because short trials are repeated. */
    const double one = whole->seconds / fmax(whole->launches, 1);
    const uint64_t launches = (uint64_t)fmin(fmax(TRIAL_SECONDS / one, MIN_LAUNCHES), MAX_LAUNCHES);
    return strategy->shorten(&plan->task, &trial->candidate, launches, candidate);
}

uint64_t tune_trial_steps(const stn_plan *plan, const tune_trial *trial) {
    stn_candidate unused;
    stn_estimate whole;
    return shorten(plan, trial, &unused, &whole);
}

void tune_trial_build(const stn_plan *plan, tune_trial *trial) {
    const stn_strategy *strategy = trial->strategy;
    const stn_compile_batch *compiled = trial->missing;
    stn_candidate candidate;
    stn_estimate whole;
    if (trial->plan || trial->state != TUNE_NEW) return;
    const uint64_t all = steps_of(plan), steps = shorten(plan, trial, &candidate, &whole);
    stn_compile_batch *missing = stn_compile_batch_create(plan->context);
    if (!compiled || stn_compile_batch_result(compiled, &trial->why) == STN_OK)
        stn_plan_build(plan, steps, strategy, &candidate, missing, &trial->plan, &trial->why);
    if (trial->plan) trial->workspace = trial->plan->workspace_size;
    if (missing && missing->count) { /* It was built with placeholders of kernels. */
        stn_plan_destroy(trial->plan);
        trial->plan = NULL;
        if (!compiled) {
            trial->missing = missing;
            trial->why = (stn_error){0};
            return;
        }
        stn_fail(&trial->why, STN_ERROR_UNSUPPORTED, "its kernels were not compiled");
    }
    stn_compile_batch_free(missing);
    if (trial->plan)
        trial->scale = steps == all ? 1 : whole.seconds / trial->plan->estimate.seconds;
    else
        trial->state = TUNE_SKIPPED;
}

static stn_status check(tune_stage *stage, tune_trial *trial, double *difference, stn_error *error) {
    uint64_t steps = steps_of(trial->plan);
    if (stage->reference_steps != steps) STN_TRY(run_reference_or_next(stage, steps, error));
    STN_TRY(grow_workspace(stage, trial->plan, error));
    STN_TRY(run_fresh(stage, trial->plan, stage->out, stage->operand, error));
    STN_TRY(compare(stage, difference, error));
    return stn_timer_read(stage->timer, &trial->run_seconds, error);
}

void tune_trial_lengthen(tune_trial *trial, double seconds) {
    double repeats = seconds / fmax(trial->run_seconds, 1e-9);
    trial->runs_per_sample = repeats >= MAX_REPEATS ? MAX_REPEATS : repeats > 1 ? (int)repeats : 1;
}

void tune_trial_check(tune_stage *stage, tune_trial *trial, double *difference) {
    *difference = NAN;
    if (trial->state != TUNE_NEW) return;
    if (check(stage, trial, difference, &trial->why) != STN_OK)
        trial->state = TUNE_SKIPPED;
    else
        trial->state = *difference <= stage->plan->kind->allowed_difference(stage->plan, steps_of(trial->plan))
                           ? TUNE_GOOD
                           : TUNE_WRONG;
}

/* Enqueues the runs of a sample between two events. lead_run: an untimed run of the trial precedes
 * them. On an idle stream the first event would be recorded at once, and the sample would include
 * the CPU's time to launch the first run. */
static stn_status start(tune_stage *stage, const tune_trial *trial, bool lead_run, stn_timer *timer, stn_error *error) {
    const void *in = stage->in ? stage->in : stage->out; /* in place */
    /* Keeps the values from decaying to zero. */
    if (stage->shape.in_place) STN_TRY(fill_in_place(stage, stage->out, error));
    if (stage->flush) STN_TRY(fill(stage, 0, stage->flush, flush_numbers(stage), 0, 1, error));
    if (lead_run) STN_TRY(run_plan(stage, trial->plan, in, stage->out, stage->operand, error));
    STN_TRY(stn_timer_start(timer, stage->stream, error));
    for (int i = 0; i < trial->runs_per_sample; i++)
        STN_TRY(run_plan(stage, trial->plan, in, stage->out, stage->operand, error));
    return stn_timer_mark(timer, stage->stream, error);
}

static void start_sample(tune_stage *stage, tune_trial *trial, bool lead_run, stn_timer *timer) {
    if (trial->state != TUNE_GOOD || trial->count == TUNE_SAMPLES) return;
    /* A second run would find the grids of the first one in the cache. */
    if (stage->flush) trial->runs_per_sample = 1, lead_run = false;
    if (start(stage, trial, lead_run && trial->run_seconds < LEAD_RUN_BELOW, timer, &trial->why) != STN_OK)
        trial->state = TUNE_SKIPPED;
}

static void take_sample(tune_trial *trial, stn_timer *timer) {
    double seconds;
    if (trial->state != TUNE_GOOD || trial->count == TUNE_SAMPLES) return;
    if (stn_timer_read(timer, &seconds, &trial->why) != STN_OK || !(seconds > 0))
        trial->state = TUNE_SKIPPED;
    else
        trial->samples[trial->count++] = seconds * trial->scale / trial->runs_per_sample;
}

void tune_time_alternately(tune_stage *stage, tune_trial *const *trials, size_t count, int rounds, double deadline) {
    stn_timer *timers[TUNE_ALTERNATE] = {stage->timer};
    bool timed = true;
    for (size_t i = 1; i < count; i++)
        timed = stn_timer_create(stage->context->device, &timers[i], NULL) == STN_OK && timed;
    for (int round = 0; timed && round < rounds && (!round || stn_clock_seconds() < deadline); round++) {
        for (size_t i = 0; i < count; i++) start_sample(stage, trials[i], !i, timers[i]);
        for (size_t i = 0; i < count; i++) take_sample(trials[i], timers[i]);
    }
    for (size_t i = 1; i < count; i++) stn_timer_destroy(timers[i]);
}

void tune_trial_time_once(tune_stage *stage, tune_trial *trial) {
    tune_trial_lengthen(trial, 0);
    tune_time_alternately(stage, &trial, 1, 1, INFINITY);
    if (trial->count) trial->run_seconds = trial->samples[0] / trial->scale, trial->count = 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tune_trial_median(const tune_trial *trial) {
    double sorted[TUNE_SAMPLES];
    const size_t count = trial->count;
    if (!count) return INFINITY;
    memcpy(sorted, trial->samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double tune_trial_least(const tune_trial *trial) {
    double least = INFINITY;
    for (size_t i = 0; i < trial->count; i++) least = fmin(least, trial->samples[i]);
    return least;
}

void tune_record_trials(const tune_trial *trials, size_t count, tune_records *records) {
    for (const tune_trial *each = trials; each < trials + count; each++) {
        const bool measured = each->state == TUNE_GOOD && each->count;
        if (measured || each->state == TUNE_WRONG)
            tune_record_set(records, each->strategy->name, &each->candidate, measured ? tune_trial_median(each) : 0);
    }
}

void tune_log_trial(const stn_plan *plan, const tune_trial *trial, double difference) {
    const stn_logger *logger = &plan->context->logger;
    const char *strategy = trial->strategy->name;
    stn_text name = STN_TEXT_EMPTY;
    char *words = NULL;
    if (trial->strategy->name_candidate) trial->strategy->name_candidate(&plan->task, &trial->candidate, &name);
    if (stn_text_take(&name, &words, NULL) != STN_OK) return;
    if (trial->state == TUNE_WRONG)
        stn_log(
            logger, STN_LOG_WARNING,
            "strategy %s (%s) gives a wrong result on this GPU (relative L2 difference %.3g) and is not used: please "
            "report this",
            strategy, words, difference);
    else if (trial->state == TUNE_SKIPPED)
        stn_log(logger, STN_LOG_INFO, "strategy %s (%s) could not be measured: %s", strategy, words,
                trial->why.message);
    else
        stn_log(logger, STN_LOG_DEBUG, "strategy %s (%s): %.6g s predicted, %.6g s measured", strategy, words,
                trial->predicted, tune_trial_median(trial));
    stn_text_free(words);
}

void tune_trial_clear(tune_trial *trial) {
    stn_plan_destroy(trial->plan);
    stn_compile_batch_free(trial->missing);
    trial->plan = NULL;
    trial->missing = NULL;
}
