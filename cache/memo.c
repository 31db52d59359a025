/* Memoization: a hash table of slots. The first thread to ask for a key makes its value; the others
 * wait. */
#include "cache/memo.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

#define HASH_NONFATAL_OOM 1 /* otherwise uthash ends the process */
#define uthash_nonfatal_oom(slot) ((slot)->state = SLOT_FAILED)
#include <uthash.h>

typedef enum slot_state { SLOT_MAKING, SLOT_READY, SLOT_FAILED } slot_state;

typedef struct slot {
    stn_key key;
    slot_state state;
    size_t users; /* threads inside stn_memo_get that use this slot */
    void *value;
    stn_status status; /* of a failure, with its message, for the waiting threads */
    stn_error error;
    UT_hash_handle hh;
} slot;

struct stn_memo {
    pthread_mutex_t lock;
    pthread_cond_t made;
    slot *slots;
    stn_memo_free free_value;
    void *user;
};

stn_status stn_memo_create(stn_memo_free free_value, void *user, stn_memo **memo, stn_error *error) {
    stn_memo *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "the kernels in memory", sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->made, NULL);
    made->free_value = free_value;
    made->user = user;
    *memo = made;
    return STN_OK;
}

/* Adds a slot in state SLOT_MAKING; NULL if out of memory. Call locked. */
static slot *slot_add(stn_memo *memo, const stn_key *key) {
    slot *added = calloc(1, sizeof *added);
    if (!added) return NULL;
    added->key = *key;
    added->state = SLOT_MAKING;
    HASH_ADD(hh, memo->slots, key, sizeof added->key, added);
    if (added->state == SLOT_FAILED) {
        free(added);
        return NULL;
    }
    return added;
}

/* Calls `make` without the lock and sets the slot's state. Call locked; returns locked. */
static void slot_make(stn_memo *memo, slot *mine, stn_memo_make make, void *make_user) {
    pthread_mutex_unlock(&memo->lock);
    void *value = NULL;
    stn_error why = {0};
    stn_status status = make(make_user, &mine->key, &value, &why);
    pthread_mutex_lock(&memo->lock);
    mine->value = value;
    mine->status = status;
    mine->error = why;
    mine->state = status == STN_OK ? SLOT_READY : SLOT_FAILED;
    if (status != STN_OK) HASH_DEL(memo->slots, mine); /* The next request tries again. */
    pthread_cond_broadcast(&memo->made);
}

stn_status stn_memo_get(stn_memo *memo, const stn_key *key, stn_memo_make make, void *make_user, void **value,
                        bool *hit, stn_error *error) {
    pthread_mutex_lock(&memo->lock);
    slot *found = NULL;
    HASH_FIND(hh, memo->slots, key, sizeof *key, found);
    bool there = found != NULL;
    if (!found && !(found = slot_add(memo, key))) {
        pthread_mutex_unlock(&memo->lock);
        return stn_fail_memory(error, "a kernel in memory", sizeof *found);
    }
    found->users++;
    if (!there) slot_make(memo, found, make, make_user);
    while (found->state == SLOT_MAKING) pthread_cond_wait(&memo->made, &memo->lock);
    found->users--;
    stn_status status = found->status;
    if (status == STN_OK)
        *value = found->value;
    else {
        if (error) *error = found->error;
        if (!found->users) free(found); /* It was removed from the table when it failed. */
    }
    pthread_mutex_unlock(&memo->lock);
    if (hit) *hit = there && status == STN_OK;
    return status;
}

bool stn_memo_is_making(stn_memo *memo, const stn_key *key) {
    slot *found = NULL;
    pthread_mutex_lock(&memo->lock);
    HASH_FIND(hh, memo->slots, key, sizeof *key, found);
    const bool making = found && found->state == SLOT_MAKING;
    pthread_mutex_unlock(&memo->lock);
    return making;
}

void stn_memo_destroy(stn_memo *memo) {
    if (!memo) return;
    slot *each = memo->slots;
    HASH_CLEAR(hh, memo->slots); /* Frees the table; the slots remain linked. */
    while (each) {
        slot *next = each->hh.next;
        if (memo->free_value) memo->free_value(memo->user, each->value);
        free(each);
        each = next;
    }
    pthread_cond_destroy(&memo->made);
    pthread_mutex_destroy(&memo->lock);
    free(memo);
}
