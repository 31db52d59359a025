/* A stream of a device and an event in it: synchronization and copies between the devices of one
 * process. */
#include <stdlib.h>

#include "launch/launch_internal.h"

struct stn_lane {
    stn_device *device; /* outlives the lane */
    stn_cu_stream stream;
    stn_cu_event mark;
};

static stn_cu_pointer address(const void *pointer) { return (stn_cu_pointer)(uintptr_t)pointer; }

/* Lower numbers are more urgent, 0 is the default, and the driver clamps them to its range. */
enum { URGENT = -1 };

stn_status stn_lane_create(stn_device *device, bool urgent, stn_lane **lane, stn_error *error) {
    *lane = NULL;
    stn_lane *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a stream", sizeof *made);
    made->device = device;
    stn_status status = stn_device_enter(device, error);
    if (status == STN_OK) {
        status = STN_CU(device->driver, cuStreamCreateWithPriority,
                        (&made->stream, STN_CU_STREAM_NON_BLOCKING, urgent ? URGENT : 0), error);
        if (status == STN_OK)
            status = STN_CU(device->driver, cuEventCreate, (&made->mark, STN_CU_EVENT_DISABLE_TIMING), error);
        stn_device_leave(device);
    }
    if (status == STN_OK)
        *lane = made;
    else
        stn_lane_destroy(made);
    return status;
}

void stn_lane_destroy(stn_lane *lane) {
    if (!lane) return;
    if (stn_device_enter(lane->device, NULL) == STN_OK) {
        const stn_driver_functions *call = &lane->device->driver->call;
        if (lane->stream) call->cuStreamDestroy(lane->stream);
        if (lane->mark) call->cuEventDestroy(lane->mark);
        stn_device_leave(lane->device);
    }
    free(lane);
}

void *stn_lane_stream(const stn_lane *lane) { return lane->stream; }

void stn_lane_link(const stn_lane *lane, const stn_lane *other) {
    if (lane->device->context == other->device->context || stn_device_enter(lane->device, NULL) != STN_OK) return;
    /* An error means that it is enabled already, or that there is no link. */
    (void)lane->device->driver->call.cuCtxEnablePeerAccess(other->device->context, 0);
    stn_device_leave(lane->device);
}

stn_status stn_lane_mark(const stn_lane *lane, stn_error *error) {
    STN_TRY(stn_device_push(lane->device, error));
    const stn_status status = STN_CU(lane->device->driver, cuEventRecord, (lane->mark, lane->stream), error);
    stn_device_pop(lane->device);
    return status;
}

stn_status stn_lane_await(const stn_lane *lane, const stn_lane *marked, stn_error *error) {
    if (lane == marked) return STN_OK;
    STN_TRY(stn_device_push(lane->device, error));
    const stn_status status = STN_CU(lane->device->driver, cuStreamWaitEvent, (lane->stream, marked->mark, 0), error);
    stn_device_pop(lane->device);
    return status;
}

stn_status stn_lane_copy(const stn_lane *lane, void *to, const stn_lane *other, const void *from, size_t bytes,
                         stn_error *error) {
    if (!bytes) return STN_OK;
    if (lane->device->context == other->device->context)
        return stn_device_copy(lane->device, to, from, bytes, lane->stream, error);
    STN_TRY(stn_device_push(lane->device, error));
    const stn_status status =
        STN_CU(lane->device->driver, cuMemcpyPeerAsync,
               (address(to), lane->device->context, address(from), other->device->context, bytes, lane->stream), error);
    stn_device_pop(lane->device);
    return status;
}

/* The largest pitch in bytes that drivers accept; the value of CU_MEMORYTYPE_DEVICE. */
enum { MAX_PITCH = INT32_MAX, DEVICE_MEMORY = 2 };

static stn_cu_copy_side side_of(const stn_lane *lane, const void *at, int64_t pitch, int64_t rows) {
    return (stn_cu_copy_side){.memory_type = DEVICE_MEMORY,
                              .device = address(at),
                              .context = lane->device->context,
                              .pitch = (size_t)pitch,
                              .height = (size_t)rows};
}

stn_status stn_lane_copy_rows(const stn_lane *lane, void *to, int64_t to_pitch, const stn_lane *other, const void *from,
                              int64_t from_pitch, int64_t width, int64_t rows, stn_error *error) {
    if (to_pitch == width && from_pitch == width)
        return stn_lane_copy(lane, to, other, from, (size_t)(width * rows), error);
    if (to_pitch > MAX_PITCH || from_pitch > MAX_PITCH) {
        for (int64_t i = 0; i < rows; i++)
            STN_TRY(stn_lane_copy(lane, (char *)to + i * to_pitch, other, (const char *)from + i * from_pitch,
                                  (size_t)width, error));
        return STN_OK;
    }
    if (!width || !rows) return STN_OK;
    const stn_cu_memcpy_3d_peer copy = {.from = side_of(other, from, from_pitch, rows),
                                        .to = side_of(lane, to, to_pitch, rows),
                                        .width = (size_t)width,
                                        .height = (size_t)rows,
                                        .depth = 1};
    STN_TRY(stn_device_push(lane->device, error));
    const stn_status status = STN_CU(lane->device->driver, cuMemcpy3DPeerAsync, (&copy, lane->stream), error);
    stn_device_pop(lane->device);
    return status;
}
