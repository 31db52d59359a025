/* Search for the cheapest FFT tiles. See fft_tile.h. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "plan/error_bound.h"
#include "strategies/faces/margins.h"
#include "strategies/segment/dense_tile.h"
#include "strategies/segment/fft_tile.h"

#define SECTOR_BYTES 32
#define MIN_USEFUL 4 /* At least 1 / MIN_USEFUL of a tile's points are outputs. */
#define FEW_LAUNCHES 8
#define MIN_FUSED 4    /* Least steps of a launch, if there are more than FEW_LAUNCHES. */
#define MAX_ATTEMPTS 6 /* Larger launch_numbers of launches that are tried. */
#define MAX_FITS 2
/* With more taps the search for the reach is slow: only a few launches are tried. */
#define MANY_TAPS 64
/* Largest reach. It leaves the longest tile of one block 1 / MIN_USEFUL of its points. */
#define MAX_REACH 144
#define MAX_MARGIN 64 /* Most steps by which the margins at faces are stepped in one launch. */

/* Tile sides in units of 16 points. Rows have 8 times as many complex points; columns have two
 * radices. */
static const int sixteenths[] = {2, 3, 4, 5, 6, 7, 8, 10, 12};
enum { SIDES = sizeof sixteenths / sizeof *sixteenths };
/* Tiles held by clusters: sides along y and x, and launch_numbers of blocks. */
#define LONGEST 16
static const uint8_t cluster_sides[][2] = {{8, 16}, {16, 8}, {12, 12}, {12, 16}, {16, 12}, {16, 16}},
                     shares[] = {2, 4, 8};

/* ---- the axes -------------------------------------------------------------------------------- */

static bool place_outputs(const stn_task *task, const segment_axis *a, const stn_reach *reach, int sixteenth,
                          segment_pass *pass) {
    const int64_t length = 16 * (int64_t)sixteenth, period = segment_period(a);
    *pass = (segment_pass){.axis = (uint8_t)a->axis,
                           .first = (int8_t)sixteenth,
                           .useful = (int)stn_min(a->n, length),
                           .reach = (int)stn_min(reach->side[0] + reach->side[1], INT32_MAX)};
    if (period && length % period == 0) return true; /* Circular convolution is the result. */
    const stn_reach own = segment_folded_reach(a, reach, &pass->folded);
    if (own.side[0] + own.side[1] >= length) return false;
    pass->reach = (int)(own.side[0] + own.side[1]);
    const int64_t unit = a->axis == 2 ? SECTOR_BYTES / (int64_t)stn_dtype_size(task->dtype) : 1;
    pass->lead = (int)stn_round_up(own.side[0], a->axis == 2 ? 2 : 1);
    const int64_t space = length - pass->lead - own.side[1];
    pass->useful = (int)(a->n <= space ? a->n : space / unit * unit);
    return space > 0 && pass->useful > 0 && pass->useful >= stn_min(a->n, length / MIN_USEFUL);
}

static stn_reach reach_of(const stn_task *task, int which, uint64_t fused) {
    return stn_reach_find(task, 1 + which, fused, segment_tail(task->dtype));
}

bool segment_fft_tile_refit(const stn_task *task, segment_shape *shape) {
    bool good = true;
    for (int which = 0; which < 2 && good; which++) {
        const segment_axis a = segment_fft_tile_axis(task, which);
        good = a.exact || shape->margins;
        if (!good) break;
        const stn_reach reach = reach_of(task, which, (uint64_t)shape->fused);
        good = place_outputs(task, &a, &reach, shape->pass[which].first, &shape->pass[which]);
    }
    return good;
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Whether a tile fits a block's shared memory, or that of a cluster, which needs sm_90 or newer;
 * and blocks are counted in 31 bits. */
static bool can_run(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    return (segment_fft_tile_shares(shape) == 1 || machine->sm >= 90) &&
           segment_fft_tile_shared(task->dtype, shape) <= machine->shared_per_block &&
           segment_fft_tile_count(task, shape) * segment_fft_tile_shares(shape) < 0x1p31;
}

static bool is_served(const stn_task *task, const char **why) {
    bool reaches = task->reach[0][0] + task->reach[0][1] == 0;
    for (int axis = 1; axis < 3; axis++) reaches = reaches && task->reach[axis][0] + task->reach[axis][1] > 0;
    if (!reaches) {
        *why = "its weights are neither separable nor those of a 2D stencil";
        return false;
    }
    return true;
}

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    segment_axis axes[2];
    bool same_reach; /* The taps reach equally far along both axes. */
    segment_fft_tiles_found *lists;
    bool single;    /* The caller asks only whether there is any tile. */
    double enough;  /* With a time limit: seconds of the cheapest tile that is accurate. */
    double largest; /* Largest absolute value of the symbol; 0: not known yet. */
} search;

/* Reach of this number of steps; false: too far for any tile. Slow. */
static bool find_reaches(const search *s, uint64_t fused, stn_reach reach[2]) {
    for (int i = 0; i < 2; i++) {
        reach[i] = i && s->same_reach ? reach[0] : reach_of(s->task, i, fused);
        segment_pass pass;
        bool fits = s->lists[1].most && place_outputs(s->task, &s->axes[i], &reach[i], LONGEST, &pass);
        for (int k = SIDES - 1; k >= 0 && !fits; k--)
            fits = place_outputs(s->task, &s->axes[i], &reach[i], sixteenths[k], &pass);
        if (!fits) return false;
    }
    return true;
}

/* Properties shared by all tiles for launches of one number of steps. */
typedef struct launches_of {
    segment_shape shape;
    stn_reach reach[2];
    double faces;
} launches_of;

/* Adds a tile of y and x units of 16 points, held by a cluster of this many blocks (0: by one
 * block). Returns false if it does not serve such launches. */
static bool add_tile(search *s, const launches_of *l, int y, int x, int cluster) {
    const int first[2] = {y, x};
    segment_shape shape = l->shape;
    shape.shares = cluster;
    for (int i = 0; i < 2; i++)
        if (!place_outputs(s->task, &s->axes[i], &l->reach[i], first[i], &shape.pass[i])) return false;
    /* A tile that holds the whole plane needs only one launch. */
    if (shape.launches > 1 && segment_fft_tile_holds_plane(s->task, &shape)) return true;
    if (!can_run(s->task, s->machine, &shape)) return false;
    segment_fft_tiles_found *to = &s->lists[cluster > 0];
    double most = to->found == to->most && to->most ? to->costs[to->found - 1] : INFINITY;
    if (to->found && s->machine->time_limit > 0) most = fmin(most, nextafter(s->machine->time_limit, INFINITY));
    most = fmin(most, s->enough);
    const double seconds = segment_fft_tile_choose_threads(s->task, s->machine, l->faces, most, &shape);
    if (seconds >= most) return true;
    segment_shape *at = stn_cheapest_insert(to->best, to->costs, sizeof *to->best, &to->found, to->most, seconds);
    if (at) *at = shape;
    if (s->machine->time_limit > 0 && segment_fft_tile_error(s->task, &shape) <= stn_error_bound(s->task))
        s->enough = seconds;
    return true;
}

/* Adds all tiles for launches of one number of steps. */
static bool add_tiles(search *s, const launches_of *l) {
    bool any = false;
    for (int y = 0; y < SIDES; y++)
        for (int x = 0; x < SIDES && !(any && s->single); x++) any |= add_tile(s, l, sixteenths[y], sixteenths[x], 0);
    if (any && s->single) return true;
    for (size_t i = 0; i < sizeof cluster_sides / sizeof *cluster_sides && s->lists[1].most; i++)
        for (size_t k = 0; k < sizeof shares; k++) {
            int radices[2];
            segment_shape shape = l->shape;
            shape.pass[0].first = (int8_t)cluster_sides[i][0];
            segment_fft_tile_radices(&shape, radices);
            if (radices[1] % shares[k]) continue;
            any |= add_tile(s, l, cluster_sides[i][0], cluster_sides[i][1], shares[k]);
        }
    return any;
}

/* Whether the symbol's power overflows the data's type. */
static bool grows_too_far(search *s, int64_t fused) {
    if (!(s->largest > 0)) s->largest = stn_reach_max_symbol(s->task->searches, s->task->ntaps, s->task->taps);
    return segment_overflows(s->task, s->largest, (uint64_t)fused);
}

static bool add_launches(search *s, int64_t launches) {
    const stn_task *task = s->task;
    const int64_t fused = stn_div_up((int64_t)task->steps, launches);
    const bool margins = !s->axes[0].exact || !s->axes[1].exact;
    launches_of l = {.shape = {.launches = (int)launches, .fused = (int)fused, .margins = margins, .passes = 1}};
    int64_t low[3], high[3];
    if (margins && (fused > MAX_MARGIN || !stn_faces_interior(task, (int)fused, low, high))) return false;
    if (!find_reaches(s, (uint64_t)fused, l.reach) || grows_too_far(s, fused)) return false;
    l.faces = segment_fft_tile_faces(task, s->machine, &l.shape);
    return add_tiles(s, &l);
}

/* Numbers of launches that are tried, from index FIRST_OF_FEW on if only few are tried. */
static const int launch_numbers[] = {24, 18, 13, 10, 8, 7, 6, 5, 4, 3, 2, 1};
enum { FIRST_OF_FEW = 4 };

/* Tries more launches, for runs that need them. */
static bool add_many(search *s, int enough) {
    const double most = MAX_REACH / (SEGMENT_MIN_REACH * segment_dense_tile_spread(s->task)),
                 steps = (double)s->task->steps;
    int fits = 0;
    double launches = fmax(launch_numbers[0], ceil(steps / (most * most)));
    for (int i = 0; i < MAX_ATTEMPTS && fits < enough && launches <= fmin(steps, INT32_MAX); i++) {
        if (segment_exceeds_time_limit(s->task, s->machine, launches)) break;
        fits += add_launches(s, (int64_t)launches);
        launches += floor(launches / 3) + 1;
    }
    return fits > 0;
}

bool segment_fft_tile_search(const stn_task *task, const stn_machine *machine, segment_fft_tiles_found lists[2],
                             const char **why) {
    if (!is_served(task, why)) return false;
    *why = "its taps reach too far, or its symbol grows past the data's range";
    search s = {task,
                machine,
                {segment_fft_tile_axis(task, 0), segment_fft_tile_axis(task, 1)},
                .lists = lists,
                .enough = INFINITY};
    const bool single = lists[0].most == 1, few = single || task->ntaps > MANY_TAPS;
    s.same_reach = stn_reach_similar(task, 1, 2), s.single = single;
    /* Launches of fewer steps have less reach and growth: if they do not fit, launches of more
     * steps do not either. */
    bool any = false;
    for (size_t i = few ? FIRST_OF_FEW : 0; i < sizeof launch_numbers / sizeof *launch_numbers; i++) {
        const int64_t launches = launch_numbers[i];
        if (launches * (launches > FEW_LAUNCHES ? MIN_FUSED : 1) > (int64_t)task->steps) continue;
        if (segment_exceeds_time_limit(task, machine, (double)launches)) continue;
        if (!add_launches(&s, launches)) break;
        any = true;
        if (single) break;
    }
    return any || (task->ntaps <= MANY_TAPS && add_many(&s, single ? 1 : MAX_FITS));
}
