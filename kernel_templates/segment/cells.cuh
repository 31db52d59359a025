// Layout in shared memory of the tiles and segments of product.cuh: strips, slices, and the index
// of a point, chosen so that a warp's accesses fall in different banks.
#pragma once
#include "params.cuh"

constexpr int N1 = PRODUCT_1, N2 = PRODUCT_2, N3 = PRODUCT_3, LENGTH = N1 * N2 * N3, THREADS = 32 * WARPS;
// In blocks of 8.
constexpr int BLOCKS_1 = (N1 + 7) / 8, BLOCKS_2 = (N2 + 7) / 8, BLOCKS_3 = (N3 + 7) / 8;
constexpr int ROW_STRIPS = (N1 + 15) / 16;
// A 3D tile of 16^3 points: the second product transposes its slices, see transform_columns_turned.
constexpr bool TURNED = PRODUCT_EVEN && N1 == 16 && N2 == 16 && N3 == 16;
constexpr bool SCALED = sizeof(STORE) == 2;  // Inputs are scaled.
constexpr int PITCH = 8 * BLOCKS_2 + (TURNED ? 0 : 4), SLICE = 16 * ROW_STRIPS * PITCH + (TURNED ? 0 : SLICE_GAP);
constexpr int ROOM = N3 * SLICE;
constexpr bool EVEN_FIRST = SLICE_GAP % 4 == 0 && !TURNED;

constexpr int STACKS = BLOCKS_2 == 2 ? N1 : (N1 + 1) / 2;  // Stacks of 16 pairs (k1, k2).
// Elements of a warp's access, two per lane.
constexpr int RUN = 64;
constexpr int PARTS = PRODUCT_EVEN ? 1 : 2;  // Parts of a matrix: real, imaginary.
constexpr int LEFT = BLOCKS_1 * PARTS * 2 * RUN, OPERAND_2 = ROW_STRIPS * LEFT,
              OPERAND_3 = OPERAND_2 + BLOCKS_2 * BLOCKS_2 * PARTS * RUN;
constexpr int OPERANDS = OPERAND_3 + (N3 > 1 ? BLOCKS_3 * BLOCKS_3 * PARTS * RUN : 0);
constexpr int SYMBOLS = (SYMBOL_REAL ? 2 : 4) * RUN;  // For 16 x 8 frequencies.
static_assert(N3 == 1 || (N1 <= 16 && N2 <= 16 && N3 <= 16), "of three factors each is a row of fragments");
static_assert(N3 > 1 || WARPS == ROW_STRIPS, "a warp has a strip of a torus of two factors");

// ---- index of a point in shared memory

// Two factors that fit one warp: all four products are transposed and stay in registers, see
// product.cuh.
constexpr bool CHAINED = N3 == 1 && BLOCKS_1 == 2 && BLOCKS_2 == 2;
// In these cases, rows 2t and 2t+1 of each eight are stored where fragments have t and t + 4, and
// the columns of left factors are permuted likewise.
constexpr bool PERMUTED = TURNED || CHAINED;
constexpr int row_of(int n1) { return PERMUTED ? n1 / 8 * 8 + n1 % 8 / 2 + n1 % 2 * 4 : n1; }
constexpr int row_at(int n1) { return row_of(n1) * PITCH; }
constexpr int slice_at(int n3) { return (EVEN_FIRST ? n3 / 2 + n3 % 2 * ((N3 + 1) / 2) : n3) * SLICE; }
// The transposed slices have no gaps. Instead, the columns of a row are permuted: four rows by four
// columns (f32: by eight), which a warp accesses together, then cover all banks, and so do these
// columns of a row in every second of eight slices.
constexpr int twist(int row, int slice) {
    return sizeof(REAL) == 8 ? 4 * ((row ^ slice / 2) % 4) : 8 * ((row / 2 % 2) ^ (slice / 2 % 4));
}
constexpr int cell_at(int row, int column, int slice) {
    if (!TURNED) return row * PITCH + column;
    return row / 4 * 4 * PITCH + ((row % 4 * PITCH + column) ^ twist(row, slice));
}
// For lane (g, t) of fragments: row t, column g of block j.
constexpr int lane_cell(int lane, int j, int slice) { return cell_at(lane % 4, 8 * j + lane / 4, slice); }
constexpr int point_at(int n1, int n2, int slice) { return cell_at(row_of(n1), n2, slice); }
