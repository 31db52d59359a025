/* The points of a grid that f fused steps compute correctly without values past the sides, and the
 * sides that need a margin. */
#ifndef STN_STRATEGIES_FACES_INTERIOR_H
#define STN_STRATEGIES_FACES_INTERIOR_H
#include "problem/task.h"

/* The box of these points: low[axis] <= index < high[axis], which is 0 or n at sides that wrap or
 * that no tap crosses. Returns false if the box is empty, so that fusing f steps is useless. May be
 * called before stn_faces_create, as by estimates and candidates. */
bool stn_faces_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]);
/* Whether this side needs a margin. */
bool stn_faces_has_face(const stn_task *task, int axis, int side);
#endif
