/* See thread.h: thread creation with signals blocked. */
#include "base/thread.h"

#include <signal.h>

int stn_thread_start(pthread_t *thread, void *(*body)(void *user), void *user) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failed = pthread_create(thread, NULL, body, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}
