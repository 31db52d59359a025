/* The CUDA driver, opened at run time. One list of functions makes the table, the loader and the messages. */
#ifndef STN_LAUNCH_DRIVER_H
#define STN_LAUNCH_DRIVER_H
#include <stdbool.h>

#include "base/log.h"
#include "launch/cuda_types.h"
#include "plan/machine.h"
#include "stentor.h"

/* The implementer lists the functions in driver_functions.h as X(name, version, (argument types)) and expands it here.
 */
typedef struct stn_driver stn_driver;

/* Opens libcuda.so.1 ($STENTOR_CUDA_PATH overrides), resolves through cuGetProcAddress, calls cuInit. Failures:
 * STN_ERROR_NO_DEVICE with one sentence (no library, no device, driver too old). */
stn_status stn_driver_open(const stn_logger *logger, stn_driver **driver, stn_error *error);
void stn_driver_close(stn_driver *driver);
int stn_driver_version(const stn_driver *driver); /* 13000 */
int stn_driver_device_count(const stn_driver *driver);

/* A device: its primary context, retained. All calls push that context and pop it again: the caller's stays current. */
typedef struct stn_device stn_device;
stn_status stn_device_open(stn_driver *driver, int ordinal, stn_device **device, stn_error *error);
void stn_device_close(stn_device *device);
/* Name, arch, counts; ceilings are assumed from the arch here and measured by stn_device_measure. */
void stn_device_describe(const stn_device *device, stn_machine *machine);
/* The ceilings of an arch that is not here ("sm_80", "sm_90", "sm_100"); false if the name is not sm_NN. */
bool stn_machine_for_arch(const char *arch, stn_machine *machine);

stn_status stn_device_alloc(stn_device *device, size_t bytes, void **pointer, stn_error *error);
void stn_device_free(stn_device *device, void *pointer);
stn_status stn_device_upload(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error);
stn_status stn_device_download(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error);
stn_status stn_device_copy(stn_device *device, void *to, const void *from, size_t bytes, void *stream,
                           stn_error *error);
stn_status stn_device_synchronize(stn_device *device, void *stream, stn_error *error);

/* Timing on a stream. */
typedef struct stn_timer stn_timer;
stn_status stn_timer_create(stn_device *device, stn_timer **timer, stn_error *error);
stn_status stn_timer_start(stn_timer *timer, void *stream, stn_error *error);
stn_status stn_timer_stop(stn_timer *timer, void *stream, double *seconds, stn_error *error); /* waits */
void stn_timer_destroy(stn_timer *timer);

/* A loaded module with one kernel. */
typedef struct stn_module stn_module;
/* image: a cubin or NUL-terminated PTX. */
stn_status stn_module_load(stn_device *device, const void *image, const char *kernel_name, stn_module **module,
                           stn_error *error);
void stn_module_unload(stn_module *module);
typedef struct stn_module_info {
    int registers, shared_bytes, local_bytes, max_threads;
} stn_module_info;
stn_module_info stn_module_describe(const stn_module *module);
/* Raises the dynamic shared memory limit; must precede launches with more than 48 KiB. */
stn_status stn_module_allow_shared(stn_module *module, size_t bytes, stn_error *error);
/* Resident blocks per multiprocessor at this block size and dynamic shared memory. */
int stn_module_occupancy(const stn_module *module, int threads, size_t shared);

typedef struct stn_launch {
    unsigned grid[3], block[3];
    size_t shared;
    void *stream;
    unsigned cluster; /* blocks along x in a cluster; 0 or 1: none */
} stn_launch;
/* Launches with one by-value struct argument, copied during the call. Fast path: no allocation. */
stn_status stn_module_launch(stn_module *module, const stn_launch *launch, void *arguments, stn_error *error);
#endif
