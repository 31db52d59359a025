/* Lists the rows of fused taps. */
#include "strategies/sparse/tap_rows.h"

#include <stdint.h>

#include "base/arith.h"

/* Lowest and highest row of each plane after f steps, from those after f - 1 steps and one more
 * step. */
typedef struct hull {
    int low[SPARSE_MOST_PLANES], high[SPARSE_MOST_PLANES]; /* low > high: no rows */
} hull;

static void clear_hull(hull *h) {
    for (int d = 0; d < SPARSE_MOST_PLANES; d++) h->low[d] = INT32_MAX / 2, h->high[d] = INT32_MIN / 2;
}

static void add_to_hull(hull *h, int plane, int low, int high) {
    h->low[plane] = (int)stn_min(h->low[plane], low);
    h->high[plane] = (int)stn_max(h->high[plane], high);
}

/* Launches share the steps evenly; where f does not divide them, some make one step less with the
 * same kernel. Taps without a centre tap may reach rows in f - 1 steps that f steps do not. */
static bool has_shorter_launches(const stn_task *task, int fused) {
    return fused > 1 && task->steps % (uint64_t)stn_div_up((int64_t)task->steps, fused) != 0;
}

bool sparse_rows_of(const stn_task *task, int fused, sparse_rows *rows) {
    int more = task->reach[0][0] + task->reach[0][1], low = fused * task->reach[1][0];
    if ((int64_t)fused * more + 1 > SPARSE_MOST_PLANES) return false;
    hull one, all, next, shorter;
    clear_hull(&one);
    clear_hull(&all);
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        add_to_hull(&one, (int)o[0] + task->reach[0][0], (int)o[1], (int)o[1]);
    }
    add_to_hull(&all, 0, 0, 0);
    if (!more) { /* one plane, whose rows grow evenly */
        shorter = all;
        shorter.low[0] = (fused - 1) * one.low[0], shorter.high[0] = (fused - 1) * one.high[0];
        all.low[0] = fused * one.low[0], all.high[0] = fused * one.high[0];
    }
    for (int f = 0; f < fused && more; f++, all = next) {
        shorter = all;
        clear_hull(&next);
        for (int d = 0; d <= f * more; d++)
            for (int e = 0; e <= more; e++)
                if (all.low[d] <= all.high[d] && one.low[e] <= one.high[e])
                    add_to_hull(&next, d + e, all.low[d] + one.low[e], all.high[d] + one.high[e]);
    }
    if (has_shorter_launches(task, fused))
        for (int d = 0; d <= (fused - 1) * more; d++)
            if (shorter.low[d] <= shorter.high[d])
                add_to_hull(&all, d + task->reach[0][0], shorter.low[d], shorter.high[d]);
    *rows = (sparse_rows){.planes = fused * more + 1};
    for (int d = 0; d < rows->planes; d++) {
        bool any = all.low[d] <= all.high[d];
        rows->first[d] = any ? all.low[d] + low : 0;
        rows->count[d] = any ? all.high[d] - all.low[d] + 1 : 0;
        rows->all += rows->count[d];
    }
    return true;
}
