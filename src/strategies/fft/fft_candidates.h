/* Candidates of the fft strategy: which kernels run the passes of a transform. */
#ifndef STN_STRATEGIES_FFT_FFT_CANDIDATES_H
#define STN_STRATEGIES_FFT_FFT_CANDIDATES_H
#include "plan/strategy.h"
#include "strategies/common/shared_fft.h"
#include "strategies/fft/fft_line_kernel.h"
#include "strategies/fft/fft_passes.h"

struct stn_kernel;

typedef enum pass_kernel { BY_LINE, BY_WARP, BY_REAL, BY_IMAGE, BY_LONG, BY_SHARED_MEMORY, BY_COSINE } pass_kernel;
typedef struct fft_state {
    fft_passes passes;
    pass_kernel by[FFT_MAX_PASSES];
    fft_line_shape shape[FFT_MAX_PASSES];        /* of passes by fft_line */
    stn_shared_fft shared_shape[FFT_MAX_PASSES]; /* of passes by fft_shared and fft_cosine */
    struct stn_kernel *kernel[FFT_MAX_PASSES];
    fft_tables tables[FFT_MAX_PASSES];
    size_t first[FFT_MAX_PASSES]; /* offset of the pass's tables, in complex numbers */
    void *twiddles;               /* device memory: the tables of all passes */
} fft_state;

/* Values of a candidate. */
enum {
    ON_TENSOR_CORES,  /* fft_warp runs the passes that it can */
    IN_CLUSTERS,      /* fft_image runs images; long lines are split for fft_long */
    WIDTH,            /* 1 and -1: longer and shorter accesses of fft_line */
    IN_SHARED_MEMORY, /* fft_shared runs lines that fill shared memory: which ones, see below */
    PADDED,           /* half spectra have padded rows between passes */
    /* fft_line runs the lines that IN_SHARED_MEMORY names if it is estimated to be faster */
    FASTER_OF_BOTH
};
/* Values of IN_SHARED_MEMORY. ALL_LINES: all lines. ONLY_ROWS: only contiguous lines, because
 * accesses of columns are short. CLUSTER_COLUMNS: all lines; clusters of blocks share columns. */
enum { ALL_LINES = 1, ONLY_ROWS = 2, CLUSTER_COLUMNS = 3 };

static inline bool fft_by_cluster(const fft_state *state, int i) {
    return state->by[i] == BY_IMAGE || state->by[i] == BY_LONG;
}
static inline bool fft_by_shared_memory(const fft_state *state, int i) {
    return state->by[i] == BY_SHARED_MEMORY || state->by[i] == BY_COSINE;
}
/* Finds the passes and their shapes; false, with the reason, if there are none. */
bool fft_find_shapes(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate, fft_state *state,
                     char *reason, size_t size);
/* The strategy's members `applies` and `candidates`. */
bool fft_applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size);
size_t fft_candidates(const stn_fft *fft, const stn_machine *machine, stn_candidate *list, size_t most);
#endif
