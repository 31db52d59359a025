/* Reads clocks and power limit from NVML, opened at run time; see clocks.h. */
#include "launch/clocks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "compile/library.h"
#include "launch/launch_internal.h"

typedef struct nvml_device *nvml_handle;
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

/* In the order of `names`; each returns 0 on success. */
typedef struct nvml_functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *uuid, nvml_handle *handle);
    int (*clock)(nvml_handle handle, int type, unsigned *mhz);
    int (*power_limit)(nvml_handle handle, unsigned *milliwatts);
} nvml_functions;
static const char *const names[] = {"nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetHandleByUUID",
                                    "nvmlDeviceGetClockInfo", "nvmlDeviceGetEnforcedPowerLimit"};
_Static_assert(sizeof(nvml_functions) == sizeof names, "the table is an array of pointers");

/* Formats "GPU-" and 32 digits as NVML does, in groups. */
static void write_uuid(const char *digits, char uuid[41]) {
    snprintf(uuid, 41, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", digits + 4, digits + 12, digits + 16, digits + 20, digits + 24);
}

static void read_clocks(const nvml_functions *call, const stn_device *device, stn_clocks *clocks) {
    nvml_handle handle;
    char uuid[41];
    unsigned milliwatts = 0;
    write_uuid(stn_device_uuid(device), uuid);
    if (call->by_uuid(uuid, &handle)) {
        snprintf(clocks->why, sizeof clocks->why, "NVML does not know %s", uuid);
        return;
    }
    if (call->clock(handle, NVML_CLOCK_SM, &clocks->multiprocessor)) clocks->multiprocessor = 0;
    if (call->clock(handle, NVML_CLOCK_MEM, &clocks->memory)) clocks->memory = 0;
    if (call->power_limit(handle, &milliwatts)) milliwatts = 0;
    clocks->power_limit = (milliwatts + 500) / 1000;
    if (!clocks->multiprocessor && !clocks->memory && !clocks->power_limit)
        snprintf(clocks->why, sizeof clocks->why, "NVML reports none of them");
}

void stn_device_clocks(const stn_device *device, stn_clocks *clocks) {
    const char *path = secure_getenv("STENTOR_NVML_PATH"), *missing = NULL;
    stn_text reasons = STN_TEXT_EMPTY;
    nvml_functions call;
    *clocks = (stn_clocks){.why = "there is no device"};
    if (!device) return;
    void *library = stn_library_open(path && *path ? path : "libnvidia-ml.so.1", &reasons);
    stn_text_clear(&reasons);
    snprintf(clocks->why, sizeof clocks->why, "there is no NVML");
    if (!library) return;
    if (!stn_library_resolve(library, names, sizeof names / sizeof *names, &call, &missing))
        snprintf(clocks->why, sizeof clocks->why, "NVML lacks %s", missing);
    else if (call.init())
        snprintf(clocks->why, sizeof clocks->why, "NVML does not start");
    else {
        *clocks->why = '\0';
        read_clocks(&call, device, clocks);
        call.shutdown();
    }
    dlclose(library);
}
