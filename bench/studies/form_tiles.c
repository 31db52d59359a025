/* See forms.h. Periodic 2D and 3D grids in f64: the planner's candidate of each strategy, and each
 * kind of segment's tiles. */
#include <stdio.h>
#include <string.h>

#include "../options.h"
#include "base/error.h"
#include "forms.h"
#include "plan/plan.h"

static const struct {
    const char *stencil;
    size_t n, quick;
    int rank;
} grids[] = {{"box-2d9p", 4096, 96, 2}, {"box-2d49p", 4096, 96, 2}, {"box-3d27p", 256, 20, 3}};
enum { GRIDS = sizeof grids / sizeof *grids };

static const uint64_t steps_of[] = {8, 16, 32};
enum { STEPS = sizeof steps_of / sizeof *steps_of };

/* The strategy, and words in the candidate's name. */
static const struct {
    const char *strategy, *words;
} forms[] = {{"segment", "tiles of 16 x 16 points"},
             {"segment", "tiles of 32 x 32"},
             {"segment", "tiles of 48 x 40"},
             {"segment", "tiles of 64 x 48"},
             {"segment", "tiles of 16 x 16 x 16"},
             {"spectral", ""},
             {"lowrank", ""},
             {"direct", ""}};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct form {
    stn_plan *plan; /* NULL: none has these steps */
    char name[160];
    double seconds, predicted;
    stn_status status;
    stn_error why;
} form;

typedef struct tiles {
    bench *machine;
    size_t edge; /* points along each axis; 0: each grid's own */
    stn_problem problem;
    bench_buffers buffers;
    form list[FORMS];
} tiles;

/* Builds the cheapest candidate of a strategy whose name has these words, if there is one; on any
 * thread, so that kernels are compiled in parallel. */
static void build(void *user, int64_t begin, int64_t end) {
    tiles *all = user;
    for (int64_t i = begin; i < end; i++) {
        form *f = &all->list[i];
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *like = NULL;
        *f = (form){.status = STN_OK};
        options.strategy = forms[i].strategy, options.estimate_only = 1;
        if (stn_plan_create(all->machine->context, &all->problem, &options, &like, NULL) != STN_OK) continue;
        /* Ranks all tiles. */
        if (!strcmp(forms[i].strategy, "segment")) stn_plan_rank(like, "segment", STN_PLAN_RANKING);
        for (size_t k = 0; k < like->ranked && like->ranking[k].applies && !f->plan && f->status == STN_OK; k++) {
            const stn_ranked *entry = &like->ranking[k];
            stn_text text = STN_TEXT_EMPTY;
            char *name = NULL;
            entry->strategy->name_candidate(&like->task, &entry->candidate, &text);
            if (stn_text_take(&text, &name, NULL) == STN_OK && strstr(name, forms[i].words)) {
                snprintf(f->name, sizeof f->name, "%s", name);
                f->predicted = entry->estimate.seconds;
                f->status = stn_plan_build(like, all->problem.steps, entry->strategy, &entry->candidate, NULL, &f->plan,
                                           &f->why);
            }
            stn_text_free(name);
        }
        stn_plan_destroy(like);
    }
}

static stn_status measure(tiles *all, form *f, stn_error *error) {
    double found, allowed;
    if (f->status != STN_OK) *error = f->why;
    if (f->status != STN_OK || !f->plan) return f->status;
    STN_TRY(stn_memory_alloc(all->machine->context, f->plan->workspace_size + 1, &f->plan->workspace, error));
    f->plan->caller_workspace = false; /* the plan owns it from now on */
    bench_execution e = bench_execution_of(f->plan, all->buffers.in, all->buffers.out, NULL);
    STN_TRY(bench_check(all->machine, &all->problem, f->plan, &all->buffers, &found, &allowed, error));
    if (!(found <= allowed))
        return stn_fail(error, STN_ERROR_INTERNAL, "%s: an error of %.3g, where rounding explains %.3g", f->name, found,
                        allowed);
    return bench_time(all->machine, bench_execute, &e, &f->seconds, error);
}

static stn_status measure_steps(tiles *all, const char *stencil, stn_text *text, stn_error *error) {
    stn_status status = STN_OK;
    double points = (double)all->problem.steps;
    for (int axis = 0; axis < 3; axis++) points *= all->problem.extent[axis] ? (double)all->problem.extent[axis] : 1;
    stn_pool_for(all->machine->pool, FORMS, 1, build, all);
    for (int i = 0; i < FORMS; i++) {
        form *f = &all->list[i];
        if (status == STN_OK) status = measure(all, f, error);
        if (status == STN_OK && f->plan)
            stn_text_printf(text, "| %s | %d | %s | %s | %.3f | %.3f | %.0f |\n", stencil, (int)all->problem.steps,
                            forms[i].strategy, f->name, 1e3 * f->predicted, 1e3 * f->seconds,
                            points / f->seconds / 1e9);
        stn_plan_destroy(f->plan);
    }
    return status;
}

static stn_status measure_grid(tiles *all, int grid, uint64_t steps, stn_text *text, stn_error *error) {
    const size_t n = all->edge ? all->edge : all->machine->quick ? grids[grid].quick : grids[grid].n;
    stn_stencil *stencil = NULL;
    size_t points = 1;
    stn_status status;
    all->problem = (stn_problem)STN_PROBLEM_INIT;
    for (int axis = 0; axis < grids[grid].rank; axis++) {
        all->problem.extent[axis] = n, points *= n;
        all->problem.boundary[axis][0].kind = all->problem.boundary[axis][1].kind = STN_WRAP;
    }
    STN_TRY_GOTO(status, stn_stencil_parse(grids[grid].stencil, &stencil, error), done);
    all->problem.stencil = stencil;
    STN_TRY_GOTO(status, stn_memory_alloc(all->machine->context, points * sizeof(double), &all->buffers.in, error),
                 done);
    STN_TRY_GOTO(status, stn_memory_alloc(all->machine->context, points * sizeof(double), &all->buffers.out, error),
                 done);
    STN_TRY_GOTO(status, bench_fill(all->machine, all->buffers.in, points, STN_F64, STN_F64, error), done);
    for (int i = 0; i < (all->machine->quick || steps ? 1 : STEPS) && status == STN_OK; i++) {
        all->problem.steps = steps ? steps : steps_of[i];
        status = measure_steps(all, grids[grid].stencil, text, error);
    }
done:
    stn_memory_free(all->machine->context, all->buffers.in);
    stn_memory_free(all->machine->context, all->buffers.out);
    all->buffers = (bench_buffers){NULL, NULL};
    stn_stencil_destroy(stencil);
    return status;
}

stn_status bench_form_tiles(bench *machine, uint64_t steps, const char *stencils, size_t edge, stn_text *text,
                            stn_error *error) {
    tiles all = {.machine = machine, .edge = edge};
    bool any = false;
    for (int grid = 0; grid < GRIDS; grid++) any = any || bench_listed(stencils, grids[grid].stencil);
    if (!any) return STN_OK;
    stn_status status = machine->copy_bandwidth > 0 ? STN_OK : bench_measure_copy(machine, error);
    stn_text_printf(text,
                    "\nPlanes of 4096 x 4096 and a solid of 256^3, but for --size, f64, wrap; %s, medians of %d\n\n",
                    machine->context->machine.name, machine->repeat);
    stn_text_printf(text,
                    "| case | steps | strategy | candidate | predicted, ms | ms | GStencil/s |\n"
                    "|---|--:|---|---|--:|--:|--:|\n");
    for (int grid = 0; grid < GRIDS && status == STN_OK; grid++)
        if (bench_listed(stencils, grids[grid].stencil)) status = measure_grid(&all, grid, steps, text, error);
    return status;
}
