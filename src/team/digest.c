/* A digest of the arguments that must be equal in all processes of a team. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "team/team.h"

/* FNV-1a */
static uint64_t hash_of(const char *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

static void add_words(const stn_problem *problem, stn_text *text) {
    const int rank = stn_stencil_rank(problem->stencil);
    stn_text_printf(text, "stentor %s: ", stn_version());
    for (int axis = 0; axis < rank; axis++) stn_text_printf(text, axis ? " x %zu" : "%zu", problem->extent[axis]);
    stn_text_printf(text, " %s, %" PRIu64 " steps of %zu taps, batch %zu", stn_dtype_name(problem->dtype),
                    problem->steps ? problem->steps : 1, stn_stencil_tap_count(problem->stencil),
                    problem->batch ? problem->batch : 1);
}

static void add_options(const stn_plan_options *options, stn_text *text) {
    stn_text_printf(text, ";%s,%d,%d,%d", options->strategy ? options->strategy : "auto", options->mode,
                    options->tune != 0, options->deterministic != 0);
}

static void add_rest(const stn_problem *problem, const stn_plan_options *options, stn_text *text) {
    const int rank = stn_stencil_rank(problem->stencil);
    const stn_tap *taps = stn_stencil_taps(problem->stencil);
    for (size_t i = 0; i < stn_stencil_tap_count(problem->stencil); i++)
        stn_text_printf(text, ";%" PRId64 ",%" PRId64 ",%" PRId64 ":%a", taps[i].offset[0], taps[i].offset[1],
                        taps[i].offset[2], taps[i].weight);
    for (int axis = 0; axis < rank; axis++)
        for (int side = 0; side < 2; side++)
            stn_text_printf(
                text, ";%d:%a", (int)problem->boundary[axis][side].kind,
                problem->boundary[axis][side].kind == STN_CONSTANT ? problem->boundary[axis][side].value : 0);
    stn_text_printf(text, ";%a,%d,%d,%d", problem->tolerance, problem->in_place != 0, problem->has_source != 0,
                    problem->accuracy);
    add_options(options, text);
}

/* The hash of the text; `words`, its start, gets the hash as well. */
static uint64_t finish(stn_text *text, char *words, size_t size) {
    const uint64_t hash = text->data ? hash_of(text->data, text->size) : 0;
    const size_t used = text->data ? strlen(words) : size;
    if (used < size) snprintf(words + used, size - used, ", hash %08" PRIx64, hash >> 32);
    stn_text_clear(text);
    return hash;
}

uint64_t team_digest_fft(const stn_fft *fft, const stn_plan_options *options, char *words, size_t size) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_printf(&text, "stentor %s: ", stn_version());
    stn_fft_print(fft, &text);
    snprintf(words, size, "%s", text.data ? text.data : "");
    stn_fft_json(fft, &text);
    stn_text_printf(&text, ";%a,%d", fft->scale, fft->alignment);
    add_options(options, &text);
    return finish(&text, words, size);
}

uint64_t team_digest(const stn_problem *problem, const stn_plan_options *options, char *words, size_t size) {
    stn_text text = STN_TEXT_EMPTY;
    add_words(problem, &text);
    snprintf(words, size, "%s", text.data ? text.data : "");
    add_rest(problem, options, &text);
    return finish(&text, words, size);
}

static void add_points(size_t count, const stn_system_point *points, stn_text *text) {
    for (size_t i = 0; i < count; i++)
        stn_text_printf(text, ";%zu,%zu,%" PRId64 ",%" PRId64 ",%" PRId64 ":%a", points[i].channel, points[i].field,
                        points[i].index[0], points[i].index[1], points[i].index[2], points[i].weight);
}

uint64_t team_digest_system(const stn_system_task *task, const stn_plan_options *options, char *words, size_t size) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_printf(&text, "stentor %s: ", stn_version());
    stn_system_task_print(task, &text);
    snprintf(words, size, "%s", text.data ? text.data : "");
    stn_system_task_json(task, &text);
    for (int i = 0; i < task->system->ncoefficients; i++) stn_text_printf(&text, ";%d", task->is_number[i]);
    stn_text_printf(&text, ";%a,%" PRIu64, task->tolerance, task->record_every);
    add_points(task->nsources, task->sources, &text);
    add_points(task->nreceivers, task->receivers, &text);
    add_options(options, &text);
    return finish(&text, words, size);
}
