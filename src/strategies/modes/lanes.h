/* The matrix of a step at several frequencies at once (one per SIMD lane), and its power. Built for
 * several instruction sets, with bit-identical results. */
#ifndef STN_STRATEGIES_MODES_LANES_H
#define STN_STRATEGIES_MODES_LANES_H
#include "strategies/modes/linear.h"

/* The elements of a spectrum that one matrix is applied to, complex doubles. State variable i of
 * grid g begins at from + ((i * grids + g) * grid + row[r] + first); `count` frequencies follow
 * each other, in each of `rows` rows that share the matrix. */
typedef struct modes_target {
    double *from;
    int64_t grids, grid, row[4], first;
    int rows, count; /* count: frequencies, at most the number of lanes */
    double ones;     /* frequency 0 of an affine system: the spectrum of 1; else 0 */
} modes_target;

typedef struct modes_lanes {
    int lanes;
    /* Bytes of scratch memory of the other functions, aligned to 64. */
    size_t (*scratch)(const modes_linear *linear);
    /* Computes the matrices of the frequencies z along the last axis, one per lane. affine: with
     * the constants that a step adds, at frequency 0. */
    void (*fill)(const modes_linear *linear, const double *constants, const modes_pair *terms, const modes_pair *z,
                 bool affine, void *scratch);
    modes_pair (*entry)(const modes_linear *linear, int entry, int lane, const void *scratch);
    /* Raises them to the power; narrow: in float64. */
    void (*raise)(const modes_linear *linear, uint64_t steps, bool narrow, bool affine, void *scratch);
    void (*apply)(const modes_linear *linear, const modes_target *target, bool affine, void *scratch);
} modes_lanes;

const modes_lanes *modes_lanes_best(void); /* the best for this CPU */
/* Index 0 is portable C; NULL past the last one that this CPU supports. */
const modes_lanes *modes_lanes_at(int index);
#endif
