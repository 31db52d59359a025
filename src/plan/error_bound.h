/* The error that a result may have, and the error that is predicted for it: relative L2 differences
 * from the host's steps in float64. */
#ifndef STN_PLAN_ERROR_BOUND_H
#define STN_PLAN_ERROR_BOUND_H
#include "plan/strategy.h"

/* The relative L2 error that a run may have, by any strategy: the task's tolerance if it is not 0,
 * else a bound on the rounding error for its dtype and number of steps. */
double stn_error_bound(const stn_task *task);
double stn_error_bound_of(stn_dtype dtype, double tolerance, double steps);
/* Is the predicted error at most that bound? True if no error is predicted. */
bool stn_error_is_within_bound(const stn_task *task, const stn_estimate *estimate);

/* The error accumulated over `launches` launches (or steps). The systematic part of a launch's
 * error accumulates linearly, the random part with the square root; both are relative to the values
 * that the launch writes. */
double stn_error_accumulated(double systematic, double random_part, double launches);
/* The error of a run that is made of `runs` shorter ones, as a multiple of the error of one. An
 * eighth of that error is taken as systematic; the largest fraction that was measured is 0.2, of
 * `lowrank` in f32. */
double stn_error_of_runs(double runs);
/* An upper bound of the relative root mean square error of one rounding to the dtype. */
double stn_error_rounding(stn_dtype dtype);
/* A lower bound on the errors that strategies predict, since all of them round their results. */
double stn_error_least(stn_dtype dtype);
/* The factor by which cancellation may increase the relative error. Weights of both signs may
 * remove the mean of the data. For random numbers in [0, 1) the mean's square is 1/4 and the
 * variance 1/12, so that without the mean the norm is half as large. */
double stn_error_cancellation(const stn_task *task);
/* The predicted error of single steps: in each, a sum over the taps, rounded to nearest. */
double stn_error_stepping(const stn_task *task);
#endif
