/* One launch of fno_modes (kernel_templates/fno/fno_modes.cu): a matrix product for each mode. */
#ifndef STN_STRATEGIES_FNO_FNO_MODES_H
#define STN_STRATEGIES_FNO_FNO_MODES_H
#include "strategies/fno/fno_pass.h"

/* Strides in complex numbers: out[k][i][l] = scale * sum over j of left[k][i][j] right[k][j][l]. */
typedef struct fno_modes {
    int64_t left_mode, left_row, left_term;
    int64_t right_mode, right_term, right_column;
    int64_t out_mode, out_row, out_column;
    int64_t terms, modes, rows, columns;
    bool conjugate, conjugate_out; /* the right factor; the output */
    /* The factors, the output: in the layer's type; else in the arithmetic type. */
    bool left_store, right_store, out_store;
    /* 0: elements are complex numbers. Otherwise two real points form one complex number, strides
     * count real numbers, and there are real_points points. 1: the points are rows, and weights are
     * real. 2: the points are terms, and the real part of the sum is stored. */
    int points;
    int64_t real_points;
    double scale;
} fno_modes;

typedef struct fno_modes_shape {
    int together; /* modes per block */
    int warps[2], tiles[2];
    int blocks; /* per multiprocessor */
} fno_modes_shape;

void fno_modes_shape_for(const fno_modes *modes, fno_numbers numbers, const stn_machine *machine,
                         fno_modes_shape *shape);
int64_t fno_modes_blocks(const fno_modes *modes, const fno_modes_shape *shape);
stn_status fno_modes_prepare(stn_kernel_set *kernels, const fno_modes *modes, fno_numbers numbers,
                             const fno_modes_shape *shape, stn_kernel **kernel, stn_error *error);
stn_status fno_modes_launch(const stn_kernel *kernel, const fno_modes *modes, fno_numbers numbers,
                            const fno_modes_shape *shape, const void *left, const void *right, void *out, void *stream,
                            stn_error *error);
double fno_modes_cost(const fno_modes *modes, fno_numbers numbers, const fno_modes_shape *shape,
                      const stn_machine *machine, stn_estimate *sum);
#endif
