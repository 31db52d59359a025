/* Declarations shared by the files of launch/. */
#ifndef STN_LAUNCH_LAUNCH_INTERNAL_H
#define STN_LAUNCH_LAUNCH_INTERNAL_H
#include <pthread.h>
#include <sys/types.h>

#include "base/error.h"
#include "launch/driver.h"

struct stn_driver {
    stn_driver_functions call;
    int version, device_count;
    char *path;
};

struct stn_device {
    const stn_driver *driver; /* outlives the device */
    stn_cu_device handle;
    stn_cu_context context;
    int ordinal;
    /* The process that opened the device. A forked child cannot use CUDA, so releasing is skipped
     * there. */
    pid_t owner;
    stn_machine machine;
    char uuid[4 + 32 + 1];
    pthread_mutex_t timing; /* guards the fields below */
    int inside;             /* threads between stn_device_enter and stn_device_leave */
    /* since: when the first of these entered; seconds: total of all earlier periods */
    double since, seconds;
};

/* Calls a driver function and turns its result into a status and a message. */
#define STN_CU(driver, function, arguments, error)                                                                     \
    stn_driver_check((driver), #function, (driver)->call.function arguments, (error))

/* stn_device_enter without the fork check and the timing, for launches, where these costs matter.
 * In a forked child the driver itself fails. */
stn_status stn_device_push(stn_device *device, stn_error *error);
void stn_device_pop(stn_device *device); /* instead of stn_device_leave */

/* chips.c: fills in the properties of the newest known chip not newer than `sm`. clock in Hz,
 * memory rate in bytes/s; 0: unknown, use the known chip's. */
void stn_machine_assume(stn_machine *machine, int sm, int multiprocessors, double clock, double memory_rate);
#endif
