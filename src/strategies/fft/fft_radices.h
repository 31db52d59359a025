/* The shape of an fft_line launch; its radices, and how many threads share a line. */
#ifndef STN_STRATEGIES_FFT_FFT_RADICES_H
#define STN_STRATEGIES_FFT_FFT_RADICES_H
#include <stdbool.h>

#include "stentor.h"

#define FFT_MAX_STAGES 8

typedef struct fft_line_shape {
    int length; /* complex points of a line */
    int stages, radix[FFT_MAX_STAGES];
    int line_threads;   /* per line */
    int lines;          /* per block */
    int threads;        /* per block */
    int blocks;         /* minimum per multiprocessor */
    bool half_exchange; /* exchanges through shared memory in f16 */
    bool measured;      /* radices from the measured table; powers of two */
    bool even;          /* no thread idles: every radix divides the points per thread */
    int pad, pitch;     /* in shared memory: see fft_line.cu */
    int shift;          /* elements of a cache line, if tiles begin on cache lines; otherwise 0 */
    int table;          /* a stage with more twiddle factors than this computes most of them */
    bool merged;        /* tiles continue from one row of the first loop into the next one */
    double part;        /* fraction of the copy bandwidth that large batches reach */
} fft_line_shape;

/* Maximum number of points per thread: in a stage of radix r a thread has every line_threads-th of
 * the n / r butterflies. */
int fft_points_per_thread(const fft_line_shape *shape);
/* Fills stages, radices, line_threads, half_exchange, even, measured and part. Returns the minimum
 * number of threads per block; 0 if there are no radices. across: lines are strided; real: a thread
 * holds its points twice. */
int fft_radices_for(int64_t length, stn_dtype dtype, bool across, bool real, fft_line_shape *shape);
#endif
