/* fno_dense: passes as dense products with a DFT matrix; see fno_dense.h. */
#include "strategies/fno/fno_dense.h"

#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "render/render.h"

/* MAX_TERMS: longer f32 sums lose more precision than an FFT does. MAX_TABLE: numbers of the table,
 * 8 MiB in f32. MAX_PADDING: columns by which tiles_of() rounds up. */
enum { MAX_TERMS = 2048, MAX_TABLE = 1 << 21, MAX_PADDING = 32 };

static int64_t per_point(const fno_pass *pass) { return pass->real ? 1 : 2; }
static int64_t terms_of(const fno_pass *pass) { return pass->forward ? pass->n * per_point(pass) : 2 * pass->modes; }
static int64_t columns_of(const fno_pass *pass) { return pass->forward ? 2 * pass->modes : pass->n * per_point(pass); }
static int64_t lines_of(const fno_dense_shape *shape) { return 16 * (int64_t)shape->tiles[0] * shape->warps[0]; }
static int64_t steps_of(const fno_pass *pass) { return stn_div_up(terms_of(pass), 8); }
static int threads_of(const fno_dense_shape *shape) { return 32 * shape->warps[0] * shape->warps[1]; }
/* Tiles of 8 columns, in all sweeps. */
static int64_t tiles_of(const fno_pass *pass, const fno_dense_shape *shape) {
    const int64_t along = (int64_t)shape->tiles[1] * shape->warps[1];
    return stn_round_up(stn_div_up(columns_of(pass), 8), along);
}
/* Full f32 precision, whatever the tolerance of the product of channels: errors of passes add
 * up. */
static int parts_of(fno_numbers numbers) { return fno_wide(numbers) ? 1 : 2; }

/* Bytes of shared memory; must agree with fno_dense.cu. */
static size_t shared_of(const fno_pass *pass, fno_numbers numbers, const fno_dense_shape *shape) {
    const int64_t lines = lines_of(shape), depth = shape->depth,
                  stage = pass->forward ? lines * (depth + 8) : depth / 2 * 2 * (lines + 4);
    const int64_t width = 8 * (int64_t)shape->tiles[1], out_pitch = width == 8 ? 8 : width + 8;
    const int64_t going = pass->forward ? 0 : (int64_t)shape->warps[0] * shape->warps[1] * 16 * out_pitch;
    return (size_t)((8 * steps_of(pass) > depth ? 2 : 1) * stage + going) * fno_complex_bytes(numbers) / 2;
}

int64_t fno_dense_blocks(const fno_pass *pass, const fno_dense_shape *shape) {
    int64_t blocks;
    if (stn_mul_overflows(pass->items, stn_div_up(pass->channels, lines_of(shape)), &blocks)) return INT64_MAX;
    return blocks;
}

/* ---- the table */

/* The factor of number `term` of an input line in number `column` of the output. */
static double entry(const fno_pass *pass, int64_t term, int64_t column) {
    const int64_t points = pass->forward ? term : column, modes = pass->forward ? column : term;
    const int64_t p = points / per_point(pass), f = modes / 2 - pass->low, n = pass->n;
    if (modes / 2 >= pass->modes || p >= n) return 0;
    const bool point_im = !pass->real && points % 2, mode_im = modes % 2, self_conjugate = f == 0 || 2 * f == n;
    const double angle = 6.283185307179586476925 * (double)(f * p % n) / (double)n;
    /* Forward, a point re + i im is multiplied by c - i s, where c = cos(angle), s = sin(angle): re
     * adds c re to the mode's real part and -s re to its imaginary part; im adds s im and c im.
     * Back, a mode is multiplied by c + i s, which is the transposed matrix. */
    double w = point_im == mode_im ? cos(angle) : point_im ? sin(angle) : -sin(angle);
    /* The scale of a real pass is halved for lines of two channels (fno_route.c); 2 undoes this. */
    if (pass->forward) return w * pass->scale * (pass->real ? 2 : 1) * (pass->doubled && !self_conjugate ? 2 : 1);
    if (!pass->real) return w;
    /* A mode also represents its negative frequency. */
    return self_conjugate ? (mode_im ? 0 : w) : 2 * w;
}

size_t fno_dense_table(const fno_pass *pass, fno_numbers numbers, const fno_dense_shape *shape, void *to) {
    const int64_t tiles = tiles_of(pass, shape), steps = steps_of(pass), used = steps * tiles * 64;
    /* The table has one step more than is used, because the kernel prefetches it. */
    for (int64_t i = 0; to && i < used + tiles * 64; i++) {
        const int64_t lane = i / 2 % 32, step = i / 64 / tiles, tile = i / 64 % tiles;
        const double e = i < used ? entry(pass, 8 * step + 2 * (lane % 4) + i % 2, 8 * tile + lane / 4) : 0;
        if (fno_wide(numbers))
            ((double *)to)[i] = e;
        else
            ((float *)to)[i] = (float)e;
    }
    return (size_t)(used + tiles * 64) * fno_complex_bytes(numbers) / 2;
}

/* ---- building and launching */

stn_status fno_dense_prepare(stn_kernel_set *kernels, const fno_pass *pass, fno_numbers numbers,
                             const fno_dense_shape *shape, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    fno_pass_params(pass, (fno_numbers){.dtype = numbers.dtype, .parts = parts_of(numbers)}, &params);
    stn_params_int(&params, "DENSE_TERMS", terms_of(pass));
    stn_params_int(&params, "DENSE_COLUMNS", columns_of(pass));
    stn_params_int(&params, "DENSE_DEPTH", shape->depth);
    stn_params_int(&params, "BLOCKS", shape->blocks);
    stn_params_int(&params, "WARPS_M", shape->warps[0]);
    stn_params_int(&params, "WARPS_N", shape->warps[1]);
    stn_params_int(&params, "TILES_M", shape->tiles[0]);
    stn_params_int(&params, "TILES_N", shape->tiles[1]);
    return stn_kernel_make(kernels, "fno_dense", &params, shared_of(pass, numbers, shape), kernel, error);
}

stn_status fno_dense_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                            const fno_dense_shape *shape, const fno_pointers *at, void *stream, stn_error *error) {
    const fno_blocks blocks = {fno_dense_blocks(pass, shape), 1, threads_of(shape), shared_of(pass, numbers, shape)};
    return fno_pass_launch_as(kernel, pass, numbers, blocks, at, stream, error);
}

/* ---- the cost model, and the choice by it */

/* Estimates, not measured. */
static const struct {
    double copy_fraction, tensor_fraction; /* of the peak rates */
    double copied_per_cycle;               /* numbers that a scheduler copies to shared memory */
    /* Cycles of a step besides its products, for a tile of lines and for a tile of columns. */
    double row_tile_cycles, column_tile_cycles;
    double launch_start_seconds; /* of the first loads and last stores */
    double bandwidth_shares;     /* read bandwidth of a multiprocessor over its fair share */
} rates = {0.65, 0.5, 0.25, 14, 9, 4e-6, 3};

double fno_dense_cost(const fno_pass *pass, fno_numbers numbers, const fno_dense_shape *shape,
                      const stn_machine *machine, stn_estimate *sum) {
    const double store = (double)stn_dtype_size(numbers.dtype) * (double)per_point(pass),
                 cell = (double)fno_complex_bytes(numbers);
    const double point = pass->forward ? (pass->in_is_dtype ? store : cell) : pass->out_is_dtype ? store : cell;
    const double lines = (double)pass->items * (double)pass->channels;
    const double bytes = lines * ((double)pass->n * point * (pass->added ? 2 : 1) + (double)pass->modes * cell);
    const double blocks = (double)fno_dense_blocks(pass, shape), steps = (double)steps_of(pass),
                 tiles = (double)tiles_of(pass, shape), sweeps = tiles / shape->tiles[1] / shape->warps[1];
    const double rows = blocks * shape->tiles[0] * shape->warps[0]; /* tiles of 16 lines */
    const double flops = rows * 2048 * steps * tiles;
    const stn_unit unit = fno_wide(numbers) ? STN_UNIT_TENSOR_F64 : STN_UNIT_TENSOR_TF32;
    const double tensor = flops * (parts_of(numbers) == 2 ? 3 : 1) / (rates.tensor_fraction * machine->flops[unit]);
    /* points are loaded for each sweep */
    const double again = 8 * steps > shape->depth ? sweeps : 1;
    const double issued =
        rows * steps *
        (16 * 8 / 32.0 * again / rates.copied_per_cycle / 4 * 1.5 + rates.row_tile_cycles * tiles / shape->tiles[1] +
         rates.column_tile_cycles * tiles / shape->tiles[0]);
    const double issue = issued / (4.0 * machine->multiprocessors * machine->clock);
    const double waves = blocks / machine->multiprocessors / shape->blocks, idle = ceil(waves) / waves;
    const double moving =
        bytes / (rates.copy_fraction * machine->copy_bandwidth) * fmax(1, idle / rates.bandwidth_shares);
    const double working = (fmax(tensor, issue) + 0.3 * fmin(tensor, issue)) * idle;
    sum->bytes += bytes, sum->flops += flops, sum->launches += 1, sum->unit = unit;
    return fmax(moving, working) + 0.3 * fmin(moving, working) + rates.launch_start_seconds + machine->launch_seconds;
}

/* Whether the shape fits; if so, sets the blocks per multiprocessor. A lane has 4 sums per tile. */
static bool fits(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_dense_shape *shape) {
    const size_t shared = shared_of(pass, numbers, shape);
    const int wide = fno_wide(numbers) ? 2 : 1;
    if (shape->tiles[0] * shape->tiles[1] * wide > 8 || shared > machine->shared_per_block) return false;
    const int64_t by_shared = (int64_t)(machine->shared_per_multiprocessor / (shared + 1024)),
                  by_registers = 512 / threads_of(shape);
    shape->blocks = (int)stn_min(by_shared, by_registers);
    return shape->blocks > 0;
}

bool fno_dense_shape_for(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_dense_shape *shape,
                         char *reason, size_t size) {
    double best = INFINITY;
    if (pass->product || pass->forward == pass->back || terms_of(pass) > MAX_TERMS || pass->modes > MAX_TERMS ||
        8 * steps_of(pass) * (columns_of(pass) + MAX_PADDING) > MAX_TABLE) {
        snprintf(reason, size, "an axis is too long for a product with its roots, and no FFT serves its length");
        return false;
    }
    for (int way = 0; way < 3 * 2 * 2 * 3 * 2; way++) {
        fno_dense_shape now = {.warps = {1 << way % 3, 1 << way / 3 % 2},
                               .tiles = {1 << way / 6 % 2, 1 << way / 12 % 3},
                               .depth = way / 36 ? 32 : 64};
        if (!fits(pass, numbers, machine, &now)) continue;
        stn_estimate unused = {0};
        const double cost = fno_dense_cost(pass, numbers, &now, machine, &unused);
        if (cost < best) best = cost, *shape = now;
    }
    if (best < INFINITY) return true;
    snprintf(reason, size, "a block's shared memory does not hold its lines");
    return false;
}
