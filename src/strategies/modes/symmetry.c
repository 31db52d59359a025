/* See symmetry.h.
 *
 * The factor of a number of the state in an expression is even, odd or neither in the frequency.
 * Levels are even; the parities of sums, multiples and stencils follow from those of their
 * operands. Where they do not follow, as for a one-sided difference of a one-sided difference, the
 * factor is compared at two arbitrary frequencies and their mirror images. The tolerance is
 * relative to the operands that are neither even nor odd, since the others may be larger by any
 * factor. */
#include "strategies/modes/symmetry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "strategies/modes/lanes.h"

#define ALIKE 1e-20 /* numbers whose relative difference is smaller are equal except for rounding */
#define FLIPS 4     /* of the axes one by one, and of all */

typedef struct dependence {
    modes_parity parity;
    double scale; /* of MODES_NEITHER: the size of the smallest operand that is neither */
} dependence;

typedef struct probe {
    const modes_linear *l;
    const modes_lanes *lanes;
    double *constants;
    /* plain, flipped: of each operation and number of the state. */
    modes_pair *powers[2], *terms, *z, *plain, *flipped;
    dependence *found; /* of each operation and number of the state */
    void *scratch;
} probe;

static void factors_at(const probe *p, const modes_pair at[3], modes_pair *to) {
    const int width = p->l->width;
    for (int axis = 0; axis < 2; axis++) modes_powers(at[axis], p->l->reach[axis], p->powers[axis]);
    modes_terms(p->l, (const modes_pair *[2]){p->powers[0], p->powers[1]}, p->terms);
    for (int k = 0; k < p->lanes->lanes; k++) p->z[k] = at[2];
    p->lanes->fill(p->l, p->constants, p->terms, p->z, false, p->scratch);
    for (int i = 0; i < p->l->count * width; i++) to[i] = p->lanes->factor(p->l, i / width, i % width, p->scratch);
}

static double size_of(modes_pair a) { return hypot(a.re.top + a.re.rest, a.im.top + a.im.rest); }

/* ---- the parity of one operation ------------------------------------------------------------ */

/* Taps are sorted by their offsets, axis 0 first. */
static double weight_at(const stn_system_stencil *s, const int64_t offset[3]) {
    size_t low = 0, high = s->ntaps;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int64_t *o = s->taps[middle].offset;
        int axis = 0;
        while (axis < 3 && o[axis] == offset[axis]) axis++;
        if (axis == 3) return s->taps[middle].weight;
        if (o[axis] < offset[axis])
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static bool is_flipped(int flip, int axis) { return flip == axis || flip == 3; }

modes_parity modes_stencil_parity(const stn_system_stencil *s, int flip) {
    bool even = true, odd = true;
    for (size_t k = 0; k < s->ntaps; k++) {
        int64_t mirrored[3];
        for (int axis = 0; axis < 3; axis++)
            mirrored[axis] = is_flipped(flip, axis) ? -s->taps[k].offset[axis] : s->taps[k].offset[axis];
        const double own = s->taps[k].weight, other = weight_at(s, mirrored);
        even = even && own == other;
        odd = odd && own == -other;
    }
    return even ? MODES_EVEN : odd ? MODES_ODD : MODES_NEITHER;
}

static dependence of_stencil(const probe *p, const modes_operation *o, int flip, dependence a, double size,
                             double size_a) {
    const modes_parity own = modes_stencil_parity(p->l->stencils[o->stencil].taps, flip);
    if (a.parity != MODES_NEITHER && own != MODES_NEITHER)
        return (dependence){a.parity == own ? MODES_EVEN : MODES_ODD, 0};
    return (dependence){MODES_NEITHER, a.parity == MODES_NEITHER ? a.scale * (size / size_a) : size};
}

static dependence of_sum(dependence a, dependence b, double size_a, double size_b) {
    if (a.parity == MODES_ABSENT || (a.parity == b.parity && a.parity != MODES_NEITHER)) return b;
    if (b.parity == MODES_ABSENT) return a;
    if (a.parity == MODES_NEITHER && b.parity == MODES_NEITHER)
        return (dependence){MODES_NEITHER, fmin(a.scale, b.scale)};
    if (a.parity == MODES_NEITHER || b.parity == MODES_NEITHER) return a.parity == MODES_NEITHER ? a : b;
    return (dependence){MODES_NEITHER, fmin(size_a, size_b)};
}

static dependence of_operation(const probe *p, int number, int column, int flip) {
    const modes_operation *o = &p->l->operations[number];
    const int width = p->l->width, at_a = o->a * width + column, at_b = o->b * width + column;
    dependence a = p->found[at_a];
    if (!(o->columns >> column & 1)) return (dependence){MODES_ABSENT, 0};
    if (o->kind == MODES_LEVEL) return (dependence){MODES_EVEN, 0};
    if (o->kind == MODES_NEGATE) return a;
    const double size = size_of(p->plain[number * width + column]), size_a = size_of(p->plain[at_a]);
    if (o->kind == MODES_STENCIL) return of_stencil(p, o, flip, a, size, size_a);
    if (o->kind == MODES_ADD || o->kind == MODES_SUBTRACT)
        return of_sum(a, p->found[at_b], size_a, size_of(p->plain[at_b]));
    const double factor = fabs(p->constants[o->node]);
    a.scale = o->kind == MODES_SCALE ? a.scale * factor : a.scale / factor;
    return a;
}

/* ---- the symmetries of the matrix ----------------------------------------------------------- */

/* Finds the parities of all operations. */
static void find(const probe *p, int flip) {
    const int width = p->l->width;
    for (int i = 0; i < p->l->count; i++)
        for (int c = 0; c < width; c++) {
            dependence *d = &p->found[i * width + c];
            *d = of_operation(p, i, c, flip);
            if (d->parity != MODES_NEITHER) continue;
            const modes_pair plain = p->plain[i * width + c], other = p->flipped[i * width + c];
            if (size_of(modes_pair_add(plain, modes_pair_negate(other))) <= ALIKE * d->scale)
                d->parity = MODES_EVEN;
            else if (size_of(modes_pair_add(plain, other)) <= ALIKE * d->scale)
                d->parity = MODES_ODD;
        }
}

/* Are all factors of field g in the next state of field f of this parity, or absent? */
static bool is_only(const probe *p, int f, int g, modes_parity wanted) {
    for (int j = 0; j < p->l->task->system->fields[g].levels && p->l->root[f] >= 0; j++) {
        const modes_parity is = p->found[p->l->root[f] * p->l->width + p->l->first[g] + j].parity;
        if (is != MODES_ABSENT && is != wanted) return false;
    }
    return true;
}

/* axis < 0: is the whole matrix even? Else: does a step keep the signs of the images along the
 * axis? */
static bool keeps(const probe *p, int axis) {
    const int fields = p->l->task->system->nfields;
    for (int f = 0; f < fields; f++)
        for (int g = 0; g < fields; g++)
            for (int side = 0; side < 2; side++) {
                const int sign = axis < 0 ? 1 : p->l->axis[axis].sign[f][side] * p->l->axis[axis].sign[g][side];
                if (!is_only(p, f, g, sign > 0 ? MODES_EVEN : MODES_ODD)) return false;
            }
    return true;
}

/* Is 1 the determinant of the matrix for u and u - u.prev? Its rows are (a, b) and (a - 1, b), so
 * that the determinant is b. */
static bool has_determinant_one(const probe *p) {
    const int root = p->l->root[0];
    if (p->l->width != 2 || p->l->task->system->nfields != 1 || root < 0) return false;
    const modes_pair one = {modes_wide_of(1), modes_wide_of(0)};
    return size_of(modes_pair_add(p->plain[root * 2 + 1], modes_pair_negate(one))) <= ALIKE;
}

/* The frequencies are arbitrary, so that no symmetry holds there by chance. */
static bool find_symmetries(modes_linear *l, const probe *p, char *reason, size_t size) {
    static const double angles[2][3] = {{0.7316, 1.9271, 2.4173}, {2.7182, 0.3893, 1.1337}};
    l->real = l->even[0] = l->even[1] = l->determinant_one = true;
    for (int round = 0; round < 2; round++) {
        modes_pair at[3], flipped[3];
        for (int axis = 0; axis < 3; axis++)
            at[axis] = (modes_pair){modes_wide_of(cos(angles[round][axis])), modes_wide_of(sin(angles[round][axis]))};
        factors_at(p, at, p->plain);
        l->determinant_one = l->determinant_one && has_determinant_one(p);
        for (int flip = 0; flip < FLIPS; flip++) {
            for (int axis = 0; axis < 3; axis++) {
                flipped[axis] = at[axis];
                if (is_flipped(flip, axis)) flipped[axis].im = modes_negate(flipped[axis].im);
            }
            factors_at(p, flipped, p->flipped);
            find(p, flip);
            if (flip == 3) l->real = l->real && keeps(p, -1);
            if (flip < 2) l->even[flip] = l->even[flip] && keeps(p, -1);
            if (flip == 3 || !l->axis[flip].mirrored || keeps(p, flip)) continue;
            snprintf(reason, size, "its stencils do not keep the mirror symmetry of the sides along %c", 'z' - flip);
            return false;
        }
    }
    return true;
}

bool modes_analyse(const stn_system_task *task, modes_linear *l, char *reason, size_t size) {
    if (!modes_linear_make(task, l, reason, size)) return false;
    const modes_lanes *lanes = modes_lanes_at(0);
    const size_t factors = (size_t)(l->count * l->width);
    const size_t pairs = (size_t)(l->reach[0] + l->reach[1] + 2 + l->nterms + lanes->lanes) + 2 * factors;
    probe p = {.l = l, .lanes = lanes};
    p.constants = malloc((size_t)task->system->nnodes * sizeof *p.constants);
    p.powers[0] = malloc(pairs * sizeof *p.terms);
    p.found = malloc((factors + 1) * sizeof *p.found);
    p.scratch = aligned_alloc(64, lanes->scratch(l));
    bool served = p.constants && p.powers[0] && p.found && p.scratch;
    if (served) {
        p.powers[1] = p.powers[0] + l->reach[0] + 1, p.terms = p.powers[1] + l->reach[1] + 1;
        p.z = p.terms + l->nterms, p.plain = p.z + lanes->lanes, p.flipped = p.plain + factors;
        modes_generic_constants(l, p.constants);
        served = find_symmetries(l, &p, reason, size);
    } else
        snprintf(reason, size, "there is no memory for its matrices");
    free(p.constants);
    free(p.powers[0]);
    free(p.found);
    free(p.scratch);
    return served;
}
