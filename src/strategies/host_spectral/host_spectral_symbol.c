/* Multiplies spectra by the symbol's power K^T, for several lines at a time. */
#include "strategies/host_spectral/host_spectral_passes.h"
#include "strategies/host_spectral/symbol_power.h"

typedef struct powers {
    const shape *s;
    uint64_t steps;
    int top;
    double decay_bound; /* K^steps is negligible if 1 - |K| exceeds this bound. */
    bool adds;
} powers;

/* ---- 1 - K at a frequency, from its coefficients (common/stencil_symbol.h) ------------------- */

static double one_minus_k_real(const stn_symbol *form, const double *parts, double angle) {
    double sum = form->high ? parts[form->high] : 0;
    for (int j = form->high - 1; j >= 1; j--) sum = sum * angle + parts[j];
    return parts[0] + (form->high ? angle * sum : 0);
}

static cdouble polynomial(const double *parts, int terms, cdouble z) {
    cdouble sum = {0, 0};
    for (int j = terms - 1; j >= 0; j--) {
        sum = cdouble_times(sum, z);
        sum.re += parts[2 * j], sum.im += parts[2 * j + 1];
    }
    return sum;
}

/* 1 - K from the values of both polynomials. one_minus_inverse_z: (1 - cos, sin) of the frequency's
 * angle. */
static cdouble one_minus_k_from_values(const double *parts, cdouble one_minus_inverse_z, cdouble high, cdouble low) {
    const cdouble a = cdouble_times((cdouble){one_minus_inverse_z.re, -one_minus_inverse_z.im}, high),
                  b = cdouble_times(one_minus_inverse_z, low);
    return (cdouble){parts[0] + a.re + b.re, parts[1] + a.im + b.im};
}

static cdouble one_minus_k_complex(const stn_symbol *form, const double *parts, cdouble one_minus_inverse_z) {
    const cdouble z = {1 - one_minus_inverse_z.re, one_minus_inverse_z.im}, back = {z.re, -z.im};
    return one_minus_k_from_values(parts, one_minus_inverse_z, polynomial(parts + 2, form->high, z),
                                   polynomial(parts + 2 + 2 * form->high, form->low, back));
}

void host_spectral_symbol_coefficients(const shape *s, int which, int64_t line, stn_planes to, int64_t lanes) {
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

static void apply_real(const powers *p, double one_minus_k, double *re, double *im, const double *b_re,
                       const double *b_im) {
    const real_power power = power_of_real(one_minus_k, p->steps, p->top, p->decay_bound);
    *re *= power.value, *im *= power.value;
    if (!p->adds) return;
    const double sum = real_sum(power.one_minus, one_minus_k, p->steps);
    *re += sum * *b_re, *im += sum * *b_im;
}

static void apply_complex(const powers *p, cdouble one_minus_k, double *re, double *im, const double *b_re,
                          const double *b_im) {
    const cdouble_power power = power_of_complex(one_minus_k, p->steps, p->top, p->decay_bound);
    cdouble x = cdouble_times((cdouble){*re, *im}, power.value);
    if (p->adds) {
        const cdouble added =
            cdouble_times((cdouble){*b_re, *b_im}, cdouble_sum(power.one_minus, one_minus_k, p->steps));
        x.re += added.re, x.im += added.im;
    }
    *re = x.re, *im = x.im;
}

/* One step without a source at one frequency of several lines, from the values of both polynomials:
 * the operations of apply_complex in a form that the compiler vectorizes. */
static void apply_once(const double *restrict parts, int64_t stride, cdouble one_minus_inverse_z, double decay_bound,
                       stn_planes high, stn_planes low, stn_planes x, int64_t lanes) {
    const double *restrict high_re = high.re, *restrict high_im = high.im;
    const double *restrict low_re = low.re, *restrict low_im = low.im;
    double *restrict re = x.re, *restrict im = x.im;
    for (int64_t l = 0; l < lanes; l++) {
        const cdouble one_minus_k =
            one_minus_k_from_values(parts + l * stride, one_minus_inverse_z, (cdouble){high_re[l], high_im[l]},
                                    (cdouble){low_re[l], low_im[l]});
        const double k_re = 1 - one_minus_k.re, k_im = -one_minus_k.im;
        const bool decayed = 2 * one_minus_k.re - cdouble_norm(one_minus_k) > 2 * decay_bound;
        const cdouble result =
            cdouble_times((cdouble){re[l], im[l]}, (cdouble){decayed ? 0 : k_re, decayed ? 0 : k_im});
        re[l] = result.re, im[l] = result.im;
    }
}

void host_spectral_symbol_apply(const shape *s, uint64_t steps, stn_planes x, stn_planes b, const stn_planes sums[2],
                                int64_t line, int64_t count, int64_t lanes) {
    const stn_symbol *form = &s->symbol;
    /* stride: of the coefficients; in 1D and along x, all rows share those of one line. */
    const int64_t length = s->axis[s->last].length, stride = s->last < 2 ? form->parts : 0;
    const double *parts = s->parts + line * stride;
    const bool adds = b.re != NULL;
    const powers p = {
        s, steps, 63 - __builtin_clzll(steps),
        (adds ? stn_symbol_decay_threshold_of_sum : stn_symbol_decay_threshold)(s->largest, steps, SHAPE_KEPT_BITS),
        adds};
    for (int64_t k = 0; k < count; k++) {
        const bool mirrored = 2 * k > length;
        const int64_t at = mirrored ? length - k : k;
        const double sine = form->plain ? 0 : s->angles[2 * at + 1];
        const cdouble one_minus_inverse_z = {s->angles[form->plain ? at : 2 * at], mirrored ? -sine : sine};
        if (steps == 1 && !adds && s->transforms_polynomials) {
            const int64_t i = k * lanes;
            apply_once(parts, stride, one_minus_inverse_z, p.decay_bound, (stn_planes){sums[0].re + i, sums[0].im + i},
                       (stn_planes){sums[1].re + i, sums[1].im + i}, (stn_planes){x.re + i, x.im + i}, lanes);
            continue;
        }
        for (int64_t l = 0, i = k * lanes; l < lanes; l++, i++) {
            const double *b_re = p.adds ? &b.re[i] : NULL, *b_im = p.adds ? &b.im[i] : NULL;
            if (form->plain)
                apply_real(&p, one_minus_k_real(form, parts + l * stride, one_minus_inverse_z.re), &x.re[i], &x.im[i],
                           b_re, b_im);
            else {
                const double *of = parts + l * stride;
                const cdouble one_minus_k =
                    s->transforms_polynomials
                        ? one_minus_k_from_values(of, one_minus_inverse_z, (cdouble){sums[0].re[i], sums[0].im[i]},
                                                  (cdouble){sums[1].re[i], sums[1].im[i]})
                        : one_minus_k_complex(form, of, one_minus_inverse_z);
                apply_complex(&p, one_minus_k, &x.re[i], &x.im[i], b_re, b_im);
            }
        }
    }
}
