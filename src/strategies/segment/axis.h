/* The taps along one axis, and what lies past its sides: what one pass of overlapping segments
 * needs to know. */
#ifndef STN_STRATEGIES_SEGMENT_AXIS_H
#define STN_STRATEGIES_SEGMENT_AXIS_H
#include "problem/task.h"
#include "strategies/common/reach.h"

#define SEGMENT_TAPS (2 * STN_MAX_RADIUS + 1)

typedef struct segment_axis {
    int axis, low, count; /* weight[i] is of offset i - low */
    long double weight[SEGMENT_TAPS];
    bool symmetric;
    int64_t n;
    /* What convolving sees past the low and the high side, so that it is right there too: STN_WRAP,
     * or of symmetric taps STN_REFLECT and STN_MIRROR (mirrored), STN_CONSTANT and STN_FIXED (minus
     * the mirrored). */
    stn_boundary_kind side[2];
    bool exact; /* it can be; else margins are to be stepped, and both sides are STN_NEAREST */
} segment_axis;

/* The axes along which a task of one axis, or of weights that are products of one factor an axis,
 * reaches: x first, *count of them. At least one: where no tap leaves its point, that is x. False:
 * the weights are no such products. */
bool segment_axes_of(const stn_task *task, segment_axis axes[3], int *count);
/* Whether taps reach along lines of x only. */
bool segment_lines(const stn_task *task);
/* Whether all constant sides have one value, none is frozen, and weights add up to 1, so that a
 * grid of that value stays as it is.
 * *drift: the part of it by which it would change in all steps, which is dropped. */
bool segment_one_value(const stn_task *task, double *value, double *drift);
/* Whether a plane's sides add something else than one value (source.h). Then the taps of both axes
 * are symmetric. */
bool segment_sourced(const stn_task *task);
/* What a pass leaves away of the weights' sum at either side, at most. */
double segment_tail(stn_dtype dtype);
/* Have two axes the same weights, but for a factor, and for rounding, which moves no reach? */
bool segment_same_weights(const segment_axis *a, const segment_axis *b);
stn_reach segment_axis_reach(const segment_axis *axis, const stn_task *task, uint64_t steps);

/* After so many points the extension of a line repeats itself; 0: it does not. */
int64_t segment_period(const segment_axis *axis);
/* Where the extension of a line finds index i: the point's index, with its sign; -1: the value is
 * 0. Of exact axes; the twin of extend() in kernel_templates/segment/extend.cuh. */
int64_t segment_fold(const segment_axis *axis, int64_t i, int *sign);
#endif
