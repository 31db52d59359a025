/* A stencil's symbol K(k) = sum over taps o of w_o exp(i k.o) on the frequencies of a periodic
 * domain, as parts along one axis: in higher precision than the data, and such that 1 - K has a
 * small relative error where K is near 1. Must match kernel_templates/spectral/symbol_power.cuh. */
#ifndef STN_STRATEGIES_COMMON_STENCIL_SYMBOL_H
#define STN_STRATEGIES_COMMON_STENCIL_SYMBOL_H
#include "problem/task.h"

/* The line along `axis` with the other axes' frequencies fixed, z = exp(i theta) along it:
 *
 *     plain:   1 - K = parts[0] + s (parts[1] + s (parts[2] + ..)),  s = 4 sin^2(theta / 2);  real
 *     taps:    the weights along it, from offset -low on, summed over the other axes; complex,
 *              to be transformed
 *     else:    1 - K = D + (1 - z) A(z) + (1 - 1/z) B(1/z);  complex
 *              parts: D, A_0 .. A_(high-1), B_0 .. B_(low-1) */
typedef struct stn_symbol {
    int axis;
    bool plain, taps;
    int high, low;     /* terms */
    int parts;         /* doubles for each line */
    int64_t length[3]; /* of the periodic domain */
} stn_symbol;

/* The form for a task's taps along `axis`; taps only for one step with many taps, where
 * `transforms` allows it. */
stn_symbol stn_symbol_form(const stn_task *task, int axis, const int64_t length[3], bool transforms);
/* Computes the parts of `count` lines, line i at frequency place[0][i] and place[1][i] of the two
 * other axes, in order of the axes. False if out of memory. */
bool stn_symbol_parts(const stn_symbol *symbol, const stn_task *task, int64_t count, const int64_t *const place[2],
                      double *parts);
/* The same with tables of 1 - exp(i theta) that all lines share; NULL if out of memory. */
typedef struct stn_symbol_tables stn_symbol_tables;
stn_symbol_tables *stn_symbol_tables_make(const stn_symbol *symbol);
void stn_symbol_tables_free(stn_symbol_tables *tables);
bool stn_symbol_parts_by(const stn_symbol *symbol, const stn_task *task, const stn_symbol_tables *tables, int64_t count,
                         const int64_t *const place[2], double *parts);
/* Whether lines at opposite frequencies of the first of the other axes have bitwise equal parts. */
bool stn_symbol_mirrored(const stn_symbol *symbol, const stn_task *task);
/* The arguments of a line's parts at k = 0 .. length / 2: s, or (1 - cos theta, sin theta). Returns
 * the number of doubles; to may be NULL. */
size_t stn_symbol_angles(const stn_symbol *symbol, double *to);

/* The largest |K| on the periodic domain; if the domain is large, an upper bound: the largest over
 * all real frequencies. */
double stn_symbol_largest(const stn_task *task, const int64_t length[3]);
/* The threshold of 1 - |K| beyond which |K|^steps is below 2^-bits of the largest: such modes have
 * decayed. At most 0 if no mode decays. */
double stn_symbol_decay_threshold(double largest, uint64_t steps, int bits);
/* The same if 1 - K^steps is needed as well: a mode that is negligible relative to a growing
 * maximum may matter relative to 1. */
double stn_symbol_decay_threshold_of_sum(double largest, uint64_t steps, int bits);
/* Factors below 2^-bits of the largest count as 0 in the arithmetic of a dtype. */
int stn_symbol_bits(stn_dtype dtype);
/* The error of K^steps if |K| is small: 1 - K is accurate relative to 1, not to K. The largest |K|
 * is at least |K(0)|, and at least the root mean square over all frequencies, which is the root of
 * the sum of squared weights. If the weights' magnitudes sum to less than one half, the errors of
 * all steps add up. */
double stn_symbol_cancellation_error(const stn_task *task);
/* The predicted error of a forward and an inverse transform of `points` points and of the power of
 * the symbol. plain: the symbol has the plain form. */
double stn_symbol_error(const stn_task *task, double points, bool plain);
/* The least number m such that every frequency from m to length - m along `axis`, with any
 * frequencies of the others, has 1 - |K| above `decay_threshold`, so that a transform need not
 * retain it. length / 2 + 1 if there is none, or if the search would take too long. */
int64_t stn_symbol_retained(const stn_task *task, int axis, int64_t length, double decay_threshold);
#endif
