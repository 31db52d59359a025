/* The time to the first result: context, plan and first execution in a new process, as in
 * `stentor run`, except that grids are not created on the host, which takes seconds.
 *
 *     stentor-first STENCIL SIZE DTYPE BOUNDARY STEPS CACHE_FOLDER [PACK ...]
 *
 * prints one JSON object and exits without waiting for background compiles, which would disturb the
 * next problem's times. `bench/planner.py first` reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "bench.h"
#include "context/context.h"
#include "launch/driver.h"
#include "options.h"
#include "plan/plan.h"

enum { WORDS = 7 };

typedef struct waits {
    double driver, context, plan, first;
    double context_driver, plan_driver; /* driver's part of context and plan */
} waits;

static stn_status parse_size(const char *text, stn_problem *problem, size_t *points, stn_error *error) {
    *points = 1;
    for (int axis = 0; axis < STN_MAX_RANK; axis++) {
        char *end;
        problem->extent[axis] = (size_t)strtoull(text, &end, 10);
        if (end == text || __builtin_mul_overflow(*points, problem->extent[axis], points)) break;
        if (!*end) return STN_OK;
        text = end + 1;
    }
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the size is not of the form 64x64");
}

static stn_status parse(char **words, stn_problem *problem, stn_stencil **stencil, size_t *points, stn_error *error) {
    *problem = (stn_problem)STN_PROBLEM_INIT;
    STN_TRY(bench_stencil(words[1], stencil, error));
    problem->stencil = *stencil;
    STN_TRY(parse_size(words[2], problem, points, error));
    STN_TRY(stn_dtype_parse(words[3], &problem->dtype, error));
    STN_TRY(bench_boundary(words[4], stn_stencil_rank(*stencil), problem->boundary, error));
    problem->steps = strtoull(words[5], NULL, 10);
    return STN_OK;
}

static stn_status open_context(char **words, stn_context **context, waits *took, stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_CUDA(0);
    options.cache_dir = words[6];
    options.packs = words[WORDS] ? (const char *const *)words + WORDS : NULL;
    const double begin = bench_now();
    STN_TRY(stn_context_create(&options, context, error));
    took->driver = (*context)->start_seconds;
    took->context = bench_now() - begin - took->driver;
    took->context_driver = (*context)->driver_seconds;
    return STN_OK;
}

static stn_status make_plan(stn_context *context, const stn_problem *problem, stn_plan **plan, waits *took,
                            stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.first_result = 1;
    options.no_auto_workspace = 1; /* the execution passes it */
    const double begin = bench_now(), before = stn_device_seconds(context->device);
    STN_TRY(stn_plan_create(context, problem, &options, plan, error));
    took->plan = bench_now() - begin;
    took->plan_driver = stn_device_seconds(context->device) - before;
    return STN_OK;
}

static stn_status execute(stn_plan *plan, size_t bytes, waits *took, stn_error *error) {
    stn_execution run = STN_EXECUTION_INIT;
    void *memory[3] = {NULL};
    const size_t sizes[3] = {bytes, bytes, stn_plan_workspace_size(plan)};
    stn_status status;
    for (int i = 0; i < 3; i++)
        if (sizes[i]) STN_TRY_GOTO(status, stn_memory_alloc(plan->context, sizes[i], &memory[i], error), done);
    run.in = memory[0], run.out = memory[1], run.workspace = memory[2];
    const double begin = bench_now();
    status = stn_plan_execute_part(plan, (stn_part){0, stn_plan_launches(plan)}, &run, error);
    if (status == STN_OK) status = stn_synchronize(plan->context, NULL, error);
    took->first = bench_now() - begin;
done:
    for (int i = 0; i < 3; i++) stn_memory_free(plan->context, memory[i]);
    return status;
}

static stn_status print(const stn_plan *plan, const waits *took, stn_error *error) {
    char *described;
    stn_text text = STN_TEXT_EMPTY;
    STN_TRY(stn_plan_describe(plan, STN_JSON, &described, error));
    stn_text_printf(&text, "{\"strategy\":");
    stn_json_string(&text, stn_plan_strategy(plan));
    stn_json_key(&text, "seconds"), stn_json_number(&text, took->first);
    stn_json_key(&text, "first_result"), stn_text_printf(&text, "{\"driver_seconds\":");
    stn_json_number(&text, took->driver);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"context_seconds", took->context},
                   {"plan_seconds", took->plan},
                   {"context_in_driver_seconds", took->context_driver},
                   {"plan_in_driver_seconds", took->plan_driver},
                   {"execute_seconds", took->first}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        stn_json_key(&text, numbers[i].key), stn_json_number(&text, numbers[i].value);
    stn_text_printf(&text, "}");
    stn_json_key(&text, "plan"), stn_text_printf(&text, "%s}", described);
    stn_text_append(&text, "", 1);
    stn_text_free(described);
    const stn_status status = text.failed ? stn_fail_memory(error, "the report", 1) : STN_OK;
    if (status == STN_OK) puts(text.data);
    fflush(stdout);
    stn_text_clear(&text);
    return status;
}

static stn_status measure(char **words, stn_error *error) {
    stn_problem problem;
    stn_stencil *stencil = NULL;
    stn_context *context = NULL;
    stn_plan *plan = NULL;
    waits took = {0};
    size_t points;
    stn_status status;
    STN_TRY_GOTO(status, parse(words, &problem, &stencil, &points, error), done);
    STN_TRY_GOTO(status, open_context(words, &context, &took, error), done);
    STN_TRY_GOTO(status, make_plan(context, &problem, &plan, &took, error), done);
    STN_TRY_GOTO(status, execute(plan, points * stn_dtype_size(problem.dtype), &took, error), done);
    STN_TRY_GOTO(status, print(plan, &took, error), done);
    _exit(0);
done:
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    stn_stencil_destroy(stencil);
    return status;
}

int main(int argc, char **argv) {
    stn_error error = {0};
    if (argc < WORDS) {
        fputs("usage: stentor-first STENCIL SIZE DTYPE BOUNDARY STEPS CACHE_FOLDER [PACK ...]\n", stderr);
        return 2;
    }
    if (measure(argv, &error) == STN_OK) return 0;
    fprintf(stderr, "stentor-first: %s\n", error.message);
    return 1;
}
