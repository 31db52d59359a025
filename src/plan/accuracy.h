/* How far off a result may be, and how far off it is expected to be: relative L2 beside the host's
 * steps in float64. */
#ifndef STN_PLAN_ACCURACY_H
#define STN_PLAN_ACCURACY_H
#include "plan/strategy.h"

/* The relative L2 error that a run may have: the task's tolerance where one is given, else what
 * rounding may come to by its dtype and steps. The same for every strategy: a candidate is judged
 * by its predicted error alone. */
double stn_error_bar(const stn_task *task);
double stn_error_bar_of(stn_dtype dtype, double tolerance, double steps);
/* Does the estimate meet it? One that does not know its error does. */
bool stn_error_meets(const stn_task *task, const stn_estimate *estimate);

/* The error of so many launches (or steps), of which each errs by `alike` in the same direction,
 * which adds up, and by `chance` in any, which adds up as its root: both relative to what the
 * launch writes. */
double stn_error_of(double alike, double chance, double launches);
/* What one rounding to the dtype errs by at most, relative, root mean square. */
double stn_error_rounding(stn_dtype dtype);
/* So many times more may a run be off by whose weights have both signs: of data of one sign they
 * may leave nothing but what rounding and chance have put there. Random numbers in [0, 1) have a
 * mean whose square is three times their variance. */
double stn_error_cancelling(const stn_task *task);
/* Of arithmetic that takes the task's steps one after the other: sums over its taps, rounded to
 * nearest. */
double stn_error_stepping(const stn_task *task);
#endif
