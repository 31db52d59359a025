/* Calibration of the strategies' cost models, so that strategies can be compared with each other:
 *
 *     seconds = scale * model + start * launches
 *
 * bench/fit_rates.py fits scale and start to measured times of a list of problems, and writes
 * calibration_rows.h. */
#ifndef STN_PLAN_CALIBRATION_H
#define STN_PLAN_CALIBRATION_H
#include "plan/strategy.h"

/* The runs that one row applies to. fused: a launch makes several steps. */
typedef struct stn_run_class {
    const char *strategy;
    int rank;
    stn_dtype dtype;
    bool fused;
} stn_run_class;

typedef struct stn_calibration {
    stn_run_class of;
    double scale; /* factor of the model's seconds */
    double start; /* seconds added for each launch */
} stn_calibration;

/* Copies estimate->seconds to estimate->model, and calibrates estimate->seconds by the row of its
 * class, if there is one. */
void stn_calibrate_by(const stn_calibration *rows, size_t count, const stn_run_class *of, stn_estimate *estimate);
/* The same, by the library's table. */
void stn_calibrate(const stn_run_class *of, stn_estimate *estimate);
#endif
