/* Threads of the library's own. */
#ifndef STN_BASE_THREAD_H
#define STN_BASE_THREAD_H
#include <pthread.h>

/* pthread_create, with all signals blocked: an application's handlers stay on its own threads.
 * Returns what that returns: 0, or why there is none. */
int stn_thread_start(pthread_t *thread, void *(*body)(void *user), void *user);
#endif
