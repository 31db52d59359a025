/* See seeds.h. */
#include "tune/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "tune/notes.h"

enum { KEPT = 4 }; /* candidates of an entry, the fastest: the first may not be on offer elsewhere */

/* ---- the texts --------------------------------------------------------------------------------------------------- */

static char *read_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "rbe");
    stn_text text = STN_TEXT_EMPTY;
    char part[4096], *read = NULL;
    size_t got;
    if (!file) return NULL;
    while ((got = fread(part, 1, sizeof part, file)) > 0 && text.size <= TUNE_WISDOM_MOST)
        stn_text_append(&text, part, got);
    fclose(file);
    *size = text.size;
    return stn_text_take(&text, &read, NULL) == STN_OK ? read : NULL;
}

/* The file's text, or "" where it is no wisdom. */
static char *read_seeds(const stn_context *context, const char *path) {
    tune_wisdom wisdom;
    stn_text skipped = STN_TEXT_EMPTY;
    stn_error why = {0};
    size_t size = 0;
    char *text = !strcmp(path, "none") ? NULL : read_text(path, &size);
    if (!strcmp(path, "none")) return strdup("");
    if (text && tune_wisdom_parse(text, size, &wisdom, &skipped, &why) == STN_OK) {
        tune_wisdom_clear(&wisdom);
        stn_text_clear(&skipped);
        return text;
    }
    stn_log(&context->logger, STN_LOG_WARNING, "STENTOR_SEEDS names %s, which is not used: %s", path,
            text ? why.message : "it cannot be read");
    stn_text_clear(&skipped);
    stn_text_free(text);
    return strdup("");
}

/* The file is looked at once in a context's life. */
const char *tune_seeds_given(stn_context *context) {
    pthread_mutex_lock(&context->lock);
    const char *path = context->seeds ? NULL : secure_getenv("STENTOR_SEEDS");
    if (path && *path) context->seeds = read_seeds(context, path);
    const char *own = context->seeds;
    pthread_mutex_unlock(&context->lock);
    return own;
}

/* Text i; NULL after the last. */
static const char *seeds_of(stn_context *context, size_t i) {
    const char *own = tune_seeds_given(context);
    return !own ? tune_embedded_seeds[i] : i ? NULL : own;
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

static stn_status make_key(const stn_plan *plan, stn_key *key, stn_error *error) {
    return tune_key_of_class(plan, "seeds", stn_version(), key, error);
}

/* A copy of the note under the key. */
static char *find_note(const char *text, const stn_key *key) {
    char label[sizeof "\nentry: " + 64 + 1] = "\nentry: ";
    stn_key_hex(key, label + strlen(label));
    strcat(label, "\n");
    const char *at = strstr(text, label);
    if (!at) return NULL;
    at += strlen(label);
    const char *next = strstr(at, "\nentry: "), *end = next ? next : strstr(at, "\nsha256 ");
    return end ? strndup(at, (size_t)(end + 1 - at)) : NULL;
}

static bool is_fresh(const stn_context *context, const char *text) {
    char library[128];
    tune_wisdom_library(context, library);
    const char *line = strstr(text, "library: ");
    return line && !strncmp(line + strlen("library: "), library, strlen(library));
}

bool tune_seed_recall(const stn_plan *plan, tune_records *records, bool *fresh) {
    stn_key key;
    const char *text;
    if (!seeds_of(plan->context, 0) || make_key(plan, &key, NULL) != STN_OK) return false;
    for (size_t i = 0; (text = seeds_of(plan->context, i)); i++) {
        char *note = find_note(text, &key);
        const bool known = note && tune_records_parse(note, records);
        free(note);
        *fresh = is_fresh(plan->context, text);
        if (known) return true;
    }
    return false;
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
    const stn_ranked *x = *(const stn_ranked *const *)a, *y = *(const stn_ranked *const *)b;
    return (x->measured > y->measured) - (x->measured < y->measured);
}

static void choose_records(const stn_plan *plan, tune_records *records) {
    const stn_ranked *rows[STN_PLAN_RANKING] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++)
        if (plan->ranking[i].applies && plan->ranking[i].measured > 0) rows[count++] = &plan->ranking[i];
    if (count) qsort(rows, count, sizeof *rows, by_time);
    records->count = 0;
    for (size_t i = 0; i < count && i < KEPT; i++)
        tune_record_set(records, rows[i]->strategy->name, &rows[i]->candidate, rows[i]->measured);
}

stn_status tune_seed_add(const stn_plan *plan, tune_wisdom *wisdom, stn_error *error) {
    stn_key key;
    stn_text text = STN_TEXT_EMPTY;
    char *note;
    tune_records *records = malloc(sizeof *records);
    if (!records) return stn_fail_memory(error, "seeds", sizeof *records);
    choose_records(plan, records);
    stn_status status = records->count ? make_key(plan, &key, error) : STN_OK;
    if (status == STN_OK && records->count) {
        tune_wisdom_library(plan->context, wisdom->library);
        tune_records_print(plan, records, &text);
        status = stn_text_take(&text, &note, error);
        if (status == STN_OK) {
            status = tune_wisdom_add(wisdom, &key, note, NULL, error);
            stn_text_free(note);
        }
    }
    free(records);
    return status;
}
