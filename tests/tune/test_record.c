/* Records of wisdom: parsed as printed, refused if malformed, and under a key of everything that
 * affects a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../context/stand_ins.h"
#include "../expect.h"
#include "context/context.h"
#include "tune/plan_wisdom.h"

static stn_context *h200;
static stn_problem problem;

static void start(void) {
    h200 = context_of_h200();
    problem = (stn_problem)STN_PROBLEM_INIT;
    problem.stencil = stencil_of("heat-2d:alpha=0.2");
    problem.extent[0] = 30, problem.extent[1] = 40, problem.steps = 10;
}

static void end(void) {
    stn_stencil_destroy((stn_stencil *)problem.stencil);
    stn_context_destroy(h200);
}
TestSuite(record, .init = start, .fini = end);

static stn_plan *plan_of(stn_context *context, const stn_problem *p) {
    return new_plan(context, p, &(stn_plan_options){.estimate_only = 1});
}

static stn_wisdom_key key_of(stn_context *context, const stn_problem *p) {
    stn_plan *plan = plan_of(context, p);
    stn_wisdom_key key;
    tune_wisdom_key(plan, &key);
    stn_plan_destroy(plan);
    return key;
}

Test(record, round_trips) {
    static tune_records written, read;
    stn_candidate candidate = {{1, -2, 2147483647, -2147483647 - 1}};
    tune_record_set(&written, "direct", &candidate, 0.125);
    tune_record_set(&written, "lowrank", &candidate, 1e-9 / 3);
    candidate.values[15] = 7;
    tune_record_set(&written, "direct", &candidate, 0);
    tune_record_set(&written, "direct", &candidate, 3);
    tune_record_set(&written, "direct", &candidate, 0); /* replaces the record */
    cr_assert_eq(written.count, 3u);
    stn_text text = STN_TEXT_EMPTY;
    stn_text_printf(&text, "problem: p\n");
    tune_records_print(&written, &text);
    tune_records_parse(text.data, text.data + text.size, &read);
    cr_assert_eq(read.count, 3u);
    for (size_t i = 0; i < read.count; i++) {
        cr_assert_str_eq(read.list[i].strategy, written.list[i].strategy);
        cr_assert_eq(read.list[i].seconds, written.list[i].seconds);
        cr_assert_eq(memcmp(&read.list[i].candidate, &written.list[i].candidate, sizeof candidate), 0);
    }
    cr_assert_eq(tune_record_find(&read, "direct", &candidate)->seconds, 0);
    cr_assert_null(tune_record_find(&read, "host", &candidate));
    stn_text_clear(&text);
}

#define VALUES " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"
Test(record, skips_malformed_lines) {
    static const char *const wrong[] = {
        "candidate: direct 0.5" VALUES " \n",
        "candidate: direct 0.5" VALUES " 21\n",
        "candidate: direct 0.5 1 2 3\n",
        "candidate: direct 0" VALUES "\n",
        "candidate: direct -1" VALUES "\n",
        "candidate: direct nan" VALUES "\n",
        "candidate: direct 0x1" VALUES "\n",
        "candidate:  direct 0.5" VALUES "\n",
        "candidate: a-strategy-with-a-name-much-too-long 0.5" VALUES "\n",
        "candidate: direct 0.5 1x 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n",
        "candidate: direct 0.5 4294967296 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n",
        "candidate: \n",
        "more: direct 0.5" VALUES "\n"};
    static tune_records read;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        const int size = snprintf(text, sizeof text, "%scandidate: fft wrong" VALUES "\n", wrong[i]);
        tune_records_parse(text, text + size, &read);
        cr_expect(read.count == 1 && !strcmp(read.list[0].strategy, "fft") && !read.list[0].seconds, "text %zu: %s", i,
                  wrong[i]);
    }
}

Test(record, a_last_line_without_a_newline_is_skipped) {
    static const char text[] = "candidate: fft wrong" VALUES "\ncandidate: direct wrong" VALUES;
    static tune_records read;
    tune_records_parse(text, text + sizeof text - 1, &read);
    cr_expect(read.count == 1 && !strcmp(read.list[0].strategy, "fft"));
}

Test(record, key_covers_everything_that_affects_a_time) {
    enum { OTHERS = 13 };
    stn_problem other[OTHERS];
    stn_wisdom_key first = key_of(h200, &problem), again = key_of(h200, &problem);
    cr_assert_eq(memcmp(&first, &again, sizeof first), 0);
    for (int i = 0; i < OTHERS; i++) other[i] = problem;
    other[0].extent[1] = 44;
    other[1].steps = 11;
    other[2].dtype = STN_F32;
    other[3].boundary[0][0].kind = other[3].boundary[0][1].kind = STN_FIXED;
    other[4].in_place = 1;
    other[5].batch = 2;
    other[6].tolerance = 1e-3;
    other[7].alignment = 8;
    other[8].every = problem.steps,
    other[8].steps = 2 * problem.steps; /* Some strategies compute a stack of steps in one run. */
    other[9].boundary[0][0].kind = STN_FIXED, other[9].boundary[0][1].kind = STN_NEAREST;
    other[10].boundary[0][0].kind = STN_NEAREST, other[10].boundary[0][1].kind = STN_FIXED;
    stn_stencil *lines[2]; /* the same taps along one axis and along the other */
    for (int axis = 0; axis < 2; axis++) {
        stn_tap taps[3] = {{{0}, 0.25}, {{0}, 0.5}, {{0}, 0.25}};
        taps[0].offset[axis] = -1, taps[2].offset[axis] = 1;
        OK(stn_stencil_create(2, 3, taps, &lines[axis], &error));
        other[11 + axis].stencil = lines[axis];
        other[11 + axis].extent[0] = other[11 + axis].extent[1] = 30;
    }
    stn_wisdom_key keys[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
        keys[i] = key_of(h200, &other[i]);
        cr_assert_neq(memcmp(&first.problem, &keys[i].problem, sizeof first.problem), 0, "problem %d", i);
        for (int k = 0; k < i; k++)
            cr_expect_neq(memcmp(&keys[k].problem, &keys[i].problem, sizeof first.problem), 0, "%d and %d", k, i);
    }
    for (int axis = 0; axis < 2; axis++) stn_stencil_destroy(lines[axis]);
}

/* Extents of a class lie within half a power of two and have as many factors of two, up to four;
 * more than 64 steps within a power of two. */
Test(record, classes_hold_sizes_that_are_alike) {
    static const struct {
        size_t extent;
        bool same;
    } others[] = {{4112, true}, {4608, true}, {4104, false}, {4097, false}, {5120, false}, {8192, false}};
    problem.extent[0] = 4096;
    const stn_wisdom_key first = key_of(h200, &problem);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        problem.extent[0] = others[i].extent;
        const stn_wisdom_key key = key_of(h200, &problem);
        cr_expect_eq(!memcmp(&first.class, &key.class, sizeof key.class), others[i].same, "%zu", others[i].extent);
    }
    stn_wisdom_key of[3];
    static const uint64_t steps[] = {1000, 1100, 10};
    for (int i = 0; i < 3; i++) {
        problem.steps = steps[i];
        of[i] = key_of(h200, &problem);
    }
    cr_expect_eq(memcmp(&of[0].class, &of[1].class, sizeof of->class), 0);
    cr_expect_neq(memcmp(&of[0].class, &of[2].class, sizeof of->class), 0, "2^10 steps are not 10");
}

static stn_wisdom_key key_of_weights(const double weights[5]) {
    stn_tap taps[5];
    stn_stencil *stencil;
    memcpy(taps, stn_stencil_taps(problem.stencil), sizeof taps);
    for (int i = 0; i < 5; i++) taps[i].weight = weights[i];
    OK(stn_stencil_create(2, 5, taps, &stencil, &error));
    stn_problem other = problem;
    other.stencil = stencil;
    stn_wisdom_key key = key_of(h200, &other);
    stn_stencil_destroy(stencil);
    return key;
}

Test(record, key_covers_only_the_symmetry_of_weights) {
    stn_wisdom_key first = key_of(h200, &problem);
    stn_wisdom_key scaled =
        /* by offset: -y, -x, 0, +x, +y */
        key_of_weights((double[]){0.1, 0.15, 0.3, 0.15, 0.1});
    stn_wisdom_key skewed = key_of_weights((double[]){0.1, 0.15, 0.3, 0.25, 0.1});
    cr_assert_eq(memcmp(&first, &scaled, sizeof first), 0);
    cr_assert_neq(memcmp(&first, &skewed, sizeof first), 0);
}

/* A measurement in a folder whose wisdom is full: the oldest entry makes room for a new one, and
 * all stay where the problem was known. */
static void remember(stn_context *context, double seconds) {
    static tune_records records;
    const stn_candidate candidate = {{1}};
    stn_plan *plan = plan_of(context, &problem);
    records.count = 0;
    tune_record_set(&records, "direct", &candidate, seconds);
    tune_remember(plan, &records);
    stn_plan_destroy(plan);
}

static stn_wisdom wisdom_in(stn_context *context) {
    stn_wisdom wisdom;
    struct stat seen;
    OK(stn_wisdom_read(&context->cache->folder, &wisdom, &seen, &error));
    return wisdom;
}

static void write_full(const char *path) {
    stn_text text = STN_TEXT_EMPTY;
    stn_wisdom_begin(&text);
    for (unsigned i = 0; i < STN_WISDOM_ENTRIES; i++) {
        stn_wisdom_key key = {0};
        memcpy(key.problem.bytes, &i, sizeof i);
        stn_wisdom_put_key(&text, &key);
        stn_text_printf(&text, "problem: %u\n", i);
    }
    stn_wisdom_end(&text);
    cr_assert_not(text.failed);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(text.data, 1, text.size, file) == text.size && !fclose(file) && !chmod(path, 0600));
    stn_text_clear(&text);
}

static bool has_line(const stn_wisdom *wisdom, size_t i, const char *line) {
    const char *found = strstr(wisdom->entry[i], line);
    return found && found < wisdom->entry[i + 1];
}

Test(record, full_wisdom_drops_the_oldest_entry_for_a_new_one) {
    char folder[] = "/tmp/stentor-record-XXXXXX", path[64];
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/wisdom", folder);
    write_full(path);
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context;
    options.arch = "sm_90", options.cache_dir = folder;
    OK(stn_context_create(&options, &context, &error));
    remember(context, 0.5);
    stn_wisdom wisdom = wisdom_in(context);
    cr_assert_eq(wisdom.count, (size_t)STN_WISDOM_ENTRIES);
    cr_expect(has_line(&wisdom, 0, "candidate: direct 0.5 1"), "the newest comes first");
    cr_expect(has_line(&wisdom, 1, "problem: 0\n"));
    cr_expect(has_line(&wisdom, STN_WISDOM_ENTRIES - 1, "problem: 4094\n"), "the last one was dropped");
    stn_wisdom_clear(&wisdom);
    remember(context, 0.25);
    wisdom = wisdom_in(context);
    cr_assert_eq(wisdom.count, (size_t)STN_WISDOM_ENTRIES);
    cr_expect(has_line(&wisdom, 0, "candidate: direct 0.25 1") && !has_line(&wisdom, 0, "0.5 1"), "the new time");
    cr_expect(has_line(&wisdom, STN_WISDOM_ENTRIES - 1, "problem: 4094\n"), "nothing was dropped for it");
    stn_wisdom_clear(&wisdom);
    OK(stn_wisdom_forget(context, NULL, &error));
    stn_context_destroy(context);
    snprintf(path, sizeof path, "%s/lock", folder);
    cr_expect(!unlink(path) && !rmdir(folder));
}

/* The problem's key in a context made now, on the fake GPU. */
static stn_wisdom_key key_on_gpu(int gpu) {
    stn_context *context = context_on(STN_DEVICE_CUDA(gpu));
    stn_wisdom_key key = key_of(context, &problem);
    stn_context_destroy(context);
    return key;
}

Test(record_of_gpu, key_covers_driver_templates_and_gpu, .init = stand_ins_start, .fini = stand_ins_end) {
    start();
    stn_wisdom_key keys[5];
    keys[0] = key_on_gpu(0);
    stn_wisdom_key again = key_on_gpu(0);
    cr_assert_eq(memcmp(&keys[0], &again, sizeof again), 0);
    keys[1] = key_on_gpu(1); /* another device name */
    fake->version = 13010;
    keys[2] = key_on_gpu(0);
    fake->version = 13000;
    stand_ins_edit_a_template();
    keys[3] = key_on_gpu(0);
    unsetenv("STENTOR_TEMPLATE_DIR");
    keys[4] = key_of(h200, &problem); /* a GPU of this architecture that is not installed */
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++) cr_expect_neq(memcmp(&keys[i], &keys[j], sizeof keys[i]), 0, "%d and %d", i, j);
    end();
}
