/* The inner loops of systems over rows of points, built for several instruction sets; all give the
 * same bits. */
#ifndef STN_HOST_SYSTEM_KERNELS_H
#define STN_HOST_SYSTEM_KERNELS_H
#include <stdint.h>

#include "problem/system.h"

#define STN_SYSTEM_ROW_TERMS 8 /* of one call */

/* Rows of double, or of float where the arithmetic is that. */
typedef struct stn_system_kernels {
    /* to[x] = op(a[x], b[x], c[x]), of operators and functions. to may be one of the operands. */
    void (*apply)(stn_system_op op, void *to, const void *a, const void *b, const void *c, size_t count);
    /* to[x] = (add ? to[x] : 0) + the sum of weights[k] * rows[k][x], in order, of at most
     * STN_SYSTEM_ROW_TERMS. */
    void (*sum)(void *to, const void *const *rows, const double *weights, int terms, bool add, size_t count);
    void (*fill)(void *to, double value, size_t count);
    void (*scale)(void *to, double by, size_t count); /* to[x] *= by */
} stn_system_kernels;

/* Those for the CPU that this runs on. */
const stn_system_kernels *stn_system_kernels_best(bool wide);
/* For tests: number 0 is portable C; NULL past the last that this CPU can run. wide: rows of
 * double. */
const stn_system_kernels *stn_system_kernels_at(int index, bool wide);
#endif
