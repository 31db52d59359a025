/* Fills the encoded tables of a sparse plan's operators. */
#include "strategies/sparse/sparse_operator.h"

#include <stdlib.h>
#include <string.h>

#include "strategies/sparse/rounding_noise.h"
#include "strategies/sparse/sparse_terms.h"
#include "strategies/sparse/weight_rounding.h"

/* Copies row y of plane z of the shape's window, from weights that may reach less far; both are
 * centred on the same point. */
static void take_row(const stn_task *task, const sparse_shape *shape, const stn_power *power, const float *part, int z,
                     int y, float *row) {
    int at[3] = {z, y, 0};
    memset(row, 0, (size_t)(sparse_reach(task, shape, 2, 0) + sparse_reach(task, shape, 2, 1) + 1) * sizeof *row);
    for (int axis = 0; axis < 2; axis++) {
        at[axis] -= sparse_reach(task, shape, axis, 0) - power->low[axis];
        if (at[axis] < 0 || at[axis] >= power->size[axis]) return;
    }
    int shift = sparse_reach(task, shape, 2, 0) - power->low[2];
    const float *from = part + ((size_t)at[0] * (size_t)power->size[1] + (size_t)at[1]) * (size_t)power->size[2];
    memcpy(row + shift, from, (size_t)power->size[2] * sizeof *row);
}

static void encode_row(const sparse_window *w, const sparse_shape *shape, int part, const float *row, uint32_t *table) {
    uint32_t fragments[SPARSE_MAX_PRODUCTS * SPARSE_FRAGMENT];
    sparse_encode(w, row, fragments);
    for (int k = 0; k < sparse_products(w); k++)
        memcpy(table + (k * shape->parts + part) * SPARSE_FRAGMENT, fragments + k * SPARSE_FRAGMENT,
               SPARSE_FRAGMENT * sizeof *table);
}

static stn_status fill_tile(const stn_task *task, const sparse_shape *shape, const stn_power *power,
                            sparse_operator *op, uint32_t *table, stn_error *error) {
    sparse_window w = sparse_window_of(task, shape);
    sparse_rows rows;
    float row[16 * SPARSE_MAX_HALVES];
    if (!sparse_rows_of(task, shape->fused, &rows))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%d fused steps reach further than the kernel of strategy sparse",
                        shape->fused);
    size_t weights = stn_power_count(power), bytes = weights * (size_t)shape->parts * sizeof(float);
    float *rounded = malloc(bytes);
    if (!rounded) return stn_fail_memory(error, "rounded weights", bytes);
    op->scale = sparse_scale(task, power, false);
    sparse_round(task, power, op->scale, shape->parts, rounded);
    sparse_metadata(&w, table);
    table += 32 * sparse_registers(&w);
    for (int z = 0; z < rows.planes; z++)
        for (int y = rows.first[z]; y < rows.first[z] + rows.count[z]; y++) {
            for (int p = 0; p < shape->parts; p++) {
                take_row(task, shape, power, rounded + (size_t)p * weights, z, y, row);
                encode_row(&w, shape, p, row, table);
            }
            table += sparse_products(&w) * shape->parts * SPARSE_FRAGMENT;
        }
    free(rounded);
    return STN_OK;
}

/* Whether new weights are accurate enough with the number of terms that the kernel was made for. */
static bool is_accurate(const stn_task *task, const sparse_shape *shape, const stn_power *taps,
                        const sparse_terms *terms) {
    sparse_shape now = *shape;
    sparse_spectrum spectrum;
    if (!sparse_spectrum_make(task, &spectrum)) return false;
    now.noise = (float)sparse_noise(task, &spectrum, shape, terms);
    sparse_spectrum_clear(&spectrum);
    now.rounding = (float)sparse_terms_rounding(task, taps, terms, shape->parts, shape->launches);
    return sparse_is_accurate(task, &now, 1);
}

/* Encodes a term's weights along x (V, axis 1) or along y (U, axis 0), in the window of the longer
 * operator. */
static stn_status fill_factor(const stn_task *task, const sparse_shape *shape, const sparse_terms *terms, int q,
                              int axis, const sparse_window *w, uint32_t **table, stn_error *error) {
    const stn_power *factor = &terms->factor[q][axis];
    const int size = factor->size[2], shift = sparse_reach(task, shape, axis + 1, 0) - factor->low[2];
    size_t bytes = (size_t)(size * shape->parts) * sizeof(float);
    float row[16 * SPARSE_MAX_HALVES], *rounded = malloc(bytes);
    if (!rounded) return stn_fail_memory(error, "rounded weights", bytes);
    sparse_terms_round(task, terms, q, axis, shape->parts, rounded);
    for (int p = 0; p < shape->parts; p++) {
        memset(row, 0, sizeof row);
        memcpy(row + shift, rounded + p * size, (size_t)size * sizeof *row);
        encode_row(w, shape, p, row, *table);
    }
    *table += sparse_products(w) * shape->parts * SPARSE_FRAGMENT;
    free(rounded);
    return STN_OK;
}

/* Encodes V in each window along x, then U of each term, centred in the window of the longer
 * operator. */
static stn_status fill_chain(const stn_task *task, const sparse_shape *shape, const stn_power *taps,
                             sparse_operator *op, uint32_t *table, stn_error *error) {
    const int windows = sparse_windows(task, shape) + 1;
    sparse_window w[3] = {sparse_window_of(task, shape), sparse_window_of(task, shape)};
    w[1].first++;
    w[windows - 1] = sparse_window_y_of(task, shape);
    sparse_terms terms;
    STN_TRY(sparse_terms_make(task, taps, op->fused, shape->terms, shape->parts, &terms, error));
    if (shape->terms > 1 && !is_accurate(task, shape, taps, &terms)) {
        sparse_terms_clear(&terms);
        return stn_fail(
            error, STN_ERROR_UNSUPPORTED,
            "%d separable terms are too few for these weights, and the kernel takes no more: make a new plan "
            "with strategy auto",
            shape->terms);
    }
    op->scale = terms.scale;
    for (int k = 0; k < windows; k++) {
        sparse_metadata(&w[k], table);
        table += 32 * sparse_registers(&w[k]);
    }
    stn_status status = STN_OK;
    for (int q = 0; q < shape->terms; q++)
        for (int k = 0; k < windows && status == STN_OK; k++)
            status = fill_factor(task, shape, &terms, q, k < windows - 1, &w[k], &table, error);
    sparse_terms_clear(&terms);
    return status;
}

stn_status sparse_operators_fill(const stn_task *task, const sparse_shape *shape, sparse_operator *operators,
                                 size_t noperators, uint32_t *tables, stn_error *error) {
    size_t words = sparse_table_words(task, shape);
    for (size_t i = 0; i < noperators && shape->terms == 1; i++)
        STN_TRY(fill_chain(task, shape, NULL, &operators[i], tables + i * words, error));
    if (shape->terms == 1) return STN_OK;
    stn_power power;
    STN_TRY(stn_power_make(task, &power, error));
    stn_status status = STN_OK;
    /* The shorter operator is the last one and is made first. */
    for (size_t i = noperators; i-- > 0 && status == STN_OK;) {
        while (status == STN_OK && power.fused < operators[i].fused) status = stn_power_fuse(task, &power, error);
        if (status != STN_OK) break;
        status = shape->terms ? fill_chain(task, shape, &power, &operators[i], tables + i * words, error)
                              : fill_tile(task, shape, &power, &operators[i], tables + i * words, error);
    }
    stn_power_clear(&power);
    return status;
}
