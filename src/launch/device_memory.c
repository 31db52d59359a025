/* Device memory: allocation, copies, synchronization. */
#include "launch/launch_internal.h"

static stn_cu_pointer address(const void *pointer) { return (stn_cu_pointer)(uintptr_t)pointer; }

stn_status stn_device_alloc(stn_device *device, size_t bytes, void **pointer, stn_error *error) {
    *pointer = NULL;
    STN_TRY(stn_device_enter(device, error));
    stn_cu_pointer made = 0;
    stn_cu_result result = device->driver->call.cuMemAlloc(&made, bytes ? bytes : 1);
    stn_status status = STN_OK;
    if (result == STN_CUDA_ERROR_OUT_OF_MEMORY) {
        size_t unused = 0, total = 0;
        device->driver->call.cuMemGetInfo(&unused, &total);
        status =
            stn_fail(error, STN_ERROR_OUT_OF_MEMORY,
                     "cuMemAlloc of %zu bytes failed: the GPU has %zu of %zu bytes free: free device memory or use "
                     "a smaller problem",
                     bytes, unused, total);
    } else
        status = stn_driver_check(device->driver, "cuMemAlloc", result, error);
    stn_device_leave(device);
    if (status == STN_OK) *pointer = (void *)(uintptr_t)made;
    return status;
}

void stn_device_free(stn_device *device, void *pointer) {
    if (!pointer || stn_device_enter(device, NULL) != STN_OK) return;
    device->driver->call.cuMemFree(address(pointer));
    stn_device_leave(device);
}

stn_status stn_device_upload(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error) {
    if (!bytes) return STN_OK;
    STN_TRY(stn_device_enter(device, error));
    stn_status status = STN_CU(device->driver, cuMemcpyHtoD, (address(to), from, bytes), error);
    /* The call may return while the last part is still in a staging buffer; streams that do not
     * synchronize with the default stream would then read old bytes. */
    if (status == STN_OK) status = STN_CU(device->driver, cuStreamSynchronize, (NULL), error);
    stn_device_leave(device);
    return status;
}

stn_status stn_device_replace(stn_device *device, void **table, size_t held, const void *from, size_t bytes,
                              stn_error *error) {
    if (*table) STN_TRY(stn_device_synchronize_all(device, error));
    if (*table && bytes > held) {
        stn_device_free(device, *table);
        *table = NULL;
    }
    if (!*table) STN_TRY(stn_device_alloc(device, bytes, table, error));
    return stn_device_upload(device, *table, from, bytes, error);
}

stn_status stn_device_download(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error) {
    if (!bytes) return STN_OK;
    STN_TRY(stn_device_enter(device, error));
    stn_status status = STN_CU(device->driver, cuMemcpyDtoH, (to, address(from), bytes), error);
    stn_device_leave(device);
    return status;
}

stn_status stn_device_copy(stn_device *device, void *to, const void *from, size_t bytes, void *stream,
                           stn_error *error) {
    if (!bytes) return STN_OK;
    STN_TRY(stn_device_enter(device, error));
    stn_status status =
        STN_CU(device->driver, cuMemcpyDtoDAsync, (address(to), address(from), bytes, (stn_cu_stream)stream), error);
    stn_device_leave(device);
    return status;
}
