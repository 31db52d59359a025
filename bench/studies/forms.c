/* See forms.h. One launch of heat-1d in f64 on a periodic line with a given number of steps; the
 * planner's candidate of each length. */
#include "forms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../options.h"
#include "base/error.h"
#include "plan/plan.h"
#include "strategies/segment/segment_shape.h"

#define POINTS ((size_t)1 << 27)
#define QUICK_POINTS ((size_t)1 << 13)

static const uint64_t steps_of[] = {1, 4, 16, 64, 256, 1000};
enum { STEPS = sizeof steps_of / sizeof *steps_of };

/* Similar lengths of both forms, as in segment_pass: of FFTs, and of dense DFTs. */
static const struct { int words, product; } rows[] = {{2, -1}, {2, -2}, {4, -3}, {8, -4}, {16, -5}};
enum { ROWS = sizeof rows / sizeof *rows, FORMS = 2 * ROWS };

static int form_of(int i) { return i < ROWS ? rows[i].words : rows[i - ROWS].product; }

typedef struct form {
    stn_plan *plan; /* NULL: none has these steps */
    int useful;
    double seconds;
    stn_status status;
    stn_error why;
} form;

typedef struct forms {
    bench *machine;
    stn_plan *like; /* ranked, nothing built */
    stn_problem problem;
    bench_buffers buffers;
    bool wanted[ROWS];
    form list[FORMS];
} forms;

/* ---- plans ----------------------------------------------------------------------------------- */

/* The candidate of this form that computes all steps in one launch. */
static const stn_candidate *candidate_of(const stn_plan *like, int first, segment_shape *shape) {
    for (size_t i = 0; i < like->ranked && like->ranking[i].applies; i++) {
        const stn_candidate *candidate = &like->ranking[i].candidate;
        memcpy(shape, candidate->values, sizeof *shape);
        if (shape->pass[0].first == first && shape->launches == 1 && !shape->blocks) return candidate;
    }
    return NULL;
}

/* Creates plans, on any thread, so that kernels are compiled in parallel. */
static void build(void *user, int64_t begin, int64_t end) {
    forms *all = user;
    for (int64_t i = begin; i < end; i++) {
        form *f = &all->list[i];
        segment_shape shape;
        *f = (form){.status = STN_OK};
        const stn_candidate *candidate = candidate_of(all->like, form_of((int)i), &shape);
        if (!candidate || !all->wanted[i % ROWS]) continue;
        f->useful = shape.pass[0].useful;
        f->status = stn_plan_build(all->like, all->problem.steps, all->like->ranking[0].strategy, candidate, NULL,
                                   &f->plan, &f->why);
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

static stn_status measure(forms *all, form *f, stn_error *error) {
    double found, allowed;
    if (!f->plan) {
        if (f->status != STN_OK) *error = f->why;
        return f->status;
    }
    bench_execution e = bench_execution_of(f->plan, all->buffers.in, all->buffers.out, NULL);
    STN_TRY(bench_check(all->machine, &all->problem, f->plan, &all->buffers, &found, &allowed, error));
    if (!(found <= allowed))
        return stn_fail(error, STN_ERROR_INTERNAL, "%d steps: an error of %.3g, where rounding explains %.3g",
                        (int)all->problem.steps, found, allowed);
    return bench_time(all->machine, bench_execute, &e, &f->seconds, error);
}

/* The rows of one number of steps. */
static stn_status measure_steps(forms *all, uint64_t steps, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "segment";
    options.estimate_only = 1;
    all->problem.steps = steps;
    STN_TRY(stn_plan_create(all->machine->context, &all->problem, &options, &all->like, error));
    stn_plan_rank(all->like, "segment", STN_PLAN_RANKING);
    stn_pool_for(all->machine->pool, FORMS, 1, build, all);
    stn_status status = STN_OK;
    for (int i = 0; i < FORMS; i++) {
        if (status == STN_OK) status = measure(all, &all->list[i], error);
        stn_plan_destroy(all->list[i].plan);
    }
    stn_plan_destroy(all->like);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_form(const forms *all, int i, stn_text *text) {
    const form *f = &all->list[i];
    const segment_factors *product = segment_factors_of(form_of(i));
    stn_text_printf(text, " %d", segment_points(form_of(i)));
    if (product) stn_text_printf(text, " = %d x %d x %d", product->n[0], product->n[1], product->n[2]);
    const double points = (double)all->problem.extent[0] * (double)all->problem.steps;
    if (f->useful)
        stn_text_printf(text, " | %.0f%% | %.3f | %.0f |", 100.0 * f->useful / segment_points(form_of(i)),
                        1e3 * f->seconds, points / f->seconds / 1e9);
    else
        stn_text_printf(text, " | | | |");
}

static const char *faster(const form *words, const form *product) {
    if (!words->useful && !product->useful) return "neither reaches";
    if (!words->useful) return "products";
    if (!product->useful) return "words";
    const double ratio = words->seconds / product->seconds;
    return fabs(ratio - 1) < 0.02 ? "alike" : ratio > 1 ? "products" : "words";
}

static void print_steps(const forms *all, stn_text *text) {
    for (int row = 0; row < ROWS; row++) {
        if (!all->wanted[row]) continue;
        stn_text_printf(text, "| %d |", (int)all->problem.steps);
        print_form(all, row, text);
        print_form(all, ROWS + row, text);
        stn_text_printf(text, " %s |\n", faster(&all->list[row], &all->list[ROWS + row]));
    }
}

stn_status bench_forms(bench *machine, uint64_t steps, const char *lengths, stn_text *text, stn_error *error) {
    forms all = {.machine = machine, .problem = STN_PROBLEM_INIT};
    stn_stencil *stencil = NULL;
    stn_status status;
    const size_t points = machine->quick ? QUICK_POINTS : POINTS;
    bool any = false;
    for (int row = 0; row < ROWS; row++) {
        char length[16];
        snprintf(length, sizeof length, "%d", segment_points(rows[row].product));
        all.wanted[row] = bench_listed(lengths, length);
        any = any || all.wanted[row];
    }
    if (!any) return STN_OK;
    all.problem.extent[0] = points;
    all.problem.boundary[0][0].kind = all.problem.boundary[0][1].kind = STN_WRAP;
    STN_TRY_GOTO(status, stn_stencil_parse("heat-1d", &stencil, error), done);
    all.problem.stencil = stencil;
    STN_TRY_GOTO(status, bench_measure_copy(machine, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, points * sizeof(double), &all.buffers.in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, points * sizeof(double), &all.buffers.out, error), done);
    STN_TRY_GOTO(status, bench_fill(machine, all.buffers.in, points, STN_F64, STN_F64, error), done);
    stn_text_printf(text, "heat-1d, %zu points, f64, wrap, one launch; %s, copy %.0f GB/s, medians of %d\n\n", points,
                    machine->context->machine.name, machine->copy_bandwidth / 1e9, machine->repeat);
    stn_text_printf(text,
                    "| steps | FFT words, points | outputs | ms | GStencil/s | products, points | outputs | ms | "
                    "GStencil/s | faster |\n|--:|---|--:|--:|--:|---|--:|--:|--:|---|\n");
    for (int i = 0; i < (machine->quick || steps ? 1 : STEPS) && status == STN_OK; i++) {
        status = measure_steps(&all, steps ? steps : steps_of[i], error);
        if (status == STN_OK) print_steps(&all, text);
    }
done:
    stn_memory_free(machine->context, all.buffers.in);
    stn_memory_free(machine->context, all.buffers.out);
    stn_stencil_destroy(stencil);
    return status;
}
