/* Chooses the candidate for the next unit: a bandit search by expected gain over trial cost, with a
 * bound on the regret. See search.h. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_MOST = 16 };
#define TUNE_CALL 10e-6 /* Allowance, in seconds, for loading code at a candidate's first run. */

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

/* The bias of a strategy's estimates: the geometric mean of measured over predicted time of its
 * timed candidates, with a prior of TUNE_FARES_TRUST candidates without bias. The estimates of
 * other strategies may be off to the other side, so they say nothing. */
static double fares(const tune_search *search, const void *strategy) {
    double sum = 0;
    size_t timed = 0;
    for (size_t i = 0; i < search->count; i++) {
        const tune_arm *arm = &search->arms[i];
        if (arm->strategy == strategy && measured(arm) > 0) sum += log(measured(arm) / arm->predicted), timed++;
    }
    return exp(sum / (TUNE_FARES_TRUST + (double)timed));
}

double tune_search_expects(const tune_search *search, size_t index) {
    const tune_arm *arm = &search->arms[index];
    return measured(arm) > 0 ? measured(arm) : arm->predicted * fares(search, arm->strategy);
}

/* Updates the mean relative error of estimates, with TUNE_SPREAD as the prior. */
static void learn(tune_search *search) {
    double off = 0;
    size_t timed = 0;
    for (size_t i = 0; i < search->count; i++) {
        const tune_arm *arm = &search->arms[i];
        if (!(measured(arm) > 0)) continue;
        off += fabs(log(measured(arm) / (arm->predicted * fares(search, arm->strategy))));
        timed++;
    }
    if (timed) search->spread = (TUNE_SPREAD_TRUST * TUNE_SPREAD + off) / (TUNE_SPREAD_TRUST + (double)timed);
}

static bool is_short(const tune_search *search) { return tune_search_expects(search, search->current) < TUNE_SHORT; }

/* Units in one sample. Candidates compared with the estimate's choice are taken one unit at a time,
 * since the current candidate is then by far the slower one. */
static unsigned units_of(const tune_search *search, size_t challenger) {
    if (challenger == search->estimated) return 1;
    return (unsigned)ceil(fmin(TUNE_SPAN / tune_search_expects(search, search->current), UNITS_MOST));
}

/* ---- the next move --------------------------------------------------------------------------- */

static bool sampled(const tune_arm *arm) { return arm->count == TUNE_ARM_SAMPLES; }

/* True for a candidate whose trial has not ended. */
static bool on_trial(const tune_search *search, size_t index) {
    const tune_arm *arm = &search->arms[index];
    return index != search->current && (arm->state == TUNE_ARM_READY || arm->state == TUNE_ARM_CHECKED);
}

/* The most seconds that a move may lose; a candidate that was never timed may be a surprise. */
static double risk(const tune_search *search, size_t arm) {
    const double expected = tune_search_expects(search, arm);
    const double reference = tune_search_expects(search, search->estimated);
    if (search->arms[arm].state == TUNE_ARM_READY)
        return TUNE_SURPRISE * expected + search->compare +
               fmax(tune_search_expects(search, search->current) - reference, 0);
    return units_of(search, arm) * fmax(expected - reference, 0);
}

/* If the number of units is not known, expects as many again as are done. */
static double units_left(const tune_search *search) {
    return search->known > 0 ? fmax(search->known - search->units, 0) : search->units;
}

/* The spread of a strategy's estimates: the prior if none of its candidates was timed. */
static double spread_of(const tune_search *search, const void *strategy) {
    for (size_t i = 0; i < search->count; i++)
        if (search->arms[i].strategy == strategy && measured(&search->arms[i]) > 0) return search->spread;
    return TUNE_SPREAD;
}

/* Expected gain of a trial in the remaining units, in seconds. The true time has a Laplace
 * distribution around the expected one with scale `spread`; this is the mean of the part below the
 * current candidate's time. */
static double promise(const tune_search *search, size_t arm) {
    const double now = tune_search_expects(search, search->current), expected = tune_search_expects(search, arm);
    const double spread = spread_of(search, search->arms[arm].strategy) * expected;
    return units_left(search) * (fmax(now - expected, 0) + spread / 2 * exp(-fabs(now - expected) / spread));
}

/* Cost of a trial in seconds: its check, and what its samples lose if it is slower. */
static double price(const tune_search *search, size_t arm) {
    const double now = tune_search_expects(search, search->current), expected = tune_search_expects(search, arm);
    return search->compare + expected + TUNE_ARM_LEAST * units_of(search, arm) * fmax(expected - now, 0);
}

static double gain(const tune_search *search, size_t arm) { return promise(search, arm) / price(search, arm); }

/* The candidate whose trial has begun, else the estimate's choice, else the one with the largest
 * expected gain per trial cost. */
static size_t challenger(const tune_search *search) {
    size_t best = TUNE_ARMS;
    for (size_t i = 0; i < search->count; i++) {
        if (!on_trial(search, i)) continue;
        if (search->arms[i].state == TUNE_ARM_CHECKED) return i;
        if (best == TUNE_ARMS || i == search->estimated ||
            (best != search->estimated && gain(search, i) > gain(search, best)))
            best = i;
    }
    return best;
}

/* A trial that costs less than TUNE_TRIFLE of the remaining time is always worth it. */
static bool is_worth(const tune_search *search, size_t arm) {
    const double least = TUNE_TRIFLE * units_left(search) * tune_search_expects(search, search->current);
    return search->arms[arm].state == TUNE_ARM_CHECKED || fmax(promise(search, arm), least) >= price(search, arm);
}

/* Does the trial stay within TUNE_TRIALS of the run's time? A trial that has begun is always
 * finished. */
static bool is_spared(const tune_search *search, size_t arm) {
    if (!(search->known > 0) || search->arms[arm].state == TUNE_ARM_CHECKED) return true;
    const double most = TUNE_TRIALS * search->known * tune_search_expects(search, search->current);
    return search->spent + price(search, arm) <= most;
}

bool tune_search_wants(const tune_search *search, size_t arm) {
    return arm == search->estimated || (is_worth(search, arm) && is_spared(search, arm));
}

static bool affordable(const tune_search *search, size_t arm) {
    if (arm == search->estimated) return true; /* A plan by estimate would have run it anyway. */
    if (!tune_search_wants(search, arm)) return false;
    const double units = fmax(search->units + 1, search->known);
    const double part = is_short(search) ? TUNE_REGRET_SHORT : TUNE_REGRET;
    return search->lost + risk(search, arm) <= part * units * tune_search_expects(search, search->estimated);
}

/* Does the next sample belong to the current candidate? The two alternate, current first; a check
 * needs one sample of the current candidate. */
static bool is_turn(const tune_search *search, size_t challenger) {
    const tune_arm *arm = &search->arms[challenger], *current = &search->arms[search->current];
    return arm->state == TUNE_ARM_READY ? !current->count : current->count <= arm->count;
}

tune_move tune_search_next(tune_search *search) {
    tune_move move = {.arm = search->current, .units = 1};
    if (search->frozen) return move;
    const size_t arm = challenger(search);
    if (arm == TUNE_ARMS || !affordable(search, arm)) return move;
    move.timed = is_turn(search, arm);
    if (move.timed) move.units = units_of(search, arm);
    if (move.timed) return move;
    move.arm = arm;
    move.timed = true;
    move.check = search->arms[arm].state == TUNE_ARM_READY;
    move.units = move.check ? 1 : units_of(search, arm);
    return move;
}

/* ---- updates --------------------------------------------------------------------------------- */

static double shortest(const tune_arm *arm) {
    double least = INFINITY;
    for (size_t i = 0; i < arm->count; i++) least = fmin(least, arm->samples[i]);
    return least;
}

/* Compares medians and minima, since disturbances only lengthen a sample. A small difference may be
 * chance until there are enough samples. */
static bool is_faster(const tune_arm *arm, const tune_arm *than, double tick) {
    const double known = median(than), least = shortest(than);
    const double part = arm->count < TUNE_ARM_SURE ? 1 / TUNE_ARM_BEHIND : TUNE_ARM_GAIN;
    return median(arm) < fmin(part * known, known - tick) && shortest(arm) < fmin(part * least, least - tick);
}

/* If median and minimum disagree, more samples are taken. */
static bool is_slower(const tune_arm *arm, const tune_arm *than) {
    return median(arm) >= median(than) && shortest(arm) >= shortest(than);
}

static bool is_behind(const tune_arm *arm, double seconds) {
    return arm->count >= 2 && fmin(arm->samples[0], arm->samples[1]) > seconds;
}

static void decide(tune_search *search, size_t index) {
    tune_arm *arm = &search->arms[index], *current = &search->arms[search->current];
    if (index == search->current || !arm->count || !current->count) return;
    const double known = median(current), tick = TUNE_TICK / units_of(search, index);
    const double behind = fmax(TUNE_ARM_BEHIND * known, known + tick);
    if (median(arm) > TUNE_ARM_SLOW * known || is_behind(arm, behind)) arm->state = TUNE_ARM_OUT;
    if (arm->count != current->count || arm->count < TUNE_ARM_LEAST || arm->state != TUNE_ARM_CHECKED) return;
    if (is_faster(arm, current, tick)) {
        current->state = TUNE_ARM_OUT;
        search->current = index;
    } else if (sampled(arm) || is_slower(arm, current))
        arm->state = TUNE_ARM_OUT;
}

/* Counts the loss against the estimate's choice; a unit that was not timed counts with its expected
 * time. */
static void count_loss(tune_search *search, const tune_move *move, double seconds) {
    search->units += move->units;
    /* A plan by estimate would wait for it too. */
    if (search->arms[search->estimated].state == TUNE_ARM_WAITING) return;
    const double reference = tune_search_expects(search, search->estimated);
    double took = seconds > 0 ? seconds : tune_search_expects(search, move->arm);
    const double now = tune_search_expects(search, search->current);
    if (move->check) took = move->whole > 0 ? move->whole : took + search->compare + now;
    search->lost += move->units * (took - reference);
    search->spent += move->units * fmax(took - now, 0);
}

/* Updates the overhead of checks: waits for code or for sums. */
static void learn_compare(tune_search *search, const tune_move *move, double seconds) {
    const double rest = move->whole - seconds - tune_search_expects(search, search->current);
    if (move->check && move->whole > 0) search->compare = fmax((search->compare + rest) / 2, 0);
}

/* A candidate's first run, next to the current one. It may include loading its code, so it only
 * excludes candidates that are far too slow. From here on the two alternate, and older samples of
 * the current one, at other clock rates, are discarded. */
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
    learn_compare(search, move, seconds);
    if (move->check) take_check(search, move->arm, seconds, right);
    if (move->timed) learn(search);
    decide(search, move->arm);
    if (move->arm == search->current)
        for (size_t i = 0; i < search->count; i++) decide(search, i);
}

/* The remaining units only become fewer, so a candidate that is not worth its trial now never will
 * be. */
bool tune_search_over(const tune_search *search) {
    if (search->frozen) return true;
    for (size_t i = 0; i < search->count; i++) {
        const bool waits = search->arms[i].state == TUNE_ARM_WAITING;
        if ((waits || on_trial(search, i)) && (!(search->known > 0) || tune_search_wants(search, i))) return false;
    }
    return true;
}
