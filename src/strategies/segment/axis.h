/* The taps along one axis, and the extension of a line past its two sides, as an overlap-save pass
 * along that axis needs them. */
#ifndef STN_STRATEGIES_SEGMENT_AXIS_H
#define STN_STRATEGIES_SEGMENT_AXIS_H
#include "problem/task.h"
#include "strategies/common/reach.h"

#define SEGMENT_TAPS (2 * STN_MAX_RADIUS + 1)

typedef struct segment_axis {
    int axis, low, count; /* weight[i] belongs to offset i - low. */
    long double weight[SEGMENT_TAPS];
    bool symmetric;
    int64_t n;
    /* Extension past the low and the high side that makes plain convolution correct at the boundary
     * too: STN_WRAP, or for symmetric taps STN_REFLECT and STN_MIRROR (mirror image), STN_CONSTANT
     * and STN_FIXED (negated mirror image). */
    stn_boundary_kind side[2];
    /* Such an extension exists. Otherwise margins are computed by single steps, and both sides are
     * STN_NEAREST. */
    bool exact;
    /* The weights of all steps together are folded to one period of the extension: segment_pass. */
    bool folded;
} segment_axis;
/* Whether the extension past a side is the negated mirror image (odd reflection), so that the grid
 * and its image cancel at the side. */
static inline bool segment_side_is_odd(const segment_axis *axis, int side) {
    return axis->side[side] == STN_CONSTANT || axis->side[side] == STN_FIXED;
}

/* The axes along which the taps reach, x first, *count of them: of a 1D task, or of separable
 * weights. At least one: x if every tap has offset 0. False: the weights are not separable. */
bool segment_axes_of(const stn_task *task, segment_axis axes[3], int *count);
/* Whether all taps lie on lines along x. */
bool segment_only_along_x(const stn_task *task);
/* Whether all constant sides have one value, no side is fixed, and the weights sum to 1, so that a
 * grid of that value does not change. *drift: the relative change of the value over all steps due
 * to the rounding of the weights' sum, which is neglected. */
bool segment_one_value(const stn_task *task, double *value, double *drift);
/* Whether the sides of a 2D grid add terms other than those of segment_one_value
 * (segment_boundary_source.h). The taps are then symmetric along both axes. */
bool segment_has_source(const stn_task *task);
/* Upper bound of the part of the weights' sum that a pass neglects at either side. */
double segment_tail(stn_dtype dtype);
/* Whether two axes have the same weights up to a factor and rounding, so that their reach is the
 * same. */
bool segment_same_weights(const segment_axis *a, const segment_axis *b);
stn_reach segment_axis_reach(const segment_axis *axis, const stn_task *task, uint64_t steps);

/* Period of the extension of a line, in points; 0: it is not periodic. */
int64_t segment_period(const segment_axis *axis);
/* The grid index of point i of the extended line, and its sign; -1: the value is 0. Only for exact
 * axes; host counterpart of extend() in kernel_templates/segment/extend.cuh. */
int64_t segment_fold(const segment_axis *axis, int64_t i, int *sign);
#endif
