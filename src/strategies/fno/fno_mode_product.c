/* fno_mode_product: matrix products for each mode; see fno_mode_product.h. */
#include "strategies/fno/fno_mode_product.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "render/render.h"

enum { DEPTH = 16 };

/* The arguments that fno_mode_product.cu declares; the scale follows in its arithmetic type. */
typedef struct modes_arguments {
    const void *left, *right;
    void *out;
    int64_t strides[9], terms;
    int32_t modes, rows, columns, row_blocks, column_blocks, points;
} modes_arguments;

static int rows_of(const fno_mode_product_shape *shape) { return 16 * shape->tiles[0] * shape->warps[0]; }
static int columns_of(const fno_mode_product_shape *shape) { return 8 * shape->tiles[1] * shape->warps[1]; }
static int threads_of(const fno_mode_product_shape *shape) {
    return 32 * shape->together * shape->warps[0] * shape->warps[1];
}

static size_t shared_of(const fno_mode_product_shape *shape, fno_numbers numbers) {
    return 2 * (size_t)shape->together * fno_complex_bytes(numbers) *
           (size_t)(rows_of(shape) * DEPTH + DEPTH * (columns_of(shape) + 2));
}

int64_t fno_mode_product_blocks(const fno_mode_product *product, const fno_mode_product_shape *shape) {
    int64_t blocks;
    if (stn_mul_overflows(stn_div_up(product->modes, shape->together), stn_div_up(product->rows, rows_of(shape)),
                          &blocks) ||
        stn_mul_overflows(blocks, stn_div_up(product->columns, columns_of(shape)), &blocks))
        return INT64_MAX;
    return blocks;
}

stn_status fno_mode_product_prepare(stn_kernel_set *kernels, const fno_mode_product *product, fno_numbers numbers,
                                    const fno_mode_product_shape *shape, stn_kernel **kernel, stn_error *error) {
    static const char *const store[] = {"double", "float", "unsigned short"}; /* by stn_dtype */
    const char *real = fno_wide(numbers) ? "double" : "float";
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, numbers.dtype);
    stn_params_int(&params, "BLOCKS", shape->blocks);
    stn_params_type(&params, "FNO_FROM", product->left_is_dtype ? store[numbers.dtype] : real);
    stn_params_type(&params, "FNO_RIGHT", product->right_is_dtype ? store[numbers.dtype] : real);
    stn_params_type(&params, "FNO_TO", product->out_is_dtype ? store[numbers.dtype] : real);
    stn_params_type(&params, "FNO_FACTOR", fno_factor(numbers));
    stn_params_int(&params, "FNO_PARTS", numbers.parts);
    stn_params_int(&params, "FNO_REAL", 0);
    stn_params_int(&params, "FNO_FORWARD", 0);
    stn_params_int(&params, "FNO_POINTS", product->points);
    stn_params_int(&params, "FNO_CONJUGATE", product->conjugate);
    stn_params_int(&params, "FNO_CONJUGATE_OUT", product->conjugate_out);
    stn_params_int(&params, "FNO_TOGETHER", shape->together);
    stn_params_int(&params, "FNO_ROWS_FAST", product->left_row < product->left_term);
    stn_params_int(&params, "FNO_MODES_FAST", product->right_mode == 1);
    stn_params_int(&params, "WARPS_M", shape->warps[0]);
    stn_params_int(&params, "WARPS_N", shape->warps[1]);
    stn_params_int(&params, "TILES_M", shape->tiles[0]);
    stn_params_int(&params, "TILES_N", shape->tiles[1]);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(modes_arguments));
    return stn_kernel_make(kernels, "fno_mode_product", &params, shared_of(shape, numbers), kernel, error);
}

stn_status fno_mode_product_launch(const stn_kernel *kernel, const fno_mode_product *product, fno_numbers numbers,
                                   const fno_mode_product_shape *shape, const void *left, const void *right, void *out,
                                   void *stream, stn_error *error) {
    modes_arguments a = {.left = left, .right = right, .out = out, .terms = product->terms};
    /* the nine strides, in the same order */
    memcpy(a.strides, &product->left_mode, sizeof a.strides);
    a.modes = (int32_t)product->modes, a.rows = (int32_t)product->rows, a.columns = (int32_t)product->columns;
    a.points = (int32_t)product->real_points;
    a.row_blocks = (int32_t)stn_div_up(product->rows, rows_of(shape));
    a.column_blocks = (int32_t)stn_div_up(product->columns, columns_of(shape));
    _Alignas(16) unsigned char arguments[sizeof a + sizeof(double)];
    memcpy(arguments, &a, sizeof a);
    stn_put_real(numbers.dtype, product->scale, arguments + sizeof a);
    return stn_kernel_launch(kernel, fno_mode_product_blocks(product, shape), threads_of(shape),
                             shared_of(shape, numbers), arguments, stream, error);
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

double fno_mode_product_cost(const fno_mode_product *product, fno_numbers numbers, const fno_mode_product_shape *shape,
                             const stn_machine *machine, stn_estimate *sum) {
    const double cell = (double)fno_complex_bytes(numbers), all = (double)product->modes;
    const double left = (double)product->rows * (double)product->terms,
                 right = (double)product->columns * (double)product->terms;
    const double loads[2] = {(double)stn_div_up(product->columns, columns_of(shape)),
                             (double)stn_div_up(product->rows, rows_of(shape))};
    const double sectors = product->right_mode == 1 && product->modes > 1
                               ? fmax(1, rates.partial_sector_factor * (1 - 0.25 * shape->together))
                               : 1;
    const double once = all * cell * (left + right * sectors + (double)product->rows * (double)product->columns);
    const double again = all * cell * (left * (loads[0] - 1) + right * (loads[1] - 1));
    const double flops = 8 * all * loads[0] * columns_of(shape) * loads[1] * rows_of(shape) *
                         (double)stn_round_up(product->terms, DEPTH);
    const stn_unit unit = fno_wide(numbers) ? STN_UNIT_TENSOR_F64 : STN_UNIT_TENSOR_TF32;
    const double blocks = (double)fno_mode_product_blocks(product, shape) / machine->multiprocessors / shape->blocks;
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

static bool fits(fno_mode_product_shape *shape, fno_numbers numbers, const stn_machine *machine) {
    const int tiles = shape->tiles[0] * shape->tiles[1] * (fno_wide(numbers) ? 2 : 1);
    const size_t shared = shared_of(shape, numbers);
    if (tiles > 4 || shared > machine->shared_per_block) return false;
    shape->blocks = 2 * (shared + 1024) <= machine->shared_per_multiprocessor ? 2 : 1;
    return threads_of(shape) <= 256 && threads_of(shape) >= 128;
}

void fno_mode_product_shape_for(const fno_mode_product *product, fno_numbers numbers, const stn_machine *machine,
                                fno_mode_product_shape *shape) {
    const bool contiguous_modes = product->right_mode == 1 || product->out_mode == 1;
    double best = INFINITY;
    *shape = (fno_mode_product_shape){.together = 1, .warps = {2, 2}, .tiles = {1, 1}, .blocks = 1};
    for (int way = 0; way < 3 * 16 * 4; way++) {
        fno_mode_product_shape now = {.together = 1 << way % 3, .warps = {1 << way / 3 % 4, 1 << way / 12 % 4}};
        now.tiles[0] = 1 + way / 48 % 2, now.tiles[1] = 1 + way / 96 % 2;
        if ((now.together > 1 && !contiguous_modes) || !fits(&now, numbers, machine)) continue;
        stn_estimate unused = {0};
        const double cost = fno_mode_product_cost(product, numbers, &now, machine, &unused);
        if (cost < best) best = cost, *shape = now;
    }
}
