/* See shape.h. */
#include "strategies/segment/shape.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/best.h"
#include "plan/accuracy.h"
#include "problem/stencil.h"
#include "strategies/faces/margins.h"

#define LINE_BYTES 128  /* segments begin, and their outputs begin and end, at whole ones: */
#define SECTOR_BYTES 32 /* or of these, where that leaves MORE times as many outputs */
#define MORE 1.02
#define GROUPS 8       /* pairs of the shortest segments, half a warp each, of a block */
#define LEAST_USEFUL 8 /* at least one part in so many of a segment is outputs */
#define MOST_MARGIN 64 /* steps that margins at faces are stepped in one launch */
#define MOST_FITS 4    /* numbers of launches that fit and are looked at: more take longer, all but always */

#define FLOPS 154          /* of a point of a pair */
#define FLOPS_SHORTEST 109 /* of 256 points: two stages less. Counted */

/* What the kernels reach, fitted to bench/results/2026-11-22-segment.md: parts of the unit's rate, for segments of 256 (a guess, for none is
 * measured yet), 512, 1024, 2048 and 4096 points, along x and of columns, and of copy bandwidth. Short segments leave more blocks beside each
 * other; 4096 points along x are as 4000 steps of heat-1d took (0.99 ms: at 1000 steps they were faster). */
static const struct {
    stn_unit unit;
    double line[5], columns[5], line_memory, column_memory;
} rates[] = {
    [STN_F64] = {STN_UNIT_FMA_F64, {0.65, 0.76, 0.65, 0.57, 0.43}, {0, 0.40, 0.54, 0.465, 0.285}, 0.85, 0.55},
    [STN_F32] = {STN_UNIT_FMA_F32, {0.50, 0.58, 0.54, 0.51, 0.485}, {0, 0.24, 0.33, 0.29, 0.21}, 0.85, 0.45},
    [STN_F16] = {STN_UNIT_FMA_F32, {0.50, 0.58, 0.54, 0.51, 0.485}, {0, 0.24, 0.33, 0.29, 0.21}, 0.80, 0.40},
};
#define SLOW_LINE 0.15   /* times longer takes a pair of which a segment reaches past a side, and such columns: */
#define SLOW_COLUMN 0.05 /* each index is folded, by five instructions or so. Reckoned, not measured */
#define SLOW_COSINES                                                                                                   \
    0.15 /* 64 shuffles and as many multiply-adds beside 1232 of these a thread, and twice the table. Reckoned too */
#define PRODUCT_RATE 0.5 /* of the tensor cores'. An estimate: none is measured yet */
#define BESIDE                                                                                                         \
    0.02 /* of the shorter of computing and moving shows: of two that move as long, the one that computes less */
#define NARROW 0.88 /* long columns of rows of less than 64 bytes */

static const int firsts[] = {16, 8, 4, 2, 1, -1, -2, -3, -4, -5};
_Static_assert(sizeof firsts / sizeof *firsts == 5 + SEGMENT_PRODUCTS, "the FFT words' and the products'");

static bool along_x(const segment_pass *pass) { return pass->axis == 2; }

int segment_groups(const segment_pass *pass) { return pass->first == 1 ? GROUPS : 1; }

/* Pairs that a block convolves at once. */
static int pairs_at_once(const segment_shape *shape, const segment_pass *pass) {
    return along_x(pass) ? segment_groups(pass) : shape->pairs;
}

int segment_threads(const segment_shape *shape, const segment_pass *pass) {
    const segment_factors *f = segment_factors_of(pass->first);
    return f ? 32 * f->warps : 16 * pass->first * pairs_at_once(shape, pass);
}

size_t segment_shared(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (pass->first < 0) return segment_product_shared(segment_factors_of(pass->first));
    const size_t whole = task->dtype == STN_F64 && shape->whole, cell = whole ? 16 : 8;
    const size_t pairs = (size_t)pairs_at_once(shape, pass), room = (size_t)pass->first * 16 * 17;
    const size_t between = along_x(pass) ? 0 : (whole ? 8 : 16) / pairs;
    return pairs * ((room + between) * cell + 2 * 256 * (size_t)pass->first * stn_dtype_size(task->dtype));
}

int segment_blocks(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (shape->blocks) return shape->blocks;
    /* threads of 80, 160, 128 registers */
    const int most = task->dtype != STN_F64 ? 768 : shape->whole || pass->first < 0 ? 384 : 512;
    return (int)stn_max(1, most / segment_threads(shape, pass));
}

int64_t segment_tiles(const stn_task *task, const segment_shape *shape) {
    return stn_div_up(task->n[2], 2 * (int64_t)shape->pairs);
}

int64_t segment_works(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const int64_t n = task->n[pass->axis], segments = stn_div_up(n, pass->useful);
    const int64_t lines = stn_task_points(task) / n;
    return along_x(pass) ? stn_div_up(lines * segments, 2 * segment_groups(pass))
                         : lines / task->n[2] * segments * segment_tiles(task, shape);
}

/* Products are of lines in f64. */
static bool has_products(const stn_task *task) { return task->dtype == STN_F64 && segment_lines(task); }

/* Half the period of a line that goes on mirrored about its ends: cosines have it. Sides that add something are convolved along
 * others in segments as these, and for that they must have a whole period. */
static bool is_line_of_cosines(const stn_task *task, const segment_axis *axis, int first) {
    return axis->exact && axis->side[0] == STN_REFLECT && axis->side[1] == STN_REFLECT &&
           axis->n == 256 * (int64_t)first && first > 0 && first < 16 && !segment_sourced(task);
}

/* Where a segment's outputs begin, and how many they are: whole units. */
static void place_outputs(const stn_reach *reach, int64_t length, int64_t unit, segment_pass *pass) {
    pass->lead = (int)stn_round_up(reach->side[0], unit);
    pass->useful = (int)((length - pass->lead - reach->side[1]) / unit * unit);
}

/* A segment that holds whole periods of the line's extension needs no overlap: convolving on its circle is what is asked for. */
bool segment_fit(const stn_task *task, const segment_axis *axis, const stn_reach *reach, int first,
                 segment_pass *pass) {
    const int64_t length = segment_points(first), period = segment_period(axis);
    if (first < 0 && !has_products(task)) return false;
    if (first == 1 && (axis->axis != 2 || segment_sourced(task))) return false;
    *pass = (segment_pass){.axis = (uint8_t)axis->axis,
                           .first = (int8_t)first,
                           .useful = (int)stn_min(axis->n, length),
                           .reach = (int)stn_min(reach->side[0] + reach->side[1], INT32_MAX)};
    pass->cosines = is_line_of_cosines(task, axis, first);
    if (pass->cosines) return true;
    if (period && length % period == 0) return pass->useful > 0;
    if (reach->side[0] + reach->side[1] >= length) return false;
    if (axis->axis != 2) {
        place_outputs(reach, length, 1, pass);
    } else {
        segment_pass finer = *pass;
        place_outputs(reach, length, LINE_BYTES / (int64_t)stn_dtype_size(task->dtype), pass);
        place_outputs(reach, length, SECTOR_BYTES / (int64_t)stn_dtype_size(task->dtype), &finer);
        if (finer.useful > MORE * pass->useful) *pass = finer;
    }
    return pass->useful > 0 && pass->useful >= length / LEAST_USEFUL;
}

/* The part of a line's segments that take inputs from past its sides. */
static double part_at_sides(int64_t n, const segment_pass *pass) {
    const int64_t length = segment_points(pass->first), segments = stn_div_up(n, pass->useful);
    const int64_t from = stn_div_up(pass->lead, pass->useful), room = n - length + pass->lead;
    const int64_t inside = room < 0 ? 0 : stn_min(segments, room / pass->useful + 1) - from;
    return 1 - (double)stn_max(0, inside) / (double)segments;
}

static int size_index(int first) { return first == 1 ? 0 : first == 2 ? 1 : first == 4 ? 2 : first == 8 ? 3 : 4; }

/* Of the unit's rate. Two segments make a pair: those at sides of one line lie in two pairs, or one with the next line's. */
static double part_of_rate(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const double sides = part_at_sides(task->n[pass->axis], pass);
    const int size = size_index(pass->first);
    if (pass->first < 0) return PRODUCT_RATE / (1 + SLOW_LINE * sides);
    if (pass->cosines)
        return (along_x(pass) ? rates[task->dtype].line : rates[task->dtype].columns)[size] / (1 + SLOW_COSINES);
    if (along_x(pass)) {
        const bool odd = stn_div_up(task->n[2], pass->useful) % 2;
        return rates[task->dtype].line[size] / (1 + SLOW_LINE * fmin(1, (odd ? 1.5 : 2) * sides));
    }
    const size_t row = 2 * (size_t)shape->pairs * stn_dtype_size(task->dtype);
    return rates[task->dtype].columns[size] * (row < 64 && pass->first >= 8 ? NARROW : 1) / (1 + SLOW_COLUMN * sides);
}

static double flops_of_pair(const segment_pass *pass) {
    const segment_factors *f = segment_factors_of(pass->first);
    return f ? segment_product_flops(f) : (pass->first == 1 ? FLOPS_SHORTEST : FLOPS) * 256.0 * pass->first;
}

/* Seconds of one launch of a pass: whole waves of blocks. */
static double pass_seconds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                           const segment_pass *pass, double *flops) {
    const double works = (double)segment_works(task, shape, pass), pairs = pairs_at_once(shape, pass);
    const double resident = (double)machine->multiprocessors * segment_blocks(task, shape, pass);
    const stn_unit unit = pass->first < 0 ? STN_UNIT_TENSOR_F64 : rates[task->dtype].unit;
    const double rate = part_of_rate(task, shape, pass) * machine->flops[unit];
    const double memory = along_x(pass) ? rates[task->dtype].line_memory : rates[task->dtype].column_memory;
    *flops = flops_of_pair(pass) * works * pairs;
    const double bytes = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
    const double compute = *flops / rate * ceil(works / resident) / (works / resident),
                 move = bytes / (memory * machine->copy_bandwidth);
    return fmax(compute, move) + BESIDE * fmin(compute, move) + machine->launch_seconds;
}

/* Few steps reach all that they can, and whole periods are exact. */
static bool leaves_away(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const int64_t all = (int64_t)shape->fused * (task->reach[pass->axis][0] + task->reach[pass->axis][1]);
    const bool whole = pass->lead == 0 && pass->useful == task->n[pass->axis];
    return pass->reach < all && !whole;
}

/* Where values are alike, as beside a constant side, every step rounds them alike: that adds up, over the part of a line that is stepped. */
static double margins_error(const stn_task *task, const segment_pass *pass) {
    const double rounding = stn_error_rounding(task->dtype == STN_F64 ? STN_F64 : STN_F32);
    const double part = fmin(1, pass->reach / (double)task->n[pass->axis]);
    return (double)task->steps * sqrt((double)task->ntaps / 3 * part) * rounding;
}

/* Relative L2 of random numbers of either sign or of one, no less than what runs are off by (tests/strategies/test_errors.c). A transform
 * rounds relative to what goes in, evenly over all frequencies; the symbol then takes of that noise what it takes of the numbers
 * themselves, and the inverse rounds relative to what comes out. So neither steps nor smoothing make it grow, and of several passes each
 * adds its own. What all launches do alike: the symbol's rounding, and what lies beyond its reach, which is a few times its
 * part of the weights beside what these leave of random numbers. */
#define ROUNDINGS_F64 14 /* of a pass: powers of roots are made by squaring */
#define ROUNDINGS_F32 7  /* or read */
#define BEYOND 3.1       /* sqrt(9.7): a bell's ends are no wider than a third of it */
static double predicted_error(const stn_task *task, const segment_shape *shape) {
    const stn_dtype arithmetic = task->dtype == STN_F64 ? STN_F64 : STN_F32;
    const double rounding = stn_error_rounding(arithmetic), passes = shape->passes;
    const double times = (arithmetic == STN_F64 ? ROUNDINGS_F64 : ROUNDINGS_F32) * stn_error_cancelling(task);
    const double stored = task->dtype == STN_F16 ? stn_error_rounding(STN_F16) : 0;
    double alike = passes * rounding;
    for (int i = 0; i < shape->passes; i++)
        if (leaves_away(task, shape, &shape->pass[i])) alike += BEYOND * segment_tail(arithmetic);
    const double own = stn_error_of(alike, hypot(times * rounding, stored) * sqrt(passes), shape->launches);
    return shape->margins ? hypot(own, margins_error(task, &shape->pass[0])) : own;
}

/* Of sides across axis k: so many convolutions of pairs of depths, in segments as along the other axis. */
static void add_sources(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *e) {
    const double launches = shape->launches;
    int odd = 0;
    for (int k = 0; k < 2; k++) {
        const segment_pass *across = &shape->pass[1 - k], *along = &shape->pass[k];
        const double depths = fmin((double)task->n[across->axis], across->reach / 2.0);
        for (int side = 0; side < 2; side++) {
            const stn_boundary_kind kind = task->boundary[across->axis][side].kind;
            if (kind != STN_CONSTANT && kind != STN_FIXED) continue;
            const double works = (double)task->batch * ceil((double)task->n[along->axis] / along->useful) * depths / 2;
            const double flops = launches * FLOPS * works * 256 * along->first;
            const double rate = rates[task->dtype].line[size_index(along->first)] * machine->flops[e->unit];
            e->flops += flops, e->seconds += flops / rate;
            odd++;
        }
    }
    e->launches += launches * (odd + 2), e->seconds += launches * (odd + 2) * machine->launch_seconds;
}

void segment_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *e) {
    const double points = (double)stn_task_points(task), launches = shape->launches;
    memset(e, 0, sizeof *e);
    e->unit = shape->pass[0].first < 0 ? STN_UNIT_TENSOR_F64 : rates[task->dtype].unit;
    double value, drift = 0;
    if (!segment_lines(task)) (void)segment_one_value(task, &value, &drift);
    e->error = predicted_error(task, shape) + drift, e->stepping = shape->margins;
    e->launches = launches * shape->passes;
    e->bytes = 2 * (double)stn_dtype_size(task->dtype) * points * e->launches;
    for (int i = 0; i < shape->passes; i++) {
        const segment_pass *pass = &shape->pass[i];
        double flops;
        e->seconds += launches * pass_seconds(task, machine, shape, pass, &flops);
        e->flops += launches * flops;
        const double segments = ceil((double)task->n[pass->axis] / pass->useful);
        e->halo_waste += (segments * segment_points(pass->first) / (double)task->n[pass->axis] - 1) / shape->passes;
    }
    if (shape->sources) add_sources(task, machine, shape, e);
    if (shape->margins) e->seconds += launches * stn_faces_seconds(task, machine, shape->fused);
}

/* ---- search -------------------------------------------------------------------------------------------------------- */

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    segment_axis axes[3];
    int count;
    bool margins, products; /* products are tried too: their rate is a guess, so only where candidates are timed */
    stn_tally *tally;
    double largest;     /* of the symbol */
    stn_reach reach[3]; /* of the steps that are being looked at */
} search;

static bool holds(const search *s, const segment_shape *shape, const segment_pass *pass) {
    if (pass->first < 0 && !s->products) return false;
    return segment_holds(s->task, s->machine, shape, pass, s->tally);
}

/* The cheapest pass along axis number i, or that of this form. */
static bool best_pass(const search *s, const segment_shape *shape, int i, int first, segment_pass *best) {
    double least = INFINITY;
    for (size_t k = 0; k < sizeof firsts / sizeof *firsts; k++) {
        segment_pass pass;
        double flops;
        if ((first && firsts[k] != first) || !segment_fit(s->task, &s->axes[i], &s->reach[i], firsts[k], &pass))
            continue;
        if (!holds(s, shape, &pass)) continue;
        const double seconds = pass_seconds(s->task, s->machine, shape, &pass, &flops);
        if (seconds >= least) continue;
        least = seconds;
        *best = pass;
    }
    return least < INFINITY;
}

/* Powers of the symbol that the data's type cannot hold. */
static bool grows_too_far(const search *s, uint64_t fused) {
    return (double)fused * log10(s->largest) > (s->task->dtype == STN_F64 ? 290 : 36);
}

/* Of so many steps along each axis; axes with the same weights reach as far, and looking takes long. */
static void find_reaches(search *s, uint64_t fused) {
    for (int i = 0; i < s->count; i++) {
        const bool again = i && segment_same_weights(&s->axes[i], &s->axes[i - 1]);
        s->reach[i] = again ? s->reach[i - 1] : segment_axis_reach(&s->axes[i], s->task->dtype, fused);
    }
}

static bool shape_for(const search *s, int64_t launches, int pairs, int first, segment_shape *shape) {
    *shape = (segment_shape){.launches = (int)launches, .margins = s->margins, .pairs = pairs, .passes = s->count};
    shape->sources = !s->margins && segment_sourced(s->task);
    shape->fused = (int)stn_div_up((int64_t)s->task->steps, launches);
    for (int i = 0; i < s->count; i++)
        if (!best_pass(s, shape, i, first, &shape->pass[i])) return false;
    int64_t low[3], high[3];
    return !s->margins || stn_faces_interior(s->task, shape->fused, low, high);
}

static bool has_values(const stn_task *task) {
    for (int side = 0; side < 6; side++)
        if (task->boundary[side / 2][side % 2].kind == STN_CONSTANT ||
            task->boundary[side / 2][side % 2].kind == STN_FIXED)
            return true;
    return false;
}

static bool open_search(search *s, const char **why) {
    *why = "its weights are not products of one factor an axis";
    if (!segment_axes_of(s->task, s->axes, &s->count)) return false;
    for (int i = 0; i < s->count; i++) s->margins = s->margins || !s->axes[i].exact;
    s->largest = stn_taps_max_symbol(s->task->ntaps, s->task->taps);
    *why = "a side is neither periodic nor such that symmetric taps make it right by itself";
    if (s->task->rank > 1 && has_values(s->task))
        *why =
            s->task->rank == 2
                ? "fixed and constant sides take taps symmetric along both axes, one of them past such a side"
                : "solids take no fixed sides, and one constant: taps symmetric, one past it, weights that add up to 1";
    return !s->margins || s->task->rank == 1;
}

/* What is worth measuring of a shape that is worth trying: more registers a thread, points whole. */
static const struct {
    int first, whole, blocks;
} variants[] = {{16, 0, 1}, {8, 0, 3}, {4, 0, 6}, {8, 1, 0}, {8, 1, 2}, {4, 1, 0}, {2, 1, 0}};

static size_t add_variants(const search *s, segment_shape *best, size_t found, size_t most) {
    const size_t plain = found;
    for (size_t i = 0; i < sizeof variants / sizeof *variants && s->task->dtype == STN_F64; i++)
        for (size_t k = 0; k < plain && found < most; k++) {
            segment_shape varied = best[k];
            if (varied.pass[0].first != variants[i].first || (s->count > 1 && variants[i].blocks)) continue;
            varied.whole = variants[i].whole, varied.blocks = variants[i].blocks;
            bool good = true;
            for (int p = 0; p < varied.passes; p++) good = good && holds(s, &varied, &varied.pass[p]);
            if (!good) continue;
            best[found++] = varied;
            break; /* of the cheapest of this length */
        }
    return found;
}

/* Pairs of columns of a tile: 64 bytes of a row of f64 first. */
static const int pairs_of[] = {4, 2, 8};

static bool is_listed(const segment_shape *list, size_t count, const segment_shape *shape) {
    for (size_t i = 0; i < count; i++)
        if (!memcmp(&list[i], shape, sizeof *shape)) return true;
    return false;
}

/* All shapes of so many launches into the list of the cheapest. */
static bool add_shapes(const search *s, int64_t launches, segment_shape *best, double *costs, size_t *found,
                       size_t most) {
    bool any = false;
    for (size_t p = 0; p < (s->count > 1 || s->axes[0].axis != 2 ? sizeof pairs_of / sizeof *pairs_of : 1); p++)
        for (size_t i = 0; i < sizeof firsts / sizeof *firsts + (s->count > 1); i++) {
            const int first = i < sizeof firsts / sizeof *firsts ? firsts[i] : 0; /* 0: each axis its own */
            segment_shape shape;
            stn_estimate e;
            if (!shape_for(s, launches, pairs_of[p], first, &shape)) continue;
            any = true;
            segment_cost(s->task, s->machine, &shape, &e);
            if (is_listed(best, *found, &shape)) continue;
            segment_shape *to = stn_best_insert(best, costs, sizeof *best, found, most, e.seconds);
            if (to) *to = shape;
        }
    return any;
}

size_t segment_search(const stn_task *task, const stn_machine *machine, segment_shape *best, size_t most,
                      const char **why, stn_tally *tally) {
    search s = {.task = task, .machine = machine, .products = most > STN_CANDIDATES, .tally = tally};
    double costs[STN_CANDIDATES];
    size_t found = 0;
    const size_t plain = (size_t)stn_min((int64_t)most, STN_CANDIDATES);
    if (!open_search(&s, why)) return 0;
    *why = "its taps reach too far, or its symbol grows past the data's range";
    const int enough = most == 1 ? 1 : MOST_FITS;
    for (int64_t launches = 1, fits = 0; launches <= (int64_t)task->steps && fits < enough;
         launches += launches / 3 + 1) {
        const int64_t fused = stn_div_up((int64_t)task->steps, launches);
        if ((s.margins && fused > MOST_MARGIN) || grows_too_far(&s, (uint64_t)fused)) continue;
        find_reaches(&s, (uint64_t)fused);
        fits += add_shapes(&s, launches, best, costs, &found, plain);
    }
    return most > STN_CANDIDATES ? add_variants(&s, best, found, most) : found;
}
