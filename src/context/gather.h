/* The list behind plan/gather.h: which kernels a thread misses, by template and parameters. */
#ifndef STN_CONTEXT_GATHER_H
#define STN_CONTEXT_GATHER_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "plan/gather.h"

enum { STN_GATHER_MOST = 64 };

typedef struct stn_wanted {
    char *name, *params; /* owned by the stand-in */
    void *stands_in;     /* what the plan gets instead */
} stn_wanted;

struct stn_gather {
    stn_context *context;
    pthread_t thread;
    stn_gather *next; /* of the context's list */
    stn_wanted missing[STN_GATHER_MOST];
    size_t count;
    bool apart;         /* compiled, not loaded */
    atomic_bool cancel; /* or one has failed */
    atomic_flag told;   /* why holds the first error */
    stn_error why;
    void (*free_stand_in)(void *stands_in);
};

/* Compiles all that several miss, each kernel once, on the context's threads. Any may be NULL. */
void stn_gathers_compile(stn_context *context, stn_gather *const *gathers, size_t count);
/* Did one of its kernels not compile? */
bool stn_gather_failed(const stn_gather *gather, stn_error *error);

/* What the calling thread gathers on this context; NULL: nothing, compile. */
stn_gather *stn_gather_here(stn_context *context);
/* NULL: not listed yet. */
void *stn_gather_find(const stn_gather *gather, const char *name, const char *params);
/* False where the list is full: then it is not taken. */
bool stn_gather_add(stn_gather *gather, const stn_wanted *wanted, void (*free_stand_in)(void *stands_in));
#endif
