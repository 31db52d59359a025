/* The tables of a launch of dense-DFT tiles. The symbol's power is computed in long double. */
#include <stdlib.h>

#include "base/error.h"
#include "strategies/segment/complex.h"
#include "strategies/segment/torus.h"

static bool is_opposite(const stn_tap *a, const stn_tap *b) {
    for (int k = 0; k < 3; k++)
        if (a->offset[k] != -b->offset[k]) return false;
    return a->weight == b->weight;
}

/* Whether weights at opposite offsets are equal. */
static bool is_central(const stn_task *task) {
    for (size_t i = 0; i < task->ntaps; i++) {
        bool found = false;
        for (size_t j = 0; j < task->ntaps && !found; j++) found = is_opposite(&task->taps[i], &task->taps[j]);
        if (!found) return false;
    }
    return true;
}

bool segment_torus_real(const stn_task *task, const segment_torus *tile) { return tile->even || is_central(task); }

size_t segment_torus_operands(const segment_torus *tile) {
    return segment_operands_size(segment_torus_factors(tile->number), tile->even);
}

size_t segment_torus_symbols(const segment_torus *tile, bool real) {
    return segment_places_size(segment_torus_factors(tile->number), real);
}

/* The symbol at frequency k along z, y, x. */
static cplx symbol_at(const stn_task *task, const cplx *const roots[3], const int points[3], const int k[3]) {
    cplx sum = {0, 0};
    for (size_t t = 0; t < task->ntaps; t++) {
        const stn_tap *tap = &task->taps[t];
        cplx turn = {task->taps[t].weight, 0};
        for (int axis = 0; axis < 3; axis++) {
            const int n = points[axis];
            turn = product(turn, roots[axis][(k[axis] * tap->offset[axis] % n + n) % n]);
        }
        sum.re += turn.re, sum.im += turn.im;
    }
    return sum;
}

static void fill_powers(const stn_task *task, const cplx *const roots[3], const int points[3], bool real,
                        uint64_t steps, double *powers) {
    int k[3];
    for (k[0] = 0; k[0] < points[0]; k[0]++)
        for (k[1] = 0; k[1] < points[1]; k[1]++)
            for (k[2] = 0; k[2] < points[2]; k[2]++) {
                cplx one = symbol_at(task, roots, points, k);
                if (real) one.im = 0;
                const cplx value = power(one, steps);
                *powers++ = (double)value.re, *powers++ = (double)value.im;
            }
}

stn_status segment_torus_make(const stn_task *task, const segment_torus *tile, bool real, uint64_t steps,
                              double *operands, double *symbol, stn_error *error) {
    const segment_factors *f = segment_torus_factors(tile->number);
    int points[3];
    segment_torus_points(tile, points);
    const size_t length = (size_t)points[0] * (size_t)points[1] * (size_t)points[2];
    double *powers = calloc(2 * length, sizeof *powers);
    cplx *all = calloc((size_t)(points[0] + points[1] + points[2]), sizeof *all);
    const cplx *const roots[3] = {all, all + points[0], all + points[0] + points[1]};
    stn_status status = powers && all ? STN_OK : stn_fail_memory(error, "a symbol", 2 * length * sizeof *powers);
    if (status == STN_OK) {
        cplx *to = all;
        for (int axis = 0; axis < 3; axis++)
            for (int k = 0; k < points[axis]; k++) *to++ = root_of(k, points[axis]);
        fill_powers(task, roots, points, real, steps, powers);
        const double gain = segment_gain_of(powers, length, task->dtype);
        segment_operands_make(f, tile->even, gain, operands);
        segment_places_lay(f, powers, real, gain, symbol);
    }
    free(all), free(powers);
    return status;
}
