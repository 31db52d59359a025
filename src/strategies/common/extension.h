/* How an axis goes on past its sides so that T steps on it equal T steps on a periodic line: by
 * itself, or mirrored at each side with a sign. Taps that are symmetric along the axis commute with
 * such mirrors; a fixed or constant side is an odd mirror and a constant source beside it. A line
 * of `length` points holds enough of that: a whole period, or the grid and as far on either side as
 * the taps of all steps reach. */
#ifndef STN_STRATEGIES_COMMON_EXTENSION_H
#define STN_STRATEGIES_COMMON_EXTENSION_H
#include "problem/task.h"
#include "strategies/common/reach.h"

typedef struct stn_extension {
    int64_t n;              /* points of the grid along the axis */
    bool repeats;           /* wrap */
    int beyond[2];          /* each mirror stands half so many points outside of the outer point */
    int sign[2];            /* 1: even; -1: odd */
    int64_t length, before; /* of the line; its points before the grid's first */
    bool exact;             /* the line is a whole period, so that nothing is cut off */
    bool whole;             /* and no more than the grid */
} stn_extension;

/* Fills all but length and what follows. False: no mirrors have the effect of these sides on these
 * taps; the reason is one phrase. */
bool stn_extension_sides(const stn_task *task, int axis, stn_extension *extension, char *reason, size_t reason_size);
/* Points after which the extended axis repeats. */
int64_t stn_extension_period(const stn_extension *extension);
/* Whether a side of the extension needs a source: an odd mirror. */
bool stn_extension_odd(const stn_extension *extension);

/* The grid's point that stands for point i of the extended axis (0: the grid's first), and its sign
 * in *sign; 0: the point is 0. The twin of image_of in kernel_templates/spectral/extension.cuh. */
int64_t stn_extension_image(const stn_extension *extension, int64_t i, int *sign);
/* The point next to an odd side, which its source acts on; -1: that side is even, or the other
 * side's is the same. */
int64_t stn_extension_beside(const stn_extension *extension, int side);

/* Chooses the line that costs least, of those of at most `most` points that serve, none much longer
 * than the shortest; false: there is none. cost: of a line of so many points; infinite where that
 * is no good length. */
bool stn_extension_fit(stn_extension *extension, const stn_reach *reach, double (*cost)(int64_t length), int64_t most);
#endif
