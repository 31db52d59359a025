/* Plans that a strategy makes for parts of its work: plan.h. */
#include "base/error.h"
#include "context/search_cache.h"
#include "plan/plan.h"

static bool is_generic(const char *name) { return name && !strcmp(name, STN_GENERIC); }

static stn_status choose(stn_plan *plan, const char *name, stn_error *error) {
    if (!is_generic(name)) {
        STN_TRY(stn_plan_choose(plan, &(stn_plan_options){.strategy = name}, error));
        return stn_plan_prepare(plan, error);
    }
    stn_ranked row;
    if (!stn_plan_generic(plan, &row))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "no strategy has a kernel for all problems that serves this one");
    stn_plan_take(plan, &row);
    return plan->strategy->prepare(plan, error);
}

static stn_status build(const stn_plan *parent, const stn_kind *kind, const void *work, uint64_t steps,
                        const char *name, bool may_be_chunked, stn_plan **result, stn_error *error) {
    stn_plan *plan;
    *result = NULL;
    STN_TRY(stn_plan_copy(parent, kind, work, steps, &plan, error));
    plan->may_be_chunked = may_be_chunked;
    plan->kernels = parent->kernels;
    plan->inner = true;
    stn_status status = choose(plan, name, error);
    if (status == STN_OK)
        *result = plan;
    else
        stn_plan_destroy(plan);
    return status;
}

stn_status stn_subplan(const stn_plan *parent, const stn_task *task, const char *name, stn_plan **plan,
                       stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_STENCIL], task, task->steps, name, false, plan, error);
}

stn_status stn_subplan_repeat(const stn_plan *parent, const stn_task *task, stn_plan **plan, stn_error *error) {
    const stn_kind *kind = stn_kinds[STN_KIND_STENCIL];
    stn_error why = {0};
    stn_status status =
        build(parent, kind, task, task->steps, parent->strategy->name, parent->may_be_chunked, plan, &why);
    if (status == STN_ERROR_UNSUPPORTED) return build(parent, kind, task, task->steps, NULL, false, plan, error);
    return status == STN_OK ? STN_OK : stn_fail(error, status, "%s", why.message);
}

stn_status stn_subplan_fft(const stn_plan *parent, const stn_fft *fft, const char *name, stn_plan **plan,
                           stn_error *error) {
    return build(parent, stn_kinds[STN_KIND_FFT], fft, 1, name, false, plan, error);
}

/* The plan only borrows its work, so it is never destroyed. */
static bool estimate(const stn_kind *kind, const void *work, const stn_machine *machine, const char *name,
                     stn_estimate *result) {
    stn_plan plan = {.kind = kind, .machine = *machine};
    if (kind == stn_kinds[STN_KIND_STENCIL])
        plan.task = *(const stn_task *)work;
    else
        plan.fft = *(const stn_fft *)work;
    if (is_generic(name))
        plan.ranked = stn_plan_generic(&plan, &plan.ranking[0]);
    else
        stn_plan_rank_best(&plan, name);
    if (!plan.ranked || !plan.ranking[0].applies) return false;
    *result = plan.ranking[0].estimate;
    return true;
}

/* Appends everything that estimates depend on besides the work. */
static void put_machine(const stn_machine *machine, const char *name, stn_text *key) {
    const double numbers[] = {machine->is_device, machine->present,         machine->sm,
                              machine->threads,   machine->multiprocessors, machine->copy_bandwidth,
                              machine->clock,     machine->launch_seconds};
    stn_text_append(key, (const char *)numbers, sizeof numbers);
    stn_text_append(key, (const char *)machine->flops, sizeof machine->flops);
    stn_text_printf(key, "%s", name ? name : "auto");
}

static void put_task(const stn_task *task, stn_text *key) {
    const int64_t numbers[] = {STN_KIND_STENCIL,
                               task->rank,
                               task->dtype,
                               task->in_element,
                               task->out_element,
                               task->normalized,
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
                               task->alignment};
    double values[8] = {task->tolerance, task->divisor};
    stn_text_append(key, (const char *)numbers, sizeof numbers);
    for (int side = 0; side < 6; side++) {
        const stn_boundary *b = &task->boundary[side / 2][side % 2];
        stn_text_append(key, (const char *)&b->kind, sizeof b->kind);
        values[2 + side] = b->value;
    }
    stn_text_append(key, (const char *)values, sizeof values);
    stn_text_append(key, (const char *)task->n, sizeof task->n);
    stn_text_append(key, (const char *)task->in_stride, sizeof task->in_stride);
    stn_text_append(key, (const char *)task->out_stride, sizeof task->out_stride);
    stn_text_append(key, (const char *)task->source_stride, sizeof task->source_stride);
    stn_text_append(key, (const char *)task->taps, task->ntaps * sizeof *task->taps);
}

static void put_fft(const stn_fft *fft, stn_text *key) {
    const int64_t numbers[] = {STN_KIND_FFT,  fft->kind,     fft->inverse,         fft->rank,     fft->dtype,
                               fft->batch,    fft->in.real,  fft->in.batch_stride, fft->out.real, fft->out.batch_stride,
                               fft->in_place, fft->f16_sums, fft->alignment};
    stn_text_append(key, (const char *)numbers, sizeof numbers);
    stn_text_append(key, (const char *)&fft->scale, sizeof fft->scale);
    stn_text_append(key, (const char *)fft->n, sizeof fft->n);
    for (int out = 0; out < 2; out++) {
        const stn_fft_side *side = out ? &fft->out : &fft->in;
        stn_text_append(key, (const char *)side->n, sizeof side->n);
        stn_text_append(key, (const char *)side->stride, sizeof side->stride);
    }
}

/* Strategies that divide a run ask for the same parts again, for each of their candidates. */
static bool estimate_once(const stn_kind *kind, const void *work, const stn_machine *machine, const char *name,
                          stn_text *key, stn_estimate *result) {
    struct {
        stn_estimate estimate;
        bool served;
    } known;
    put_machine(machine, name, key);
    stn_search_cache *found = key->failed ? NULL : machine->found;
    if (!stn_search_cache_lookup(found, STN_SEARCH_CACHE_SUBPLAN, key->data, key->size, &known, sizeof known)) {
        memset(&known, 0, sizeof known);
        known.served = estimate(kind, work, machine, name, &known.estimate);
        stn_search_cache_store(found, STN_SEARCH_CACHE_SUBPLAN, key->data, key->size, &known, sizeof known);
    }
    stn_text_clear(key);
    if (known.served) *result = known.estimate;
    return known.served;
}

bool stn_subplan_estimate(const stn_task *task, const stn_machine *machine, const char *name, stn_estimate *result) {
    stn_text key = STN_TEXT_EMPTY;
    put_task(task, &key);
    return estimate_once(stn_kinds[STN_KIND_STENCIL], task, machine, name, &key, result);
}

bool stn_subplan_estimate_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_estimate *result) {
    stn_text key = STN_TEXT_EMPTY;
    put_fft(fft, &key);
    return estimate_once(stn_kinds[STN_KIND_FFT], fft, machine, name, &key, result);
}

stn_status stn_subplan_set_weights(stn_plan *plan, const stn_task *from, stn_error *error) {
    for (size_t i = 0; i < plan->task.ntaps; i++) plan->task.taps[i].weight = from->taps[i].weight;
    return plan->strategy->set_weights(plan, error);
}
