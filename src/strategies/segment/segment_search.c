/* Finds the cheapest candidates: passes along lines, and tiles. See segment_shape.h. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "strategies/faces/margins.h"
#include "strategies/segment/fft_tile.h"

#define MAX_MARGIN 64 /* Most steps by which the margins at faces are stepped in one launch. */
/* Numbers of launches that fit and are tried; larger ones are almost never faster. */
#define MAX_FITS 4
#define MAX_WORK_ITEMS ((int64_t)1 << 30)

static const int firsts[] = {64, 32, 16, 8, 4, 2, 1, -1, -2, -3, -4, -5};
_Static_assert(sizeof firsts / sizeof *firsts == 7 + SEGMENT_PRIME_FACTORS, "FFT lengths and prime-factor lengths");

static bool along_x(const segment_pass *pass) { return pass->axis == 2; }

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    segment_axis axes[3];
    int count;
    /* products: dense DFTs are tried too, if candidates are timed. In f64 they are always slower,
     * and for other types their rate is an estimate. */
    bool margins, products;
    double largest;     /* Largest absolute value of the symbol. */
    stn_reach reach[3]; /* By axis, of the number of steps that is being tried. */
} search;

/* Whether a kernel can run the pass: dense DFTs have tensor cores of their type, a segment and its
 * symbol fit a block's shared memory, and segments are counted in 31 bits. */
static bool can_run(const search *s, const segment_shape *shape, const segment_pass *pass) {
    if (pass->first < 0 && !(s->products && s->machine->flops[segment_unit(s->task, shape, pass)] > 0)) return false;
    return segment_shared(s->task, shape, pass) <= s->machine->shared_per_block &&
           segment_threads(shape, pass) <= 1024 && segment_work_items(s->task, shape, pass) < MAX_WORK_ITEMS;
}

/* The cheapest pass along axis number i, or the one with this `first` if it is not 0. */
static bool best_pass(const search *s, const segment_shape *shape, int i, int first, segment_pass *best) {
    double least = INFINITY;
    for (size_t k = 0; k < sizeof firsts / sizeof *firsts; k++) {
        segment_pass pass;
        double flops;
        if ((first && firsts[k] != first) || !segment_fit(s->task, &s->axes[i], &s->reach[i], firsts[k], &pass))
            continue;
        if (!can_run(s, shape, &pass)) continue;
        const double seconds = segment_seconds(s->task, s->machine, shape, &pass, &flops);
        if (seconds >= least) continue;
        least = seconds;
        *best = pass;
    }
    return least < INFINITY;
}

/* Reach of `fused` steps along each axis. Axes with equal weights share one search, which is
 * slow. */
static void find_reaches(search *s, uint64_t fused) {
    for (int i = 0; i < s->count; i++) {
        const bool again = i && segment_same_weights(&s->axes[i], &s->axes[i - 1]);
        s->reach[i] = again ? s->reach[i - 1] : segment_axis_reach(&s->axes[i], s->task, fused);
    }
}

/* Chooses the fastest variant of the shortest segments. Inputs go directly to registers, which
 * saves 5 to 18% on long lines in all types; in f16, and in runs of several passes, segments are
 * not rotated either. */
#define LONG_LINE 65536
static void choose_transfer(const search *s, segment_shape *shape) {
    const segment_pass *pass = &shape->pass[0];
    const bool several = shape->passes > 1;
    if (pass->first != 1 || !along_x(pass) || (s->task->rank > 1 && !several)) return;
    if ((several ? stn_task_points(s->task) : s->task->n[2]) < LONG_LINE) return;
    const segment_shape plain = *shape;
    shape->transfer = SEGMENT_DIRECT_INPUTS;
    shape->unrotated = (several || s->task->dtype == STN_F16) && segment_is_rotated(s->task, shape, pass);
    for (int i = 0; i < shape->passes; i++)
        if (!can_run(s, shape, &shape->pass[i])) *shape = plain;
}

static bool shape_for(const search *s, int64_t launches, int pairs, int first, segment_shape *shape) {
    *shape =
        (segment_shape){.launches = (int)launches, .margins = s->margins, .pairs = pairs, .passes = (uint8_t)s->count};
    shape->sources = !s->margins && segment_has_source(s->task);
    shape->fused = (int)stn_div_up((int64_t)s->task->steps, launches);
    for (int i = 0; i < s->count; i++)
        if (!best_pass(s, shape, i, first, &shape->pass[i])) return false;
    choose_transfer(s, shape);
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
    *why = "its weights are not separable";
    if (!segment_axes_of(s->task, s->axes, &s->count)) return false;
    for (int i = 0; i < s->count; i++) s->margins = s->margins || !s->axes[i].exact;
    s->largest = stn_reach_max_symbol(s->task->searches, s->task->ntaps, s->task->taps);
    *why = "a side is neither periodic nor a mirror that symmetric taps commute with";
    if (s->task->rank > 1 && has_values(s->task))
        *why = s->task->rank == 2 ? "fixed and constant sides need taps that are symmetric along both axes and reach "
                                    "one point past such a side"
                                  : "fixed sides of a 3D grid, and constant sides of several values, are not served";
    return !s->margins || s->task->rank == 1;
}

/* Variants to be timed of the cheapest candidates: more registers per thread, other fragments of
 * dense DFTs (first: any), unrotated segments, and other transfers of the shortest segments
 * (SEGMENT_TRANSFER). */
static const struct {
    int first;
    uint8_t blocks, fragment, unrotated, transfer;
} variants[] = {{1, 0, 0, 0, 0}, {1, 0, 0, 0, 1}, {1, 0, 0, 0, 2},  {1, 5, 0, 0, 2},  {1, 0, 0, 0, 3}, {1, 0, 0, 0, 4},
                {1, 0, 0, 1, 2}, {1, 0, 0, 1, 4}, {32, 1, 0, 0, 0}, {16, 1, 0, 0, 0}, {8, 3, 0, 0, 0}, {4, 6, 0, 0, 0},
                {0, 0, 1, 0, 0}, {0, 0, 2, 0, 0}, {1, 0, 0, 1, 0},  {2, 0, 0, 1, 0},  {4, 0, 0, 1, 0}};

/* Other numbers of threads for the two cheapest tiles. */
static size_t add_tile_variants(segment_shape *best, size_t found, size_t most) {
    static const uint8_t warps[] = {4, 8, 12, 16};
    const size_t plain = found;
    for (size_t k = 0, tiles = 0; k < plain && tiles < 2; k++) {
        if (!best[k].tile) continue;
        tiles++;
        for (size_t i = 0; i < sizeof warps && found < most; i++) {
            if (warps[i] == best[k].tile) continue;
            best[found] = best[k];
            best[found++].tile = warps[i];
        }
    }
    return found;
}

static bool is_listed(const segment_shape *list, size_t count, const segment_shape *shape) {
    for (size_t i = 0; i < count; i++)
        if (!memcmp(&list[i], shape, sizeof *shape)) return true;
    return false;
}

static size_t add_variants(const search *s, segment_shape *best, size_t found, size_t most) {
    const size_t plain = found;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        for (size_t k = 0; k < plain && found < most; k++) {
            segment_shape varied = best[k];
            if (varied.tile) continue;
            const int8_t first = varied.pass[0].first;
            if (variants[i].fragment ? first >= 0 : first != variants[i].first) continue;
            if (s->task->dtype != STN_F64 && !variants[i].unrotated && first != 1 &&
                !(s->task->dtype == STN_F16 && variants[i].fragment))
                continue;
            if (variants[i].unrotated && !segment_is_rotated(s->task, &varied, &varied.pass[0])) continue;
            if (s->count > 1 && variants[i].blocks && !along_x(&varied.pass[0])) continue;
            varied.blocks = variants[i].blocks, varied.fragment = variants[i].fragment;
            varied.unrotated = variants[i].unrotated, varied.transfer = variants[i].transfer;
            bool good = true;
            for (int p = 0; p < varied.passes; p++) good = good && can_run(s, &varied, &varied.pass[p]);
            if (!good || is_listed(best, found, &varied)) continue;
            best[found++] = varied;
            if (!variants[i].fragment) break; /* Only the cheapest candidate of this length. */
        }
    return found;
}

/* Pairs of columns in a tile: rows of 64 bytes of f64 come first. */
static const int pairs_of[] = {4, 2, 8};

/* Adds all shapes of this number of launches to the list of the cheapest. */
static bool add_shapes(const search *s, int64_t launches, segment_shape *best, double *costs, size_t *found,
                       size_t most) {
    bool any = false;
    for (size_t p = 0; p < (s->count > 1 || s->axes[0].axis != 2 ? sizeof pairs_of / sizeof *pairs_of : 1); p++)
        for (size_t i = 0; i < sizeof firsts / sizeof *firsts + (s->count > 1); i++) {
            /* 0: each axis chooses for itself. */
            const int first = i < sizeof firsts / sizeof *firsts ? firsts[i] : 0;
            segment_shape shape;
            stn_estimate e;
            if (!shape_for(s, launches, pairs_of[p], first, &shape)) continue;
            any = true;
            segment_cost(s->task, s->machine, &shape, &e);
            if (is_listed(best, *found, &shape)) continue;
            segment_shape *to = stn_cheapest_insert(best, costs, sizeof *best, found, most, e.seconds);
            if (to) *to = shape;
        }
    return any;
}

/* Appends dense DFTs of every length with all steps in one launch, to be timed even if `found`
 * cheaper shapes have filled the list. */
static size_t add_dense(search *s, segment_shape *best, size_t found, size_t most) {
    if (s->count > 1 || s->task->steps > INT32_MAX || segment_overflows(s->task, s->largest, s->task->steps))
        return found;
    if (s->margins && s->task->steps > MAX_MARGIN) return found;
    find_reaches(s, s->task->steps);
    for (int i = 1; i <= SEGMENT_PRIME_FACTORS && found < most; i++) {
        segment_shape shape;
        if (shape_for(s, 1, pairs_of[0], -i, &shape) && !is_listed(best, found, &shape)) best[found++] = shape;
    }
    return found;
}

/* Searches passes along lines. False: none serves the task. */
static bool search_lines(search *s, segment_shape *best, double *costs, size_t *found, size_t most, bool one,
                         const char **why) {
    const stn_task *task = s->task;
    if (!open_search(s, why)) return false;
    *why = "its taps reach too far, or its symbol grows past the data's range";
    const int enough = one ? 1 : MAX_FITS;
    for (int64_t launches = 1, fits = 0; launches <= (int64_t)task->steps && fits < enough;
         launches += launches / 3 + 1) {
        const int64_t fused = stn_div_up((int64_t)task->steps, launches);
        if ((s->margins && fused > MAX_MARGIN) || segment_overflows(s->task, s->largest, (uint64_t)fused)) continue;
        if (segment_exceeds_time_limit(task, s->machine, (double)(launches * s->count))) break;
        find_reaches(s, (uint64_t)fused);
        fits += add_shapes(s, launches, best, costs, found, most);
    }
    return true;
}

/* Most tiles that are timed if only tiles serve, and if other shapes do too. */
#define MAX_TILES 32
#define TILES_WITH_LINES 6
#define CLUSTER_TILES 12 /* Tiles of clusters, where candidates are timed. */

/* Adds tiles to `found` shapes, which are passes along lines. */
static size_t add_tiles(const search *s, segment_shape *best, double *costs, size_t found, size_t most, size_t space,
                        const char **why) {
    const bool timed = s->products;
    const size_t plain = (size_t)stn_min((int64_t)most, STN_CANDIDATES);
    double tile_costs[2][MAX_TILES];
    segment_shape tiles[2][MAX_TILES];
    segment_fft_tiles_found lists[2] = {{tiles[0], tile_costs[0], 0, space},
                                        {tiles[1], tile_costs[1], 0, timed ? CLUSTER_TILES : space}};
    (void)segment_fft_tile_search(s->task, s->machine, lists, why);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k].found; i++) {
            if (timed && found == most) break;
            segment_shape *to = timed
                                    ? &best[found++]
                                    : stn_cheapest_insert(best, costs, sizeof *best, &found, plain, lists[k].costs[i]);
            if (to) *to = lists[k].best[i];
        }
    return found;
}

size_t segment_search(const stn_task *task, const stn_machine *machine, segment_shape *best, size_t most,
                      const char **why) {
    search s = {.task = task, .machine = machine, .products = most > STN_CANDIDATES};
    double costs[STN_CANDIDATES];
    size_t found = 0;
    const size_t plain = (size_t)stn_min((int64_t)most, STN_CANDIDATES);
    const char *other = NULL;
    const bool timed = s.products, lines = search_lines(&s, best, costs, &found, plain, most == 1, why);
    if (found && most == 1) return found; /* The caller asks only whether there is any shape. */
    const size_t space = lines ? (size_t)stn_min((int64_t)plain, TILES_WITH_LINES) : timed ? MAX_TILES : plain;
    if (timed && lines) found = add_dense(&s, best, found, most);
    if (timed) found = add_variants(&s, best, found, most);
    found = add_tiles(&s, best, costs, found, most, space, lines ? &other : why);
    return timed ? add_tile_variants(best, found, most) : found;
}
