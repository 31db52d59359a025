/* Memoization: key -> a value that is expensive to make, made once per process. */
#ifndef STN_CACHE_MEMO_H
#define STN_CACHE_MEMO_H
#include "cache/key.h"

typedef struct stn_memo stn_memo;
typedef stn_status (*stn_memo_make)(void *user, const stn_key *key, void **value, stn_error *error);
typedef void (*stn_memo_free)(void *user, void *value);
stn_status stn_memo_create(stn_memo_free free_value, void *user, stn_memo **memo, stn_error *error);
/* Returns the value of key, made by `make` if absent; other threads that ask for the same key wait
 * for it. A failure is given to all waiters and not kept. Values are kept until the memo is
 * destroyed; *hit (may be NULL): it was there. `make` must not ask for its own key. */
stn_status stn_memo_get(stn_memo *memo, const stn_key *key, stn_memo_make make, void *make_user, void **value,
                        bool *hit, stn_error *error);
/* Is some thread making it now? */
bool stn_memo_is_making(stn_memo *memo, const stn_key *key);
/* frees all values; no thread may be in stn_memo_get; NULL is fine */
void stn_memo_destroy(stn_memo *memo);
#endif
