/* See shape.h. */
#include "strategies/segment/shape.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/best.h"
#include "problem/stencil.h"
#include "strategies/faces/margins.h"

#define LINE_BYTES 128 /* segments begin, and their outputs begin and end, at whole ones: */
/* Or of these, where that leaves MORE times as many outputs. Of 16 bytes was slower: 0.606 ms, 0.584 of 32 (2026-11-23-segment.md). */
#define SECTOR_BYTES 32
#define MORE 1.02
#define GROUPS 8       /* pairs of the shortest segments, half a warp each, of a block */
#define LEAST_USEFUL 8 /* at least one part in so many of a segment is outputs */
#define MOST_MARGIN 64 /* steps that margins at faces are stepped in one launch */
#define MOST_FITS 4    /* numbers of launches that fit and are looked at: more take longer, all but always */

static const int firsts[] = {16, 8, 4, 2, 1, -1, -2, -3, -4, -5};
_Static_assert(sizeof firsts / sizeof *firsts == 5 + SEGMENT_PRODUCTS, "the FFT words' and the products'");

static bool along_x(const segment_pass *pass) { return pass->axis == 2; }

int segment_groups(const segment_pass *pass) { return pass->first == 1 ? GROUPS : 1; }

int segment_pairs(const segment_shape *shape, const segment_pass *pass) {
    return along_x(pass) ? segment_groups(pass) : shape->pairs;
}

int segment_threads(const segment_shape *shape, const segment_pass *pass) {
    const segment_factors *f = segment_factors_of(pass->first);
    return f ? 32 * f->warps : 16 * pass->first * segment_pairs(shape, pass);
}

size_t segment_shared(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (pass->first < 0) return segment_product_shared(segment_factors_of(pass->first), task->dtype);
    const size_t whole = task->dtype == STN_F64 && shape->whole, cell = whole ? 16 : 8;
    const size_t pairs = (size_t)segment_pairs(shape, pass), room = (size_t)pass->first * 16 * 17;
    const size_t between = along_x(pass) ? 0 : (whole ? 8 : 16) / pairs;
    return pairs * ((room + between) * cell + 2 * 256 * (size_t)pass->first * stn_dtype_size(task->dtype));
}

int segment_blocks(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (shape->blocks && (along_x(pass) || shape->passes == 1)) return shape->blocks;
    /* threads of 160, 80, 160, 128 registers */
    const int most = pass->first < 0 ? 384 : task->dtype != STN_F64 ? 768 : shape->whole ? 384 : 512;
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

/* Half the period of a line that goes on mirrored about its ends: cosines have it. Sides that add something are convolved along
 * others in segments as these, and for that they must have a whole period. */
static bool is_line_of_cosines(const stn_task *task, const segment_axis *axis, int first) {
    return axis->exact && axis->side[0] == STN_REFLECT && axis->side[1] == STN_REFLECT &&
           axis->n == 256 * (int64_t)first && first > 1 && first < 16 && !segment_sourced(task);
}

static bool is_whole_lines(const stn_task *task, int64_t elements) {
    return elements * (int64_t)stn_dtype_size(task->dtype) % LINE_BYTES == 0;
}

bool segment_turned(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (shape->straight || !along_x(pass) || pass->first < 0 || pass->cosines) return false;
    bool whole = is_whole_lines(task, pass->lead);
    if (pass->useful < task->n[2]) whole = whole && is_whole_lines(task, pass->useful);
    for (int k = 0; k < 2; k++)
        if (task->n[k] > 1) whole = whole && is_whole_lines(task, task->out_stride[k]);
    return !whole;
}

/* A mirrored line of more than a quarter of one segment, and half of it at most, with as much room on both sides as its steps reach. 2: of half of it. */
static int is_middle(const segment_axis *axis, const stn_reach *reach, int64_t length, int first) {
    const int64_t quarter = length / 4;
    if (first < 4 || !axis->exact || axis->side[0] == STN_WRAP) return 0;
    if (axis->n < quarter + 2 || axis->n > 2 * quarter) return 0;
    if (reach->side[0] > quarter || reach->side[1] > quarter) return 0;
    return axis->n == 2 * quarter ? 2 : 1;
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
    if (first < 0 && !segment_lines(task)) return false; /* products */
    if (first == 1 && (axis->axis != 2 || segment_sourced(task))) return false;
    *pass = (segment_pass){.axis = (uint8_t)axis->axis,
                           .first = (int8_t)first,
                           .useful = (int)stn_min(axis->n, length),
                           .reach = (int)stn_min(reach->side[0] + reach->side[1], INT32_MAX)};
    pass->cosines = is_line_of_cosines(task, axis, first);
    if (pass->cosines) return true;
    if (period && length % period == 0) return pass->useful > 0;
    pass->middle = (uint8_t)is_middle(axis, reach, length, first);
    if (pass->middle) {
        pass->lead = (int)(length / 4), pass->useful = (int)(length / 2);
        return true;
    }
    if (reach->side[0] + reach->side[1] >= length) return false;
    if (axis->axis != 2) {
        place_outputs(reach, length, 1, pass);
    } else {
        const int64_t size = (int64_t)stn_dtype_size(task->dtype);
        segment_pass finer = *pass;
        place_outputs(reach, length, LINE_BYTES / size, pass);
        place_outputs(reach, length, SECTOR_BYTES / size, &finer);
        if (finer.useful > MORE * pass->useful) *pass = finer;
    }
    return pass->useful > 0 && pass->useful >= length / LEAST_USEFUL;
}

/* ---- search -------------------------------------------------------------------------------------------------------- */

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    segment_axis axes[3];
    int count;
    bool margins,
        products; /* products are tried too: in f64 they lose everywhere, of other types their rate is a guess, so only where candidates are timed */
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
        const double seconds = segment_seconds(s->task, s->machine, shape, &pass, &flops);
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
    *shape =
        (segment_shape){.launches = (int)launches, .margins = s->margins, .pairs = pairs, .passes = (uint8_t)s->count};
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

/* What is worth measuring of a shape that is worth trying: more registers a thread, points whole; of products (first: any) other fragments; of
 * segments that are turned such as are not. */
static const struct {
    int first;
    uint8_t whole, blocks, fragment, straight;
} variants[] = {{16, 0, 1, 0, 0}, {8, 0, 3, 0, 0}, {4, 0, 6, 0, 0}, {8, 1, 0, 0, 0}, {8, 1, 2, 0, 0}, {4, 1, 0, 0, 0},
                {2, 1, 0, 0, 0},  {0, 0, 0, 1, 0}, {0, 0, 0, 2, 0}, {1, 0, 0, 0, 1}, {2, 0, 0, 0, 1}, {4, 0, 0, 0, 1}};

static size_t add_variants(const search *s, segment_shape *best, size_t found, size_t most) {
    const size_t plain = found;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        for (size_t k = 0; k < plain && found < most; k++) {
            segment_shape varied = best[k];
            const int8_t first = varied.pass[0].first;
            if (variants[i].fragment ? first >= 0 : first != variants[i].first) continue;
            if (s->task->dtype != STN_F64 && !variants[i].straight &&
                !(s->task->dtype == STN_F16 && variants[i].fragment))
                continue;
            if (variants[i].straight && !segment_turned(s->task, &varied, &varied.pass[0])) continue;
            if (s->count > 1 && variants[i].blocks && !along_x(&varied.pass[0])) continue;
            varied.whole = variants[i].whole, varied.blocks = variants[i].blocks,
            varied.fragment = variants[i].fragment, varied.straight = variants[i].straight;
            bool good = true;
            for (int p = 0; p < varied.passes; p++) good = good && holds(s, &varied, &varied.pass[p]);
            if (!good) continue;
            best[found++] = varied;
            if (!variants[i].fragment) break; /* of the cheapest of this length */
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
