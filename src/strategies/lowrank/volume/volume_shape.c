/* Shape and cost model of the kernel lowrank_volume. The rules were tuned on an H200. */
#include "strategies/lowrank/volume/volume_shape.h"

#include <math.h>

#include "base/arith.h"
#include "strategies/common/alignment_pad.h"
#include "strategies/common/grid_layout.h"
#include "strategies/common/overlap_cost.h"
#include "strategies/faces/margins.h"
#include "strategies/lowrank/lowrank_types.h"

/* Rates of lowrank_volume on an H200: fractions of the tensor cores' rate or of the copy bandwidth,
 * and cycles. */
static const struct {
    /* Tensor rate in f16, in f32 with three products, and in f32 with fewer. ring: divisor of these
     * rates if single weights are read from the planes in shared memory. */
    double f16, parts, once, ring;
    /* memory: fraction of the copy bandwidth. halo: cost of a halo point, which comes from L2,
     * relative to other points. */
    double memory, halo;
    /* Cycles of a block's march: of a product, of a plane besides its products, of the first
     * planes. */
    double product, plane, start;
    /* Sums a cycle, in f64 and else. Cycles of a tile, besides its products and sums: in f64; else;
     * and else if single weights are read from the planes in shared memory. */
    double f64_sums, sums, f64_tile, tile, ring_tile;
    double few_warps; /* factor with fewer than 12 warps a multiprocessor */
    double f32;       /* factor in f32 */
} rates = {0.36, 0.44, 0.38, 0.65, 0.8, 0.35, 20, 400, 5000, 1, 3, 92, 50, 70, 1.15, 1.1};

/* ---- kernel constants that the shape depends on */

typedef struct span {
    int low, high;
    bool banded, single;
} span;

static bool is_plain(const lowrank_core *core, int r) { return core->identity && core->x_factor[r] == 0; }

static span span_of(const lowrank_core *core, bool plain) {
    span s = {0};
    for (int r = 0; r < core->terms; r++) {
        if (is_plain(core, r) != plain) continue;
        s.low = (int)stn_max(s.low, core->low[r]), s.high = (int)stn_max(s.high, core->high[r]);
        if (lowrank_core_single(core, r))
            s.single = true;
        else
            s.banded = true;
    }
    return s;
}

/* Reach along z of the queue of partial sums, which planes of single weights at either end
 * bypass. */
static void inner_reach(const stn_power *taps, const lowrank_core *core, int inner[2]) {
    inner[0] = inner[1] = 0;
    for (int r = 0; r < core->terms; r++)
        for (int z = 0; z < taps->size[0]; z++) {
            int dz = z - taps->low[0];
            if ((is_plain(core, r) && lowrank_core_single(core, r)) || core->c[core->sum[r]][z] == 0) continue;
            inner[0] = (int)stn_max(inner[0], -dz), inner[1] = (int)stn_max(inner[1], dz);
        }
}

/* Whether all terms have one x factor and one sum each and the same form, so that the kernel loops
 * over them. */
static bool is_uniform(const stn_power *taps, const lowrank_core *core) {
    if (core->identity || core->x_factors < 2 || core->x_factors != core->terms || core->x_factors != core->sums)
        return false;
    for (int r = 0; r < core->terms; r++) {
        int planes = 0;
        for (int z = 0; z < taps->size[0]; z++) planes += core->c[r][z] != 0;
        if (core->x_factor[r] != r || core->sum[r] != r || lowrank_core_single(core, r) || planes < 2) return false;
        if (core->low[r] != core->low[0] || core->high[r] != core->high[0]) return false;
    }
    return true;
}

static int k_slice_of(const stn_task *task) { return task->dtype == STN_F64 ? 4 : 8; }
static int lead_x(const stn_power *taps) { return (int)stn_round_up(taps->low[2], 2); }
static int steps_x(const stn_task *task, const stn_power *taps) {
    return (int)stn_div_up(16 + lead_x(taps) + taps->size[2] - 1 - taps->low[2], k_slice_of(task));
}
/* Columns of a stage, and elements from row to row. */
static int stage_width(const stn_task *task, const stn_power *taps, const lowrank_volume_shape *b) {
    int slot = lowrank_slot(task->dtype), skip = (int)stn_round_up(taps->low[2], slot) - lead_x(taps);
    return (int)stn_round_up(skip + 16 * (b->warps_x - 1) + k_slice_of(task) * steps_x(task, taps), slot);
}
static int stage_pitch(const stn_task *task, int width) {
    int beyond = task->dtype == STN_F64 ? 4 : 8;
    return (int)stn_round_up(width - beyond, 16) + beyond;
}

/* Multiply-adds for one point and one plane: those of the sums along z, and those of terms with a
 * single weight along y. */
static int count_sums(const stn_power *taps, const lowrank_core *core) {
    bool counted[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE] = {{false}};
    int sums = 0;
    for (int r = 0; r < core->terms; r++) {
        int l = core->x_factor[r], k = core->sum[r], planes = 0;
        for (int z = 0; z < taps->size[0]; z++) planes += core->c[k][z] != 0;
        sums += (counted[l][k] || planes == 1 ? 0 : planes) + lowrank_core_single(core, r);
        counted[l][k] = true;
    }
    return sums;
}

/* Counts the products of a warp and the sums of a lane for one plane, and the bytes of one stage.
 */
static void count_work(const stn_task *task, const stn_power *taps, const lowrank_core *core, lowrank_volume_shape *b) {
    span bands = span_of(core, false), plain = span_of(core, true);
    int k_slice = k_slice_of(task), rows = 8 * b->tiles, products = 0;
    int lead = bands.single ? (int)stn_round_up(bands.low, k_slice) : bands.low;
    int k_slices = bands.banded || bands.single ? (int)stn_div_up(rows + lead + bands.high, k_slice) : 0;
    int k_slices_plain = plain.banded ? (int)stn_div_up(rows + plain.low + plain.high, k_slice) : 0;
    products += (core->x_factors - core->identity) * steps_x(task, taps) * (int)stn_div_up(k_slices * k_slice, 8);
    for (int r = 0; r < core->terms; r++)
        for (int m = 0; m < 8 && !lowrank_core_single(core, r); m++) {
            int first = k_slice * m - (is_plain(core, r) ? plain.low : lead);
            products += first + k_slice - 1 >= -core->low[r] && first <= 7 + core->high[r] ? b->tiles : 0;
        }
    b->products = products;
    b->sums = 4 * b->tiles * count_sums(taps, core);
    int before = (int)stn_max(stn_max(lead, plain.low), taps->low[1]);
    /* Taps of weight 0 count too, even beyond the reach of every vector along y. */
    int reach = taps->size[1] - 1 - taps->low[1];
    int after = (int)stn_max(stn_max(k_slice * k_slices - lead, k_slice * k_slices_plain - plain.low) - rows, reach);
    int lines = before + rows * b->warps_y + after, pitch = stage_pitch(task, stage_width(task, taps, b));
    b->shared = lines * pitch * (int)stn_dtype_size(task->dtype);
}

/* ---- the shape */

void lowrank_volume_tiles(const stn_task *task, const lowrank_volume_shape *b, int64_t tiles[3]) {
    tiles[0] = stn_div_up(task->n[0], b->chunk);
    tiles[1] = stn_div_up(task->n[1], 8 * b->tiles * b->warps_y);
    tiles[2] = stn_div_up(task->n[2], 16 * b->warps_x);
}

/* Planes read before the first output or after the last make short chunks expensive; whole waves of
 * blocks leave no multiprocessor idle. */
static void fit_chunk(const stn_task *task, const stn_machine *machine, int depth, lowrank_volume_shape *b) {
    int64_t tiles[3];
    double best = INFINITY, slots = (double)machine->multiprocessors * b->blocks;
    for (int64_t parts = 1; parts <= 64 && parts <= task->n[0]; parts++) {
        int64_t chunk = stn_min(stn_div_up(task->n[0], parts), INT32_MAX / 2);
        lowrank_volume_shape tried = *b;
        tried.chunk = (int)chunk;
        lowrank_volume_tiles(task, &tried, tiles);
        double waves = (double)tiles[0] * (double)tiles[1] * (double)tiles[2] * (double)task->batch / slots;
        double cost = ((double)chunk + depth + 5) * (ceil(waves) + 0.05);
        if (cost >= best) continue;
        best = cost;
        b->chunk = (int)chunk;
    }
}

#define MAX_STATIC_SHARED (48 * 1024)
/* Shared memory besides the stages: zero-padded bands (single elements in f64, pairs in parts in
 * other types), and the starts of rows and columns. */
static size_t static_bytes(const stn_task *task, const stn_power *taps, const lowrank_core *core,
                           lowrank_volume_shape *b) {
    int bands = (int)stn_max(core->x_factors - core->identity, 1), rows = 8 * b->tiles * b->warps_y + taps->size[1] - 1;
    int band_x = k_slice_of(task) * steps_x(task, taps) + 34, band_y = 39 + 8 + taps->size[1];
    int pair = task->dtype == STN_F16 ? 4 : 8;
    int entry = task->dtype == STN_F64 ? 8 : pair * lowrank_band_parts(b->passes);
    return (size_t)((bands * band_x + core->terms * band_y) * entry + (rows + stage_width(task, taps, b)) * 8);
}

/* Alignment pad in bytes. In f16 rows are an odd multiple of 16 bytes apart, to avoid bank
 * conflicts, so no pad aligns them all. */
static int alignment_pad_bytes(const stn_task *task, const stn_power *taps) {
    const size_t size = stn_dtype_size(task->dtype);
    return task->dtype == STN_F16 ? 0
                                  : (int)stn_alignment_pad_bytes(stn_round_up(taps->low[2], 16 / (int64_t)size), size);
}

/* Chooses the number of stages: one from which a block computes, `beyond` others that must be in
 * shared memory at the same time, and three that arrive, or two if there is no room for three. */
static bool fit_stages(const stn_task *task, const stn_machine *machine, const stn_power *taps,
                       const lowrank_core *core, int beyond, lowrank_volume_shape *b) {
    count_work(task, taps, core, b);
    int stage = b->shared;
    size_t fixed = static_bytes(task, taps, core, b);
    if (fixed > MAX_STATIC_SHARED) return false;
    for (b->stages = beyond + 4; b->stages >= beyond + 3; b->stages--) {
        b->shared = alignment_pad_bytes(task, taps) + stage * b->stages;
        size_t bytes = (size_t)b->shared + fixed + 1024; /* reserved in every block */
        if (bytes <= machine->shared_per_block && bytes * (size_t)b->blocks <= machine->shared_per_multiprocessor)
            return true;
    }
    return false;
}

/* Block forms in the order in which they are tried: few warps and as many blocks as registers hold,
 * because some compute while others wait at a barrier. Spilled registers cost more than any form
 * gains. The forms outside `default_forms` are for measuring. */
typedef struct form {
    int tiles, warps_x, warps_y, blocks;
} form;
static const form forms[] = {{2, 2, 2, 4}, {2, 2, 3, 2}, {2, 2, 2, 2}, {1, 4, 2, 1}, {2, 2, 2, 3},
                             {2, 4, 2, 2}, {2, 4, 2, 1}, {4, 4, 2, 1}, {1, 2, 2, 4}, {1, 2, 4, 2}};
enum { FORMS = sizeof forms / sizeof *forms, DEFAULTS = 4, LAST_RESORT = 3 };
/* Indices of `forms` that are tried by default: [0] in f64, [1] in other types. */
static const int default_forms[2][DEFAULTS] = {{0, 1, 2, LAST_RESORT}, {0, 4, 2, LAST_RESORT}};

/* Registers of a thread, fitted to compiled kernels: the queue's sums, the bands in use, addresses.
 */
static int registers_needed(const stn_task *task, const stn_power *taps, const lowrank_core *core, int passes,
                            int tiles, int depth) {
    int sums = 4 * tiles * depth, columns = k_slice_of(task) * steps_x(task, taps);
    bool one = core->terms == 1, loop = one || is_uniform(taps, core);
    if (task->dtype == STN_F64) return 2 * sums + 70 + (loop ? (columns > 20 ? 28 : 12) : 8 * core->terms);
    if (task->dtype == STN_F16) return sums + (loop ? 62 : 50 + 8 * core->terms);
    if (!loop) return sums + 70 + 8 * core->terms;
    return sums + (one ? 88 : passes == 3 ? 96 : 72) + (columns > 24 ? 22 : 0);
}

static int registers_given(const stn_machine *machine, const form *f) {
    int64_t threads = 32 * f->warps_x * f->warps_y * f->blocks;
    return (int)stn_min(255, (int64_t)machine->registers_per_multiprocessor / threads / 8 * 8);
}

/* Fits one form, with or without the ring. spill: number of registers that may be missing. */
static bool fit_form(const stn_task *task, const stn_machine *machine, const stn_power *taps, const lowrank_core *core,
                     int number, int ring, int spill, lowrank_volume_shape *b) {
    const form *f = &forms[number];
    int inner[2];
    inner_reach(taps, core, inner);
    const int depth = ring ? inner[0] + inner[1] + 1 : taps->size[0]; /* planes of partial sums */
    /* Only cores with single-weight planes at their ends use the ring. */
    if (ring && depth >= taps->size[0]) return false;
    if (registers_needed(task, taps, core, b->passes, f->tiles, depth) > registers_given(machine, f) + spill)
        return false;
    b->tiles = f->tiles, b->warps_x = f->warps_x, b->warps_y = f->warps_y, b->blocks = f->blocks;
    b->ring = ring;
    b->held = core->terms == 1 && !core->identity;
    if (!fit_stages(task, machine, taps, core, taps->size[0] - depth, b)) return false;
    int64_t tiles[3];
    fit_chunk(task, machine, depth, b);
    lowrank_volume_tiles(task, b, tiles);
    return tiles[0] * tiles[1] <= INT32_MAX && tiles[0] * tiles[1] * tiles[2] <= INT32_MAX / task->batch;
}

/* Fits the requested form, or the first that fits. */
static bool fit_block(const stn_task *task, const stn_machine *machine, const stn_power *taps, const lowrank_core *core,
                      lowrank_volume_shape *b) {
    if (b->form) return fit_form(task, machine, taps, core, (b->form - 1) % FORMS, (b->form - 1) / FORMS, 24, b);
    for (int ring = 1; ring >= 0; ring--)
        for (int i = 0; i < DEFAULTS; i++) {
            int form = default_forms[task->dtype != STN_F64][i];
            if (form == LAST_RESORT && ring) continue; /* the stages need too much shared memory */
            if (fit_form(task, machine, taps, core, form, ring, form == LAST_RESORT ? 1000 : 0, b)) return true;
        }
    return false;
}

int lowrank_volume_forms(void) { return 2 * FORMS; }

/* A core multiplies the elements' errors by its growth, so the tolerance is divided by it. */
static int passes_of(const stn_task *task, const lowrank_core *core, int launches) {
    stn_task stricter = *task; /* with borrowed taps */
    stricter.tolerance /= core->growth;
    return lowrank_products(&stricter, launches);
}

bool lowrank_volume_fit(const stn_task *task, const stn_machine *machine, const stn_power *taps, int form_asked,
                        bool *too_many_terms, lowrank_core *core, lowrank_volume_shape *shape) {
    lowrank_core tried;
    stn_estimate best = {.seconds = INFINITY}, cost;
    for (int method = *too_many_terms ? LOWRANK_CORE_PAIR : 0; method < LOWRANK_CORE_METHODS; method++) {
        if (method == LOWRANK_CORE_LARGEST && best.seconds < INFINITY) continue;
        if (!lowrank_core_make(task, taps, (lowrank_core_method)method, &tried)) {
            if (method == LOWRANK_CORE_LARGEST) *too_many_terms = tried.terms == LOWRANK_TOO_MANY_TERMS;
            continue;
        }
        lowrank_volume_shape b = {
            .fused = taps->fused, .vector = stn_task_vector(task), .form = form_asked, .chunk = 1};
        b.extended = stn_task_has_extension(task);
        b.launches = (int)((task->steps + (uint64_t)b.fused - 1) / (uint64_t)b.fused);
        b.passes = passes_of(task, &tried, b.launches);
        b.growth = (float)tried.growth;
        if (!fit_block(task, machine, taps, &tried, &b)) continue;
        /* The faces cost the same for all methods, and their cost takes longer to compute. */
        lowrank_volume_shape bare = b;
        bare.extended = 1;
        lowrank_volume_cost(task, machine, &bare, &cost);
        if (cost.seconds >= best.seconds) continue;
        best = cost;
        *core = tried;
        *shape = b;
    }
    return best.seconds < INFINITY;
}

/* The fraction of the tensor cores' rate that products alone reach: in f64 all of it. In f32 and
 * f16, kernels with a ring load most left factors from shared memory, so that products do not wait
 * for each other. */
static double tensor_part(const stn_task *task, const lowrank_volume_shape *b) {
    double part = task->dtype == STN_F16 ? rates.f16 : b->passes == 3 ? rates.parts : rates.once;
    return task->dtype == STN_F64 ? 1 : b->ring ? part / rates.ring : part;
}

/* Cycles of a multiprocessor to copy an element of f64 of unaligned rows, which products hide (791
 * x 425 x 167, 4 taps: 0.60 ms; 541 x 191 x 347, 7 taps, two steps: 0.27 ms). */
#define F64_ELEMENT_CYCLES 1.4

double lowrank_volume_least_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    const double bytes = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task),
                 depth = 1 + fused * (task->reach[0][0] + task->reach[0][1]),
                 launch = fmax(bytes / (rates.memory * machine->copy_bandwidth),
                               (depth * rates.plane + rates.start) / machine->clock);
    /* A little less, because lowrank_volume_cost rounds otherwise. */
    return (1 - 1e-9) * ceil((double)task->steps / fused) * (machine->launch_seconds + launch) *
           (task->dtype == STN_F32 ? rates.f32 : 1);
}

/* Each launch takes the largest of tensor-core time and memory time, at the fraction of the peak
 * rate that the kernel reaches, and of the serial march of one block, which more multiprocessors do
 * not shorten. Halos come from L2, at a third of the cost. */
void lowrank_volume_cost(const stn_task *task, const stn_machine *machine, const lowrank_volume_shape *b,
                         stn_estimate *e) {
    int64_t tiles[3];
    lowrank_volume_tiles(task, b, tiles);
    double points = (double)stn_task_points(task), launches = ceil((double)task->steps / b->fused);
    double halo = 1;
    for (int axis = 1; axis < 3; axis++) {
        double tile = axis == 1 ? 8 * b->tiles * b->warps_y : 16 * b->warps_x;
        halo *= 1 + b->fused * (task->reach[axis][0] + task->reach[axis][1]) / tile;
    }
    double depth = 1 + b->fused * (task->reach[0][0] + task->reach[0][1]);
    double blocks = (double)(tiles[0] * tiles[1] * tiles[2] * task->batch), planes = (double)b->chunk + depth - 1;
    double warp_planes = planes * b->warps_x * b->warps_y * blocks, products = b->products * warp_planes;
    double march = planes * (b->products * b->passes * rates.product + rates.plane) + rates.start;
    double size = (double)stn_dtype_size(task->dtype);
    e->unit = lowrank_unit(task->dtype);
    e->launches = launches;
    e->bytes = 2 * size * points * launches;
    e->flops = 256 * k_slice_of(task) * products * b->passes * launches;
    e->halo_waste = blocks * (double)b->chunk * 128 * b->tiles * b->warps_x * b->warps_y / points - 1;
    double again = halo * planes / (double)b->chunk - 1; /* elements that are read again */
    double memory = size * (2 + rates.halo * again) * points * launches / (rates.memory * machine->copy_bandwidth);
    /* Rows that are no whole 16-byte accesses are copied element by element, between the products,
     * which hide half of it. */
    const bool single = stn_task_vector(task) < lowrank_slot(task->dtype);
    const double elements = single ? points * halo * planes / (double)b->chunk : 0;
    double arithmetic = e->flops / (tensor_part(task, b) * machine->flops[e->unit]);
    const bool wide = task->dtype == STN_F64, few = !wide && b->warps_x * b->warps_y * b->blocks < 12;
    const double tile = wide ? rates.f64_tile : b->ring ? rates.ring_tile : rates.tile;
    const double cycles =
        (b->sums / (wide ? rates.f64_sums : rates.sums) + tile * b->tiles) * warp_planes / machine->multiprocessors;
    arithmetic = (arithmetic + launches * cycles / machine->clock) * (few ? rates.few_warps : 1);
    if (wide)
        memory = fmax(memory, launches * F64_ELEMENT_CYCLES * elements / (machine->multiprocessors * machine->clock));
    else
        arithmetic = hypot(arithmetic, launches * stn_cost_elements(task->dtype, 0.5 * elements, machine));
    double launch = fmax(fmax(memory, arithmetic) / launches, march / machine->clock);
    double faces = b->extended ? 0 : stn_faces_seconds(task, machine, b->fused);
    e->seconds = launches * (machine->launch_seconds + launch + faces) * (task->dtype == STN_F32 ? rates.f32 : 1);
}
