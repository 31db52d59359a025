/* FFTs of several lines of n complex numbers at once, for any n. */
#ifndef STN_HOST_FFT_LINE_H
#define STN_HOST_FFT_LINE_H
#include "host/fft_kernels.h"
#include "stentor.h"

typedef struct stn_fft_line stn_fft_line; /* immutable tables */

stn_status stn_fft_line_create(int64_t n, stn_fft_line **made, stn_error *error);
void stn_fft_line_destroy(stn_fft_line *line); /* NULL has no effect */
/* Points in each of the two buffers of a run: at least n + 1. */
int64_t stn_fft_line_capacity(const stn_fft_line *line);
/* Forward FFTs of `lanes` lines in x. Both buffers are overwritten; the result is in the one that
 * is returned. The inverse is the same with real and imaginary parts exchanged before and after. */
stn_planes stn_fft_line_run(const stn_fft_line *line, const stn_fft_kernels *kernels, stn_planes x, stn_planes other,
                            int64_t lanes);
/* The same for real data: imaginary parts of x are zero. */
stn_planes stn_fft_line_run_real(const stn_fft_line *line, const stn_fft_kernels *kernels, stn_planes x,
                                 stn_planes other, int64_t lanes);
/* exp(-2 pi i k / n) for k < count, as pairs; NULL if out of memory. */
stn_fft_number *stn_fft_twiddles(int64_t count, int64_t n);
/* exp(-2 pi i (k + first) / n). */
stn_fft_number *stn_fft_twiddles_from(double first, int64_t count, int64_t n);
/* The part of a remaining scale factor that a pass along n points should apply: a power of two
 * between 1/(2n) and 1, so that intermediate results are no larger than final ones and no rounding
 * is added. */
double stn_fft_share(double factor, int64_t n);
#endif
