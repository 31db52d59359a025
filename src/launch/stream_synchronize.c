/* Waiting for a CUDA stream, or for all work of the device. Waiting with a progress function is in
 * context/context_memory.c. */
#include "launch/launch_internal.h"

stn_status stn_device_synchronize(stn_device *device, void *stream, stn_error *error) {
    STN_TRY(stn_device_enter(device, error));
    stn_status status = STN_CU(device->driver, cuStreamSynchronize, ((stn_cu_stream)stream), error);
    stn_device_leave(device);
    return status;
}

stn_status stn_device_synchronize_all(stn_device *device, stn_error *error) {
    STN_TRY(stn_device_enter(device, error));
    stn_status status = STN_CU(device->driver, cuCtxSynchronize, (), error);
    stn_device_leave(device);
    return status;
}
