/* Opens a device and its primary context; reads its properties. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/launch_internal.h"

/* The value of an attribute; 0 if unknown (all attributes that we read are positive). */
static int attribute(const stn_device *device, stn_cu_enum which) {
    int value = 0;
    if (device->driver->call.cuDeviceGetAttribute(&value, which, device->handle) != STN_CUDA_SUCCESS) return 0;
    return value > 0 ? value : 0;
}

static void fill_machine(stn_device *device) {
    stn_machine *machine = &device->machine;
    int sm = 10 * attribute(device, STN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
             attribute(device, STN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    double clock = 1e3 * attribute(device, STN_CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    double memory_clock = 1e3 * attribute(device, STN_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    double bus_bytes = attribute(device, STN_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0;
    stn_machine_assume(machine, sm, attribute(device, STN_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), clock,
                       2 * memory_clock * bus_bytes); /* two transfers per clock */
    machine->present = true;
    const struct {
        size_t *field;
        stn_cu_enum which;
    } sizes[] = {
        {&machine->shared_per_block, STN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
        {&machine->shared_per_multiprocessor, STN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
        {&machine->registers_per_multiprocessor, STN_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
        {&machine->l2_bytes, STN_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int value = attribute(device, sizes[i].which);
        if (value) *sizes[i].field = (size_t)value;
    }
    int threads = attribute(device, STN_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    if (threads) machine->threads = threads;
    size_t memory;
    if (device->driver->call.cuDeviceTotalMem(&memory, device->handle) == STN_CUDA_SUCCESS)
        machine->memory_bytes = memory;
    char name[sizeof machine->name] = "";
    if (device->driver->call.cuDeviceGetName(name, sizeof name, device->handle) == STN_CUDA_SUCCESS && *name)
        memcpy(machine->name, name, sizeof name);
    machine->name[sizeof machine->name - 1] = '\0';
}

static void fill_uuid(stn_device *device) {
    stn_cu_uuid uuid = {{0}};
    if (device->driver->call.cuDeviceGetUuid(&uuid, device->handle) != STN_CUDA_SUCCESS) memset(&uuid, 0, sizeof uuid);
    strcpy(device->uuid, "GPU-");
    for (size_t i = 0; i < sizeof uuid.bytes; i++) sprintf(device->uuid + 4 + 2 * i, "%02x", uuid.bytes[i]);
}

stn_status stn_device_open(stn_driver *driver, int ordinal, stn_device **device, stn_error *error) {
    *device = NULL;
    if (ordinal < 0 || ordinal >= driver->device_count)
        return stn_fail(error, STN_ERROR_NO_DEVICE, "there is no GPU %d: this process sees %d GPU(s), numbered from 0",
                        ordinal, driver->device_count);
    stn_device *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a device", sizeof *made);
    made->driver = driver;
    made->ordinal = ordinal;
    made->owner = getpid();
    pthread_mutex_init(&made->timing, NULL);
    stn_status status = STN_CU(driver, cuDeviceGet, (&made->handle, ordinal), error);
    if (status == STN_OK) status = STN_CU(driver, cuDevicePrimaryCtxRetain, (&made->context, made->handle), error);
    if (status != STN_OK) {
        free(made);
        return status;
    }
    fill_machine(made);
    if (made->machine.sm < STN_OLDEST_SM) {
        status =
            stn_fail(error, STN_ERROR_NO_DEVICE,
                     "GPU %d is of architecture %s, and kernels are written for sm_%d and newer: use another GPU, or "
                     "the host",
                     ordinal, made->machine.arch, STN_OLDEST_SM);
        stn_device_close(made);
        return status;
    }
    fill_uuid(made);
    *device = made;
    return STN_OK;
}

void stn_device_close(stn_device *device) {
    if (!device) return;
    if (device->owner == getpid()) {
        device->driver->call.cuDevicePrimaryCtxRelease(device->handle);
        pthread_mutex_destroy(&device->timing);
    }
    free(device);
}

double stn_device_seconds(stn_device *device) {
    if (!device) return 0;
    pthread_mutex_lock(&device->timing);
    const double seconds = device->seconds + (device->inside ? stn_clock_seconds() - device->since : 0);
    pthread_mutex_unlock(&device->timing);
    return seconds;
}

stn_status stn_device_enter(stn_device *device, stn_error *error) {
    if (device->owner != getpid())
        return stn_fail(
            error, STN_ERROR_DRIVER,
            "%s was opened by the process %ld, of which this one is a fork, and CUDA does not survive that: "
            "make a context in the process that uses it, before anything in its parent uses the GPU",
            device->machine.name, (long)device->owner);
    const double begin = stn_clock_seconds();
    STN_TRY(stn_device_push(device, error));
    pthread_mutex_lock(&device->timing);
    if (!device->inside++) device->since = begin;
    pthread_mutex_unlock(&device->timing);
    return STN_OK;
}

stn_status stn_device_push(stn_device *device, stn_error *error) {
    return STN_CU(device->driver, cuCtxPushCurrent, (device->context), error);
}

void stn_device_pop(stn_device *device) {
    stn_cu_context popped;
    device->driver->call.cuCtxPopCurrent(&popped);
}

void stn_device_leave(stn_device *device) {
    stn_device_pop(device);
    pthread_mutex_lock(&device->timing);
    if (!--device->inside) device->seconds += stn_clock_seconds() - device->since;
    pthread_mutex_unlock(&device->timing);
}

const char *stn_device_uuid(const stn_device *device) { return device->uuid; }
void stn_device_describe(const stn_device *device, stn_machine *machine) { *machine = device->machine; }
