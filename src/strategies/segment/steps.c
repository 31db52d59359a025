/* See steps.h. */
#include "strategies/segment/steps.h"

#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "render/render.h"

/* Of segment_steps.cu: as far as steps reach, and points of a tile with that on both sides. 14 planes of a solid of 512^3 take about as long so as two
 * that are convolved: 64 x 64 points of 96 x 96, in shared memory, there and back along both axes. */
enum { HALO = 16, SPAN = 96, PARTS = 4, TILE = SPAN - 2 * HALO, MOST_REACH = 3 };
enum { LEAST = 4 }; /* powers that are worth a second launch */

typedef struct steps_header {
    const void *source[3];
    void *out[3];
    int64_t ny, nx, pitch, source_next, next, planes;
    double weight[2][4];
    int32_t power[HALO + 1], count;
    uint32_t tiles_y, tiles_x, sources, rest;
} steps_header;

static size_t real_size(const stn_task *task) { return task->dtype == STN_F64 ? sizeof(double) : sizeof(float); }

size_t segment_steps_shared(const stn_task *task) { return (size_t)SPAN * (SPAN + 1) * real_size(task); }

/* Power number i, rising from the last term. */
static int64_t power_of(const segment_terms *terms, int i) { return terms->power[terms->count - 1 - i]; }

/* How many powers from number `first` on one launch makes of a plane that has taken the steps of the one before. */
static int of_one_launch(const segment_axis *rows, const segment_axis *columns, const segment_terms *terms, int first,
                         int most) {
    const int64_t reach = stn_max(rows->low, columns->low), before = first ? power_of(terms, first - 1) : 0;
    int count = 0;
    while (first + count < most && (power_of(terms, first + count) - before) * reach <= HALO) count++;
    return count;
}

int segment_steps_count(const segment_axis *rows, const segment_axis *columns, const segment_terms *terms) {
    int count = 0;
    if (stn_max(rows->low, columns->low) > MOST_REACH) return 0;
    for (int more; (more = of_one_launch(rows, columns, terms, count, terms->count)) >= (count ? LEAST : 1);)
        count += more;
    return count;
}

stn_status segment_steps_get(stn_plan *plan, const segment_axis *rows, const segment_axis *columns, stn_kernel **kernel,
                             stn_error *error) {
    const segment_axis *const along[2] = {rows, columns};
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_elements(&params, plan->task.dtype);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(steps_header));
    stn_params_int(&params, "STEPS_SPAN", SPAN);
    stn_params_int(&params, "STEPS_HALO", HALO);
    for (int k = 0; k < 2; k++) {
        const int reach[2] = {along[k]->low, along[k]->low};
        const stn_boundary sides[2] = {{along[k]->side[0], 0}, {along[k]->side[1], 0}};
        stn_params_axis(&params, 1 + k, reach, sides);
    }
    STN_TRY(stn_kernel_make(plan->context, "segment_steps", &params, segment_steps_shared(&plan->task), kernel, error));
    stn_plan_list_kernel(plan, *kernel);
    return STN_OK;
}

/* All but its planes and powers. */
static steps_header header_of(const stn_task *task, const segment_planes *planes, const segment_steps_job *job) {
    const int64_t plane = planes->rows[job->across] * planes->pitch[job->across];
    const segment_axis *const along[2] = {job->rows, job->columns};
    steps_header h = {.ny = job->rows->n,
                      .nx = job->columns->n,
                      .pitch = planes->pitch[job->across],
                      .source_next = plane,
                      .next = plane,
                      .planes = job->terms->count * plane,
                      .tiles_y = (uint32_t)stn_div_up(job->rows->n, TILE),
                      .tiles_x = (uint32_t)stn_div_up(job->columns->n, TILE),
                      .sources = (uint32_t)(2 * task->batch)};
    for (int k = 0; k < 2; k++)
        for (int o = 0; o <= along[k]->low; o++) h.weight[k][o] = (double)along[k]->weight[along[k]->low + o];
    return h;
}

/* Axes of as many points with the same weights: what else a header has follows from them and the planes' pitch. */
static bool are_same(const segment_axis *a, const segment_axis *b) {
    return a->n == b->n && segment_same_weights(a, b);
}

static bool are_alike(const segment_planes *planes, const segment_steps_job *a, const segment_steps_job *b) {
    return a->kernel == b->kernel && a->count == b->count && a->terms->count == b->terms->count &&
           !memcmp(a->terms->power, b->terms->power, (size_t)a->terms->count * sizeof *a->terms->power) &&
           planes->pitch[a->across] == planes->pitch[b->across] && planes->rows[a->across] == planes->rows[b->across] &&
           are_same(a->rows, b->rows) && are_same(a->columns, b->columns);
}

/* Jobs that are alike. */
static stn_status launch_alike(const stn_task *task, const segment_planes *planes, const segment_steps_job *jobs,
                               int many, void *stream, stn_error *error) {
    const segment_steps_job *job = &jobs[0];
    steps_header h = header_of(task, planes, job);
    const int64_t plane = h.next * (int64_t)real_size(task);
    const stn_launch how = {.grid = {(unsigned)many * h.sources * h.tiles_y * h.tiles_x, 1, 1},
                            .block = {PARTS * SPAN, 1, 1},
                            .shared = segment_steps_shared(task),
                            .stream = stream};
    for (int first = 0; first < job->count; first += h.count) {
        const int64_t before = first ? power_of(job->terms, first - 1) : 0;
        h.count = of_one_launch(job->rows, job->columns, job->terms, first, job->count);
        for (int j = 0; j < h.count; j++) h.power[j] = (int32_t)(power_of(job->terms, first + j) - before);
        for (int i = 0; i < many; i++) {
            h.out[i] = jobs[i].out + (job->terms->count - 1 - first) * plane;
            h.source[i] = first ? jobs[i].out + (job->terms->count - first) * plane : jobs[i].source;
        }
        if (first) h.source_next = h.planes;
        STN_TRY(stn_module_launch(job->kernel->module, &how, &h, error));
    }
    return STN_OK;
}

stn_status segment_steps_launch(const stn_task *task, const segment_planes *planes, const segment_steps_job *jobs,
                                int count, void *stream, stn_error *error) {
    for (int first = 0, many; first < count; first += many) {
        for (many = 1; first + many < count && are_alike(planes, &jobs[first], &jobs[first + many]);) many++;
        STN_TRY(launch_alike(task, planes, &jobs[first], many, stream, error));
    }
    return STN_OK;
}
