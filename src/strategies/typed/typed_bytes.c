/* See typed_bytes.h and kernel_templates/typed/bytes.cuh. */
#include "strategies/typed/typed_bytes.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "host/stencil_kernels.h"
#include "host/stencil_step.h"
#include "render/render.h"

enum { LANES = 32, LINE_WARPS = 8, BOX_WARPS = 4, STEP = 32, RUN = 8, MAX_BOX_ROWS = 64, BYTE_VALUES = 256 };

/* Cycles of a multiprocessor for a point, by bytes of an element: about 250 and 600 instructions of
 * a warp for 1024 points; in typed_box, in addition, for staging and for each product. */
static const double point_cycles[2] = {0.06, 0.15};
#define STAGING_CYCLES 0.1
#define PRODUCT_CYCLES 0.015

/* Mirrors the struct of bytes.cuh. */
typedef struct bytes_term {
    double weight;
    int32_t slow, fast;
} bytes_term;

/* ---- which tasks ----------------------------------------------------------------------------- */

/* The kernel for the axes along which taps reach. */
static typed_kernel kernel_of(const stn_task *task) {
    bool reaches[3];
    for (int axis = 0; axis < 3; axis++) reaches[axis] = stn_task_reach(task, axis) > 0;
    if (reaches[0] + reaches[1] + reaches[2] == 1) return TYPED_LINES;
    return !reaches[0] && reaches[1] && reaches[2] ? TYPED_BOX : TYPED_POINT;
}

/* The axis along which taps reach; typed_box: the last one. */
static int axis_of(const stn_task *task) { return stn_task_reach(task, 2) ? 2 : stn_task_reach(task, 1) ? 1 : 0; }

static double sum_of_sizes(const stn_task *task) {
    double sum = 0;
    for (size_t k = 0; k < task->ntaps; k++) sum += fabs(task->taps[k].weight);
    return sum;
}

static double largest_weight(const stn_task *task) {
    double most = 0;
    for (size_t k = 0; k < task->ntaps; k++) most = fmax(most, fabs(task->taps[k].weight));
    return most;
}

/* ---- number types ---------------------------------------------------------------------------- */

/* The range of the elements. */
typedef struct bytes_type {
    int bytes;
    bool is_unsigned;
    double low, high;
} bytes_type;

/* bytes is 0 unless both arrays have the same one of these types. */
static bytes_type type_of(const stn_task *task) {
    const stn_element element = stn_task_element(task, false);
    if (element != stn_task_element(task, true)) return (bytes_type){0};
    switch (element) {
        case STN_ELEMENT_U8:
            return (bytes_type){1, true, 0, 255};
        case STN_ELEMENT_I8:
            return (bytes_type){1, false, -128, 127};
        case STN_ELEMENT_U16:
            return (bytes_type){2, true, 0, 65535};
        case STN_ELEMENT_I16:
            return (bytes_type){2, false, -32768, 32767};
        default:
            return (bytes_type){0};
    }
}

/* ---- weights in fixed point ------------------------------------------------------------------ */

/* Whether the weights are integers of at most two bytes. (Larger integers are exact too unless they
 * are divided, but fewer bytes are faster.) */
static bool is_integral(const stn_task *task) {
    for (size_t k = 0; k < task->ntaps; k++)
        if (task->taps[k].weight != rint(task->taps[k].weight)) return false;
    return largest_weight(task) <= 127 * 257;
}

/* Whether results are the top bytes of sums modulo 2^32. This needs weights that fit their bytes,
 * and sums that, even with their rounding error, do not exceed the range of the elements. */
static bool are_on_top(const stn_task *task, const bytes_type *type) {
    return type->is_unsigned && largest_weight(task) < 0.498 && type->high * sum_of_sizes(task) < type->high + 0.5;
}

typed_bytes_form typed_bytes_form_of(const stn_task *task) {
    const bytes_type type = type_of(task);
    typed_bytes_form form = {.integers = is_integral(task), .negative = !type.is_unsigned};
    form.digits = !form.integers ? 2 + type.bytes : largest_weight(task) <= 127 ? 1 : 2;
    for (size_t k = 0; k < task->ntaps; k++) form.negative = form.negative || task->taps[k].weight < 0;
    form.top = !form.integers && !form.negative && are_on_top(task, &type);
    return form;
}

/* Weights are multiples of 2^-bits, and sums of 2^-fraction; the error of a sum is at most doubt *
 * 2^-fraction. */
typedef struct bytes_scale {
    int digits, bits, fraction;
    double doubt;
} bytes_scale;

static double scaled(const bytes_scale *scale, double weight) { return rint(ldexp(weight, scale->bits)); }

/* False if the sums do not fit 32 bits, or if their error may be a sixteenth of a unit or more. */
static bool find_scale(const stn_task *task, bytes_scale *scale) {
    const bytes_type type = type_of(task);
    const typed_bytes_form form = typed_bytes_form_of(task);
    const double range = fmax(type.high, -type.low) * sum_of_sizes(task), most = largest_weight(task);
    double sum = 0, lost = 0, low = 0;
    *scale = (bytes_scale){.digits = form.digits};
    if (form.integers) return range < 0x1p30;
    if (!(range > 0x1p-20) || !(range < 0x1p24)) return false;
    const int dropped = form.top && type.bytes == 1 ? 0 : 8 * type.bytes;
    scale->bits = form.top ? dropped + 32 - 8 * type.bytes : dropped + 30 - ilogb(range) - 1;
    while (ldexp(most, scale->bits) > 127 * (ldexp(1, 8 * form.digits) - 1) / 255) scale->bits--;
    scale->fraction = scale->bits - dropped;
    for (size_t k = 0; k < task->ntaps; k++) {
        const double whole = scaled(scale, task->taps[k].weight),
                     off = ldexp(task->taps[k].weight, scale->bits) - whole;
        sum += off, lost += fabs(off), low += fabs(fmod(whole, ldexp(1, dropped)));
    }
    /* An element differs from the middle of its range by at most half of the range. The host rounds
     * each product and each sum. */
    const double error = lost * (type.high - type.low) / 2 + fabs(sum * (type.high + type.low) / 2) +
                         ldexp(range, scale->bits - 51) * (double)(task->ntaps + 1);
    scale->doubt = lost == 0 && low == 0 ? 0 : ceil(ldexp(error, -dropped)) + 2;
    return scale->fraction > 3 && scale->doubt < ldexp(1, scale->fraction - 4);
}

/* ---- which tasks, continued ------------------------------------------------------------------ */

static double past(const stn_task *task, int axis, int side) {
    const stn_boundary *boundary = &task->boundary[axis][side];
    return boundary->kind == STN_CONSTANT ? stn_task_constant_value(task, axis, side) : 0;
}

static bool has_whole_sides(const stn_task *task, int axis, const bytes_type *type) {
    for (int side = 0; side < 2; side++) {
        const double value = past(task, axis, side);
        if (task->boundary[axis][side].kind == STN_FIXED || !(value >= type->low && value <= type->high) ||
            value != rint(value))
            return false;
    }
    return true;
}

/* Rows of whole runs of 8 elements, at multiples of their size. */
static bool is_aligned(const stn_task *task) {
    if (task->n[2] % RUN || task->alignment < RUN * type_of(task).bytes) return false;
    for (int axis = 0; axis < 2; axis++)
        if (task->n[axis] > 1 && (task->in_stride[axis] % RUN || task->out_stride[axis] % RUN)) return false;
    return task->batch == 1 || (task->in_batch_stride % RUN == 0 && task->out_batch_stride % RUN == 0);
}

/* typed_lines: points that the window of a result begins before it, and slices of 32 points of the
 * window of eight results. */
static int pad_of(const stn_task *task, int axis) {
    return axis == 2 ? (int)stn_round_up(task->reach[2][0], 4) : (int)task->reach[axis][0];
}
static int slices_of(const stn_task *task, int axis) {
    return (int)stn_div_up(pad_of(task, axis) + RUN + task->reach[axis][1], STEP);
}
/* typed_box: points that its window begins before its results, rows of a product, and products. */
static int box_pad(const stn_task *task) { return (int)stn_round_up(task->reach[2][0], 4); }
static int box_together(const stn_task *task) { return box_pad(task) + 8 + task->reach[2][1] <= 16 ? 2 : 1; }
static int box_products(const stn_task *task) {
    return (int)stn_div_up(task->reach[1][0] + 1 + task->reach[1][1], box_together(task));
}

typedef struct bytes_tiles {
    int64_t x, y, all;
} bytes_tiles;

/* The task's axis that is axis 1 of the kernel: the taps' axis, but axis 1 if theirs is axis 2. */
static int slow_axis(const stn_task *task) { return axis_of(task) == 2 ? 1 : axis_of(task); }

/* ---- the shape of a block of typed_lines */

static size_t shared_of(const stn_task *task, int height) {
    const int axis = axis_of(task);
    const size_t bytes = (size_t)type_of(task).bytes, rows = (size_t)height, columns = STEP * LINE_WARPS,
                 window = (size_t)(STEP * slices_of(task, axis)),
                 left = (size_t)(stn_round_up(task->reach[2][0], RUN) - pad_of(task, 2)),
                 width = axis == 2 ? (size_t)stn_round_up((int64_t)(left + columns + window) - RUN, STEP) : columns,
                 rows_in = axis == 2 ? rows : rows - RUN + window, planes = bytes == 2 ? rows * 2 * (width + 16) : 0,
                 doubts = LINE_WARPS * (rows * 4 + 576),
                 terms = (size_t)(task->reach[axis][0] + task->reach[axis][1] + 1) * sizeof(bytes_term);
    return rows_in * (width * bytes + 16) +
           (axis == 2 ? planes + LINE_WARPS * 16 * (32 * bytes + 16) : rows * (columns * bytes + 16)) + doubts + terms;
}

/* Blocks that a multiprocessor holds, for which registers are limited. */
static int blocks_of(const stn_task *task) {
    return type_of(task).bytes == 1 && slices_of(task, axis_of(task)) == 1 ? 4 : 2;
}

/* Rows of a block: the number with which the last block ends earliest. If taps reach along axis 2,
 * each group of 16 rows is computed by the same number of warps. */
static int height_of(const stn_task *task, const stn_machine *machine) {
    enum { MAX_SHARED = 224 << 10, EXTRA_ROWS = 24 };
    const int y = slow_axis(task);
    const int64_t columns = stn_div_up(task->n[2], STEP * LINE_WARPS) * task->n[1 - y] * task->batch;
    int best = 0;
    double least = INFINITY;
    for (int height = 32; height <= 96; height += 16) {
        if (y != axis_of(task) && LINE_WARPS % (height / 16)) continue;
        const int blocks = blocks_of(task);
        if (blocks * shared_of(task, height) > MAX_SHARED && best) break;
        const int64_t at_once = blocks * (int64_t)stn_max(machine->multiprocessors, 1),
                      waves = stn_div_up(stn_div_up(task->n[y], height) * columns, at_once);
        const double cost = (double)waves * (height + EXTRA_ROWS);
        if (cost < least) least = cost, best = height;
    }
    return best;
}

static bytes_tiles tiles_of(const stn_task *task, const stn_machine *machine, typed_kernel kernel) {
    const int y = slow_axis(task);
    const bool box = kernel == TYPED_BOX;
    const int64_t width = box ? 2 * STEP : STEP * LINE_WARPS,
                  height = box ? STEP / 2 * BOX_WARPS : height_of(task, machine);
    bytes_tiles tiles = {.x = stn_div_up(task->n[2], width), .y = stn_div_up(task->n[y], height)};
    tiles.all = tiles.x * tiles.y * task->n[1 - y] * task->batch;
    return tiles;
}

unsigned typed_bytes_threads(typed_kernel kernel) { return LANES * (kernel == TYPED_BOX ? BOX_WARPS : LINE_WARPS); }

typed_kernel typed_bytes_kernel(const stn_task *task, const stn_machine *machine) {
    const int axis = axis_of(task);
    const bytes_type type = type_of(task);
    const typed_kernel kernel = kernel_of(task);
    bytes_scale scale;
    if (kernel == TYPED_POINT || machine->sm < 80 || !type.bytes || task->in_stride[2] != 1 ||
        task->out_stride[2] != 1 || !has_whole_sides(task, axis, &type) || !find_scale(task, &scale))
        return TYPED_POINT;
    if (kernel == TYPED_BOX ? !has_whole_sides(task, 1, &type) || box_pad(task) + 8 + task->reach[2][1] > STEP ||
                                  box_products(task) > 32
                            : slices_of(task, axis) > 5 - type.bytes)
        return TYPED_POINT;
    if ((axis == 2 && task->n[1] < 8) || tiles_of(task, machine, kernel).all > INT32_MAX) return TYPED_POINT;
    /* The kernels divide integers by integers. */
    const bool whole = task->divisor >= 1 && task->divisor == rint(task->divisor) && task->divisor < 0x1p31;
    return task->divisor == 1 || (whole && is_integral(task)) ? kernel : TYPED_POINT;
}

double typed_bytes_seconds(const stn_task *task, const stn_machine *machine, typed_kernel kernel) {
    const double points = (double)stn_task_points(task);
    const int bytes = (int)stn_max(type_of(task).bytes, 1);
    const double cycles = point_cycles[bytes - 1] +
                          (kernel == TYPED_BOX ? STAGING_CYCLES + PRODUCT_CYCLES * bytes * box_products(task) : 0);
    return fmax(2 * bytes * points / machine->copy_bandwidth,
                points * cycles / ((double)machine->multiprocessors * machine->clock)) +
           machine->launch_seconds;
}

/* ---- kernel and tables ----------------------------------------------------------------------- */

size_t typed_bytes_shared(const stn_task *task, const stn_machine *machine, typed_kernel kernel) {
    return kernel == TYPED_BOX ? 0 : shared_of(task, height_of(task, machine));
}

void typed_bytes_params(const stn_task *task, const stn_machine *machine, typed_kernel kernel, stn_text *params) {
    const typed_bytes_form form = typed_bytes_form_of(task);
    stn_params_element(params, "STORE", stn_task_element(task, false));
    stn_params_int(params, "UNSIGNED", type_of(task).is_unsigned);
    stn_params_int(params, "DIGITS", form.digits);
    stn_params_int(params, "INTEGERS", form.integers);
    stn_params_int(params, "NEGATIVE", form.negative);
    stn_params_int(params, "TOP", form.top);
    stn_params_int(params, "ALIGNED", is_aligned(task));
    const int slow = slow_axis(task);
    stn_params_axis(params, 1, task->reach[slow], task->boundary[slow]);
    stn_params_axis(params, 2, task->reach[2], task->boundary[2]);
    stn_params_int(params, "WARPS", kernel == TYPED_BOX ? BOX_WARPS : LINE_WARPS);
    if (kernel == TYPED_LINES) {
        stn_params_int(params, "BLOCKS", blocks_of(task));
        stn_params_int(params, "TYPED_ROWS", height_of(task, machine));
    }
    stn_params_int(params, "EXPECTED_HEADER", sizeof(typed_bytes_arguments));
}

/* The number of slices of the band matrix in the table. If typed_lines has a single slice, the
 * table has it a second time, with its halves exchanged. */
static int bands_of(const stn_task *task, typed_kernel kernel) {
    const int slices = slices_of(task, axis_of(task));
    return kernel == TYPED_BOX ? box_products(task) : slices == 1 ? 2 : slices;
}

/* Words of all fragments, which have two registers for each lane. */
static size_t band_words(const stn_task *task, typed_kernel kernel) {
    return (size_t)(bands_of(task, kernel) * 2 * typed_bytes_form_of(task).digits) * LANES;
}

/* Where the terms begin: after the fragments and four words of the doubt, with which sums begin. */
static size_t terms_at(const stn_task *task, typed_kernel kernel) {
    return (band_words(task, kernel) + 4) * sizeof(uint32_t);
}

size_t typed_bytes_table_size(const stn_task *task, typed_kernel kernel) {
    return terms_at(task, kernel) + task->ntaps * sizeof(bytes_term) + BYTE_VALUES;
}

/* Weights by offset, from the taps' lowest on. */
typedef struct weight_table {
    int64_t low[3], size[3];
    double weights[MAX_BOX_ROWS * (STEP - 7)];
} weight_table;

static void fill_weights(const stn_task *task, weight_table *table) {
    memset(table->weights, 0, sizeof table->weights);
    for (int axis = 0; axis < 3; axis++) {
        table->low[axis] = -task->reach[axis][0];
        table->size[axis] = task->reach[axis][0] + 1 + task->reach[axis][1];
    }
    for (size_t k = 0; k < task->ntaps; k++) {
        int64_t at = 0;
        for (int axis = 0; axis < 3; axis++)
            at = at * table->size[axis] + task->taps[k].offset[axis] - table->low[axis];
        table->weights[at] = task->taps[k].weight;
    }
}

static double weight_at(const weight_table *table, const int64_t *offset) {
    int64_t at = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t index = offset[axis] - table->low[axis];
        if (index < 0 || index >= table->size[axis]) return 0;
        at = at * table->size[axis] + index;
    }
    return table->weights[at];
}

/* Signed byte number `digit`, from the lowest on. */
static uint32_t digit_of(const bytes_scale *scale, double weight, int digit) {
    int64_t rest = (int64_t)scaled(scale, weight);
    for (;; digit--) {
        const int64_t lowest = ((rest + 128) & 255) - 128;
        if (!digit) return (uint32_t)lowest & 255;
        rest = (rest - lowest) / 256;
    }
}

/* The offset, from the result, of the tap whose weight is byte `e` of register `r` of the lane's
 * fragment of a slice; points of the slice are in the kernel's order. */
static void find_offset(const stn_task *task, typed_kernel kernel, int slice, int lane, int r, int e,
                        int64_t offset[3]) {
    const int g = lane / 4, t = lane % 4, axis = axis_of(task);
    offset[0] = offset[1] = offset[2] = 0;
    if (kernel == TYPED_LINES)
        offset[axis] = STEP * (slices_of(task, axis) == 1 ? 0 : slice) +
                       16 * (slices_of(task, axis) == 1 ? r ^ slice : r) +
                       (axis == 2 ? 4 * t + e : 2 * t + e % 2 + e / 2 * 8) - g - pad_of(task, axis);
    else {
        const int together = box_together(task);
        offset[1] = together * slice + (together == 2 ? r : 0) - task->reach[1][0];
        offset[2] = 4 * t + e + (together == 2 ? 0 : 16 * r) - g - box_pad(task);
    }
}

static void fill_bands(const stn_task *task, typed_kernel kernel, uint32_t *to) {
    const size_t words = 2 * LANES; /* of a fragment */
    bytes_scale scale;
    weight_table table;
    (void)find_scale(task, &scale);
    fill_weights(task, &table);
    for (int slice = 0; slice < bands_of(task, kernel); slice++, to += words * (size_t)scale.digits)
        for (size_t word = 0; word < words; word++)
            for (int e = 0; e < 4; e++) {
                int64_t offset[3];
                find_offset(task, kernel, slice, (int)word / 2, (int)word % 2, e, offset);
                const double weight = weight_at(&table, offset);
                for (int digit = 0; digit < scale.digits; digit++)
                    to[(size_t)digit * words + word] |= digit_of(&scale, weight, digit) << (8 * e);
            }
}

/* Writes the terms of the host's sum in the host's order and, after them, for each value of a byte,
 * the host's result where all taps read that value. */
static void fill_terms(const stn_task *task, bytes_term *to) {
    const int axis = axis_of(task), pairing = stn_step_pairing(task);
    const size_t taps = task->ntaps, pairs = pairing ? taps / 2 : 0, singles = taps - 2 * pairs;
    for (size_t k = 0; k < singles + pairs; k++) {
        const size_t first = !pairing ? k : k < singles ? taps / 2 : k - singles;
        const int64_t *offset = task->taps[first].offset;
        to[k] = (bytes_term){task->taps[first].weight, (int32_t)offset[1], (int32_t)offset[axis]};
    }
    const stn_element element = type_of(task).is_unsigned ? STN_ELEMENT_U8 : STN_ELEMENT_I8;
    unsigned char *results = (unsigned char *)(to + taps);
    for (int bits = 0; bits < BYTE_VALUES; bits++) {
        const unsigned char byte = (unsigned char)bits;
        double value, sum = -0.0;
        stn_kernels_best()->load[element](&value, &byte, 1);
        for (size_t k = 0; k < singles + pairs; k++)
            sum += (k < singles ? value : pairing > 0 ? value + value : value - value) * to[k].weight;
        stn_kernels_best()->store[element](&results[bits], &sum, 1);
    }
}

void typed_bytes_fill_table(const stn_task *task, typed_kernel kernel, unsigned char *table) {
    fill_bands(task, kernel, (uint32_t *)table);
    bytes_scale scale;
    (void)find_scale(task, &scale);
    for (int i = 0; i < 4; i++) ((uint32_t *)table)[band_words(task, kernel) + (size_t)i] = (uint32_t)scale.doubt;
    fill_terms(task, (bytes_term *)(table + terms_at(task, kernel)));
}

/* ---- running --------------------------------------------------------------------------------- */

/* Sets the factor and the shift with which floor(n / divisor) = (2 n * multiplier / 2^32) >> shift
 * for n below 2^30. */
static void set_division(typed_bytes_arguments *a, double divisor) {
    const uint64_t by = (uint64_t)divisor;
    while ((uint64_t)1 << a->shift < by) a->shift++;
    a->multiplier = (uint32_t)((((uint64_t)1 << (31 + a->shift)) + by - 1) / by);
}

unsigned typed_bytes_fill_arguments(const stn_task *task, const stn_machine *machine, typed_kernel kernel, void *table,
                                    typed_bytes_arguments *a) {
    const int y = slow_axis(task), order[3] = {1 - y, y, 2};
    const bytes_tiles tiles = tiles_of(task, machine, kernel);
    const size_t pairs = stn_step_pairing(task) ? task->ntaps / 2 : 0;
    bytes_scale scale;
    (void)find_scale(task, &scale);
    *a = (typed_bytes_arguments){.tiles_x = (int32_t)tiles.x, .tiles_y = (int32_t)tiles.y};
    unsigned char *const terms = (unsigned char *)table + terms_at(task, kernel);
    a->bands = table, a->terms = terms, a->of_value = terms + task->ntaps * sizeof(bytes_term);
    for (int i = 0; i < 3; i++) {
        a->n[i] = task->n[order[i]];
        a->in_stride[i] = task->in_stride[order[i]], a->out_stride[i] = task->out_stride[order[i]];
    }
    a->in_batch = task->in_batch_stride, a->out_batch = task->out_batch_stride;
    a->singles = (int32_t)(task->ntaps - 2 * pairs), a->terms_all = (int32_t)(task->ntaps - pairs);
    a->odd = stn_step_pairing(task) < 0;
    a->fraction = scale.fraction;
    if (scale.doubt > 0) {
        a->doubt = (int32_t)scale.doubt;
        a->limit = ((uint32_t)ldexp(2 * scale.doubt, 16 - scale.fraction) + 1) * 0x00010001u;
    }
    set_division(a, task->divisor);
    /* Of a negative number, only the bits of an element: kernels put several into a word. */
    const uint32_t bits = type_of(task).bytes == 2 ? UINT16_MAX : UINT8_MAX;
    for (int i = 0; i < 2; i++)
        for (int side = 0; side < 2 && stn_task_reach(task, order[i + 1]); side++)
            a->past[i][side] = (uint32_t)(int32_t)past(task, order[i + 1], side) & bits;
    return (unsigned)tiles.all;
}
