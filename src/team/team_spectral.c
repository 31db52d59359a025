/* See team_spectral.h. The half spectra of the real grids are multiplied by the power of the symbol
 * between the two exchanges, while each member has columns of the spectrum: a third exchange is not
 * needed. */
#include "team/team_spectral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"
#include "strategies/common/stencil_symbol.h"
#include "strategies/cufft_spectral/cufft_spectral_multiply.h"
#include "strategies/host_spectral/host_spectral_passes.h"

/* The multiplication of a member's columns by the power of the symbol. range: the frequencies of
 * the columns; multiply: the kernel on a GPU; parts: the coefficients of the symbol for each line,
 * on the host. */
typedef struct team_symbol {
    cufft_spectral_range range;
    cufft_spectral_multiply multiply;
    stn_kernel_set kernels; /* of `multiply` */
    double *parts;          /* owned */
} team_symbol;

struct team_spectral {
    stn_task task;                 /* of the whole grid; owned */
    stn_team_plan *forward, *back; /* owned; they share the memory of columns */
    double multiplication;         /* predicted seconds */
    stn_symbol symbol;
    double *angles; /* owned; on the host, of all lines */
    double largest;
    team_symbol *member;   /* owned; one per member */
    team_fft_grids *grids; /* owned, likewise */
};

bool team_spectral_serves(const stn_team *team, const stn_problem *problem, const stn_plan_options *options) {
    const int rank = stn_stencil_rank(problem->stencil);
    const char *name = options->strategy;
    bool wraps = true;
    for (int axis = 0; axis < rank; axis++)
        for (int side = 0; side < 2; side++) wraps = wraps && problem->boundary[axis][side].kind == STN_WRAP;
    const bool named = !name || !strcmp(name, team->on_host ? "host-spectral" : "spectral");
    return wraps && named && rank > 1 && team->count > 1 && problem->batch < (size_t)team->count &&
           problem->extent[0] > 1 && !problem->has_source && problem->dtype != STN_F16 &&
           problem->accuracy == STN_ACCURACY_GLOBAL && !team->steps_per_exchange;
}

/* ---- factors --------------------------------------------------------------------------------- */

static double *parts_of(const team_spectral *s, const cufft_spectral_range *range) {
    const int64_t lines = range->count[0] * range->count[1];
    double *parts = malloc((size_t)(lines * s->symbol.parts + 1) * sizeof *parts);
    int64_t *at = malloc((size_t)(2 * lines + 1) * sizeof *at);
    for (int64_t i = 0; at && i < lines; i++)
        at[i] = i / range->count[1], at[lines + i] = range->first[1] + i % range->count[1];
    const bool good =
        parts && at && stn_symbol_parts(&s->symbol, &s->task, lines, (const int64_t *[]){at, at + lines}, parts);
    free(at);
    if (good) return parts;
    free(parts);
    return NULL;
}

static stn_status make_factors(const stn_team_plan *plan, team_spectral *s, stn_error *error) {
    const stn_team *team = plan->team;
    s->symbol = stn_symbol_form(&s->task, 2, s->task.n, false);
    s->largest = stn_symbol_largest(&s->task, s->task.n);
    if (team->on_host) {
        free(s->angles);
        s->angles = malloc(stn_symbol_angles(&s->symbol, NULL) * sizeof *s->angles);
        if (!s->angles) return stn_fail_memory(error, "the angles of a symbol", 0);
        (void)stn_symbol_angles(&s->symbol, s->angles);
    }
    for (int m = 0; m < s->forward->members; m++) {
        team_symbol *own = &s->member[m];
        if (!team_is_here(team, m) || !own->range.count[1] || !own->range.count[2]) continue;
        if (!team->on_host) {
            own->kernels.context = team->member[m].context;
            STN_TRY(cufft_spectral_multiply_make(&own->kernels, &s->task, &own->range, &own->multiply, error));
            continue;
        }
        free(own->parts);
        if (!(own->parts = parts_of(s, &own->range))) return stn_fail_memory(error, "the coefficients of a symbol", 0);
    }
    return STN_OK;
}

typedef struct multiplication {
    const team_spectral *s;
    const team_symbol *own;
    shape line; /* of any line, for host_spectral_symbol_apply; `parts` is set for each line */
    unsigned char *spectrum;
    atomic_bool failed;
} multiplication;

/* Multiplies some of the lines along the last axis. */
static void multiply_lines(void *user, int64_t begin, int64_t end) {
    multiplication *w = user;
    const int64_t count = w->own->range.count[2], lines = w->own->range.count[0] * w->own->range.count[1];
    double *x = malloc(2 * (size_t)count * sizeof *x);
    if (!x) w->failed = true;
    for (int64_t i = begin; x && i < end; i++) {
        shape line = w->line;
        const bool wide = w->own->range.inner == STN_F64;
        double *const d = (double *)(void *)w->spectrum + 2 * i * count;
        float *const f = (float *)(void *)w->spectrum + 2 * i * count;
        line.parts = w->own->parts + i % lines * w->s->symbol.parts;
        for (int64_t k = 0; k < count; k++) {
            x[k] = wide ? d[2 * k] : (double)f[2 * k];
            x[count + k] = wide ? d[2 * k + 1] : (double)f[2 * k + 1];
        }
        host_spectral_symbol_apply(&line, w->s->task.steps, (stn_planes){x, x + count}, (stn_planes){NULL, NULL}, NULL,
                                   0, count, 1);
        for (int64_t k = 0; k < count; k++)
            if (wide)
                d[2 * k] = x[k], d[2 * k + 1] = x[count + k];
            else
                f[2 * k] = (float)x[k], f[2 * k + 1] = (float)x[count + k];
    }
    free(x);
}

static stn_status multiply(const stn_team_plan *plan, int m, stn_error *error) {
    const team_spectral *s = plan->spectral;
    const team_symbol *own = &s->member[m];
    const team_member *member = &plan->team->member[m];
    void *const spectrum = s->forward->fft->part[m].transposed;
    if (!own->range.count[1] || !own->range.count[2]) return STN_OK;
    if (member->lane)
        return cufft_spectral_multiply_run(&s->task, &own->range, &own->multiply, spectrum,
                                           stn_lane_stream(member->lane), error);
    stn_pool *pool;
    STN_TRY(stn_context_pool(member->context, &pool, error));
    multiplication w = {.s = s, .own = own, .spectrum = spectrum};
    w.line.symbol = s->symbol, w.line.last = 2, w.line.largest = s->largest;
    w.line.axis[2].length = s->task.n[2];
    w.line.angles = s->angles + own->range.first[2] * (s->symbol.plain ? 1 : 2);
    stn_pool_for(pool, s->task.batch * own->range.count[0] * own->range.count[1], 1, multiply_lines, &w);
    return w.failed ? stn_fail_memory(error, "a line of a spectrum", 2 * (size_t)own->range.count[2] * sizeof(double))
                    : STN_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static stn_status make_transforms(stn_team *team, team_spectral *s, const stn_plan_options *given, stn_error *error) {
    const stn_task *task = &s->task;
    stn_plan_options options = *given;
    stn_transform t = STN_TRANSFORM_INIT;
    stn_fft fft;
    options.strategy = NULL;
    t.rank = task->rank, t.batch = (size_t)task->batch, t.dtype = task->dtype, t.kind = STN_R2C;
    for (int i = 0; i < t.rank; i++) t.extent[i] = (size_t)task->n[3 - t.rank + i];
    STN_TRY(stn_fft_make(&t, &fft, error));
    STN_TRY(team_fft_make(team, &fft, &options, &s->forward, error));
    t.kind = STN_C2R;
    /* On a GPU the multiplication divides by the number of points. */
    if (team->on_host) t.inverse_scale = 1 / ((double)task->n[0] * (double)task->n[1] * (double)task->n[2]);
    STN_TRY(stn_fft_make(&t, &fft, error));
    STN_TRY(team_fft_make(team, &fft, &options, &s->back, error));
    for (int m = 0; m < s->back->members; m++) {
        team_fft_part *part = &s->back->fft->part[m];
        stn_memory_free(team->member[m].context, part->transposed);
        part->transposed = s->forward->fft->part[m].transposed;
    }
    return STN_OK;
}

/* Predicted seconds of the multiplications of one member. */
static double predict(const stn_team *team, const team_spectral *s, const stn_machine *machine) {
    const int64_t half = s->task.n[2] / 2 + 1;
    const double numbers =
        (double)s->task.batch * (double)s->task.n[0] * (double)s->task.n[1] * (double)half / s->forward->members;
    const double operations = 8 * (s->symbol.high + s->symbol.low) + 24 + 12 * log2((double)s->task.steps + 1);
    return team->on_host ? numbers * operations / machine->flops[STN_UNIT_FMA_F64]
                         : 4 * numbers * (double)stn_dtype_size(s->task.dtype) / machine->copy_bandwidth;
}

static stn_status fill(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *options,
                       team_spectral *s, stn_error *error) {
    stn_team *const team = plan->team;
    STN_TRY(stn_task_make(problem, &s->task, error));
    STN_TRY(make_transforms(team, s, options, error));
    const int members = s->forward->members, axis = s->task.rank == 3 ? 1 : 2;
    s->member = calloc((size_t)members, sizeof *s->member);
    s->grids = calloc((size_t)members, sizeof *s->grids);
    if (!s->member || !s->grids) return stn_fail_memory(error, "a team's spectra", (size_t)members * sizeof *s->member);
    for (int m = 0; m < members; m++) {
        cufft_spectral_range *range = &s->member[m].range;
        *range =
            (cufft_spectral_range){.inner = s->task.dtype, .count = {s->task.n[0], s->task.n[1], s->task.n[2] / 2 + 1}};
        range->first[axis] = s->forward->fft->part[m].column, range->count[axis] = s->forward->fft->part[m].columns;
    }
    s->symbol = stn_symbol_form(&s->task, 2, s->task.n, false);
    s->multiplication = predict(team, s, &team->member[team->own].context->machine);
    double points = (double)s->task.n[0] * (double)s->task.n[1] * (double)s->task.n[2];
    const double bound = stn_symbol_error(&s->task, points, s->symbol.plain);
    if (problem->tolerance > 0 && bound > problem->tolerance)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "transforms are less exact than the tolerance");
    return options->estimate_only ? STN_OK : make_factors(plan, s, error);
}

stn_status team_spectral_make(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *options,
                              team_spectral **spectral, stn_error *error) {
    *spectral = calloc(1, sizeof **spectral);
    if (!*spectral) return stn_fail_memory(error, "a team's spectra", sizeof **spectral);
    const stn_status status = fill(plan, problem, options, *spectral, error);
    if (status == STN_OK) return STN_OK;
    team_spectral_destroy(plan, *spectral);
    *spectral = NULL;
    return status;
}

void team_spectral_destroy(const stn_team_plan *plan, team_spectral *s) {
    if (!s) return;
    for (int m = 0; s->member && m < s->forward->members; m++) {
        free(s->member[m].parts);
        if (!plan->team->member[m].context || plan->team->on_host) continue;
        cufft_spectral_multiply_clear(plan->team->member[m].context, &s->member[m].multiply);
        stn_kernel_set_clear(&s->member[m].kernels);
    }
    for (int m = 0; s->back && m < s->back->members; m++)
        if (s->back->fft->part[m].transposed == s->forward->fft->part[m].transposed)
            s->back->fft->part[m].transposed = NULL;
    team_fft_destroy(s->forward), team_fft_destroy(s->back);
    free(s->member), free(s->grids), free(s->angles);
    stn_task_clear(&s->task);
    free(s);
}

int team_spectral_members(const team_spectral *s) { return s->forward->members; }

double team_spectral_seconds(const team_spectral *s) {
    /* Each of the two transforms has one exchange instead of two. */
    return s->forward->predicted - s->forward->fft->exchange_seconds + s->back->predicted -
           s->back->fft->exchange_seconds + s->multiplication;
}

stn_status team_spectral_set_weights(const stn_team_plan *plan, size_t count, const double *weights, stn_error *error) {
    team_spectral *s = plan->spectral;
    STN_TRY(stn_task_set_weights(&s->task, count, weights, error));
    return make_factors(plan, s, error);
}

/* ---- running --------------------------------------------------------------------------------- */

stn_status team_spectral_run(const stn_team_plan *plan, stn_error *error) {
    team_spectral *s = plan->spectral;
    for (int m = 0; m < plan->members; m++) {
        if (!team_is_here(plan->team, m)) continue;
        s->grids[m].in = plan->part[m].grid[plan->at], s->grids[m].out = plan->part[m].grid[!plan->at];
        STN_TRY(team_fft_grid(s->forward, m, 1, &s->grids[m].spectrum, error));
    }
    STN_TRY(team_fft_forth(s->forward, s->grids, error));
    for (int m = 0; m < plan->members; m++)
        if (team_is_here(plan->team, m)) STN_TRY(multiply(plan, m, error));
    return team_fft_back(s->back, s->grids, error);
}
