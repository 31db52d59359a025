/* Means of unsigned integers over a sliding box along one axis. */
#ifndef STN_HOST_INTEGER_BOX_H
#define STN_HOST_INTEGER_BOX_H
#include "host/pool.h"

/* Implements stn_host_box for unsigned integers. source_index: for the filter and for its next one,
 * the index in the line of each position of the extended axis, or -1 or -2 past a constant side. */
/* Whether a filter is of unsigned integers of 8 or 16 bits whose means are exact in 32 bits. */
bool stn_host_integer_box_applies(const stn_box_filter *box);
stn_status stn_host_integer_box(stn_pool *pool, const stn_box_filter *box, const void *in, void *out,
                                int64_t *const source_index[2], stn_error *error);
#endif
