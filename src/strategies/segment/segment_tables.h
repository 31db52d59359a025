/* The tables of a pass: roots of unity, the symbol of the fused steps, and the profiles of constant
 * and fixed sides. Computed in long double. */
#ifndef STN_STRATEGIES_SEGMENT_SEGMENT_TABLES_H
#define STN_STRATEGIES_SEGMENT_SEGMENT_TABLES_H
#include "render/render.h"
#include "strategies/segment/axis.h"

/* Bytes of a value of the arithmetic type, and the values of a table in it. */
static inline size_t segment_real_size(const stn_task *task) {
    return task->dtype == STN_F64 ? sizeof(double) : sizeof(float);
}
static inline void segment_put(const stn_task *task, const double *from, size_t count, unsigned char *to) {
    for (size_t i = 0; i < count; i++) to += stn_put_real(task->dtype, from[i], to);
}
/* Number of values in the symbol's table, for segments of 256 * first points. */
size_t segment_symbol_size(int first, bool real);
/* Number of values in the table of twiddles. */
size_t segment_twiddles_size(int first, stn_dtype dtype);
/* Roots exp(-2 pi i k / (256 first)) in the order in which fft_convolution.cuh reads them. For
 * types other than f64 each entry has w and w^2 of a root w; after all entries follow w^4 and
 * w^8. */
stn_status segment_twiddles_make(int first, stn_dtype dtype, double *twiddles, stn_error *error);
/* The taps' symbol to the power of `steps`, divided by the segment's length, in the order in which
 * fft_convolution.cuh reads it. Errors: out of memory. */
stn_status segment_symbol_make(const segment_axis *axis, int first, uint64_t steps, double *symbol, stn_error *error);
/* The same at all `length` frequencies in natural order and without the division, as (re, im)
 * pairs. */
stn_status segment_powers_make(const segment_axis *axis, int64_t length, uint64_t steps, double *powers,
                               stn_error *error);
/* As segment_symbol_make, for a line of 256 * first points mirrored at both ends: all a, then all c
 * of multiply_mirrored_line. For symmetric taps. */
size_t segment_cosines_size(int first);
stn_status segment_cosines_make(const segment_axis *axis, int first, uint64_t steps, double *symbol, stn_error *error);
/* The same for one segment of 256 * first points, first = 32 or 64, in the order of
 * multiply_real_segment. */
size_t segment_single_size(int first, bool real);
stn_status segment_single_make(const segment_axis *axis, int first, uint64_t steps, double *symbol, stn_error *error);
/* The effect, after `steps` steps, of a value of 1 past a constant or at a fixed side of a line of
 * zeros: profile[side * width + i] at i points from the side; 0 for other sides. Errors: out of
 * memory. */
stn_status segment_profile_make(const segment_axis *axis, uint64_t steps, int width, double *profile, stn_error *error);
/* The effect at depth d of a source next to a side of axis `deep`, which varies along the side with
 * one frequency; for each index of the symbol's table of axis `along`, [d / 2][index][d % 2]. table
 * must be zeroed. Errors: out of memory. */
stn_status segment_face_make(const segment_axis *deep, int side, const segment_axis *along, int first, uint64_t steps,
                             int width, double *table, stn_error *error);
#endif
