/* Calibration of the strategies' cost models, so that strategies can be compared with each other:
 *
 *     seconds = scale * model + start * launches
 *
 * bench/fit_rates.py fits scale and start to measured times of a list of problems, and writes
 * calibration_rows.h. */
#ifndef STN_PLAN_CALIBRATION_H
#define STN_PLAN_CALIBRATION_H
#include "plan/strategy.h"

/* Copies estimate->seconds to estimate->model, and calibrates estimate->seconds if the table has a
 * row for the strategy, rank and dtype. fused: a launch makes several steps. */
void stn_calibrate(const char *strategy, int rank, stn_dtype dtype, bool fused, stn_estimate *estimate);
#endif
