/* Draws rare but allowed values; see problem.h. */
#include <math.h>

#include "problem.h"

static bool chance(dice *d, int percent) { return dice_int(d, 1, 100) <= percent; }
static double between(dice *d, double low, double high) { return low + (high - low) * 0.5 * (1 + dice_real(d)); }

/* One to five taps at up to the largest reach of a stencil. */
static void draw_far(dice *d, random_problem *r) {
    const int count = dice_int(d, 1, 5), most = chance(d, 40) ? STN_MAX_RADIUS : dice_int(d, 1, STN_MAX_RADIUS);
    r->ntaps = 0;
    for (int i = 0; i < count; i++) {
        stn_tap tap = {{0, 0, 0}, dice_real(d)};
        bool known = false;
        for (int axis = 0; axis < r->rank; axis++)
            tap.offset[axis] = chance(d, r->rank == 3 ? 50 : 25) ? 0 : dice_int(d, -most, most);
        for (size_t k = 0; k < r->ntaps; k++) {
            const int64_t *o = r->taps[k].offset;
            known = known || (o[0] == tap.offset[0] && o[1] == tap.offset[1] && o[2] == tap.offset[2]);
        }
        if (!known) r->taps[r->ntaps++] = tap;
    }
}

void random_wild_taps(dice *d, random_problem *r) {
    const int kind = dice_int(d, 0, 11);
    if (kind < 2) draw_far(d, r);
    for (size_t i = 0; i < r->ntaps; i++) {
        double *weight = &r->taps[i].weight;
        if (kind == 2 && chance(d, 40)) *weight = 0;
        if (kind == 3) *weight *= pow(10, between(d, -14, 0));
        if (kind == 4 && r->taps[i].offset[2]) *weight *= 1e-17;
        if (kind == 5) *weight = chance(d, 50) ? 0 : *weight * pow(10, between(d, -300, 0));
    }
    random_taps_normalise(r);
}

static bool is_prime(int n) {
    for (int p = 2; p * p <= n; p++)
        if (n % p == 0) return false;
    return n > 1;
}

void random_wild_extents(dice *d, random_problem *r) {
    int reach[3][2];
    random_problem_reach(r, reach);
    for (int axis = 0; axis < r->rank; axis++) {
        const int most = reach[axis][0] > reach[axis][1] ? reach[axis][0] : reach[axis][1], kind = dice_int(d, 0, 9);
        size_t *n = &r->problem.extent[axis];
        if (kind < 2) *n = (size_t)dice_int(d, 1, 5);
        if (kind == 2) *n = (size_t)(most + dice_int(d, 0, 2));
        if (*n < (size_t)most || !*n) *n = (size_t)(most ? most : 1);
        if (kind == 5) *n = r->rank == 1 ? 128u << dice_int(d, 0, 5) : r->rank == 2 ? 32u << dice_int(d, 0, 3) : 16;
        if (kind == 3 || kind == 4)
            while (!is_prime((int)*n)) ++*n;
    }
    if (r->rank == 1 || !chance(d, 40)) return;
    for (int axis = 0; axis < r->rank - 1; axis++) /* few rows of several blocks */
        if (r->problem.extent[axis] > 20) r->problem.extent[axis] = (size_t)dice_int(d, 15, 20);
    r->problem.extent[r->rank - 1] = (size_t)dice_int(d, 130, 420);
}

void random_wild_steps(dice *d, random_problem *r, bool large) {
    const double left = (large ? 2e8 : 3e6) / random_problem_work(r);
    if (chance(d, 40) && left > 1)
        r->problem.steps = (uint64_t)fmin(600, (double)r->problem.steps * exp(between(d, 0, log(left))));
}

/* Largest decimal exponent of data, and of the factor of a run, by dtype. */
static const double orders[] = {[STN_F64] = 100, [STN_F32] = 10, [STN_F16] = 1};
static const double least_tolerance[] = {[STN_F64] = -13, [STN_F32] = -7, [STN_F16] = -4};

void random_wild_type(dice *d, stn_problem *p) {
    if (chance(d, 40)) p->dtype = (stn_dtype)dice_int(d, STN_F64, STN_F16), p->tolerance = 0;
    if (chance(d, 30)) p->tolerance = pow(10, between(d, least_tolerance[p->dtype], -0.5));
}

void random_wild_numbers(dice *d, random_problem *r) {
    stn_problem *p = &r->problem;
    const double most = orders[p->dtype];
    if (chance(d, 30)) {
        const double factor = pow(10, between(d, -most, most) / (double)p->steps);
        for (size_t i = 0; i < r->ntaps; i++) r->taps[i].weight *= factor;
    }
    r->amplitude = chance(d, 30) ? pow(10, between(d, -most, most)) : 1;
    for (int axis = 0; axis < r->rank; axis++)
        for (int side = 0; side < 2; side++) p->boundary[axis][side].value *= r->amplitude;
    r->times = chance(d, 25) ? 2 : 1;
    r->workspace = chance(d, 50);
    r->online = chance(d, 10);
}
