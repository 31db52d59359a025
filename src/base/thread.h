/* Creation of the library's own threads. */
#ifndef STN_BASE_THREAD_H
#define STN_BASE_THREAD_H
#include <pthread.h>

/* pthread_create with all signals blocked in the new thread, so that an application's signal
 * handlers run on its own threads. Returns what pthread_create returns: 0 or an error number. */
int stn_thread_start(pthread_t *thread, void *(*body)(void *user), void *user);
#endif
