/* Agreements: rank 0 gathers the votes of all ranks, decides, and sends its decision to all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "team/ranks.h"

static void decide(team_ranks *ranks) {
    decision *all = &ranks->decision;
    const vote *votes = ranks->votes;
    int failed = 0;
    stn_error why = {0};
    all->status = STN_OK, all->failed_rank = -1;
    for (int r = ranks->size - 1; r >= 0; r--)
        if (votes[r].status != STN_OK) all->failed_rank = r, all->status = votes[r].status, failed++;
    for (int r = 1; r < ranks->size && all->failed_rank < 0; r++)
        if (votes[r].hash != votes[0].hash) all->failed_rank = r;
    if (all->failed_rank < 0) return;
    const vote *failed_vote = &votes[all->failed_rank];
    if (!failed)
        all->status = stn_fail(&why, STN_ERROR_INVALID_ARGUMENT,
                               "rank %d of %d differs from rank 0 (%s; rank 0: %s): give all ranks the same problem, "
                               "options and library, and make the same calls on each",
                               all->failed_rank, ranks->size, failed_vote->words, votes[0].words);
    else if (failed == ranks->size) /* all ranks have the same failure */
        (void)stn_fail(&why, all->status, "%s", failed_vote->message);
    else
        (void)stn_fail(&why, all->status, "rank %d of %d: %s", all->failed_rank, ranks->size, failed_vote->message);
    memcpy(all->message, why.message, sizeof all->message);
}

/* Rank 0 receives all votes, and sends the decision. */
static stn_status gather_votes(team_ranks *ranks, team_message *messages, stn_error *error) {
    const int others = ranks->size - 1;
    for (int r = 1; r < ranks->size; r++)
        messages[r - 1] = (team_message){r, TAG_VOTE, false, &ranks->votes[r], sizeof *ranks->votes};
    STN_TRY(team_ranks_transfer(ranks, messages, others, error));
    decide(ranks);
    for (int r = 1; r < ranks->size; r++)
        messages[r - 1] = (team_message){r, TAG_DECISION, true, &ranks->decision, sizeof ranks->decision};
    return team_ranks_transfer(ranks, messages, others, error);
}

static stn_status vote_and_receive(team_ranks *ranks, stn_error *error) {
    const team_message sent = {0, TAG_VOTE, true, &ranks->votes[0], sizeof *ranks->votes};
    const team_message received = {0, TAG_DECISION, false, &ranks->decision, sizeof ranks->decision};
    STN_TRY(team_ranks_transfer(ranks, &sent, 1, error));
    return team_ranks_transfer(ranks, &received, 1, error);
}

stn_status team_ranks_agree(team_ranks *ranks, stn_status status, uint64_t hash, const char *words, void *shared,
                            size_t bytes, stn_error *error) {
    vote *const own = &ranks->votes[0];
    if (ranks->broken) return team_already_broken(ranks, error);
    memset(own, 0, sizeof *own);
    own->status = status, own->hash = hash;
    if (status != STN_OK) snprintf(own->message, sizeof own->message, "%s", error ? error->message : "");
    snprintf(own->words, sizeof own->words, "%s", words ? words : "");
    if (ranks->own == 0 && bytes) memcpy(ranks->decision.shared, shared, bytes);
    team_message *list = calloc((size_t)ranks->size, sizeof *list);
    if (!list) return team_ranks_fail(ranks, stn_fail_memory(error, "an agreement", sizeof *list), error);
    status = ranks->own ? vote_and_receive(ranks, error) : gather_votes(ranks, list, error);
    free(list);
    if (status != STN_OK) return status;
    ranks->failed_rank = ranks->decision.failed_rank;
    if (ranks->decision.status != STN_OK) {
        if (error) error->status = ranks->decision.status;
        if (error) memcpy(error->message, ranks->decision.message, sizeof error->message);
        return ranks->decision.status;
    }
    if (ranks->own && bytes) memcpy(shared, ranks->decision.shared, bytes);
    return STN_OK;
}
