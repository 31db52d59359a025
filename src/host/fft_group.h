/* Groups of lines of a side of a transform: from memory into the planes that fft_words.h works on,
 * and back. */
#ifndef STN_HOST_FFT_GROUP_H
#define STN_HOST_FFT_GROUP_H
#include "host/fft_words.h"
#include "problem/transform.h"

/* A side of the transform, or the numbers between two passes. */
typedef struct stn_fft_view {
    void *base;
    stn_fft_side side;
    stn_dtype dtype;
} stn_fft_view;

typedef struct stn_fft_group {
    int axis;     /* along which lines lie */
    int64_t line; /* the first, counted over the other axes (the last one fastest), then the batch */
    int64_t count;
    bool halved; /* of a real side: two numbers are a point's real and imaginary part */
} stn_fft_group;

/* All points of `count` lines; the other lanes get copies of the last. */
void stn_fft_group_load(const stn_fft_view *view, const stn_fft_group *group, const stn_fft_words *words, stn_planes x,
                        int64_t lanes);
/* Keeps sums within the range of the numbers: a line whose largest magnitude, times 4n, might
 * overflow is multiplied by a power of two below 1. Then the result is true, and `back` has what
 * each line's results must be multiplied by. */
bool stn_fft_group_lower(const stn_fft_words *words, stn_planes x, int64_t points, int64_t n, int64_t lanes,
                         stn_fft_number back[STN_FFT_LANES]);
/* Multiplies every line by its own number and the factor. */
void stn_fft_group_raise(stn_planes x, int64_t points, int64_t lanes, const stn_fft_number back[STN_FFT_LANES],
                         stn_fft_number factor);
/* Rounded to the view's type, times the factor. */
void stn_fft_group_store(const stn_fft_view *view, const stn_fft_group *group, const stn_fft_words *words, stn_planes x,
                         int64_t lanes, stn_fft_number factor);
#endif
