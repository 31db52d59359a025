/* Which points of a grid f fused steps get right by themselves, and which sides take a margin. */
#ifndef STN_STRATEGIES_FACES_INTERIOR_H
#define STN_STRATEGIES_FACES_INTERIOR_H
#include "problem/task.h"

/* The box of points that f fused steps get right by themselves: low[axis] <= index < high[axis], at
 * 0 and n for axes that wrap or that no tap leaves. False if it is empty: then fusing f steps is no
 * use. Needs no faces object: for estimates and candidates. */
bool stn_faces_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]);
/* Does this side take a margin? */
bool stn_faces_has_face(const stn_task *task, int axis, int side);
#endif
