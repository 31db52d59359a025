/* Estimates are calibrated by the row of their class only. */
#include <criterion/criterion.h>

#include "plan/calibration.h"

static const stn_calibration rows[] = {{{"direct", 2, STN_F64, false}, 2, 0},
                                       {{"direct", 2, STN_F64, true}, 1.5, 3e-6},
                                       {{"lowrank", 2, STN_F64, true}, 4, 0}};

static stn_estimate calibrated(stn_run_class of) {
    stn_estimate e = {.seconds = 1e-3, .launches = 10, .bytes = 7};
    stn_calibrate_by(rows, sizeof rows / sizeof *rows, &of, &e);
    return e;
}

Test(calibration, by_the_row_of_its_class) {
    cr_expect_float_eq(calibrated((stn_run_class){"direct", 2, STN_F64, false}).seconds, 2e-3, 1e-12);
    cr_expect_float_eq(calibrated((stn_run_class){"direct", 2, STN_F64, true}).seconds, 1.53e-3, 1e-12);
    cr_expect_float_eq(calibrated((stn_run_class){"lowrank", 2, STN_F64, true}).seconds, 4e-3, 1e-12);
}

Test(calibration, the_model_is_kept) {
    stn_estimate e = calibrated((stn_run_class){"direct", 2, STN_F64, true});
    cr_expect_float_eq(e.model, 1e-3, 1e-12);
    cr_expect_eq(e.bytes, 7);
}

Test(calibration, without_a_row_the_model_is_used) {
    const stn_run_class strangers[] = {{"direct", 3, STN_F64, true},
                                       {"direct", 2, STN_F32, true},
                                       {"lowrank", 2, STN_F64, false},
                                       {"other", 2, STN_F64, true}};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        stn_estimate e = calibrated(strangers[i]);
        cr_expect_float_eq(e.seconds, 1e-3, 1e-12, "stranger %zu", i);
        cr_expect_float_eq(e.model, 1e-3, 1e-12, "stranger %zu", i);
    }
}
