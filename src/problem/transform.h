/* A canonical Fourier transform, as strategies see it: validated, on three axes, defaults filled
 * in.
 *
 * Missing slow axes come first, with extent 1, so axis 2 is always the last one; the first 3 - rank
 * axes are not transformed. */
#ifndef STN_PROBLEM_TRANSFORM_H
#define STN_PROBLEM_TRANSFORM_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

/* Layout of the input or the output. Strides count elements of that side. */
typedef struct stn_fft_side {
    bool real;            /* elements are real, else complex */
    int64_t n[3];         /* elements; a half spectrum of R2C or C2R has n/2 + 1 along axis 2 */
    int64_t stride[3];    /* positive; dense for axes of extent 1 */
    int64_t batch_stride; /* positive */
} stn_fft_side;

typedef struct stn_fft {
    stn_transform_kind kind;
    bool inverse;    /* the sign of the exponent is + */
    bool orthogonal; /* stn_transform.orthogonal */
    int rank;
    int64_t n[3]; /* points; R2C and C2R: real numbers */
    int64_t batch;
    stn_fft_side in, out;
    stn_dtype dtype;
    bool f16_sums; /* only with STN_F16 */
    double scale;  /* factor of the results */
    bool in_place;
    int alignment; /* bytes, a power of two, at least one element's size */
} stn_fft;

stn_status stn_fft_make(const stn_transform *transform, stn_fft *fft, stn_error *error);

/* Whether it is a cosine or sine transform. */
static inline bool stn_fft_is_real_to_real(const stn_fft *fft) { return fft->kind >= STN_DCT2; }
/* Bytes of one element of a side. */
size_t stn_fft_element(const stn_fft *fft, const stn_fft_side *side);
/* Elements from the first to one past the last that a side touches, all batches. */
int64_t stn_fft_span(const stn_fft *fft, const stn_fft_side *side);
/* Elements of a side, all batches. */
int64_t stn_fft_count(const stn_fft *fft, const stn_fft_side *side);
/* Bytes of reading the input once and writing the output once: the least traffic of a pass. */
double stn_fft_bytes(const stn_fft *fft);
/* The customary operation count: 5 N log2 N, half of that if a side is real. */
double stn_fft_flops(const stn_fft *fft);

const char *stn_transform_kind_name(stn_transform_kind kind); /* "c2c" */
/* A one-line description, such as "2D 256 x 512 c2c forward in batches of 4, f16", and a JSON
 * object. Extents and strides in them have the transform's rank. */
void stn_fft_print(const stn_fft *fft, stn_text *text);
void stn_fft_json(const stn_fft *fft, stn_text *text);
/* Appends the bytes of all members that a result or a cost depends on: a key of searches. */
void stn_fft_key(const stn_fft *fft, stn_text *key);
#endif
