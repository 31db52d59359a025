/* A fake libnvidia-ml: a GPU at 1755 and 3201 MHz, limited to 700 W; the function that FAKE_NVML
 * names fails. */
#include <stdlib.h>
#include <string.h>

static int fails(const char *name) {
    const char *which = getenv("FAKE_NVML");
    return which && !strcmp(which, name);
}
#define FAKE __attribute__((visibility("default"))) int
FAKE nvmlInit_v2(void) { return fails("init"); }
FAKE nvmlShutdown(void) { return 0; }
FAKE nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    *handle = NULL;
    return fails("uuid") || strlen(uuid) != 40 || uuid[12] != '-' || uuid[27] != '-';
}
FAKE nvmlDeviceGetClockInfo(void *handle, int type, unsigned *mhz) {
    (void)handle;
    *mhz = type == 1 ? 1755 : 3201;
    return fails("clocks") || type < 1 || type > 2;
}
FAKE nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *milliwatts) {
    (void)handle;
    *milliwatts = 700000;
    return fails("power") || fails("clocks");
}
