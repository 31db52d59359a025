/* A transform as a value: validated, lifted to three axes, with nothing left to default. It is what
 * the strategies of transforms see, as those of stencils see a task.
 *
 * Lifting puts missing slow axes in front with extent 1: axis 2 is always the last one, and the
 * first 3 - rank axes are not transformed (an extent of 1 makes no difference). */
#ifndef STN_PROBLEM_TRANSFORM_H
#define STN_PROBLEM_TRANSFORM_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

/* The input or the output: what its elements are and where they lie. Strides count the side's own
 * elements. */
typedef struct stn_fft_side {
    bool real;            /* elements are real numbers, else complex ones */
    int64_t n[3];         /* elements: the half spectrum of R2C and C2R has n/2 + 1 along axis 2 */
    int64_t stride[3];    /* positive; an axis of extent 1 has what a dense layout gives it */
    int64_t batch_stride; /* positive */
} stn_fft_side;

typedef struct stn_fft {
    stn_transform_kind kind;
    bool inverse; /* the sign of the exponent is + */
    int rank;
    int64_t n[3]; /* points of the transform: of the real side where there is one */
    int64_t batch;
    stn_fft_side in, out;
    stn_dtype dtype;
    bool f16_sums; /* only with STN_F16 */
    double scale;  /* of this direction */
    bool in_place;
    int alignment; /* bytes, a power of two, at least one element's size */
} stn_fft;

stn_status stn_fft_make(const stn_transform *transform, stn_fft *fft, stn_error *error);

/* Bytes of one element of a side. */
size_t stn_fft_element(const stn_fft *fft, const stn_fft_side *side);
/* Elements from the first to one past the last that a side touches, all batches. */
int64_t stn_fft_span(const stn_fft *fft, const stn_fft_side *side);
/* Elements of a side, all batches. */
int64_t stn_fft_count(const stn_fft *fft, const stn_fft_side *side);
/* Bytes of one read of the input and one write of the output: the roof of a single pass. */
double stn_fft_bytes(const stn_fft *fft);
/* 5 N log2 N, half of that where a side is real: what a fast transform takes, by custom. */
double stn_fft_flops(const stn_fft *fft);

const char *stn_transform_kind_name(stn_transform_kind kind); /* "c2c" */
/* In one line without a newline, such as "2D 256 x 512 c2c forward in batches of 4, f16", and as
 * one JSON object. Extents and strides there have the transform's rank. */
void stn_fft_print(const stn_fft *fft, stn_text *text);
void stn_fft_json(const stn_fft *fft, stn_text *text);
#endif
