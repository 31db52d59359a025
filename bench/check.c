/* Checks a sample of points of a result before it is timed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "problem/task.h"

enum { SEGMENTS = 256, LENGTH = 32 }; /* samples are short segments along the fastest axis */

typedef struct sample {
    int64_t index[SEGMENTS][3]; /* first point of each segment, as three axes */
    int64_t length;
    double values[SEGMENTS * LENGTH];
} sample;

/* Draws a low face, a high face or any position, so that faces, edges and corners are included. */
static int64_t pick(uint64_t *state, int64_t extent, int64_t length) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = *state >> 33;
    int64_t last = extent - length, near = (int64_t)(bits >> 2) % 4;
    if (near > last) near = last;
    if (bits % 4 == 0) return near;
    if (bits % 4 == 1) return last - near;
    return (int64_t)((bits >> 2) % (uint64_t)(last + 1));
}

static void choose(const stn_task *task, sample *chosen) {
    uint64_t state = 2025;
    chosen->length = task->n[2] < LENGTH ? task->n[2] : LENGTH;
    for (int s = 0; s < SEGMENTS; s++)
        for (int axis = 0; axis < 3; axis++)
            chosen->index[s][axis] = pick(&state, task->n[axis], axis == 2 ? chosen->length : 1);
}

static uint64_t linear(const stn_task *task, const int64_t index[3]) {
    return (uint64_t)((index[0] * task->n[1] + index[1]) * task->n[2] + index[2]);
}

/* The initial value that a tap at the index, possibly outside, reads. */
static double seen(const stn_task *task, const int64_t index[3]) {
    int64_t folded[3];
    for (int axis = 0; axis < 3; axis++) {
        folded[axis] = stn_fold(index[axis], task->n[axis], task->boundary[axis]);
        if (folded[axis] < 0) return task->boundary[axis][folded[axis] == -1 ? 0 : 1].value;
    }
    return bench_value(linear(task, folded), task->dtype);
}

static double one_step(const stn_task *task, const int64_t index[3]) {
    if (stn_task_is_frozen(task, index)) return bench_value(linear(task, index), task->dtype);
    double sum = task->source ? bench_value(linear(task, index), task->dtype) : 0;
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        const int64_t place[3] = {index[0] + tap->offset[0], index[1] + tap->offset[1], index[2] + tap->offset[2]};
        sum += tap->weight * seen(task, place);
    }
    return sum;
}

static void evaluate(const stn_task *task, sample *expected) {
    for (int s = 0; s < SEGMENTS; s++)
        for (int64_t i = 0; i < expected->length; i++) {
            const int64_t index[3] = {expected->index[s][0], expected->index[s][1], expected->index[s][2] + i};
            expected->values[s * LENGTH + i] = one_step(task, index);
        }
}

/* Reads the sample's points, or (poison) writes NaN to them. */
static stn_status transfer(bench *machine, const stn_task *task, void *data, sample *points, bool poison,
                           stn_error *error) {
    double piece[LENGTH]; /* elements of any dtype; all bits set is NaN in each */
    size_t size = stn_dtype_size(task->dtype), bytes = (size_t)points->length * size;
    memset(piece, 0xff, sizeof piece);
    for (int s = 0; s < SEGMENTS; s++) {
        char *place = (char *)data + linear(task, points->index[s]) * size;
        if (poison) {
            STN_TRY(stn_memory_upload(machine->context, place, piece, bytes, error));
            continue;
        }
        STN_TRY(stn_memory_download(machine->context, piece, place, bytes, error));
        for (int64_t i = 0; i < points->length; i++)
            points->values[s * LENGTH + i] = bench_load(piece, (uint64_t)i, task->dtype);
    }
    return STN_OK;
}

static double relative_error(const sample *found, const sample *expected) {
    double difference = 0, norm = 0;
    for (int s = 0; s < SEGMENTS; s++)
        for (int64_t i = 0; i < found->length; i++) {
            double e = expected->values[s * LENGTH + i], d = found->values[s * LENGTH + i] - e;
            difference += d * d;
            norm += e * e;
        }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

stn_status bench_run(stn_plan *plan, const void *in, const void *source, void *out, stn_error *error) {
    stn_execution e = STN_EXECUTION_INIT;
    e.in = in, e.out = out, e.source = plan->task.source ? source : NULL;
    return stn_plan_run(plan, &e, error);
}

static stn_status run_poisoned(bench *machine, const stn_task *task, stn_plan *plan, const void *in, const void *source,
                               void *out, sample *points, stn_error *error) {
    STN_TRY(transfer(machine, task, out, points, true, error));
    STN_TRY(bench_run(plan, in, source, out, error));
    STN_TRY(stn_synchronize(machine->context, NULL, error));
    return transfer(machine, task, out, points, false, error);
}

/* Computes task->steps single steps of `direct` in f64: grids[0] has the input, grids[2] the
 * source, the steps go back and forth between the first two. The first step is compared with the
 * CPU. */
static stn_status step_in(bench *machine, const stn_task *task, stn_plan *plan, void *grids[3], sample *expected,
                          stn_error *error) {
    stn_task single = *task, wide = *task; /* both borrow the taps */
    single.steps = wide.steps = 1;
    wide.dtype = STN_F64;
    sample *first = malloc(sizeof *first);
    if (!first) return stn_fail_memory(error, "a sample", sizeof *first);
    *first = *expected;
    evaluate(&single, expected);
    stn_status status = run_poisoned(machine, &wide, plan, grids[0], grids[2], grids[1], first, error);
    double wrong = relative_error(first, expected);
    free(first);
    if (status == STN_OK && !(wrong <= stn_error_bound(&wide)))
        status = stn_fail(error, STN_ERROR_INTERNAL,
                          "a single %s step, the reference of longer runs, is off by %.2g in relative L2",
                          stn_plan_strategy(plan), wrong);
    for (uint64_t step = 1; step < task->steps && status == STN_OK; step++)
        status = bench_run(plan, grids[step % 2], grids[2], grids[1 - step % 2], error);
    if (status == STN_OK) status = stn_synchronize(machine->context, NULL, error);
    return status == STN_OK ? transfer(machine, &wide, grids[task->steps % 2], expected, false, error) : status;
}

static stn_status step_by_step(bench *machine, const stn_problem *problem, const stn_task *task, sample *expected,
                               stn_error *error) {
    stn_problem one = *problem;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    void *grids[3] = {NULL, NULL, NULL};
    uint64_t count = (uint64_t)stn_task_points(task);
    one.steps = 1;
    one.dtype = STN_F64;
    options.strategy = !machine->device ? "host" : task->source ? "sourced" : "direct";
    stn_status status;
    STN_TRY_GOTO(status, stn_plan_create(machine->context, &one, &options, &plan, error), done);
    for (int i = 0; i < (task->source ? 3 : 2); i++) {
        STN_TRY_GOTO(status, stn_memory_alloc(machine->context, count * sizeof(double), &grids[i], error), done);
        if (i != 1) STN_TRY_GOTO(status, bench_fill(machine, grids[i], count, task->dtype, STN_F64, error), done);
    }
    status = step_in(machine, task, plan, grids, expected, error);
done:
    for (int i = 0; i < 3; i++) stn_memory_free(machine->context, grids[i]);
    stn_plan_destroy(plan);
    return status;
}

stn_status bench_check(bench *machine, const stn_problem *problem, stn_plan *plan, const bench_buffers *buffers,
                       double *found, double *allowed, stn_error *error) {
    stn_task task;
    STN_TRY(stn_task_make(problem, &task, error));
    stn_status status = STN_OK;
    sample *samples = calloc(2, sizeof *samples), *result = samples, *expected = samples + 1;
    if (!samples) {
        status = stn_fail_memory(error, "two samples", 2 * sizeof *samples);
        goto done;
    }
    choose(&task, result);
    *expected = *result;
    STN_TRY_GOTO(status, run_poisoned(machine, &task, plan, buffers->in, buffers->in, buffers->out, result, error),
                 done);
    if (task.steps == 1)
        evaluate(&task, expected);
    else
        STN_TRY_GOTO(status, step_by_step(machine, problem, &task, expected, error), done);
    *found = relative_error(result, expected);
    *allowed = stn_error_bound(&task);
done:
    free(samples);
    stn_task_clear(&task);
    return status;
}
