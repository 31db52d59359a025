/* Splits the fused taps of a star into terms, the products of the powers of its two axes. */
#include <stdlib.h>

#include "strategies/lowrank/plane/separable_terms.h"

/* Powers 0 to `most` of one axis's weights: power[k] is a row of most * (low + high) + 1, centred
 * at k * low. */
static void fill_powers(const long double *axis, int size, int most, long double *power) {
    int pitch = most * (size - 1) + 1;
    power[0] = 1;
    for (int k = 1; k <= most; k++)
        for (int i = 0; i < (k - 1) * (size - 1) + 1; i++)
            for (int j = 0; j < size; j++) power[k * pitch + i + j] += power[(k - 1) * pitch + i] * axis[j];
}

/* The star's weights along axes 1 and 2; half of the centre weight goes to each. */
static void fill_axes(const stn_task *task, long double *const axis[2]) {
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        int along = tap->offset[1] ? 0 : 1;
        bool centre = !tap->offset[1] && !tap->offset[2];
        axis[along][tap->offset[along + 1] + task->reach[along + 1][0]] += tap->weight / (centre ? 2 : 1);
        if (centre) axis[0][task->reach[1][0]] += tap->weight / 2;
    }
}

stn_status lowrank_split_star(const stn_task *task, int fused, lowrank_terms *terms, stn_error *error) {
    if (task->pattern != STN_PATTERN_STAR || task->rank != 2) return STN_OK;
    int size[2], pitch[2];
    for (int i = 0; i < 2; i++) {
        size[i] = task->reach[i + 1][0] + task->reach[i + 1][1] + 1;
        pitch[i] = fused * (size[i] - 1) + 1;
    }
    size_t rows = (size_t)fused + 1, count = rows * (size_t)(pitch[0] + pitch[1]) + (size_t)(size[0] + size[1]);
    long double *memory = calloc(count, sizeof *memory);
    if (!memory) return stn_fail_memory(error, "powers of a star", count * sizeof *memory);
    long double *power[2] = {memory, memory + rows * (size_t)pitch[0]};
    long double *const axis[2] = {power[1] + rows * (size_t)pitch[1], power[1] + rows * (size_t)pitch[1] + size[0]};
    fill_axes(task, axis);
    for (int i = 0; i < 2; i++) fill_powers(axis[i], size[i], fused, power[i]);
    long double ways = 1; /* binomial coefficient, fused over k */
    for (int k = 0; k <= fused; k++) {
        int part[2] = {k, fused - k};
        double *to[2] = {terms->u + k * terms->rows, terms->v + k * terms->columns};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < part[i] * (size[i] - 1) + 1; j++)
                to[i][(fused - part[i]) * task->reach[i + 1][0] + j] =
                    (double)(power[i][part[i] * pitch[i] + j] * (i ? ways : 1));
        ways = ways * (fused - k) / (k + 1);
    }
    terms->count = fused + 1;
    free(memory);
    return STN_OK;
}
