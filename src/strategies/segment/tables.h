/* The tables of a pass: roots of one, the symbol of f steps, what constant and fixed sides add.
 * Computed in long double. */
#ifndef STN_STRATEGIES_SEGMENT_TABLES_H
#define STN_STRATEGIES_SEGMENT_TABLES_H
#include "strategies/segment/axis.h"

/* Numbers of the symbol's table, for segments of 256 * first points. */
size_t segment_symbol_size(int first, bool real);
/* Numbers of the table of roots. */
size_t segment_roots_size(int first, stn_dtype dtype);
/* Roots of one, exp(-2 pi i k / (256 first)), in the order in which convolve.cuh reads them; but of
 * f64 their powers 1, 2 and, after all of these, 4, 8. */
void segment_roots_make(int first, stn_dtype dtype, double *roots);
/* The taps' symbol to the power of `steps`, by the segment's length, in the order in which
 * convolve.cuh reads it. Errors: out of memory. */
stn_status segment_symbol_make(const segment_axis *axis, int first, uint64_t steps, double *symbol, stn_error *error);
/* The same at all frequencies of a circle of `length` points, in their order and not divided by the
 * length: pairs. */
stn_status segment_powers_make(const segment_axis *axis, int64_t length, uint64_t steps, double *powers,
                               stn_error *error);
/* The same as segment_symbol_make of a line of 256 * first points, mirrored at both ends: first all
 * a, then all c of times_cosines. Of symmetric taps. */
size_t segment_cosines_size(int first);
stn_status segment_cosines_make(const segment_axis *axis, int first, uint64_t steps, double *symbol, stn_error *error);
/* The same of one segment of 256 * first points, first = 32 or 64, as times_alone reads it. */
size_t segment_alone_size(int first, bool real);
stn_status segment_alone_make(const segment_axis *axis, int first, uint64_t steps, double *symbol, stn_error *error);
/* What `steps` steps make of a value of 1 past (constant) or at (fixed) a side of a line of zeros:
 * profile[side * width + i] at i points from that side, 0 for other sides. Errors: out of
 * memory. */
stn_status segment_profile_make(const segment_axis *axis, uint64_t steps, int width, double *profile, stn_error *error);
/* What `steps` steps across a side (of axis `deep`) make of a one beside it in each step, times a
 * symbol along the side once for each step that follows: for each of `count` values of that symbol
 * and each depth d < width, 0 at the side. Of symmetric taps. Errors: out of memory. */
stn_status segment_depths_make(const segment_axis *deep, int side, uint64_t steps, int width, const long double *symbol,
                               size_t count, double *sums, stn_error *error);
/* The same of the symbol of `along` at each of its places, [d / 2][place][d % 2]. table holds
 * zeros. Errors: out of memory. */
stn_status segment_face_make(const segment_axis *deep, int side, const segment_axis *along, int first, uint64_t steps,
                             int width, double *table, stn_error *error);
#endif
