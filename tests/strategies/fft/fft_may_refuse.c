/* Which transforms a strategy may refuse: `fft` supports products of small primes, in at most three
 * loops over lines; `block` supports grids of such extents that fit in shared memory. Every other
 * refusal by any strategy is a failure. */
#include <string.h>

#include "compare_fft.h"

/* Maximum lengths of one pass; longer axes are split in two passes, which takes another loop. */
enum { ROW_POINTS = 8192, COLUMN_POINTS = 1024 };

static bool smooth(int64_t n) {
    for (int p = 2; p <= 7; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

/* Real rows are read as pairs, so they must start at even indices. */
static bool odd_rows(const stn_fft *fft, const stn_fft_side *real) {
    bool odd = real->stride[2] != 1 || fft->n[2] % 2 || (fft->batch > 1 && real->batch_stride % 2);
    for (int axis = 0; axis < 2; axis++) odd = odd || (fft->n[axis] > 1 && real->stride[axis] % 2);
    return odd;
}

/* Lines of a single butterfly cannot be transposed between input and output. */
static bool transposes_short_lines(const stn_fft *fft) {
    bool transposes = false;
    for (int axis = 0; axis < 3; axis++)
        transposes = transposes || (fft->in.stride[axis] == 1) != (fft->out.stride[axis] == 1);
    return transposes || (fft->batch > 1 && (fft->in.batch_stride == 1) != (fft->out.batch_stride == 1));
}

enum { BLOCK_BYTES = 96 << 10 }; /* minimum of shared memory per block on all supported GPUs */

static bool block_may_refuse(const stn_fft *fft) {
    int64_t bytes = fft->dtype == STN_F64 ? 17 : 9; /* with padding */
    for (int axis = 0; axis < 3; axis++) {
        if (!smooth(fft->n[axis]) || fft->n[axis] > BLOCK_BYTES) return true;
        bytes *= fft->n[axis];
    }
    return bytes > BLOCK_BYTES;
}

bool fft_may_refuse(const char *strategy, const stn_fft *fft) {
    if (!strcmp(strategy, "block")) return block_may_refuse(fft);
    if (strcmp(strategy, "fft")) return false;
    int axes = 0, split = 0, shortest = 1 << 20;
    bool real = fft->kind != STN_C2C;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = real && axis == 2 ? fft->n[2] / 2 : fft->n[axis];
        if (fft->n[axis] == 1) continue;
        axes++;
        bool row = axis == 2 && fft->in.stride[2] == 1 && fft->out.stride[2] == 1;
        split += n > (row ? ROW_POINTS : COLUMN_POINTS);
        if (!smooth(n)) return true;
        if (n < shortest) shortest = (int)n;
    }
    if (!axes || (real && (fft->n[2] < 4 || odd_rows(fft, fft->in.real ? &fft->in : &fft->out)))) return true;
    if (split && (axes + (fft->batch > 1) > 2 || (axes > 1 && fft->kind == STN_C2R))) return true;
    return shortest <= 32 && transposes_short_lines(fft);
}
