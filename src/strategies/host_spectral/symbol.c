/* Multiplies spectra by the symbol's power K^T, for several lines at a time. */
#include "strategies/host_spectral/passes.h"
#include "strategies/host_spectral/power.h"

typedef struct powers {
    const shape *s;
    uint64_t steps;
    int top;
    double dead; /* If 1 - |K| exceeds it, K^steps is negligible. */
    bool adds;
} powers;

/* ---- 1 - K at a frequency, from its coefficients (common/symbol.h) --------------------------- */

static double real_away(const stn_symbol *form, const double *parts, double angle) {
    double sum = form->high ? parts[form->high] : 0;
    for (int j = form->high - 1; j >= 1; j--) sum = sum * angle + parts[j];
    return parts[0] + (form->high ? angle * sum : 0);
}

static pair polynomial(const double *parts, int terms, pair z) {
    pair sum = {0, 0};
    for (int j = terms - 1; j >= 0; j--) {
        sum = pair_times(sum, z);
        sum.re += parts[2 * j], sum.im += parts[2 * j + 1];
    }
    return sum;
}

/* turn: (1 - cos, sin) of the frequency's angle. */
static pair pair_away(const stn_symbol *form, const double *parts, pair turn) {
    const pair z = {1 - turn.re, turn.im}, back = {z.re, -z.im}, away = {turn.re, -turn.im};
    const pair high = pair_times(away, polynomial(parts + 2, form->high, z));
    const pair low = pair_times(turn, polynomial(parts + 2 + 2 * form->high, form->low, back));
    return (pair){parts[0] + high.re + low.re, parts[1] + high.im + low.im};
}

/* The same from the values of both polynomials. */
static pair wide_away(const double *parts, pair turn, pair high, pair low) {
    const pair a = pair_times((pair){turn.re, -turn.im}, high), b = pair_times(turn, low);
    return (pair){parts[0] + a.re + b.re, parts[1] + a.im + b.im};
}

void symbol_coefficients(const shape *s, int which, int64_t line, stn_planes to, int64_t lanes) {
    const stn_symbol *form = &s->symbol;
    const int terms = which ? form->low : form->high, skipped = which ? 2 + 2 * form->high : 2;
    const int64_t length = s->axis[s->last].length;
    for (int64_t i = 0; i < length * lanes; i++) to.re[i] = to.im[i] = 0;
    for (int64_t l = 0; l < lanes; l++) {
        const double *from = s->parts + (line + l) * form->parts + skipped;
        /* Exponents are taken modulo the line's length, which may be less than the number of
         * taps. */
        for (int64_t j = 0; j < terms; j++) {
            to.re[j % length * lanes + l] += from[2 * j];
            to.im[j % length * lanes + l] += from[2 * j + 1];
        }
    }
}

/* ---- one frequency --------------------------------------------------------------------------- */

static void apply_real(const powers *p, double away, double *re, double *im, const double *b_re, const double *b_im) {
    const real_power power = power_of_real(away, p->steps, p->top, p->dead);
    *re *= power.taken, *im *= power.taken;
    if (!p->adds) return;
    const double sum = real_sum(power.less, away, p->steps);
    *re += sum * *b_re, *im += sum * *b_im;
}

static void apply_pair(const powers *p, pair away, double *re, double *im, const double *b_re, const double *b_im) {
    const pair_power power = power_of_pair(away, p->steps, p->top, p->dead);
    pair x = pair_times((pair){*re, *im}, power.taken);
    if (p->adds) {
        const pair added = pair_times((pair){*b_re, *b_im}, pair_sum(power.less, away, p->steps));
        x.re += added.re, x.im += added.im;
    }
    *re = x.re, *im = x.im;
}

void symbol_apply(const shape *s, uint64_t steps, stn_planes x, stn_planes b, const stn_planes sums[2], int64_t line,
                  int64_t count, int64_t lanes) {
    const stn_symbol *form = &s->symbol;
    /* apart: stride of the coefficients; all rows share those of one line. */
    const int64_t length = s->axis[s->last].length, apart = s->last < 2 ? form->parts : 0;
    const double *parts = s->parts + line * apart;
    const bool adds = b.re != NULL;
    const powers p = {s, steps, 63 - __builtin_clzll(steps),
                      (adds ? stn_symbol_dead_of_sum : stn_symbol_dead)(s->largest, steps, SHAPE_KEPT_BITS), adds};
    for (int64_t k = 0; k < count; k++) {
        const bool mirrored = 2 * k > length;
        const int64_t at = mirrored ? length - k : k;
        for (int64_t l = 0, i = k * lanes; l < lanes; l++, i++) {
            const double *b_re = p.adds ? &b.re[i] : NULL, *b_im = p.adds ? &b.im[i] : NULL;
            if (form->plain)
                apply_real(&p, real_away(form, parts + l * apart, s->angles[at]), &x.re[i], &x.im[i], b_re, b_im);
            else {
                const pair turn = {s->angles[2 * at], mirrored ? -s->angles[2 * at + 1] : s->angles[2 * at + 1]};
                const double *of = parts + l * apart;
                const pair away = s->wide ? wide_away(of, turn, (pair){sums[0].re[i], sums[0].im[i]},
                                                      (pair){sums[1].re[i], sums[1].im[i]})
                                          : pair_away(form, of, turn);
                apply_pair(&p, away, &x.re[i], &x.im[i], b_re, b_im);
            }
        }
    }
}
