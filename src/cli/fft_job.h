/* What `stentor fft` is asked to do: which axes of which array, how; and moving them to where a
 * plan wants them. */
#ifndef STN_CLI_FFT_JOB_H
#define STN_CLI_FFT_JOB_H
#include "cli/settings.h"

typedef struct fft_settings { /* as given; NULL or 0: not given */
    const char *in, *shape, *size, *out, *axes, *dtype, *norm;
    uint64_t random, points, repeat;
    bool inverse, real, pairs, f16_sums, explain;
    cli_device_settings device;
    cli_report_settings report;
} fft_settings;

typedef struct fft_job {
    stn_transform transform; /* valid, dense; axes that are not transformed are its batch */
    bool in_complex, out_complex;
    bool is_raw; /* the file has no header: `raw` says what it holds */
    stn_raw raw;
    int rank;                                                     /* of the array */
    size_t in_extent[STN_ARRAY_RANK], out_extent[STN_ARRAY_RANK]; /* in the array's own order of axes */
    int order[STN_ARRAY_RANK]; /* the array's axes as the plan wants them: those not transformed, then the others */
} fft_job;

/* From the options and the file's header; reads no values. */
stn_status fft_job_make(const fft_settings *settings, fft_job *job, stn_error *error);
/* The input as the plan takes it: the file's values or random ones, in the plan's order of axes. */
stn_status fft_job_input(const fft_settings *settings, const fft_job *job, stn_array *array, stn_error *error);
/* An array for the output in the plan's order of axes, and that array with its axes put back. */
stn_status fft_job_output(const fft_job *job, stn_array *array, stn_error *error);
stn_status fft_job_put_back(const fft_job *job, stn_array *array, stn_error *error);
#endif
