/* Estimates are calibrated by the row of their class only. */
#include <criterion/criterion.h>

#include "plan/calibration.h"
#include "plan/calibration_rows.h"

static stn_estimate calibrated(const char *strategy, int rank, stn_dtype dtype, bool fused) {
    stn_estimate e = {.seconds = 1e-3, .launches = 10, .bytes = 7};
    stn_calibrate(strategy, rank, dtype, fused, &e);
    cr_expect_float_eq(e.model, 1e-3, 1e-12, "the model is kept");
    cr_expect_eq(e.bytes, 7);
    return e;
}

Test(calibration, by_the_row_of_its_class) {
#define EXPECT(strategy, rank, dtype, fused, scale, start)                                                             \
    cr_expect_float_eq(calibrated(strategy, rank, dtype, fused).seconds, (scale)*1e-3 + 10 * (start), 1e-12);
    STN_CALIBRATION_ROWS(EXPECT)
}

Test(calibration, without_a_row_the_model_is_used) {
    cr_expect_float_eq(calibrated("aperiodic", 3, STN_F64, true).seconds, 1e-3, 1e-12);
    cr_expect_float_eq(calibrated("none", 2, STN_F64, false).seconds, 1e-3, 1e-12);
}
