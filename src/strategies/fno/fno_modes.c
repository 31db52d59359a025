/* fno_modes: matrix products for each mode; see fno_modes.h. */
#include "strategies/fno/fno_modes.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "render/render.h"

enum { DEPTH = 16 };

/* The arguments that fno_modes.cu declares; the scale follows in its arithmetic type. */
typedef struct modes_arguments {
    const void *left, *right;
    void *out;
    int64_t strides[9], terms;
    int32_t modes, rows, columns, row_blocks, column_blocks, points;
} modes_arguments;

static int rows_of(const fno_modes_shape *shape) { return 16 * shape->tiles[0] * shape->warps[0]; }
static int columns_of(const fno_modes_shape *shape) { return 8 * shape->tiles[1] * shape->warps[1]; }
static int threads_of(const fno_modes_shape *shape) { return 32 * shape->together * shape->warps[0] * shape->warps[1]; }

static size_t shared_of(const fno_modes_shape *shape, fno_numbers numbers) {
    return 2 * (size_t)shape->together * fno_complex_bytes(numbers) *
           (size_t)(rows_of(shape) * DEPTH + DEPTH * (columns_of(shape) + 2));
}

int64_t fno_modes_blocks(const fno_modes *modes, const fno_modes_shape *shape) {
    int64_t blocks;
    if (stn_mul_overflows(stn_div_up(modes->modes, shape->together), stn_div_up(modes->rows, rows_of(shape)),
                          &blocks) ||
        stn_mul_overflows(blocks, stn_div_up(modes->columns, columns_of(shape)), &blocks))
        return INT64_MAX;
    return blocks;
}

stn_status fno_modes_prepare(stn_kernel_set *kernels, const fno_modes *modes, fno_numbers numbers,
                             const fno_modes_shape *shape, stn_kernel **kernel, stn_error *error) {
    static const char *const store[] = {"double", "float", "unsigned short"}; /* by stn_dtype */
    const char *real = fno_wide(numbers) ? "double" : "float";
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, numbers.dtype);
    stn_params_int(&params, "BLOCKS", shape->blocks);
    stn_params_type(&params, "FNO_FROM", modes->left_store ? store[numbers.dtype] : real);
    stn_params_type(&params, "FNO_RIGHT", modes->right_store ? store[numbers.dtype] : real);
    stn_params_type(&params, "FNO_TO", modes->out_store ? store[numbers.dtype] : real);
    stn_params_type(&params, "FNO_FACTOR", fno_factor(numbers));
    stn_params_int(&params, "FNO_PARTS", numbers.parts);
    stn_params_int(&params, "FNO_REAL", 0);
    stn_params_int(&params, "FNO_FORWARD", 0);
    stn_params_int(&params, "FNO_POINTS", modes->points);
    stn_params_int(&params, "FNO_CONJUGATE", modes->conjugate);
    stn_params_int(&params, "FNO_CONJUGATE_OUT", modes->conjugate_out);
    stn_params_int(&params, "FNO_TOGETHER", shape->together);
    stn_params_int(&params, "FNO_ROWS_FAST", modes->left_row < modes->left_term);
    stn_params_int(&params, "FNO_MODES_FAST", modes->right_mode == 1);
    stn_params_int(&params, "WARPS_M", shape->warps[0]);
    stn_params_int(&params, "WARPS_N", shape->warps[1]);
    stn_params_int(&params, "TILES_M", shape->tiles[0]);
    stn_params_int(&params, "TILES_N", shape->tiles[1]);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(modes_arguments));
    return stn_kernel_make(kernels, "fno_modes", &params, shared_of(shape, numbers), kernel, error);
}

stn_status fno_modes_launch(const stn_kernel *kernel, const fno_modes *modes, fno_numbers numbers,
                            const fno_modes_shape *shape, const void *left, const void *right, void *out, void *stream,
                            stn_error *error) {
    modes_arguments a = {.left = left, .right = right, .out = out, .terms = modes->terms};
    /* the nine strides, in the same order */
    memcpy(a.strides, &modes->left_mode, sizeof a.strides);
    a.modes = (int32_t)modes->modes, a.rows = (int32_t)modes->rows, a.columns = (int32_t)modes->columns;
    a.points = (int32_t)modes->real_points;
    a.row_blocks = (int32_t)stn_div_up(modes->rows, rows_of(shape));
    a.column_blocks = (int32_t)stn_div_up(modes->columns, columns_of(shape));
    _Alignas(16) unsigned char arguments[sizeof a + sizeof(double)];
    memcpy(arguments, &a, sizeof a);
    stn_put_real(numbers.dtype, modes->scale, arguments + sizeof a);
    return stn_kernel_launch(kernel, fno_modes_blocks(modes, shape), threads_of(shape), shared_of(shape, numbers),
                             arguments, stream, error);
}

/* Estimates; only block_start_seconds is measured. */
static const struct {
    double copy_fraction, tensor_fraction; /* of the peak rates */
    double reread_byte_cost;               /* of a byte that is read again from L2 */
    double block_start_seconds;            /* of a block's first loads and last stores */
    /* Read bandwidth of one multiprocessor, as a multiple of its share of the GPU's */
    double bandwidth_shares;
    double partial_sector_factor; /* for a matrix whose sectors are read in parts */
} rates = {0.7, 0.4, 0.6, 1e-6, 3, 2};

double fno_modes_cost(const fno_modes *modes, fno_numbers numbers, const fno_modes_shape *shape,
                      const stn_machine *machine, stn_estimate *sum) {
    const double cell = (double)fno_complex_bytes(numbers), all = (double)modes->modes;
    const double left = (double)modes->rows * (double)modes->terms,
                 right = (double)modes->columns * (double)modes->terms;
    const double loads[2] = {(double)stn_div_up(modes->columns, columns_of(shape)),
                             (double)stn_div_up(modes->rows, rows_of(shape))};
    const double sectors = modes->right_mode == 1 && modes->modes > 1
                               ? fmax(1, rates.partial_sector_factor * (1 - 0.25 * shape->together))
                               : 1;
    const double once = all * cell * (left + right * sectors + (double)modes->rows * (double)modes->columns);
    const double again = all * cell * (left * (loads[0] - 1) + right * (loads[1] - 1));
    const double flops =
        8 * all * loads[0] * columns_of(shape) * loads[1] * rows_of(shape) * (double)stn_round_up(modes->terms, DEPTH);
    const stn_unit unit = fno_wide(numbers) ? STN_UNIT_TENSOR_F64 : STN_UNIT_TENSOR_TF32;
    const double blocks = (double)fno_modes_blocks(modes, shape) / machine->multiprocessors / shape->blocks;
    const double idle = ceil(blocks) / blocks;
    const double moving = (once + rates.reread_byte_cost * again) / (rates.copy_fraction * machine->copy_bandwidth);
    /* Small tiles reload factors. */
    const double tiles = fmin(4, shape->tiles[0] * shape->tiles[1]),
                 reached = rates.tensor_fraction * (0.4 + 0.15 * tiles);
    const double working = flops * (numbers.parts == 2 ? 3 : 1) / (reached * machine->flops[unit]);
    sum->bytes += once, sum->flops += flops, sum->launches += 1, sum->unit = unit;
    /* with few blocks each gets more bandwidth */
    const double idle_share = fmax(1, idle / rates.bandwidth_shares);
    return fmax(moving * idle_share, working * idle) + rates.block_start_seconds + machine->launch_seconds;
}

/* ---- choosing: the cheapest shape, of at most eight warps */

static bool fits(fno_modes_shape *shape, fno_numbers numbers, const stn_machine *machine) {
    const int tiles = shape->tiles[0] * shape->tiles[1] * (fno_wide(numbers) ? 2 : 1);
    const size_t shared = shared_of(shape, numbers);
    if (tiles > 4 || shared > machine->shared_per_block) return false;
    shape->blocks = 2 * (shared + 1024) <= machine->shared_per_multiprocessor ? 2 : 1;
    return threads_of(shape) <= 256 && threads_of(shape) >= 128;
}

void fno_modes_shape_for(const fno_modes *modes, fno_numbers numbers, const stn_machine *machine,
                         fno_modes_shape *shape) {
    const bool side = modes->right_mode == 1 || modes->out_mode == 1;
    double best = INFINITY;
    *shape = (fno_modes_shape){.together = 1, .warps = {2, 2}, .tiles = {1, 1}, .blocks = 1};
    for (int way = 0; way < 3 * 16 * 4; way++) {
        fno_modes_shape now = {.together = 1 << way % 3, .warps = {1 << way / 3 % 4, 1 << way / 12 % 4}};
        now.tiles[0] = 1 + way / 48 % 2, now.tiles[1] = 1 + way / 96 % 2;
        if ((now.together > 1 && !side) || !fits(&now, numbers, machine)) continue;
        stn_estimate unused = {0};
        const double cost = fno_modes_cost(modes, numbers, &now, machine, &unused);
        if (cost < best) best = cost, *shape = now;
    }
}
