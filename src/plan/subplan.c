/* Plans that a strategy makes for parts of its work: plan.h. */
#include "base/error.h"
#include "context/search_cache.h"
#include "plan/plan.h"

static stn_status build(const stn_plan *parent, const stn_kind *kind, const void *work, uint64_t steps,
                        const char *name, stn_plan **result, stn_error *error) {
    stn_plan *plan;
    *result = NULL;
    STN_TRY(stn_plan_copy(parent, kind, work, steps, &plan, error));
    stn_status status = stn_plan_choose(plan, &(stn_plan_options){.strategy = name}, error);
    if (status == STN_OK) status = stn_plan_prepare(plan, error);
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}

stn_status stn_subplan(const stn_plan *parent, const stn_task *task, const char *name, stn_plan **plan,
                       stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_STENCIL], task, task->steps, name, plan, error);
}

stn_status stn_subplan_fft(const stn_plan *parent, const stn_fft *fft, const char *name, stn_plan **plan,
                           stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_FFT], fft, 1, name, plan, error);
}

stn_status stn_subplan_generic(const stn_plan *parent, const stn_task *task, stn_plan **result, stn_error *error) {
    stn_plan *plan;
    stn_ranked row;
    *result = NULL;
    STN_TRY(stn_plan_copy(parent, stn_kinds[STN_KIND_STENCIL], task, task->steps, &plan, error));
    stn_status status = STN_OK;
    if (stn_plan_generic(plan, &row)) {
        stn_plan_take(plan, &row);
        status = plan->strategy->prepare(plan, error);
    } else
        status =
            stn_fail(error, STN_ERROR_UNSUPPORTED, "no strategy has a kernel for all problems that serves this one");
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}

bool stn_subplan_estimate_generic(const stn_task *task, const stn_machine *machine, stn_estimate *result) {
    const stn_plan plan = {.kind = stn_kinds[STN_KIND_STENCIL], .task = *task, .machine = *machine};
    stn_ranked row;
    if (!stn_plan_generic(&plan, &row)) return false;
    *result = row.estimate;
    return true;
}

/* The plan only borrows its work, so it is never destroyed. */
static bool estimate(stn_plan *plan, const stn_machine *machine, const char *name, stn_estimate *result) {
    plan->machine = *machine;
    stn_plan_rank(plan, name, STN_CANDIDATES);
    if (!plan->ranked || !plan->ranking[0].applies) return false;
    *result = plan->ranking[0].estimate;
    return true;
}

static bool begin_key(const stn_machine *machine, const char *kind, const char *name, stn_key_builder **builder) {
    const int64_t numbers[] = {machine->is_device, machine->present, machine->sm, machine->threads,
                               machine->multiprocessors};
    const double rates[] = {machine->copy_bandwidth, machine->launch_seconds, machine->clock};
    if (stn_key_begin(builder, NULL) != STN_OK) return false;
    stn_key_add_text(*builder, "kind", kind);
    stn_key_add_text(*builder, "strategy", name ? name : "auto");
    stn_key_add(*builder, "machine", numbers, sizeof numbers);
    stn_key_add(*builder, "rates", rates, sizeof rates);
    stn_key_add(*builder, "flops", machine->flops, sizeof machine->flops);
    return true;
}

/* Everything that the estimate of a task depends on. */
static bool key_of(const stn_task *task, const stn_machine *machine, const char *name, stn_key *key) {
    const int64_t numbers[] = {task->rank,
                               task->dtype,
                               task->batch,
                               task->in_batch_stride,
                               task->out_batch_stride,
                               (int64_t)task->steps,
                               (int64_t)task->snapshots,
                               task->snapshot_stride,
                               task->source,
                               task->source_batch_stride,
                               task->sum,
                               task->local,
                               task->in_place,
                               task->alignment,
                               task->pattern};
    double sides[6][2];
    stn_key_builder *builder;
    if (!begin_key(machine, "stencil", name, &builder)) return false;
    for (int side = 0; side < 6; side++) {
        const stn_boundary *b = &task->boundary[side / 2][side % 2];
        sides[side][0] = b->kind, sides[side][1] = b->value;
    }
    stn_key_add(builder, "numbers", numbers, sizeof numbers);
    stn_key_add(builder, "tolerance", &task->tolerance, sizeof task->tolerance);
    stn_key_add(builder, "sides", sides, sizeof sides);
    stn_key_add(builder, "extents", task->n, sizeof task->n);
    stn_key_add(builder, "in", task->in_stride, sizeof task->in_stride);
    stn_key_add(builder, "out", task->out_stride, sizeof task->out_stride);
    stn_key_add(builder, "source", task->source_stride, sizeof task->source_stride);
    stn_key_add(builder, "reach", task->reach, sizeof task->reach);
    stn_key_add(builder, "taps", task->taps, task->ntaps * sizeof *task->taps);
    stn_key_finish(builder, key);
    return true;
}

static bool key_of_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_key *key) {
    const int64_t numbers[] = {fft->kind,     fft->inverse,  fft->rank,
                               fft->dtype,    fft->batch,    fft->in.batch_stride,
                               fft->in_place, fft->in.real,  fft->out.batch_stride,
                               fft->f16_sums, fft->out.real, fft->alignment};
    stn_key_builder *builder;
    if (!begin_key(machine, "transform", name, &builder)) return false;
    stn_key_add(builder, "numbers", numbers, sizeof numbers);
    stn_key_add(builder, "scale", &fft->scale, sizeof fft->scale);
    stn_key_add(builder, "extents", fft->n, sizeof fft->n);
    for (int out = 0; out < 2; out++) {
        const stn_fft_side *side = out ? &fft->out : &fft->in;
        stn_key_add(builder, "elements", side->n, sizeof side->n);
        stn_key_add(builder, "strides", side->stride, sizeof side->stride);
    }
    stn_key_finish(builder, key);
    return true;
}

/* Strategies that divide a run ask for the same parts again, for each of their candidates. key:
 * NULL if the estimate cannot be kept. */
static bool estimate_once(stn_plan *plan, const stn_machine *machine, const char *name, const stn_key *key,
                          stn_estimate *result) {
    struct {
        stn_estimate estimate;
        bool served;
    } known;
    _Static_assert(sizeof known <= STN_SEARCH_CACHE_BYTES, "the cache holds an estimate");
    if (!key || !stn_search_cache_lookup(machine->found, STN_SEARCH_CACHE_SUBPLAN, key, &known, sizeof known)) {
        memset(&known, 0, sizeof known);
        known.served = estimate(plan, machine, name, &known.estimate);
        if (key) stn_search_cache_store(machine->found, STN_SEARCH_CACHE_SUBPLAN, key, &known, sizeof known);
    }
    if (known.served) *result = known.estimate;
    return known.served;
}

bool stn_subplan_estimate(const stn_task *task, const stn_machine *machine, const char *name, stn_estimate *result) {
    stn_plan plan = {.kind = stn_kinds[STN_KIND_STENCIL], .task = *task};
    stn_key key;
    const bool keeps = machine->found && key_of(task, machine, name, &key);
    return estimate_once(&plan, machine, name, keeps ? &key : NULL, result);
}

bool stn_subplan_estimate_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_estimate *result) {
    stn_plan plan = {.kind = stn_kinds[STN_KIND_FFT], .fft = *fft};
    stn_key key;
    const bool keeps = machine->found && key_of_fft(fft, machine, name, &key);
    return estimate_once(&plan, machine, name, keeps ? &key : NULL, result);
}

stn_status stn_subplan_set_weights(stn_plan *plan, const stn_task *from, stn_error *error) {
    for (size_t i = 0; i < plan->task.ntaps; i++) plan->task.taps[i].weight = from->taps[i].weight;
    return plan->strategy->set_weights(plan, error);
}

void stn_subplan_list_kernels(stn_plan *parent, const stn_plan *plan) {
    for (size_t i = 0; i < plan->nkernels; i++) stn_plan_list_kernel(parent, plan->kernels[i]);
}
