/* Means over a sliding box along one axis. */
#ifndef STN_HOST_MOVING_AVERAGE_H
#define STN_HOST_MOVING_AVERAGE_H
#include "host/pool.h"

/* Implements stn_box_filter_run for a filter that was validated. */
stn_status stn_host_box(stn_pool *pool, const stn_box_filter *box, const void *in, void *out, stn_error *error);
#endif
