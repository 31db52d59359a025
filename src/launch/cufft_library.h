/* cuFFT, opened at run time: plans for a device and their execution. */
#ifndef STN_LAUNCH_CUFFT_LIBRARY_H
#define STN_LAUNCH_CUFFT_LIBRARY_H
#include "launch/driver.h"
#include "problem/transform.h"

typedef struct stn_cufft stn_cufft; /* immutable once open */

/* Finds and opens cuFFT: $STENTOR_CUFFT_PATH, one already loaded, pip's nvidia folders, the
 * loader's path, toolkits. STN_ERROR_UNSUPPORTED names everything that was tried and how to install
 * it. */
stn_status stn_cufft_open(const stn_logger *logger, stn_cufft **cufft, stn_error *error);
void stn_cufft_close(stn_cufft *cufft);        /* NULL has no effect */
int stn_cufft_version(const stn_cufft *cufft); /* 12000 */

/* Can cuFFT do this transform? If not, `reason` is one phrase. Works without cuFFT. */
bool stn_cufft_takes(const stn_fft *fft, char *reason, size_t reason_size);

typedef struct stn_cufft_plan stn_cufft_plan; /* thread-safe: executions exclude each other */
/* Scale factors are left to the caller. *workspace: bytes that each execution needs. cufft and
 * device must outlive the plan. */
stn_status stn_cufft_plan_create(const stn_cufft *cufft, stn_device *device, const stn_fft *fft, stn_cufft_plan **plan,
                                 size_t *workspace, stn_error *error);
void stn_cufft_plan_destroy(stn_cufft_plan *plan); /* NULL has no effect */
/* Must not be used for a c2r transform of several axes out of place. */
stn_status stn_cufft_plan_execute(stn_cufft_plan *plan, void *in, void *out, void *workspace, void *stream,
                                  stn_error *error);
#endif
