/* How an axis continues past its sides so that T steps on it equal T steps on a periodic line: it
 * repeats, or it is mirrored at each side with a sign. Taps that are symmetric along the axis
 * commute with such mirrors; a fixed or constant side is an odd mirror plus a constant source. A
 * line of `length` points is sufficient: whole periods, or the grid plus the reach of all steps on
 * either side. */
#ifndef STN_STRATEGIES_COMMON_EXTENSION_H
#define STN_STRATEGIES_COMMON_EXTENSION_H
#include "base/text.h"
#include "problem/task.h"
#include "strategies/common/reach.h"

typedef struct stn_extension {
    int64_t n;              /* points of the grid along the axis */
    bool repeats;           /* the axis wraps */
    int beyond[2];          /* distance from the outermost point to the mirror, in half points */
    int sign[2];            /* 1: even; -1: odd */
    int64_t length, before; /* length of the line; its points before the grid's first */
    bool exact;             /* the line is whole periods, so nothing is cut off */
    bool whole;             /* the line is exact and as long as the grid */
} stn_extension;

/* Fills all fields before length. False if no mirrors are equivalent to these sides for these taps;
 * the reason is one phrase. */
bool stn_extension_sides(const stn_task *task, int axis, stn_extension *extension, char *reason, size_t reason_size);
/* The period of the extended axis, in points. */
int64_t stn_extension_period(const stn_extension *extension);
/* Whether a side needs a source, that is, is an odd mirror. */
bool stn_extension_odd(const stn_extension *extension);

/* The grid point that equals point i of the extended axis (0: the grid's first), and its sign in
 * *sign; sign 0: the value is 0. Must match image_of in kernel_templates/spectral/extension.cuh. */
int64_t stn_extension_image(const stn_extension *extension, int64_t i, int *sign);
/* The point next to an odd side, to which its source is added; -1: that side is even, or the other
 * side has the same point. */
int64_t stn_extension_neighbour(const stn_extension *extension, int side);

/* Chooses the cheapest valid line of at most `most` points that is not much longer than the
 * shortest one; false if there is none. cost(length): the cost of a line of `length` points,
 * infinite for lengths without a transform. */
bool stn_extension_fit(stn_extension *extension, const stn_reach *reach, double (*cost)(int64_t length), int64_t most);
/* The parameters of spectral/extension.cuh. */
void stn_extension_params(const stn_extension *extension, stn_text *params);
#endif
