/* Finds symmetries (symmetry.h) by comparing the matrix at random frequencies and their mirror
 * images. */
#include "strategies/modes/symmetry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "strategies/modes/lanes.h"

#define ALIKE 1e-20 /* relative difference of numbers that are equal except for rounding */

typedef struct probe {
    const modes_linear *l;
    const modes_lanes *lanes;
    double *constants;
    modes_pair *powers[2], *terms, *z, *plain, *flipped;
    void *scratch;
} probe;

static void matrix_at(const probe *p, const modes_pair at[3], modes_pair *to) {
    const int width = p->l->width;
    for (int axis = 0; axis < 2; axis++) modes_powers(at[axis], p->l->reach[axis], p->powers[axis]);
    modes_terms(p->l, (const modes_pair *[2]){p->powers[0], p->powers[1]}, p->terms);
    for (int k = 0; k < p->lanes->lanes; k++) p->z[k] = at[2];
    p->lanes->fill(p->l, p->constants, p->terms, p->z, false, p->scratch);
    for (int i = 0; i < width * width; i++) to[i] = p->lanes->entry(p->l, i, 0, p->scratch);
}

static double far_off(modes_wide a, modes_wide b, int sign) {
    const modes_wide d = modes_add(a, sign < 0 ? b : modes_negate(b));
    return fabs(d.top + d.rest);
}

/* True if entry i of the second matrix is `sign` times that of the first. */
static bool is_alike(const probe *p, int i, int sign, double largest) {
    const modes_pair a = p->plain[i], b = p->flipped[i];
    return far_off(a.re, b.re, sign) + far_off(a.im, b.im, sign) <= ALIKE * largest;
}

static bool all_alike(const probe *p, double largest) {
    bool alike = true;
    for (int i = 0; i < p->l->width * p->l->width; i++) alike = alike && is_alike(p, i, 1, largest);
    return alike;
}

/* True if the step maps states with the mirror symmetry of an axis to such states. */
static bool keeps_signs(const probe *p, int axis, double largest) {
    const stn_system *system = p->l->task->system;
    const signed char(*sign)[2] = p->l->axis[axis].sign;
    const int width = p->l->width;
    for (int f = 0; f < system->nfields; f++)
        for (int g = 0; g < system->nfields; g++)
            for (int i = 0; i < system->fields[f].levels; i++)
                for (int j = 0; j < system->fields[g].levels; j++)
                    for (int side = 0; side < 2; side++)
                        if (!is_alike(p, (p->l->first[f] + i) * width + p->l->first[g] + j,
                                      sign[f][side] * sign[g][side], largest))
                            return false;
    return true;
}

/* Random frequencies represent all: it is practically impossible that a symmetry holds at them by
 * chance only. */
static bool find_symmetries(modes_linear *l, const probe *p, char *reason, size_t size) {
    static const double angles[2][3] = {{0.7316, 1.9271, 2.4173}, {2.7182, 0.3893, 1.1337}};
    l->real = l->even[0] = l->even[1] = true;
    for (int round = 0; round < 2; round++) {
        modes_pair at[3], flipped[3], back[3];
        double largest = 0;
        for (int axis = 0; axis < 3; axis++) {
            at[axis] = (modes_pair){modes_wide_of(cos(angles[round][axis])), modes_wide_of(sin(angles[round][axis]))};
            back[axis] = (modes_pair){at[axis].re, modes_negate(at[axis].im)};
        }
        matrix_at(p, at, p->plain);
        for (int i = 0; i < l->width * l->width; i++)
            largest = fmax(largest, fmax(fabs(p->plain[i].re.top), fabs(p->plain[i].im.top)));
        matrix_at(p, back, p->flipped);
        l->real = l->real && all_alike(p, largest);
        for (int axis = 0; axis < 3; axis++) {
            for (int other = 0; other < 3; other++) flipped[other] = axis == other ? back[other] : at[other];
            matrix_at(p, flipped, p->flipped);
            if (axis < 2) l->even[axis] = l->even[axis] && all_alike(p, largest);
            if (!l->axis[axis].mirrored || keeps_signs(p, axis, largest)) continue;
            snprintf(reason, size, "its stencils do not keep the mirror symmetry of the sides along %c", 'z' - axis);
            return false;
        }
    }
    return true;
}

static bool probe_symmetries(modes_linear *l, char *reason, size_t size) {
    const modes_lanes *lanes = modes_lanes_at(0);
    const size_t entries = (size_t)(l->width * l->width);
    probe p = {.l = l, .lanes = lanes};
    p.constants = malloc((size_t)l->task->system->nnodes * sizeof *p.constants);
    p.powers[0] = malloc((size_t)(l->reach[0] + l->reach[1] + 2 + l->nterms + lanes->lanes + 1) * sizeof *p.terms +
                         2 * entries * sizeof *p.terms);
    p.scratch = aligned_alloc(64, lanes->scratch(l));
    bool served = p.constants && p.powers[0] && p.scratch;
    if (served) {
        p.powers[1] = p.powers[0] + l->reach[0] + 1, p.terms = p.powers[1] + l->reach[1] + 1;
        p.z = p.terms + l->nterms, p.plain = p.z + lanes->lanes, p.flipped = p.plain + entries;
        modes_generic_constants(l, p.constants);
        served = find_symmetries(l, &p, reason, size);
    } else
        snprintf(reason, size, "there is no memory for its matrices");
    free(p.constants);
    free(p.powers[0]);
    free(p.scratch);
    return served;
}

bool modes_analyse(const stn_system_task *task, modes_linear *l, char *reason, size_t size) {
    return modes_linear_make(task, l, reason, size) && probe_symmetries(l, reason, size);
}
