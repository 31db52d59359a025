/* Measures the copy bandwidth. */
#include <stdlib.h>

#include "launch/launch_internal.h"

/* Copies in a row: a single one would begin microseconds after its event, an error of 8% on an
 * H200. */
enum { COPIES = 3, IN_A_ROW = 4 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

stn_status stn_device_measure_copy(stn_device *device, double *bytes_per_second, stn_error *error) {
    /* Each buffer is larger than the L2 cache, so that the next copy finds nothing there. */
    size_t bytes = 4 * device->machine.l2_bytes;
    void *from = NULL, *to = NULL;
    stn_timer *timer = NULL;
    double seconds[COPIES];
    stn_status status;
    STN_TRY_GOTO(status, stn_device_alloc(device, bytes, &from, error), done);
    STN_TRY_GOTO(status, stn_device_alloc(device, bytes, &to, error), done);
    STN_TRY_GOTO(status, stn_timer_create(device, &timer, error), done);
    /* Warms up and touches the pages. */
    STN_TRY_GOTO(status, stn_device_copy(device, from, to, bytes, NULL, error), done);
    for (int i = 0; i < COPIES; i++) {
        STN_TRY_GOTO(status, stn_timer_start(timer, NULL, error), done);
        for (int k = 0; k < IN_A_ROW; k++)
            STN_TRY_GOTO(status, stn_device_copy(device, to, from, bytes, NULL, error), done);
        STN_TRY_GOTO(status, stn_timer_stop(timer, NULL, &seconds[i], error), done);
    }
    qsort(seconds, COPIES, sizeof *seconds, by_value);
    if (seconds[COPIES / 2] > 0)
        *bytes_per_second = 2.0 * IN_A_ROW * (double)bytes / seconds[COPIES / 2];
    else
        status =
            stn_fail(error, STN_ERROR_DRIVER, "the GPU's clock did not move during a copy: time is not measurable");
done:
    stn_timer_destroy(timer);
    stn_device_free(device, from);
    stn_device_free(device, to);
    return status;
}
