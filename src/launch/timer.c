/* Timing on a stream with events. */
#include <stdlib.h>

#include "launch/launch_internal.h"

struct stn_timer {
    stn_device *device; /* outlives the timer */
    stn_cu_event start, stop;
};

stn_status stn_timer_create(stn_device *device, stn_timer **timer, stn_error *error) {
    *timer = NULL;
    stn_timer *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a timer", sizeof *made);
    made->device = device;
    stn_status status;
    STN_TRY_GOTO(status, stn_device_enter(device, error), done);
    status = STN_CU(device->driver, cuEventCreate, (&made->start, STN_CU_EVENT_DEFAULT), error);
    if (status == STN_OK) status = STN_CU(device->driver, cuEventCreate, (&made->stop, STN_CU_EVENT_DEFAULT), error);
    stn_device_leave(device);
    if (status == STN_OK) {
        *timer = made;
        made = NULL;
    }
done:
    stn_timer_destroy(made);
    return status;
}

stn_status stn_timer_start(stn_timer *timer, void *stream, stn_error *error) {
    STN_TRY(stn_device_enter(timer->device, error));
    stn_status status = STN_CU(timer->device->driver, cuEventRecord, (timer->start, (stn_cu_stream)stream), error);
    stn_device_leave(timer->device);
    return status;
}

stn_status stn_timer_mark(stn_timer *timer, void *stream, stn_error *error) {
    STN_TRY(stn_device_enter(timer->device, error));
    stn_status status = STN_CU(timer->device->driver, cuEventRecord, (timer->stop, (stn_cu_stream)stream), error);
    stn_device_leave(timer->device);
    return status;
}

stn_status stn_timer_read(stn_timer *timer, double *seconds, stn_error *error) {
    const stn_driver *driver = timer->device->driver;
    float milliseconds = 0;
    *seconds = 0;
    STN_TRY(stn_device_enter(timer->device, error));
    stn_status status = STN_CU(driver, cuEventSynchronize, (timer->stop), error);
    if (status == STN_OK)
        status = STN_CU(driver, cuEventElapsedTime, (&milliseconds, timer->start, timer->stop), error);
    stn_device_leave(timer->device);
    if (status == STN_OK) *seconds = 1e-3 * (double)milliseconds;
    return status;
}

stn_status stn_timer_reached(stn_timer *timer, bool *reached, stn_error *error) {
    const stn_driver *driver = timer->device->driver;
    STN_TRY(stn_device_enter(timer->device, error));
    const stn_cu_result result = driver->call.cuEventQuery(timer->stop);
    stn_device_leave(timer->device);
    *reached = result != STN_CUDA_ERROR_NOT_READY;
    return *reached ? stn_driver_check(driver, "cuEventQuery", result, error) : STN_OK;
}

stn_status stn_timer_stop(stn_timer *timer, void *stream, double *seconds, stn_error *error) {
    double taken;
    STN_TRY(stn_timer_mark(timer, stream, error));
    STN_TRY(stn_timer_read(timer, &taken, error));
    *seconds = taken;
    return STN_OK;
}

bool stn_device_capturing(stn_device *device, void *stream) {
    stn_cu_enum status = 0; /* If the driver cannot tell, the stream is taken as not in capture. */
    if (stn_device_enter(device, NULL) != STN_OK) return false;
    stn_cu_result result = device->driver->call.cuStreamIsCapturing((stn_cu_stream)stream, &status);
    stn_device_leave(device);
    return !result && status;
}

void stn_timer_destroy(stn_timer *timer) {
    if (!timer) return;
    if (stn_device_enter(timer->device, NULL) == STN_OK) {
        if (timer->start) timer->device->driver->call.cuEventDestroy(timer->start);
        if (timer->stop) timer->device->driver->call.cuEventDestroy(timer->stop);
        stn_device_leave(timer->device);
    }
    free(timer);
}
