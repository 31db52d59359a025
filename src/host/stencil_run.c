/* T steps of a stencil on the host: batches are processed in groups of grids that stay in cache,
 * the boxes of a step are shared out over the pool, and two buffers alternate (ping-pong). */
#include "host/stencil_run.h"

#include <string.h>

#include "base/arith.h"
#include "host/stencil_step.h"

/* Small grids of a batch are processed in groups of about this many points: all steps of one group,
 * then those of the next. */
#define CHUNK_POINTS (1 << 20)
/* Target size, in bytes, of a box's rows that are read for one row and again for the next. They may
 * exceed L2: L3 holds them, and prefetchers handle the short rows of narrower boxes less well. */
#define CACHED_BYTES (1 << 21)
/* Minimum number of boxes per thread, unless they are small, so that a delayed thread delays
 * little. */
#define BOXES_PER_THREAD 16
#define SMALL_BOX 4096 /* points */
/* Points times taps, below which waking a thread costs more than it saves. */
#define SMALL_WORK (1 << 15)

/* How a grid is divided into boxes. */
typedef struct stn_cut {
    int64_t size[3], count[3];
} stn_cut;

/* One time step of a chunk of grids. */
typedef struct stn_pass {
    stn_step step;
    stn_cut cut;
    void (*box)(const stn_step *step, int64_t batch, const stn_box *box);
    const stn_row_spectra *spectra; /* computes all points instead; or NULL */
} stn_pass;

static int64_t chunk_grids(const stn_task *task) {
    int64_t points = task->n[0] * task->n[1] * task->n[2];
    return stn_min(task->batch, stn_max(1, CHUNK_POINTS / points));
}

/* The output's memory cannot be a buffer between steps if its type is not the dtype. */
static size_t buffers_of(const stn_task *task) {
    if (task->steps == 1 && !task->in_place) return 0;
    return stn_task_converts(task) && task->steps > 2 ? 2 : 1;
}

size_t stn_host_workspace(const stn_task *task) {
    return buffers_of(task) * (size_t)(chunk_grids(task) * task->n[0] * task->n[1] * task->n[2]) *
           stn_dtype_size(task->dtype);
}

/* Within a box, rows are computed along the slowest axis. Across it the box is so narrow that the
 * rows which the next row's taps read again are still in cache. There are enough boxes for all
 * threads. */
static stn_cut cut_grid(const stn_task *task, int64_t grids, int threads) {
    const int64_t *n = task->n, cached = CACHED_BYTES / (int64_t)stn_dtype_size(task->dtype);
    int64_t planes = n[0] > 1 ? task->reach[0][0] + task->reach[0][1] + 2 : 1;
    int64_t rows = n[1] > 1 ? task->reach[1][0] + task->reach[1][1] + 2 : 1;
    stn_cut cut;
    cut.size[2] = stn_min(n[2], stn_max(cached / (planes * rows), 1024));
    cut.size[1] = n[0] > 1 ? stn_min(n[1], stn_max(cached / (planes * cut.size[2]), rows)) : n[1];
    cut.size[0] = n[0];
    for (;;) {
        for (int a = 0; a < 3; a++) {
            cut.count[a] = stn_div_up(n[a], cut.size[a]);
            cut.size[a] = stn_div_up(n[a], cut.count[a]);
            cut.count[a] = stn_div_up(n[a], cut.size[a]);
        }
        bool enough = grids * cut.count[0] * cut.count[1] * cut.count[2] >= (int64_t)threads * BOXES_PER_THREAD;
        if (enough || threads == 1 || cut.size[0] * cut.size[1] * cut.size[2] < 2 * SMALL_BOX) return cut;
        int slowest = cut.size[0] > 1 ? 0 : cut.size[1] > 1 ? 1 : 2;
        cut.size[slowest] = stn_div_up(cut.size[slowest], 2);
    }
}

static void run_boxes(void *user, int64_t begin, int64_t end) {
    const stn_pass *pass = user;
    const stn_cut *cut = &pass->cut;
    for (int64_t item = begin; item < end; item++) {
        int64_t rest = item, at[3];
        stn_box box;
        for (int a = 2; a >= 0; a--) {
            at[a] = rest % cut->count[a];
            rest /= cut->count[a];
            box.begin[a] = at[a] * cut->size[a];
            box.end[a] = stn_min(box.begin[a] + cut->size[a], pass->step.task->n[a]);
        }
        pass->box(&pass->step, rest, &box);
    }
}

static void run_pass(stn_pass *pass, stn_pool *pool, int64_t grids, stn_layout from, stn_layout to) {
    const stn_cut *cut = &pass->cut;
    int64_t work = cut->size[0] * cut->size[1] * cut->size[2] * (int64_t)pass->step.task->ntaps;
    pass->step.from = from;
    pass->step.to = to;
    if (pass->spectra) {
        stn_row_spectra_run(pass->spectra, &pass->step, pool, grids);
        return;
    }
    stn_pool_for(pool, grids * cut->count[0] * cut->count[1] * cut->count[2], stn_div_up(SMALL_WORK, work), run_boxes,
                 pass);
}

static stn_layout layout_of(const void *at, stn_element element, int64_t first, const int64_t stride[3],
                            int64_t batch_stride) {
    const int64_t size = (int64_t)stn_element_size(element);
    stn_layout layout = {(char *)at + first * batch_stride * size, {0}, batch_stride, element, size};
    memcpy(layout.stride, stride, sizeof layout.stride);
    return layout;
}

/* The task of some grids of the batch. Single lines become rows of one grid, and 2D grids its
 * planes: to begin a small grid takes longer than to compute it. It shares the taps of the
 * original. */
static stn_task task_of_grids(const stn_task *task, int64_t *grids) {
    const int(*reach)[2] = task->reach;
    stn_task some = *task;
    if (*grids == 1 || task->n[0] > 1 || reach[0][0] || reach[0][1]) return some;
    const int axis = task->n[1] > 1 || reach[1][0] || reach[1][1] ? 0 : 1;
    some.n[axis] = *grids;
    some.in_stride[axis] = task->in_batch_stride;
    some.out_stride[axis] = task->out_batch_stride;
    some.source_stride[axis] = task->source_batch_stride;
    some.batch = *grids = 1;
    return some;
}

/* Steps `begin` to `end` of the grids from `first` on. The buffers alternate such that the last
 * step writes to out; in place with an odd number of steps, to the workspace, which is copied. */
static void run_chunk(const stn_task *whole, const stn_row_spectra *spectra, stn_pool *pool, int64_t first,
                      int64_t grids, uint64_t begin, uint64_t end, const void *in, const void *source, void *out,
                      void *workspace) {
    const int64_t most = chunk_grids(whole), other_points = most * whole->n[0] * whole->n[1] * whole->n[2];
    const uint64_t before = (uint64_t)(first / most) * whole->steps, passes = stn_host_passes(whole);
    const stn_task some = spectra ? *whole : task_of_grids(whole, &grids), *const task = &some;
    stn_layout from = layout_of(in, stn_task_element(task, false), first, task->in_stride, task->in_batch_stride);
    stn_layout to = layout_of(out, stn_task_element(task, true), first, task->out_stride, task->out_batch_stride);
    const int64_t dense[3] = {task->n[1] * task->n[2], task->n[2], 1}, points = task->n[0] * task->n[1] * task->n[2];
    const stn_layout work = layout_of(workspace, stn_element_of(task->dtype), 0, dense, points);
    stn_layout other = to; /* the buffer that alternates with the workspace */
    if (buffers_of(task) == 2) {
        other = work;
        other.base += other_points * work.size;
    }

    stn_pass pass = {.cut = cut_grid(task, grids, stn_pool_threads(pool)), .box = stn_step_box, .spectra = spectra};
    stn_step_begin(&pass.step, task);
    stn_watch *watch = pass.step.watch = stn_pool_watched(pool);
    if (source)
        pass.step.source =
            layout_of(source, stn_element_of(task->dtype), first, task->source_stride, task->source_batch_stride);
    else
        pass.step.source = (stn_layout){.base = NULL};
    /* In place, `to` may not be written while `from` is read: start with the workspace, and copy at
     * the end if the result is there. */
    bool to_work = (task->in_place || task->steps % 2 == 0) != (begin % 2 == 1);
    if (begin > 0) from = to_work ? other : work;
    for (uint64_t t = begin; t < end && stn_watch_continues(watch); t++, to_work = !to_work) {
        const bool last = t + 1 == task->steps;
        const stn_layout target = to_work ? work : last ? to : other;
        stn_watch_set_done(watch, before + t, passes);
        if (last) pass.step.divisor = task->divisor;
        run_pass(&pass, pool, grids, from, target);
        from = target;
    }
    if (end == task->steps && from.base != to.base) {
        pass.box = stn_step_copy;
        pass.spectra = NULL;
        run_pass(&pass, pool, grids, from, to);
    }
}

void stn_host_run_source(const stn_task *task, const stn_row_spectra *spectra, stn_pool *pool, const void *in,
                         const void *source, void *out, void *workspace) {
    int64_t chunk = chunk_grids(task);
    for (int64_t first = 0; first < task->batch; first += chunk)
        run_chunk(task, spectra, pool, first, stn_min(chunk, task->batch - first), 0, task->steps, in, source, out,
                  workspace);
}

void stn_host_run(const stn_task *task, stn_pool *pool, const void *in, void *out, void *workspace) {
    stn_host_run_source(task, NULL, pool, in, NULL, out, workspace);
}

/* Saturates at 2^64 - 1 passes. */
uint64_t stn_host_passes(const stn_task *task) {
    uint64_t chunks = (uint64_t)stn_div_up(task->batch, chunk_grids(task)), passes;
    return __builtin_mul_overflow(chunks, task->steps, &passes) ? UINT64_MAX : passes;
}

void stn_host_run_part(const stn_task *task, const stn_row_spectra *spectra, stn_pool *pool, uint64_t first,
                       uint64_t count, const void *in, const void *source, void *out, void *workspace) {
    int64_t chunk = chunk_grids(task);
    for (uint64_t last = first + count; first < last;) {
        uint64_t begin = first % task->steps,
                 end = task->steps - begin < last - first ? task->steps : begin + last - first;
        int64_t grid = (int64_t)(first / task->steps) * chunk;
        run_chunk(task, spectra, pool, grid, stn_min(chunk, task->batch - grid), begin, end, in, source, out,
                  workspace);
        first += end - begin;
    }
}
