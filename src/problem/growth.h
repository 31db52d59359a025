/* How much many steps may multiply a grid by, and when the symbol alone does not tell.
 *
 * With sides, a step is a matrix S on the grid's points. On a torus, and between sides that mirror
 * symmetric taps, its eigenvectors are orthogonal (but for weights of sides of `mirror`), its
 * eigenvalues K(k), and T steps multiply by max |K|^T and no more. Two things end that:
 *
 *   leaving   Between constant and fixed sides S is a piece of an infinite Toeplitz matrix. |S^T| is still at most max |K|^T, and in few
 *             steps that is what it is; but what moves leaves through the sides. Scaled by exp(s x), S has the symbol K(k - i s), so
 *             for any s
 *                        |S^T| <= exp(|s| (n - 1)) (max over k of |K(k - i s)|)^T
 *             With the s of the least |K| that is how long runs go. All eigenvalues are below it, and |S^T| is above their powers by up to
 *             the first factor: that is how far from orthogonal eigenvectors are. Beyond 2^52 they cannot be told apart in f64: S is
 *             nearly defective, and no eigenvalue says what a run of T steps does, nor how its rounding grows.
 *   folding   Sides that fold taps which are not symmetric (reflect, mirror; nearest past one point) bound nothing by K: a wave may come
 *             back larger. In the largest norm |S^T| is at most (sum of |w|)^T.
 *
 * What constant and fixed sides feed in comes beside that, at each step. */
#ifndef STN_PROBLEM_GROWTH_H
#define STN_PROBLEM_GROWTH_H
#include "problem/task.h"

enum { STN_GROWTH_SHIFTS = 10 };
typedef struct stn_growth {
    double symbol; /* the largest |K| */
    bool
        folds; /* sides fold taps that are not symmetric: `step` is the sum of |weights|, in the largest norm; else in L2 */
    double step;    /* a step multiplies a grid's norm by at most this */
    double lasting; /* in a long run a step does by at most this; no eigenvalue is above it. At most `step` */
    double excess;  /* log10 of how far T steps may be above lasting^T, for any T; 0: nowhere */
    /* Of shifts up to the one of `lasting`: log10 of |K| there, and of how much that costs at
     * once. */
    struct {
        double each, once;
    } shift[STN_GROWTH_SHIFTS];
    int shifts;
} stn_growth;

/* Of a task's taps, sides and extents. Some times as long as stn_taps_max_symbol. */
stn_growth stn_task_growth(const stn_task *task);
/* log10 of what so many steps multiply a grid's norm by at most (times the root of 2 for each axis
 * with sides of `mirror`). */
double stn_growth_after(const stn_growth *growth, double steps);
/* The largest of that in a run of so many steps: what grows may leave. */
double stn_growth_peak(const stn_growth *growth, double steps);
/* log10 of how far S^T may be above what eigenvalues say, after so many steps: relative errors may
 * be as far above what is predicted of operators whose rounding grows as their data does. */
double stn_growth_above(const stn_growth *growth, double steps);
/* The first step from which numbers that were of such a magnitude may be past the type's range,
 * what open sides feed in included; infinite where none. */
double stn_growth_overflow(const stn_growth *growth, stn_dtype dtype, double magnitude);
/* Does what grows leave through the sides, so that a long run is bounded after all? */
bool stn_growth_leaves(const stn_growth *growth);
bool stn_growth_nearly_defective(const stn_growth *growth);
#endif
