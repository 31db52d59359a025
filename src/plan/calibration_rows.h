/* Written by bench/fit_rates.py from measurements; see calibration.h. None are fitted yet: models stand as they are. */
#ifndef STN_PLAN_CALIBRATION_ROWS_H
#define STN_PLAN_CALIBRATION_ROWS_H
/* X(strategy, rank, dtype, several steps a launch, scale, seconds of a launch) */
#define STN_CALIBRATION_ROWS(X)
#endif
