/* Four-step FFT for 1D lines too long for shared memory: a line is a matrix, transformed down its
 * columns and then along its rows, in three passes
 * (kernel_templates/spectral/spectral_four_step.cu); or several such windows that overlap by the
 * reach of the taps (overlap-save). */
#ifndef STN_STRATEGIES_SPECTRAL_FOUR_STEP_H
#define STN_STRATEGIES_SPECTRAL_FOUR_STEP_H
#include "strategies/spectral/spectral_passes.h"

/* A candidate's values. */
typedef struct spectral_four_step_choice {
    int mark;        /* SPECTRAL_FOUR_STEP, at the place of spectral_choice.length[0] */
    int rows, width; /* Points of a column, and of a row, of the matrix. */
    int before;      /* Points of a window before its outputs. */
    /* Output points of a window; the whole line if there is one window. */
    int useful;
    int pairs;           /* Pairs of columns per block. */
    int windows_at_once; /* Windows that go through all passes together; 0: all. */
    /* Threads for which a multiprocessor has registers; 0: default. */
    int column_threads, row_threads;
} spectral_four_step_choice;
#define SPECTRAL_FOUR_STEP (-1)

typedef struct spectral_four_step {
    spectral_four_step_choice choice;
    stn_extension axis;
    int64_t length; /* Points of the matrix. */
    /* windows: of one grid. windows_at_once: windows, over all grids, that run together. */
    int64_t windows, windows_at_once;
    int64_t spectrum;           /* Complex numbers of a window's spectrum. */
    stn_shared_fft down, along; /* The FFTs of columns and of rows. */
    stn_symbol symbol;
    int fine; /* log2 of the size of the first of two tables of twiddle factors. */
} spectral_four_step;

typedef struct spectral_four_step_state {
    spectral_four_step shape;
    bool has_source;
    struct stn_kernel *forward, *rows, *back, *source;
    /* Device memory, and byte offsets in it: twiddles of the FFT stages (down, along), twiddle
     * factors of the line (fine, coarse), half angles of rows and along them, the symbol's
     * coefficients; images of the points next to sides, their contributions to rows, the first
     * image of each window, the taps. */
    void *tables;
    size_t down, along, fine, coarse, half_angles, angles, parts, image, image_row, images, taps, size;
    size_t values; /* Offset in the workspace of the source next to either side, for each grid. */
    double largest, decay_bound;
} spectral_four_step_state;

/* Whether a 1D task's lines are too long for spectral_choose, or not served by it for another
 * reason. spectral_four_step_choose says whether a four-step FFT serves them. */
bool spectral_four_step_for(const stn_task *task, const stn_machine *machine);
/* Chooses a candidate; false if the task permits none, and `reason` says why. */
bool spectral_four_step_choose(const stn_task *task, const stn_machine *machine, spectral_four_step_choice *choice,
                               char *reason, size_t reason_size);
/* Variants to be timed; returns their number. */
size_t spectral_four_step_variants(const stn_task *task, const stn_machine *machine,
                                   const spectral_four_step_choice *choice, spectral_four_step_choice *list,
                                   size_t most);
void spectral_four_step_make(const stn_task *task, const stn_machine *machine, const spectral_four_step_choice *choice,
                             bool lines, spectral_four_step *shape);
/* Bytes of the workspace, without those for the source of the sides. */
size_t spectral_four_step_workspace(const stn_task *task, const spectral_four_step *shape);
void spectral_four_step_estimate(const stn_task *task, const stn_machine *machine, const spectral_four_step *shape,
                                 stn_estimate *estimate);
/* A lower bound on its seconds, with any lengths: the bytes that are moved at least. */
double spectral_four_step_least_seconds(const stn_task *task, const stn_machine *machine);

/* Plans of such a candidate. */
stn_status spectral_four_step_prepare(stn_plan *plan, const spectral_four_step_choice *choice, stn_error *error);
stn_status spectral_four_step_set_weights(stn_plan *plan, stn_error *error);
stn_status spectral_four_step_execute(stn_plan *plan, const stn_execution *run, stn_error *error);
void spectral_four_step_describe(const stn_plan *plan, stn_format format, stn_text *text);
void spectral_four_step_release(stn_plan *plan);
#endif
