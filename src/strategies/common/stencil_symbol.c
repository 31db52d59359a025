/* The symbol of a stencil, 1 - K, as sums along one axis in long double. */
#include "strategies/common/stencil_symbol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POWER 4    /* of s in a sum of its powers: higher ones lose digits */
#define MANY 8         /* taps along an axis from which a transform is cheaper */
#define MANY_PAIRS 128 /* largest number of taps whose pairs are compared */

static const long double pi = 3.14159265358979323846264338327950288L;

typedef struct complex_ld {
    long double re, im;
} complex_ld;

static complex_ld times(complex_ld a, complex_ld b) {
    /* The static analyser cannot follow the table of these numbers. */
    /* NOLINT(clang-analyzer-core.*). */
    return (complex_ld){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* ---- exp(2 pi i j / n) and 1 - exp(2 pi i j / n) for all j */

/* Half angles pi j / n in increasing order: each FINE-th by sine and cosine, those in between by
 * products. Near 0 sines keep their relative error. */
enum { FINE = 64 };
typedef struct half_angles {
    int64_t n, next;
    complex_ld fine[FINE], coarse; /* cosine, sine */
} half_angles;

static complex_ld half_angle(int64_t j, int64_t n) {
    complex_ld at;
    sincosl(pi * (long double)j / (long double)n, &at.im, &at.re);
    return at;
}

static half_angles half_angles_of(int64_t n) {
    half_angles h = {.n = n, .coarse = {1, 0}};
    for (int64_t j = 0; j < FINE && 2 * j <= n; j++) h.fine[j] = half_angle(j, n);
    return h;
}

/* 1 - exp(2 pi i j / n) for the next j; its real part is 2 sin^2(pi j / n). */
static complex_ld next_one_minus(half_angles *h) {
    const int64_t j = h->next++;
    if (j && j % FINE == 0) h->coarse = half_angle(j, h->n);
    const complex_ld at = j < FINE ? h->fine[j] : times(h->coarse, h->fine[j % FINE]);
    return (complex_ld){2 * at.im * at.im, -2 * at.im * at.re};
}

static complex_ld *one_minus_table(int64_t n) {
    complex_ld *table = calloc((size_t)n, sizeof *table);
    half_angles h = half_angles_of(n);
    for (int64_t j = 0; table && 2 * j <= n; j++) {
        const complex_ld one_minus = next_one_minus(&h);
        if (j) table[n - j] = (complex_ld){one_minus.re, -one_minus.im};
        table[j] = one_minus;
    }
    return table;
}

static int64_t root_index(int64_t frequency, int64_t offset, int64_t n) {
    /* |offset| is small, and 32-bit divisions take half the time. */
    int64_t j = frequency * offset;
    j = llabs(j) <= INT32_MAX && n <= INT32_MAX ? (int32_t)j % (int32_t)n : j % n;
    return j < 0 ? j + n : j;
}

/* ---- form */

stn_symbol stn_symbol_form(const stn_task *task, int axis, const int64_t length[3], bool transforms) {
    stn_symbol s = {.axis = axis, .plain = true, .high = task->reach[axis][1], .low = task->reach[axis][0]};
    memcpy(s.length, length, sizeof s.length);
    for (int k = 0; k < 3; k++) s.plain = s.plain && stn_task_is_symmetric(task, k);
    s.plain = s.plain && s.high <= MAX_POWER;
    if (s.plain) s.low = 0;
    s.taps = !s.plain && transforms && task->steps == 1 && s.high + s.low >= MANY && length[axis] > s.high + s.low;
    s.parts = s.plain ? 1 + s.high : 2 * (1 + s.high + s.low);
    return s;
}

size_t stn_symbol_angles(const stn_symbol *s, double *to) {
    const int64_t n = s->length[s->axis], count = n / 2 + 1;
    half_angles h = half_angles_of(n);
    for (int64_t k = 0; to && k < count; k++) {
        const complex_ld one_minus = next_one_minus(&h);
        if (s->plain)
            to[k] = (double)(2 * one_minus.re);
        else
            to[2 * k] = (double)one_minus.re, to[2 * k + 1] = (double)-one_minus.im;
    }
    return (size_t)(s->plain ? count : 2 * count);
}

/* ---- parts */

/* Sums of weights by their offset along the axis, and 1 - K(theta = 0) separately. */
typedef struct line {
    complex_ld one_minus;                   /* 1 - sum of all */
    complex_ld sum[2 * STN_MAX_RADIUS + 1]; /* sums at offsets -low .. high */
    long double chebyshev[MAX_POWER + 1][MAX_POWER + 1];
} line;

/* A group of taps that differ only in their offset along the first of the other axes. Many lines
 * share a frequency of that axis, and the sum over the group is computed once for all of them: 1 -
 * (1 - a)(1 - b) = b + a (1 - b), where a and b are the distances of the two axes' factors from 1.
 * Where weights are symmetric along an axis, one group represents its mirror images too: the sum of
 * b and its conjugate is twice the real part of b. */
typedef struct tap_group {
    int64_t across; /* offset along the second of the other axes */
    int number;     /* index of that offset */
    int along;      /* index in a line's sums */
    bool varies;    /* some taps have an offset along the first axis; otherwise `one_minus` is 0 */
    long double weight;
    complex_ld one_minus; /* weights times a */
    long double copies;   /* number of mirror images along the line, itself included */
} tap_group;

typedef struct tap_groups {
    tap_group *list;
    size_t count;
    /* Distinct offsets along the second of the other axes. */
    int64_t offset[2 * STN_MAX_RADIUS + 1];
    int offsets;
    int *of_tap;        /* the group of each tap; negative: a mirror image of it */
    long double rest;   /* 1 - sum of all weights */
    bool across, along; /* weights are symmetric in this direction */
    /* Taps with an offset along the line have no other, so lines differ in `one_minus` only. */
    bool star;
} tap_groups;

static void tap_groups_clear(tap_groups *c) { free(c->list), free(c->of_tap); }

/* The number of groups that `each` represents: 2 if it stands for its image at -across too. */
static int mirror_count(const tap_groups *c, const tap_group *each) { return c->across && each->across ? 2 : 1; }

/* Keeps only one of several mirror images. */
static void drop_mirrored(tap_groups *c, size_t ntaps, int low) {
    int kept = 0, *place = c->of_tap + ntaps; /* index of each retained group */
    for (size_t k = 0; k < c->count; k++) {
        tap_group each = c->list[k];
        each.copies = c->along && each.along != low ? 2 : 1;
        each.weight *= mirror_count(c, &each);
        const bool stays = (!c->across || each.across >= 0) && (!c->along || each.along >= low);
        place[k] = stays ? kept : -1;
        if (stays) c->list[kept++] = each;
    }
    for (size_t i = 0; i < ntaps; i++) c->of_tap[i] = place[c->of_tap[i]];
    c->count = (size_t)kept;
}

static void number_offsets(tap_groups *c) {
    for (size_t k = 0; k < c->count; k++) {
        tap_group *each = &c->list[k];
        while (each->number < c->offsets && c->offset[each->number] != each->across) each->number++;
        if (each->number == c->offsets) c->offset[c->offsets++] = each->across;
    }
}

static bool is_star(const tap_groups *c, int low) {
    for (size_t k = 0; k < c->count; k++)
        if (c->list[k].along != low && (c->list[k].across || c->list[k].varies)) return false;
    return true;
}

static bool tap_groups_make(const stn_symbol *s, const stn_task *task, int first_axis, int across, tap_groups *c) {
    const int low = task->reach[s->axis][0], wide_along = low + task->reach[s->axis][1] + 1;
    const int first = task->reach[across][0], wide_across = first + task->reach[across][1] + 1;
    /* The group at each position, from 1 on. */
    int *number = calloc((size_t)wide_along * (size_t)wide_across, sizeof *number);
    *c = (tap_groups){.list = malloc(task->ntaps * sizeof *c->list),
                      .of_tap = malloc(2 * task->ntaps * sizeof *c->of_tap),
                      .rest = 1,
                      .across = stn_task_is_symmetric(task, across),
                      .along = stn_task_is_symmetric(task, s->axis)};
    const bool good = number && c->list && c->of_tap;
    for (size_t i = 0; good && i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset;
        const int along = (int)o[s->axis] + low;
        int *at = &number[((int)o[across] + first) * wide_along + along];
        if (!*at) {
            c->list[c->count++] = (tap_group){.across = o[across], .along = along};
            *at = (int)c->count;
        }
        c->of_tap[i] = *at - 1;
        c->list[*at - 1].weight += task->taps[i].weight;
        c->list[*at - 1].varies |= o[first_axis] != 0;
        c->rest -= task->taps[i].weight;
    }
    if (good) drop_mirrored(c, task->ntaps, low), number_offsets(c), c->star = is_star(c, low);
    free(number);
    return good;
}

static void add_one_minus(line *l, const tap_group *each, complex_ld one_minus) {
    complex_ld *sum = &l->sum[each->along];
    sum->re += each->weight - one_minus.re, sum->im -= one_minus.im;
    l->one_minus.re += each->copies * one_minus.re, l->one_minus.im += each->copies * one_minus.im;
}

/* Evaluates the groups at one frequency of the first of the other axes. *all: the common part of
 * all its lines, from groups without an offset along the second. */
static void tap_groups_evaluate(tap_groups *c, const stn_symbol *s, const stn_task *task, int axis,
                                const complex_ld *table, int64_t place, line *all) {
    const int count = task->reach[s->axis][0] + task->reach[s->axis][1] + 1;
    for (size_t k = 0; k < c->count; k++) c->list[k].one_minus = (complex_ld){0, 0};
    for (size_t i = 0; i < task->ntaps; i++) {
        const stn_tap *tap = &task->taps[i];
        if (c->of_tap[i] < 0) continue;
        const complex_ld a = table[root_index(place, tap->offset[axis], s->length[axis])];
        complex_ld *one_minus = &c->list[c->of_tap[i]].one_minus;
        one_minus->re += tap->weight * a.re, one_minus->im += tap->weight * a.im;
    }
    memset(all->sum, 0, (size_t)count * sizeof *all->sum);
    all->one_minus = (complex_ld){c->rest, 0};
    for (size_t k = 0; k < c->count; k++) {
        tap_group *each = &c->list[k];
        each->one_minus.re *= mirror_count(c, each), each->one_minus.im *= mirror_count(c, each);
        if (!each->across) add_one_minus(all, each, each->one_minus);
    }
}

/* Sums the groups from number k on that have the same position on the line and an offset along the
 * second of the other axes only, with the real part of b; returns their number. */
static size_t sum_run(const tap_groups *c, size_t k, const complex_ld *factors, line *l, long double *re_one_minus) {
    const tap_group *const first = &c->list[k];
    long double weight = 0, re = 0;
    size_t count = 0;
    for (; k + count < c->count; count++) {
        const tap_group *each = first + count;
        if (each->along != first->along || !each->across || each->varies) break;
        weight += each->weight, re += each->weight * factors[each->number].re;
    }
    l->sum[first->along].re += weight - re;
    *re_one_minus += first->copies * re;
    return count;
}

/* Computes a line's sums. A large grid has half a million lines, so zeros are skipped. */
static void sum_tap_groups(const tap_groups *c, const stn_symbol *s, const stn_task *task, int axis,
                           const complex_ld *table, int64_t place, const line *all, line *l) {
    const int count = task->reach[s->axis][0] + task->reach[s->axis][1] + 1;
    long double re_one_minus = 0;
    complex_ld factors[2 * STN_MAX_RADIUS + 1]; /* one for each offset */
    for (int i = 0; i < c->offsets; i++) {
        factors[i] = table[root_index(place, c->offset[i], s->length[axis])];
        if (c->across) factors[i].im = 0;
    }
    memcpy(l->sum, all->sum, (size_t)count * sizeof *l->sum);
    l->one_minus = all->one_minus;
    for (size_t k = 0; k < c->count; k++) {
        const tap_group *each = &c->list[k];
        if (!each->across) continue;
        const complex_ld b = factors[each->number];
        if (!each->varies && (s->plain || c->across)) {
            k += sum_run(c, k, factors, l, &re_one_minus) - 1;
            continue;
        }
        if (s->plain) { /* the imaginary part is not needed */
            const long double re =
                each->weight * b.re + each->one_minus.re - (each->one_minus.re * b.re - each->one_minus.im * b.im);
            l->sum[each->along].re += each->weight - re;
            re_one_minus += each->copies * re;
            continue;
        }
        complex_ld one_minus = {each->weight * b.re, each->weight * b.im};
        if (each->varies) {
            const complex_ld both = times(each->one_minus, b);
            one_minus.re += each->one_minus.re - both.re, one_minus.im += each->one_minus.im - both.im;
        }
        add_one_minus(l, each, one_minus);
    }
    l->one_minus.re += re_one_minus;
    for (int low = task->reach[s->axis][0], d = 1; c->along && d <= low; d++) l->sum[low - d] = l->sum[low + d];
}

/* 2 - 2 cos(d theta) as a polynomial in s without its constant term, which is 0: coefficients of
 * s^1 .. s^d. */
static void chebyshev(int d, long double g[MAX_POWER + 1]) {
    long double before[MAX_POWER + 1] = {0}, now[MAX_POWER + 1] = {0, 1};
    for (int k = 1; k < d; k++) { /* g_(k+1) = 2 g_k - g_(k-1) + 2 s - s g_k */
        long double next[MAX_POWER + 1] = {0};
        for (int j = 1; j <= k + 1; j++) next[j] = 2 * now[j] - before[j] - now[j - 1];
        next[1] += 2;
        memcpy(before, now, sizeof now);
        memcpy(now, next, sizeof now);
    }
    memcpy(g, now, sizeof now);
}

static void put_line(const stn_symbol *s, const stn_task *task, const line *l, double *parts) {
    int low = task->reach[s->axis][0], high = task->reach[s->axis][1];
    const complex_ld *centre = &l->sum[low];
    if (s->plain) {
        long double p[MAX_POWER + 1] = {0};
        for (int d = 1; d <= high; d++)
            for (int j = 1; j <= d; j++) p[j] += centre[d].re * l->chebyshev[d][j];
        parts[0] = (double)l->one_minus.re;
        for (int j = 1; j <= high; j++) parts[j] = (double)p[j];
        return;
    }
    parts[0] = (double)l->one_minus.re, parts[1] = (double)l->one_minus.im;
    for (int way = 0; way < 2; way++) {
        int terms = way ? low : high;
        double *to = parts + 2 * (way ? 1 + high : 1);
        complex_ld sum = {0, 0};
        for (int j = terms - 1; j >= 0; j--) {
            const complex_ld *w = way ? centre - (j + 1) : centre + (j + 1);
            sum.re += w->re, sum.im += w->im;
            to[2 * j] = (double)sum.re, to[2 * j + 1] = (double)sum.im;
        }
    }
}

static int first_of_others(const stn_symbol *s) { return s->axis == 0 ? 1 : 0; }
static int second_of_others(const stn_symbol *s) { return s->axis == 2 ? 1 : 2; }

struct stn_symbol_tables {
    complex_ld *first, *second; /* tables of the other axes */
};

stn_symbol_tables *stn_symbol_tables_make(const stn_symbol *s) {
    stn_symbol_tables *tables = calloc(1, sizeof *tables);
    if (!tables) return NULL;
    *tables = (stn_symbol_tables){one_minus_table(s->length[first_of_others(s)]),
                                  one_minus_table(s->length[second_of_others(s)])};
    if (tables->first && tables->second) return tables;
    stn_symbol_tables_free(tables);
    return NULL;
}

void stn_symbol_tables_free(stn_symbol_tables *tables) {
    if (tables) free(tables->first), free(tables->second);
    free(tables);
}

/* ---- the weights along the axis, as complex numbers that are transformed later */

/* The weights at one frequency of the first of the other axes. Those at the offsets d and -d along
 * the second are a pair: w(d) exp(i t) + w(-d) exp(-i t) = even cos t + odd sin t, where
 * even = w(d) + w(-d) and odd = i (w(d) - w(-d)). */
typedef struct tap_pairs {
    int rows, width;         /* offsets along the axis; elements of a row: 1 + the largest d */
    int *most;               /* of each row: the largest d */
    complex_ld *even, *odd;  /* [rows][width] */
    complex_ld *cosine_sine; /* of a line, for each d */
    bool real;               /* all weights are real: even has no imaginary part, odd no real one */
    /* NULL in f64. In other dtypes, the real and the imaginary part of even, then those of odd, as
     * double, each [width][rows]. */
    double *narrow[4];
} tap_pairs;

static bool tap_pairs_make(const stn_symbol *s, const stn_task *task, int first, int second, tap_pairs *p) {
    const int *const reach = task->reach[second];
    *p = (tap_pairs){.rows = s->low + s->high + 1, .width = 1 + (reach[0] > reach[1] ? reach[0] : reach[1])};
    const size_t size = (size_t)p->rows * (size_t)p->width;
    p->most = calloc((size_t)p->rows, sizeof *p->most);
    p->even = malloc((2 * size + (size_t)p->width) * sizeof *p->even);
    if (!p->most || !p->even) return false;
    p->odd = p->even + size, p->cosine_sine = p->odd + size;
    p->real = task->reach[first][0] + task->reach[first][1] == 0;
    for (int k = 0; k < 4 && task->dtype != STN_F64; k++)
        if (!(p->narrow[k] = k ? p->narrow[k - 1] + size : malloc(4 * size * sizeof(double)))) return false;
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset;
        int *const most = &p->most[o[s->axis] + s->low];
        if (llabs(o[second]) > *most) *most = (int)llabs(o[second]);
    }
    return true;
}

static void tap_pairs_evaluate(tap_pairs *p, const stn_symbol *s, const stn_task *task, int first, int second,
                               const complex_ld *table, int64_t place) {
    memset(p->even, 0, 2 * (size_t)p->rows * (size_t)p->width * sizeof *p->even);
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset, across = o[second];
        const int at = ((int)o[s->axis] + s->low) * p->width + (int)llabs(across);
        const complex_ld one_minus = table[root_index(place, o[first], s->length[first])];
        const long double weight = task->taps[i].weight, re = weight - weight * one_minus.re,
                          im = -weight * one_minus.im;
        p->even[at].re += re, p->even[at].im += im;
        p->odd[at].re -= across < 0 ? -im : im, p->odd[at].im += across < 0 ? -re : re;
    }
    for (int row = 0; row < p->rows && p->narrow[0]; row++)
        for (int d = 0; d < p->width; d++) {
            const int from = row * p->width + d, to = d * p->rows + row;
            p->narrow[0][to] = (double)p->even[from].re, p->narrow[1][to] = (double)p->even[from].im;
            p->narrow[2][to] = (double)p->odd[from].re, p->narrow[3][to] = (double)p->odd[from].im;
        }
}

/* All rows at once, which is vectorisable. */
static void put_narrow_taps(const tap_pairs *p, double *parts) {
    double re[2 * STN_MAX_RADIUS + 1] = {0}, im[2 * STN_MAX_RADIUS + 1] = {0};
    for (int d = 0; d < p->width; d++) {
        const double cosine = (double)p->cosine_sine[d].re, sine = (double)p->cosine_sine[d].im, *narrow[4];
        for (int k = 0; k < 4; k++) narrow[k] = p->narrow[k] + (size_t)d * (size_t)p->rows;
        for (int row = 0; row < p->rows; row++) re[row] += narrow[0][row] * cosine, im[row] += narrow[3][row] * sine;
        for (int row = 0; row < p->rows && !p->real; row++)
            re[row] += narrow[2][row] * sine, im[row] += narrow[1][row] * cosine;
    }
    for (int row = 0; row < p->rows; row++) parts[2 * row] = re[row], parts[2 * row + 1] = im[row];
}

/* The weights along the axis at one frequency of both other axes. */
static void put_taps(const tap_pairs *p, const stn_symbol *s, int second, const complex_ld *table, int64_t place,
                     double *parts) {
    complex_ld *const cs = p->cosine_sine;
    for (int d = 0; d < p->width; d++) {
        const complex_ld one_minus = table[root_index(place, d, s->length[second])];
        cs[d] = (complex_ld){1 - one_minus.re, -one_minus.im};
    }
    if (p->narrow[0]) {
        put_narrow_taps(p, parts);
        return;
    }
    for (int row = 0; row < p->rows; row++) {
        const complex_ld *const even = p->even + (size_t)row * (size_t)p->width;
        const complex_ld *const odd = p->odd + (size_t)row * (size_t)p->width;
        long double re = 0, im = 0;
        for (int d = 0; d <= p->most[row]; d++) re += even[d].re * cs[d].re, im += odd[d].im * cs[d].im;
        for (int d = 0; !p->real && d <= p->most[row]; d++) re += odd[d].re * cs[d].im, im += even[d].im * cs[d].re;
        *parts++ = (double)re, *parts++ = (double)im;
    }
}

static bool make_taps(const stn_symbol *s, const stn_task *task, const stn_symbol_tables *tables, int64_t count,
                      const int64_t *const place[2], double *parts) {
    const int first = first_of_others(s), second = second_of_others(s);
    tap_pairs p;
    const bool good = tap_pairs_make(s, task, first, second, &p);
    for (int64_t i = 0; good && i < count; i++) {
        if (i == 0 || place[0][i] != place[0][i - 1])
            tap_pairs_evaluate(&p, s, task, first, second, tables->first, place[0][i]);
        put_taps(&p, s, second, tables->second, place[1][i], parts + i * s->parts);
    }
    free(p.most), free(p.even), free(p.narrow[0]);
    return good;
}

bool stn_symbol_parts_by(const stn_symbol *s, const stn_task *task, const stn_symbol_tables *tables, int64_t count,
                         const int64_t *const place[2], double *parts) {
    if (s->taps) return make_taps(s, task, tables, count, place, parts);
    const int first = first_of_others(s), second = second_of_others(s);
    line *l = malloc(2 * sizeof *l), *all = l + 1;
    tap_groups c;
    bool good = tap_groups_make(s, task, first, second, &c) && l;
    for (int d = 1; good && s->plain && d <= task->reach[s->axis][1]; d++) chebyshev(d, l->chebyshev[d]);
    for (int64_t i = 0; good && i < count; i++) {
        if (i == 0 || place[0][i] != place[0][i - 1])
            tap_groups_evaluate(&c, s, task, first, tables->first, place[0][i], all);
        sum_tap_groups(&c, s, task, second, tables->second, place[1][i], all, l);
        double *const to = parts + i * s->parts;
        if (i == 0 || !c.star) {
            put_line(s, task, l, to);
            continue;
        }
        memcpy(to, parts, (size_t)s->parts * sizeof *to);
        to[0] = (double)l->one_minus.re;
        if (!s->plain) to[1] = (double)l->one_minus.im;
    }
    tap_groups_clear(&c);
    free(l);
    return good;
}

bool stn_symbol_parts(const stn_symbol *s, const stn_task *task, int64_t count, const int64_t *const place[2],
                      double *parts) {
    stn_symbol_tables *tables = stn_symbol_tables_make(s);
    const bool good = tables && stn_symbol_parts_by(s, task, tables, count, place, parts);
    stn_symbol_tables_free(tables);
    return good;
}

/* In the plain form, real parts agree at opposite frequencies and imaginary ones are negated; these
 * matter where a group has offsets along both of the other axes. They are exactly 0 if its taps are
 * at most one pair there. */
bool stn_symbol_mirrored(const stn_symbol *s, const stn_task *task) {
    const int first = first_of_others(s), second = second_of_others(s);
    if (!s->plain || task->ntaps > MANY_PAIRS) return false;
    for (size_t i = 0; i < task->ntaps; i++)
        for (size_t k = 0; k < i; k++) {
            const int64_t *a = task->taps[i].offset, *b = task->taps[k].offset;
            if (a[second] && a[second] == b[second] && a[s->axis] == b[s->axis] && a[first] > 0 && b[first] > 0)
                return false;
        }
    return true;
}
