/* Memoization: key -> a value that is expensive to make, made once per process. */
#ifndef STN_CACHE_MEMO_H
#define STN_CACHE_MEMO_H
#include "cache/key.h"

typedef struct stn_memo stn_memo;
typedef stn_status (*stn_memo_make)(void *user, const stn_key *key, void **value, stn_error *error);
typedef void (*stn_memo_free)(void *user, void *value);
stn_status stn_memo_create(stn_memo_free free_value, void *user, stn_memo **memo, stn_error *error);
/* Returns the value of key, made by `make` if absent; other threads that ask for the same key wait
 * for it. A failure is given to all waiters and not kept. The caller holds the value until
 * stn_memo_release; *hit (may be NULL): it was there. `make` must not ask for its own key. */
stn_status stn_memo_get(stn_memo *memo, const stn_key *key, stn_memo_make make, void *make_user, void **value,
                        bool *hit, stn_error *error);
/* Ends one hold. The value is kept at least until the next stn_memo_trim. Does nothing in a forked
 * child of the process that created the memo. */
void stn_memo_release(stn_memo *memo, const void *value);
/* The number of values that nobody holds. */
size_t stn_memo_unheld(stn_memo *memo);
/* Frees values that nobody holds, the least recently released first, until `most` are left. */
void stn_memo_trim(stn_memo *memo, size_t most);
/* Is some thread making it now? */
bool stn_memo_is_making(stn_memo *memo, const stn_key *key);
/* frees all values; no thread may be in stn_memo_get; NULL is fine */
void stn_memo_destroy(stn_memo *memo);
#endif
