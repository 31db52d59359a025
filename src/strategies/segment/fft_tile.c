/* Size, kernel, tables and launch of FFT tiles. See fft_tile.h. */
#include "strategies/segment/fft_tile.h"

#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "strategies/common/shared_fft.h"
#include "strategies/common/stencil_power.h"
#include "strategies/segment/segment_tables.h"
#include "strategies/segment/taps_dft.h"

#define REGISTERS_F64 128
/* Registers of a thread in f64 if columns have a last radix of 16; they spill with fewer. */
#define REGISTERS_F64_LONG 168
#define REGISTERS 96
#define BLOCK_BYTES 1024 /* Shared memory per block that the driver reserves. */

/* Mirrors tile_arguments of segment_fft_tile.cu. */
typedef struct tile_header {
    const void *in;
    void *out;
    const void *row_twiddles, *column_twiddles, *half_angles, *symbol;
    int64_t ny, nx, in_far[3], out_far[3];
    uint32_t tiles_x, tiles_y, planes;
    int32_t lead_y, lead_x, useful_y, useful_x, padding;
} tile_header;

/* ---- size ------------------------------------------------------------------------------------ */

/* The side along y (0) or x (1), in units of 16 points. */
static int sixteenths_of(const segment_shape *shape, int which) { return (unsigned char)shape->pass[which].first; }

int segment_fft_tile_points(const segment_shape *shape, int which) { return 16 * sixteenths_of(shape, which); }

int segment_fft_tile_shares(const segment_shape *shape) { return shape->shares ? shape->shares : 1; }

void segment_fft_tile_radices(const segment_shape *shape, int radices[2]) {
    const int first = sixteenths_of(shape, 0);
    radices[0] = first <= 8 ? 2 * first : 16;
    radices[1] = first <= 8 ? 8 : first;
}

size_t segment_fft_tile_shared(stn_dtype dtype, const segment_shape *shape) {
    return (size_t)segment_fft_tile_points(shape, 0) * (size_t)(segment_fft_tile_points(shape, 1) / 2 + 1) *
           (dtype == STN_F64 ? 16 : 8) / (size_t)segment_fft_tile_shares(shape);
}

bool segment_fft_tile_holds_plane(const stn_task *task, const segment_shape *shape) {
    for (int i = 0; i < 2; i++)
        if ((shape->pass[i].lead && !shape->pass[i].folded) || shape->pass[i].useful < task->n[1 + i]) return false;
    return true;
}

int segment_fft_tile_registers(stn_dtype dtype, const segment_shape *shape) {
    int radices[2];
    segment_fft_tile_radices(shape, radices);
    return dtype != STN_F64 ? REGISTERS : radices[1] < 16 ? REGISTERS_F64 : REGISTERS_F64_LONG;
}

int segment_fft_tile_blocks(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    const size_t bytes = segment_fft_tile_shared(task->dtype, shape) + BLOCK_BYTES;
    const int64_t threads = 32 * (int64_t)shape->tile, registers = segment_fft_tile_registers(task->dtype, shape);
    const int64_t held = (int64_t)(machine->registers_per_multiprocessor / (size_t)(threads * registers)),
                  space = (int64_t)(machine->shared_per_multiprocessor / bytes);
    return (int)stn_max(1, stn_min(stn_min(held, space), 8));
}

static bool mirrors(const stn_task *task, int axis, int side) {
    const stn_boundary_kind kind = task->boundary[axis][side].kind;
    if (!stn_task_is_symmetric(task, axis)) return false;
    return kind == STN_REFLECT || kind == STN_MIRROR || (kind == STN_NEAREST && task->reach[axis][side] <= 1);
}

segment_axis segment_fft_tile_axis(const stn_task *task, int which) {
    segment_axis a = {.axis = 1 + which, .n = task->n[1 + which]};
    a.exact = task->boundary[a.axis][0].kind == STN_WRAP;
    if (!a.exact) a.exact = a.n > 3 && mirrors(task, a.axis, 0) && mirrors(task, a.axis, 1);
    for (int side = 0; side < 2; side++) {
        a.side[side] = a.exact ? task->boundary[a.axis][side].kind : STN_NEAREST;
        /* With a reach of one point, `nearest` equals `reflect`. */
        if (a.exact && a.side[side] == STN_NEAREST) a.side[side] = STN_REFLECT;
    }
    return a;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

stn_status segment_fft_tile_get(stn_plan *plan, const segment_shape *shape, bool real, segment_fft_tile *tile,
                                stn_error *error) {
    const stn_task *task = &plan->task;
    stn_text params = STN_TEXT_EMPTY;
    int radices[2];
    segment_fft_tile_radices(shape, radices);
    stn_params_begin_for(&params, task->dtype);
    for (int which = 0; which < 2; which++) {
        const segment_axis axis = segment_fft_tile_axis(task, which);
        stn_params_int(&params, which ? "X_SIDE_LOW" : "Y_SIDE_LOW", axis.side[0]);
        stn_params_int(&params, which ? "X_SIDE_HIGH" : "Y_SIDE_HIGH", axis.side[1]);
    }
    stn_params_int(&params, "VECTOR", stn_task_vector(task));
    stn_params_int(&params, "BLOCKS", segment_fft_tile_blocks(task, &plan->machine, shape));
    stn_params_int(&params, "THREADS_X", 32 * shape->tile);
    stn_params_int(&params, "TILE_A", segment_fft_tile_points(shape, 1) / 16);
    stn_params_int(&params, "TILE_T", radices[0]);
    stn_params_int(&params, "TILE_R", radices[1]);
    stn_params_int(&params, "TILE_SHARES", segment_fft_tile_shares(shape));
    stn_params_int(&params, "SYMBOL_REAL", real);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(tile_header));
    tile->shared = segment_fft_tile_shared(task->dtype, shape);
    return stn_kernel_make(plan->kernels, "segment_fft_tile", &params, tile->shared, &tile->kernel, error);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static stn_shared_fft shared_fft_of(const segment_shape *shape, int which) {
    stn_shared_fft line = {.points = segment_fft_tile_points(shape, which) / (which ? 2 : 1), .stages = 2, .shares = 1};
    if (which)
        line.radix[0] = line.points / 8, line.radix[1] = 8;
    else
        segment_fft_tile_radices(shape, line.radix);
    return line;
}

/* The number of columns, in groups of 8, that hold one frequency along x of each pair k, -k. */
static int units_of(const segment_shape *shape) { return 8 * (segment_fft_tile_points(shape, 1) / 32 + 1); }

void segment_fft_tile_lay_out(const stn_task *task, const segment_shape *shape, uint64_t fused, bool asymmetric,
                              size_t at, segment_fft_tile_layout *layout) {
    const bool wide = task->dtype == STN_F64;
    const stn_shared_fft row = shared_fft_of(shape, 1), column = shared_fft_of(shape, 0);
    const size_t units = (size_t)units_of(shape), size = segment_real_size(task);
    *layout = (segment_fft_tile_layout){
        .fused = fused, .real = !asymmetric && stn_taps_point_symmetric(task), .row_twiddles = at};
    layout->column_twiddles = at + (size_t)stn_round_up((int64_t)stn_shared_fft_twiddles(&row, wide, NULL), 256);
    layout->half_angles =
        layout->column_twiddles + (size_t)stn_round_up((int64_t)stn_shared_fft_twiddles(&column, wide, NULL), 256);
    layout->symbol = layout->half_angles + (size_t)stn_round_up((int64_t)(2 * units * size), 256);
    const size_t numbers = units * (size_t)segment_fft_tile_points(shape, 0) * (layout->real ? 2 : 4);
    layout->end = layout->symbol + (size_t)stn_round_up((int64_t)(numbers * size), 256);
}

/* All rows of an array that has the frequencies 0 .. n[2] / 2 along x. */
static cplx *whole_rows(const int n[3], cplx *half) {
    cplx *const rows = half ? malloc((size_t)n[1] * (size_t)n[2] * sizeof *rows) : NULL;
    for (int y = 0; y < n[1] && rows; y++)
        for (int x = 0; x < n[2]; x++) rows[y * n[2] + x] = segment_taps_dft_at(half, n, (int[3]){0, y, x});
    free(half);
    return rows;
}

/* K^f at all frequencies [y][x] of the tile; NULL: out of memory. Along axes whose weights are
 * folded, it is found from K^f at the frequencies of one period. */
static cplx *powers_of(const stn_task *task, const segment_shape *shape, bool real, uint64_t steps) {
    const int n[2] = {segment_fft_tile_points(shape, 0), segment_fft_tile_points(shape, 1)};
    int known[3] = {1, n[0], n[1]};
    for (int which = 0; which < 2; which++) {
        const segment_axis axis = segment_fft_tile_axis(task, which);
        if (shape->pass[which].folded) known[1 + which] = (int)segment_period(&axis);
    }
    cplx *const symbol = segment_taps_dft(task, known);
    for (int i = 0; symbol && i < known[1] * (known[2] / 2 + 1); i++) {
        if (real) symbol[i].im = 0;
        symbol[i] = power(symbol[i], steps);
    }
    cplx *powers = whole_rows(known, symbol);
    if (shape->pass[0].folded) powers = segment_interpolate(known[1], n[0], 1, (size_t)known[2], powers);
    if (shape->pass[1].folded) powers = segment_interpolate(known[2], n[1], (size_t)n[0], 1, powers);
    return powers;
}

/* Half the sum and half the difference of K^f at frequency k and k plus half a row, for each row
 * and unit. Returns the number of values. */
static size_t fill_symbol(const cplx *powers, const int n[3], const segment_fft_tile_layout *layout, int units,
                          double *symbol) {
    const int half_row = n[2] / 2, a = half_row / 8;
    const long double half = 0.5L / ((long double)half_row * (long double)n[1]);
    const size_t all = (size_t)n[1] * (size_t)units;
    for (int unit = 0; unit < units; unit++) {
        const int k = unit / 8 + a * (unit % 8);
        for (int y = 0; y < n[1]; y++) {
            const cplx low = powers[y * n[2] + k], high = powers[y * n[2] + k + half_row];
            double *const at = symbol + 2 * ((size_t)y * (size_t)units + (size_t)unit);
            at[0] = (double)((low.re + high.re) * half);
            at[1] = (double)((layout->real ? low.re - high.re : low.im + high.im) * half);
            if (layout->real) continue;
            at[2 * all] = (double)((low.re - high.re) * half);
            at[2 * all + 1] = (double)((low.im - high.im) * half);
        }
    }
    return all * (layout->real ? 2 : 4);
}

stn_status segment_fft_tile_fill(const stn_task *task, const segment_shape *shape,
                                 const segment_fft_tile_layout *layout, unsigned char *tables, stn_error *error) {
    const bool wide = task->dtype == STN_F64;
    const stn_shared_fft row = shared_fft_of(shape, 1), column = shared_fft_of(shape, 0);
    const int units = units_of(shape);
    const int n[3] = {1, segment_fft_tile_points(shape, 0), segment_fft_tile_points(shape, 1)}, a = n[2] / 16;
    const size_t bytes = (size_t)units * (2 + 4 * (size_t)n[1]) * sizeof(double);
    double *half_angles = calloc(1, bytes);
    cplx *const root = roots_of(n[2]), *const powers = powers_of(task, shape, layout->real, layout->fused);
    stn_status status = half_angles && root && powers ? STN_OK : stn_fail_memory(error, "a tile's symbol", bytes);
    if (status == STN_OK) {
        for (int unit = 0; unit < units; unit++) {
            const cplx angle = root[unit / 8 + a * (unit % 8)];
            half_angles[2 * unit] = (double)angle.im, half_angles[2 * unit + 1] = (double)angle.re;
        }
        const size_t count = fill_symbol(powers, n, layout, units, half_angles + 2 * units);
        stn_shared_fft_twiddles(&row, wide, tables + layout->row_twiddles);
        stn_shared_fft_twiddles(&column, wide, tables + layout->column_twiddles);
        segment_put(task, half_angles, 2 * (size_t)units, tables + layout->half_angles);
        segment_put(task, half_angles + 2 * units, count, tables + layout->symbol);
    }
    free(half_angles), free(root), free(powers);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

stn_status segment_fft_tile_launch(const stn_plan *plan, const segment_shape *shape, const segment_fft_tile *tile,
                                   const segment_fft_tile_layout *layout, const void *tables, const stn_fused_launch *l,
                                   stn_error *error) {
    const stn_task *task = &plan->task;
    const unsigned char *table = tables;
    const segment_pass *y = &shape->pass[0], *x = &shape->pass[1];
    tile_header h = {.in = l->in,
                     .out = l->out,
                     .row_twiddles = table + layout->row_twiddles,
                     .column_twiddles = table + layout->column_twiddles,
                     .half_angles = table + layout->half_angles,
                     .symbol = table + layout->symbol,
                     .ny = task->n[1],
                     .nx = task->n[2],
                     .in_far = {l->from->stride[1], l->from->stride[0], l->from->batch},
                     .out_far = {l->to->stride[1], l->to->stride[0], l->to->batch},
                     .tiles_x = (uint32_t)stn_div_up(task->n[2], x->useful),
                     .tiles_y = (uint32_t)stn_div_up(task->n[1], y->useful),
                     .planes = (uint32_t)task->n[0],
                     .lead_y = y->lead,
                     .lead_x = x->lead,
                     .useful_y = y->useful,
                     .useful_x = x->useful};
    const int64_t tiles = (int64_t)h.tiles_x * h.tiles_y * task->n[0] * task->batch;
    const unsigned shares = (unsigned)segment_fft_tile_shares(shape);
    const stn_launch launch = {.grid = {(unsigned)tiles * shares, 1, 1},
                               .block = {32 * (unsigned)shape->tile, 1, 1},
                               .shared = tile->shared,
                               .stream = l->stream,
                               .cluster = shares};
    return stn_module_launch(tile->kernel->module, &launch, &h, error);
}
