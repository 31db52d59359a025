/* What a GPU's clocks and power limit are at the moment, for the record of what was measured on it:
 * by NVML, if it is there. */
#ifndef STN_LAUNCH_CLOCKS_H
#define STN_LAUNCH_CLOCKS_H
#include "launch/driver.h"

typedef struct stn_clocks {
    unsigned multiprocessor, memory; /* MHz; 0: not known */
    unsigned power_limit;            /* W; 0: not known */
    char why[160];                   /* nothing is known; one phrase without a line's end */
} stn_clocks;

/* Opens libnvidia-ml.so.1 ($STENTOR_NVML_PATH overrides) each time: milliseconds. NULL for the
 * device: nothing is known. */
void stn_device_clocks(const stn_device *device, stn_clocks *clocks);
#endif
