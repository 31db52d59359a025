/* Chooses the length of the periodic domain along each axis and builds the transform tables. */
#include "strategies/host_spectral/host_spectral_shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"

enum { PADDING = 136 }; /* Doubles of padding, so that planes do not map to the same cache sets. */
#define BATCH_POINTS (1 << 20)
/* Points of a grid below which finding the retained frequencies takes longer than leaving out the
 * others saves. */
#define SMALL_GRID 100000
#define LONG_LINE 40000 /* Points. */
#define LONGEST ((int64_t)1 << 36)
#define EACH_LENGTH 4096 /* Number of lengths that are tried one by one. */

/* ---- lengths --------------------------------------------------------------------------------- */

/* Operations of a transform of n points, by measured costs of each radix per point. A large prime
 * factor is done by a convolution of twice the length, and a long line does not fit the caches. */
double host_spectral_fft_line_cost(int64_t n) {
    static const struct {
        int64_t prime;
        double cost;
    } stages[] = {{2, 2.5}, {3, 4.5}, {5, 6.5}, {7, 20}};
    double cost = 6; /* Load and store. */
    int64_t rest = n;
    for (size_t i = 0; i < 4; i++)
        for (; rest % stages[i].prime == 0; rest /= stages[i].prime) cost += stages[i].cost;
    for (int64_t p = 11; p <= STN_FFT_LARGEST_RADIX; p += 2)
        for (; rest % p == 0; rest /= p) cost += 2.2 * (double)p;
    if (rest > 1) cost = 6 * (8 + 2.5 * log2(2 * (double)n));
    return cost * (double)n * (n > LONG_LINE ? 2.2 : 1);
}

static bool is_smooth(int64_t n) {
    for (int64_t p = 2; p <= 7; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

static double axis_cost(int axis, int64_t length) {
    return axis == 2 && length % 2 == 0 ? host_spectral_fft_line_cost(length / 2) + 6 * (double)length
                                        : host_spectral_fft_line_cost(length);
}

/* Reach of the taps over all steps. With snapshots or a source, which is added at each step, the
 * reach of every shorter run is included. */
static stn_reach reach_of(const stn_task *task, int axis) {
    const uint64_t each = task->source ? 1 : task->steps;
    return stn_reach_of_all(task, axis, each, task->steps * task->snapshots / each, stn_reach_tail(task->dtype));
}

/* Whether a line that holds the grid and the reach of all steps can be cheaper than a full period.
 * Computing the reach takes longest if it is large, so it is bounded first: it is usually 8
 * standard deviations to each side, and this test uses 5. */
static bool may_be_shorter(const stn_task *task, int axis, const stn_extension *e) {
    double sum = 0, first = 0, second = 0;
    for (size_t i = 0; i < task->ntaps; i++) {
        const double weight = fabs(task->taps[i].weight), at = (double)task->taps[i].offset[axis];
        sum += weight, first += weight * at, second += weight * at * at;
    }
    if (sum == 0) return true;
    const double deviation =
        sqrt(fmax(second / sum - first / sum * (first / sum), 0) * (double)task->steps * (double)task->snapshots);
    return (double)e->n + 10 * deviation < (e->repeats ? 4.0 : 1.0) * (double)stn_extension_period(e);
}

static void try_length(int axis, int64_t length, double *least_cost, int64_t before, domain_axis *chosen) {
    const double cost = axis_cost(axis, length);
    if (!(cost < *least_cost)) return;
    *least_cost = cost;
    *chosen = (domain_axis){length, before};
}

/* Lengths with factors 2, 3, 5 and 7 only: for long lines there are too many others. */
static void try_smooth(int axis, int64_t from, int64_t to, double *cost, int64_t before, domain_axis *chosen) {
    for (int64_t seven = 1; seven <= to; seven *= 7)
        for (int64_t five = seven; five <= to; five *= 5)
            for (int64_t three = five; three <= to; three *= 3)
                for (int64_t n = three; n <= to; n *= 2)
                    if (n >= from) try_length(axis, n, cost, before, chosen);
}

/* Takes the cheaper of a full period of the extension and the grid plus the reach of all steps. */
static bool choose_axis(const stn_task *task, int axis, domain_axis *chosen, char *reason, size_t size) {
    stn_extension e;
    const stn_task run = stn_task_whole_run(task);
    if (!stn_extension_sides(&run, axis, &e, reason, size)) return false;
    const int64_t period = stn_extension_period(&e);
    double cost = axis_cost(axis, period);
    *chosen = (domain_axis){period, 0};
    if (stn_task_reach(task, axis) == 0 || (e.repeats && period % 2 == 0 && is_smooth(period)) ||
        !may_be_shorter(task, axis, &e))
        return true;
    const stn_reach reach = reach_of(task, axis);
    int64_t least;
    if (stn_add_overflows(e.n, reach.side[0], &least) || stn_add_overflows(least, reach.side[1], &least)) return true;
    if (least > LONGEST || period > LONGEST) return true;
    const int64_t most = stn_min(period * 4 - 1, least + least / 8 + 16);
    for (int64_t length = least; length <= most && length < least + EACH_LENGTH; length++)
        try_length(axis, length, &cost, reach.side[0], chosen);
    try_smooth(axis, least, most, &cost, reach.side[0], chosen);
    return true;
}

bool host_spectral_task_has_source(const stn_task *task) {
    bool has = task->source;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            const stn_boundary *b = &task->boundary[axis][side];
            has = has ||
                  (stn_task_reach(task, axis) && (b->kind == STN_FIXED || (b->kind == STN_CONSTANT && b->value != 0)));
        }
    return has;
}

static int last_axis(const stn_task *task) { return task->rank == 3 ? 0 : task->rank == 2 ? 1 : 2; }

static void lengths_of(const periodic_domain *t, int64_t length[3]) {
    for (int axis = 0; axis < 3; axis++) length[axis] = t->axis[axis].length;
}

/* All frequencies are kept with a source, which acts at each of them, and in 1D, where one pass has
 * the whole line. */
static int64_t choose_kept(const stn_task *task, const periodic_domain *t, uint64_t steps) {
    int64_t length[3], all = t->axis[2].length / 2 + 1;
    lengths_of(t, length);
    if (host_spectral_task_has_source(task) || task->rank == 1 || stn_task_points(task) < SMALL_GRID) return all;
    const double decay_bound = stn_symbol_decay_threshold(stn_symbol_largest(task, length), steps, SHAPE_KEPT_BITS);
    return stn_max(1, stn_min(all, stn_symbol_retained(task, 2, length[2], decay_bound)));
}

bool host_spectral_domain_choose(const stn_task *task, periodic_domain *chosen, char *reason, size_t reason_size) {
    for (int axis = 0; axis < 3; axis++)
        if (!choose_axis(task, axis, &chosen->axis[axis], reason, reason_size)) return false;
    for (int axis = 0; axis < 3; axis++)
        if (chosen->axis[axis].length > LONGEST) {
            snprintf(reason, reason_size, "axis %d is too long", axis - (3 - task->rank));
            return false;
        }
    chosen->kept = choose_kept(task, chosen, task->steps);
    return true;
}

bool host_spectral_domain_serves(const stn_task *task, const periodic_domain *t) {
    char reason[160];
    const stn_task run = stn_task_whole_run(task);
    for (int axis = 0; axis < 3; axis++) {
        stn_extension e;
        const domain_axis *a = &t->axis[axis];
        if (!stn_extension_sides(&run, axis, &e, reason, sizeof reason)) return false;
        if (a->length == stn_extension_period(&e)) continue;
        const stn_reach reach = reach_of(task, axis);
        if (reach.side[0] > a->before || reach.side[1] > a->length - a->before - e.n) return false;
    }
    return t->kept == t->axis[2].length / 2 + 1 || choose_kept(task, t, task->steps) <= t->kept;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The number of lines transformed together, such that their planes fit a core's caches. */
static int lanes_for(int64_t capacity, int64_t lines) {
    if (lines < 3 || capacity > 40000) return 1;
    return capacity <= 1100 && lines >= 8 ? 8 : 4;
}

static stn_status make_image(shape *s, int axis, stn_error *error) {
    const stn_extension *e = &s->axis[axis];
    s->image[axis] = malloc((size_t)e->length * sizeof *s->image[axis]);
    s->sign[axis] = malloc((size_t)e->length * sizeof *s->sign[axis]);
    if (!s->image[axis] || !s->sign[axis]) return stn_fail_memory(error, "an axis's images", (size_t)e->length * 16);
    for (int64_t p = 0; p < e->length; p++) {
        int sign;
        s->image[axis][p] = stn_extension_image(e, p - e->before, &sign);
        s->sign[axis][p] = sign;
    }
    return STN_OK;
}

static int64_t transformed(const shape *s, int axis) {
    return axis == 2 && s->packed_pairs ? s->axis[2].length / 2 : s->axis[axis].length;
}

static stn_status make_line(const stn_task *task, shape *s, int axis, stn_error *error) {
    for (int other = axis + 1; other < 3; other++)
        if (s->line[other] && transformed(s, other) == transformed(s, axis)) s->line[axis] = s->line[other];
    if (!s->line[axis]) STN_TRY(stn_fft_line_create(transformed(s, axis), &s->line[axis], error));
    const int64_t capacity = stn_max(stn_fft_line_capacity(s->line[axis]), s->axis[axis].length / 2 + 2);
    s->lanes[axis] = lanes_for(capacity, axis == 2 ? s->batch_grids * task->n[0] * task->n[1] : s->domain.kept);
    s->capacity = stn_max(s->capacity, stn_max(capacity, task->n[axis]) * s->lanes[axis]);
    return make_image(s, axis, error);
}

/* Rows are an odd number of cache lines apart, and padded to whole groups of columns. */
static void lay_out(const stn_task *task, shape *s) {
    s->pitch = stn_round_up(s->domain.kept, STN_FFT_LANES);
    if (s->pitch / STN_FFT_LANES % 2 == 0) s->pitch += STN_FFT_LANES;
    s->rows = task->rank == 3 ? stn_max(task->n[1], s->axis[1].length) : task->n[1];
    s->plane = s->rows * s->pitch;
    s->grid = s->plane * task->n[0];
    s->batch_grids = stn_min(task->batch, stn_max(1, BATCH_POINTS / (task->n[0] * task->n[1] * task->n[2])));
}

stn_status host_spectral_shape_make(const stn_task *task, const periodic_domain *chosen, shape *s, stn_error *error) {
    char reason[160];
    const stn_task run = stn_task_whole_run(task);
    *s = (shape){.domain = *chosen, .last = last_axis(task), .source = host_spectral_task_has_source(task)};
    for (int axis = 0; axis < 3; axis++) {
        stn_extension_sides(&run, axis, &s->axis[axis], reason, sizeof reason);
        s->axis[axis].length = chosen->axis[axis].length, s->axis[axis].before = chosen->axis[axis].before;
        stn_task_updated_range(task, axis, &s->updated[axis][0], &s->updated[axis][1]);
    }
    s->packed_pairs = s->axis[2].length % 2 == 0;
    lay_out(task, s);
    for (int axis = 2; axis >= s->last; axis--) STN_TRY(make_line(task, s, axis, error));
    const int64_t half = s->axis[2].length / 2;
    if (s->packed_pairs && !(s->half_twiddles = stn_fft_twiddles(half / 2 + 1, s->axis[2].length)))
        return stn_fail_memory(error, "the tables of a transform", (size_t)half * 8);
    s->capacity = stn_max(s->capacity, s->pitch * s->lanes[2]);
    s->capacity = stn_round_up(s->capacity, 512) + PADDING;
    return host_spectral_shape_set_weights(task, s, error);
}

/* Later snapshots retain fewer frequencies. */
static void prune_snapshots(const stn_task *task, shape *s) {
    for (int i = 0; i < SHAPE_DOUBLINGS; i++) {
        s->kept[i] = i ? s->kept[i - 1] : s->domain.kept;
        if (i && task->snapshots >> i)
            s->kept[i] = stn_min(s->kept[i], choose_kept(task, &s->domain, task->steps << i));
    }
}

stn_status host_spectral_shape_set_weights(const stn_task *task, shape *s, stn_error *error) {
    int64_t length[3], lines = 1;
    lengths_of(&s->domain, length);
    s->symbol = stn_symbol_form(task, s->last, length, false);
    if (s->last < 2) lines = (s->last == 0 ? length[1] : 1) * s->pitch;
    s->transforms_polynomials = !s->symbol.plain && s->last < 2 && s->symbol.high + s->symbol.low > SHAPE_MANY_TERMS;
    const size_t numbers = (size_t)(lines * s->symbol.parts), angles = stn_symbol_angles(&s->symbol, NULL);
    int64_t *place = malloc((size_t)lines * 2 * sizeof *place);
    free(s->parts), free(s->angles);
    s->parts = malloc(numbers * sizeof *s->parts);
    s->angles = malloc(angles * sizeof *s->angles);
    const int64_t *places[2] = {place, place + lines};
    /* In the order of the axes other than the last one. */
    for (int64_t i = 0; place && i < lines; i++) {
        const int64_t x = stn_min(i % s->pitch, length[2] / 2), y = i / s->pitch;
        place[i] = s->last == 0 ? y : 0;
        place[lines + i] = s->last == 2 ? 0 : x;
    }
    const bool good = place && s->parts && s->angles && stn_symbol_parts(&s->symbol, task, lines, places, s->parts);
    free(place);
    if (!good) return stn_fail_memory(error, "a symbol", (numbers + angles) * sizeof(double));
    stn_symbol_angles(&s->symbol, s->angles);
    s->largest = stn_symbol_largest(task, length);
    prune_snapshots(task, s);
    return STN_OK;
}

void host_spectral_shape_clear(shape *s) {
    for (int axis = 0; axis < 3; axis++) {
        bool shared = false;
        for (int before = 0; before < axis; before++) shared = shared || s->line[before] == s->line[axis];
        if (!shared) stn_fft_line_destroy(s->line[axis]);
        free(s->image[axis]), free(s->sign[axis]);
    }
    free(s->half_twiddles), free(s->parts), free(s->angles);
    *s = (shape){.last = 0};
}

/* Two pairs of planes for the grid's lines, two for the added terms, three for the polynomials of
 * the symbol. The last three are always allocated, because new weights may need them. */
int64_t host_spectral_shape_planes(const shape *s) { return 2 * SHAPE_PAIRS * s->capacity; }

int64_t host_spectral_shape_stored(const shape *s) { return 2 * s->axis[s->last].length * s->lanes[s->last]; }

int64_t host_spectral_shape_all_stored(const stn_task *task, const shape *s) {
    if (task->snapshots == 1 || task->rank == 1) return 0;
    const int64_t groups = stn_div_up(s->domain.kept, s->lanes[s->last]) * (s->last == 0 ? s->axis[1].length : 1);
    return (s->source ? 2 : 1) * host_spectral_shape_stored(s) * groups * s->batch_grids;
}

/* The spectra, the added terms and the stored frequencies. */
int64_t host_spectral_shape_between(const stn_task *task, const shape *s) {
    const int64_t spectra = task->rank == 1 ? 0 : 2 * s->grid * s->batch_grids * (s->source ? 2 : 1);
    const int64_t added = s->source ? s->batch_grids * task->n[0] * task->n[1] * task->n[2] : 0;
    return spectra + added + host_spectral_shape_all_stored(task, s);
}
