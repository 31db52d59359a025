/* Waiting for a stream while the caller's progress function is called. */
#ifndef STN_CONTEXT_STREAM_WAIT_H
#define STN_CONTEXT_STREAM_WAIT_H
#include "host/watch.h"
#include "launch/driver.h"

/* Waits for the stream to reach the timer's mark, and calls the progress function of the watch
 * meanwhile. Work that is already enqueued cannot be cancelled, so it is waited for. */
stn_status stn_stream_wait(stn_timer *timer, stn_watch *watch, stn_error *error);
#endif
