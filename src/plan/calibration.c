/* Looks up the calibration of an estimate: calibration.h. */
#include "plan/calibration.h"

#include <string.h>

#include "plan/calibration_rows.h"

void stn_calibrate(const char *strategy, int rank, stn_dtype dtype, bool fused, stn_estimate *estimate) {
    const double model = estimate->model = estimate->seconds;
#define STN_CALIBRATE(of, of_rank, of_dtype, of_fused, scale, start)                                                   \
    if (rank == (of_rank) && dtype == (of_dtype) && fused == (of_fused) && !strcmp(strategy, of))                      \
        estimate->seconds = (scale)*model + (start)*estimate->launches;
    STN_CALIBRATION_ROWS(STN_CALIBRATE)
#undef STN_CALIBRATE
}
