/* What plans chose, remembered: the next process takes it without looking, unless anything that it went by has changed; what is damaged
 * or makes no sense is as if it were not there. Stand-in driver and NVRTC. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../context/stand_ins.h"
#include "cache/cache.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/common/ladder.h"
#include "tune/notes.h"

static stn_error error;
#define OK(call) cr_assert_eq((call), STN_OK, "%s", error.message)

static stn_context *context;
static stn_stencil *stencil;
static stn_problem problem;
static stn_plan_options options;

static void open_context(void) {
    const stn_context_options how = {.device = STN_DEVICE_CUDA(0), .threads = 2};
    stn_context_destroy(context);
    OK(stn_context_create(&how, &context, &error));
}

static void start(void) {
    stand_ins_start();
    setenv("STENTOR_SEEDS", "none", 1);
    OK(stn_stencil_parse("heat-2d", &stencil, &error));
    problem = (stn_problem)STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = problem.extent[1] = 4096;
    problem.steps = 100;
    options = (stn_plan_options)STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ESTIMATE;
    options.no_auto_workspace = 1;
    open_context();
}
static void end(void) {
    stn_context_destroy(context);
    stn_stencil_destroy(stencil);
    stand_ins_end();
}
TestSuite(choice, .init = start, .fini = end);

static stn_plan *plan_in_another_process(void) {
    stn_plan *plan;
    open_context();
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    return plan;
}

/* A plan that takes an earlier one's choice ranks nothing else. */
static bool recalled_by(const stn_plan *plan) { return plan->ranked == 1; }

static bool is_recalled(void) {
    stn_plan *plan = plan_in_another_process();
    const bool recalled = recalled_by(plan);
    cr_expect_eq(plan->nkernels > 0, true);
    stn_plan_destroy(plan);
    return recalled;
}

/* The only file of chosen/; false: there is none, or several. */
static bool find_file(char path[512], char name[80]) {
    char folder[128];
    int count = 0;
    snprintf(folder, sizeof folder, "%s/chosen", stand_ins_folder);
    DIR *items = opendir(folder);
    for (struct dirent *item; items && (item = readdir(items));)
        if (item->d_name[0] != '.') {
            snprintf(name, 80, "%.79s", item->d_name);
            snprintf(path, 512, "%s/%s", folder, name);
            count++;
        }
    if (items) closedir(items);
    return count == 1;
}

static size_t read_file(const char *path, char *text, size_t room) {
    FILE *file = fopen(path, "r");
    cr_assert(file);
    const size_t size = fread(text, 1, room - 1, file);
    fclose(file);
    text[size] = '\0';
    return size;
}

static void write_file(const char *path, const char *text, size_t size) {
    FILE *file = fopen(path, "w");
    cr_assert(file);
    cr_assert_eq(fwrite(text, 1, size, file), size);
    fclose(file);
}

Test(choice, the_next_process_takes_it_without_looking) {
    stn_plan *first = plan_in_another_process(), *other;
    const stn_strategy *strategy = first->strategy;
    const stn_candidate candidate = first->candidate;
    const stn_estimate estimate = first->estimate;
    const size_t kernels = first->nkernels;
    cr_expect(!recalled_by(first) && first->ranked > 1);
    stn_plan_destroy(first);
    const int compiles = stand_ins_compiles();
    other = plan_in_another_process();
    cr_expect(recalled_by(other) && other->ranked == 1);
    cr_expect_eq(other->strategy, strategy);
    cr_expect(!memcmp(&other->candidate, &candidate, sizeof candidate));
    cr_expect_eq(other->estimate.seconds, estimate.seconds);
    cr_expect_eq(other->estimate.unit, estimate.unit);
    cr_expect_eq(other->nkernels, kernels);
    cr_expect_eq(stand_ins_compiles(), compiles);
    stn_plan_destroy(other);
}

Test(choice, other_work_and_other_options_are_not_it) {
    cr_expect(!is_recalled());
    cr_expect(is_recalled());
    problem.steps = 99;
    cr_expect(!is_recalled());
    problem.steps = 100, problem.boundary[0][0] = problem.boundary[0][1] = (stn_boundary){STN_CONSTANT, 1};
    cr_expect(!is_recalled());
    problem.boundary[0][1].value = 2;
    cr_expect(!is_recalled(), "values past sides decide too");
    problem.boundary[0][0] = problem.boundary[0][1] = (stn_boundary){STN_WRAP, 0}, problem.in_place = 1;
    cr_expect(!is_recalled());
    problem.in_place = 0, options.deterministic = 1;
    cr_expect(!is_recalled());
    options.deterministic = 0, options.strategy = "direct";
    cr_expect(!is_recalled());
    options.strategy = NULL;
    cr_expect(is_recalled(), "the first one is still there");
    stn_stencil_destroy(stencil);
    OK(stn_stencil_parse("heat-2d:alpha=0.1", &stencil, &error));
    problem.stencil = stencil;
    cr_expect(!is_recalled(), "weights decide too");
}

Test(choice, what_is_damaged_is_refused) {
    char path[512], name[80], text[8192], changed[8192];
    cr_expect(!is_recalled());
    cr_assert(find_file(path, name));
    const size_t size = read_file(path, text, sizeof text);
    for (size_t at = 0; at < size; at += 37) {
        memcpy(changed, text, size);
        changed[at] ^= 1;
        write_file(path, changed, size);
        cr_expect(!is_recalled(), "byte %zu", at);
        cr_expect(is_recalled(), "it is written anew");
    }
    write_file(path, text, size / 2);
    cr_expect(!is_recalled());
    write_file(path, "", 0);
    cr_expect(!is_recalled());
    cr_expect_eq(unlink(path), 0);
    cr_expect_eq(symlink("/etc/passwd", path), 0);
    cr_expect(!is_recalled());
    cr_expect(is_recalled());
}

/* With its checksum: as another library might write it. */
Test(choice, what_makes_no_sense_is_refused) {
    char path[512], name[80], text[8192], changed[8192];
    stn_key key;
    cr_expect(!is_recalled());
    cr_assert(find_file(path, name) && stn_key_parse(name, &key));
    read_file(path, text, sizeof text);
    const char *body = strstr(text, "problem: "), *row = strstr(text, "row: "), *chosen = strstr(text, "chosen: ");
    cr_assert(body && row && chosen);
    snprintf(changed, sizeof changed, "%s", body);
    stn_cache_choice_store(context->cache, &key, changed);
    cr_expect(is_recalled(), "this is how it is written");
    snprintf(changed, sizeof changed, "%sladder: 64 1 16 1 1 0 1 0 512 0 232448 233472 0 32 1 8 1 0 1 2 8 8\n", body);
    stn_cache_choice_store(context->cache, &key, changed);
    cr_expect(is_recalled(), "so are ladders");
    struct {
        const char *cut, *instead;
    } wrong[] = {{body, ""},
                 {body, "problem: "},
                 {chosen, "chosen: 77 0\n"},
                 {chosen, "chosen: 0 0\n"},
                 {row, "row: nobody 0 0 0 0 0 0 0 0 0 0 0\n"},
                 {row, "row: direct 0 0 0 99 0 0 0 0 0 0 0\n"},
                 {row, "row: direct 0 1e400\n"},
                 {text + strlen(text), "more: of it\n"},
                 {text + strlen(text), "missing: abc def\n"},
                 {text + strlen(text), "ladder: 64 1 16 1 1 0 1 0 512 0 232448 233472 0 32 1 8 1 0 1 2\n"},
                 {text + strlen(text), "ladder: 64 1 16 1 1 0 1 0 512 0 232448 233472 0 32 1 8 1 0 1 2 8 -8\n"},
                 {text + strlen(text), "ladder: 64 1 16 1 1 0 1 0 512 0 232448 233472 0 32 1 8 1 0 1 2 8 7\n"},
                 {text + strlen(text),
                  "ladder: 64 1 16 1 1 0 1 0 512 0 232448 233472 0 32 1 8 1 0 1 2 8 8 1 1 1 1 1 1 1 1 1\n"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(changed, sizeof changed, "%.*s%s", (int)(wrong[i].cut - body), body, wrong[i].instead);
        stn_cache_choice_store(context->cache, &key, changed);
        cr_expect(!is_recalled(), "text %zu", i);
        cr_expect(is_recalled());
    }
}

static bool same_ladder(const stn_ladder_answer *a, const stn_ladder_answer *b) {
    const stn_ladder_needs *m = &a->needs, *n = &b->needs;
    const stn_ladder *k = &a->line, *l = &b->line;
    bool same = a->points == b->points && m->wide == n->wide && m->last == n->last && m->lines == n->lines &&
                m->shares == n->shares && m->fixed == n->fixed && m->copies == n->copies && m->common == n->common &&
                m->threads == n->threads && m->blocks == n->blocks && m->shared == n->shared && m->total == n->total &&
                m->beside == n->beside && k->points == l->points && k->stages == l->stages &&
                k->threads == l->threads && k->lines == l->lines && k->pad == l->pad && k->copies == l->copies &&
                k->common == l->common && k->shares == l->shares && k->blocks == l->blocks;
    for (int s = 0; same && s < k->stages; s++) same = k->radix[s] == l->radix[s];
    return same;
}

Test(choice, ladders_come_back_as_they_were) {
    stn_ladder_answer known[STN_LADDERS_KNOWN], told[STN_LADDERS_KNOWN];
    cr_expect(!is_recalled());
    stn_found *before = context->machine.found;
    const size_t count = stn_ladder_known(before, known);
    cr_assert_gt(count, 0u);
    context->machine.found = stn_found_create(); /* knows no ladders but those that it is told of */
    cr_expect(is_recalled());
    cr_assert_eq(stn_ladder_known(context->machine.found, told), count);
    stn_found_destroy(before);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < count && !same_ladder(&known[i], &told[k])) k++;
        cr_expect_lt(k, count, "of %d points", known[i].points);
    }
}

Test(choice, without_its_kernels_it_is_looked_for_again) {
    char command[256];
    cr_expect(!is_recalled());
    snprintf(command, sizeof command, "cd %s && rm -r ??", stand_ins_folder);
    cr_expect_eq(system(command), 0);
    const int compiles = stand_ins_compiles();
    cr_expect(!is_recalled());
    cr_expect_gt(stand_ins_compiles(), compiles);
    cr_expect(is_recalled());
}

Test(choice, what_was_measured_since_decides) {
    cr_expect(!is_recalled());
    cr_expect(is_recalled());
    stn_plan *plan = plan_in_another_process();
    stn_plan_rank(plan, NULL, 48); /* as many as measured times are looked for among */
    tune_records *records = calloc(1, sizeof *records);
    stn_key key;
    cr_assert(records && plan->ranked > 1 && plan->ranking[1].applies);
    const stn_ranked faster = plan->ranking[1];
    tune_record_set(records, faster.strategy->name, &faster.candidate, 1e-6);
    tune_record_set(records, plan->ranking[0].strategy->name, &plan->ranking[0].candidate, 2e-6);
    OK(tune_key(plan, &key, &error));
    tune_remember(plan, &key, records);
    stn_plan_destroy(plan);
    plan = plan_in_another_process();
    cr_expect(!recalled_by(plan));
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEMORY);
    cr_expect(!memcmp(&plan->candidate, &faster.candidate, sizeof faster.candidate));
    stn_plan_destroy(plan);
    plan = plan_in_another_process();
    cr_expect(recalled_by(plan) && plan->chosen == STN_CHOSEN_BY_MEMORY);
    cr_expect_eq(plan->measured, 1e-6);
    stn_plan_destroy(plan);
    free(records);
}
