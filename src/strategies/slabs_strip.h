/* Strips: the margins that fused steps leave at the faces of a grid, as small tasks for strategy direct (slabs.h).
 *
 * The two margins of an axis are one task, on the grid pinched along that axis to what f steps of them can see:
 *
 *     0    m0   depth0            n - depth1   m1   n         depth0 = depth1 = f * (both reaches of the axis)
 *     |####|.....|                     |.....|####|
 *                    pinched:  |####|.....|.....|####|
 *
 * Its faces are the grid's own. Where the two parts meet, what one step gets wrong is a reach wider after each step, and
 * after f of them it has come up to the margins (#). In 2D the strip of axis 0 is turned, so that both are long and narrow:
 * then one warp spans a row, from face to face. */
#ifndef STN_STRATEGIES_SLABS_STRIP_H
#define STN_STRATEGIES_SLABS_STRIP_H
#include "plan/strategy.h"
#include "strategies/layout.h"

/* The margins of one axis; or of all, when the strip holds the whole grid. */
typedef struct strip {
    int axis;
    bool turned;            /* its task has axes 1 and 2 in each other's place */
    int64_t depth[2];       /* points of the axis at its low and at its high side; together n: the whole grid */
    stn_grid_layout layout; /* by the grid's axes */
} strip;

bool strip_has_face(const stn_task *task, int axis, int side);
bool strip_is_whole(const stn_task *task, const strip *s);
/* Axis, depths and layout of every strip; one that is the whole grid makes all others needless. */
size_t strips_find(const stn_task *task, int fused, strip strips[3]);
/* The grid's taps with the weights they have now, in the order that the strip's task keeps. */
void strip_taps(const stn_task *task, const strip *s, stn_tap *taps);
/* The task of a strip; `taps` are its own, task->ntaps of them. */
stn_task strip_task(const stn_task *task, int fused, const strip *s, stn_tap *taps);
/* The way of strategy direct that takes least beside an interior of so many seconds; false if there is none. */
bool strip_choose(const stn_task *task, const stn_machine *machine, double interior, stn_candidate *best,
                  stn_estimate *estimate);
#endif
