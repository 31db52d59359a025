/* See typed_bytes.h and kernel_templates/typed/bytes.cuh. */
#include "strategies/typed/typed_bytes.h"

#include <math.h>

#include "base/arith.h"
#include "base/half.h"
#include "host/stencil_step.h"
#include "render/render.h"

enum { WARPS = 4, CHUNK = 8, MOST_SLICES = 2, LANES = 32 };

/* Cycles of a multiprocessor for a point: about 200 instructions for 512 points of a warp. */
#define POINT_CYCLES 0.15
/* The sums of integer weights are far below 2^24, so that they and their quotients are exact. */
#define MOST_SUM 0x1p20

/* Same as in bytes.cuh. */
typedef struct bytes_term {
    double weight;
    int32_t first, second;
} bytes_term;
typedef struct bytes_arguments {
    const void *in;
    void *out;
    const void *bands, *terms;
    int64_t n[3], in_stride[3], out_stride[3], in_batch, out_batch;
    int32_t tiles_x, tiles_y, singles, terms_all, odd, past[2];
    float scale, offset, doubt;
    double constant[2], divisor;
} bytes_arguments;

/* ---- which tasks ----------------------------------------------------------------------------- */

/* The only axis along which taps reach; -1: none or several. */
static int axis_of(const stn_task *task) {
    int found = -1;
    for (int axis = 0; axis < 3; axis++) {
        if (!stn_task_reach(task, axis)) continue;
        if (found >= 0) return -1;
        found = axis;
    }
    return found;
}

static double sum_of_sizes(const stn_task *task) {
    double sum = 0;
    for (size_t k = 0; k < task->ntaps; k++) sum += fabs(task->taps[k].weight);
    return sum;
}

bool typed_bytes_integers(const stn_task *task) {
    for (size_t k = 0; k < task->ntaps; k++)
        if (task->taps[k].weight != rint(task->taps[k].weight) || fabs(task->taps[k].weight) > 2048) return false;
    return true;
}

static double past(const stn_task *task, int axis, int side) {
    const stn_boundary *boundary = &task->boundary[axis][side];
    return boundary->kind == STN_CONSTANT ? stn_task_constant_value(task, axis, side) : 0;
}

static bool has_byte_sides(const stn_task *task, int axis) {
    for (int side = 0; side < 2; side++) {
        const double value = past(task, axis, side);
        if (task->boundary[axis][side].kind == STN_FIXED || !(value >= 0 && value <= 255) || value != rint(value))
            return false;
    }
    return true;
}

/* Rows of whole words of 8 bytes, at multiples of 8 bytes. */
static bool is_aligned(const stn_task *task) {
    if (task->in_stride[2] != 1 || task->out_stride[2] != 1 || task->n[2] % 8 || task->alignment < 8) return false;
    for (int axis = 0; axis < 2; axis++)
        if (task->n[axis] > 1 && (task->in_stride[axis] % 8 || task->out_stride[axis] % 8)) return false;
    return task->batch == 1 || (task->in_batch_stride % 8 == 0 && task->out_batch_stride % 8 == 0);
}

static int slices_of(const stn_task *task, int axis) { return (stn_task_reach(task, axis) + 15) / 16; }

typedef struct bytes_tiles {
    int64_t x, y, all;
} bytes_tiles;

/* The other one of the two slow axes comes first, for typed_columns. */
static int slow_axis(const stn_task *task, typed_kernel kernel) { return kernel == TYPED_COLUMNS ? axis_of(task) : 1; }

static bytes_tiles tiles_of(const stn_task *task, typed_kernel kernel) {
    const int y = slow_axis(task, kernel);
    const bool columns = kernel == TYPED_COLUMNS;
    bytes_tiles tiles = {stn_div_up(task->n[2], 32 * (columns ? WARPS : CHUNK)),
                         stn_div_up(task->n[y], 16 * (columns ? CHUNK : WARPS)), 0};
    tiles.all = tiles.x * tiles.y * task->n[1 - y] * task->batch;
    return tiles;
}

typed_kernel typed_bytes_kernel(const stn_task *task, const stn_machine *machine) {
    const int axis = axis_of(task);
    if (axis < 0 || machine->sm < 80 || stn_task_element(task, false) != STN_ELEMENT_U8 ||
        stn_task_element(task, true) != STN_ELEMENT_U8 || !is_aligned(task) || !has_byte_sides(task, axis))
        return TYPED_POINT;
    const typed_kernel kernel = axis == 2 ? TYPED_ROWS : TYPED_COLUMNS;
    if (255 * sum_of_sizes(task) > MOST_SUM || slices_of(task, axis) > (kernel == TYPED_ROWS ? 1 : MOST_SLICES) ||
        (kernel == TYPED_ROWS && task->n[1] < 8) || tiles_of(task, kernel).all > INT32_MAX)
        return TYPED_POINT;
    /* The kernels divide integers by integers. */
    const bool whole = task->divisor >= 1 && task->divisor == rint(task->divisor);
    return task->divisor == 1 || (whole && typed_bytes_integers(task)) ? kernel : TYPED_POINT;
}

double typed_bytes_seconds(const stn_task *task, const stn_machine *machine) {
    const double points = (double)stn_task_points(task);
    return fmax(2 * points / machine->copy_bandwidth,
                points * POINT_CYCLES / ((double)machine->multiprocessors * machine->clock)) +
           machine->launch_seconds;
}

/* ---- kernel and tables ----------------------------------------------------------------------- */

void typed_bytes_params(const stn_task *task, typed_kernel kernel, stn_text *params) {
    const int axis = axis_of(task);
    stn_params_int(params, "TAPS_LOW", task->reach[axis][0]);
    stn_params_int(params, "TAPS_HIGH", task->reach[axis][1]);
    stn_params_int(params, "TAPS_SIDE_LOW", (int64_t)task->boundary[axis][0].kind);
    stn_params_int(params, "TAPS_SIDE_HIGH", (int64_t)task->boundary[axis][1].kind);
    stn_params_int(params, "KT", kernel == TYPED_ROWS ? 1 : slices_of(task, axis));
    stn_params_int(params, "WARPS", WARPS);
    stn_params_int(params, "CHUNK", CHUNK);
    stn_params_int(params, "INTEGERS", typed_bytes_integers(task));
    stn_params_int(params, "EXPECTED_HEADER", sizeof(bytes_arguments));
}

/* Words of the band matrix's fragments. */
static size_t band_words(const stn_task *task, typed_kernel kernel) {
    const size_t parts = typed_bytes_integers(task) ? 1 : 2, slices = (size_t)slices_of(task, axis_of(task));
    return parts * LANES * (kernel == TYPED_COLUMNS ? (1 + 2 * slices) * 4 : (size_t)4 * 4 * 2);
}

size_t typed_bytes_table_size(const stn_task *task, typed_kernel kernel) {
    return band_words(task, kernel) * sizeof(uint32_t) + task->ntaps * sizeof(bytes_term);
}

/* The power of two that brings the largest weight to 2^10 and above; 1 for integers. */
static double scale_of(const stn_task *task) {
    double most = 0;
    int exponent;
    if (typed_bytes_integers(task)) return 1;
    for (size_t k = 0; k < task->ntaps; k++) most = fmax(most, fabs(task->taps[k].weight));
    (void)frexp(most, &exponent);
    return ldexp(1, 11 - exponent);
}

static double weight_at(const stn_task *task, int axis, int64_t offset) {
    for (size_t k = 0; k < task->ntaps; k++)
        if (task->taps[k].offset[axis] == offset) return task->taps[k].weight;
    return 0;
}

/* Part 0 of a scaled weight is its rounding to f16, part 1 the rounding of the rest. */
static uint16_t part_of(double weight, int part) {
    const uint16_t high = stn_float_to_half((float)weight);
    return part ? stn_float_to_half((float)(weight - (double)stn_half_to_float(high))) : high;
}

/* The offset of the weight in half `e` of register `r` of a fragment. typed_columns: row m and
 * column k of a 16 x 16 matrix. typed_rows: row k and column n of n-tile j, in the kernel's
 * order. */
static int64_t columns_offset(int lane, int r, int e) {
    const int g = lane / 4, t = lane % 4;
    return 2 * t + e + r / 2 * 8 - (g + r % 2 * 8);
}
static int64_t rows_offset(int lane, int j, int r, int e) {
    const int g = lane / 4, t = lane % 4;
    return 4 * t + 2 * r + e - (8 * (g / 2) + 2 * j + g % 2);
}

static void fill_bands(const stn_task *task, typed_kernel kernel, uint32_t *to) {
    const int axis = axis_of(task), parts = typed_bytes_integers(task) ? 1 : 2;
    const bool columns = kernel == TYPED_COLUMNS;
    const int near = columns ? slices_of(task, axis) : 1, slices = (columns ? 1 : 2) + 2 * near;
    const int tiles = columns ? 1 : 4, registers = columns ? 4 : 2;
    const double scale = scale_of(task);
    for (int part = 0; part < parts; part++)
        for (int j = 0; j < tiles; j++)
            for (int k = 0; k < slices; k++)
                for (int lane = 0; lane < LANES; lane++)
                    for (int r = 0; r < registers; r++) {
                        uint32_t word = 0;
                        for (int e = 0; e < 2; e++) {
                            const int64_t offset =
                                16 * (k - near) + (columns ? columns_offset(lane, r, e) : rows_offset(lane, j, r, e));
                            word |= (uint32_t)part_of(scale * weight_at(task, axis, offset), part) << (16 * e);
                        }
                        *to++ = word;
                    }
}

/* The host's terms, in its order; returns the number of single ones. */
static size_t fill_terms(const stn_task *task, bytes_term *to) {
    const int axis = axis_of(task), pairing = stn_step_pairing(task);
    const size_t taps = task->ntaps, pairs = pairing ? taps / 2 : 0, singles = taps - 2 * pairs;
    for (size_t k = 0; k < singles + pairs; k++) {
        const size_t first = !pairing ? k : k < singles ? taps / 2 : k - singles;
        to[k] = (bytes_term){task->taps[first].weight, (int32_t)task->taps[first].offset[axis],
                             (int32_t)task->taps[taps - 1 - first].offset[axis]};
    }
    return singles;
}

void typed_bytes_fill_table(const stn_task *task, typed_kernel kernel, unsigned char *table) {
    fill_bands(task, kernel, (uint32_t *)table);
    (void)fill_terms(task, (bytes_term *)(table + band_words(task, kernel) * sizeof(uint32_t)));
}

/* ---- running --------------------------------------------------------------------------------- */

/* A bound of the error of a sum. Tensor cores align 16 products and the sum, and cut off what is
 * below 2^-24 of the largest; values are at most 128 in size. Then the roundings of the weights, of
 * the sum's scaling and of its offset. */
static double doubt_of(const stn_task *task) {
    const double size = 128 * sum_of_sizes(task), slices = 2 + 2 * slices_of(task, axis_of(task));
    return size * (slices * 18 * 0x1p-24 + 0x1p-22 + 0x1p-21);
}

stn_status typed_bytes_launch(const stn_task *task, typed_kernel kernel, const stn_kernel *loaded, void *table,
                              const stn_execution *run, stn_error *error) {
    const int axis = axis_of(task), y = slow_axis(task, kernel), order[3] = {1 - y, y, 2};
    const bytes_tiles tiles = tiles_of(task, kernel);
    const int pairing = stn_step_pairing(task);
    const size_t pairs = pairing ? task->ntaps / 2 : 0;
    unsigned char *const at = table;
    bytes_arguments a = {.in = run->in, .out = run->out, .bands = at};
    a.terms = at + band_words(task, kernel) * sizeof(uint32_t);
    for (int i = 0; i < 3; i++) {
        a.n[i] = task->n[order[i]];
        a.in_stride[i] = task->in_stride[order[i]], a.out_stride[i] = task->out_stride[order[i]];
    }
    a.in_batch = task->in_batch_stride, a.out_batch = task->out_batch_stride;
    a.tiles_x = (int32_t)tiles.x, a.tiles_y = (int32_t)tiles.y;
    a.singles = (int32_t)(task->ntaps - 2 * pairs), a.terms_all = (int32_t)(task->ntaps - pairs), a.odd = pairing < 0;
    double sum = 0;
    for (size_t k = 0; k < task->ntaps; k++) sum += task->taps[k].weight;
    a.scale = (float)(1 / scale_of(task)), a.offset = (float)(128 * sum), a.divisor = task->divisor;
    a.doubt = (float)(typed_bytes_integers(task) ? 1 / task->divisor : doubt_of(task));
    for (int side = 0; side < 2; side++) {
        a.constant[side] = past(task, axis, side);
        a.past[side] = (int32_t)((uint32_t)a.constant[side] * 0x01010101u);
    }
    stn_launch how = {.grid = {(unsigned)tiles.all, 1, 1}, .block = {LANES * WARPS, 1, 1}, .stream = run->stream};
    return stn_module_launch(loaded->module, &how, &a, error);
}
