/* The transform of one line of n complex float64 numbers, for any n. */
#ifndef STN_HOST_FFT_LINE_H
#define STN_HOST_FFT_LINE_H
#include <stdbool.h>

#include "stentor.h"

typedef struct stn_complex {
    double re, im;
} stn_complex;

typedef struct stn_fft_line stn_fft_line; /* immutable tables */

stn_status stn_fft_line_create(int64_t n, stn_fft_line **made, stn_error *error);
void stn_fft_line_destroy(stn_fft_line *line); /* NULL is fine */
/* Elements that each of the two buffers of a run must have: n or more. */
int64_t stn_fft_line_room(const stn_fft_line *line);
/* The forward transform of x[0 .. n); both buffers are written, and the result is in the one that is returned. The
 * inverse is the same with real and imaginary parts exchanged before and after. */
stn_complex *stn_fft_line_run(const stn_fft_line *line, stn_complex *x, stn_complex *other);
#endif
