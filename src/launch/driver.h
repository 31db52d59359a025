/* The CUDA driver, opened at run time: devices, memory, streams, modules, launches, timers. */
#ifndef STN_LAUNCH_DRIVER_H
#define STN_LAUNCH_DRIVER_H
#include <stdbool.h>

#include "base/log.h"
#include "compile/cubin.h"
#include "launch/cuda_types.h"
#include "launch/driver_functions.h"
#include "launch/machine.h"
#include "stentor.h"

#define STN_OLDEST_DRIVER 12000 /* CUDA 12.0, as cuDriverGetVersion encodes it */

typedef struct stn_driver stn_driver; /* immutable once open: any thread may use it */

/* The functions of driver_functions.h, under the driver's own names. */
typedef struct stn_driver_functions {
#define STN_DRIVER_FIELD(name, version, arguments) stn_cu_result(*name) arguments;
    STN_DRIVER_FUNCTION_LIST(STN_DRIVER_FIELD)
#undef STN_DRIVER_FIELD
} stn_driver_functions;

/* Opens libcuda.so.1 ($STENTOR_CUDA_PATH overrides), resolves its functions with cuGetProcAddress,
 * and calls cuInit. STN_ERROR_NO_DEVICE: no library, no device, or the driver is too old. */
stn_status stn_driver_open(const stn_logger *logger, stn_driver **driver, stn_error *error);
void stn_driver_close(stn_driver *driver);
int stn_driver_version(const stn_driver *driver); /* 13000 */
int stn_driver_device_count(const stn_driver *driver);
/* the opened file or name; owned by the driver */
const char *stn_driver_path(const stn_driver *driver);
/* The table of raw functions, for calls that this header does not wrap (graphs in tests). A context
 * must be current: stn_device_enter. */
const stn_driver_functions *stn_driver_table(const stn_driver *driver);
/* STN_OK for 0; else the message is "cuXxx failed: NAME (text): what to do". */
stn_status stn_driver_check(const stn_driver *driver, const char *function, stn_cu_result result, stn_error *error);

/* A device with its retained primary context. All calls push that context and pop it, so that the
 * caller's context stays current. */
typedef struct stn_device stn_device;
stn_status stn_device_open(stn_driver *driver, int ordinal, stn_device **device, stn_error *error);
void stn_device_close(stn_device *device);
/* `enter` makes the device's primary context current, `leave` the caller's context again. All calls
 * below do this themselves. */
stn_status stn_device_enter(stn_device *device, stn_error *error);
void stn_device_leave(stn_device *device);
/* Seconds so far during which some thread was between enter and leave, without launches: the
 * driver's share of a caller's waiting time. NULL: 0. */
double stn_device_seconds(stn_device *device);
/* "GPU-" and 32 hexadecimal digits; owned by the device. */
const char *stn_device_uuid(const stn_device *device);
/* Name, architecture, counts. Peak rates are assumed from the architecture, scaled by clocks and
 * counts; stn_device_measure_copy measures the bandwidth. */
void stn_device_describe(const stn_device *device, stn_machine *machine);
/* Measures the copy bandwidth in bytes/s, reading plus writing: the median of 3 timings of 4
 * device-to-device copies of 4 L2 sizes each. Takes a few milliseconds and memory of 8 L2 sizes. */
stn_status stn_device_measure_copy(stn_device *device, double *bytes_per_second, stn_error *error);
/* Assumed peak rates of an architecture ("sm_80", "sm_90", "sm_100") without a device; false if the
 * name is not sm_NN. */
bool stn_machine_for_arch(const char *arch, stn_machine *machine);

/* Device memory; 0 bytes give a valid pointer too. upload and download return when the copy is
 * complete. */
stn_status stn_device_alloc(stn_device *device, size_t bytes, void **pointer, stn_error *error);
void stn_device_free(stn_device *device, void *pointer);
stn_status stn_device_upload(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error);
/* Uploads a table that launches read. *table has `held` bytes; if it is NULL, memory is allocated.
 * Otherwise waits for all work of the device, which may still read the old table, and allocates
 * again if the old table is too small. *table is NULL after a failed allocation. */
stn_status stn_device_replace(stn_device *device, void **table, size_t held, const void *from, size_t bytes,
                              stn_error *error);
stn_status stn_device_download(stn_device *device, void *to, const void *from, size_t bytes, stn_error *error);
stn_status stn_device_copy(stn_device *device, void *to, const void *from, size_t bytes, void *stream,
                           stn_error *error);
stn_status stn_device_synchronize(stn_device *device, void *stream, stn_error *error);
/* Waits for all streams of the device. */
stn_status stn_device_synchronize_all(stn_device *device, stn_error *error);

/* Timing on a stream with two events. */
typedef struct stn_timer stn_timer;
stn_status stn_timer_create(stn_device *device, stn_timer **timer, stn_error *error);
stn_status stn_timer_start(stn_timer *timer, void *stream, stn_error *error);
/* Records the end event and waits for it. */
stn_status stn_timer_stop(stn_timer *timer, void *stream, double *seconds, stn_error *error);
/* The same in two halves: mark records the end event, read waits for it. */
stn_status stn_timer_mark(stn_timer *timer, void *stream, stn_error *error);
stn_status stn_timer_read(stn_timer *timer, double *seconds, stn_error *error);
/* Has the end event completed? */
stn_status stn_timer_reached(stn_timer *timer, bool *reached, stn_error *error);
void stn_timer_destroy(stn_timer *timer);
/* Is the stream being captured into a graph? */
bool stn_device_capturing(stn_device *device, void *stream);

/* Fork and join of streams: between begin and the joins of all branches, work on a branch's stream
 * may run concurrently with work on the given stream. Hold the lock meanwhile. The given stream
 * must not be in capture: two plans that share branch streams would join one capture. */
#define STN_FORK_BRANCHES 3
typedef struct stn_fork stn_fork;
/* branches: at most STN_FORK_BRANCHES */
stn_status stn_fork_create(stn_device *device, int branches, stn_fork **fork, stn_error *error);
void stn_fork_destroy(stn_fork *fork); /* NULL has no effect */
void stn_fork_lock(stn_fork *fork);
void stn_fork_unlock(stn_fork *fork);
void *stn_fork_stream(const stn_fork *fork, int branch);
stn_status stn_fork_begin(stn_fork *fork, void *stream, stn_error *error);
/* The given stream waits for the work enqueued on the branch. */
stn_status stn_fork_join(stn_fork *fork, int branch, void *stream, stn_error *error);

/* A stream of a device and an event in it, for work on several devices. Not thread-safe. urgent:
 * blocks of its kernels start before blocks of other streams' kernels that are waiting to start. */
typedef struct stn_lane stn_lane;
stn_status stn_lane_create(stn_device *device, bool urgent, stn_lane **lane, stn_error *error);
void stn_lane_destroy(stn_lane *lane); /* NULL has no effect; waits for nothing */
void *stn_lane_stream(const stn_lane *lane);
/* Enables peer access to the device of `other` if the two are linked; without it copies go through
 * the host. */
void stn_lane_link(const stn_lane *lane, const stn_lane *other);
/* mark records the lane's event in its stream; await makes this lane's stream wait for the event of
 * `marked`. */
stn_status stn_lane_mark(const stn_lane *lane, stn_error *error);
stn_status stn_lane_await(const stn_lane *lane, const stn_lane *marked, stn_error *error);
/* Copies from the other lane's device to this one's, on this lane's stream. */
stn_status stn_lane_copy(const stn_lane *lane, void *to, const stn_lane *other, const void *from, size_t bytes,
                         stn_error *error);

/* The same for `rows` rows of `width` bytes, `to_pitch` and `from_pitch` bytes from one to the
 * next. */
stn_status stn_lane_copy_rows(const stn_lane *lane, void *to, int64_t to_pitch, const stn_lane *other, const void *from,
                              int64_t from_pitch, int64_t width, int64_t rows, stn_error *error);

/* A loaded module with one kernel. */
typedef struct stn_module stn_module;
/* image: a cubin or NUL-terminated PTX, copied. If the driver refuses a PTX, its log is in the
 * error. The device must outlive the module. */
stn_status stn_module_load(stn_device *device, const void *image, const char *kernel_name, stn_module **module,
                           stn_error *error);
void stn_module_unload(stn_module *module);
stn_cubin_usage stn_module_usage(const stn_module *module);
/* Raises the limit of dynamic shared memory; needed before launches with more than 48 KiB. */
stn_status stn_module_allow_shared(stn_module *module, size_t bytes, stn_error *error);
/* Resident blocks per multiprocessor at this block size and dynamic shared memory. */
int stn_module_occupancy(const stn_module *module, int threads, size_t shared);

typedef struct stn_launch {
    unsigned grid[3], block[3];
    size_t shared;
    void *stream;
    unsigned cluster; /* blocks along x in a cluster; 0 or 1: none */
    /* Programmatic dependent launch (sm_90 and newer): starts before the previous launch ends. The
     * kernel must call wait_for_previous_launch() before it reads what the previous one wrote. */
    bool early;
} stn_launch;
/* Launches with one struct as by-value argument, which is copied during the call. Never
 * allocates. */
stn_status stn_module_launch(stn_module *module, const stn_launch *launch, void *arguments, stn_error *error);
#endif
