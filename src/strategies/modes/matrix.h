/* The functions of lanes.h for one instruction set. Included once for each set, with
 *   SET     the set's name,
 *   TARGET  the attribute of functions that use the set,
 *   BYTES   the size of a vector in bytes. */
#define NAME_OF(name, set) name##_##set
#define NAME_IN(name, set) NAME_OF(name, set)
#define NAME(name) NAME_IN(name, SET)
#define LANES ((int)(BYTES / sizeof(double)))
#define INLINE TARGET static inline __attribute__((always_inline))

typedef double NAME(vector) __attribute__((vector_size(BYTES)));
typedef int64_t NAME(bits) __attribute__((vector_size(BYTES)));
#define REAL NAME(vector)
#define TOP(x) ((NAME(vector))((NAME(bits))(x)&MODES_TOP_BITS))
#include "strategies/modes/wide.h"

/* The scratch memory. Matrices have width * width numbers, row by row. */
typedef struct NAME(layout) {
    NAME(pair) * factors; /* of each operation, its factor of each number of the state */
    NAME(pair) * symbols, *powers;
    NAME(pair) * matrix, *power, *square;
    NAME(vector) * in;
} NAME(layout);

INLINE NAME(layout) NAME(lay_out)(const modes_linear *l, void *scratch) {
    const size_t w = (size_t)l->width, all = (w + 1) * (w + 1);
    NAME(layout) k;
    k.factors = scratch;
    k.symbols = k.factors + (size_t)(l->count + 1) * w;
    k.powers = k.symbols + l->nstencils;
    k.matrix = k.powers + l->reach[2] + 1;
    k.power = k.matrix + all;
    k.square = k.power + all;
    k.in = (NAME(vector) *)(k.square + all);
    return k;
}

TARGET static size_t NAME(scratch)(const modes_linear *l) {
    const size_t w = (size_t)l->width, all = (w + 1) * (w + 1);
    const size_t pairs = (size_t)(l->count + 1) * w + (size_t)l->nstencils + (size_t)l->reach[2] + 1 + 3 * all;
    return (size_t)stn_round_up((int64_t)(pairs * sizeof(NAME(pair)) + 2 * (w + 1) * sizeof(NAME(vector))), 256);
}

/* ---- the matrix of a step ------------------------------------------------------------------- */

INLINE NAME(wide) NAME(spread)(modes_wide x) {
    const NAME(vector) zero = {0};
    return (NAME(wide)){zero + x.top, zero + x.rest};
}

INLINE NAME(pair) NAME(spread_pair)(modes_pair x) { return (NAME(pair)){NAME(spread)(x.re), NAME(spread)(x.im)}; }

INLINE NAME(pair) NAME(gather)(const modes_pair *x) {
    NAME(pair) to;
    double *at = (double *)&to;
    for (int lane = 0; lane < LANES; lane++) {
        at[lane] = x[lane].re.top, at[LANES + lane] = x[lane].re.rest;
        at[2 * LANES + lane] = x[lane].im.top, at[3 * LANES + lane] = x[lane].im.rest;
    }
    return to;
}

/* Evaluates the stencils at each lane's frequency. */
TARGET static void NAME(find_symbols)(const modes_linear *l, const modes_pair *terms, const modes_pair *z,
                                      const NAME(layout) * k) {
    const NAME(vector) zero = {0};
    k->powers[0] = (NAME(pair)){NAME(spread)(modes_wide_of(1)), {zero, zero}};
    if (l->reach[2]) k->powers[1] = NAME(gather)(z);
    for (int o = 2; o <= l->reach[2]; o++) k->powers[o] = NAME(pair_times)(k->powers[o - 1], k->powers[1]);
    for (int i = 0; i < l->nstencils; i++) {
        const modes_stencil *s = &l->stencils[i];
        NAME(sum) re = {zero, zero}, im = re;
        for (int t = s->first; t < s->first + s->count; t++) {
            const int o = l->term[t];
            const NAME(pair) term = NAME(spread_pair)(terms[t]), p = k->powers[o < 0 ? -o : o];
            const NAME(wide) imaginary = o < 0 ? NAME(negate)(p.im) : p.im;
            NAME(add_product)(&re, term.re, p.re);
            NAME(add_product)(&re, NAME(negate)(term.im), imaginary);
            NAME(add_product)(&im, term.re, imaginary);
            NAME(add_product)(&im, term.im, p.re);
        }
        k->symbols[i] = (NAME(pair)){NAME(end)(re), NAME(end)(im)};
    }
}

INLINE NAME(pair) NAME(form_of)(const modes_operation *o, const NAME(pair) * a, const NAME(pair) * b, NAME(pair) symbol,
                                NAME(wide) factor, int c) {
    switch (o->kind) {
        case MODES_STENCIL:
            return NAME(pair_times)(a[c], symbol);
        case MODES_NEGATE:
            return NAME(pair_negate)(a[c]);
        case MODES_ADD:
            return NAME(pair_add)(a[c], b[c]);
        case MODES_SUBTRACT:
            return NAME(pair_add)(a[c], NAME(pair_negate)(b[c]));
        default:
            return NAME(pair_scale)(a[c], factor);
    }
}

/* Level l is the sum over j of (-1)^j (l choose j) times the difference of order j. */
INLINE void NAME(level_factors)(const modes_linear *l, const modes_operation *o, NAME(pair) * to) {
    const NAME(vector) zero = {0};
    double binomial = 1;
    for (int j = 0; j <= o->level; j++) {
        to[l->first[o->field] + j] = (NAME(pair)){{zero + binomial, zero}, {zero, zero}};
        binomial = -binomial * (o->level - j) / (j + 1);
    }
}

TARGET static void NAME(find_factors)(const modes_linear *l, const double *constants, const NAME(layout) * k) {
    const size_t w = (size_t)l->width;
    memset(k->factors, 0, (size_t)(l->count + 1) * w * sizeof *k->factors);
    for (int i = 0; i < l->count; i++) {
        const modes_operation *o = &l->operations[i];
        NAME(pair) *to = k->factors + (size_t)i * w;
        const NAME(pair) *a = k->factors + (size_t)o->a * w, *b = k->factors + (size_t)o->b * w;
        modes_wide factor = modes_wide_of(1);
        if (o->kind == MODES_LEVEL) {
            NAME(level_factors)(l, o, to);
            continue;
        }
        if (o->kind == MODES_SCALE) factor = modes_wide_of(constants[o->node]);
        if (o->kind == MODES_DIVIDE) factor = modes_reciprocal(constants[o->node]);
        const NAME(pair) symbol = k->symbols[o->kind == MODES_STENCIL ? o->stencil : 0];
        for (int c = 0; c < l->width; c++)
            if (o->columns >> c & 1) to[c] = NAME(form_of)(o, a, b, symbol, NAME(spread)(factor), c);
    }
}

/* The difference of order j of the next state is that of order j - 1, next minus present. */
TARGET static void NAME(fill)(const modes_linear *l, const double *constants, const modes_pair *terms,
                              const modes_pair *z, bool affine, void *scratch) {
    const NAME(layout) k = NAME(lay_out)(l, scratch);
    const int w = l->width, pitch = w + affine;
    const NAME(wide) minus_one = NAME(spread)(modes_wide_of(-1));
    NAME(find_symbols)(l, terms, z, &k);
    NAME(find_factors)(l, constants, &k);
    memset(k.matrix, 0, (size_t)(pitch * pitch) * sizeof *k.matrix);
    for (int f = 0; f < l->task->system->nfields; f++) {
        NAME(pair) *row = k.matrix + l->first[f] * pitch;
        if (l->root[f] >= 0) memcpy(row, k.factors + (size_t)l->root[f] * (size_t)w, (size_t)w * sizeof *row);
        if (affine) row[w].re = NAME(spread)(modes_wide_of(constants[l->root_node[f]]));
        for (int j = 1; j < l->task->system->fields[f].levels; j++) {
            memcpy(row + j * pitch, row + (j - 1) * pitch, (size_t)pitch * sizeof *row);
            NAME(wide) *own = &row[j * pitch + l->first[f] + j - 1].re;
            *own = NAME(add)(*own, minus_one);
        }
    }
    if (affine) k.matrix[w * pitch + w].re = NAME(spread)(modes_wide_of(1));
}

TARGET static modes_pair NAME(factor)(const modes_linear *l, int operation, int column, const void *scratch) {
    const double *at = (const double *)(NAME(lay_out)(l, (void *)scratch).factors + operation * l->width + column);
    return (modes_pair){{at[0], at[LANES]}, {at[2 * LANES], at[3 * LANES]}};
}

/* ---- its power ------------------------------------------------------------------------------ */

INLINE void NAME(multiply)(const NAME(pair) * a, const NAME(pair) * b, NAME(pair) * to, int w, const bool narrow,
                           const bool real) {
    const NAME(vector) zero = {0};
    for (int i = 0; i < w; i++)
        for (int j = 0; j < w; j++) {
            NAME(sum) re = {zero, zero}, im = re;
            for (int m = 0; m < w; m++) {
                const NAME(pair) *x = &a[i * w + m], *y = &b[m * w + j];
                if (narrow) {
                    re.sum += x->re.top * y->re.top;
                    if (!real) re.sum -= x->im.top * y->im.top;
                    if (!real) im.sum += x->re.top * y->im.top + x->im.top * y->re.top;
                    continue;
                }
                NAME(add_product)(&re, x->re, y->re);
                if (real) continue;
                NAME(add_product)(&re, NAME(negate)(x->im), y->im);
                NAME(add_product)(&im, x->re, y->im);
                NAME(add_product)(&im, x->im, y->re);
            }
            NAME(pair) *made = &to[i * w + j];
            made->re = narrow ? (NAME(wide)){re.sum, zero} : NAME(end)(re);
            if (!real) made->im = narrow ? (NAME(wide)){im.sum, zero} : NAME(end)(im);
        }
}

/* Sets tiny numbers to 0. Returns false if all are. */
INLINE bool NAME(is_alive)(NAME(wide) * x) {
    const NAME(bits) tiny = (x->top < TINY) & (x->top > -TINY);
    int64_t dead = -1;
    for (int lane = 0; lane < LANES; lane++) dead &= tiny[lane];
    x->top = (NAME(vector))((NAME(bits))x->top & ~tiny);
    x->rest = (NAME(vector))((NAME(bits))x->rest & ~tiny);
    return !dead;
}

/* Squares, and multiplies by the matrix where a bit of `steps` is set, from the leading bit on. */
INLINE void NAME(raise_by)(const NAME(layout) * k, int w, uint64_t steps, const bool narrow, const bool real) {
    NAME(pair) *power = k->power, *square = k->square;
    bool alive = true;
    for (int bit = 62 - __builtin_clzll(steps); bit >= 0 && alive; bit--) {
        NAME(multiply)(power, power, square, w, narrow, real);
        if (steps >> bit & 1)
            NAME(multiply)(square, k->matrix, power, w, narrow, real);
        else {
            NAME(pair) *swap = power;
            power = square, square = swap;
        }
        alive = false;
        for (int i = 0; i < w * w; i++) {
            alive |= NAME(is_alive)(&power[i].re);
            if (!real) alive |= NAME(is_alive)(&power[i].im);
        }
    }
    if (power != k->power) memcpy(k->power, power, (size_t)(w * w) * sizeof *power);
}

TARGET static void NAME(raise)(const modes_linear *l, uint64_t steps, bool narrow, bool affine, void *scratch) {
    const NAME(layout) k = NAME(lay_out)(l, scratch);
    const int w = l->width + affine;
    for (int i = 0; i < w * w && narrow; i++) {
        NAME(pair) *x = &k.matrix[i];
        x->re.top += x->re.rest, x->im.top += x->im.rest;
        x->re.rest -= x->re.rest, x->im.rest -= x->im.rest;
    }
    memcpy(k.power, k.matrix, (size_t)(w * w) * sizeof *k.matrix);
    if (narrow && l->real)
        NAME(raise_by)(&k, w, steps, true, true);
    else if (narrow)
        NAME(raise_by)(&k, w, steps, true, false);
    else if (l->real)
        NAME(raise_by)(&k, w, steps, false, true);
    else
        NAME(raise_by)(&k, w, steps, false, false);
}

TARGET static size_t NAME(power_bytes)(const modes_linear *l) {
    const size_t w = (size_t)(l->width + l->affine);
    return w * w * (l->real ? sizeof(NAME(wide)) : sizeof(NAME(pair)));
}

TARGET static void NAME(save)(const modes_linear *l, bool affine, const void *scratch, void *to) {
    const NAME(layout) k = NAME(lay_out)(l, (void *)scratch);
    const int w = l->width + affine;
    if (!l->real) memcpy(to, k.power, (size_t)(w * w) * sizeof *k.power);
    for (int i = 0; i < w * w && l->real; i++) ((NAME(wide) *)to)[i] = k.power[i].re;
}

TARGET static void NAME(restore)(const modes_linear *l, bool affine, const void *from, void *scratch) {
    const NAME(layout) k = NAME(lay_out)(l, scratch);
    const int w = l->width + affine;
    if (!l->real) memcpy(k.power, from, (size_t)(w * w) * sizeof *k.power);
    for (int i = 0; i < w * w && l->real; i++) k.power[i].re = ((const NAME(wide) *)from)[i];
}

/* ---- applying it ---------------------------------------------------------------------------- */

INLINE void NAME(load)(const double *from, int count, NAME(vector) * to) {
    double *re = (double *)to, *im = re + LANES;
    for (int lane = 0; lane < LANES; lane++) {
        re[lane] = lane < count ? from[2 * lane] : 0;
        im[lane] = lane < count ? from[2 * lane + 1] : 0;
    }
}

INLINE void NAME(store)(double *to, int count, NAME(vector) re, NAME(vector) im) {
    for (int lane = 0; lane < count; lane++) to[2 * lane] = re[lane], to[2 * lane + 1] = im[lane];
}

/* Products of the small parts (`rest`) have a sum of their own, so that they are not lost in the
 * sum of the large ones. */
INLINE void NAME(apply_row)(const NAME(pair) * row, const NAME(vector) * in, int w, const bool real,
                            NAME(vector) to[2]) {
    const NAME(vector) zero = {0};
    NAME(vector) re = zero, im = zero, small_re = zero, small_im = zero;
    for (int j = 0; j < w; j++) {
        const NAME(vector) x = in[2 * j], y = in[2 * j + 1];
        const NAME(pair) p = row[j];
        re += p.re.top * x, im += p.re.top * y;
        small_re += p.re.rest * x, small_im += p.re.rest * y;
        if (real) continue;
        re -= p.im.top * y, im += p.im.top * x;
        small_re -= p.im.rest * y, small_im += p.im.rest * x;
    }
    to[0] = re + small_re, to[1] = im + small_im;
}

TARGET static void NAME(apply)(const modes_linear *l, const modes_target *t, bool affine, void *scratch) {
    const NAME(layout) k = NAME(lay_out)(l, scratch);
    const int w = l->width, pitch = w + affine;
    for (int r = 0; r < t->rows; r++)
        for (int64_t g = 0; g < t->grids; g++) {
            double *from = t->from + 2 * (g * t->grid + t->row[r] + t->first);
            const int64_t next = 2 * t->grids * t->grid; /* from number to number of the state */
            for (int i = 0; i < w; i++) NAME(load)(from + i * next, t->count, &k.in[2 * i]);
            const NAME(vector) zero = {0};
            k.in[2 * w] = k.in[2 * w + 1] = zero;
            if (affine) ((double *)&k.in[2 * w])[0] = t->ones;
            for (int i = 0; i < w; i++) {
                NAME(vector) made[2];
                if (l->real)
                    NAME(apply_row)(k.power + i * pitch, k.in, pitch, true, made);
                else
                    NAME(apply_row)(k.power + i * pitch, k.in, pitch, false, made);
                NAME(store)(from + i * next, t->count, made[0], made[1]);
            }
        }
}

static const modes_lanes NAME(lanes) = {LANES,        NAME(scratch), NAME(fill),
                                        NAME(factor), NAME(raise),   NAME(power_bytes),
                                        NAME(save),   NAME(restore), NAME(apply)};

#undef NAME_OF
#undef NAME_IN
#undef NAME
#undef LANES
#undef INLINE
#undef REAL
#undef TOP
#undef SET
#undef TARGET
#undef BYTES
