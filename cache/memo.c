/* Memoization: a linked list of slots, of which there are a few hundred in practice. The first
 * thread to ask for a key makes its value; the others wait. */
#include "cache/memo.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

typedef enum slot_state { SLOT_MAKING, SLOT_READY, SLOT_FAILED } slot_state;

typedef struct slot {
    stn_key key;
    slot_state state;
    size_t users;      /* threads inside stn_memo_get that use this slot */
    size_t holds;      /* of the value */
    uint64_t released; /* time of the last release, in releases; 0: never */
    void *value;
    stn_status status; /* of a failure, with its message, for the waiting threads */
    stn_error error;
    struct slot *next;
} slot;

struct stn_memo {
    pthread_mutex_t lock;
    pthread_cond_t made;
    slot *slots;
    pid_t owner;   /* in its forked children the lock may be held for ever */
    size_t unheld; /* values without a hold */
    uint64_t releases;
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
    made->owner = getpid();
    *memo = made;
    return STN_OK;
}

/* The link to the slot of a key, or to the end of the list. Call locked. */
static slot **find(stn_memo *memo, const stn_key *key) {
    slot **link = &memo->slots;
    while (*link && memcmp(&(*link)->key, key, sizeof *key) != 0) link = &(*link)->next;
    return link;
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
    if (status != STN_OK) *find(memo, &mine->key) = mine->next; /* The next request tries again. */
    pthread_cond_broadcast(&memo->made);
}

stn_status stn_memo_get(stn_memo *memo, const stn_key *key, stn_memo_make make, void *make_user, void **value,
                        bool *hit, stn_error *error) {
    pthread_mutex_lock(&memo->lock);
    slot **link = find(memo, key), *found = *link;
    const bool existed = found != NULL;
    if (!found && !(found = *link = calloc(1, sizeof *found))) {
        pthread_mutex_unlock(&memo->lock);
        return stn_fail_memory(error, "a kernel in memory", sizeof *found);
    }
    if (!existed) found->key = *key;
    found->users++;
    if (!existed) slot_make(memo, found, make, make_user);
    while (found->state == SLOT_MAKING) pthread_cond_wait(&memo->made, &memo->lock);
    found->users--;
    stn_status status = found->status;
    if (status == STN_OK) {
        *value = found->value;
        if (!found->holds++ && found->released) memo->unheld--;
    } else {
        if (error) *error = found->error;
        if (!found->users) free(found); /* It was removed from the list when it failed. */
    }
    pthread_mutex_unlock(&memo->lock);
    if (hit) *hit = existed && status == STN_OK;
    return status;
}

void stn_memo_release(stn_memo *memo, const void *value) {
    if (memo->owner != getpid()) return;
    pthread_mutex_lock(&memo->lock);
    slot *each = memo->slots;
    while (each && (each->state != SLOT_READY || each->value != value)) each = each->next;
    if (each && !--each->holds) {
        each->released = ++memo->releases;
        memo->unheld++;
    }
    pthread_mutex_unlock(&memo->lock);
}

size_t stn_memo_unheld(stn_memo *memo) {
    pthread_mutex_lock(&memo->lock);
    const size_t unheld = memo->unheld;
    pthread_mutex_unlock(&memo->lock);
    return unheld;
}

/* Removes the slot that was released first of those without a hold. Call locked. */
static slot *remove_oldest(stn_memo *memo) {
    slot **oldest = NULL;
    for (slot **link = &memo->slots; *link; link = &(*link)->next)
        if ((*link)->state == SLOT_READY && !(*link)->users && !(*link)->holds && (*link)->released &&
            (!oldest || (*link)->released < (*oldest)->released))
            oldest = link;
    if (!oldest) return NULL;
    slot *removed = *oldest;
    *oldest = removed->next;
    memo->unheld--;
    return removed;
}

void stn_memo_trim(stn_memo *memo, size_t most) {
    slot *removed = NULL;
    pthread_mutex_lock(&memo->lock);
    for (slot *next; memo->unheld > most && (next = remove_oldest(memo));) next->next = removed, removed = next;
    pthread_mutex_unlock(&memo->lock);
    while (removed) {
        slot *next = removed->next;
        if (memo->free_value) memo->free_value(memo->user, removed->value);
        free(removed);
        removed = next;
    }
}

bool stn_memo_is_making(stn_memo *memo, const stn_key *key) {
    pthread_mutex_lock(&memo->lock);
    const slot *found = *find(memo, key);
    const bool making = found && found->state == SLOT_MAKING;
    pthread_mutex_unlock(&memo->lock);
    return making;
}

void stn_memo_destroy(stn_memo *memo) {
    if (!memo) return;
    slot *each = memo->slots;
    while (each) {
        slot *next = each->next;
        if (memo->free_value) memo->free_value(memo->user, each->value);
        free(each);
        each = next;
    }
    pthread_cond_destroy(&memo->made);
    pthread_mutex_destroy(&memo->lock);
    free(memo);
}
