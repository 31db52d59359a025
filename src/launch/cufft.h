/* cuFFT, opened at run time: plans for a device and their execution. */
#ifndef STN_LAUNCH_CUFFT_H
#define STN_LAUNCH_CUFFT_H
#include "launch/driver.h"
#include "problem/transform.h"

typedef struct stn_cufft stn_cufft; /* immutable once open */

/* Finds and opens cuFFT: $STENTOR_CUFFT_PATH, one already loaded, pip's nvidia folders, the
 * loader's path, toolkits. STN_ERROR_UNSUPPORTED names all that was tried and how to get it. */
stn_status stn_cufft_open(const stn_logger *logger, stn_cufft **cufft, stn_error *error);
void stn_cufft_close(stn_cufft *cufft);        /* NULL is fine */
int stn_cufft_version(const stn_cufft *cufft); /* 12000 */

/* Does cuFFT take this transform? If not, one phrase says why. Needs no cuFFT. */
bool stn_cufft_takes(const stn_fft *fft, char *reason, size_t reason_size);

typedef struct stn_cufft_plan stn_cufft_plan; /* several threads may execute it: they take turns */
/* Scale factors are not cuFFT's. *workspace: bytes that each execution brings. cufft and device
 * outlive the plan. */
stn_status stn_cufft_plan_create(const stn_cufft *cufft, stn_device *device, const stn_fft *fft, stn_cufft_plan **plan,
                                 size_t *workspace, stn_error *error);
void stn_cufft_plan_destroy(stn_cufft_plan *plan); /* NULL is fine */
/* A c2r of several axes that is not in place is not for this. */
stn_status stn_cufft_plan_execute(stn_cufft_plan *plan, void *in, void *out, void *workspace, void *stream,
                                  stn_error *error);
#endif
