/* Current clocks and power limit of a GPU, from NVML if installed; recorded with measured times. */
#ifndef STN_LAUNCH_CLOCKS_H
#define STN_LAUNCH_CLOCKS_H
#include "launch/driver.h"

typedef struct stn_clocks {
    unsigned multiprocessor, memory; /* MHz; 0: not known */
    unsigned power_limit;            /* W; 0: not known */
    /* Why nothing is known: one phrase without a newline; else empty. */
    char why[160];
} stn_clocks;

/* Opens libnvidia-ml.so.1 ($STENTOR_NVML_PATH overrides) at each call, which takes milliseconds.
 * With a NULL device nothing is known. */
void stn_device_clocks(const stn_device *device, stn_clocks *clocks);
#endif
