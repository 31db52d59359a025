/* The transforms of lines of n complex numbers, several at once, for any n. */
#ifndef STN_HOST_FFT_LINE_H
#define STN_HOST_FFT_LINE_H
#include "host/fft_words.h"
#include "stentor.h"

typedef struct stn_fft_line stn_fft_line; /* immutable tables */

stn_status stn_fft_line_create(int64_t n, stn_fft_line **made, stn_error *error);
void stn_fft_line_destroy(stn_fft_line *line); /* NULL is fine */
/* Points that each of the two buffers of a run must have: n + 1 or more. */
int64_t stn_fft_line_room(const stn_fft_line *line);
/* The forward transforms of `lanes` lines in x; both buffers are written, and the results are in
 * the one that is returned. The inverse is the same with real and imaginary parts exchanged before
 * and after. */
stn_planes stn_fft_line_run(const stn_fft_line *line, const stn_fft_words *words, stn_planes x, stn_planes other,
                            int64_t lanes);
/* The same of real numbers: imaginary parts of x are zero. */
stn_planes stn_fft_line_run_real(const stn_fft_line *line, const stn_fft_words *words, stn_planes x, stn_planes other,
                                 int64_t lanes);
/* exp(-2 pi i k / n) for k < count, in pairs; NULL without memory. */
stn_fft_number *stn_fft_roots(int64_t count, int64_t n);
/* What a pass along n points shall multiply by of a factor that is still to come: a power of two
 * from 1 down to 1/(2n), so that numbers between passes are no larger than results, and none of
 * them is rounded. */
double stn_fft_share(double factor, int64_t n);
#endif
