/* Compile batches: missing kernels are collected and not compiled, then each is compiled once;
 * other threads that ask meanwhile get the real kernel. With a fake driver and NVRTC. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../expect.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "context/kernel.h"
#include "stand_ins.h"

static stn_context *context;
static stn_kernel_set set;
static const char *const texts[] = {"#pragma once\nint a;\n", "#pragma once\nint b;\n", "#pragma once\nint c;\n"};

static void start(void) {
    stand_ins_start();
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .threads = 3};
    OK(stn_context_create(&options, &context, &error));
    set.context = context;
}
static void end(void) {
    stn_kernel_set_clear(&set);
    stn_context_destroy(context);
    cr_expect_eq(fake->modules, 0, "a module stayed loaded");
    stand_ins_end();
}
TestSuite(gather, .init = start, .fini = end);

static stn_kernel *get(int i) {
    stn_kernel *kernel = NULL;
    OK(stn_kernel_get(&set, "direct_tile", texts[i], &kernel, &error));
    return kernel;
}

static stn_compile_batch *record(void) {
    set.batch = stn_compile_batch_create(context);
    cr_assert_not_null(set.batch);
    return set.batch;
}

/* Ends the recording; returns the number of missing kernels. */
static size_t end_batch(const stn_compile_batch *batch) {
    cr_expect_eq(stn_kernels_miss(&set), batch->count > 0);
    set.batch = NULL;
    return batch->count;
}

Test(gather, collects_missing_kernels_and_compiles_each_once) {
    const stn_kernel *stored = get(0);
    stn_compile_batch *gather = record();
    cr_expect_eq(get(0), stored, "what is there is used");
    stn_kernel *second = get(1);
    cr_expect_null(second->module);
    cr_expect_eq(get(1), second, "listed once");
    cr_expect_null(get(2)->module);
    cr_expect_eq(stand_ins_compiles(), 1);
    cr_expect_eq(end_batch(gather), 2u);
    const double one = stn_compile_seconds("direct_tile", "");
    cr_expect(stn_compile_batch_seconds(gather) >= one && stn_compile_batch_seconds(gather) < 2 * one,
              "on two of three threads");
    OK(stn_compile_batch_try(gather, &error));
    cr_expect_eq(stand_ins_compiles(), 3);
    stn_compile_batch_free(gather);
    for (int i = 0; i < 3; i++) cr_expect_not_null(get(i)->module);
    cr_expect_eq(stand_ins_compiles(), 3, "all are in memory");
}

/* Seconds that NVRTC took. */
Test(compile_seconds, are_predicted_within_a_factor_of_two) {
    static const struct {
        const char *name, *params;
        double measured;
    } kernels[] = {{"direct_tile", " NTAPS = 5; VECTOR = 1; ROWS = 2; UNROLL = 8; COLUMN_LOOP = 1;", 0.53},
                   {"direct_tile", " NTAPS = 25; VECTOR = 2; ROWS = 2; UNROLL = 12; COLUMN_LOOP = 2;", 0.75},
                   {"direct_tile", " NTAPS = 125; VECTOR = 4; ROWS = 2; UNROLL = 5; COLUMN_LOOP = 2;", 1.35},
                   {"direct_tile", " NTAPS = 7; VECTOR = 1; ROWS = 2; UNROLL = 6; COLUMN_LOOP = 1;", 0.21},
                   {"direct_tile", " NTAPS = 27; VECTOR = 2; ROWS = 1; UNROLL = 11; COLUMN_LOOP = 0;", 0.17},
                   {"direct_tile", " NTAPS = 13; VECTOR = 1; ROWS = 2; UNROLL = 20; COLUMN_LOOP = 2;", 0.54},
                   {"direct_tile", " NTAPS = 125; VECTOR = 1; ROWS = 2; UNROLL = 20; COLUMN_LOOP = 1;", 0.88},
                   {"direct_time_line", " NTAPS = 7; VECTOR = 1;", 0.81},
                   {"direct_time_tile",
                    "STORE = unsigned short; NTAPS = 2; Y_LOW = 0; VECTOR = 1; ROWS = 1; FUSED = 5; POINTS = 4;", 0.92},
                   {"faces_tile", " NTAPS = 5; TILED[3] = {0, 1, 0}; ROWS = 8; POINTS = 2; SEPARABLE = 1;", 0.30},
                   {"lowrank_axis", "", 0.23},
                   {"segment_source", "", 0.11}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const double ratio = stn_compile_seconds(kernels[i].name, kernels[i].params) / kernels[i].measured;
        cr_expect(ratio > 0.5 && ratio < 2, "kernel %zu: %g times as long as measured", i, ratio);
    }
}

Test(gather, does_not_load_what_another_process_stored_meanwhile) {
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0)};
    stn_compile_batch *gather = record();
    stn_kernel_set others = {0};
    stn_kernel *kernel;
    get(0);
    cr_expect_eq(end_batch(gather), 1u);
    OK(stn_context_create(&options, &others.context, &error));
    OK(stn_kernel_get(&others, "direct_tile", texts[0], &kernel, &error));
    stn_kernel_set_clear(&others);
    stn_context_destroy(others.context);
    OK(stn_compile_batch_try(gather, &error));
    stn_compile_batch_free(gather);
    cr_expect_eq(stand_ins_compiles(), 1, "it is found");
    cr_expect_eq(fake->modules, 0, "loading would end a capture");
    cr_expect_not_null(get(0)->module);
    cr_expect_eq(stand_ins_compiles(), 1);
}

static void *cancel_soon(void *gather) {
    usleep(50000);
    stn_compile_batch_cancel(gather);
    return NULL;
}

Test(gather, compiles_without_the_device) {
    stn_compile_batch *gather = record();
    get(0), get(1);
    cr_expect_eq(end_batch(gather), 2u);
    OK(stn_compile_batch_try(gather, &error));
    stn_compile_batch_free(gather);
    cr_expect_eq(stand_ins_compiles(), 2);
    cr_expect_eq(fake->modules, 0, "nothing is loaded before someone wants it");
    cr_expect_not_null(get(0)->module);
    cr_expect_eq(fake->modules, 1);
    get(0), get(1);
    cr_expect_eq(fake->modules, 2);
    cr_expect_eq(stand_ins_compiles(), 2);
}

Test(gather, an_abandoned_compile_is_cancelled) {
    struct timespec begin, end;
    pthread_t other;
    setenv("FAKE_NVRTC_WAIT", "20000", 1);
    stn_compile_batch *gather = record();
    get(0), get(1);
    end_batch(gather);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    cr_assert_eq(pthread_create(&other, NULL, cancel_soon, gather), 0);
    cr_expect_neq(stn_compile_batch_try(gather, &error), STN_OK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    pthread_join(other, NULL);
    stn_compile_batch_free(gather);
    cr_expect_lt(end.tv_sec - begin.tv_sec, 10, "it was stopped, not waited for");
    cr_expect_eq(stand_ins_compiles(), 0);
    setenv("FAKE_NVRTC_WAIT", "1", 1);
    cr_expect_not_null(get(0)->module, "whoever wants it later compiles it");
}

/* Starts a background compile of two kernels; returns once its thread runs. */
static stn_background_compile *compile_two_ahead(stn_compile_batch **gather) {
    *gather = record();
    get(0), get(1);
    end_batch(*gather);
    stn_background_compile *ahead = stn_background_compile_start(gather, 1);
    cr_assert_not_null(ahead);
    usleep(20000);
    return ahead;
}

Test(gather, background_compiles_are_waited_for) {
    setenv("FAKE_NVRTC_WAIT", "100", 1);
    stn_compile_batch *gather;
    stn_background_compile *ahead = compile_two_ahead(&gather);
    stn_compile_batch *other = record();
    cr_expect_null(get(0)->module, "whoever only lists does not wait");
    cr_expect_null(get(1)->module);
    cr_expect_eq(end_batch(other), 2u);
    cr_expect_eq(stand_ins_compiles(), 0);
    stn_compile_batch_free(other);
    cr_expect_not_null(get(1)->module);
    cr_expect_not_null(get(0)->module);
    stn_background_compile_end(ahead, false);
    cr_expect(atomic_load(&gather->finished));
    OK(stn_compile_batch_result(gather, &error));
    stn_compile_batch_free(gather);
    cr_expect_eq(stand_ins_compiles(), 2, "each once");
}

Test(gather, background_compiles_are_released) {
    setenv("FAKE_NVRTC_WAIT", "20000", 1);
    stn_compile_batch *gather;
    stn_background_compile *ahead = compile_two_ahead(&gather);
    stn_background_compile_end(ahead, true);
    stn_compile_batch_free(gather);
    cr_expect_eq(stand_ins_compiles(), 0, "it was cancelled, not waited for");
    setenv("FAKE_NVRTC_WAIT", "1", 1);
    cr_expect_not_null(get(0)->module);
    cr_expect_not_null(get(1)->module);
}

/* Batches of two plans: the first lacks kernels 0 and 1, the second kernels 1 and 2. */
static void record_two(stn_compile_batch *batches[2]) {
    for (int i = 0; i < 2; i++) {
        batches[i] = record();
        get(i), get(i + 1);
        cr_assert_eq(end_batch(batches[i]), 2u);
    }
}

Test(gather, batches_share_kernels) {
    stn_compile_batch *batches[2];
    record_two(batches);
    stn_compile_batches_run(context, batches, 2);
    cr_expect_eq(stand_ins_compiles(), 3, "each once");
    for (int i = 0; i < 2; i++) {
        OK(stn_compile_batch_result(batches[i], &error));
        stn_compile_batch_free(batches[i]);
    }
}

Test(gather, every_batch_learns_that_a_shared_kernel_failed) {
    stn_compile_batch *batches[2];
    record_two(batches);
    setenv("FAKE_NVRTC_LOG", "", 1); /* no kernel compiles */
    stn_compile_batches_run(context, batches, 2);
    for (int i = 0; i < 2; i++) {
        cr_expect_neq(stn_compile_batch_result(batches[i], &error), STN_OK, "batch %d", i);
        stn_compile_batch_free(batches[i]);
    }
}

Test(gather, a_cancelled_batch_takes_no_kernel_from_another) {
    stn_compile_batch *batches[2];
    record_two(batches);
    stn_compile_batch_cancel(batches[0]);
    stn_compile_batches_run(context, batches, 2);
    cr_expect_neq(stn_compile_batch_result(batches[0], &error), STN_OK);
    OK(stn_compile_batch_result(batches[1], &error));
    cr_expect_eq(stand_ins_compiles(), 2, "those of the second");
    for (int i = 0; i < 2; i++) stn_compile_batch_free(batches[i]);
}

Test(gather, is_empty_if_nothing_is_missing) {
    stn_compile_batch *gather = record();
    cr_expect_eq(end_batch(gather), 0u);
    cr_expect_eq(stn_compile_batch_seconds(gather), 0.0);
    stn_compile_batch_free(gather);
    cr_expect_not_null(get(0)->module, "the thread compiles again");
}

Test(gather, belongs_to_one_set) {
    stn_compile_batch *gather = record();
    stn_kernel_set other = {.context = context};
    stn_kernel *theirs = NULL;
    OK(stn_kernel_get(&other, "direct_tile", texts[0], &theirs, &error));
    stn_kernel_set_clear(&other);
    cr_expect_not_null(theirs->module);
    cr_expect_eq(get(0), theirs);
    cr_expect_eq(end_batch(gather), 0u);
    stn_compile_batch_free(gather);
}

Test(gather, fails_at_once_without_a_compiler) {
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .threads = 3};
    stn_kernel_set_clear(&set);
    stn_context_destroy(context); /* It has opened an NVRTC, as nothing is stored. */
    setenv("STENTOR_NVRTC_PATH", "/nowhere/libnvrtc.so", 1);
    OK(stn_context_create(&options, &context, &error));
    set.context = context;
    stn_compile_batch *gather = record();
    stn_kernel *kernel;
    cr_expect_eq(stn_kernel_get(&set, "direct_tile", texts[0], &kernel, &error), STN_ERROR_NO_COMPILER);
    cr_expect_eq(end_batch(gather), 0u);
    stn_compile_batch_free(gather);
}
