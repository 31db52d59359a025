/* Plans and runs a tree of boxes. A box has two packed grids for ping-pong. The first round of the
 * whole grid reads the caller's input if that is packed too, and the last one writes the caller's
 * output, so that the workspace only holds every other round's result. A band's box is copied into
 * a grid of its own and its corrected points are copied back; a band that is computed by single
 * steps only is read in place. Copies are plans too: a stencil of one tap. */
#include "strategies/aperiodic/band_tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"

#define MAX_NODES 400
#define GRID_ALIGNMENT 256 /* alignment of each grid in bytes */

typedef struct maker {
    stn_plan *plan;
    const shape *s;
    const cost_table *costs;
    const levels *l;
    tree *tree;
    size_t *used; /* workspace bytes of the boxes that are in use at the same time */
    int branch;   /* the branch (stream) of the boxes that are made, from 1 on; 0: none */
} maker;

/* ---- plans */

static int64_t element_of(const int64_t at[3], const int64_t stride[3]) {
    return at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2];
}

/* Reduces the alignment to that of an aligned pointer plus `elements` elements. */
static void lower_alignment(stn_task *task, int64_t elements) {
    while (elements * (int64_t)stn_dtype_size(task->dtype) % task->alignment) task->alignment /= 2;
}

static void set_layout(stn_task *task, const stn_grid_layout *layout, bool output) {
    memcpy(output ? task->out_stride : task->in_stride, layout->stride, sizeof layout->stride);
    *(output ? &task->out_batch_stride : &task->in_batch_stride) = layout->batch;
}

static stn_status add_plan(const maker *m, const stn_task *task, const char *name, stn_plan **plan, stn_error *error) {
    STN_TRY(stn_subplan(m->plan, task, name, plan, error));
    size_t *most = &m->tree->plan_bytes[m->branch];
    *most = (size_t)stn_round_up(stn_max((int64_t)*most, (int64_t)(*plan)->workspace_size), GRID_ALIGNMENT);
    return STN_OK;
}

/* The position of a box in a larger one: its layout and its first element. */
typedef struct place {
    stn_grid_layout layout;
    int64_t element;
} place;

/* copies: number of boxes, one batch stride apart. */
static stn_status add_copy(const maker *m, const box *of, int64_t copies, const place *from, const place *to,
                           int alignment, stn_plan **plan, stn_error *error) {
    stn_tap one = {{0, 0, 0}, 1};
    stn_task task = aperiodic_shape_by_steps(m->s, of, 1);
    memset(task.boundary, 0, sizeof task.boundary);
    memset(task.reach, 0, sizeof task.reach);
    task.taps = &one, task.ntaps = 1, task.pattern = STN_PATTERN_STAR, task.source = false;
    task.alignment = alignment, task.batch = copies;
    set_layout(&task, &from->layout, false), set_layout(&task, &to->layout, true);
    lower_alignment(&task, from->element), lower_alignment(&task, to->element);
    return add_plan(m, &task, m->plan->machine.is_device ? "direct" : "host", plan, error);
}

/* Plans copies of rows between a band's box and the enclosing box; both parts in one launch, as a
 * batch of two, where possible. */
static stn_status add_rows(const maker *m, const band *b, const rows *part, const stn_grid_layout *other,
                           const stn_grid_layout *own, bool load, stn_plan *plans[2], stn_error *error) {
    const int64_t outer_stride = other->stride[b->axis], own_stride = own->stride[b->axis], batch = m->s->task->batch;
    const bool both = b->parts == 2 && batch == 1 && part[0].count == part[1].count;
    for (int i = 0; i < (both ? 1 : b->parts); i++) {
        box piece = b->box;
        place outer = {*other, part[i].from * outer_stride}, inner = {*own, part[i].at * own_stride};
        piece.n[b->axis] = part[i].count;
        if (both) outer.layout.batch = (part[1].from - part[0].from) * outer_stride;
        if (both) inner.layout.batch = (part[1].at - part[0].at) * own_stride;
        STN_TRY(add_copy(m, &piece, both ? 2 : batch, load ? &outer : &inner, load ? &inner : &outer, 16, &plans[i],
                         error));
    }
    return STN_OK;
}

/* ---- boxes */

static stn_status make_node(const maker *m, const box *of, const int64_t origin[3], uint64_t steps, const node *parent,
                            const band *from, int depth, node **made, stn_error *error);

static stn_status make_edge(const maker *m, const node *parent, uint64_t steps, edge *e, int depth, stn_error *error) {
    const band *b = &e->band;
    int64_t origin[3];
    memcpy(origin, parent->origin, sizeof origin);
    origin[b->axis] += b->seen[0].from;
    m->tree->bands += b->parts;
    STN_TRY(make_node(m, &b->box, origin, steps, parent, b, depth, &e->node, error));
    const stn_grid_layout *own = &e->node->layout, *other = &parent->layout;
    if (!e->node->reads_parent) STN_TRY(add_rows(m, b, b->seen, other, own, true, e->load, error));
    return add_rows(m, b, b->corrected, other, own, false, e->store, error);
}

/* Plans some steps of the box at once. Its source keeps the caller's layout. */
static stn_status make_stage(const maker *m, node *n, uint64_t steps, uint64_t rounds, int depth, stn_error *error) {
    band bands[6];
    stn_estimate unused;
    stage *at = &n->stages[n->count++];
    stn_task task = aperiodic_shape_by_transforms(m->s, &n->box, steps);
    if (task.source) lower_alignment(&task, element_of(n->origin, task.source_stride));
    const char *name = aperiodic_cheapest_transform(&task, &m->plan->machine, &unused);
    if (!name)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "no transform serves one of the bands of aperiodic: use another size");
    at->rounds = rounds;
    STN_TRY(add_plan(m, &task, name, &at->plan, error));
    const int count = aperiodic_shape_bands(m->s, &n->box, steps, bands);
    const bool forks = m->tree->forks && depth == 0;
    const size_t used = *m->used;
    /* tree->grid_bytes is the highest end of a grid in the workspace so far. It starts again for
     * each band; `highest` keeps the maximum. concurrent_end: where concurrent bands end. */
    size_t highest = m->tree->grid_bytes, concurrent_end = used;
    for (int i = 0; i < count; i++) {
        edge *e = &at->edges[at->count++];
        maker own = *m;
        if (forks) own.branch = 1 + i % STN_FORK_BRANCHES;
        /* Bands that run one after another share memory. */
        *m->used = m->tree->grid_bytes = concurrent_end;
        e->band = bands[i];
        STN_TRY(make_edge(&own, n, steps, e, depth + 1, error));
        if (forks) concurrent_end = m->tree->grid_bytes;
        highest = highest > m->tree->grid_bytes ? highest : m->tree->grid_bytes;
    }
    *m->used = used, m->tree->grid_bytes = highest;
    return STN_OK;
}

/* Plans a box that is stepped. A band of one part is read in place. */
static stn_status make_steps(const maker *m, node *n, uint64_t steps, const node *parent, const band *from,
                             stn_error *error) {
    stn_task task = aperiodic_shape_by_steps(m->s, &n->box, steps);
    stn_estimate unused;
    n->reads_parent = from->parts == 1;
    if (n->reads_parent) {
        set_layout(&task, &parent->layout, false);
        lower_alignment(&task, from->seen[0].from * parent->layout.stride[from->axis]);
    }
    if (task.source) lower_alignment(&task, element_of(n->origin, task.source_stride));
    const char *name = aperiodic_cheapest_stepping(&task, &m->plan->machine, &unused);
    n->stages[n->count++].rounds = 1;
    return add_plan(m, &task, name ? name : "direct", &n->stages[0].plan, error);
}

static bool has_packed_layout(const stn_task *task) {
    const stn_grid_layout packed = stn_packed_layout(task->n, task->dtype);
    const bool batches = task->in_batch_stride == packed.batch && task->out_batch_stride == packed.batch;
    if (task->alignment < 16 || (task->batch > 1 && !batches)) return false;
    for (int axis = 0; axis < 3; axis++)
        if (task->n[axis] > 1 &&
            (task->in_stride[axis] != packed.stride[axis] || task->out_stride[axis] != packed.stride[axis]))
            return false;
    return true;
}

int aperiodic_tree_copies(const stn_task *task, uint64_t rounds) {
    if (!has_packed_layout(task)) return 2;
    return task->in_place && rounds % 2 == 1;
}

int aperiodic_tree_grids(const stn_task *task, uint64_t rounds) {
    const int copies = aperiodic_tree_copies(task, rounds);
    return copies == 2 ? 2 : rounds > 1 || copies;
}

/* The number of grids that the box needs: the root may use the caller's, and a band that reads
 * the enclosing box in place needs one only. */
static int count_grids(const maker *m, const division *d, const band *from) {
    if (from) return d->steps || from->parts > 1 ? 2 : 1;
    if (!d->steps) return 1;
    m->tree->rounds = d->rounds + (d->rest > 0);
    return aperiodic_tree_grids(m->s->task, m->tree->rounds);
}

/* from: the band of `parent` that becomes this node; both are NULL for the root. */
static stn_status make_node(const maker *m, const box *of, const int64_t origin[3], uint64_t steps, const node *parent,
                            const band *from, int depth, node **made, stn_error *error) {
    tree *t = m->tree;
    node *n = *made = calloc(1, sizeof *n);
    if (!n) return stn_fail_memory(error, "a plan", sizeof *n);
    if (++t->nodes > MAX_NODES)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "aperiodic would need more than %d nested bands here", MAX_NODES);
    t->depth = (int)stn_max(t->depth, depth);
    n->box = *of;
    memcpy(n->origin, origin, sizeof n->origin);
    n->layout = stn_packed_layout(of->n, m->s->task->dtype);
    const division d = aperiodic_cost_divide(m->s, m->costs, m->l, of, steps, !parent);
    const size_t bytes = (size_t)(n->layout.batch * m->s->task->batch) * stn_dtype_size(m->s->task->dtype);
    for (int i = 2 - count_grids(m, &d, from); i < 2; i++) {
        n->grid_offset[i] = *m->used;
        *m->used += (size_t)stn_round_up((int64_t)bytes, GRID_ALIGNMENT);
    }
    if (*m->used > t->grid_bytes) t->grid_bytes = *m->used;
    if (!d.steps && parent) return make_steps(m, n, steps, parent, from, error);
    if (!d.steps) return stn_fail(error, STN_ERROR_UNSUPPORTED, "aperiodic finds the grid too small for its bands");
    STN_TRY(make_stage(m, n, d.steps, d.rounds, depth, error));
    return d.rest ? make_stage(m, n, d.rest, 1, depth, error) : STN_OK;
}

stn_status aperiodic_tree_make(stn_plan *plan, const shape *s, const cost_table *costs, const levels *l, tree *made,
                               stn_error *error) {
    size_t used = 0;
    const maker m = {plan, s, costs, l, made, &used, 0};
    const box whole = aperiodic_shape_whole(s);
    const stn_task *task = &plan->task;
    stn_grid_layout in = {.batch = task->in_batch_stride}, out = {.batch = task->out_batch_stride};
    memcpy(in.stride, task->in_stride, sizeof in.stride), memcpy(out.stride, task->out_stride, sizeof out.stride);
    *made = (tree){.forks = plan->machine.is_device};
    STN_TRY(make_node(&m, &whole, (const int64_t[3]){0, 0, 0}, task->steps, NULL, NULL, 0, &made->root, error));
    stn_device *device = plan->context->device;
    if (made->forks && device && stn_fork_create(device, STN_FORK_BRANCHES, &made->fork, NULL) != STN_OK)
        made->fork = NULL; /* without spare streams, bands run one after another */
    /* The plans that store the results of a branch run on the main stream (branch 0), so its
     * workspace must be large enough for them too. */
    for (int i = 1; i <= STN_FORK_BRANCHES; i++)
        made->plan_bytes[0] = (size_t)stn_max((int64_t)made->plan_bytes[0], (int64_t)made->plan_bytes[i]);
    const int copies = aperiodic_tree_copies(task, made->rounds);
    if (copies == 0) return STN_OK;
    const place own = {made->root->layout, 0}, given = {in, 0}, asked = {out, 0};
    const int alignment = task->alignment < 16 ? task->alignment : 16;
    STN_TRY(add_copy(&m, &whole, task->batch, &given, &own, alignment, &made->load, error));
    return copies == 1 ? STN_OK : add_copy(&m, &whole, task->batch, &own, &asked, alignment, &made->store, error);
}

size_t aperiodic_tree_workspace(const tree *t) {
    size_t bytes = t->grid_bytes;
    for (int branch = 0; branch <= STN_FORK_BRANCHES; branch++) bytes += t->plan_bytes[branch];
    return bytes;
}

/* ---- running */

typedef struct job {
    const tree *tree;
    const stn_task *task;
    const stn_execution *run;
    void *stream;
    size_t plan_offset; /* byte offset of the plans' workspace */
    bool forked;
} job;

static char *grid_of(const job *j, const node *n, int which) {
    return (char *)j->run->workspace + n->grid_offset[which];
}

static stn_status run_plan(const job *j, stn_plan *plan, const void *in, void *out, const node *with_source,
                           stn_error *error) {
    stn_execution once = {.in = in, .out = out, .stream = j->stream};
    once.workspace = (char *)j->run->workspace + j->plan_offset;
    if (with_source && j->run->source)
        once.source = (const char *)j->run->source +
                      element_of(with_source->origin, j->task->source_stride) * (int64_t)stn_dtype_size(j->task->dtype);
    return stn_plan_run_whole(plan, &once, error);
}

static stn_status run_node(const job *j, const node *n, char *from, char *const into[2], char **result,
                           stn_error *error);

/* Computes a band from the grid before a round; *result: the grid of its box with the result. */
static stn_status run_edge(const job *j, const node *parent, const edge *e, char *before, char **result,
                           stn_error *error) {
    const band *b = &e->band;
    const int64_t size = (int64_t)stn_dtype_size(j->task->dtype);
    const int64_t outer_stride = parent->layout.stride[b->axis] * size,
                  own_stride = e->node->layout.stride[b->axis] * size;
    *result = grid_of(j, e->node, 1);
    if (e->node->reads_parent)
        return run_plan(j, e->node->stages[0].plan, before + b->seen[0].from * outer_stride, *result, e->node, error);
    char *const own = grid_of(j, e->node, 0), *const into[2] = {*result, own};
    for (int i = 0; i < b->parts && e->load[i]; i++)
        STN_TRY(run_plan(j, e->load[i], before + b->seen[i].from * outer_stride, own + b->seen[i].at * own_stride, NULL,
                         error));
    return run_node(j, e->node, own, into, result, error);
}

/* Stores a band's corrected points into the grid after the round. */
static stn_status store_edge(const job *j, const node *parent, const edge *e, const char *result, char *after,
                             stn_error *error) {
    const band *b = &e->band;
    const int64_t size = (int64_t)stn_dtype_size(j->task->dtype);
    const int64_t outer_stride = parent->layout.stride[b->axis] * size,
                  own_stride = e->node->layout.stride[b->axis] * size;
    for (int i = 0; i < b->parts && e->store[i]; i++)
        STN_TRY(run_plan(j, e->store[i], result + b->corrected[i].at * own_stride,
                         after + b->corrected[i].from * outer_stride, NULL, error));
    return STN_OK;
}

static stn_status run_round(const job *j, const node *n, const stage *at, char *from, char *after, stn_error *error) {
    STN_TRY(run_plan(j, at->plan, from, after, n, error));
    for (int k = 0; k < at->count; k++) {
        char *result;
        STN_TRY(run_edge(j, n, &at->edges[k], from, &result, error));
        STN_TRY(store_edge(j, n, &at->edges[k], result, after, error));
    }
    return STN_OK;
}

/* The same with bands and transforms running concurrently. Bands are launched first: they are bound
 * by latency, and the transforms use the GPU's remaining capacity. */
static stn_status run_forked(const job *j, const node *n, const stage *at, char *from, char *after, stn_error *error) {
    stn_fork *fork = j->tree->fork;
    char *results[6];
    STN_TRY(stn_fork_begin(fork, j->stream, error));
    for (int k = 0; k < at->count; k++) {
        const int branch = k % STN_FORK_BRANCHES;
        job own = *j;
        own.stream = stn_fork_stream(fork, branch), own.plan_offset += j->tree->plan_bytes[0];
        for (int i = 0; i < branch; i++) own.plan_offset += j->tree->plan_bytes[1 + i];
        STN_TRY(run_edge(&own, n, &at->edges[k], from, &results[k], error));
    }
    STN_TRY(run_plan(j, at->plan, from, after, n, error));
    for (int branch = 0; branch < STN_FORK_BRANCHES; branch++) STN_TRY(stn_fork_join(fork, branch, j->stream, error));
    for (int k = 0; k < at->count; k++) STN_TRY(store_edge(j, n, &at->edges[k], results[k], after, error));
    return STN_OK;
}

/* Runs a box from one grid, alternating between two; *result: the grid with the final result. */
static stn_status run_node(const job *j, const node *n, char *from, char *const into[2], char **result,
                           stn_error *error) {
    int turn = 0;
    for (int i = 0; i < n->count; i++)
        for (uint64_t round = 0; round < n->stages[i].rounds; round++) {
            const stage *at = &n->stages[i];
            char *const after = into[turn];
            const bool forked = j->forked && n == j->tree->root && at->count;
            STN_TRY((forked ? run_forked : run_round)(j, n, at, from, after, error));
            from = after, turn = !turn;
        }
    *result = from;
    return STN_OK;
}

static stn_status run_tree(const tree *t, const stn_task *task, const stn_execution *run, bool forked,
                           stn_error *error) {
    const job j = {t, task, run, run->stream, t->grid_bytes, forked};
    char *const own[2] = {grid_of(&j, t->root, 0), grid_of(&j, t->root, 1)};
    char *from = (char *)(uintptr_t)run->in, *into[2] = {own[1], own[0]}, *result;
    if (t->load) {
        char *const first = t->store ? own[0] : own[1];
        STN_TRY(run_plan(&j, t->load, run->in, first, NULL, error));
        from = first;
    }
    if (!t->store) /* the last round writes the caller's output */
        into[(t->rounds + 1) % 2] = run->out, into[t->rounds % 2] = own[1];
    STN_TRY(run_node(&j, t->root, from, into, &result, error));
    return t->store ? run_plan(&j, t->store, result, run->out, NULL, error) : STN_OK;
}

stn_status aperiodic_tree_run(const tree *t, stn_device *device, const stn_task *task, const stn_execution *run,
                              stn_error *error) {
    if (!t->fork || stn_device_capturing(device, run->stream)) return run_tree(t, task, run, false, error);
    stn_fork_lock(t->fork);
    const stn_status status = run_tree(t, task, run, true, error);
    stn_fork_unlock(t->fork);
    return status;
}

/* ---- new weights, workspace, destruction */

static stn_status set_node(node *n, const stn_task *task, stn_error *error) {
    for (int i = 0; i < n->count; i++) {
        STN_TRY(stn_subplan_set_weights(n->stages[i].plan, task, error));
        for (int k = 0; k < n->stages[i].count; k++) STN_TRY(set_node(n->stages[i].edges[k].node, task, error));
    }
    return STN_OK;
}

stn_status aperiodic_tree_set_weights(tree *t, const stn_task *task, stn_error *error) {
    return set_node(t->root, task, error);
}

static void clear_node(node *n) {
    for (int i = 0; n && i < n->count; i++) {
        stn_plan_destroy(n->stages[i].plan);
        for (int k = 0; k < n->stages[i].count; k++) {
            const edge *e = &n->stages[i].edges[k];
            clear_node(e->node);
            for (int part = 0; part < 2; part++) stn_plan_destroy(e->load[part]), stn_plan_destroy(e->store[part]);
        }
    }
    free(n);
}

void aperiodic_tree_clear(tree *t) {
    clear_node(t->root);
    stn_plan_destroy(t->load), stn_plan_destroy(t->store);
    stn_fork_destroy(t->fork);
    *t = (tree){.root = NULL};
}
