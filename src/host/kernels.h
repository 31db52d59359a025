/* The inner loops over contiguous points, built for several instruction sets; all give the same
 * bits. */
#ifndef STN_HOST_KERNELS_H
#define STN_HOST_KERNELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stentor.h"

/* The types of numbers that arrays on the host hold. Booleans are bytes of 0 and 1. */
typedef enum stn_number {
    STN_NUMBER_F64,
    STN_NUMBER_F32,
    STN_NUMBER_F16,
    STN_NUMBER_I8,
    STN_NUMBER_U8,
    STN_NUMBER_I16,
    STN_NUMBER_U16,
    STN_NUMBER_I32,
    STN_NUMBER_U32,
    STN_NUMBER_I64,
    STN_NUMBER_U64,
    STN_NUMBER_BOOL
} stn_number;

#define STN_NUMBERS (STN_NUMBER_BOOL + 1)

/* What is summed: first `single` lines, then `pairs` of lines that share a weight. A pair's two
 * points are added, or subtracted where `odd`, before they are multiplied: mirrored data give
 * mirrored bits. */
typedef struct stn_terms {
    const void *const *lines; /* of doubles: those of the single terms, then two for each pair */
    const double *weights;    /* one for each term */
    size_t single, pairs;     /* one or more together */
    bool odd;
} stn_terms;

#define STN_KERNEL_ROWS 4  /* that are summed side by side */
#define STN_KERNEL_LEAST 8 /* points of such rows: a vector */

/* A box of taps, each with a weight of its own. Output row r sums rows r to r + height - 1 of each
 * plane. */
typedef struct stn_dense {
    /* height + STN_KERNEL_ROWS - 1 of each plane; element x is what the first tap of point x
     * sees */
    const void *const *rows;
    const double *weights;
    size_t planes, height, width; /* of the taps; height is 3 or more */
} stn_dense;

typedef struct stn_kernels {
    /* sum[x] = the terms added in order, for 0 <= x < count. sum overlaps no line. */
    void (*sum)(double *sum, const stn_terms *terms, size_t count);
    /* The same of lines of floats, each made a double before it is added; sums are rounded to
     * floats. */
    void (*sum_float)(float *sum, const stn_terms *terms, size_t count);
    /* The same as sum for STN_KERNEL_ROWS rows and the taps of a box in order, for STN_KERNEL_LEAST
     * points or more. */
    void (*sum_rows)(double *const *sums, const stn_dense *dense, size_t count);
    void (*sum_rows_float)(float *const *sums, const stn_dense *dense, size_t count); /* of floats, as sum_float */
    /* By stn_number: to[x] = from[x]. */
    void (*load[STN_NUMBERS])(double *to, const void *from, size_t count);
    /* The same, rounded to the nearest; f16 by way of f32. Whole numbers are cut towards zero, and
     * past their range by their lowest bits; what no int64 holds is taken for the least of those. A
     * boolean is what is not 0 then. */
    void (*store[STN_NUMBERS])(void *to, const double *from, size_t count);
} stn_kernels;

size_t stn_number_size(stn_number number);
/* Those for the CPU that this runs on. */
const stn_kernels *stn_kernels_best(void);
/* For tests: number 0 is portable C; NULL past the last that this CPU can run. */
const stn_kernels *stn_kernels_at(int index);
#endif
