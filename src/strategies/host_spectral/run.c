/* A run: for each batch of grids, all passes one after another, each distributed over the thread
 * pool. */
#include <stdatomic.h>

#include "base/arith.h"
#include "strategies/host_spectral/passes.h"

typedef struct pass {
    const wave *w;
    pass_work *run;
    int64_t groups;
    stn_watch *watch;
    _Atomic int64_t next;
} pass;

/* Each thread takes the next group until none is left: groups need not take the same time. */
static void run_slots(void *user, int64_t begin, int64_t end) {
    pass *p = user;
    for (int64_t slot = begin; slot < end; slot++)
        for (int64_t group; (group = atomic_fetch_add(&p->next, 1)) < p->groups && stn_watch_goes_on(p->watch);)
            p->run(p->w, group, p->w->planes + slot * shape_planes(p->w->s));
}

static void run_pass(const wave *w, stn_pool *pool, pass_work *run, int64_t groups) {
    pass p = {.w = w, .run = run, .groups = groups, .watch = stn_pool_watched(pool)};
    stn_pool_for(pool, stn_min(stn_pool_threads(pool), groups), 1, run_slots, &p);
}

static int64_t last_groups(const wave *w) {
    const shape *s = w->s;
    return w->grids * (s->last == 0 ? s->axis[1].length : 1) * column_groups(w, s->last);
}

static void run_back(const wave *w, stn_pool *pool) {
    const shape *s = w->s;
    run_pass(w, pool, pass_last, last_groups(w));
    if (s->last == 0) run_pass(w, pool, pass_middle_back, w->grids * w->task->n[0] * column_groups(w, 1));
    run_pass(w, pool, pass_rows_back, row_groups(w));
}

static void run_wave(const wave *w, stn_pool *pool) {
    const shape *s = w->s;
    const int64_t planes = w->grids * w->task->n[0];
    if (s->source) run_pass(w, pool, pass_added, planes * w->task->n[1]);
    if (w->task->rank == 1) {
        run_pass(w, pool, pass_lines, row_groups(w));
        return;
    }
    run_pass(w, pool, pass_rows_forward, row_groups(w));
    if (s->last == 0) run_pass(w, pool, pass_middle_forward, planes * column_groups(w, 1));
    if (w->held) run_pass(w, pool, pass_hold, last_groups(w));
    for (uint64_t i = 0; i < w->task->snapshots; i++) {
        const wave at = at_snapshot(w, i);
        run_back(&at, pool);
    }
}

void passes_run(const stn_task *task, const shape *s, stn_pool *pool, const stn_execution *run) {
    const int64_t size = (int64_t)stn_dtype_size(task->dtype), spectrum = task->rank == 1 ? 0 : 2 * s->grid * s->wave;
    for (int64_t first = 0; first < task->batch; first += s->wave) {
        double *work = run->workspace;
        wave w = {.task = task, .s = s, .words = stn_fft_words_best(), .kept = s->torus.kept, .steps = task->steps};
        w.in = (const char *)run->in + first * task->in_batch_stride * size;
        w.out = (char *)run->out + first * task->out_batch_stride * size;
        if (run->source) w.source = (const char *)run->source + first * task->source_batch_stride * size;
        w.grids = stn_min(s->wave, task->batch - first);
        w.spectrum[0] = work, w.spectrum[1] = work + spectrum;
        w.added = work + (s->source ? 2 : 1) * spectrum;
        if (task->snapshots > 1 && task->rank > 1) w.held = work + shape_between(task, s) - shape_all_held(task, s);
        w.planes = work + shape_between(task, s);
        run_wave(&w, pool);
    }
}

size_t passes_workspace(const stn_task *task, const shape *s, int threads) {
    return (size_t)(shape_between(task, s) + threads * shape_planes(s)) * sizeof(double);
}
