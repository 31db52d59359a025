/* Argument structs of the kernels. Each mirrors a struct in its kernel's template, whose name may
 * lack the prefix and whose members are documented there. */
#ifndef STN_STRATEGIES_SPECTRAL_SPECTRAL_ARGUMENTS_H
#define STN_STRATEGIES_SPECTRAL_SPECTRAL_ARGUMENTS_H
#include <stdint.h>

/* Of spectral_rows.cu and spectral_columns.cu. */
typedef struct spectral_extension_arguments {
    int32_t n, before;
} spectral_extension_arguments;
typedef struct spectral_rows_arguments {
    const void *in;
    void *out, *spectrum;
    const void *twiddles, *half;
    int64_t in_z, in_y, in_batch, out_z, out_y, out_batch, pitch, plane;
    int32_t planes, ny, tiles, kept;
    spectral_extension_arguments x;
    int32_t frozen_low, frozen_high, frozen_z_low, frozen_z_high;
    int32_t strips, step, width, held, skip, unused;
} spectral_rows_arguments;
typedef struct spectral_symbol_arguments {
    const void *parts, *angles;
    uint64_t steps;
    double decay_bound, scale;
} spectral_symbol_arguments;
typedef struct spectral_faces_arguments {
    const void *values, *unit_response;
    int64_t grid, step, next;
} spectral_faces_arguments;
typedef struct spectral_source_image {
    int32_t point, side;
} spectral_source_image;
typedef struct spectral_four_step_rows {
    const void *half_angles;
    const void *image;
    const void *row;
    const void *images;
    int64_t first, windows;
    int32_t rows, unused;
} spectral_four_step_rows;
typedef struct spectral_columns_arguments {
    void *spectrum;
    const void *twiddles;
    spectral_symbol_arguments symbol;
    int64_t pitch, plane;
    int32_t columns, tiles, kept, with_points;
    spectral_extension_arguments along;
    const void *row, *row_response;
    int64_t row_grid, row_next;
    spectral_faces_arguments faces[2];
    int32_t width, across, with_points_across, first, slab_width, unused;
    void *result;
    int64_t result_pitch, result_plane, uneven;
    spectral_four_step_rows four_step;
} spectral_columns_arguments;

/* Of spectral_decayed_modes.cu. */
typedef struct spectral_decayed_arguments {
    void *spectrum;
    const void *parts;
    int64_t point, grid;
    const void *row;
    int64_t row_grid, row_next;
    spectral_faces_arguments faces[2];
    double scale;
    int32_t width, first, columns, held_width, across, tiles, from_across, to_across, rows_per_block, with_points,
        with_points_across, adjacent[2], unused;
} spectral_decayed_arguments;

/* Of spectral_march.cu. */
typedef struct spectral_march_arguments {
    void *spectrum;
    const void *chunk_halo;
    const void *twiddles;
    spectral_symbol_arguments symbol;
    int64_t pitch, plane;
    int32_t tiles, kept, n, segments, across, unused;
} spectral_march_arguments;

/* Of spectral_four_step.cu. */
typedef struct spectral_four_step_arguments {
    const void *in;
    void *out, *spectrum;
    const void *twiddles, *fine, *coarse;
    int64_t in_batch, out_batch, n, before, first, windows;
    int32_t tiles, unused;
} spectral_four_step_arguments;

/* Of spectral_source.cu. Weights and constants are double for every dtype. */
typedef struct spectral_source_tap {
    double weight;
    int32_t z, y, x, unused;
} spectral_source_tap;
typedef struct spectral_source_arguments {
    const void *in;
    void *faces[3];
    const void *taps;
    int64_t in_z, in_y, in_x, in_batch, faces_batch[3];
    double constant[3][2];
    int64_t points[3];
    int32_t nz, ny, nx, rows, ntaps, tiles, at[3][2];
} spectral_source_arguments;
#endif
