/* Draws random taps; see problem.h. */
#include <math.h>
#include <stdlib.h>

#include "problem.h"

typedef enum shape { SHAPE_BOX, SHAPE_STAR, SHAPE_SOME, SHAPE_PRODUCT, SHAPE_PAIR, SHAPE_ONE, SHAPES } shape;
typedef enum sign { SIGN_PLUS, SIGN_MINUS, SIGN_ANY, SIGN_MIDDLE, SIGN_TURNS, SIGNS } sign;
typedef enum mirror { MIRROR_NONE, MIRROR_ALL, MIRROR_ONE, MIRROR_ODD, MIRROR_FLAT, MIRRORS } mirror;

/* The rule by which weights are drawn. */
typedef struct rule {
    shape shape;
    sign sign;
    mirror mirror;
    int axis; /* of MIRROR_ONE and MIRROR_ODD */
} rule;

static bool chance(dice *d, int percent) { return dice_int(d, 1, 100) <= percent; }

/* Draws the axes with reach, as bits: all, all but one, a single one; rarely none. */
static int draw_axes(dice *d, int rank) {
    const int all = (1 << rank) - 1, one = 1 << dice_int(d, 0, rank - 1), kind = dice_int(d, 0, 99);
    if (kind < 2) return 0;
    if (rank == 1 || kind < (rank == 3 ? 30 : 60)) return all;
    return kind < 65 ? all & ~one : one;
}

/* Draws reaches along these: on one side only, equal on both, any. */
static void draw_reach(dice *d, int rank, bool large, int reach[3][2]) {
    static const int usual[] = {0, 8, 4, 2}, most[] = {0, 40, 16, 5};
    const int longest = dice_int(d, 1, chance(d, large ? 10 : 4) ? most[rank] : usual[rank]), axes = draw_axes(d, rank);
    for (int axis = 0; axis < 3; axis++) {
        const int kind = dice_int(d, 0, 9), r = chance(d, 60) ? longest : dice_int(d, 1, longest),
                  other = kind == 2 ? dice_int(d, 1, longest) : r;
        const bool along = axes >> axis & 1;
        reach[axis][0] = along && kind != 0 ? r : 0;
        reach[axis][1] = along && kind != 1 ? other : 0;
    }
}

/* The magnitude of a weight: equal for offsets that are equivalent by the rule's symmetry. */
static double magnitude(const rule *rule, const int64_t offset[3], uint64_t seed) {
    uint64_t mixed = seed;
    for (int axis = 0; axis < 3; axis++) {
        bool even = rule->mirror == MIRROR_ALL ||
                    ((rule->mirror == MIRROR_ONE || rule->mirror == MIRROR_ODD) && axis == rule->axis);
        int64_t o = even ? llabs(offset[axis]) : offset[axis];
        dice d = {mixed + (uint64_t)(o + 1000)};
        mixed = dice_next(&d);
    }
    dice d = {mixed};
    return rule->mirror == MIRROR_FLAT ? 1 : 0.1 + fabs(dice_real(&d));
}

static double factor(const rule *rule, int axis, int64_t o, uint64_t seed) {
    int64_t offset[3] = {0, 0, 0};
    offset[axis] = o;
    double size = magnitude(rule, offset, seed + (uint64_t)axis);
    dice d = {seed + 77 * (uint64_t)(axis + 1) + (uint64_t)llabs(o)};
    return rule->sign == SIGN_ANY && chance(&d, 40) ? -size : size;
}

static double weight(const rule *rule, const int64_t offset[3], uint64_t seed) {
    double w = magnitude(rule, offset, seed);
    if (rule->shape == SHAPE_PRODUCT || rule->shape == SHAPE_PAIR) {
        double second = 1;
        w = 1;
        for (int axis = 0; axis < 3; axis++) w *= factor(rule, axis, offset[axis], seed);
        for (int axis = 0; axis < 3; axis++) second *= factor(rule, axis, offset[axis], seed + 12345);
        if (rule->shape == SHAPE_PAIR) w += second;
    }
    bool middle = !offset[0] && !offset[1] && !offset[2];
    dice d = {seed + (uint64_t)llround(w * 1e9)};
    if (rule->sign == SIGN_MINUS || (rule->sign == SIGN_MIDDLE && middle) ||
        (rule->sign == SIGN_ANY && chance(&d, 40)) ||
        (rule->sign == SIGN_TURNS && (offset[0] + offset[1] + offset[2]) % 2))
        w = -w;
    return rule->mirror == MIRROR_ODD && offset[rule->axis] < 0 ? -w : w;
}

static bool kept(dice *d, shape shape, const int64_t offset[3]) {
    int away = (offset[0] != 0) + (offset[1] != 0) + (offset[2] != 0);
    if (shape == SHAPE_STAR) return away <= 1;
    return shape != SHAPE_SOME || chance(d, 35);
}

void random_taps_normalise(random_problem *r) {
    stn_stencil *stencil = random_problem_stencil(r);
    double sum = 0, most = stencil ? stn_stencil_max_symbol(stencil) : 0;
    for (size_t i = 0; i < r->ntaps; i++) sum += fabs(r->taps[i].weight);
    if (!(most > 1e-3 * sum)) most = sum;
    for (size_t i = 0; i < r->ntaps && most > 0; i++) r->taps[i].weight /= most;
    stn_stencil_destroy(stencil);
}

static rule draw_rule(dice *d) {
    static const shape often[] = {SHAPE_BOX,     SHAPE_BOX,     SHAPE_STAR, SHAPE_STAR, SHAPE_SOME,
                                  SHAPE_PRODUCT, SHAPE_PRODUCT, SHAPE_PAIR, SHAPE_ONE};
    rule rule = {.shape = often[dice_int(d, 0, 8)], .sign = (sign)dice_int(d, 0, SIGNS - 1)};
    rule.mirror = (mirror)dice_int(d, 0, MIRRORS - 1);
    rule.axis = dice_int(d, 0, 2);
    return rule;
}

void random_taps_draw(dice *d, random_problem *r, bool large) {
    int reach[3][2], low[3] = {0}, high[3] = {0};
    rule rule = draw_rule(d);
    uint64_t seed = dice_next(d);
    do draw_reach(d, r->rank, large, reach);
    while ((reach[0][0] + reach[0][1] + 1) * (reach[1][0] + reach[1][1] + 1) * (reach[2][0] + reach[2][1] + 1) >
           RANDOM_TAPS);
    for (int axis = 0; axis < 3; axis++) low[axis] = -reach[axis][0], high[axis] = reach[axis][1];
    if (rule.shape == SHAPE_ONE) /* one tap: a shift */
        for (int axis = 0; axis < 3; axis++) low[axis] = high[axis] = dice_int(d, low[axis], high[axis]);
    r->ntaps = 0;
    for (int z = low[0]; z <= high[0]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[2]; x <= high[2]; x++) {
                const int64_t offset[3] = {z, y, x};
                if (!kept(d, rule.shape, offset)) continue;
                r->taps[r->ntaps++] = (stn_tap){{z, y, x}, weight(&rule, offset, seed)};
            }
    if (!r->ntaps) r->taps[r->ntaps++] = (stn_tap){{0, 0, 0}, rule.sign == SIGN_MINUS ? -1 : 1};
    random_taps_normalise(r);
}

/* Draws unrelated weights: another symmetry, other signs, zeros, separable or not, sometimes with
 * growing modes. */
static void draw_anew(dice *d, const random_problem *r, double *weights) {
    const rule rule = draw_rule(d);
    const uint64_t seed = dice_next(d);
    const bool zeros = chance(d, 20);
    random_problem others = *r;
    for (size_t i = 0; i < r->ntaps; i++)
        others.taps[i].weight = zeros && chance(d, 50) ? 0 : weight(&rule, r->taps[i].offset, seed);
    random_taps_normalise(&others);
    const double growth = chance(d, 15) ? pow(10, 3 * dice_positive(d) / (double)r->problem.steps) : 1;
    for (size_t i = 0; i < r->ntaps; i++) weights[i] = growth * others.taps[i].weight;
}

void random_taps_reweigh(dice *d, const random_problem *r, double *weights) {
    if (r->any_weights) {
        draw_anew(d, r, weights);
        return;
    }
    /* Equal weights stay equal: this keeps symmetry, but not separability. */
    bool alike = chance(d, 50);
    uint64_t seed = dice_next(d);
    for (size_t i = 0; i < r->ntaps; i++) {
        dice own = {alike ? seed + (uint64_t)llround(fabs(r->taps[i].weight) * 1e12) : seed + i};
        weights[i] = r->taps[i].weight * (0.75 + 0.5 * fabs(dice_real(&own)));
    }
}
