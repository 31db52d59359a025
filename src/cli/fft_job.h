/* The transform that `stentor fft` computes: axes, kind and scale from the options, and the array's
 * axes permuted into the plan's order. */
#ifndef STN_CLI_FFT_JOB_H
#define STN_CLI_FFT_JOB_H
#include "cli/shared_options.h"

typedef struct fft_settings { /* as given; NULL or 0: not given */
    const char *in, *shape, *size, *out, *axes, *dtype, *norm, *devices;
    uint64_t random, points, repeat;
    bool inverse, real, pairs, f16_sums, explain;
    cli_device_settings device;
    cli_report_settings report;
} fft_settings;

typedef struct fft_job {
    stn_transform transform; /* valid, dense; the other axes are its batch */
    bool in_complex, out_complex;
    bool is_raw; /* the file has no header: `raw` describes its content */
    stn_raw raw;
    int rank;                                                     /* axes of the array */
    size_t in_extent[STN_ARRAY_RANK], out_extent[STN_ARRAY_RANK]; /* in the array's order of axes */
    /* the array's axes in the plan's order: those not transformed come first */
    int order[STN_ARRAY_RANK];
} fft_job;

/* Makes the job from the options and the file's header; reads no values. */
stn_status fft_job_make(const fft_settings *settings, fft_job *job, stn_error *error);
/* Reads the file or generates random numbers, in the plan's order of axes. */
stn_status fft_job_input(const fft_settings *settings, const fft_job *job, stn_array *array, stn_error *error);
/* Converts real numbers to complex ones. */
stn_status fft_job_to_complex(stn_array *array, stn_error *error);
/* Allocates the output, in the plan's order of axes. */
stn_status fft_job_output(const fft_job *job, stn_array *array, stn_error *error);
/* Moves the axes of the output back to the array's order. */
stn_status fft_job_restore_axes(const fft_job *job, stn_array *array, stn_error *error);
#endif
