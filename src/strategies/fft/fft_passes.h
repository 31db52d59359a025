/* A transform as passes over memory. Each pass reads every point once and writes it once, and
 * transforms lines that one block can hold. A longer axis takes two or three passes with twiddle
 * factors in between (four-step FFT); for real data, one more pass converts between the half
 * spectrum and Z[k], Z[N - k]. */
#ifndef STN_STRATEGIES_FFT_FFT_PASSES_H
#define STN_STRATEGIES_FFT_FFT_PASSES_H
#include "problem/transform.h"

#define FFT_MAX_PASSES 8

typedef enum fft_place { FFT_IN, FFT_OUT, FFT_WORK } fft_place;

/* A loop over lines: its length, and the strides in complex elements of input and output. */
typedef struct fft_loop {
    int64_t n, in, out;
} fft_loop;

typedef struct fft_pass {
    fft_place from, to;
    int64_t length;                /* complex points of a line */
    int64_t in_stride, out_stride; /* complex elements between points */
    fft_loop loop[3];              /* the first is split into tiles for blocks */
    int loops;                     /* number of loops longer than 1 */
    /* the input (output) is a half spectrum of `length` + 1 elements */
    bool load_real, store_real;
    bool only_real; /* the pass only converts a half spectrum, without a transform */
    bool inverse;
    int64_t outer;  /* M: outputs are multiplied by w_M^(k * index of a loop); 0: not */
    int outer_loop; /* the loop of that index */
    double scale;
    int cosine; /* type of a cosine or sine transform, 2 or 3; 0: it is a Fourier transform */
    bool sine, orthogonal;
    /* A cosine transform of one line of 2 * length adjacent numbers; otherwise of pairs of lines */
    bool rows;
} fft_pass;

typedef struct fft_passes {
    fft_pass pass[FFT_MAX_PASSES];
    int count;
    int64_t work; /* complex elements of the workspace */
} fft_passes;

/* The longest line of one pass of fft_line: contiguous on both sides, or strided (`across`). */
int64_t fft_longest(stn_dtype dtype, bool across);
/* Limits for the lengths of passes. One pass takes lines of up to `longest` points (strided:
 * `longest_column`) with small prime factors, or of as many points as fft_line can take, if these
 * are more. A longer line takes two passes, of lengths that are as equal as possible. If `first` is
 * not 0, the first of these has `first` points, provided that it divides the line and leaves a
 * second pass of the same length, or of a length that one block can hold. */
typedef struct fft_lengths {
    int64_t first, longest, longest_column;
    /* between passes, a half spectrum is in the workspace with rows padded to cache lines */
    bool padded;
} fft_lengths;

/* False if the transform cannot be split into such passes; then `reason` says why. */
bool fft_passes_of(const stn_fft *fft, const fft_lengths *lengths, fft_passes *passes, char *reason,
                   size_t reason_size);
/* The passes of a cosine or sine transform, one an axis. */
bool fft_cosine_passes_of(const stn_fft *fft, fft_passes *passes, char *reason, size_t reason_size);
/* Bytes that a pass reads and writes. */
double fft_pass_bytes(const fft_pass *pass, stn_dtype dtype);
/* The product of `tiles` and the numbers of iterations of the loops `first` to last - 1; INT64_MAX
 * if that is too large. */
int64_t fft_times_loops(const fft_pass *pass, int64_t tiles, int first, int last);
/* Whether neighbouring threads read (write) neighbouring lines instead of points of a line. */
static inline bool fft_fast_in(const fft_pass *pass) {
    return pass->loop[0].n > 1 && pass->in_stride > pass->loop[0].in;
}
static inline bool fft_fast_out(const fft_pass *pass) {
    return pass->loop[0].n > 1 && pass->out_stride > pass->loop[0].out;
}
#endif
