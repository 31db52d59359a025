/* A shape of fft_line; its radices, and how many threads share a line. */
#ifndef STN_STRATEGIES_FFT_RADICES_H
#define STN_STRATEGIES_FFT_RADICES_H
#include <stdbool.h>

#include "stentor.h"

#define FFT_MAX_STAGES 8

typedef struct fft_shape {
    int length; /* complex points of a line */
    int stages, radix[FFT_MAX_STAGES];
    int line_threads; /* that share a line */
    int lines;        /* of a block */
    int threads;      /* of a block */
    int blocks;       /* that must fit on a multiprocessor */
    bool half_cells;
    bool measured;  /* radices as timed, all of them powers of two */
    bool even;      /* no thread idles: every radix divides the points of one */
    int pad, pitch; /* of shared memory: fft_line.cu */
    int shift;      /* elements of a line of the cache, if tiles begin where a row's lines of the cache do; 0: not */
    int table;      /* most twiddles of a stage that are stored one by one */
    bool merged;    /* tiles go on from one row of the first loop into the next of the second */
    double part;    /* of the copy bandwidth that long lines of blocks reach */
} fft_shape;

/* Points that a thread holds at most: in a stage of radix r it has every line_threads-th of the n /
 * r butterflies. */
int fft_points_of(const fft_shape *shape);
/* Fills in stages, radices, line_threads, half_cells, even, measured, part; returns how many
 * threads a block should have at least, 0 where there are no radices. across: lines lie across
 * memory; real: they hold their points twice. */
int fft_radices_for(int64_t length, stn_dtype dtype, bool across, bool real, fft_shape *shape);
#endif
