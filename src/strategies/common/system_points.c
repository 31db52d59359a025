/* Builds and launches the tables of a system's point sources and receivers. */
#include "strategies/common/system_points.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"

enum { THREADS = 64 };

/* Mirrors the struct of system_points.cu. */
typedef struct table_point {
    int64_t at;
    double weight;
    int32_t channel, field;
} table_point;

typedef struct points_arguments {
    const void *field[STN_SYSTEM_MAX_FIELDS];
    const void *list, *first;
    const void *amplitudes;
    void *records;
    int64_t threads, batch, points, channels;
} points_arguments;
_Static_assert(STN_SYSTEM_MAX_FIELDS == 16, "system_points.cu has so many");

/* A point with its number in the caller's list, whose order sums keep. */
typedef struct sorted_point {
    table_point point;
    size_t number;
} sorted_point;

static int by_location(const void *a, const void *b) {
    const sorted_point *x = a, *y = b;
    if (x->point.field != y->point.field) return x->point.field < y->point.field ? -1 : 1;
    if (x->point.at != y->point.at) return x->point.at < y->point.at ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static int by_channel(const void *a, const void *b) {
    const sorted_point *x = a, *y = b;
    if (x->point.channel != y->point.channel) return x->point.channel < y->point.channel ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Finds the first point of each thread and the number of threads; the threads of each field follow
 * those of the previous one. */
static int64_t divide(const stn_system_task *task, bool adds, const sorted_point *list, size_t count, int64_t *first,
                      int64_t threads[STN_SYSTEM_MAX_FIELDS + 1]) {
    int64_t made = 0;
    memset(threads, 0, (STN_SYSTEM_MAX_FIELDS + 1) * sizeof *threads);
    if (!adds) {
        size_t k = 0;
        for (; made < task->receiver_channels; made++) {
            first[made] = (int64_t)k;
            while (k < count && list[k].point.channel == made) k++;
        }
        first[made] = (int64_t)k;
        threads[STN_SYSTEM_MAX_FIELDS] = made;
        return made;
    }
    for (size_t k = 0; k < count; k++) {
        const bool same =
            k && list[k].point.field == list[k - 1].point.field && list[k].point.at == list[k - 1].point.at;
        if (same) continue;
        first[made++] = (int64_t)k;
        for (int f = list[k].point.field + 1; f <= STN_SYSTEM_MAX_FIELDS; f++) threads[f] = made;
    }
    first[made] = (int64_t)count;
    return made;
}

static stn_status make_table(stn_plan *plan, bool adds, stn_system_points *points, stn_error *error) {
    const stn_system_task *task = &plan->system;
    const size_t count = adds ? task->nsources : task->nreceivers;
    const size_t threads = adds ? count : (size_t)task->receiver_channels;
    const stn_system_point *listed = adds ? task->sources : task->receivers;
    const size_t bytes = count * sizeof(table_point) + (threads + 1) * sizeof(int64_t);
    sorted_point *list = calloc(count, sizeof *list);
    char *table = malloc(bytes);
    stn_status status = STN_OK;
    if (list && table) {
        for (size_t k = 0; k < count; k++) {
            const int64_t *i = listed[k].index, at = (i[0] * task->n[1] + i[1]) * task->n[2] + i[2];
            list[k] = (sorted_point){{at, listed[k].weight, (int32_t)listed[k].channel, (int32_t)listed[k].field}, k};
        }
        qsort(list, count, sizeof *list, adds ? by_location : by_channel);
        for (size_t k = 0; k < count; k++) memcpy(table + k * sizeof(table_point), &list[k].point, sizeof(table_point));
        points->first = count * sizeof(table_point);
        (void)divide(task, adds, list, count, (int64_t *)(void *)(table + points->first), points->threads);
        if (plan->machine.present)
            status = stn_device_replace(plan->context->device, &points->table, 0, table, bytes, error);
    } else
        status = stn_fail_memory(error, "a table of points", bytes);
    free(list);
    free(table);
    return status;
}

stn_status stn_system_points_make(stn_plan *plan, bool adds, stn_system_points *points, stn_error *error) {
    const stn_system_task *task = &plan->system;
    stn_text params = STN_TEXT_EMPTY;
    if (!(adds ? task->nsources : task->nreceivers)) return STN_OK;
    stn_params_begin_for(&params, task->dtype);
    stn_params_int(&params, "SYSTEM_ADDS", adds);
    stn_params_int(&params, "THREADS_X", THREADS);
    STN_TRY(stn_kernel_make(plan->kernels, "system_points", &params, 0, &points->kernel, error));
    return make_table(plan, adds, points, error);
}

void stn_system_points_clear(stn_plan *plan, stn_system_points *points) {
    stn_device_free(plan->context->device, points->table);
    points->table = NULL;
}

static stn_status launch(const stn_system_points *points, points_arguments *a, void *stream, stn_error *error) {
    const int64_t blocks = stn_div_up(a->threads * a->batch, THREADS);
    return stn_kernel_launch(points->kernel, blocks, THREADS, 0, a, stream, error);
}

stn_status stn_system_points_add(const stn_system_points *points, const stn_system_task *task,
                                 const stn_system_arrays *arrays, int field, void *next, int64_t number, void *stream,
                                 stn_error *error) {
    const int64_t before = points->threads[field], threads = points->threads[field + 1] - before;
    const int64_t size = task->dtype == STN_F64 ? 8 : 4;
    if (!points->kernel || !threads) return STN_OK;
    points_arguments a = {.list = points->table,
                          .first = (const char *)points->table + points->first + 8 * before,
                          .amplitudes = (const char *)arrays->amplitudes + (number - 1) * task->source_channels * size,
                          .threads = threads,
                          .batch = task->batch,
                          .points = stn_system_task_points(task)};
    a.field[field] = next;
    return launch(points, &a, stream, error);
}

stn_status stn_system_points_record(const stn_system_points *points, const stn_system_task *task,
                                    const stn_system_arrays *arrays, const void *const *fields, int64_t number,
                                    void *stream, stn_error *error) {
    const int64_t every = (int64_t)task->record_every, row = number / every - 1, size = task->dtype == STN_F64 ? 8 : 4;
    if (!points->kernel || number % every) return STN_OK;
    points_arguments a = {.list = points->table,
                          .first = (const char *)points->table + points->first,
                          .records = (char *)arrays->records + row * task->batch * task->receiver_channels * size,
                          .threads = task->receiver_channels,
                          .batch = task->batch,
                          .points = stn_system_task_points(task),
                          .channels = task->receiver_channels};
    for (int f = 0; f < task->system->nfields; f++) a.field[f] = fields[f];
    return launch(points, &a, stream, error);
}
