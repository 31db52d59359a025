/* Upper bounds of the growth of a grid's norm over many steps, for stability reports.
 *
 * One step is a matrix S on the grid's points. On a periodic grid, and between sides that mirror
 * symmetric taps, its eigenvectors are orthogonal (with `mirror` sides, if the points on these
 * sides count half), its eigenvalues are the symbol K(k), and T steps multiply the L2 norm by at
 * most max |K|^T. Two kinds of sides break this:
 *
 * open    Between constant and fixed sides S is a finite section of a Toeplitz matrix. |S^T| is at
 *         most max |K|^T, which a short run attains; but waves leave through the sides. Scaled by
 *         exp(s x), S has the symbol K(k - i s), so that for any shift s
 *                    |S^T| <= exp(|s| (n - 1)) (max over k of |K(k - i s)|)^T
 *         The s with the least maximum gives the growth of long runs. No eigenvalue exceeds that
 *         maximum. |S^T| exceeds the T-th power of the maximum by at most exp(|s| (n - 1)), which
 *         measures how far from orthogonal the eigenvectors are. If this factor exceeds 2^52, S is
 *         nearly defective in float64: then no eigenvalue tells the growth of T steps or of their
 *         rounding errors.
 * folding Sides that fold asymmetric taps (reflect, mirror; nearest past one point) are not bounded
 *         by K: a reflected wave may be larger. In the maximum norm |S^T| <= (sum of |w|)^T.
 *
 * Constant and fixed sides also add their values at each step; these bounds do not include them. */
#ifndef STN_PROBLEM_GROWTH_H
#define STN_PROBLEM_GROWTH_H
#include "problem/task.h"

enum { STN_GROWTH_SHIFTS = 10 };
typedef struct stn_growth {
    double symbol; /* the largest |K| */
    /* Sides fold asymmetric taps: `step` is the sum of |weights| and bounds the maximum norm;
     * otherwise it bounds the L2 norm. */
    bool folds;
    double step; /* one step multiplies the norm by at most this factor */
    /* The factor per step of a long run, at most `step`; no eigenvalue is above it. */
    double lasting;
    /* Log10 of the largest ratio of |S^T| to lasting^T; 0: |S^T| is bounded by lasting^T */
    double excess;
    /* The two factors of the bound, for several shifts s from 0 to that of `lasting`. each: log10
     * of the largest |K(k - i s)|, the factor of each step. once: log10 of exp(|s| (n - 1)), the
     * factor of the whole run. */
    struct {
        double each, once;
    } shift[STN_GROWTH_SHIFTS];
    int shifts;
} stn_growth;

/* The bounds for a task. Takes a few times as long as stn_taps_max_symbol. */
stn_growth stn_task_growth(const stn_task *task);
/* log10 of the largest factor by which `steps` steps multiply the norm (times sqrt(2) for each axis
 * with `mirror` sides). */
double stn_growth_after(const stn_growth *growth, double steps);
/* The maximum of stn_growth_after over a run of `steps` steps: it may fall again as waves leave. */
double stn_growth_peak(const stn_growth *growth, double steps);
/* log10 of the factor by which |S^T| may exceed the powers of the eigenvalues after `steps` steps.
 * Relative errors may exceed their predictions by that factor. */
double stn_growth_above_eigenvalues(const stn_growth *growth, double steps);
/* The first step after which numbers of initially this magnitude may exceed the dtype's range,
 * inputs of open sides included; infinite if there is none. */
double stn_growth_overflow(const stn_growth *growth, stn_dtype dtype, double magnitude);
/* Do growing waves leave through the sides, so that a long run stays bounded? */
bool stn_growth_is_transient(const stn_growth *growth);
bool stn_growth_nearly_defective(const stn_growth *growth);
#endif
