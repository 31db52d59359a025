/* Rows whose length is no multiple of 16 bytes, as rows of a skewed grid: direct_skew. */
#ifndef STN_STRATEGIES_DIRECT_DIRECT_SKEW_H
#define STN_STRATEGIES_DIRECT_DIRECT_SKEW_H
#include "strategies/direct/direct_shape.h"

/* Whether one skew serves the input and the output: their rows have the same offsets within words
 * of `vector` elements. */
bool direct_skew_serves(const stn_task *task, int vector);
/* Place of a row's first element within a word, less that of the row before it along kernel axes z
 * and y, in elements: at most half a word in either direction. */
void direct_skew(const stn_task *task, const direct_shape *shape, int skew[2]);
/* The alignment of the skewed grid's pitches in elements, from a word to 128 bytes. */
int direct_skew_alignment(const stn_task *task, const direct_shape *shape);
/* Least and greatest skewed offset of the taps along x; at most and at least 0. */
void direct_skewed_reach(const stn_task *task, const direct_shape *shape, int64_t reach[2]);

/* The blocks of a launch; see the kernel. */
typedef struct direct_skew_blocks {
    int64_t tiles_x, rest, tiles_z, faces, sides, tiles, inner;
    int64_t all; /* in all grids of the batch */
} direct_skew_blocks;
direct_skew_blocks direct_skew_count(const stn_task *task, const direct_shape *shape);
#endif
