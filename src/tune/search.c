/* See search.h. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_MOST = 16 };
#define TUNE_CALL 10e-6 /* seconds that a first run of a few microseconds may wait for its code */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const tune_arm *arm) {
    double sorted[TUNE_ARM_SAMPLES];
    memcpy(sorted, arm->samples, arm->count * sizeof *sorted);
    qsort(sorted, arm->count, sizeof *sorted, by_value);
    return (sorted[(arm->count - 1) / 2] + sorted[arm->count / 2]) / 2;
}

static double measured(const tune_arm *arm) { return arm->count ? median(arm) : arm->known; }

double tune_search_expects(const tune_search *search, size_t index) {
    const tune_arm *arm = &search->arms[index], *current = &search->arms[search->current];
    if (measured(arm) > 0) return measured(arm);
    return measured(current) > 0 ? arm->predicted * measured(current) / current->predicted : arm->predicted;
}

static bool is_short(const tune_search *search) { return tune_search_expects(search, search->current) < TUNE_SHORT; }

/* Of a sample. What ESTIMATE would run is not waited for so long: it is what others begin in place of, by far slower. */
static unsigned units_of(const tune_search *search, size_t challenger) {
    if (!is_short(search) || challenger == search->estimated) return 1;
    return (unsigned)ceil(fmin(TUNE_SPAN / tune_search_expects(search, search->current), UNITS_MOST));
}

/* ---- the next move ----------------------------------------------------------------------------------------------- */

static bool sampled(const tune_arm *arm) { return arm->count == TUNE_ARM_SAMPLES; }

/* An arm that still has to show what it can. */
static bool on_trial(const tune_search *search, size_t index) {
    const tune_arm *arm = &search->arms[index];
    return index != search->current && (arm->state == TUNE_ARM_READY || arm->state == TUNE_ARM_CHECKED);
}

/* The one that was begun, else the estimate's choice, else the one expected to be fastest. */
static size_t challenger(const tune_search *search) {
    size_t best = TUNE_ARMS;
    for (size_t i = 0; i < search->count; i++) {
        if (!on_trial(search, i)) continue;
        if (search->arms[i].state == TUNE_ARM_CHECKED) return i;
        if (best == TUNE_ARMS || i == search->estimated ||
            (best != search->estimated && tune_search_expects(search, i) < tune_search_expects(search, best)))
            best = i;
    }
    return best;
}

/* Seconds that a move may lose at worst. Nobody has seen what was not timed yet. */
static double risk(const tune_search *search, size_t arm) {
    const double expected = tune_search_expects(search, arm);
    const double reference = tune_search_expects(search, search->estimated);
    if (search->arms[arm].state == TUNE_ARM_READY)
        return TUNE_SURPRISE * expected + search->compare +
               fmax(tune_search_expects(search, search->current) - reference, 0);
    return units_of(search, arm) * fmax(expected - reference, 0);
}

static bool affordable(const tune_search *search, size_t arm) {
    if (arm == search->estimated) return true; /* it would have run anyway */
    const double units = fmax(search->units + 1, search->known);
    const double part = is_short(search) ? TUNE_REGRET_SHORT : TUNE_REGRET;
    return search->lost + risk(search, arm) <= part * units * tune_search_expects(search, search->estimated);
}

tune_move tune_search_next(tune_search *search) {
    tune_move move = {.arm = search->current, .units = 1};
    if (search->frozen) return move;
    const size_t arm = challenger(search);
    if (arm == TUNE_ARMS || !affordable(search, arm)) return move;
    move.timed = !sampled(&search->arms[search->current]) && (search->turn || !search->arms[search->current].count);
    if (move.timed) move.units = units_of(search, arm);
    if (move.timed) return move;
    move.arm = arm;
    move.timed = true;
    move.check = search->arms[arm].state == TUNE_ARM_READY;
    move.units = move.check ? 1 : units_of(search, arm);
    return move;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

static bool is_behind(const tune_arm *arm, double seconds) {
    return arm->count >= 2 && fmin(arm->samples[0], arm->samples[1]) > seconds;
}

static void decide(tune_search *search, size_t index) {
    tune_arm *arm = &search->arms[index], *current = &search->arms[search->current];
    if (index == search->current || !arm->count || !current->count) return;
    const double known = median(current), tick = TUNE_TICK / units_of(search, index);
    const double behind = fmax(TUNE_ARM_BEHIND * known, known + tick);
    if (median(arm) > TUNE_ARM_SLOW * known || is_behind(arm, behind)) arm->state = TUNE_ARM_OUT;
    if (!sampled(arm) || !sampled(current) || arm->state != TUNE_ARM_CHECKED) return;
    if (median(arm) < fmin(TUNE_ARM_GAIN * known, known - tick)) {
        current->state = TUNE_ARM_OUT;
        search->current = index;
    } else
        arm->state = TUNE_ARM_OUT;
}

/* Against the estimate's choice; a unit that was not timed takes what its arm is known to. */
static void count_loss(tune_search *search, const tune_move *move, double seconds) {
    search->units += move->units;
    if (search->arms[search->estimated].state == TUNE_ARM_WAITING) return; /* ESTIMATE would wait for it too */
    const double reference = tune_search_expects(search, search->estimated);
    double took = seconds > 0 ? seconds : tune_search_expects(search, move->arm);
    if (move->check) took += search->compare + tune_search_expects(search, search->current);
    search->lost += move->units * (took - reference);
}

/* The first run of an arm, beside the one that runs: it may have waited for its code, so it tells only what is far too slow. From now on the two take
 * turns, and what the other took in other minutes, at other clocks, is forgotten. */
static void take_check(tune_search *search, size_t index, double seconds, bool right) {
    tune_arm *arm = &search->arms[index], *current = &search->arms[search->current];
    const double known = measured(current);
    const bool slow = known > 0 && seconds > TUNE_ARM_SLOW * known + (is_short(search) ? TUNE_CALL : 0);
    arm->state = right && seconds > 0 && !slow ? TUNE_ARM_CHECKED : TUNE_ARM_OUT;
    arm->known = seconds;
    if (arm->state != TUNE_ARM_CHECKED) return;
    current->known = known;
    current->count = 0;
}

void tune_search_told(tune_search *search, const tune_move *move, double seconds, bool right) {
    tune_arm *arm = &search->arms[move->arm];
    if (move->timed && !move->check && seconds > 0 && !sampled(arm)) arm->samples[arm->count++] = seconds;
    count_loss(search, move, seconds);
    search->turn = move->arm != search->current;
    if (move->check) take_check(search, move->arm, seconds, right);
    decide(search, move->arm);
    if (move->arm == search->current)
        for (size_t i = 0; i < search->count; i++) decide(search, i);
}

bool tune_search_over(const tune_search *search) {
    if (search->frozen) return true;
    for (size_t i = 0; i < search->count; i++)
        if (on_trial(search, i) || search->arms[i].state == TUNE_ARM_WAITING) return false;
    return true;
}
