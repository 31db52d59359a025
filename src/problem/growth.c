/* Finds the shifts s of growth.h that minimise the bound, and evaluates the bound. */
#include "problem/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem/stencil.h"

/* Exponent of the largest scaling of a tap: exp(-40) is negligible. It limits the shift of
 * one-sided taps, for which no shift is best. */
#define MAX_SHIFT 40.0
#define NEGLIGIBLE 1e-9                 /* neglected relative difference of growth factors */
#define DEFECTIVE (52 * M_LN2 / M_LN10) /* log10 of 2^52: growth.h */
enum { ROUNDS = 12, HALVINGS = 60, SECTIONS = 200, MANY_TAPS = 64 /* taps */ };

/* ---- sides ----------------------------------------------------------------------------------- */

static bool is_open(const stn_boundary *side) { return side->kind == STN_CONSTANT || side->kind == STN_FIXED; }

/* Does this side continue the grid by its mirror image, for taps of this reach? */
static bool is_mirror(const stn_boundary *side, int reach) {
    return side->kind == STN_REFLECT || side->kind == STN_MIRROR || (side->kind == STN_NEAREST && reach <= 1);
}

typedef enum axis_kind { AXIS_NORMAL, AXIS_OPEN, AXIS_FOLDS } axis_kind;

/* AXIS_OPEN: every side that taps reach past is constant or fixed, so that waves leave through it.
 * AXIS_NORMAL: the operator along the axis has orthogonal eigenvectors. AXIS_FOLDS: all other
 * axes. */
static axis_kind classify_axis(const stn_task *task, int axis) {
    const stn_boundary *sides = task->boundary[axis];
    const int *reach = task->reach[axis];
    if (task->n[axis] == 1 && !is_open(&sides[0]) && !is_open(&sides[1])) return AXIS_NORMAL;
    if (axis < 3 - task->rank || sides[0].kind == STN_WRAP) return AXIS_NORMAL;
    bool open = true, mirrors = true;
    for (int side = 0; side < 2; side++) {
        if (!reach[side]) continue;
        open = open && is_open(&sides[side]);
        mirrors = mirrors && (is_open(&sides[side]) || is_mirror(&sides[side], reach[side]));
    }
    if (open) return AXIS_OPEN;
    return mirrors && stn_task_is_symmetric(task, axis) ? AXIS_NORMAL : AXIS_FOLDS;
}

/* ---- shifts ---------------------------------------------------------------------------------- */

static double dot(const stn_tap *tap, const double shift[3]) {
    return shift[0] * (double)tap->offset[0] + shift[1] * (double)tap->offset[1] + shift[2] * (double)tap->offset[2];
}

static double sum_of(const stn_task *task, const double shift[3]) {
    double sum = 0;
    for (size_t i = 0; i < task->ntaps; i++) sum += fabs(task->taps[i].weight) * exp(dot(&task->taps[i], shift));
    return sum;
}

/* Does the sum of |w| exp(s o) increase with the shift s along an axis? */
static bool increases(const stn_task *task, const double shift[3], int axis) {
    double slope = 0;
    for (size_t i = 0; i < task->ntaps; i++)
        slope += (double)task->taps[i].offset[axis] * fabs(task->taps[i].weight) * exp(dot(&task->taps[i], shift));
    return slope > 0;
}

/* Minimises the sum of |w| exp(s o), which is convex in s, by bisection, one axis after the other.
 * Any shift gives a valid bound; this one need not be the best. */
static void choose_shift(const stn_task *task, const bool open[3], double shift[3]) {
    int axes = 0;
    for (int axis = 0; axis < 3; axis++) axes += open[axis] && !stn_task_is_symmetric(task, axis);
    for (int round = 0; round < (axes > 1 ? ROUNDS : 1); round++)
        for (int axis = 0; axis < 3; axis++) {
            /* by symmetry the best shift is 0 */
            if (!open[axis] || stn_task_is_symmetric(task, axis)) continue;
            double low = -MAX_SHIFT / stn_task_reach(task, axis), high = -low;
            for (int i = 0; i < HALVINGS; i++) {
                shift[axis] = 0.5 * (low + high);
                *(increases(task, shift, axis) ? &high : &low) = shift[axis];
            }
        }
}

/* The largest |K| at shifted frequencies; if memory is short, its upper bound, the sum of
 * |taps|. */
static double shifted_symbol(const stn_task *task, const double shift[3]) {
    stn_tap *taps = malloc(task->ntaps * sizeof *taps);
    if (!taps) return sum_of(task, shift);
    memcpy(taps, task->taps, task->ntaps * sizeof *taps);
    for (size_t i = 0; i < task->ntaps; i++) taps[i].weight *= exp(dot(&task->taps[i], shift));
    const double largest = stn_taps_max_symbol(task->ntaps, taps);
    free(taps);
    return largest;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* The growth factor at a fraction `part` of the whole shift: the sum of |taps| if the growth is
 * measured in the maximum norm, or as a cheap upper bound of |K| if there are many taps. */
static double bound_at(const stn_task *task, bool folds, const double whole[3], double part) {
    const double shift[3] = {part * whole[0], part * whole[1], part * whole[2]};
    return folds || (task->ntaps > MANY_TAPS && part < 1) ? sum_of(task, shift) : shifted_symbol(task, shift);
}

stn_growth stn_task_growth(const stn_task *task) {
    const double none[3] = {0, 0, 0};
    stn_growth g = {.symbol = stn_taps_max_symbol(task->ntaps, task->taps)};
    bool open[3];
    for (int axis = 0; axis < 3; axis++) {
        const axis_kind kind = classify_axis(task, axis);
        open[axis] = kind == AXIS_OPEN && stn_task_reach(task, axis) > 0;
        g.folds = g.folds || kind == AXIS_FOLDS;
    }
    g.step = g.lasting = g.folds ? sum_of(task, none) : g.symbol;
    double shift[3] = {0, 0, 0}, condition = 0;
    choose_shift(task, open, shift);
    for (int axis = 0; axis < 3; axis++) condition += fabs(shift[axis]) * (double)(task->n[axis] - 1) / M_LN10;
    if (!(condition > 0)) return g;
    const double shifted = bound_at(task, g.folds, shift, 1);
    if (!(shifted < g.step * (1 - NEGLIGIBLE))) return g;
    g.lasting = shifted, g.excess = condition;
    for (double part = 1; g.shifts < STN_GROWTH_SHIFTS; part /= 2, g.shifts++) {
        g.shift[g.shifts].each = log10(part < 1 ? bound_at(task, g.folds, shift, part) : shifted);
        g.shift[g.shifts].once = part * condition;
    }
    return g;
}

/* The minimum of some linear functions of `steps`, so it has one maximum. */
double stn_growth_after(const stn_growth *g, double steps) {
    double least = steps * log10(g->step);
    for (int i = 0; i < g->shifts; i++) least = fmin(least, g->shift[i].once + steps * g->shift[i].each);
    return least;
}

static double peak_at(const stn_growth *g, double steps) {
    double low = 0, high = steps;
    for (int i = 0; i < SECTIONS; i++) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        *(stn_growth_after(g, a) < stn_growth_after(g, b) ? &low : &high) =
            stn_growth_after(g, a) < stn_growth_after(g, b) ? a : b;
    }
    return 0.5 * (low + high);
}

double stn_growth_peak(const stn_growth *g, double steps) {
    if (!(g->step > 1)) return 0;
    return fmax(0, fmax(stn_growth_after(g, steps), stn_growth_after(g, peak_at(g, steps))));
}

double stn_growth_above_eigenvalues(const stn_growth *g, double steps) {
    return g->excess > 0 ? fmax(0, stn_growth_after(g, steps) - steps * log10(g->lasting)) : 0;
}

bool stn_growth_is_transient(const stn_growth *g) { return g->excess > 0 && g->lasting < 1 && g->step > 1; }

double stn_growth_overflow(const stn_growth *g, stn_dtype dtype, double magnitude) {
    const double first = stn_symbol_overflow(g->step, dtype, magnitude), range = first * log10(g->step);
    if (!stn_growth_is_transient(g) || !isfinite(first)) return first;
    /* After step `until` all growth is below 1; inputs fed in at each step until then add up to at
     * most `terms` times the peak. */
    const double until = g->excess / -log10(g->lasting), terms = until + 1 / (1 - g->lasting);
    const double peak = peak_at(g, until);
    if (stn_growth_after(g, peak) + log10(terms) < range - log10(g->step)) return INFINITY;
    double low = fmin(first, peak) - 1, high = peak; /* the first step that may exceed the range */
    for (int i = 0; i < SECTIONS && high - low > 0.5; i++)
        *(stn_growth_after(g, 0.5 * (low + high)) < range ? &low : &high) = 0.5 * (low + high);
    return fmax(ceil(high), 1);
}

bool stn_growth_nearly_defective(const stn_growth *g) { return g->excess > DEFECTIVE; }
