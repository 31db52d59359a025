/* Cosine and sine transforms of lines, each by one FFT of about the line's length. */
#ifndef STN_HOST_FFT_COSINE_H
#define STN_HOST_FFT_COSINE_H
#include "host/fft_line.h"
#include "problem/transform.h"

/* Numbers m = first, ..., first + count - 1 of a sequence are the points of a line from `at` on,
 * `step` apart, times `factor`; with the factor 0 they are zeros. */
typedef struct stn_fft_piece {
    int64_t first, count, at, step;
    stn_fft_number factor;
} stn_fft_piece;

/* Immutable tables for lines of n points. */
typedef struct stn_fft_cosine {
    int type; /* 1 to 4 */
    bool sine, orthogonal;
    int64_t n;
    /* The inner transform is complex for type IV of even n, otherwise of real numbers, which are in
     * the result for type III, else in the input. */
    bool is_complex;
    int64_t length;         /* numbers of the inner transform */
    int64_t before, after;  /* iterations of stn_fft_cosine_before and stn_fft_cosine_after */
    stn_fft_piece piece[5]; /* of the real numbers */
    int pieces;
    stn_fft_number *twiddles;
    /* exp(-2 pi i k / length), k <= length / 4, if real numbers are transformed in pairs */
    stn_fft_number *half_turns;
    stn_fft_line *line; /* the inner transform; or NULL */
} stn_fft_cosine;

/* The inner transform of a line of n points along an axis of `fft`: kind, direction and extent. */
stn_fft stn_fft_cosine_inner(const stn_fft *fft, int64_t n);
/* with_line: for stn_fft_cosine_run; otherwise the caller runs the inner transform. */
stn_status stn_fft_cosine_create(const stn_fft *fft, int64_t n, bool with_line, stn_fft_cosine **made,
                                 stn_error *error);
void stn_fft_cosine_destroy(stn_fft_cosine *c); /* NULL has no effect */
/* Points of a line in each of the planes of stn_fft_cosine_run. */
int64_t stn_fft_cosine_capacity(const stn_fft_cosine *c);
/* Transforms `lanes` lines of real numbers, x.re. All planes are overwritten; the results are the
 * real parts of the planes that are returned. */
stn_planes stn_fft_cosine_run(const stn_fft_cosine *c, const stn_fft_kernels *kernels, stn_planes x, stn_planes other,
                              int64_t lanes);

/* Input or result of the inner transform of `lanes` lines: row k begins at number k * step. Real
 * numbers are the real parts; if paired, the even numbers are the real and the odd numbers the
 * imaginary parts. */
typedef struct stn_fft_inner {
    stn_planes z;
    int64_t step;
    bool paired;
} stn_fft_inner;

/* Makes the inner transform's input from lines whose points are `step` numbers apart, and lines
 * from its result, in iterations begin, ..., end - 1. */
void stn_fft_cosine_before(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_number *line,
                           int64_t step, const stn_fft_inner *inner, int64_t begin, int64_t end, int64_t lanes);
void stn_fft_cosine_after(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_inner *inner,
                          stn_fft_number *line, int64_t step, int64_t begin, int64_t end, int64_t lanes);
#endif
