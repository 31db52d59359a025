/* See choice.h. The text, a word for each number, in the order of the structs:
 *
 *     problem: 2D 4096 x 4096, f64, star of 5 taps, boundary fixed, 1000 steps
 *     chosen: 5                                            by what (stn_chosen)
 *     row: direct 0 1.2e-05 3.3e7 ... 0                    strategy, measured, its estimate, the candidate's 20 numbers
 *     reach: KEY 0 12 0 1e-16                              how far taps reach (strategies/common/reach.h): what planning asked for, as it takes
 *                                                          milliseconds to find
 *     ladder: 4320 1 16 ... 2                              and which ladders (strategies/common/ladder.h): points, needs, the ladder
 */
#include "tune/choice.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "compile/library.h"
#include "context/compile_cost.h"
#include "context/context.h"
#include "strategies/common/ladder.h"
#include "strategies/common/reach.h"
#include "tune/notes.h"
#include "tune/seeds.h"

/* ---- the key ----------------------------------------------------------------------------------------------------- */

static void add_number(void *builder, const char *label, int64_t value) {
    stn_key_add(builder, label, &value, sizeof value); /* it never leaves this kind of machine */
}
static void add_text(void *builder, const char *label, const char *value) { stn_key_add_text(builder, label, value); }
static void add_value(void *builder, const char *label, double value) {
    stn_key_add(builder, label, &value, sizeof value);
}

static void add_machine(stn_key_builder *builder, const stn_context *context, const stn_machine *machine) {
    add_text(builder, "device", machine->name);
    add_text(builder, "arch", machine->arch);
    add_number(builder, "driver", stn_driver_version(context->driver));
    add_number(builder, "multiprocessors", machine->multiprocessors);
    add_number(builder, "resident", machine->threads);
    add_number(builder, "shared", (int64_t)machine->shared_per_block);
    add_number(builder, "shared of all", (int64_t)machine->shared_per_multiprocessor);
    add_number(builder, "registers", (int64_t)machine->registers_per_multiprocessor);
    add_number(builder, "cache", (int64_t)machine->l2_bytes);
    add_number(builder, "memory", (int64_t)machine->memory_bytes);
    add_value(builder, "copy", machine->copy_bandwidth);
    add_value(builder, "clock", machine->clock);
    add_number(builder, "threads", stn_compile_threads(context));
}

static void add_options(stn_key_builder *builder, const stn_plan *plan, const stn_plan_options *options) {
    add_text(builder, "strategy", options->strategy ? options->strategy : "auto");
    add_number(builder, "mode", options->mode);
    add_number(builder, "deterministic", options->deterministic);
    add_number(builder, "cold", plan->cold);
    add_number(builder, "workspace", plan->caller_workspace);
}

/* Measured times, that a ranking would go by, as they are. */
static void add_notes(stn_key_builder *builder, const stn_plan *plan) {
    stn_context *context = plan->context;
    const char *seeds = tune_seeds_given(context);
    stn_status (*const keys[])(const stn_plan *, stn_key *, stn_error *) = {tune_key, tune_class_key};
    add_text(builder, "seeds", seeds ? seeds : "own");
    for (size_t i = 0; i < sizeof keys / sizeof *keys && stn_cache_has_notes(context->cache); i++) {
        stn_key key;
        char *text = NULL;
        if (keys[i](plan, &key, NULL) == STN_OK && stn_cache_note_find(context->cache, &key, &text))
            add_text(builder, "measured", text);
        free(text);
    }
}

static bool make_key(const stn_plan *plan, const stn_plan_options *options, stn_key *key) {
    stn_context *context = plan->context;
    stn_key_builder *builder;
    char build[80];
    if (!stn_library_own_build(build, sizeof build) || stn_key_begin(&builder, NULL) != STN_OK) return false;
    add_text(builder, "kind", "choice");
    add_text(builder, "library", build);
    stn_key_add(builder, "templates", context->templates_key.bytes, sizeof context->templates_key.bytes);
    add_text(builder, "compiler", stn_context_compiler_identity(context));
    add_machine(builder, context, &plan->machine);
    add_options(builder, plan, options);
    add_text(builder, "work", plan->kind->label);
    const stn_key_sink sink = {builder, add_number, add_text};
    plan->kind->key(plan, &sink);
    if (plan->kind->values) plan->kind->values(plan, &sink);
    add_notes(builder, plan);
    stn_key_finish(builder, key);
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The numbers of an estimate, in order. */
enum { ESTIMATES = 9 };
static void take_estimate(const stn_estimate *e, double numbers[ESTIMATES]) {
    const double all[ESTIMATES] = {e->bytes,   e->flops, e->unit,     e->launches, e->halo_waste,
                                   e->seconds, e->error, e->stepping, e->model};
    memcpy(numbers, all, sizeof all);
}

static void print_row(const char *label, const stn_ranked *row, stn_text *text) {
    double numbers[ESTIMATES];
    char digits[STN_NUMBER_SIZE];
    stn_number_format(row->measured, digits);
    stn_text_printf(text, "%s: %s %s", label, row->strategy->name, digits);
    take_estimate(&row->estimate, numbers);
    for (int i = 0; i < ESTIMATES; i++) {
        stn_number_format(numbers[i], digits);
        stn_text_printf(text, " %s", digits);
    }
    for (int v = 0; v < STN_CANDIDATE_VALUES; v++) stn_text_printf(text, " %d", row->candidate.values[v]);
    stn_text_printf(text, "\n");
}

static void print_reaches(stn_found *found, stn_text *text) {
    stn_reach_answer list[STN_REACH_KEPT];
    const size_t count = stn_reach_known(found, list);
    for (size_t i = 0; i < count; i++) {
        char key[65], tails[2][STN_NUMBER_SIZE];
        stn_key_hex(&list[i].key, key);
        for (int side = 0; side < 2; side++) stn_number_format(list[i].reach.tail[side], tails[side]);
        stn_text_printf(text, "reach: %s %" PRId64 " %" PRId64 " %s %s\n", key, list[i].reach.side[0],
                        list[i].reach.side[1], tails[0], tails[1]);
    }
}

/* The numbers of a ladder, in order, each a whole one; returns how many. */
enum { LADDER_NEEDS = 13, LADDER_NUMBERS = LADDER_NEEDS + 7 + STN_LADDER_STAGES };
static int take_ladder(const stn_ladder_answer *answer, int64_t numbers[LADDER_NUMBERS]) {
    const stn_ladder_needs *n = &answer->needs;
    const stn_ladder *l = &answer->line;
    const int64_t all[] = {answer->points,     n->wide,    n->last,    n->lines,  n->shares,          n->fixed,
                           n->copies,          n->common,  n->threads, n->blocks, (int64_t)n->shared, (int64_t)n->total,
                           (int64_t)n->beside, l->threads, l->lines,   l->pad,    l->copies,          l->common,
                           l->shares,          l->blocks};
    const int count = (int)(sizeof all / sizeof *all);
    memcpy(numbers, all, sizeof all);
    for (int s = 0; s < l->stages; s++) numbers[count + s] = l->radix[s];
    return count + l->stages;
}

static void print_ladders(stn_found *found, stn_text *text) {
    stn_ladder_answer list[STN_LADDERS_KNOWN];
    const size_t known = stn_ladder_known(found, list);
    for (size_t i = 0; i < known; i++) {
        int64_t numbers[LADDER_NUMBERS];
        const int count = take_ladder(&list[i], numbers);
        stn_text_printf(text, "ladder:");
        for (int k = 0; k < count; k++) stn_text_printf(text, " %" PRId64, numbers[k]);
        stn_text_printf(text, "\n");
    }
}

static void print(const stn_plan *plan, stn_text *text) {
    const stn_ranked row = {.strategy = plan->strategy,
                            .candidate = plan->candidate,
                            .estimate = plan->estimate,
                            .measured = plan->measured};
    stn_text_printf(text, "problem: ");
    plan->kind->print(plan, text);
    stn_text_printf(text, "\nchosen: %d\n", (int)plan->chosen);
    print_row("row", &row, text);
    print_reaches(plan->machine.found, text);
    print_ladders(plan->machine.found, text);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The next word, which ends at a space or the line's end. */
static const char *next_word(const char *at, char *word, size_t room) {
    const size_t size = strcspn(at, " \n");
    if (!size || size >= room) return NULL;
    memcpy(word, at, size);
    word[size] = '\0';
    return at + size + (at[size] == ' ');
}

static const char *next_number(const char *at, double *value) {
    char word[STN_NUMBER_SIZE];
    at = next_word(at, word, sizeof word);
    return at && stn_number_parse(word, strlen(word), value) ? at : NULL;
}

static const char *next_int(const char *at, int least, int most, int *value) {
    double number;
    at = next_number(at, &number);
    if (!at || number != floor(number) || number < least || number > most) return NULL;
    *value = (int)number;
    return at;
}

static const char *end_line(const char *at) { return at && *at == '\n' ? at + 1 : NULL; }

static const char *skip(const char *at, const char *label) {
    const size_t size = strlen(label);
    return at && !strncmp(at, label, size) ? at + size : NULL;
}

static const stn_strategy *strategy_of(const stn_kind *kind, const char *name) {
    const stn_strategy *each;
    for (size_t i = 0; (each = kind->strategy(i)); i++)
        if (!strcmp(each->name, name)) return each;
    return NULL;
}

static const char *parse_row(const stn_kind *kind, const char *at, stn_ranked *row) {
    char name[64];
    double numbers[ESTIMATES];
    *row = (stn_ranked){.applies = true};
    if (!at || !(at = next_word(at, name, sizeof name)) || !(row->strategy = strategy_of(kind, name))) return NULL;
    at = next_number(at, &row->measured);
    for (int i = 0; i < ESTIMATES && at; i++) at = next_number(at, &numbers[i]);
    for (int v = 0; v < STN_CANDIDATE_VALUES && at; v++) at = next_int(at, INT_MIN, INT_MAX, &row->candidate.values[v]);
    if (!at || !(numbers[2] >= 0 && numbers[2] < STN_UNIT_COUNT)) return NULL;
    row->estimate = (stn_estimate){numbers[0], numbers[1], (stn_unit)numbers[2], numbers[3], numbers[4],
                                   numbers[5], numbers[6], numbers[7] != 0,      numbers[8]};
    return end_line(at);
}

#define FURTHEST 0x1p53 /* whole numbers are exact up to here */

static const char *parse_reach(const char *at, stn_reach_answer *answer) {
    char hex[80];
    double numbers[4];
    at = next_word(at, hex, sizeof hex);
    if (!at || !stn_key_parse(hex, &answer->key)) return NULL;
    for (int i = 0; i < 4 && at; i++) at = next_number(at, &numbers[i]);
    if (!at) return NULL;
    for (int side = 0; side < 2; side++) {
        if (!(numbers[side] >= 0 && numbers[side] < FURTHEST && numbers[2 + side] >= 0)) return NULL;
        answer->reach.side[side] = (int64_t)numbers[side];
        answer->reach.tail[side] = numbers[2 + side];
    }
    return end_line(at);
}

/* All or none of them. */
static const char *parse_reaches(stn_found *found, const char *at) {
    stn_reach_answer list[STN_REACH_KEPT];
    size_t count = 0;
    for (const char *more; at && (more = skip(at, "reach: "));) {
        if (count == STN_REACH_KEPT) return NULL;
        at = parse_reach(more, &list[count++]);
    }
    for (size_t i = 0; at && i < count; i++) stn_reach_learn(found, &list[i]);
    return at;
}

static const char *parse_ladder(const char *at, stn_ladder_answer *answer) {
    int n[LADDER_NUMBERS], count = 0;
    while (at && *at != '\n' && count < LADDER_NUMBERS) at = next_int(at, 0, INT_MAX, &n[count++]);
    const int *l = n + LADDER_NEEDS, stages = count - LADDER_NEEDS - 7;
    if (!at || stages < 1) return NULL;
    *answer = (stn_ladder_answer){.points = n[0],
                                  .needs = {n[1] != 0, n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], (size_t)n[10],
                                            (size_t)n[11], (size_t)n[12]},
                                  .line = {.points = n[0],
                                           .stages = stages,
                                           .threads = l[0],
                                           .lines = l[1],
                                           .pad = l[2],
                                           .copies = l[3],
                                           .common = l[4],
                                           .shares = l[5],
                                           .blocks = l[6]}};
    for (int s = 0; s < stages; s++) answer->line.radix[s] = l[7 + s];
    return end_line(at);
}

static const char *parse_ladders(stn_found *found, const char *at) {
    stn_ladder_answer answer;
    for (const char *more; at && (more = skip(at, "ladder: "));) {
        at = parse_ladder(more, &answer);
        if (at && !stn_ladder_learn(found, &answer)) return NULL;
    }
    return at;
}

static bool parse(stn_found *found, const stn_kind *kind, const char *text, stn_choice *choice) {
    int chosen = 0;
    const char *at = skip(text, "problem: ");
    if (at) at = strchr(at, '\n');
    at = skip(at ? at + 1 : NULL, "chosen: ");
    if (at) at = end_line(next_int(at, STN_CHOSEN_BY_ESTIMATE, STN_CHOSEN_BY_LACK, &chosen));
    at = parse_row(kind, skip(at, "row: "), &choice->row);
    at = parse_ladders(found, parse_reaches(found, at));
    choice->chosen = (stn_chosen)chosen;
    return at && !*at;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* Where plans do not measure now, and there is a folder. */
static bool applies(const stn_plan *plan, const stn_plan_options *options) {
    const stn_plan_mode mode = stn_plan_mode_of(options);
    return (mode == STN_MODE_AUTO || mode == STN_MODE_ESTIMATE || mode == STN_MODE_ONLINE) && plan->kind->key &&
           plan->context->device && !plan->context->play && stn_cache_dir(plan->context->cache);
}

bool tune_choice_recall(const stn_plan *plan, const stn_plan_options *options, stn_choice *choice) {
    stn_key key;
    char *text;
    if (!applies(plan, options) || !make_key(plan, options, &key) ||
        !stn_cache_choice_find(plan->context->cache, &key, &text))
        return false;
    const bool good = parse(plan->machine.found, plan->kind, text, choice);
    free(text);
    if (!good) stn_cache_choice_reject(plan->context->cache, &key);
    return good;
}

void tune_choice_remember(const stn_plan *plan, const stn_plan_options *options) {
    stn_text text = STN_TEXT_EMPTY;
    char *data;
    stn_key key;
    if (!applies(plan, options) || plan->chosen == STN_CHOSEN_BY_LACK || !make_key(plan, options, &key)) return;
    print(plan, &text);
    if (stn_text_take(&text, &data, NULL) != STN_OK) return;
    stn_cache_choice_store(plan->context->cache, &key, data);
    stn_text_free(data);
}
