/* Cost model and search of divisions into transforms and bands. Costs are proportional to points
 * plus a cost of each launch: accurate enough to find a nearly optimal division, whose bands are
 * then planned one by one. */
#include "strategies/aperiodic/band_cost_model.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "plan/error_bound.h"
#include "plan/plan.h"

/* Maximum number of steps in the task from which the time of one step is estimated. It is many
 * times the number of steps of a launch, so that a shorter last launch hardly matters. */
#define SAMPLED_STEPS 1024

/* The cheapest of these strategies that takes at most `most` seconds. */
static const char *cheapest(const char *const *names, const stn_task *task, const stn_machine *machine, double most,
                            stn_estimate *estimate) {
    const char *chosen = NULL;
    for (; *names; names++) {
        stn_estimate own;
        if (!stn_subplan_estimate_below(task, machine, *names, most, false, &own) || (chosen && own.seconds >= most))
            continue;
        chosen = *names, *estimate = own, most = own.seconds;
    }
    return chosen;
}

static const char *const with_source[] = {"sourced", NULL}; /* on a GPU */

const char *aperiodic_cheapest_transform(const stn_task *task, const stn_machine *machine, stn_estimate *estimate) {
    static const char *const on_host[] = {"host-spectral", NULL}, *const on_device[] = {"spectral", "segment", NULL};
    const char *const *names = !machine->is_device ? on_host : task->source ? with_source : on_device;
    /* The seconds of a candidate are rounded to a float. */
    const double most = machine->time_limit > 0 ? machine->time_limit * (1 + 1e-6) : INFINITY;
    return cheapest(names, task, machine, most, estimate);
}

stn_task aperiodic_transform_task(const shape *s) {
    const box whole = aperiodic_shape_whole(s);
    return aperiodic_shape_by_transforms(s, &whole, s->steps[s->step_counts / 2]);
}

/* Factor on estimates of `direct` for narrow boxes with one step a launch; up to 2.8 measured.
 * Estimates of lowrank need no factor. */
#define NARROW_BOX_FACTOR 1.5

/* The cheapest stepping strategy. In f32 lowrank has a larger error than stepping. */
const char *aperiodic_cheapest_stepping(const stn_task *task, const stn_machine *machine, stn_estimate *estimate) {
    static const char *const on_host[] = {"host", NULL}, *const on_device[] = {"direct", NULL};
    const char *const *names = !machine->is_device ? on_host : task->source ? with_source : on_device;
    const char *chosen = cheapest(names, task, machine, INFINITY, estimate);
    stn_estimate lowrank;
    if (names != on_device || task->dtype != STN_F64 || !stn_subplan_estimate(task, machine, "lowrank", &lowrank) ||
        (chosen && lowrank.seconds > NARROW_BOX_FACTOR * estimate->seconds))
        return chosen;
    *estimate = lowrank;
    return "lowrank";
}

static double points_of(const shape *s, const box *of) {
    return (double)s->task->batch * (double)of->n[0] * (double)of->n[1] * (double)of->n[2];
}

/* Adds a sample if it has fewer points than all previous ones. Its time is limited to that of the
 * previous sample, so that the curve is monotonic. */
static void add_sample(curve *c, double points, double seconds) {
    if (c->count == COST_SAMPLES || (c->count && points >= c->points[c->count - 1])) return;
    c->points[c->count] = points;
    c->seconds[c->count] = c->count ? fmin(seconds, c->seconds[c->count - 1]) : seconds;
    c->count++;
}

static double seconds_at(const curve *c, double points) {
    if (points >= c->points[0]) return c->seconds[0] * points / c->points[0];
    for (int i = 1; i < c->count; i++) {
        if (points < c->points[i]) continue;
        const double part = (points - c->points[i]) / (c->points[i - 1] - c->points[i]);
        return c->seconds[i] + part * (c->seconds[i - 1] - c->seconds[i]);
    }
    return c->seconds[c->count - 1];
}

/* Adds samples of a band of the whole grid and of a band of this band. A band's time is mostly
 * launch latency, which the many blocks of a whole grid would hide. Launches on bands of 1D lines
 * took 13 to 15 us each. */
static void sample_bands(const shape *s, const stn_machine *machine, uint64_t sampled, const char *transforms,
                         cost_table *costs) {
    box at = aperiodic_shape_whole(s);
    for (int level = 0; level < 2; level++) {
        const int k = (int)stn_min(s->step_counts - 1, s->step_counts / 2 + level);
        band bands[6];
        const int count = aperiodic_shape_bands(s, &at, s->steps[k], bands);
        stn_estimate found;
        if (count < 1) return;
        at = bands[level ? 0 : count - 1].box;
        const stn_task steps = aperiodic_shape_by_steps(s, &at, sampled),
                       once = aperiodic_shape_by_transforms(s, &at, s->steps[k]);
        const char *name = aperiodic_cheapest_stepping(&steps, machine, &found);
        if (name) add_sample(&costs->step, points_of(s, &at), found.seconds / (double)sampled);
        if (name && !strcmp(name, "lowrank"))
            costs->step_error = fmax(costs->step_error, found.error * (double)s->task->steps / (double)sampled);
        if (level == 0 && stn_subplan_estimate(&once, machine, transforms, &found))
            add_sample(&costs->transform, points_of(s, &at), found.seconds);
    }
}

bool aperiodic_cost_table(const shape *s, const stn_machine *machine, cost_table *made) {
    const box whole = aperiodic_shape_whole(s);
    const double points = points_of(s, &whole), launch = machine->launch_seconds;
    const uint64_t sampled = s->task->steps < SAMPLED_STEPS ? s->task->steps : SAMPLED_STEPS;
    const stn_task steps = aperiodic_shape_by_steps(s, &whole, sampled), once = aperiodic_transform_task(s);
    stn_estimate stepped = {.seconds = 0}, transformed = {.seconds = 0};
    const char *transforms = aperiodic_cheapest_transform(&once, machine, &transformed);
    if (!transforms || !aperiodic_cheapest_stepping(&steps, machine, &stepped)) return false;
    *made = (cost_table){.copy_start = launch, .unit = transformed.unit, .transform_error = transformed.error};
    made->step_launches = stepped.launches / (double)sampled;
    made->step_error = stn_error_stepping(s->task);
    add_sample(&made->step, points, stepped.seconds / (double)sampled);
    add_sample(&made->transform, points, transformed.seconds);
    if (machine->is_device) sample_bands(s, machine, sampled, transforms, made);
    add_sample(&made->step, 0, made->step_launches * launch);
    add_sample(&made->transform, 0, transformed.launches * launch);
    made->copy_seconds_per_point = 2 * (double)stn_dtype_size(s->task->dtype) / machine->copy_bandwidth;
    made->workspace_per_point = transformed.memory / points;
    made->bytes_per_point = transformed.bytes / points, made->flops_per_point = transformed.flops / points;
    return true;
}

/* ---- boxes */

/* Returns the number of steps of the first level that has fewer than `steps` steps, or 0. If
 * `divided`, a level of exactly `steps` steps is accepted too: it may cover the whole run. */
static uint64_t next_steps(const levels *l, uint64_t steps, bool divided) {
    for (int i = 0; i < SHAPE_LEVELS; i++)
        if (l->steps[i] > 0 && ((uint64_t)l->steps[i] < steps || (divided && (uint64_t)l->steps[i] == steps)))
            return (uint64_t)l->steps[i];
    return 0;
}

/* Adds the cost of `times` rounds, each of `steps` steps at once, with all their bands. Returns
 * false if the bands do not fit. */
static bool add_round(const shape *s, const cost_table *costs, const levels *l, const box *of, uint64_t steps,
                      double times, division *sum) {
    band bands[6];
    const int count = aperiodic_shape_bands(s, of, steps, bands);
    const double points = points_of(s, of), size = (double)stn_dtype_size(s->task->dtype);
    double workspace = costs->workspace_per_point * points;
    if (count < 0) return false;
    sum->seconds += times * seconds_at(&costs->transform, points);
    sum->transform_points += times * points, sum->launches += times;
    for (int i = 0; i < count; i++) {
        const division own = aperiodic_cost_divide(s, costs, l, &bands[i].box, steps, false);
        const bool loaded = own.steps || bands[i].parts > 1;
        const int parts = s->task->batch > 1 ? bands[i].parts : 1;
        const double copied = points_of(s, &bands[i].box) * (loaded ? 1.5 : 0.5), copies = parts * (1 + loaded);
        sum->seconds += times * (own.seconds + copied * costs->copy_seconds_per_point + copies * costs->copy_start);
        sum->transform_points += times * own.transform_points, sum->launches += times * (own.launches + copies);
        workspace += own.workspace + (1 + loaded) * points_of(s, &bands[i].box) * size;
    }
    sum->workspace = fmax(sum->workspace, workspace);
    return true;
}

division aperiodic_cost_divide(const shape *s, const cost_table *costs, const levels *l, const box *of, uint64_t steps,
                               bool divided) {
    const double points = points_of(s, of), all = (double)steps;
    division whole = {.seconds = all * seconds_at(&costs->step, points), .launches = all * costs->step_launches};
    const uint64_t each = next_steps(l, steps, divided);
    if (each == 0) return whole;
    division some = {.steps = each, .rounds = steps / each, .rest = steps % each};
    bool fits = add_round(s, costs, l, of, each, (double)some.rounds, &some);
    if (fits && some.rest) fits = add_round(s, costs, l, of, some.rest, 1, &some);
    return fits && (divided || l->force_division || some.seconds < whole.seconds) ? some : whole;
}

/* ---- search */

typedef struct search {
    const shape *s;
    const cost_table *costs;
    levels *list;
    double seconds[STN_CANDIDATES];
    size_t count, most;
} search;

static void insert(search *found, const levels *l, double seconds) {
    size_t place = found->count;
    while (place > 0 && found->seconds[place - 1] > seconds) place--;
    if (place == found->most) return;
    if (found->count < found->most) found->count++;
    for (size_t i = found->count - 1; i > place; i--)
        found->list[i] = found->list[i - 1], found->seconds[i] = found->seconds[i - 1];
    found->list[place] = *l, found->seconds[place] = seconds;
}

/* For this level, tries each step count of the list `s->steps` from index `first` on, and for each
 * of them the deeper levels. A level that does not reduce the time is not added. */
static void try_levels(search *found, levels l, int level, int first, double before) {
    const box whole = aperiodic_shape_whole(found->s);
    for (int k = first; level < SHAPE_LEVELS && k < found->s->step_counts; k++) {
        if (found->s->steps[k] > 0x7fffffff) continue;
        l.steps[level] = (int)found->s->steps[k];
        const division d = aperiodic_cost_divide(found->s, found->costs, &l, &whole, found->s->task->steps, true);
        if (d.steps == 0 || d.seconds >= before) continue;
        insert(found, &l, d.seconds * (l.steps[1] ? APERIODIC_LEVELS_FACTOR : 1));
        try_levels(found, l, level + 1, k + 1, d.seconds);
    }
}

size_t aperiodic_cost_search(const shape *s, const cost_table *costs, levels *list, size_t most) {
    search found = {.s = s, .costs = costs, .list = list, .most = most < STN_CANDIDATES ? most : STN_CANDIDATES};
    if (found.most) try_levels(&found, (levels){.force_division = 0}, 0, 0, INFINITY);
    return found.count;
}
