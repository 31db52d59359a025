/* Tasks as a line of text and as JSON. */
#include <criterion/criterion.h>

#include "problem/task.h"

static stn_task made(const char *stencil_name, stn_problem problem) {
    stn_stencil *stencil = NULL;
    stn_task task;
    cr_assert_eq(stn_stencil_parse(stencil_name, &stencil, NULL), STN_OK);
    problem.stencil = stencil;
    cr_assert_eq(stn_task_make(&problem, &task, NULL), STN_OK);
    stn_stencil_destroy(stencil);
    return task;
}

static void gives(stn_task task, void (*print)(const stn_task *, stn_text *), const char *expected) {
    stn_text text = STN_TEXT_EMPTY;
    char *data = NULL;
    print(&task, &text);
    stn_task_clear(&task);
    cr_assert_eq(stn_text_take(&text, &data, NULL), STN_OK);
    cr_expect_str_eq(data, expected);
    stn_text_free(data);
}

Test(print, one_line) {
    stn_problem problem = {.extent = {344, 403}, .steps = 500};
    for (int i = 0; i < 4; i++) problem.boundary[i / 2][i % 2].kind = STN_REFLECT;
    gives(made("heat-2d", problem), stn_task_print, "2D 344 x 403, f64, star of 5 taps, boundary reflect, 500 steps");
    problem.boundary[1][1] = (stn_boundary){STN_CONSTANT, 0.1};
    problem.dtype = STN_F32;
    problem.batch = 4;
    problem.steps = 0;
    gives(made("box-2d9p", problem), stn_task_print,
          "2D 344 x 403 in batches of 4, f32, box of 9 taps, boundary reflect,reflect:constant=0.1, 1 step");
    problem = (stn_problem){.extent = {7, 8, 9}, .in_place = 1, .dtype = STN_F16};
    problem.in_stride[0] = problem.out_stride[0] = 100;
    problem.in_stride[1] = problem.out_stride[1] = 10;
    problem.in_stride[2] = problem.out_stride[2] = 1;
    gives(made("heat-3d", problem), stn_task_print,
          "3D 7 x 8 x 9, f16, star of 7 taps, boundary wrap, 1 step, strided, in place");
}

Test(print, constants_differ_by_their_value) {
    stn_problem problem = {.extent = {5}};
    problem.boundary[0][0] = (stn_boundary){STN_CONSTANT, 1};
    problem.boundary[0][1] = (stn_boundary){STN_CONSTANT, 2};
    gives(made("gaussian-1d:sigma=0.1", problem), stn_task_print,
          "1D 5, f64, star of 1 tap, boundary constant=1:constant=2, 1 step");
}

Test(print, json) {
    stn_problem problem = {.extent = {10, 12}, .steps = UINT64_MAX, .batch = 2, .tolerance = 1e-3, .in_place = 1};
    problem.boundary[0][0].kind = STN_FIXED;
    problem.boundary[0][1] = (stn_boundary){STN_CONSTANT, -0.5};
    gives(made("heat-2d", problem), stn_task_json,
          "{\"rank\":2,\"extent\":[10,12],\"batch\":2,\"in_stride\":[12,1],\"out_stride\":[12,1],"
          "\"in_batch_stride\":120,\"out_batch_stride\":120,"
          "\"boundary\":[[{\"kind\":\"fixed\",\"reach\":1},{\"kind\":\"constant\",\"value\":-0.5,\"reach\":1}],"
          "[{\"kind\":\"wrap\",\"reach\":1},{\"kind\":\"wrap\",\"reach\":1}]],"
          "\"dtype\":\"f64\",\"steps\":18446744073709551615,\"every\":18446744073709551615,\"source\":false,"
          "\"tolerance\":0.001,\"accuracy\":\"global\",\"in_place\":true,"
          "\"taps\":5,\"pattern\":\"star\"}");
}

Test(print, names) {
    cr_expect_str_eq(stn_pattern_name(STN_PATTERN_STAR), "star");
    cr_expect_str_eq(stn_pattern_name(STN_PATTERN_BOX), "box");
    cr_expect_str_eq(stn_pattern_name(STN_PATTERN_GENERAL), "general");
    cr_expect_str_eq(stn_pattern_name((stn_pattern)9), "unknown");
}
