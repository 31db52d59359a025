/* Looks up the calibration of an estimate: calibration.h. */
#include "plan/calibration.h"

#include <string.h>

#include "plan/calibration_rows.h"

void stn_calibrate_by(const stn_calibration *rows, size_t count, const stn_run_class *of, stn_estimate *estimate) {
    estimate->model = estimate->seconds;
    for (size_t i = 0; i < count; i++) {
        const stn_run_class *row = &rows[i].of;
        if (row->rank != of->rank || row->dtype != of->dtype || row->fused != of->fused) continue;
        if (strcmp(row->strategy, of->strategy)) continue;
        estimate->seconds = rows[i].scale * estimate->model + rows[i].start * estimate->launches;
        return;
    }
}

void stn_calibrate(const stn_run_class *of, stn_estimate *estimate) {
    static const stn_calibration rows[] = {
#define STN_CALIBRATION_ROW(strategy, rank, dtype, fused, scale, start) {{strategy, rank, dtype, fused}, scale, start},
        STN_CALIBRATION_ROWS(STN_CALIBRATION_ROW)
#undef STN_CALIBRATION_ROW
            {{"", 0, STN_F64, false}, 1, 0} /* matches no class */
    };
    stn_calibrate_by(rows, sizeof rows / sizeof *rows, of, estimate);
}
