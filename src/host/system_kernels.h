/* The inner loops of systems over rows of points, compiled for several instruction sets, all with
 * bit-identical results. */
#ifndef STN_HOST_SYSTEM_KERNELS_H
#define STN_HOST_SYSTEM_KERNELS_H
#include <stdint.h>

#include "problem/system.h"

#define STN_SYSTEM_ROW_TERMS 8 /* maximum per call */

/* Rows have the arithmetic type: double or float. */
typedef struct stn_system_kernels {
    /* to[x] = op(a[x], b[x], c[x]), for operators and functions. to may be one of the operands. */
    void (*apply)(stn_system_op op, void *to, const void *a, const void *b, const void *c, size_t count);
    /* to[x] = (add ? to[x] : 0) + the sum of weights[k] * rows[k][x], in order, of at most
     * STN_SYSTEM_ROW_TERMS terms. */
    void (*sum)(void *to, const void *const *rows, const double *weights, int terms, bool add, size_t count);
    void (*fill)(void *to, double value, size_t count);
    void (*scale)(void *to, double by, size_t count); /* to[x] *= by */
} stn_system_kernels;

/* The fastest set that this CPU supports. wide: rows of double. */
const stn_system_kernels *stn_system_kernels_best(bool wide);
/* For tests: index 0 is portable C; NULL if there is no such set on this CPU. */
const stn_system_kernels *stn_system_kernels_at(int index, bool wide);
#endif
