/* Axes of one point along which no tap reaches may stand anywhere in a dense array. */
#ifndef STN_HOST_POINT_AXES_H
#define STN_HOST_POINT_AXES_H
#include "problem/task.h"

/* Moves such axes before the others, so that rows are long. The task is one step on dense arrays;
 * otherwise nothing changes. */
void stn_host_move_point_axes(stn_task *task);
#endif
