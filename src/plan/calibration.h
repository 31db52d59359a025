/* What runs take beside what their models say. A strategy's model has the form of the truth: what a
 * kernel does, and at which part of the machine's ceilings. Its scale, and what each launch takes
 * whatever it does, are measured over a list of problems by bench/fit_rates.py, which writes
 * calibration_rows.h. Only strategies are compared by it: the candidates of one, of the same rank
 * and type, keep their order but for launches. */
#ifndef STN_PLAN_CALIBRATION_H
#define STN_PLAN_CALIBRATION_H
#include "plan/strategy.h"

/* Runs that one row is for: of a strategy, rank and type, whose launches make one step each, or
 * several. */
typedef struct stn_run_class {
    const char *strategy;
    int rank;
    stn_dtype dtype;
    bool fused;
} stn_run_class;

typedef struct stn_calibration {
    stn_run_class of;
    double scale; /* of the model's seconds */
    double start; /* seconds of a launch beside them */
} stn_calibration;

/* estimate->model becomes what estimate->seconds was, and that what the class's row of a table
 * says; without a row it stays. */
void stn_calibrate_by(const stn_calibration *rows, size_t count, const stn_run_class *of, stn_estimate *estimate);
/* By the table of this library. */
void stn_calibrate(const stn_run_class *of, stn_estimate *estimate);
#endif
