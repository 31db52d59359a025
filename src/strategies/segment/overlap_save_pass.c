/* Builds the kernel and the tables of a pass along one axis, and launches it. */
#include "strategies/segment/overlap_save_pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "strategies/segment/segment_tables.h"

/* Mirrors line_arguments of line.cuh; two values of the arithmetic type follow. */
typedef struct line_header {
    const void *in;
    void *out;
    const void *twiddles, *symbol, *profile;
    int64_t n, in_far[3], out_far[3];
    uint32_t lines_y, lines_z, segments, all;
    int32_t lead, useful, width, padding;
    stn_divisor by_segments, by_y, by_z;
} line_header;

#define GROUP 32 /* Neighbouring tiles that segment_columns.cu takes before the next segment. */

/* Mirrors columns_arguments of segment_columns.cu; two values of the arithmetic type follow. */
typedef struct columns_header {
    const void *in;
    void *out;
    const void *twiddles, *symbol;
    int64_t n, nx, in_far[3], out_far[3];
    uint32_t others, segments, tiles, all;
    int32_t lead, useful, width[3], padding;
    int64_t skip[3];
    stn_divisor by_plane, by_group, by_last, by_others;
    const void *profile[3];
} columns_header;

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The one value past the sides of 2D and 3D grids; 0: there is none. */
static double past_of(const stn_task *task) {
    double value, drift;
    return !segment_only_along_x(task) && segment_one_value(task, &value, &drift) ? value : 0;
}

stn_status segment_kernel_get(stn_plan *plan, const stn_task *task, const segment_axis *axis,
                              const segment_shape *shape, const segment_pass *pass, segment_kernel *kernel,
                              stn_error *error) {
    const bool along_x = pass->axis == 2;
    stn_text params = STN_TEXT_EMPTY;
    const bool last = pass == &shape->pass[shape->passes - 1];
    kernel->past = last ? past_of(task) : 0;
    if (!kernel->kernel) kernel->rotated = segment_is_rotated(task, shape, pass);
    stn_params_begin_for(&params, task->dtype);
    stn_params_int(&params, "X_SIDE_LOW", axis->side[0]);
    stn_params_int(&params, "X_SIDE_HIGH", axis->side[1]);
    stn_params_int(&params, "VECTOR", stn_task_vector(task));
    stn_params_int(&params, "BLOCKS", segment_blocks(task, shape, pass));
    const segment_factors *f = segment_factors_of(pass->first);
    if (f)
        segment_dense_params(&params, f, task->dtype, shape->fragment, false);
    else
        stn_params_int(&params, "SEGMENT_FIRST", stn_min(pass->first, 16));
    stn_params_int(&params, "SEGMENT_SINGLE", segment_is_single(pass->first) ? pass->first / 32 : 0);
    stn_params_int(&params, "SEGMENT_GROUPS", segment_groups(pass));
    stn_params_int(&params, "SYMBOL_REAL", axis->symmetric);
    stn_params_int(&params, "SYMBOL_EVEN", 0);
    stn_params_int(&params, "SEGMENT_COSINES", pass->cosines);
    stn_params_int(&params, "SEGMENT_ROTATED", kernel->rotated);
    stn_params_int(&params, "SEGMENT_TRANSFER", pass->first == 1 ? shape->transfer : 0);
    stn_params_int(&params, "EXPECTED_HEADER", along_x ? sizeof(line_header) : sizeof(columns_header));
    stn_params_int(&params, "PROFILES", along_x ? segment_only_along_x(task) : kernel->past != 0);
    if (along_x)
        stn_params_int(&params, "SEGMENT_LINES", stn_task_points(task) > task->n[2]);
    else
        stn_params_int(&params, "SEGMENT_PAIRS", shape->pairs);
    kernel->threads = segment_threads(shape, pass);
    kernel->shared = segment_shared(task, shape, pass);
    STN_TRY(stn_kernel_make(plan->kernels,
                            f         ? "segment_prime_factor"
                            : along_x ? "segment_line"
                                      : "segment_columns",
                            &params, kernel->shared, &kernel->kernel, error));
    kernel->resident =
        stn_kernel_resident(kernel->kernel, plan->machine.multiprocessors, kernel->threads, kernel->shared);
    kernel->work_items = segment_work_items(task, shape, pass);
    kernel->tiles = segment_tiles(task, shape);
    return STN_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static size_t symbols_of(const segment_axis *axis, const segment_pass *pass) {
    const segment_factors *f = segment_factors_of(pass->first);
    if (f) return segment_dense_symbol_size(f, axis->symmetric);
    if (segment_is_single(pass->first)) return segment_single_size(pass->first, axis->symmetric);
    return pass->cosines ? segment_cosines_size(pass->first) : segment_symbol_size(pass->first, axis->symmetric);
}

/* Number of values in the table of twiddles, or of DFT matrices. */
static size_t twiddles_of(const stn_task *task, const segment_pass *pass) {
    const segment_factors *f = segment_factors_of(pass->first);
    return f ? segment_dense_matrices_size(f, false) : segment_twiddles_size(pass->first, task->dtype);
}

void segment_tables_lay_out(const stn_task *task, const segment_axis *axis, const segment_pass *pass, uint64_t fused,
                            size_t at, segment_table_layout *layout) {
    const size_t size = segment_real_size(task);
    *layout = (segment_table_layout){.pass = *pass, .fused = fused, .twiddles = at};
    const bool odd = segment_side_is_odd(axis, 0) || segment_side_is_odd(axis, 1);
    if (odd && (segment_only_along_x(task) || past_of(task) != 0)) {
        const stn_reach reach = segment_axis_reach(axis, task, fused);
        layout->width = (int)stn_min(task->n[axis->axis], stn_max(reach.side[0], reach.side[1]) + 2);
    }
    layout->symbol = at + (size_t)stn_round_up((int64_t)(twiddles_of(task, pass) * size), 256);
    layout->profile = layout->symbol + (size_t)stn_round_up((int64_t)(symbols_of(axis, pass) * size), 256);
    layout->end = layout->profile + (size_t)stn_round_up((2 * (int64_t)layout->width + 1) * (int64_t)size, 256);
}

/* Number of entries of a table with the profiles of both sides; one 0 represents all points in
 * between. */
static int64_t joined_size(const stn_task *task, const segment_table_layout *layout) {
    return stn_min(task->n[layout->pass.axis], 2 * (int64_t)layout->width + 1);
}

/* The low side's `width` values from the start, and the high side's from the end backwards. */
static void join_profiles(const double *sides, int64_t width, int64_t size, double *joined) {
    for (int64_t i = 0; i < size; i++) {
        const int64_t back = size - 1 - i;
        joined[i] = (i < width ? sides[i] : 0) + (back < width ? sides[width + back] : 0);
    }
}

/* Weights normalised to a sum of 1. */
static segment_axis normal(const segment_axis *axis) {
    segment_axis a = *axis;
    long double sum = 0;
    for (int i = 0; i < a.count; i++) sum += a.weight[i];
    for (int i = 0; i < a.count; i++) a.weight[i] /= sum;
    return a;
}

/* Writes twiddles_of and symbols_of values. */
static stn_status make_symbol(const segment_axis *axis, const segment_table_layout *layout, stn_dtype dtype,
                              double *twiddles, double *symbol, stn_error *error) {
    const segment_pass *pass = &layout->pass;
    const segment_factors *f = segment_factors_of(pass->first);
    segment_axis own = *axis;
    own.folded = pass->folded;
    if (f) return segment_dense_make(&own, f, layout->fused, dtype, twiddles, symbol, error);
    STN_TRY(segment_twiddles_make(pass->first, dtype, twiddles, error));
    return (pass->cosines                    ? segment_cosines_make
            : segment_is_single(pass->first) ? segment_single_make
                                             : segment_symbol_make)(&own, pass->first, layout->fused, symbol, error);
}

stn_status segment_tables_fill(const stn_task *task, const segment_axis *axis, const segment_table_layout *layout,
                               unsigned char *tables, stn_error *error) {
    const size_t count = twiddles_of(task, &layout->pass), symbols = symbols_of(axis, &layout->pass),
                 sides = 2 * (size_t)layout->width, all = count + symbols + 2 * sides + 1;
    double *twiddles = malloc(all * sizeof *twiddles), *values = twiddles + count;
    if (!twiddles) return stn_fail_memory(error, "a symbol", all * sizeof *twiddles);
    stn_status status = make_symbol(axis, layout, task->dtype, twiddles, values, error);
    const segment_axis side = segment_only_along_x(task) ? *axis : normal(axis);
    if (status == STN_OK && sides)
        status = segment_profile_make(&side, layout->fused, layout->width, values + symbols, error);
    if (status == STN_OK) {
        segment_put(task, twiddles, count, tables + layout->twiddles);
        segment_put(task, values, symbols, tables + layout->symbol);
        const double *profile = values + symbols;
        double *joined = values + symbols + sides;
        const int64_t size = joined_size(task, layout);
        join_profiles(profile, layout->width, size, joined);
        if (segment_only_along_x(task))
            segment_put(task, profile, sides, tables + layout->profile);
        else if (sides)
            segment_put(task, joined, (size_t)size, tables + layout->profile);
    }
    free(twiddles);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static void line_arguments(const stn_task *task, const segment_table_layout *layout, const unsigned char *table,
                           const stn_fused_launch *l, unsigned char *to) {
    const int64_t segments = stn_div_up(task->n[2], layout->pass.useful);
    line_header h = {.in = l->in,
                     .out = l->out,
                     .twiddles = table + layout->twiddles,
                     .symbol = table + layout->symbol,
                     .profile = table + layout->profile,
                     .n = task->n[2],
                     .in_far = {l->from->stride[1], l->from->stride[0], l->from->batch},
                     .out_far = {l->to->stride[1], l->to->stride[0], l->to->batch},
                     .lines_y = (uint32_t)task->n[1],
                     .lines_z = (uint32_t)task->n[0],
                     .segments = (uint32_t)segments,
                     .all = (uint32_t)(segments * (stn_task_points(task) / task->n[2])),
                     .lead = layout->pass.lead,
                     .useful = layout->pass.useful,
                     .width = segment_only_along_x(task) ? layout->width : 0,
                     .by_segments = stn_divisor_of(segments),
                     .by_y = stn_divisor_of(task->n[1]),
                     .by_z = stn_divisor_of(task->n[0])};
    memcpy(to, &h, sizeof h);
    size_t at = sizeof h;
    for (int side = 0; side < 2; side++)
        at += stn_put_real(task->dtype, stn_task_constant_value(task, 2, side), to + at);
}

static void columns_arguments(const stn_task *task, const segment_kernel *kernel, const segment_table_layout *layouts,
                              int pass, const unsigned char *table, const stn_fused_launch *l, unsigned char *to) {
    const segment_table_layout *layout = &layouts[pass];
    const int axis = layout->pass.axis, other = 1 - axis;
    const int64_t segments = stn_div_up(task->n[axis], layout->pass.useful);
    columns_header h = {.in = l->in,
                        .out = l->out,
                        .twiddles = table + layout->twiddles,
                        .symbol = table + layout->symbol,
                        .n = task->n[axis],
                        .nx = task->n[2],
                        .in_far = {l->from->stride[axis], l->from->stride[other], l->from->batch},
                        .out_far = {l->to->stride[axis], l->to->stride[other], l->to->batch},
                        .others = (uint32_t)task->n[other],
                        .segments = (uint32_t)segments,
                        .tiles = (uint32_t)kernel->tiles,
                        .all = (uint32_t)kernel->work_items,
                        .lead = layout->pass.lead,
                        .useful = layout->pass.useful,
                        .by_plane = stn_divisor_of(segments * kernel->tiles),
                        .by_group = stn_divisor_of(stn_min(GROUP * segments, INT64_C(1) << 31)),
                        .by_last = stn_divisor_of(stn_max(kernel->tiles % GROUP, 1)),
                        .by_others = stn_divisor_of(task->n[other])};
    /* Only in the last pass: the profiles of each axis. */
    for (int i = 0; i <= pass && kernel->past != 0; i++) {
        const int which = layouts[i].pass.axis == axis ? 0 : layouts[i].pass.axis == other ? 1 : 2;
        h.width[which] = layouts[i].width, h.profile[which] = table + layouts[i].profile;
        h.skip[which] = task->n[layouts[i].pass.axis] - joined_size(task, &layouts[i]);
    }
    memcpy(to, &h, sizeof h);
    size_t at = sizeof h;
    for (int i = 0; i < 2; i++) at += stn_put_real(task->dtype, kernel->past, to + at);
}

stn_status segment_launch(const stn_task *task, const segment_kernel *kernel, const segment_table_layout *layouts,
                          int pass, const void *tables, const stn_fused_launch *l, stn_error *error) {
    _Alignas(16) unsigned char arguments[sizeof(line_header) + sizeof(columns_header)];
    if (layouts[pass].pass.axis == 2)
        line_arguments(task, &layouts[pass], tables, l, arguments);
    else
        columns_arguments(task, kernel, layouts, pass, tables, l, arguments);
    const int64_t blocks = segment_grid(task, layouts[pass].pass.first, kernel->work_items, kernel->resident);
    return stn_kernel_launch(kernel->kernel, blocks, kernel->threads, kernel->shared, arguments, l->stream, error);
}
