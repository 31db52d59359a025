/* Chooses the candidate for the next unit: a bandit search by expected gain over trial cost, with a
 * bound on the regret. See online_search.h. */
#include "tune/online_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_MOST = 16 };
#define LOAD_SECONDS 10e-6 /* Allowance, in seconds, for loading code at a candidate's first run. */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tune_median(const double *samples, size_t count) {
    double sorted[TUNE_SAMPLES];
    if (!count) return INFINITY;
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double tune_least(const double *samples, size_t count) {
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) least = fmin(least, samples[i]);
    return least;
}

static double median(const tune_candidate *candidate) { return tune_median(candidate->samples, candidate->count); }
static double shortest(const tune_candidate *candidate) { return tune_least(candidate->samples, candidate->count); }

static double measured(const tune_candidate *candidate) {
    return candidate->count ? median(candidate) : candidate->known;
}

/* The bias of a strategy's estimates: the geometric mean of measured over predicted time of its
 * timed candidates, with a prior of TUNE_BIAS_WEIGHT candidates without bias. The estimates of
 * other strategies may be off to the other side, so they say nothing. */
static double bias(const tune_search *search, const void *strategy) {
    double sum = 0;
    size_t timed = 0;
    for (size_t i = 0; i < search->count; i++) {
        const tune_candidate *candidate = &search->candidates[i];
        if (candidate->strategy == strategy && measured(candidate) > 0)
            sum += log(measured(candidate) / candidate->predicted), timed++;
    }
    return exp(sum / (TUNE_BIAS_WEIGHT + (double)timed));
}

double tune_search_expects(const tune_search *search, size_t index) {
    const tune_candidate *candidate = &search->candidates[index];
    return measured(candidate) > 0 ? measured(candidate) : candidate->predicted * bias(search, candidate->strategy);
}

static bool is_short(const tune_search *search) { return tune_search_expects(search, search->current) < TUNE_SHORT; }

/* Units in one sample. */
static unsigned units_of(const tune_search *search) {
    return (unsigned)ceil(fmin(TUNE_SPAN / tune_search_expects(search, search->current), UNITS_MOST));
}

/* ---- the next move --------------------------------------------------------------------------- */

static bool sampled(const tune_candidate *candidate) { return candidate->count == TUNE_CANDIDATE_SAMPLES; }

/* True for a candidate whose trial has not ended. */
static bool on_trial(const tune_search *search, size_t index) {
    const tune_candidate *candidate = &search->candidates[index];
    return index != search->current &&
           (candidate->state == TUNE_CANDIDATE_READY || candidate->state == TUNE_CANDIDATE_CHECKED);
}

/* The most seconds that a move may lose; a candidate that was never timed may be a surprise. */
static double risk(const tune_search *search, size_t candidate) {
    const double expected = tune_search_expects(search, candidate);
    const double reference = tune_search_expects(search, 0);
    if (search->candidates[candidate].state == TUNE_CANDIDATE_READY)
        return TUNE_WORST_RATIO * expected + search->compare +
               fmax(tune_search_expects(search, search->current) - reference, 0);
    return units_of(search) * fmax(expected - reference, 0);
}

/* If the number of units is not known, expects as many again as are done. */
static double units_left(const tune_search *search) {
    return search->known > 0 ? fmax(search->known - search->units, 0) : search->units;
}

/* Expected gain of a trial in the remaining units, in seconds. The true time has a Laplace
 * distribution around the expected one, of relative scale TUNE_SPREAD; this is the mean of the part
 * below the current candidate's time. */
static double expected_gain(const tune_search *search, size_t candidate) {
    const double now = tune_search_expects(search, search->current), expected = tune_search_expects(search, candidate);
    const double spread = TUNE_SPREAD * expected;
    return units_left(search) * (fmax(now - expected, 0) + spread / 2 * exp(-fabs(now - expected) / spread));
}

/* Cost of a trial in seconds: its check, and what its samples lose if it is slower. */
static double trial_cost(const tune_search *search, size_t candidate) {
    const double now = tune_search_expects(search, search->current), expected = tune_search_expects(search, candidate);
    return search->compare + expected + TUNE_SAMPLES_LEAST * units_of(search) * fmax(expected - now, 0);
}

static double gain_per_cost(const tune_search *search, size_t candidate) {
    return expected_gain(search, candidate) / trial_cost(search, candidate);
}

/* The candidate whose trial has begun, else the one with the largest expected gain per trial
 * cost. */
static size_t challenger(const tune_search *search) {
    size_t best = TUNE_CANDIDATES;
    for (size_t i = 0; i < search->count; i++) {
        if (!on_trial(search, i)) continue;
        if (search->candidates[i].state == TUNE_CANDIDATE_CHECKED) return i;
        if (best == TUNE_CANDIDATES || gain_per_cost(search, i) > gain_per_cost(search, best)) best = i;
    }
    return best;
}

/* A trial that costs less than TUNE_NEGLIGIBLE of the remaining time is always worth it. */
static bool is_worth(const tune_search *search, size_t candidate) {
    const double least = TUNE_NEGLIGIBLE * units_left(search) * tune_search_expects(search, search->current);
    return search->candidates[candidate].state == TUNE_CANDIDATE_CHECKED ||
           fmax(expected_gain(search, candidate), least) >= trial_cost(search, candidate);
}

/* Does the trial stay within TUNE_TRIALS of the run's time? A trial that has begun is always
 * finished. */
static bool is_within_budget(const tune_search *search, size_t candidate) {
    if (!(search->known > 0) || search->candidates[candidate].state == TUNE_CANDIDATE_CHECKED) return true;
    const double most = TUNE_TRIALS * search->known * tune_search_expects(search, search->current);
    return search->spent + trial_cost(search, candidate) <= most;
}

bool tune_search_wants(const tune_search *search, size_t candidate) {
    return is_worth(search, candidate) && is_within_budget(search, candidate);
}

static bool affordable(const tune_search *search, size_t candidate) {
    if (!tune_search_wants(search, candidate)) return false;
    const double units = fmax(search->units + 1, search->known);
    const double part = is_short(search) ? TUNE_REGRET_SHORT : TUNE_REGRET;
    return search->lost + risk(search, candidate) <= part * units * tune_search_expects(search, 0);
}

/* Does the next sample belong to the current candidate? The two alternate, current first; a check
 * needs one sample of the current candidate. */
static bool is_turn_of_current(const tune_search *search, size_t challenger) {
    const tune_candidate *candidate = &search->candidates[challenger], *current = &search->candidates[search->current];
    return candidate->state == TUNE_CANDIDATE_READY ? !current->count : current->count <= candidate->count;
}

tune_move tune_search_next(tune_search *search) {
    tune_move move = {.candidate = search->current, .units = 1};
    if (search->frozen) return move;
    const size_t candidate = challenger(search);
    if (candidate == TUNE_CANDIDATES || !affordable(search, candidate)) return move;
    move.timed = true;
    if (!is_turn_of_current(search, candidate)) {
        move.candidate = candidate;
        move.check = search->candidates[candidate].state == TUNE_CANDIDATE_READY;
    }
    if (!move.check) move.units = units_of(search);
    return move;
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Compares medians and minima, since disturbances only lengthen a sample. A small difference may be
 * chance until there are enough samples. */
static bool is_faster(const tune_candidate *candidate, const tune_candidate *than, double tick) {
    const double known = median(than), least = shortest(than);
    const double part = candidate->count < TUNE_SAMPLES_SURE ? 1 / TUNE_BEHIND_RATIO : TUNE_FASTER_RATIO;
    return median(candidate) < fmin(part * known, known - tick) &&
           shortest(candidate) < fmin(part * least, least - tick);
}

/* If median and minimum disagree, more samples are taken. */
static bool is_slower(const tune_candidate *candidate, const tune_candidate *than) {
    return median(candidate) >= median(than) && shortest(candidate) >= shortest(than);
}

static bool is_behind(const tune_candidate *candidate, double seconds) {
    return candidate->count >= 2 && fmin(candidate->samples[0], candidate->samples[1]) > seconds;
}

static void decide(tune_search *search, size_t index) {
    tune_candidate *candidate = &search->candidates[index], *current = &search->candidates[search->current];
    if (index == search->current || !candidate->count || !current->count) return;
    const double known = median(current), tick = TUNE_TICK / units_of(search);
    const double behind = fmax(TUNE_BEHIND_RATIO * known, known + tick);
    if (median(candidate) > TUNE_SLOW_RATIO * known || is_behind(candidate, behind))
        candidate->state = TUNE_CANDIDATE_OUT;
    if (candidate->count != current->count || candidate->count < TUNE_SAMPLES_LEAST ||
        candidate->state != TUNE_CANDIDATE_CHECKED)
        return;
    if (is_faster(candidate, current, tick)) {
        current->state = TUNE_CANDIDATE_OUT;
        search->current = index;
    } else if (sampled(candidate) || is_slower(candidate, current))
        candidate->state = TUNE_CANDIDATE_OUT;
}

/* Counts the loss against the estimate's choice; a unit that was not timed counts with its expected
 * time. */
static void count_loss(tune_search *search, const tune_move *move, double seconds) {
    search->units += move->units;
    const double reference = tune_search_expects(search, 0);
    double took = seconds > 0 ? seconds : tune_search_expects(search, move->candidate);
    const double now = tune_search_expects(search, search->current);
    if (move->check) took = move->whole > 0 ? move->whole : took + search->compare + now;
    search->lost += move->units * (took - reference);
    search->spent += move->units * fmax(took - now, 0);
}

/* A candidate's first run, next to the current one. It may include loading its code, so it only
 * excludes candidates that are far too slow. From here on the two alternate, and older samples of
 * the current one, at other clock rates, are discarded. */
static void take_check(tune_search *search, size_t index, double seconds, bool right) {
    tune_candidate *candidate = &search->candidates[index], *current = &search->candidates[search->current];
    const double known = measured(current);
    const bool slow = known > 0 && seconds > TUNE_SLOW_RATIO * known + LOAD_SECONDS;
    candidate->state = right && seconds > 0 && !slow ? TUNE_CANDIDATE_CHECKED : TUNE_CANDIDATE_OUT;
    candidate->known = seconds;
    if (candidate->state != TUNE_CANDIDATE_CHECKED) return;
    current->known = known;
    current->count = 0;
}

void tune_search_update(tune_search *search, const tune_move *move, double seconds, bool right) {
    tune_candidate *candidate = &search->candidates[move->candidate];
    if (move->timed && !move->check && seconds > 0 && !sampled(candidate))
        candidate->samples[candidate->count++] = seconds;
    count_loss(search, move, seconds);
    if (move->check) take_check(search, move->candidate, seconds, right);
    decide(search, move->candidate);
    if (move->candidate == search->current)
        for (size_t i = 0; i < search->count; i++) decide(search, i);
}

/* The remaining units only become fewer, so a candidate that is not worth its trial now never will
 * be. */
bool tune_search_over(const tune_search *search) {
    if (search->frozen) return true;
    for (size_t i = 0; i < search->count; i++) {
        const bool waits = search->candidates[i].state == TUNE_CANDIDATE_WAITING;
        if ((waits || on_trial(search, i)) && (!(search->known > 0) || tune_search_wants(search, i))) return false;
    }
    return true;
}
