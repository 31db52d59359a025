/* See product.h. Tables are laid out by runs: what a warp reads at once, two numbers a lane. */
#include "strategies/segment/product.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "strategies/common/root.h"
#include "strategies/segment/tables.h"

#define ROWS 16 /* of a slice, and of a product's left factor */
#define BLOCK 8 /* columns of a product */
#define RUN 64
#define PRODUCT_FLOPS (2.0 * ROWS * BLOCK * BLOCK)

/* From two factors of which a warp holds the whole torus to three that fill shared memory; by length. With these gaps a line's neighbours
 * meet least in banks: half a warp in 2 cycles, where 3 were taken with 2 cells (counted by the emulator). */
static const segment_factors products[SEGMENT_PRODUCTS] = {
    {{16, 15, 1}, 1, 6}, {{9, 8, 7}, 4, 10}, {{15, 8, 7}, 4, 6}, {{16, 15, 7}, 4, 6}, {{16, 15, 13}, 8, 6}};

const segment_factors *segment_factors_of(int first) { return first < 0 ? &products[-1 - first] : NULL; }

static int length_of(const segment_factors *f) { return f->n[0] * f->n[1] * f->n[2]; }

int segment_points(int first) { return first < 0 ? length_of(segment_factors_of(first)) : 256 * first; }

static int blocks(const segment_factors *f, int axis) { return (f->n[axis] + BLOCK - 1) / BLOCK; }

/* Tiles of 16 pairs (k1, k2), whose columns lie along the last axis; of two factors one tile, whose columns are k2. */
static int tiles(const segment_factors *f) {
    if (f->n[2] == 1) return 1;
    return blocks(f, 1) == 2 ? f->n[0] : (f->n[0] + 1) / 2;
}
static int last_axis(const segment_factors *f) { return f->n[2] == 1 ? 1 : 2; }

size_t segment_product_shared(const segment_factors *f, size_t number) {
    const int pitch = BLOCK * blocks(f, 1) + 4, slice = ROWS * pitch + f->gap;
    return (size_t)(4 * f->n[2] * slice) * number;
}

double segment_product_flops(const segment_factors *f) {
    const int rows = blocks(f, 0) * blocks(f, 1), columns = blocks(f, 1) * blocks(f, 1),
              across = blocks(f, 2) * blocks(f, 2);
    const int products_of_all = f->n[2] * (rows + columns) + (f->n[2] > 1 ? tiles(f) * across : 0);
    return 2 * 4 * PRODUCT_FLOPS * products_of_all; /* there and back, of complex numbers */
}

/* ---- operands ------------------------------------------------------------------------------------------------------ */

size_t segment_operands_size(const segment_factors *f) {
    const size_t last = f->n[2] > 1 ? (size_t)(blocks(f, 2) * blocks(f, 2)) : 0;
    return RUN * ((size_t)blocks(f, 0) * 4 + 2 * ((size_t)(blocks(f, 1) * blocks(f, 1)) + last));
}

/* Part 0 is real, 1 imaginary; 0 past the factor. */
static double operand_at(int n, int row, int column, int part) {
    if (row >= n || column >= n) return 0;
    double root[2];
    stn_root_pair((int64_t)row * column, n, root);
    return root[part];
}

static double *put_left(int n, int count, double *to) {
    for (int s = 0; s < count; s++)
        for (int part = 0; part < 2; part++)
            for (int half = 0; half < 2; half++)
                for (int i = 0; i < RUN; i++)
                    *to++ = operand_at(n, i / 8 + i % 2 * 8, BLOCK * s + i / 2 % 4 + 4 * half, part);
    return to;
}

static double *put_right(int n, int count, double *to) {
    for (int j = 0; j < count; j++)
        for (int m = 0; m < count; m++)
            for (int part = 0; part < 2; part++)
                for (int i = 0; i < RUN; i++) *to++ = operand_at(n, BLOCK * j + i % 8, BLOCK * m + i / 8, part);
    return to;
}

void segment_operands_make(const segment_factors *f, double *operands) {
    operands = put_left(f->n[0], blocks(f, 0), operands);
    operands = put_right(f->n[1], blocks(f, 1), operands);
    if (f->n[2] > 1) put_right(f->n[2], blocks(f, 2), operands);
}

/* ---- the symbol ---------------------------------------------------------------------------------------------------- */

size_t segment_places_size(const segment_factors *f, bool real) {
    return (size_t)(tiles(f) * blocks(f, last_axis(f))) * (real ? 2 : 4) * RUN;
}

/* Row and column of a tile as a frequency of the line; below 0: none. */
static int64_t frequency_of(const segment_factors *f, int i, int row, int column) {
    const int *n = f->n;
    int k1 = row, k2 = column, k3 = 0;
    if (n[2] > 1) {
        const bool wide = blocks(f, 1) == 2;
        k1 = wide ? i : 2 * i + row / BLOCK, k2 = wide ? row : row % BLOCK, k3 = column;
    }
    if (k1 >= n[0] || k2 >= n[1] || k3 >= n[2]) return -1;
    return (k1 * (int64_t)n[1] * n[2] + k2 * (int64_t)n[0] * n[2] + k3 * (int64_t)n[0] * n[1]) % length_of(f);
}

stn_status segment_places_make(const segment_axis *axis, const segment_factors *f, uint64_t steps, double *symbol,
                               stn_error *error) {
    const int length = length_of(f), parts = axis->symmetric ? 1 : 2;
    double *powers = calloc(2 * (size_t)length, sizeof *powers);
    if (!powers) return stn_fail_memory(error, "a symbol", 2 * (size_t)length * sizeof *powers);
    stn_status status = segment_powers_make(axis, length, steps, powers, error);
    for (int i = 0; status == STN_OK && i < tiles(f); i++)
        for (int m = 0; m < blocks(f, last_axis(f)); m++)
            for (int k = 0; k < parts * 2 * RUN; k++) {
                const int lane = k % RUN / 2, part = k / (2 * RUN), half = k / RUN % 2;
                const int64_t at = frequency_of(f, i, lane / 4 + BLOCK * half, BLOCK * m + lane % 4 * 2 + k % 2);
                *symbol++ = at < 0 ? 0 : powers[2 * at + part] / length;
            }
    free(powers);
    return status;
}
