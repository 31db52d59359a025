/* The matrix of a step at several frequencies side by side, and its power: built for several
 * instruction sets, which all give the same bits. */
#ifndef STN_STRATEGIES_MODES_LANES_H
#define STN_STRATEGIES_MODES_LANES_H
#include "strategies/modes/linear.h"

/* The addresses of the complex numbers to which matrices are applied. Number i of the state of grid
 * g at the first frequency lies at from + 2 * ((i * grids + g) * grid + row[r] + first), and those
 * at the next frequencies follow. grid, row and first count complex numbers. The matrices are the
 * same for all `rows` rows. */
typedef struct modes_target {
    double *from;
    int64_t grids, grid, row[4], first;
    int rows, count; /* count: frequencies, as many as there are lanes at most */
    /* In an affine system, the spectrum of the constant 1 at frequency 0; otherwise 0 */
    double ones;
} modes_target;

typedef struct modes_lanes {
    int lanes;
    /* Bytes of the scratch memory that the other functions use; aligned to 64. */
    size_t (*scratch)(const modes_linear *linear);
    /* The matrices of the frequencies z, one for each lane, along the last axis. affine: with the
     * constants that a step adds, for frequency 0. */
    void (*fill)(const modes_linear *linear, const double *constants, const modes_pair *terms, const modes_pair *z,
                 bool affine, void *scratch);
    /* The factor of number `column` of the state in an operation, at the first lane's frequency. */
    modes_pair (*factor)(const modes_linear *linear, int operation, int column, const void *scratch);
    /* Raises these matrices to a power; narrow: in float64. */
    void (*raise)(const modes_linear *linear, uint64_t steps, bool narrow, bool affine, void *scratch);
    /* Copy the power to and from memory of power_bytes() bytes. */
    size_t (*power_bytes)(const modes_linear *linear);
    void (*save)(const modes_linear *linear, bool affine, const void *scratch, void *to);
    void (*restore)(const modes_linear *linear, bool affine, const void *from, void *scratch);
    void (*apply)(const modes_linear *linear, const modes_target *target, bool affine, void *scratch);
} modes_lanes;

const modes_lanes *modes_lanes_best(void); /* the fastest that this CPU can run */
/* Table 0 is portable C; NULL if `index` is past the last table that this CPU can run. */
const modes_lanes *modes_lanes_at(int index);
#endif
