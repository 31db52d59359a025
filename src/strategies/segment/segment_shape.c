/* Lengths, overlaps and launch dimensions of the passes. */
#include "strategies/segment/segment_shape.h"

#include "base/arith.h"

/* Segments begin, and their outputs begin and end, at multiples of LINE_BYTES, or at multiples of a
 * sector if that leaves MORE times as many outputs. Multiples of 16 bytes are slower. */
#define LINE_BYTES 128
#define SECTOR_BYTES 32
#define MORE 1.02
#define GROUPS 8     /* Pairs of the shortest segments in a block; half a warp has one. */
#define MIN_USEFUL 8 /* At least 1 / MIN_USEFUL of a segment's points are outputs. */

static bool along_x(const segment_pass *pass) { return pass->axis == 2; }

bool segment_is_single(int first) { return first > 16; }

int segment_groups(const segment_pass *pass) { return pass->first == 1 ? GROUPS : 1; }

int segment_pairs(const segment_shape *shape, const segment_pass *pass) {
    if (segment_is_single(pass->first)) return pass->first / 32;
    return along_x(pass) ? segment_groups(pass) : shape->pairs;
}

int segment_threads(const segment_shape *shape, const segment_pass *pass) {
    const segment_factors *f = segment_factors_of(pass->first);
    return f ? 32 * f->warps : 16 * (int)stn_min(pass->first, 16) * segment_pairs(shape, pass);
}

/* Inputs are loaded directly to registers and need no shared memory. */
static bool has_direct_inputs(const segment_shape *shape, const segment_pass *pass) {
    return pass->first == 1 && (shape->transfer & SEGMENT_DIRECT_INPUTS);
}

enum { CELL = 8 }; /* bytes of an element in shared memory: a point, or in f64 half of one */

size_t segment_shared(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (pass->first < 0) return segment_dense_shared(segment_factors_of(pass->first), task->dtype);
    const size_t pairs = (size_t)segment_pairs(shape, pass), first = (size_t)stn_min(pass->first, 16),
                 space = first * 16 * 17;
    const size_t padding = along_x(pass) ? 0 : 16 / pairs;
    const size_t inputs = has_direct_inputs(shape, pass) ? 0 : 2 * 256 * first;
    return pairs * ((space + padding) * CELL + inputs * stn_dtype_size(task->dtype));
}

int segment_blocks(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (shape->blocks && (along_x(pass) || shape->passes == 1)) return shape->blocks;
    /* Most threads by registers: dense DFTs need 160 per thread, or 120 if short; FFT stages 80 and
     * 128. */
    const segment_factors *f = segment_factors_of(pass->first);
    const int most = f ? (f->n[1] > 8 ? 384 : 512) : task->dtype != STN_F64 ? 768 : 512;
    return (int)stn_max(1, most / segment_threads(shape, pass));
}

int64_t segment_tiles(const stn_task *task, const segment_shape *shape) {
    return stn_div_up(task->n[2], 2 * (int64_t)shape->pairs);
}

int64_t segment_work_items(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const int64_t n = task->n[pass->axis], segments = stn_div_up(n, pass->useful);
    const int64_t lines = stn_task_points(task) / n;
    if (segment_is_single(pass->first)) return lines * segments;
    return along_x(pass) ? stn_div_up(lines * segments, 2 * segment_groups(pass))
                         : lines / task->n[2] * segments * segment_tiles(task, shape);
}

/* A launch has more blocks than run at once, so that the blocks of a multiprocessor end at
 * different times and enough are left to hide latency. Each block has several work items, because
 * its first input is not prefetched; those of dense DFTs have more, because they first load their
 * matrices. */
enum { WORK_ITEMS_F64 = 2, WORK_ITEMS = 4, WORK_ITEMS_DENSE = 8 };
int64_t segment_grid(const stn_task *task, int first, int64_t work_items, int64_t resident) {
    const int64_t each = first < 0 ? WORK_ITEMS_DENSE : task->dtype == STN_F64 ? WORK_ITEMS_F64 : WORK_ITEMS;
    return stn_max(stn_min(work_items, resident), stn_div_up(work_items, each));
}

/* Whether a segment is a line that is mirrored at both ends, of which half a period is transformed
 * (SEGMENT_COSINES). With sources, whole periods are needed, because the sources are convolved in
 * the same segments. */
static bool is_line_of_cosines(const stn_task *task, const segment_axis *axis, int first) {
    return axis->exact && axis->side[0] == STN_REFLECT && axis->side[1] == STN_REFLECT &&
           axis->n == 256 * (int64_t)first && first > 1 && first < 16 && !segment_has_source(task);
}

static bool is_whole_lines(const stn_task *task, int64_t elements) {
    return elements * (int64_t)stn_dtype_size(task->dtype) % LINE_BYTES == 0;
}

bool segment_is_rotated(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (shape->unrotated || !along_x(pass) || pass->first < 0 || pass->cosines) return false;
    bool whole = is_whole_lines(task, pass->lead);
    if (pass->useful < task->n[2]) whole = whole && is_whole_lines(task, pass->useful);
    for (int k = 0; k < 2; k++)
        if (task->n[k] > 1) whole = whole && is_whole_lines(task, task->out_stride[k]);
    return !whole;
}

/* The first output and the number of outputs of a segment, as multiples of `unit`. */
static void place_outputs(const stn_reach *reach, int64_t length, int64_t unit, segment_pass *pass) {
    pass->lead = (int)stn_round_up(reach->side[0], unit);
    pass->useful = (int)((length - pass->lead - reach->side[1]) / unit * unit);
}

/* The table of weights folded to a longer period takes more than 0.1 s of a plan's preparation. */
#define MAX_FOLDED_PERIOD 2048

stn_reach segment_folded_reach(const segment_axis *axis, const stn_reach *reach, uint8_t *folded) {
    const int64_t period = segment_period(axis), half = period / 2;
    *folded = half > 0 && period <= MAX_FOLDED_PERIOD && reach->side[0] + reach->side[1] > 2 * half;
    return *folded ? (stn_reach){{half, half}, {0, 0}} : *reach;
}

/* A segment that holds whole periods of the line's extension needs no overlap: circular convolution
 * is the result. With sources, weights are not folded, because segment_boundary_source.h convolves
 * the sources with the weights of each number of steps. */
bool segment_fit(const stn_task *task, const segment_axis *axis, const stn_reach *reach, int first,
                 segment_pass *pass) {
    const int64_t length = segment_points(first), period = segment_period(axis);
    if (first < 0 && !segment_only_along_x(task)) return false; /* Dense DFTs. */
    if ((first == 1 || segment_is_single(first)) && (axis->axis != 2 || segment_has_source(task))) return false;
    *pass = (segment_pass){.axis = (uint8_t)axis->axis,
                           .first = (int8_t)first,
                           .useful = (int)stn_min(axis->n, length),
                           .reach = (int)stn_min(reach->side[0] + reach->side[1], INT32_MAX)};
    pass->cosines = is_line_of_cosines(task, axis, first);
    if (pass->cosines) return true;
    if (period && length % period == 0) return pass->useful > 0;
    const stn_reach own = segment_has_source(task) ? *reach : segment_folded_reach(axis, reach, &pass->folded);
    if (own.side[0] + own.side[1] >= length) return false;
    pass->reach = (int)(own.side[0] + own.side[1]);
    if (axis->axis != 2) {
        place_outputs(&own, length, 1, pass);
    } else {
        const int64_t size = (int64_t)stn_dtype_size(task->dtype);
        segment_pass finer = *pass;
        place_outputs(&own, length, LINE_BYTES / size, pass);
        place_outputs(&own, length, SECTOR_BYTES / size, &finer);
        if (finer.useful > MORE * pass->useful) *pass = finer;
    }
    return pass->useful > 0 && pass->useful >= length / MIN_USEFUL;
}

bool segment_exceeds_time_limit(const stn_task *task, const stn_machine *machine, double launches) {
    const double bytes = 2 * (double)stn_task_points(task) * (double)stn_dtype_size(task->dtype);
    return stn_exceeds_time_limit(machine, launches * (bytes / machine->copy_bandwidth + machine->launch_seconds));
}
