/* Powers of a stencil by repeated convolution in long double. */
#include "strategies/common/stencil_power.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "context/search_cache.h"

/* Powers that take this many multiplications or more are kept, up to this size. */
#define MIN_PRODUCTS 10000
#define MAX_BYTES ((size_t)128 << 10)

size_t stn_power_count(const stn_power *power) {
    return (size_t)power->size[0] * (size_t)power->size[1] * (size_t)power->size[2];
}

long double *stn_power_at(const stn_power *power, int z, int y, int x) {
    return power->weight + ((size_t)z * (size_t)power->size[1] + (size_t)y) * (size_t)power->size[2] + x;
}

stn_status stn_power_make(const stn_task *task, stn_power *power, stn_error *error) {
    *power = (stn_power){.fused = 1};
    for (int axis = 0; axis < 3; axis++) {
        power->low[axis] = task->reach[axis][0];
        power->size[axis] = task->reach[axis][0] + task->reach[axis][1] + 1;
    }
    power->weight = calloc(stn_power_count(power), sizeof *power->weight);
    if (!power->weight) return stn_fail_memory(error, "fused taps", stn_power_count(power) * sizeof *power->weight);
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        *stn_power_at(power, (int)o[0] + power->low[0], (int)o[1] + power->low[1], (int)o[2] + power->low[2]) =
            task->taps[k].weight;
    }
    return STN_OK;
}

/* Sums over the taps for `count` consecutive elements, four at a time: the additions of one sum
 * wait for each other. */
static void sum_row(const stn_task *task, const ptrdiff_t *back, const long double *place, int count, long double *to) {
    int x = 0;
    for (; x + 3 < count; x += 4) {
        long double sum[4] = {0};
        for (size_t k = 0; k < task->ntaps; k++)
            for (int i = 0; i < 4; i++) sum[i] += task->taps[k].weight * place[x + i + back[k]];
        memcpy(to + x, sum, sizeof sum);
    }
    for (; x < count; x++) {
        to[x] = 0;
        for (size_t k = 0; k < task->ntaps; k++) to[x] += task->taps[k].weight * place[x + back[k]];
    }
}

bool stn_taps_point_symmetric(const stn_task *task) {
    bool same = true;
    for (size_t k = 0; k < task->ntaps && same; k++) {
        /* The taps are sorted. */
        const stn_tap *tap = &task->taps[k], *other = &task->taps[task->ntaps - 1 - k];
        same = tap->weight == other->weight;
        for (int axis = 0; axis < 3; axis++) same = same && tap->offset[axis] == -other->offset[axis];
    }
    return same;
}

/* Whether the weights and the task's taps are point symmetric. */
static bool is_point_symmetric(const stn_task *task, const long double *weight, size_t count) {
    bool same = stn_taps_point_symmetric(task);
    for (size_t i = 0; i < count / 2 && same; i++) same = weight[i] == weight[count - 1 - i];
    return same;
}

/* Convolves dense weights of `size` with the task's taps. A frame of zeros around `from` makes
 * every result a sum over all taps. With point symmetry only half of them are computed. */
static stn_status convolve(const stn_task *task, const int size[3], const long double *from, long double *to,
                           stn_error *error) {
    int more[3], padded[3];
    for (int axis = 0; axis < 3; axis++) {
        more[axis] = task->reach[axis][0] + task->reach[axis][1];
        padded[axis] = size[axis] + 2 * more[axis];
    }
    size_t count = (size_t)padded[0] * (size_t)padded[1] * (size_t)padded[2];
    long double *frame = calloc(count, sizeof *frame);
    /* Offset from a weight to the one that the tap multiplies. */
    ptrdiff_t *back = calloc(task->ntaps, sizeof *back);
    stn_status status = frame && back ? STN_OK : stn_fail_memory(error, "fused taps", count * sizeof *frame);
    for (int z = 0; z < size[0] && status == STN_OK; z++)
        for (int y = 0; y < size[1]; y++)
            memcpy(frame + ((ptrdiff_t)(z + more[0]) * padded[1] + y + more[1]) * padded[2] + more[2],
                   from + ((ptrdiff_t)z * size[1] + y) * size[2], (size_t)size[2] * sizeof *frame);
    for (size_t k = 0; k < task->ntaps && status == STN_OK; k++)
        for (int axis = 0; axis < 3; axis++)
            back[k] = back[k] * padded[axis] + task->reach[axis][1] - (ptrdiff_t)task->taps[k].offset[axis];
    int columns = size[2] + more[2], lines = size[1] + more[1], rows = (size[0] + more[0]) * lines;
    bool half = is_point_symmetric(task, from, (size_t)size[0] * (size_t)size[1] * (size_t)size[2]);
    for (int row = 0; row < (half ? (rows + 1) / 2 : rows) && status == STN_OK; row++)
        sum_row(task, back, frame + ((ptrdiff_t)(row / lines) * padded[1] + row % lines) * padded[2], columns,
                to + (ptrdiff_t)row * columns);
    for (ptrdiff_t i = 0, all = (ptrdiff_t)rows * columns; i < all / 2 && half; i++) to[all - 1 - i] = to[i];
    free(back);
    free(frame);
    return status;
}

stn_status stn_power_fuse(const stn_task *task, stn_power *power, stn_error *error) {
    stn_power next = {.fused = power->fused + 1};
    for (int axis = 0; axis < 3; axis++) {
        next.low[axis] = power->low[axis] + task->reach[axis][0];
        next.size[axis] = power->size[axis] + task->reach[axis][0] + task->reach[axis][1];
    }
    const size_t bytes = stn_power_count(&next) * sizeof *next.weight;
    next.weight = malloc(bytes);
    if (!next.weight) return stn_fail_memory(error, "fused taps", bytes);
    const bool keeps = bytes <= MAX_BYTES && task->ntaps * stn_power_count(&next) >= MIN_PRODUCTS;
    stn_text key = STN_TEXT_EMPTY;
    if (keeps) stn_text_append(&key, (const char *)&next.fused, sizeof next.fused);
    if (keeps) stn_text_append(&key, (const char *)task->taps, task->ntaps * sizeof *task->taps);
    stn_search_cache *searches = keeps && !key.failed ? task->searches : NULL;
    stn_status status = STN_OK;
    if (!stn_search_cache_lookup(searches, STN_SEARCH_CACHE_POWER, key.data, key.size, next.weight, bytes)) {
        status = convolve(task, power->size, power->weight, next.weight, error);
        if (status == STN_OK)
            stn_search_cache_store(searches, STN_SEARCH_CACHE_POWER, key.data, key.size, next.weight, bytes);
    }
    stn_text_clear(&key);
    stn_power_clear(status == STN_OK ? power : &next);
    if (status == STN_OK) *power = next;
    return status;
}

void stn_power_clear(stn_power *power) {
    free(power->weight);
    memset(power, 0, sizeof *power);
}
