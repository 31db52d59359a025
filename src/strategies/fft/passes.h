/* A transform as passes over memory: each reads every point once and writes it once, and transforms
 * lines of points that one block can hold. An axis that is too long is two or three of them, with
 * roots of one in between; of real numbers, with one more that makes a half spectrum of Z[k] and
 * Z[N - k], or the other way. */
#ifndef STN_STRATEGIES_FFT_PASSES_H
#define STN_STRATEGIES_FFT_PASSES_H
#include "problem/transform.h"

#define FFT_MAX_PASSES 8

typedef enum fft_place { FFT_IN, FFT_OUT, FFT_WORK } fft_place;

/* Lines side by side: how many, and complex elements from one to the next where they are read and
 * written. */
typedef struct fft_loop {
    int64_t n, in, out;
} fft_loop;

typedef struct fft_pass {
    fft_place from, to;
    int64_t length;                /* complex points of a line */
    int64_t in_stride, out_stride; /* complex elements from point to point */
    fft_loop loop[3];              /* the first is shared out to blocks in tiles */
    int loops;                     /* that are more than one line */
    bool load_real, store_real;    /* the half spectrum of `length` + 1 elements comes in, or goes out */
    bool only_real;                /* and that is all: nothing is transformed */
    bool inverse;
    int64_t outer;  /* outputs are multiplied by the roots of one of this order, to the power k * (index of a loop) */
    int outer_loop; /* which */
    double scale;
} fft_pass;

typedef struct fft_passes {
    fft_pass pass[FFT_MAX_PASSES];
    int count;
    int64_t work; /* complex elements of the workspace */
} fft_passes;

/* The longest line of one pass of fft_line: along memory on both sides, or across it. */
int64_t fft_longest(stn_dtype dtype, bool across);
/* How long the lines of passes may be, and where they lie. A line that takes several passes takes
 * two where its first can have `first` points and the second as many, or as few as one block can
 * hold; 0: as even as can be. One pass takes `longest` points along memory (and `longest_column`
 * across it), if they are products of small primes, or what fft_line can take, if that is more. */
typedef struct fft_lengths {
    int64_t first, longest, longest_column;
    bool padded; /* a half spectrum lies in the workspace between passes, each row from a whole line of a cache on */
} fft_lengths;

/* False if the transform cannot be done so; then `reason` says why. */
bool fft_passes_of(const stn_fft *fft, const fft_lengths *lengths, fft_passes *passes, char *reason,
                   size_t reason_size);
/* Do neighbouring threads read (write) neighbouring lines, not neighbouring points of a line? */
static inline bool fft_fast_in(const fft_pass *pass) {
    return pass->loop[0].n > 1 && pass->in_stride > pass->loop[0].in;
}
static inline bool fft_fast_out(const fft_pass *pass) {
    return pass->loop[0].n > 1 && pass->out_stride > pass->loop[0].out;
}
#endif
