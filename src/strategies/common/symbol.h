/* A stencil's symbol K(k) = sum over taps o of w_o exp(i k.o) on the frequencies of a torus, as
 * parts along one axis: above the data's precision, and so that 1 - K has a small relative error
 * where K is near 1. The twin of kernel_templates/spectral/symbol.cuh. */
#ifndef STN_STRATEGIES_COMMON_SYMBOL_H
#define STN_STRATEGIES_COMMON_SYMBOL_H
#include "problem/task.h"

/* The line along `axis` with the other axes' frequencies fixed, z = exp(i theta) along it:
 *
 *     plain:   1 - K = parts[0] + s (parts[1] + s (parts[2] + ..)),  s = 4 sin^2(theta / 2)      real numbers
 *     taps:    the weights along it, from offset -low on, summed over the other axes: complex numbers, to be transformed
 *     else:    1 - K = D + (1 - z) A(z) + (1 - 1/z) B(1/z),  parts: D, A_0 .. A_(high-1), B_0 .. B_(low-1)   complex
 * numbers */
typedef struct stn_symbol {
    int axis;
    bool plain, taps;
    int high, low;     /* terms */
    int parts;         /* doubles of a line */
    int64_t length[3]; /* of the torus */
} stn_symbol;

/* The form that a task's taps have along `axis`; taps only for one step, where they are many and
 * `transforms` allows it. */
stn_symbol stn_symbol_form(const stn_task *task, int axis, const int64_t length[3], bool transforms);
/* The parts of `count` lines, line i at frequency place[0][i] and place[1][i] of the two other
 * axes, in order of the axes. False: out of memory. */
bool stn_symbol_parts(const stn_symbol *symbol, const stn_task *task, int64_t count, const int64_t *const place[2],
                      double *parts);
/* The same from a table that all lines share, which is made once; NULL: out of memory. */
typedef struct stn_symbol_turns stn_symbol_turns;
stn_symbol_turns *stn_symbol_turns_make(const stn_symbol *symbol);
void stn_symbol_turns_free(stn_symbol_turns *turns);
bool stn_symbol_parts_by(const stn_symbol *symbol, const stn_task *task, const stn_symbol_turns *turns, int64_t count,
                         const int64_t *const place[2], double *parts);
/* Whether lines at opposite frequencies of the first of the other axes have the same parts, to the
 * bit. */
bool stn_symbol_mirrored(const stn_symbol *symbol, const stn_task *task);
/* What a line of the axis takes at k = 0 .. length / 2: s, or (1 - cos theta, sin theta). Returns
 * how many doubles; NULL: only that. */
size_t stn_symbol_angles(const stn_symbol *symbol, double *to);

/* The largest |K| on the torus: exact where that is small, else over all frequencies. */
double stn_symbol_largest(const stn_task *task, const int64_t length[3]);
/* How much of K^steps to keep: 1 - |K| beyond which |K|^steps is below 2^-bits of the largest. At
 * most 0 where |K| grows that far. */
double stn_symbol_dead(double largest, uint64_t steps, int bits);
/* The same where 1 - K^steps is asked for, too: what is nothing beside the largest, where that
 * grows, may be much beside 1. */
double stn_symbol_dead_of_sum(double largest, uint64_t steps, int bits);
/* So far below the largest, in bits, a factor counts as 0 in the arithmetic of a dtype. */
int stn_symbol_bits(stn_dtype dtype);
/* What K^steps errs by where |K| is small: of 1 - K the last digits are those of 1. The largest |K|
 * is at least the root of its mean square over all frequencies, that of the weights' squares. Where
 * it is below a half for certain, each step errs so. */
double stn_symbol_lost(const stn_task *task);
/* The predicted error of transforms there and back of so many points, times the power of a symbol
 * that is plain or not. */
double stn_symbol_error(const stn_task *task, double points, bool plain);
/* The least number so that every frequency from it up to length - it along `axis`, whatever the
 * others', has 1 - |K| above `dead`: what a transform need not keep. length / 2 + 1 where there is
 * none, or where looking would take too long. */
int64_t stn_symbol_kept(const stn_task *task, int axis, int64_t length, double dead);
#endif
