/* One launch of fno_mode_product (kernel_templates/fno/fno_mode_product.cu): a matrix product for
 * each mode. */
#ifndef STN_STRATEGIES_FNO_FNO_MODE_PRODUCT_H
#define STN_STRATEGIES_FNO_FNO_MODE_PRODUCT_H
#include "strategies/fno/fno_pass.h"

/* Strides in complex numbers: out[k][i][l] = scale * sum over j of left[k][i][j] right[k][j][l]. */
typedef struct fno_mode_product {
    int64_t left_mode, left_row, left_term;
    int64_t right_mode, right_term, right_column;
    int64_t out_mode, out_row, out_column;
    int64_t terms, modes, rows, columns;
    bool conjugate, conjugate_out; /* the right factor; the output */
    /* Types: the layer's dtype, else the arithmetic type. */
    bool left_is_dtype, right_is_dtype, out_is_dtype;
    /* 0: elements are complex numbers. Otherwise two real points form one complex number, strides
     * count real numbers, and there are real_points points. 1: the points are rows, and weights are
     * real. 2: the points are terms, and the real part of the sum is stored. */
    int points;
    int64_t real_points;
    double scale;
} fno_mode_product;

typedef struct fno_mode_product_shape {
    int together; /* modes per block */
    int warps[2], tiles[2];
    int blocks; /* per multiprocessor */
} fno_mode_product_shape;

void fno_mode_product_shape_for(const fno_mode_product *product, fno_numbers numbers, const stn_machine *machine,
                                fno_mode_product_shape *shape);
int64_t fno_mode_product_blocks(const fno_mode_product *product, const fno_mode_product_shape *shape);
stn_status fno_mode_product_prepare(stn_kernel_set *kernels, const fno_mode_product *product, fno_numbers numbers,
                                    const fno_mode_product_shape *shape, stn_kernel **kernel, stn_error *error);
stn_status fno_mode_product_launch(const stn_kernel *kernel, const fno_mode_product *product, fno_numbers numbers,
                                   const fno_mode_product_shape *shape, const void *left, const void *right, void *out,
                                   void *stream, stn_error *error);
double fno_mode_product_cost(const fno_mode_product *product, fno_numbers numbers, const fno_mode_product_shape *shape,
                             const stn_machine *machine, stn_estimate *sum);
#endif
