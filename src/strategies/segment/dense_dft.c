/* Extents, cost, rounding error and tables of dense-DFT segments and tiles. Tables consist of runs,
 * which a warp reads at once, two values per lane. */
#include "strategies/segment/dense_dft.h"

#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "plan/error_bound.h"
#include "render/render.h"
#include "strategies/common/twiddles.h"
#include "strategies/segment/segment_tables.h"

#define ROWS 16 /* Rows of a strip, and of a left factor. */
#define BLOCK 8 /* Columns of a product. */
#define RUN 64
#define FRAGMENT_FLOPS (2.0 * ROWS * BLOCK * BLOCK)

/* Lengths, warps and gaps of segments, shortest first. With two factors a warp holds a whole
 * segment; the longest segment fills shared memory. With these gaps the access of half a warp to
 * neighbouring points takes 2 cycles; with a gap of 2 it takes 3 (counted by tests/emulator). */
static const segment_factors segments_of[SEGMENT_PRIME_FACTORS] = {
    {{16, 15, 1}, 1, 6}, {{9, 8, 7}, 4, 10}, {{15, 8, 7}, 4, 6}, {{16, 15, 7}, 4, 6}, {{16, 15, 13}, 8, 6}};
/* 2D tiles are whole fragments along y and x; wider ones would need too many registers, because a
 * warp holds 16 rows twice. 3D tiles are padded to whole fragments. */
static const segment_factors tiles_of[SEGMENT_DENSE_TILES] = {
    {{16, 16, 1}, 1, 0}, {{32, 32, 1}, 2, 0}, {{48, 40, 1}, 3, 0}, {{64, 48, 1}, 4, 0},
    {{8, 9, 10}, 4, 4},  {{16, 8, 16}, 8, 4}, {{16, 16, 8}, 8, 4}, {{16, 16, 16}, 8, 4}};

const segment_factors *segment_factors_of(int first) { return first < 0 ? &segments_of[-1 - first] : NULL; }
const segment_factors *segment_dense_tile_factors(int number) { return &tiles_of[number]; }

static int length_of(const segment_factors *f) { return f->n[0] * f->n[1] * f->n[2]; }

int segment_points(int first) { return first < 0 ? length_of(segment_factors_of(first)) : 256 * first; }

static int blocks(const segment_factors *f, int axis) { return (f->n[axis] + BLOCK - 1) / BLOCK; }
static int strips(const segment_factors *f) { return (f->n[0] + ROWS - 1) / ROWS; }

/* The number of stacks of 16 pairs (k1, k2) with columns k3; with two factors, of strips of 16 k1
 * with columns k2. */
static int stacks(const segment_factors *f) {
    if (f->n[2] == 1) return strips(f);
    return blocks(f, 1) == 2 ? f->n[0] : (f->n[0] + 1) / 2;
}
static int last_axis(const segment_factors *f) { return f->n[2] == 1 ? 1 : 2; }

/* The cases of dense_dft.cuh. CHAINED: all matrices are left factors. TRANSPOSED: a 3D tile with
 * transposed slices. PERMUTED: left factors have columns 2t and 2t + 1 of each eight in place of t
 * and t + 4. */
static bool is_chained(const segment_factors *f) { return f->n[2] == 1 && blocks(f, 0) == 2 && blocks(f, 1) == 2; }
static bool is_transposed(const segment_factors *f, bool hartley) {
    return hartley && f->n[0] == 16 && f->n[1] == 16 && f->n[2] == 16;
}
static bool is_permuted(const segment_factors *f, bool hartley) { return is_chained(f) || is_transposed(f, hartley); }

/* The slices of a transposed 3D tile have no gaps: their columns are permuted instead. */
static size_t shared_of(const segment_factors *f, stn_dtype dtype, int arrays, bool transposed) {
    const int pitch = BLOCK * blocks(f, 1) + (transposed ? 0 : 4),
              slice = ROWS * strips(f) * pitch + (transposed ? 0 : f->gap);
    const int maxima_slots = dtype == STN_F16 ? f->warps : 0;
    return (size_t)(arrays * f->n[2] * slice + maxima_slots) * (size_t)stn_max(4, stn_dtype_size(dtype));
}
size_t segment_dense_shared(const segment_factors *f, stn_dtype dtype) { return shared_of(f, dtype, 4, false); }
/* 3D tiles are transformed in place. */
size_t segment_dense_tile_shared(const segment_factors *f, stn_dtype dtype, bool hartley) {
    return shared_of(f, dtype, f->n[2] > 1 ? 2 : 4, is_transposed(f, hartley));
}

double segment_dense_flops(const segment_factors *f, bool hartley) {
    const int rows = blocks(f, 0) * blocks(f, 1), columns = blocks(f, 1) * blocks(f, 1),
              across = blocks(f, 2) * blocks(f, 2);
    const int products_of_all = f->n[2] * strips(f) * (rows + columns) + (f->n[2] > 1 ? stacks(f) * across : 0);
    return 2 * (hartley ? 2 : 4) * FRAGMENT_FLOPS *
           products_of_all; /* Forward and inverse, of two real arrays or of complex numbers. */
}

int segment_dense_parts(stn_dtype dtype, int fragment) {
    return dtype == STN_F64 || (dtype == STN_F16 && fragment == SEGMENT_HALVES) ? 1 : 3;
}

stn_unit segment_dense_unit(stn_dtype dtype, int fragment) {
    if (dtype == STN_F64) return STN_UNIT_TENSOR_F64;
    return dtype == STN_F16 && fragment ? STN_UNIT_TENSOR_F16 : STN_UNIT_TENSOR_TF32;
}

/* Rounding error of the transforms of a launch, as a multiple of the type's rounding error. */
#define ROUNDINGS_F64 14
/* For f32, and for f16 unless it takes one product of halves: values of 22 bits. 5e-7 is measured
 * (emulator), and 1e-6 is allowed for one step. */
#define ROUNDINGS_22 20
/* For f16 with one product of halves (SEGMENT_HALVES). Including the rounding of stored values,
 * 4.1e-4 to 4.9e-4 is measured after one launch (emulator), and 4e-4 to 1e-3 after two to five,
 * because the matrices have the same rounding errors in all launches. */
#define ROUNDINGS_HALF 1.45
/* The part of this error that is the same in every launch. */
#define SYSTEMATIC_HALF 0.6
static bool is_half(stn_dtype dtype, int fragment) { return dtype == STN_F16 && fragment == SEGMENT_HALVES; }

/* If weights have both signs, a step may damp the data more than it damps rounding errors at some
 * frequency, so that errors relative to the data grow. */
double segment_dense_rounding(const stn_task *task, int fragment) {
    const double cancelling = stn_error_cancellation(task);
    if (is_half(task->dtype, fragment)) return cancelling * cancelling * ROUNDINGS_HALF * stn_error_rounding(STN_F16);
    return cancelling * (task->dtype == STN_F64 ? ROUNDINGS_F64 * stn_error_rounding(STN_F64)
                                                : ROUNDINGS_22 * stn_error_rounding(STN_F32));
}
double segment_dense_systematic(stn_dtype dtype, int fragment) {
    if (is_half(dtype, fragment)) return SYSTEMATIC_HALF * stn_error_rounding(STN_F16);
    return stn_error_rounding(dtype == STN_F64 ? STN_F64 : STN_F32);
}

void segment_dense_describe(stn_dtype dtype, int fragment, stn_text *text) {
    if (fragment && dtype == STN_F64)
        stn_text_printf(text, " in fragments of %d x 8 x 4", fragment == SEGMENT_SMALL ? 8 : 16);
    static const char *const halves[] = {" of tf32 x 3", " of halves in one part", " of halves in two parts"};
    if (dtype == STN_F16) stn_text_printf(text, "%s", halves[fragment]);
}

void segment_dense_params(stn_text *params, const segment_factors *f, stn_dtype dtype, int fragment, bool hartley) {
    const int shape = dtype == STN_F64 ? fragment : SEGMENT_WIDE;
    stn_params_int(params, "DFT_N1", f->n[0]);
    stn_params_int(params, "DFT_N2", f->n[1]);
    stn_params_int(params, "DFT_N3", f->n[2]);
    stn_params_int(params, "DFT_ROWS", shape == SEGMENT_SMALL ? 8 : 16);
    stn_params_int(params, "DFT_DEPTH", shape ? 4 : dtype == STN_F64 && is_permuted(f, hartley) ? 16 : 8);
    stn_params_int(params, "DFT_PARTS", dtype == STN_F16 ? fragment : 0);
    stn_params_int(params, "DFT_REAL", hartley);
    stn_params_int(params, "WARPS", f->warps);
    stn_params_int(params, "SLICE_GAP", f->gap);
}

/* ---- operands -------------------------------------------------------------------------------- */

size_t segment_dense_matrices_size(const segment_factors *f, bool hartley) {
    const size_t last = f->n[2] > 1 ? (size_t)(blocks(f, 2) * blocks(f, 2)) : 0;
    const size_t left = (size_t)(strips(f) * blocks(f, 0)) * 2, right = (size_t)(blocks(f, 1) * blocks(f, 1)) + last;
    return RUN * (hartley ? 1 : 2) * (left + right) + 1;
}

/* The power of two nearest to sqrt(n). Matrices divided by it have one power of two in their first
 * row, so that a constant is transformed without error in any type. */
static double divisor_of(int n) { return ldexp(1, (int)lround(log2(n) / 2)); }

/* An element of the DFT matrix, cos - i sin, divided by divisor_of(n): part 0 is cos, part 1 is
 * -sin. With one part, an element of the Hartley matrix, cos + sin. 0 in rows and columns from n
 * on. */
static double operand_at(int n, int row, int column, int parts, int part) {
    if (row >= n || column >= n) return 0;
    long double c, s;
    stn_root((int64_t)row * column % n, n, &c, &s);
    const long double value = parts == 1 ? c + s : part ? -s : c;
    return (double)(value / (long double)divisor_of(n));
}

static double *put_left(int n, bool permuted, int parts, double *to) {
    const int count = (n + BLOCK - 1) / BLOCK, lane_columns = permuted ? 2 : 1, half_columns = permuted ? 1 : 4;
    for (int strip = 0; strip < (n + ROWS - 1) / ROWS; strip++)
        for (int s = 0; s < count; s++)
            for (int part = 0; part < parts; part++)
                for (int half = 0; half < 2; half++)
                    for (int i = 0; i < RUN; i++)
                        *to++ = operand_at(n, ROWS * strip + i / 8 + i % 2 * 8,
                                           BLOCK * s + i / 2 % 4 * lane_columns + half * half_columns, parts, part);
    return to;
}

static double *put_right(int n, int count, int parts, double *to) {
    for (int j = 0; j < count; j++)
        for (int m = 0; m < count; m++)
            for (int part = 0; part < parts; part++)
                for (int i = 0; i < RUN; i++) *to++ = operand_at(n, BLOCK * j + i % 8, BLOCK * m + i / 8, parts, part);
    return to;
}

void segment_dense_matrices_make(const segment_factors *f, bool hartley, double gain, double *operands) {
    const int parts = hartley ? 1 : 2;
    operands = put_left(f->n[0], is_permuted(f, hartley), parts, operands);
    if (is_chained(f))
        operands = put_left(f->n[1], true, parts, operands);
    else
        operands = put_right(f->n[1], blocks(f, 1), parts, operands);
    if (f->n[2] > 1) operands = put_right(f->n[2], blocks(f, 2), parts, operands);
    *operands = gain;
}

/* ---- the symbol ------------------------------------------------------------------------------ */

size_t segment_dense_symbol_size(const segment_factors *f, bool real_symbol) {
    return (size_t)(stacks(f) * blocks(f, last_axis(f))) * (real_symbol ? 2 : 4) * RUN;
}

/* Index in [k3][k1][k2] of the frequency in this row and column of stack i; -1 if it is padding. */
static int place_of(const segment_factors *f, int i, int row, int column) {
    const int *n = f->n;
    int k1 = ROWS * i + row, k2 = column, k3 = 0;
    if (is_chained(f)) {
        k1 = column, k2 = row;
    } else if (n[2] > 1) {
        const bool wide = blocks(f, 1) == 2;
        k1 = wide ? i : 2 * i + row / BLOCK, k2 = wide ? row : row % BLOCK, k3 = column;
    }
    return k1 >= n[0] || k2 >= n[1] || k3 >= n[2] ? -1 : (k3 * n[0] + k1) * n[1] + k2;
}

void segment_dense_symbol_make(const segment_factors *f, const double *powers, bool real_symbol, double gain,
                               double *symbol) {
    /* 1 / (gain N), times the divisors of the forward and the inverse matrix along each axis. */
    double scale = 1 / gain;
    for (int axis = 0; axis < 3; axis++) scale *= divisor_of(f->n[axis]) * divisor_of(f->n[axis]) / f->n[axis];
    for (int i = 0; i < stacks(f); i++)
        for (int m = 0; m < blocks(f, last_axis(f)); m++)
            for (int k = 0; k < (real_symbol ? 1 : 2) * 2 * RUN; k++) {
                const int lane = k % RUN / 2, part = k / (2 * RUN), half = k / RUN % 2;
                const int at = place_of(f, i, lane / 4 + BLOCK * half, BLOCK * m + lane % 4 * 2 + k % 2);
                *symbol++ = at < 0 ? 0 : powers[2 * at + part] * scale;
            }
}

double segment_dense_scale_of(const double *powers, size_t count, stn_dtype dtype) {
    double most = 0;
    int exponent;
    for (size_t i = 0; i < count; i++) most = fmax(most, hypot(powers[2 * i], powers[2 * i + 1]));
    if (dtype != STN_F16 || !(most > 0x1p-100)) return 1;
    (void)frexp(most, &exponent);
    return ldexp(1, exponent);
}

stn_status segment_dense_make(const segment_axis *axis, const segment_factors *f, uint64_t steps, stn_dtype dtype,
                              double *operands, double *symbol, stn_error *error) {
    const int length = length_of(f), *n = f->n;
    double *line = calloc(4 * (size_t)length, sizeof *line);
    if (!line) return stn_fail_memory(error, "a symbol", 4 * (size_t)length * sizeof *line);
    double *const permuted = line + 2 * (size_t)length;
    stn_status status = segment_powers_make(axis, length, steps, line, error);
    for (int k = 0; k < length; k++) {
        const int k3 = k / (n[0] * n[1]), k1 = k / n[1] % n[0], k2 = k % n[1];
        const int64_t at = (k1 * (int64_t)n[1] * n[2] + k2 * (int64_t)n[0] * n[2] + k3 * (int64_t)n[0] * n[1]) % length;
        permuted[2 * k] = line[2 * at], permuted[2 * k + 1] = line[2 * at + 1];
    }
    const double gain = segment_dense_scale_of(permuted, (size_t)length, dtype);
    segment_dense_matrices_make(f, false, gain, operands);
    segment_dense_symbol_make(f, permuted, axis->symmetric, gain, symbol);
    free(line);
    return status;
}
