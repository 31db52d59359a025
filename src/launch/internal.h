/* What the files of launch/ share. */
#ifndef STN_LAUNCH_INTERNAL_H
#define STN_LAUNCH_INTERNAL_H
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
    pid_t owner; /* the process that opened it: CUDA does not work in a forked child, and is left alone there */
    stn_machine machine;
    char uuid[4 + 32 + 1];
    pthread_mutex_t timing; /* guards what follows */
    int inside;             /* threads between stn_device_enter and stn_device_leave */
    double since, seconds;  /* when the first of them entered; how long any was inside before */
};

/* A driver call, its failure told. */
#define STN_CU(driver, function, arguments, error)                                                                     \
    stn_driver_check((driver), #function, (driver)->call.function arguments, (error))

/* stn_device_enter without a look at the process, for launches: a few of them cost what the
 * kernel's answer does. In a forked child the driver itself says no. */
stn_status stn_device_push(stn_device *device, stn_error *error);
void stn_device_pop(stn_device *device); /* after that, in place of stn_device_leave */

/* chips.c: the ceilings of the nearest known chip at or below `sm`. clock and memory rate in Hz
 * and bytes/s; 0: not reported, take the known chip's. */
void stn_machine_assume(stn_machine *machine, int sm, int multiprocessors, double clock, double memory_rate);
#endif
