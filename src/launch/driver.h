/* The CUDA driver, opened at run time. One list of functions makes the table, the loader and the
 * messages. */
#ifndef STN_LAUNCH_DRIVER_H
#define STN_LAUNCH_DRIVER_H
#include <stdbool.h>

#include "base/log.h"
#include "launch/cuda_types.h"
#include "launch/driver_functions.h"
#include "launch/machine.h"
#include "stentor.h"

#define STN_OLDEST_DRIVER 12000 /* as cuDriverGetVersion counts: CUDA 12.0 */

typedef struct stn_driver stn_driver; /* immutable once open: any thread may use it */

/* The functions of driver_functions.h, by the driver's own names. */
typedef struct stn_driver_functions {
#define STN_DRIVER_FIELD(name, version, arguments) stn_cu_result(*name) arguments;
    STN_DRIVER_FUNCTION_LIST(STN_DRIVER_FIELD)
#undef STN_DRIVER_FIELD
} stn_driver_functions;

/* Opens libcuda.so.1 ($STENTOR_CUDA_PATH overrides), resolves through cuGetProcAddress, calls
 * cuInit. Failures: STN_ERROR_NO_DEVICE with one sentence (no library, no device, driver too
 * old). */
stn_status stn_driver_open(const stn_logger *logger, stn_driver **driver, stn_error *error);
void stn_driver_close(stn_driver *driver);
int stn_driver_version(const stn_driver *driver); /* 13000 */
int stn_driver_device_count(const stn_driver *driver);
const char *stn_driver_path(const stn_driver *driver); /* the file or name that was opened; owned by the driver */
/* The raw table, for what this header has no word for (streams and graphs in tests). A context must
 * be current: stn_device_enter. */
const stn_driver_functions *stn_driver_table(const stn_driver *driver);
/* STN_OK for 0; else writes "cuXxx failed: NAME (text): what to do". */
stn_status stn_driver_check(const stn_driver *driver, const char *function, stn_cu_result result, stn_error *error);

/* A device: its primary context, retained. All calls push that context and pop it again: the
 * caller's stays current. */
typedef struct stn_device stn_device;
stn_status stn_device_open(stn_driver *driver, int ordinal, stn_device **device, stn_error *error);
void stn_device_close(stn_device *device);
/* Makes the device's primary context current, and the caller's again. Every call below does this by
 * itself. */
stn_status stn_device_enter(stn_device *device, stn_error *error);
void stn_device_leave(stn_device *device);
/* Seconds in which any thread was between the two so far, launches left out: the driver's share of
 * what a caller waits for. NULL: 0. */
double stn_device_seconds(stn_device *device);
/* "GPU-" and 32 hexadecimal digits; owned by the device. */
const char *stn_device_uuid(const stn_device *device);
/* Name, arch, counts; ceilings are assumed from the arch here, scaled by clocks and counts; see
 * stn_device_measure_copy. */
void stn_device_describe(const stn_device *device, stn_machine *machine);
/* Measures the copy bandwidth, bytes/s of reading plus writing: a device-to-device copy of at least
 * 4 L2 caches, the median of 5. Takes a few milliseconds and that much memory. */
stn_status stn_device_measure_copy(stn_device *device, double *bytes_per_second, stn_error *error);
/* The ceilings of an arch that is not here ("sm_80", "sm_90", "sm_100"); false if the name is not
 * sm_NN. */
bool stn_machine_for_arch(const char *arch, stn_machine *machine);

/* Device memory; 0 bytes give a valid pointer too. upload and download return when the bytes have
 * arrived. */
stn_status stn_device_alloc(stn_device *device, size_t bytes, void **pointer, stn_error *error);
void stn_device_free(stn_device *device, void *pointer);
stn_status stn_device_upload(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error);
stn_status stn_device_download(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error);
stn_status stn_device_copy(stn_device *device, void *to, const void *from, size_t bytes, void *stream,
                           stn_error *error);
stn_status stn_device_synchronize(stn_device *device, void *stream, stn_error *error);
stn_status stn_device_synchronize_all(stn_device *device, stn_error *error); /* all streams of the device */

/* Timing on a stream. */
typedef struct stn_timer stn_timer;
stn_status stn_timer_create(stn_device *device, stn_timer **timer, stn_error *error);
stn_status stn_timer_start(stn_timer *timer, void *stream, stn_error *error);
stn_status stn_timer_stop(stn_timer *timer, void *stream, double *seconds, stn_error *error); /* waits */
/* The same without waiting: the end is marked, and read once the stream has come there. *seconds
 * stays 0 where it has not, and `wait` is not asked for. */
stn_status stn_timer_mark(stn_timer *timer, void *stream, stn_error *error);
stn_status stn_timer_read(stn_timer *timer, bool wait, double *seconds, stn_error *error);
/* Has the stream come to the mark? */
stn_status stn_timer_reached(stn_timer *timer, bool *reached, stn_error *error);
void stn_timer_destroy(stn_timer *timer);
/* Is the stream being captured into a graph? */
bool stn_device_capturing(stn_device *device, void *stream);

/* Streams beside a given one. Between begin and the joins of all branches, under the lock, what is
 * launched on a branch's stream goes on beside what is launched on the given one, which is not
 * being captured: a capture that two plans' executions share would take both. */
#define STN_FORK_BRANCHES 3
typedef struct stn_fork stn_fork;
stn_status stn_fork_create(stn_device *device, int branches, stn_fork **fork, stn_error *error); /* at most so many */
void stn_fork_destroy(stn_fork *fork);                                                           /* NULL is fine */
void stn_fork_lock(stn_fork *fork);
void stn_fork_unlock(stn_fork *fork);
void *stn_fork_stream(const stn_fork *fork, int branch);
stn_status stn_fork_begin(stn_fork *fork, void *stream, stn_error *error);
/* The given stream goes on when the branch has come to its end. */
stn_status stn_fork_join(stn_fork *fork, int branch, void *stream, stn_error *error);

/* A stream of a device and a mark in it, for work that several devices share. Its calls are one
 * thread's at a time. */
typedef struct stn_lane stn_lane;
stn_status stn_lane_create(stn_device *device, stn_lane **lane, stn_error *error);
void stn_lane_destroy(stn_lane *lane); /* NULL is fine; waits for nothing */
void *stn_lane_stream(const stn_lane *lane);
/* Lets the device read the other's memory directly, where the two are linked; copies go through the
 * host otherwise. */
void stn_lane_link(const stn_lane *lane, const stn_lane *other);
/* Marks how far the stream has come; the other's stream goes on when it has come there. */
stn_status stn_lane_mark(const stn_lane *lane, stn_error *error);
stn_status stn_lane_await(const stn_lane *lane, const stn_lane *marked, stn_error *error);
/* From memory of the other lane's device to this one's, on this one's stream. */
stn_status stn_lane_copy(const stn_lane *lane, void *to, const stn_lane *other, const void *from, size_t bytes,
                         stn_error *error);

/* A loaded module with one kernel. */
typedef struct stn_module stn_module;
/* image: a cubin or NUL-terminated PTX, copied. An error carries the driver's own log of a PTX it
 * refused. The device must outlive the module. */
stn_status stn_module_load(stn_device *device, const void *image, const char *kernel_name, stn_module **module,
                           stn_error *error);
void stn_module_unload(stn_module *module);
/* The cubin that the driver's own just-in-time compiler makes of NUL-terminated PTX for this
 * device. *cubin is freed with free(). */
stn_status stn_device_translate(stn_device *device, const char *ptx, void **cubin, size_t *size, stn_error *error);
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
    bool early;       /* from sm_90 on: begins as soon as all blocks of the launch before it have; its kernel must call
                       * wait_for_launch_before() ahead of what that one writes */
} stn_launch;
/* Launches with one by-value struct argument, copied during the call. Fast path: no allocation. */
stn_status stn_module_launch(stn_module *module, const stn_launch *launch, void *arguments, stn_error *error);
#endif
