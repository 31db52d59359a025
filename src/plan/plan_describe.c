/* Describing a plan as text and as JSON: the problem, the choice, the ranking, the stability; and
 * reading its kernels. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "compile/cubin.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"

#define STN_UNIT_NAME(name, text) [name] = text,
static const char *const unit_names[STN_UNIT_COUNT] = {STN_UNIT_LIST(STN_UNIT_NAME)};
#undef STN_UNIT_NAME

/* Appends the candidate's description; nothing where the strategy has none. */
static void name_candidate(const stn_plan *plan, const stn_strategy *strategy, const stn_candidate *candidate,
                           stn_text *text) {
    if (strategy->name_candidate) strategy->name_candidate(&plan->task, candidate, text);
}

static void json_candidate(const stn_plan *plan, const stn_strategy *strategy, const stn_candidate *candidate,
                           bool applies, stn_text *text) {
    stn_text name = STN_TEXT_EMPTY;
    if (applies) name_candidate(plan, strategy, candidate, &name);
    stn_json_key(text, "candidate");
    stn_text_append(&name, "", 1);
    stn_json_string(text, name.failed || !applies ? NULL : name.data);
    text->failed |= name.failed;
    stn_text_clear(&name);
}

static const char *const chosen_words[] = {"estimated", "measured", "measured, remembered",
                                           "measured on a similar problem",
                                           "the generic kernel: no faster one is stored, and none can be compiled"};

static void json_estimate(const stn_estimate *estimate, stn_text *text) {
    stn_json_value(text, "seconds", estimate->seconds);
    stn_json_value(text, "bytes", estimate->bytes);
    stn_json_value(text, "flops", estimate->flops);
    stn_json_value(text, "launches", estimate->launches);
    stn_json_value(text, "halo_waste", estimate->halo_waste);
    stn_json_value(text, "memory_bytes", estimate->memory);
    stn_json_value(text, "predicted_error", estimate->error > 0 ? estimate->error : NAN);
    stn_json_text(text, "unit", unit_names[estimate->unit]);
}

static void json_row(const stn_plan *plan, const stn_ranked *row, stn_text *text) {
    stn_json_comma(text);
    stn_text_append(text, "{", 1);
    stn_json_text(text, "strategy", row->strategy->name);
    json_candidate(plan, row->strategy, &row->candidate, row->applies, text);
    stn_json_value(text, "measured_seconds", row->measured > 0 ? row->measured : NAN);
    if (row->applies)
        json_estimate(&row->estimate, text);
    else
        stn_json_text(text, "does_not_apply", row->reason);
    stn_text_append(text, "}", 1);
}

static bool is_built(const stn_plan *plan) { return !plan->estimate_only && stn_first_result_now(plan) == plan; }

/* all: a plan for the same work, with all rows of the ranking. */
static void describe_json(const stn_plan *plan, const stn_plan *all, stn_text *text) {
    stn_text_append(text, "{", 1);
    stn_json_key(text, "problem");
    plan->kind->json(plan, text);
    stn_json_text(text, "machine", plan->machine.name);
    stn_json_text(text, "strategy", plan->strategy->name);
    json_candidate(plan, plan->strategy, &plan->candidate, true, text);
    stn_json_open(text, "parameters", "{");
    if (is_built(plan)) plan->strategy->describe(plan, STN_JSON, text);
    stn_text_append(text, "}", 1);
    stn_json_value(text, "predicted_seconds", plan->estimate.seconds);
    stn_json_value(text, "predicted_error", plan->estimate.error > 0 ? plan->estimate.error : NAN);
    stn_json_value(text, "measured_seconds", plan->measured > 0 ? plan->measured : NAN);
    stn_json_text(text, "chosen", chosen_words[plan->chosen]);
    stn_json_text(text, "chosen_again", plan->choice_before[0] ? plan->choice_before : NULL);
    stn_json_value(text, "workspace_bytes", plan->estimate_only ? NAN : (double)stn_plan_workspace(plan));
    if (plan->kind->more) plan->kind->more(plan, STN_JSON, text);
    if (plan->online) plan->kind->tuner->online_describe(plan, STN_JSON, text);
    stn_first_result_describe(plan, STN_JSON, text);
    stn_json_open(text, "ranking", "[");
    for (size_t i = 0; i < all->ranked; i++) json_row(all, &all->ranking[i], text);
    stn_text_append(text, "]}", 2);
}

static void text_row(const stn_plan *plan, size_t i, stn_text *text) {
    const stn_ranked *r = &plan->ranking[i];
    if (!r->applies) {
        stn_text_printf(text, "   -  %-9s does not apply: %s\n", r->strategy->name, r->reason);
        return;
    }
    stn_text_printf(text, "  %2zu. %-9s %.6g s", i + 1, r->strategy->name, r->estimate.seconds);
    if (r->measured > 0) stn_text_printf(text, ", measured %.6g s", r->measured);
    if (r->strategy->name_candidate) stn_text_printf(text, ": ");
    name_candidate(plan, r->strategy, &r->candidate, text);
    stn_text_printf(text, "  (%.4g GB, %.4g GFLOP on %s, %.0f launches, halo waste %.1f%%", r->estimate.bytes * 1e-9,
                    r->estimate.flops * 1e-9, unit_names[r->estimate.unit], r->estimate.launches,
                    100 * r->estimate.halo_waste);
    if (r->estimate.error > 0) stn_text_printf(text, ", error %.2g", r->estimate.error);
    stn_text_printf(text, ")\n");
}

static void describe_text(const stn_plan *plan, const stn_plan *all, stn_text *text) {
    stn_text_printf(text, "%s", plan->kind->label);
    plan->kind->print(plan, text);
    stn_text_printf(text, "\nmachine:    %s%s\nstrategy:   %s, ", plan->machine.name,
                    plan->machine.is_device && !plan->machine.present ? " (not present)" : "", plan->strategy->name);
    if (!is_built(plan)) {
        name_candidate(plan, plan->strategy, &plan->candidate, text);
        stn_text_printf(text, "%s%s", plan->strategy->name_candidate ? " " : "",
                        plan->estimate_only ? "(estimate only)" : "(not compiled yet)");
    } else
        plan->strategy->describe(plan, STN_TEXT, text);
    stn_text_printf(text, "\npredicted:  %.6g s", plan->estimate.seconds);
    if (plan->measured > 0) stn_text_printf(text, ", %s: %.6g s", chosen_words[plan->chosen], plan->measured);
    if (plan->chosen >= STN_CHOSEN_BY_SIMILAR_WISDOM) stn_text_printf(text, ", %s", chosen_words[plan->chosen]);
    if (plan->estimate.error > 0) {
        double error_bound = plan->kind->error_bound(plan);
        stn_text_printf(text, ", error %.2g (the bound is %.2g%s)", plan->estimate.error, error_bound,
                        plan->estimate.error > error_bound ? ", which it exceeds" : "");
    }
    if (!plan->estimate_only) stn_text_printf(text, ", workspace %zu bytes", stn_plan_workspace(plan));
    if (plan->kind->more) plan->kind->more(plan, STN_TEXT, text);
    if (plan->online) plan->kind->tuner->online_describe(plan, STN_TEXT, text);
    stn_first_result_describe(plan, STN_TEXT, text);
    if (plan->choice_before[0])
        stn_text_printf(text, "\nagain:      chosen again for new weights, instead of %s", plan->choice_before);
    stn_text_printf(text, "\nranking:\n");
    for (size_t i = 0; i < all->ranked; i++) text_row(all, i, text);
}

stn_status stn_plan_describe(const stn_plan *plan, stn_format format, char **result, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    STN_TRY(stn_describe_check("stn_plan_describe needs a plan", plan, format, result, error));
    stn_plan all = {.only_best = plan->only_best};
    stn_plan_complete_ranking(memcpy(&all, plan, offsetof(stn_plan, strategy))); /* its request */
    (format == STN_JSON ? describe_json : describe_text)(plan, plan->only_best ? &all : plan, &text);
    return stn_text_take(&text, result, error);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The plan whose kernels run at present. */
static const stn_plan *current(const stn_plan *plan) {
    return plan && plan->online ? plan->kind->tuner->online_current(plan) : plan ? stn_first_result_now(plan) : NULL;
}

size_t stn_plan_kernel_count(const stn_plan *plan) { return plan ? current(plan)->kernels->count : 0; }

stn_status stn_plan_kernel(const stn_plan *plan, size_t index, stn_kernel_info *info, stn_error *error) {
    if (!plan || !info)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_kernel needs a plan and a place for the answer");
    plan = current(plan);
    if (index >= plan->kernels->count)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan has %zu kernels, so there is no number %zu",
                        plan->kernels->count, index);
    const stn_kernel *kernel = plan->kernels->list[index];
    const stn_template *source = stn_templates_kernel(&plan->context->templates, kernel->name);
    *info = (stn_kernel_info){.name = kernel->name,
                              .params = kernel->params,
                              .source = source ? source->text : NULL,
                              .ptx = kernel->ptx,
                              .cubin = kernel->cubin,
                              .cubin_size = kernel->cubin_size};
    stn_cubin_usage usage;
    if (kernel->module)
        usage = stn_module_usage(kernel->module);
    else
        (void)stn_cubin_read(kernel->cubin, kernel->cubin_size, kernel->name, &usage);
    info->registers = usage.registers;
    info->shared_bytes = usage.shared_bytes;
    info->local_bytes = usage.local_bytes;
    info->threads = usage.max_threads;
    return STN_OK;
}
