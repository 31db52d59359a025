/* Groups of lines of a side of a transform: from memory into the planes that fft_words.h works on, and back. */
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
/* Rounded to the view's type, times the factor. */
void stn_fft_group_store(const stn_fft_view *view, const stn_fft_group *group, const stn_fft_words *words, stn_planes x,
                         int64_t lanes, stn_fft_number factor);
#endif
