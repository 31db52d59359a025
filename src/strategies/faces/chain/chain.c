/* See chain.h: for what it serves, what that costs, what its kernel is given. */
#include "strategies/faces/chain/chain.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "render/render.h"

#define FACES 6
#define LINES_AHEAD 7     /* of a walk, in shared memory */
#define RESIDENT 8        /* warps of a multiprocessor: registers allow no more */
#define MOST_PRODUCTS 400 /* of a line, in all */
#define MOST_OUTS 4       /* blocks of rows whose sums a warp holds; or else: */
#define MOST_TAPS 9       /* sums of a walk */

/* What faces_chain reaches on an H200: bench/results/2026-11-21-faces.md. */
static const struct {
    double product;     /* cycles of a warp for one, waiting for another's end; */
    double tap;         /* products that one sum of a walk takes as long as */
    double bytes;       /* times the copy bandwidth: they come from the second level cache */
    double tensor_rate; /* the tensor cores' f64 rate that `product` stands for */
} rates = {215, 0.25, 4, 64e12};

bool faces_chain_has_face(const stn_task *task, int axis) {
    return stn_faces_has_face(task, axis, 0) || stn_faces_has_face(task, axis, 1);
}

static int blocks_of(int count) { return (count + 7) / 8; }

void faces_chain_middle(const stn_task *task, int fused, int64_t low[3], int64_t high[3]) {
    for (int k = 0; k < 3; k++) {
        low[k] = stn_min((int64_t)fused * task->reach[k][0], task->n[k]);
        high[k] = stn_max(low[k], task->n[k] - (int64_t)fused * task->reach[k][1]);
    }
}

faces_chain_shape faces_chain_extents(const stn_task *task, int fused, int axis) {
    faces_chain_shape s = {.axis_1 = axis == 2 ? 1 : 2, .levels = fused - 1};
    s.axis_2 = 3 - axis - s.axis_1;
    const int *reach_1 = task->reach[s.axis_1], *reach_2 = task->reach[s.axis_2], *own = task->reach[axis];
    s.bands = blocks_of(16 + fused * (reach_1[0] + reach_1[1]));
    s.depth = fused * (own[0] + own[1]);
    s.depths = blocks_of(s.depth);
    for (int side = 0; side < 2; side++) {
        if (!stn_faces_has_face(task, axis, side)) continue;
        s.rows = (int)stn_max(s.rows, fused * own[side]);
        if (task->boundary[axis][side].kind == STN_FIXED) s.frozen = (int)stn_max(s.frozen, own[side]);
    }
    s.outs = blocks_of(s.rows);
    s.columns = blocks_of(s.rows + s.frozen * s.levels);
    s.hankel = blocks_of(s.levels * (reach_1[0] + reach_1[1]) + 1);
    s.taps_2 = fused * (reach_2[0] + reach_2[1]) + 1;
    s.line = axis == 2 ? 8 * s.bands * (8 * s.depths + 2) : 8 * s.depths * 8 * (s.bands + (s.bands + 1) % 2);
    s.taps_at = s.band_at + 8 * s.bands + 16;
    s.value_at = s.taps_at + (s.taps_2 > 1 ? 8 * s.taps_2 : 0);
    s.m_at = s.value_at + 8 * s.outs;
    s.f_at = s.m_at + 64 * s.depths * s.outs;
    s.l_at = s.f_at + (s.frozen ? 64 * s.columns * s.outs : 0);
    s.size = s.l_at + 64 * s.frozen * s.columns * s.hankel;
    return s;
}

/* ---- whether, and what it costs ------------------------------------------------------------------------------------ */

/* Products of 16 x 8 x 8 for 16 points of one line of the face. */
static int products_of(const faces_chain_shape *s) {
    int levels = s->columns - (s->frozen ? s->rows / 8 : s->outs);
    return s->depths * (s->bands + s->outs) + (s->frozen ? levels * (s->hankel + s->outs) : 0);
}

static bool serves(const stn_task *task, int fused, int axis, const int64_t low[3], const int64_t high[3]) {
    const faces_chain_shape s = faces_chain_extents(task, fused, axis);
    if (task->n[axis] < s.depth) return false;
    for (int k = 0; k < 3; k++)
        if (low[k] >= high[k] || task->n[k] >> 30) return false;
    if (s.taps_2 > 1) return s.columns == 1 && s.taps_2 <= MOST_TAPS;
    return s.outs <= MOST_OUTS && products_of(&s) <= MOST_PRODUCTS;
}

/* Points of a walk: enough to amortise the points read before its first output, few enough to occupy all multiprocessors. */
static int64_t segment_of(const stn_task *task, const stn_machine *machine, const faces_chain_shape *s,
                          const int64_t low[3], const int64_t high[3]) {
    int64_t lines = high[s->axis_2] - low[s->axis_2], tiles = 0;
    if (s->taps_2 == 1) return 1;
    for (int k = 0; k < 6; k++)
        if (stn_faces_has_face(task, k / 2, k % 2)) tiles += stn_div_up(high[s->axis_1] - low[s->axis_1], 16);
    int64_t parts = (int64_t)machine->multiprocessors * RESIDENT * 3 / 2 / (tiles * task->batch + 1);
    return stn_max(stn_div_up(lines, stn_max(parts, 1)), stn_min(lines, 3 * s->taps_2));
}

/* A warp's shared memory. */
typedef struct warp_memory {
    int lines, doubles; /* of a walk's lines how many; what they take */
} warp_memory;

static warp_memory warp_memory_of(const stn_task *task, int fused) {
    warp_memory r = {1, 0};
    int line = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (!faces_chain_has_face(task, axis)) continue;
        const faces_chain_shape s = faces_chain_extents(task, fused, axis);
        if (s.taps_2 == 1) continue;
        line = (int)stn_max(line, s.line);
        r.lines = (int)stn_max(r.lines, LINES_AHEAD + 1 + (s.frozen ? fused * task->reach[s.axis_2][1] : 0));
    }
    r.doubles = r.lines * line;
    return r;
}

/* Cycles of all warps at faces normal to an axis, of one grid; adds up how many warps there are, and bytes. Products depend
 * on each other, and so do the sums of lines, so latency, not throughput, is what RESIDENT warps of a multiprocessor share. */
static double cycles_of(const stn_task *task, const stn_machine *machine, int fused, int axis, double *warps,
                        double *bytes) {
    int64_t low[3], high[3];
    faces_chain_middle(task, fused, low, high);
    const faces_chain_shape s = faces_chain_extents(task, fused, axis);
    const int64_t length_2 = high[s.axis_2] - low[s.axis_2], segment = segment_of(task, machine, &s, low, high);
    const double faces = stn_faces_has_face(task, axis, 0) + stn_faces_has_face(task, axis, 1),
                 walks =
                     faces * (double)(stn_div_up(high[s.axis_1] - low[s.axis_1], 16) * stn_div_up(length_2, segment)),
                 lines = walks * (double)(segment + s.taps_2 - 1);
    *warps += walks;
    *bytes += lines * 8.0 * (16 * s.rows + 4 * s.bands * s.depth); /* neighbours share half of what they read */
    return lines * rates.product * (products_of(&s) + (s.taps_2 > 1 ? 1 + rates.tap * s.taps_2 : 0));
}

static double seconds_of(const stn_task *task, const stn_machine *machine, int fused) {
    double cycles = 0, warps = 0, bytes = 0;
    const double batch = (double)task->batch, resident = (double)machine->multiprocessors * RESIDENT;
    for (int axis = 0; axis < 3; axis++)
        if (faces_chain_has_face(task, axis)) cycles += cycles_of(task, machine, fused, axis, &warps, &bytes);
    if (warps == 0) return 0;
    /* one warp alone takes its time */
    const double slower = fmax(1, rates.tensor_rate / machine->flops[STN_UNIT_TENSOR_F64]),
                 waves = fmax(1, batch * warps / resident);
    return slower * waves * cycles / warps / machine->clock + batch * bytes / machine->copy_bandwidth / rates.bytes +
           machine->launch_seconds;
}

bool faces_chain_choose(const stn_task *task, const stn_machine *machine, int fused, faces_chain *chain) {
    double factors[3][STN_TASK_FACTORS];
    int64_t low[3], high[3];
    if (task->dtype != STN_F64 || task->rank < 2 || machine->sm < 80) return false;
    if (task->in_stride[2] != 1 || task->out_stride[2] != 1 || fused < 2 || fused > 64) return false;
    if (!stn_task_separable(task, factors)) return false;
    faces_chain_middle(task, fused, low, high);
    for (int axis = 0; axis < 3; axis++)
        if (faces_chain_has_face(task, axis) && !serves(task, fused, axis, low, high)) return false;
    const size_t shared = sizeof(double) * FACES_CHAIN_WARPS * (size_t)warp_memory_of(task, fused).doubles;
    if (shared > machine->shared_per_block) return false;
    *chain = (faces_chain){.fused = fused,
                           .vector = task->n[2] % 2 ? 1 : stn_task_vector(task),
                           .shared = shared,
                           .seconds = seconds_of(task, machine, fused)};
    return true;
}

/* ---- the kernel ---------------------------------------------------------------------------------------------------- */

/* As faces_chain.cu declares them. */
typedef struct face {
    const double *tables;
    int64_t first, tiles, segment;
    int32_t axis, side, rows, frozen;
} face;
typedef struct header {
    const void *in;
    void *out;
    int64_t in_stride[3], out_stride[3], in_batch, out_batch, n[3], low[3], high[3], warps, batch, faces;
    face at[FACES];
} header;
_Static_assert(sizeof(header) <= FACES_CHAIN_ARGUMENTS, "arguments fit");

void faces_chain_params(const stn_task *task, const faces_chain *chain, stn_text *params) {
    stn_params_begin(params);
    stn_params_elements(params, task->dtype);
    for (int k = 0; k < 3; k++) stn_params_axis(params, k, task->reach[k], task->boundary[k]);
    stn_params_int(params, "FUSED", chain->fused);
    stn_params_int(params, "VECTOR", chain->vector);
    stn_params_int(params, "WARPS", FACES_CHAIN_WARPS);
    const warp_memory r = warp_memory_of(task, chain->fused);
    stn_params_int(params, "STAGES", r.lines);
    stn_params_int(params, "WARP_DOUBLES", r.doubles);
    stn_params_int(params, "BLOCKS", 2);
    stn_params_int(params, "EXPECTED_HEADER", sizeof(header));
}

size_t faces_chain_arguments(const stn_task *task, const stn_machine *machine, const faces_chain *chain,
                             const stn_fused_launch *launch, const double *tables,
                             unsigned char arguments[FACES_CHAIN_ARGUMENTS], int64_t *blocks) {
    header h = {.in = launch->in,
                .out = launch->out,
                .in_batch = launch->from->batch,
                .out_batch = launch->to->batch,
                .batch = task->batch};
    faces_chain_middle(task, chain->fused, h.low, h.high);
    for (int k = 0; k < 3; k++)
        h.in_stride[k] = launch->from->stride[k], h.out_stride[k] = launch->to->stride[k], h.n[k] = task->n[k];
    for (int i = 0; i < FACES; i++) {
        const int axis = i / 2, side = i % 2;
        if (!stn_faces_has_face(task, axis, side)) continue;
        const faces_chain_shape s = faces_chain_extents(task, chain->fused, axis);
        bool fixed = task->boundary[axis][side].kind == STN_FIXED;
        face *f = &h.at[h.faces++];
        *f = (face){tables,
                    h.warps,
                    stn_div_up(h.high[s.axis_1] - h.low[s.axis_1], 16),
                    segment_of(task, machine, &s, h.low, h.high),
                    axis,
                    side,
                    chain->fused * task->reach[axis][side],
                    fixed ? task->reach[axis][side] : 0};
        h.warps += f->tiles * stn_div_up(h.high[s.axis_2] - h.low[s.axis_2], f->segment);
        tables += s.size;
    }
    *blocks = stn_div_up(h.warps * task->batch, FACES_CHAIN_WARPS);
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}
