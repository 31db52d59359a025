/* Loads groups of lines from memory into the planes of fft_kernels.h, and stores them. */
#ifndef STN_HOST_FFT_GROUP_H
#define STN_HOST_FFT_GROUP_H
#include "host/fft_kernels.h"
#include "problem/transform.h"

/* The input or output of a transform, or the intermediate result between two passes. */
typedef struct stn_fft_view {
    void *base;
    stn_fft_side side;
    stn_dtype dtype;
} stn_fft_view;

typedef struct stn_fft_group {
    int axis; /* direction of the lines */
    /* index of the first line, counted over the other axes (last one fastest), then the batch */
    int64_t line;
    int64_t count; /* number of lines */
    /* For an input or output of real numbers: each pair of numbers of a line is the real and the
     * imaginary part of one point. */
    bool halved;
    /* Whether the memory of the next group is prefetched, if it follows this one's: for lines that
     * are so short that the processor does not predict their addresses. */
    bool prefetches;
} stn_fft_group;

/* Loads all points of `count` lines; the remaining lanes get copies of the last line. */
void stn_fft_group_load(const stn_fft_view *view, const stn_fft_group *group, const stn_fft_kernels *kernels,
                        stn_planes x, int64_t lanes);
/* Prevents overflow: a line whose largest magnitude times 4n might overflow is multiplied by a
 * power of two below 1. Returns whether any line was; `restoring` then has the factors that restore
 * the lines. */
bool stn_fft_group_scale_down(const stn_fft_kernels *kernels, stn_planes x, int64_t points, int64_t n, int64_t lanes,
                              stn_fft_number restoring[STN_FFT_LANES]);
/* Multiplies each line by its own factor and by `factor`. */
void stn_fft_group_scale_up(stn_planes x, int64_t points, int64_t lanes, const stn_fft_number restoring[STN_FFT_LANES],
                            stn_fft_number factor);
/* Stores points times `factor`, rounded to the view's type. */
void stn_fft_group_store(const stn_fft_view *view, const stn_fft_group *group, const stn_fft_kernels *kernels,
                         stn_planes x, int64_t lanes, stn_fft_number factor);
#endif
