/* Reach of many steps, as the smaller result of two methods:
 *
 *   bound   The weights of S^f at offsets o > R sum to at most
 *           exp(-t (R + 1)) (sum of |w| exp(t o))^f for any t > 0 (Chernoff). S^f is not needed,
 *           so f may be any number.
 *   power   S^f itself, by repeated squaring, with ends far below the tail cut off. The error of
 *           the cuts and of rounding is tracked, so rounding cannot produce a wrong reach. */
#include "strategies/common/reach.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "context/search_cache.h"
#include "problem/stencil.h"

#define CUT 0x1p-120L                 /* fraction of a power's sum that is cut off at either end */
#define MIN_TAIL 1e-300               /* smallest tail that a power can resolve */
#define ABOVE (1 + 0x1p-40)           /* a factor above the rounding error of a sum of bounds */
#define FEW_STEPS 32                  /* up to this number of steps, reaches grow in jumps */
#define MAX_POINTS 2048               /* longest power: squaring it takes a millisecond */
#define MAX_STEPS (UINT64_C(1) << 40) /* steps times a radius must stay in 64 bits */

double stn_reach_tail(stn_dtype dtype) { return dtype == STN_F64 ? 0x1p-55 : 0x1p-26; }

/* ---- the bound */

typedef struct line {
    const double *weight; /* weights of offsets from -low on */
    int count, low;
    double norm; /* lower bound on the f-th root of the sum of |taps| of S^f */
} line;

/* L(t), the logarithm of (sum of |w| exp(t o)) / norm, with o counted towards `side`, and its first
 * two derivatives. */
typedef struct log_moment {
    double value, first, second;
} log_moment;
static log_moment log_moment_of(const line *l, int side, double t) {
    double most = -INFINITY, sum = 0, sum1 = 0, sum2 = 0;
    for (int i = 0; i < l->count; i++)
        if (l->weight[i] != 0) most = fmax(most, (side ? i - l->low : l->low - i) * t);
    for (int i = 0; i < l->count; i++) {
        if (l->weight[i] == 0) continue;
        const double o = side ? i - l->low : l->low - i, part = fabs(l->weight[i]) * exp(o * t - most);
        sum += part, sum1 += o * part, sum2 += o * o * part;
    }
    return (log_moment){most + log(sum / l->norm), sum1 / sum, sum2 / sum - sum1 / sum * (sum1 / sum)};
}

/* For each t the bound gives R + 1 = (steps L(t) - log(tail)) / t. This is least where F(t) =
 * t L'(t) - L(t), which grows with t, is -log(tail) / steps. Newton's method, for log F as a
 * function of log t, finds this t. `from` and `to` enclose log t; if a Newton step leaves this
 * interval, the interval is halved instead. R is negative where taps drift towards the other
 * side. */
static double bound(const line *l, int side, double steps, double tail) {
    const double wanted = -log(tail) / steps;
    double from = log(1e-9), to = log(60), at = 0.5 * (from + to);
    while (to - from > 1e-7) {
        const double t = exp(at);
        const log_moment m = log_moment_of(l, side, t);
        const double found = t * m.first - m.value;
        *(found < wanted ? &from : &to) = at;
        const double next = at + log(wanted / found) * found / (t * t * m.second);
        if (fabs(next - at) < 1e-7) break;
        at = next > from && next < to ? next : 0.5 * (from + to);
    }
    const double t = exp(at);
    return ceil((steps * log_moment_of(l, side, t).value - log(tail)) / t) - 1;
}

/* ---- the power */

/* Taps of offsets from -low on, scaled so that their magnitudes sum to 1. If no tap is negative,
 * sums of products lose no digits, so the taps are stored as double, in `nonnegative`. */
typedef struct power {
    long double *tap;
    double *error;       /* error bound of each tap; few digits suffice */
    double *nonnegative; /* NULL, or the taps in place of `tap` and `error` */
    int64_t count, low;
    long double cut; /* total effect of all cut ends, at most */
    double rounding; /* largest relative error of `nonnegative` */
} power;

static void clear(power *p) { free(p->tap), free(p->nonnegative); }

static bool make(power *p, int64_t count, int64_t low, long double cut) {
    *p = (power){.count = count, .low = low, .cut = cut};
    p->tap = calloc((size_t)count, sizeof *p->tap + sizeof *p->error);
    if (p->tap) p->error = (double *)(void *)(p->tap + count);
    return p->tap != NULL;
}

/* As `make`, for nonnegative taps, with space for `more` further numbers; all are 0. */
static bool make_nonnegative(power *p, int64_t count, int64_t more, int64_t low, long double cut) {
    *p = (power){.count = count, .low = low, .cut = cut};
    p->nonnegative = calloc((size_t)(count + more), sizeof *p->nonnegative);
    return p->nonnegative != NULL;
}

/* The magnitude of a tap, at most. */
static long double magnitude(const power *p, int64_t i) {
    return p->nonnegative ? p->nonnegative[i] * (1 + p->rounding) : fabsl(p->tap[i]) + p->error[i];
}

/* Rescales the magnitudes to a sum of 1 and cuts off negligible ends. */
static bool normalise(power *p) {
    long double sum = 0, cut[2] = {0, 0};
    double sums[4] = {0};
    for (int64_t i = 0; i < p->count && p->tap; i++) sum += fabsl(p->tap[i]);
    for (int64_t i = 0; i < p->count && p->nonnegative; i++) sums[i % 4] += p->nonnegative[i];
    if (p->nonnegative) sum = sums[0] + sums[1] + sums[2] + sums[3];
    if (!(sum > 0) || !isfinite((double)sum)) return false;
    int64_t first = 0, last = p->count - 1;
    while (first < last && cut[0] + magnitude(p, first) <= CUT * sum) cut[0] += magnitude(p, first), first++;
    while (last > first && cut[1] + magnitude(p, last) <= CUT * sum) cut[1] += magnitude(p, last), last--;
    p->count = last - first + 1;
    p->low -= first;
    const double factor = (double)(1 / sum);
    for (int64_t i = 0; i < p->count && p->nonnegative; i++) p->nonnegative[i] = p->nonnegative[i + first] * factor;
    for (int64_t i = 0; i < p->count && p->tap; i++) {
        p->tap[i] = p->tap[i + first] / sum;
        p->error[i] = (double)(p->error[i + first] / sum);
    }
    p->cut = (p->cut + cut[0] + cut[1]) / sum;
    return true;
}

static bool is_even(const power *p) {
    if (2 * p->low != p->count - 1) return false;
    for (int64_t i = 0, j = p->count - 1; i < j; i++, j--)
        if (p->nonnegative ? p->nonnegative[i] != p->nonnegative[j]
                           : p->tap[i] != p->tap[j] || p->error[i] != p->error[j])
            return false;
    return true;
}

/* sum + a[i] b[k - i] for first <= i < end. */
static long double add_products(long double sum, const power *a, const power *b, int64_t k, int64_t first,
                                int64_t end) {
    for (int64_t i = first; i < end; i++) sum += a->tap[i] * b->tap[k - i];
    return sum;
}

/* The first `count` taps of a * b; a square computes each pair once. TAPS taps are summed at a
 * time in registers, because the additions of one sum wait for each other, and a long double
 * takes longer to store than to multiply. */
static void multiply_taps(const power *a, const power *b, int64_t count, long double *to) {
    enum { TAPS = 3 };
    const bool square = a == b;
    for (int64_t k = 0; k < count; k += TAPS) {
        const int64_t first = stn_max(0, k + TAPS - b->count), taps = stn_min(TAPS, count - k),
                      end = stn_max(first, stn_min(a->count, square ? (k + 1) / 2 : k + 1));
        long double sum[TAPS] = {0};
        int64_t ends[TAPS];
        for (int t = 0; t < TAPS; t++) {
            ends[t] = stn_min(a->count, square ? (k + t + 1) / 2 : k + t + 1);
            sum[t] = add_products(0, a, b, k + t, stn_max(0, k + t + 1 - b->count), stn_min(first, ends[t]));
        }
        for (int64_t i = first; i < end; i++)
            for (int t = 0; t < TAPS; t++) sum[t] += a->tap[i] * b->tap[k + t - i];
        for (int t = 0; t < taps; t++) {
            const int64_t half = (k + t) / 2;
            to[k + t] = add_products(sum[t], a, b, k + t, end, ends[t]);
            if (square) to[k + t] *= 2;
            if (square && (k + t) % 2 == 0 && half < a->count) to[k + t] += a->tap[half] * a->tap[half];
        }
    }
}

/* The error bounds of these taps. The sums of a square are symmetric in i and j, so each pair is
 * computed once. Searches spend most of their time in these loops, which are vectorisable. */
static bool multiply_errors(const power *a, const power *b, int64_t count, double *to) {
    const double rounding = (double)(stn_min(a->count, b->count) + 2) * (double)LDBL_EPSILON;
    double *own = malloc(2 * (size_t)stn_max(b->count, 1) * sizeof *own), *size = own + (own ? b->count : 0);
    if (!own) return false;
    for (int64_t j = 0; j < b->count; j++) {
        const double tap = (double)fabsl(b->tap[j]);
        own[j] = b->error[j] + rounding * tap, size[j] = tap + b->error[j];
    }
    for (int64_t i = 0; i < a->count && i < count; i++) {
        const int twice = a == b ? 2 : 1;
        const double tap = twice * (double)fabsl(a->tap[i]), error = twice * a->error[i];
        const int64_t end = stn_min(b->count, count - i);
        double *const at = to + i;
        if (a == b && 2 * i < count) at[i] += (tap * own[i] + error * size[i]) / 2;
        for (int64_t j = a == b ? i + 1 : 0; j < end; j++) at[j] += tap * own[j] + error * size[j];
    }
    for (int64_t i = 0; i < count; i++) to[i] *= ABOVE;
    free(own);
    return true;
}

enum { ROWS = 4, PADDING = ROWS - 1 };

/* The first `count` taps of a * b, where both are nonnegative, in a loop that compilers vectorise.
 * ROWS taps of `a` are multiplied at a time, because sums take longer to load and store than to
 * add to. The taps of `b` are copied to the space behind the product's taps, between zeros. A
 * square computes each pair of taps once; the pairs next to the diagonal are added singly. */
static void multiply_nonnegative(const power *a, const power *b, int64_t count, power *product) {
    const bool square = a == b;
    double *const sum = product->nonnegative, *const factor = sum + product->count + PADDING;
    memcpy(factor, b->nonnegative, (size_t)b->count * sizeof *factor);
    for (int64_t i = 0; i < a->count && i < count; i += ROWS) {
        double tap[ROWS], *const at = sum + i;
        for (int k = 0; k < ROWS; k++) tap[k] = i + k < a->count ? a->nonnegative[i + k] * (square ? 2 : 1) : 0;
        const int64_t end = stn_min(b->count + PADDING, count - i), begin = square ? i + ROWS + PADDING : 0;
        for (int64_t j = square ? i : end; j < stn_min(begin, end); j++)
            for (int k = 0; k < ROWS && j - k >= i + k; k++)
                at[j] += tap[k] * factor[j - k] * (j - k > i + k ? 1 : 0.5);
        for (int64_t j = begin; j < end; j++)
            at[j] =
                at[j] + tap[0] * factor[j] + tap[1] * factor[j - 1] + tap[2] * factor[j - 2] + tap[3] * factor[j - 3];
    }
    product->rounding = a->rounding + b->rounding + (double)(stn_min(a->count, b->count) + 6) * DBL_EPSILON;
}

static bool multiply(const power *a, const power *b, power *product) {
    const int64_t count = a->count + b->count - 1, low = a->low + b->low;
    *product = (power){0};
    if (count > MAX_POINTS) return false;
    /* Half of an even product is the other half. */
    const int64_t half = is_even(a) && (a == b || is_even(b)) ? (count + 1) / 2 : count;
    if (a->nonnegative) {
        if (!make_nonnegative(product, count, b->count + 2 * PADDING, low, a->cut + b->cut)) return false;
        multiply_nonnegative(a, b, half, product);
        for (int64_t i = half; i < count; i++) product->nonnegative[i] = product->nonnegative[count - 1 - i];
        return normalise(product);
    }
    if (!make(product, count, low, a->cut + b->cut)) return false;
    multiply_taps(a, b, half, product->tap);
    if (!multiply_errors(a, b, half, product->error)) return false;
    for (int64_t i = half; i < count; i++) {
        product->tap[i] = product->tap[count - 1 - i];
        product->error[i] = product->error[count - 1 - i];
    }
    return normalise(product);
}

static bool times(power *p, const power *factor) {
    power product;
    bool good = multiply(p, factor, &product);
    clear(p);
    *p = product;
    return good;
}

/* Powers of at least this many taps are stored in the context's cache: the reach for another tail,
 * or for twice as many steps, needs them again. */
#define MIN_KEPT 128

/* Bytes of its taps and, behind them, of their errors. */
static size_t taps_size(const power *p) {
    return (size_t)p->count * (p->nonnegative ? sizeof *p->nonnegative : sizeof *p->tap + sizeof *p->error);
}

static bool lookup_power(stn_search_cache *searches, const stn_text *key, power *p) {
    power head; /* its pointers only say which of the arrays follow */
    if (!stn_search_cache_lookup(searches, STN_SEARCH_CACHE_LINE_POWER, key->data, key->size, &head, sizeof head))
        return false;
    const size_t size = sizeof head + taps_size(&head);
    unsigned char *bytes = malloc(size);
    const bool known =
        bytes && stn_search_cache_lookup(searches, STN_SEARCH_CACHE_LINE_POWER, key->data, key->size, bytes, size) &&
        (head.nonnegative ? make_nonnegative(p, head.count, 0, head.low, head.cut)
                          : make(p, head.count, head.low, head.cut));
    if (known) {
        p->rounding = head.rounding;
        memcpy(p->nonnegative ? (void *)p->nonnegative : p->tap, bytes + sizeof head, taps_size(p));
    }
    free(bytes);
    return known;
}

static void store_power(stn_search_cache *searches, const stn_text *key, const power *p) {
    stn_text value = STN_TEXT_EMPTY;
    if (p->count < MIN_KEPT) return;
    stn_text_append(&value, (const char *)p, sizeof *p);
    if (p->nonnegative) {
        stn_text_append(&value, (const char *)p->nonnegative, taps_size(p));
    } else {
        stn_text_append(&value, (const char *)p->tap, (size_t)p->count * sizeof *p->tap);
        stn_text_append(&value, (const char *)p->error, (size_t)p->count * sizeof *p->error);
    }
    if (!value.failed)
        stn_search_cache_store(searches, STN_SEARCH_CACHE_LINE_POWER, key->data, key->size, value.data, value.size);
    stn_text_clear(&value);
}

static bool is_nonnegative(const line *l) {
    for (int i = 0; i < l->count; i++)
        if (l->weight[i] < 0) return false;
    return true;
}

static bool make_first_power(const line *l, power *once) {
    const bool nonnegative = is_nonnegative(l);
    if (!(nonnegative ? make_nonnegative(once, l->count, 0, l->low, 0) : make(once, l->count, l->low, 0))) return false;
    for (int i = 0; i < l->count; i++)
        if (nonnegative)
            once->nonnegative[i] = l->weight[i];
        else
            once->tap[i] = l->weight[i];
    return normalise(once);
}

/* S^steps as the square of S^(steps / 2), times S if the number is odd. The caller clears
 * `result` in any case. */
static bool raise_power(stn_search_cache *searches, const line *l, uint64_t steps, power *result) {
    *result = (power){0};
    if (steps == 1) return make_first_power(l, result);
    const uint64_t numbers[] = {(uint64_t)l->low, steps};
    stn_text key = STN_TEXT_EMPTY;
    stn_text_append(&key, (const char *)numbers, sizeof numbers);
    stn_text_append(&key, (const char *)l->weight, (size_t)l->count * sizeof *l->weight);
    if (key.failed) searches = NULL;
    bool good = lookup_power(searches, &key, result);
    if (!good) {
        power once = {0};
        good = raise_power(searches, l, steps / 2, result) && times(result, result) &&
               (steps % 2 == 0 || (make_first_power(l, &once) && times(result, &once)));
        clear(&once);
        if (good) store_power(searches, &key, result);
    }
    stn_text_clear(&key);
    return good;
}

/* The least R towards `side` with |taps| beyond it summing to at most `tail`; *left: that sum. */
static int64_t cut_off(const power *p, int side, double tail, double *left) {
    long double sum = p->cut;
    int64_t reach = side ? p->count - 1 - p->low : p->low; /* of the outermost tap */
    for (int64_t i = 0; i < p->count && reach > 0; i++, reach--) {
        int64_t at = side ? p->count - 1 - i : i;
        const long double tap = magnitude(p, at);
        if (sum + tap > tail) break;
        sum += tap;
    }
    *left = (double)sum;
    return stn_max(reach, 0);
}

/* Whether S^(steps / 2), after its ends are cut off, surely has too many taps to be squared; then
 * it need not be computed. Only nonnegative weights are judged, because their bound exceeds the
 * reach by no more than a few per cent, for which 15 per cent are allowed. reach: the bound on the
 * sum of both reaches of all steps; if it is small, the power is computed quickly. */
static bool square_is_too_long(const line *l, uint64_t steps, int64_t reach) {
    if (steps < 2 || reach < MAX_POINTS / 8 || !is_nonnegative(l)) return false;
    const uint64_t half = steps / 2;
    line own = *l; /* its norm is the sum, of which CUT is a fraction */
    own.norm = 0;
    for (int i = 0; i < l->count; i++) own.norm += l->weight[i];
    double taps = 1;
    for (int side = 0; side < 2; side++) taps += bound(&own, side, (double)half, (double)CUT);
    return 2 * taps > 1.15 * MAX_POINTS;
}

/* ---- both methods */

/* power_tail: the tail for S^f, relative to the sum of `line` instead of its norm; 0: S^f is not
 * computed. */
static stn_reach search(stn_search_cache *searches, const line *l, uint64_t steps, double tail, double power_tail) {
    const int64_t most = (int64_t)(steps < MAX_STEPS ? steps : MAX_STEPS);
    stn_reach reach = {{l->low * most, (l->count - 1 - l->low) * most}, {0, 0}};
    for (int side = 0; side < 2; side++) {
        double bounded = fmax(0, bound(l, side, (double)steps, tail));
        if (bounded < (double)reach.side[side]) {
            reach.side[side] = (int64_t)bounded;
            reach.tail[side] = tail;
        }
    }
    power p = {0};
    /* The bound exceeds the reach by little: where it is up to an eighth above MAX_POINTS, S^f may
     * still have at most MAX_POINTS taps. */
    const bool short_enough = reach.side[0] + reach.side[1] <= MAX_POINTS + MAX_POINTS / 8 &&
                              !square_is_too_long(l, steps, reach.side[0] + reach.side[1]);
    if (short_enough && power_tail >= MIN_TAIL && raise_power(searches, l, steps, &p) && p.cut <= power_tail / 2)
        for (int side = 0; side < 2; side++) {
            double left;
            int64_t exact = cut_off(&p, side, power_tail, &left);
            if (exact >= reach.side[side]) continue;
            reach.side[side] = exact;
            reach.tail[side] = left * tail / power_tail;
        }
    clear(&p);
    return reach;
}

/* Uses the context's cache, because a search takes milliseconds and one plan's strategies,
 * candidates and tables repeat it. */
static stn_reach find(stn_search_cache *searches, const line *l, uint64_t steps, double tail, double power_tail) {
    const double numbers[] = {l->low, l->norm, (double)steps, tail, power_tail};
    stn_text key = STN_TEXT_EMPTY;
    stn_reach reach;
    stn_text_append(&key, (const char *)numbers, sizeof numbers);
    stn_text_append(&key, (const char *)l->weight, (size_t)l->count * sizeof *l->weight);
    if (key.failed) searches = NULL;
    if (!stn_search_cache_lookup(searches, STN_SEARCH_CACHE_REACH, key.data, key.size, &reach, sizeof reach)) {
        reach = search(searches, l, steps, tail, power_tail);
        stn_search_cache_store(searches, STN_SEARCH_CACHE_REACH, key.data, key.size, &reach, sizeof reach);
    }
    stn_text_clear(&key);
    return reach;
}

double stn_reach_max_symbol(stn_search_cache *searches, size_t ntaps, const stn_tap *taps) {
    const size_t size = ntaps * sizeof *taps;
    double largest;
    if (stn_search_cache_lookup(searches, STN_SEARCH_CACHE_SYMBOL, taps, size, &largest, sizeof largest))
        return largest;
    largest = stn_taps_max_symbol(ntaps, taps);
    stn_search_cache_store(searches, STN_SEARCH_CACHE_SYMBOL, taps, size, &largest, sizeof largest);
    return largest;
}

stn_reach stn_reach_of_line(stn_search_cache *searches, const double *weights, int count, int low, uint64_t steps,
                            double tail) {
    stn_tap taps[2 * STN_MAX_RADIUS + 1];
    for (int i = 0; i < count; i++) taps[i] = (stn_tap){{0, 0, i - low}, weights[i]};
    line l = {weights, count, low, stn_reach_max_symbol(searches, (size_t)count, taps)};
    if (!(l.norm > 0)) return (stn_reach){{0, 0}, {0, 0}}; /* all weights are zero */
    return find(searches, &l, steps, tail, tail);
}

/* Sums the weights over the other axes, as magnitudes if there are others; returns the sum of all
 * magnitudes. */
static double project(const stn_task *task, int axis, double weights[2 * STN_MAX_RADIUS + 1]) {
    double sum = 0;
    memset(weights, 0, (2 * STN_MAX_RADIUS + 1) * sizeof *weights);
    for (size_t k = 0; k < task->ntaps; k++) {
        const double weight = task->taps[k].weight;
        weights[task->reach[axis][0] + task->taps[k].offset[axis]] += task->rank == 1 ? weight : fabs(weight);
        sum += fabs(weight);
    }
    return sum;
}

bool stn_reach_similar(const stn_task *task, int a, int b) {
    double weights[2][2 * STN_MAX_RADIUS + 1];
    if (memcmp(task->reach[a], task->reach[b], sizeof task->reach[a]) != 0) return false;
    const double sum = project(task, a, weights[0]);
    project(task, b, weights[1]);
    for (int i = 0; i <= task->reach[a][0] + task->reach[a][1]; i++)
        if (!(fabs(weights[0][i] - weights[1][i]) <= 0x1p-48 * sum)) return false;
    return true;
}

stn_reach stn_reach_find(const stn_task *task, int axis, uint64_t steps, double tail) {
    double weights[2 * STN_MAX_RADIUS + 1];
    const int low = task->reach[axis][0], count = low + task->reach[axis][1] + 1;
    const double sum = project(task, axis, weights);
    if (task->rank == 1) return stn_reach_of_line(task->searches, weights, count, low, steps, tail);
    line l = {weights, count, low, stn_reach_max_symbol(task->searches, task->ntaps, task->taps)};
    if (!(l.norm > 0)) return (stn_reach){{0, 0}, {0, 0}};
    return find(task->searches, &l, steps, tail, tail * pow(l.norm / sum, (double)steps));
}

stn_reach stn_reach_of_all(const stn_task *task, int axis, uint64_t each, uint64_t count, double tail) {
    stn_reach most = {{0, 0}, {0, 0}};
    const bool drifts = count > 1 && !stn_task_is_symmetric(task, axis);
    const int64_t steps = (int64_t)(each * count < MAX_STEPS ? each * count : MAX_STEPS),
                  furthest[] = {steps * task->reach[axis][0], steps * task->reach[axis][1]};
    for (; count > 0; count -= count > FEW_STEPS || !drifts ? count - count / 2 : (count + 3) / 4) {
        const stn_reach reach = stn_reach_find(task, axis, each * count, tail);
        for (int side = 0; side < 2; side++) most.side[side] = stn_max(most.side[side], reach.side[side]);
    }
    for (int side = 0; side < 2 && drifts; side++) {
        const int64_t further = most.side[side] + (most.side[side] + 15) / 16 + task->reach[axis][side];
        /* No power of the taps reaches further. */
        most.side[side] = stn_min(further, furthest[side]);
    }
    return most;
}
