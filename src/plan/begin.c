/* Time to first result: compiling the chosen candidate may take longer than running another one that compiles soon, or is stored, or the
 * same one with kernels that are compiled in a hurry. Then the plan begins with that, the chosen one compiles on a thread of its own, and
 * takes over between two executions, or between two legs of one (tune/online.h). For legs, both are compiled at once.
 *
 *     other  |compile|execute ..........|execute ....|
 *     chosen         |compile .................|      execute|execute|execute
 */
#include <math.h>
#include <stdio.h>

#include "plan/plan.h"

/* Seconds until the first result that are worth a change of kernels later, and one among legs, where nothing is lost but some waits. */
#define GAIN 0.05
#define GAIN_AMONG_LEGS 0.01
/* By which what takes over comes later than if it was compiled alone: 0.04 for NVRTC's lock (bench/results/2026-11-23-regret-3.md), and half a leg. */
#define LATER_SECONDS 0.05
enum { BEGINNERS = 3, OTHERS = 8 }; /* of the ranking: one of them may be stored */

bool stn_plan_beginner(const stn_plan *plan, int number, stn_ranked *row) {
    const stn_strategy *strategy;
    for (size_t i = 0; (strategy = plan->kind->strategy(i)); i++) {
        *row = (stn_ranked){.strategy = strategy};
        if (plan->only && strategy != plan->only) continue;
        if (!strategy->begin || !plan->kind->applies(plan, strategy, row->reason, sizeof row->reason)) continue;
        if (!strategy->begin(&plan->task, &plan->machine, number, &row->candidate)) continue;
        plan->kind->estimate(plan, strategy, &row->candidate, &row->estimate);
        row->applies = !plan->kind->bar || row->estimate.error <= plan->kind->bar(plan, &row->estimate);
        if (row->applies) return true;
    }
    return false;
}

/* From when `other`, which compiles for so long, runs until the chosen one can, both compiled at once: NVRTC's front end serves one of them after the other.
 * Its waits for legs to end are in it, too. */
static double runs_alone(double compile, double chosen_compile) {
    return fmax(chosen_compile + LATER_SECONDS - compile, 0);
}

/* Legs of steps that the chosen one takes too are as many results: it takes over among them. */
static bool takes_over(double compile, double runs, const stn_ranked *chosen, double chosen_compile) {
    return chosen->estimate.stepping && runs > runs_alone(compile, chosen_compile);
}

/* Until the first result, where `other` begins. */
static double until_first(double compile, double runs, const stn_ranked *chosen, double chosen_compile) {
    if (!takes_over(compile, runs, chosen, chosen_compile)) return compile + runs;
    const double alone = runs_alone(compile, chosen_compile);
    return compile + alone + chosen->estimate.seconds * (1 - alone / runs);
}

double stn_plan_first_of_legs(const stn_ranked *other, double compiles, const stn_ranked *follower) {
    const double runs = other->estimate.seconds;
    if (!takes_over(compiles, runs, follower, follower->compiles)) return INFINITY;
    return until_first(compiles, runs, follower, follower->compiles) + GAIN_AMONG_LEGS;
}

typedef struct beginning {
    stn_ranked row;
    double seconds; /* until the first result, and what a change shall gain */
    bool at_once;   /* the chosen one takes over before, so both are compiled at once */
} beginning;

static void try_row(stn_plan *plan, const stn_ranked *row, const stn_ranked *chosen, double chosen_compile,
                    beginning *best) {
    const double runs = row->estimate.seconds + row->strategy->starts;
    if (until_first(0, runs, chosen, chosen_compile) >= best->seconds) return; /* however soon it is compiled */
    if (row->compiles >= chosen_compile) return; /* no sooner than the chosen one: no use */
    const bool known = row->compiles > 0 && !row->more;
    const double compile = known ? row->compiles : stn_plan_compile_seconds(plan, row, chosen_compile);
    const bool at_once = takes_over(compile, runs, chosen, chosen_compile);
    const double seconds = until_first(compile, runs, chosen, chosen_compile) + (at_once ? GAIN_AMONG_LEGS : GAIN);
    if (seconds < best->seconds) *best = (beginning){*row, seconds, at_once};
}

/* Others that compile sooner; best->row.strategy stays NULL where none has its first result before best->seconds. */
static void try_others(stn_plan *plan, size_t chosen, double seconds, beginning *best) {
    const stn_ranked follower = plan->ranking[chosen];
    stn_ranked any;
    size_t tried = 0;
    for (int number = 0; number < BEGINNERS; number++)
        if (stn_plan_beginner(plan, number, &any)) try_row(plan, &any, &follower, seconds, best);
    for (size_t i = chosen + 1; i < plan->ranked && plan->ranking[i].applies && tried < OTHERS; i++)
        if (plan->ranking[i].estimate.stepping && !stn_plan_crowded(plan, chosen + 1, i) && ++tried)
            try_row(plan, &plan->ranking[i], &follower, seconds, best);
}

/* The chosen row itself, with kernels compiled in a hurry. */
static stn_status begin_hurried(stn_plan *plan, const stn_ranked *row, stn_gather *gather) {
    stn_plan_take(plan, row);
    plan->hurried = stn_gather_hurry(gather);
    return stn_plan_prepare_gathered(plan, gather, NULL);
}

bool stn_plan_begin(stn_plan *plan, size_t chosen, stn_gather *gather) {
    const double seconds = stn_gather_seconds(gather, false), hurry = stn_gather_seconds(gather, true);
    if (seconds < 2 * GAIN) return false; /* hardly anything compiles sooner */
    const stn_ranked follower = plan->ranking[chosen];
    stn_ranked hurried = follower;
    hurried.estimate.seconds *= STN_HURRIED_SLOWER;
    const double own = GAIN + until_first(hurry, hurried.estimate.seconds, &follower, hurry + seconds); /* after it */
    beginning best = {.seconds = fmin(own, seconds + follower.estimate.seconds)};
    try_others(plan, chosen, seconds, &best);
    const bool hurries = !best.row.strategy && best.seconds == own;
    const stn_missing missing = stn_gather_first(gather); /* before it is a thread's */
    stn_status status = STN_ERROR_UNSUPPORTED;
    stn_ahead *ahead = NULL;
    if (hurries)
        status = begin_hurried(plan, &hurried, gather);
    else if (best.row.strategy) {
        ahead = best.at_once ? stn_gather_compile_ahead(gather, 0) : NULL;
        status = stn_plan_prepare_row(plan, &best.row, NULL);
    }
    if (status == STN_OK) {
        plan->ahead = ahead;
        plan->begins = true;
        plan->follower = chosen;
        plan->missing = missing;
        plan->chosen = STN_CHOSEN_BY_START;
        return true;
    }
    if (hurries || best.row.strategy) stn_plan_unprepare(plan);
    stn_ahead_stop(ahead);
    stn_plan_take(plan, &follower);
    return false;
}

/* Longer until all results: something else is sooner. */
#define EARLY_SECONDS 0.45
/* A choice that is made sooner needs none of this, and NVRTC's front end for itself. */
#define EARLY_WAIT 8e-3

void stn_plan_begin_early(stn_plan *plan) {
    stn_ranked row = {0};
    if (!plan->may_begin || !(plan->executions > 0) || plan->inner || !stn_gather_finds_none(plan->context)) return;
    stn_gather *gather = NULL;
    if (stn_plan_weigh_beginners(plan, &row) < EARLY_SECONDS && (gather = stn_gather_begin(plan->context))) {
        stn_plan_take(plan, &row);
        (void)plan->strategy->prepare(plan, NULL);
        if (stn_gather_end(gather)) plan->early = stn_gather_compile_ahead(gather, EARLY_WAIT);
        stn_plan_unprepare(plan);
        if (!plan->early) stn_gather_free(gather);
    }
    plan->strategy = NULL;
}

stn_status stn_plan_begin_not(stn_plan *plan, stn_error *error) {
    plan->begins = false;
    stn_plan_unprepare(plan);
    return stn_plan_prepare_row(plan, &plan->ranking[plan->follower], error);
}

/* Prepares a row that an earlier plan came to; false where a kernel of it is stored no more. */
static bool prepare_stored(stn_plan *plan, const stn_ranked *row, bool hurried) {
    stn_gather *gather = stn_gather_begin(plan->context);
    if (!gather) return false;
    if (hurried) stn_gather_stored_hurry(gather);
    stn_plan_take(plan, row);
    stn_status status = plan->strategy->prepare(plan, NULL);
    if (stn_gather_end(gather)) status = STN_ERROR_UNSUPPORTED;
    if (status != STN_OK) stn_plan_unprepare(plan);
    stn_gather_free(gather);
    if (status != STN_OK) plan->strategy = NULL;
    return status == STN_OK;
}

/* What it began to compile may be compiled by now: that needs no choice any more. */
bool stn_plan_again(stn_plan *plan, const stn_choice *choice) {
    const bool follows = choice->follower.strategy != NULL;
    const bool compiled = stn_missing_stored(plan->context, &choice->missing);
    const stn_ranked *better = follows ? &choice->follower : choice->best.strategy ? &choice->best : NULL;
    const bool done = compiled && better && prepare_stored(plan, better, false);
    if (!done && ((compiled && !follows) || !prepare_stored(plan, &choice->row, choice->hurried))) return false;
    plan->recalled = true;
    plan->begins = follows && !done;
    plan->ranking[0] = follows || done ? *better : choice->row;
    plan->ranked = 1;
    plan->hurried = choice->hurried && !done;
    plan->chosen = done && !follows ? STN_CHOSEN_BY_ESTIMATE : choice->chosen;
    plan->missing = choice->missing;
    return true;
}
