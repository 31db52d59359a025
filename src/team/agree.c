/* Agreements: rank 0 gathers what all ranks claim, judges, and sends its verdict to all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "team/ranks.h"

static void judge(team_ranks *ranks) {
    verdict *all = &ranks->verdict;
    const claim *claims = ranks->claims;
    int failed = 0;
    stn_error why = {0};
    all->status = STN_OK, all->culprit = -1;
    for (int r = ranks->size - 1; r >= 0; r--)
        if (claims[r].status != STN_OK) all->culprit = r, all->status = claims[r].status, failed++;
    for (int r = 1; r < ranks->size && all->culprit < 0; r++)
        if (claims[r].hash != claims[0].hash) all->culprit = r;
    if (all->culprit < 0) return;
    const claim *claimed = &claims[all->culprit];
    if (!failed)
        all->status = stn_fail(&why, STN_ERROR_INVALID_ARGUMENT,
                               "rank %d of %d differs from rank 0 (%s; rank 0: %s): give all ranks the same problem, "
                               "options and library, and make the same calls on each",
                               all->culprit, ranks->size, claimed->words, claims[0].words);
    else if (failed == ranks->size) /* a mistake that all make */
        (void)stn_fail(&why, all->status, "%s", claimed->message);
    else
        (void)stn_fail(&why, all->status, "rank %d of %d: %s", all->culprit, ranks->size, claimed->message);
    memcpy(all->message, why.message, sizeof all->message);
}

/* Rank 0 receives all claims, and sends the verdict. */
static stn_status gather_claims(team_ranks *ranks, pending *list, stn_error *error) {
    int started = 0;
    for (int r = 1; r < ranks->size; r++)
        if (team_start(ranks, false, r, TAG_CLAIM, &ranks->claims[r], sizeof *ranks->claims, &list[started])) started++;
    STN_TRY(team_wait_for(ranks, list, started, error));
    judge(ranks);
    started = 0;
    for (int r = 1; r < ranks->size; r++)
        if (team_start(ranks, true, r, TAG_VERDICT, &ranks->verdict, sizeof ranks->verdict, &list[started])) started++;
    return team_wait_for(ranks, list, started, error);
}

static stn_status claim_and_hear(team_ranks *ranks, pending *list, stn_error *error) {
    if (!team_start(ranks, true, 0, TAG_CLAIM, &ranks->claims[0], sizeof *ranks->claims, &list[0]) ||
        !team_start(ranks, false, 0, TAG_VERDICT, &ranks->verdict, sizeof ranks->verdict, &list[1]))
        return team_lose(ranks, 0, "cannot be reached, after", 0, error);
    return team_wait_for(ranks, list, 2, error);
}

stn_status team_ranks_agree(team_ranks *ranks, stn_status status, uint64_t hash, const char *words, void *shared,
                            size_t bytes, stn_error *error) {
    claim *const own = &ranks->claims[0];
    if (ranks->broken) return team_already_broken(ranks, error);
    memset(own, 0, sizeof *own);
    own->status = status, own->hash = hash;
    if (status != STN_OK) snprintf(own->message, sizeof own->message, "%s", error ? error->message : "");
    snprintf(own->words, sizeof own->words, "%s", words ? words : "");
    if (ranks->own == 0 && bytes) memcpy(ranks->verdict.shared, shared, bytes);
    pending *list = calloc((size_t)ranks->size + 1, sizeof *list);
    if (!list) return team_ranks_fail(ranks, stn_fail_memory(error, "an agreement", sizeof *list), error);
    status = ranks->own ? claim_and_hear(ranks, list, error) : gather_claims(ranks, list, error);
    free(list);
    if (status != STN_OK) return status;
    ranks->culprit = ranks->verdict.culprit;
    if (ranks->verdict.status != STN_OK) {
        if (error) error->status = ranks->verdict.status;
        if (error) memcpy(error->message, ranks->verdict.message, sizeof error->message);
        return ranks->verdict.status;
    }
    if (ranks->own && bytes) memcpy(shared, ranks->verdict.shared, bytes);
    return STN_OK;
}
