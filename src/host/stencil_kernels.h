/* The inner loops of host stencils over contiguous points, compiled for several instruction sets,
 * all with bit-identical results, except for sum_spectra. */
#ifndef STN_HOST_STENCIL_KERNELS_H
#define STN_HOST_STENCIL_KERNELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stentor.h"

#define STN_ELEMENTS (STN_ELEMENT_BOOL + 1)

/* The terms of a sum: `single` lines, then `pairs` of lines that share a weight. The two points of
 * a pair are added (`odd`: subtracted) before the multiplication, so that mirrored data give
 * bit-identical mirrored results. */
typedef struct stn_terms {
    const void *const *lines; /* those of the single terms, then two for each pair */
    const double *weights;    /* one per term */
    size_t single, pairs;     /* at least one term in all */
    bool odd;
    /* for sum_byte: a bound of the error of a sum computed in floats, with weights in floats */
    float error;
    const uint8_t *constants; /* for sum_byte, [256]: the sum if all lines have the byte i */
} stn_terms;

#define STN_KERNEL_ROWS 2        /* rows that are summed side by side */
#define STN_KERNEL_COLUMN_ROWS 4 /* the same for sum_columns */
#define STN_KERNEL_FEW_PAIRS 4   /* maximum number of pairs whose weights are kept in registers */
#define STN_KERNEL_BYTE_TERMS 32 /* maximum number of terms of sum_byte */
#define STN_KERNEL_MEANS 7       /* maximum number of lines of `means` */
#define STN_KERNEL_MIN 8         /* minimum number of points of such rows: one vector */
#define STN_AVERAGE_COLUMNS 16   /* columns that are averaged side by side */
#define STN_SPECTRA_ROWS 16      /* spectra that are summed side by side */
#define STN_SPECTRA_LANES 8      /* numbers of a spectrum at each frequency */

/* A full box of taps, each with its own weight. Output row r sums input rows r to r + height - 1 of
 * each plane. */
typedef struct stn_dense {
    /* height + STN_KERNEL_ROWS - 1 rows of each plane; element x is the input of point x's first
     * tap */
    const void *const *rows;
    const double *weights;
    size_t planes, height, width; /* of the box of taps */
    /* all products of weights and numbers of the rows are exact in double */
    bool exact;
} stn_dense;

/* Types of unsigned numbers and of their sums: STN_SMALL_BYTES are numbers of 8 bits with sums of
 * 16 bits (below 2^16), STN_BYTES of 8 bits with sums of 32, STN_SHORTS of 16 bits with sums of
 * 32. */
typedef enum stn_integers { STN_SMALL_BYTES, STN_BYTES, STN_SHORTS, STN_INTEGERS } stn_integers;

typedef struct stn_kernels {
    /* sum[x] = the terms added in order, for 0 <= x < count. sum must not overlap any line. */
    void (*sum)(double *sum, const stn_terms *terms, size_t count);
    /* The same for lines of floats, converted to double before the addition; sums are rounded to
     * float. */
    void (*sum_float)(float *sum, const stn_terms *terms, size_t count);
    /* As sum and sum_float, with sums that are rounded to float and stored as doubles. */
    void (*sum_rounded)(double *sum, const stn_terms *terms, size_t count);
    void (*sum_float_rounded)(double *sum, const stn_terms *terms, size_t count);
    /* Filters of symmetric weights: weights[0] is that of the middle; those of the pairs follow,
     * from the outermost pair on. pairs is from 1 to STN_KERNEL_FEW_PAIRS, count at least
     * STN_KERNEL_MIN. sum_columns has the results of sum_float_rounded for STN_KERNEL_COLUMN_ROWS
     * rows: row r sums lines r to r + 2 * pairs. */
    void (*sum_columns)(double *const *sums, const void *const *lines, const double *weights, size_t pairs,
                        size_t count);
    /* The results of sum and sum_to_float: sum[x] sums row[x] to row[x + 2 * pairs]. The row has
     * memory for 2 * STN_KERNEL_MIN numbers more than the sums. */
    void (*sum_row)(double *sum, const double *row, const double *weights, size_t pairs, size_t count);
    void (*sum_row_to_float)(float *sum, const double *row, const double *weights, size_t pairs, size_t count);
    /* As sum, with sums that are rounded to float and stored as floats. */
    void (*sum_to_float)(float *sum, const stn_terms *terms, size_t count);
    /* As sum, for lines of bytes; sums are truncated towards zero, then wrapped. */
    void (*sum_byte)(uint8_t *sum, const stn_terms *terms, size_t count);
    /* The same as sum for STN_KERNEL_ROWS rows and the taps of a box in order; count is at least
     * STN_KERNEL_MIN. */
    void (*sum_rows)(double *const *sums, const stn_dense *dense, size_t count);
    /* The same for floats, as sum_float, and with sums that are rounded to float. */
    void (*sum_rows_float)(float *const *sums, const stn_dense *dense, size_t count);
    void (*sum_rows_to_float)(float *const *sums, const stn_dense *dense, size_t count);
    /* sums[r] = weights[0] * rows[r] + .. + weights[count - 1] * rows[r + count - 1] at each of
     * `points` frequencies, for r < STN_SPECTRA_ROWS. Rows are of complex numbers: all real parts,
     * then all imaginary parts, STN_SPECTRA_LANES at each frequency. Weights are those of all rows
     * at the first frequency, as pairs, then those at the next. count is at least
     * STN_SPECTRA_LANES. Only these sums differ between instruction sets, by rounding. */
    void (*sum_spectra)(double *const *sums, const double *const *rows, const double *weights, size_t count,
                        size_t points);
    /* low[x] = values[x] - m and high[x] = values[x] + m, m = absolute + relative * values[x].
     * Returns false only if low and high are the same float for all x; whole: the same integer,
     * when truncated. All arrays have a multiple of 8 numbers. */
    bool (*bound)(double *low, double *high, const double *values, size_t count, double absolute, double relative,
                  bool whole);
    /* Parts of moving averages, of floats [0] and of doubles [1]. Those that return whether all
     * results are finite return true for floats. sum[x] = before[x] + from[x]: */
    void (*add_row[2])(double *sum, const double *before, const void *from, size_t count);
    /* prefix[x] += from[x], then to[x] = (suffix[x] + prefix[x]) / divisor. Means that are floats
     * are rounded from products with 1 / divisor. */
    bool (*mean_row[2])(void *to, const double *suffix, double *prefix, const void *from, size_t count, double divisor);
    /* Moving averages of rows of STN_AVERAGE_COLUMNS numbers: row i of the result, for i < count <=
     * size, is the sum of row size - 1 of `rows` down to row i, plus the sum of the first i rows of
     * `next`, divided by the divisor. suffix: memory for `size` rows of doubles. */
    bool (*average[2])(void *to, const void *rows, const void *next, size_t size, size_t count, double divisor,
                       double *suffix);
    /* to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns. */
    void (*transpose[2])(const void *from, int64_t from_stride, int64_t rows, int64_t columns, void *to,
                         int64_t to_stride);
    /* to[x] = from[x], indexed by stn_element; the first is NULL. */
    void (*load[STN_ELEMENTS])(double *to, const void *from, size_t count);
    /* The reverse, rounded to nearest; f16 and bf16 by way of f32. Integers are truncated towards
     * zero, then wrapped modulo their range; values outside the range of int64 become INT64_MIN
     * first. Booleans are whether the truncated value is not 0. */
    void (*store[STN_ELEMENTS])(void *to, const double *from, size_t count);
    /* Functions for unsigned numbers, indexed by stn_integers. to[x] = the mean of `used` lines, at
     * most STN_KERNEL_MEANS, rounded down; NULL for STN_BYTES: */
    void (*means[STN_INTEGERS])(void *to, const void *const *lines, size_t used, size_t count);
    /* sum[x] += enter[x] - leave[x], of sums and numbers */
    void (*slide[STN_INTEGERS])(void *sum, const void *enter, const void *leave, size_t count);
    /* to[x + 1] = to[x] + from[x], of sums and numbers */
    void (*accumulate[STN_INTEGERS])(void *to, const void *from, size_t count);
    /* to[x] = (sums[x] - leave[x]) / divisor, rounded down; NULL for `leave`: zeros. The divisor
     * must be an integer. */
    void (*quotients[STN_INTEGERS])(void *to, const void *sums, const void *leave, size_t count, double divisor);
} stn_kernels;

/* The fastest set that this CPU supports. */
const stn_kernels *stn_kernels_best(void);
/* For tests: index 0 is portable C; NULL if there is no such set on this CPU. */
const stn_kernels *stn_kernels_at(int index);
#endif
