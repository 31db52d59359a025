/* Wisdom of a context's cache folder: out, in, and away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "tune/record.h"
#include "tune/wisdom.h"

void tune_wisdom_library(const stn_context *context, char library[128]) {
    char hex[65];
    stn_key_hex(&context->templates_key, hex);
    snprintf(library, 128, "stentor %s, templates %s", stn_version(), hex);
}

static stn_status check_folder(const stn_context *context, stn_error *error) {
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "wisdom needs a context");
    if (stn_cache_dir(context->cache)) return STN_OK;
    return stn_fail(error, STN_ERROR_IO,
                    "there is no cache folder to keep wisdom in: name one that is not \":memory:\"");
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

typedef struct export {
    tune_wisdom wisdom;
    tune_records *room;
    stn_status status;
    stn_error *error;
}
export;

static bool take_note(void *user, const stn_note_item *item) {
    export *all = user;
    if (!item->text || !tune_records_parse(item->text, all->room) || !all->room->count) return true;
    all->status = tune_wisdom_add(&all->wisdom, &item->key, item->text, NULL, all->error);
    return all->status == STN_OK;
}

stn_status stn_wisdom_export(stn_context *context, char **text, stn_error *error) {
    if (!text) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_wisdom_export needs a place for the text");
    *text = NULL;
    STN_TRY(check_folder(context, error));
    export all = {.room = malloc(sizeof(tune_records)), .error = error};
    if (!all.room) return stn_fail_memory(error, "wisdom", sizeof *all.room);
    tune_wisdom_library(context, all.wisdom.library);
    stn_status status = stn_cache_note_each(context->cache, take_note, &all, error);
    if (status == STN_OK) status = all.status;
    stn_text out = STN_TEXT_EMPTY;
    if (status == STN_OK) {
        tune_wisdom_print(&all.wisdom, &out);
        status = stn_text_take(&out, text, error);
    }
    tune_wisdom_clear(&all.wisdom);
    free(all.room);
    return status;
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

/* What is there stays; others may be writing the same note. True if it was there. */
static bool keep(stn_context *context, const tune_wisdom_entry *entry) {
    char *there = NULL, *merged = NULL;
    stn_cache_lock *lock = stn_cache_lock_key(context->cache, &entry->key);
    const bool known = stn_cache_note_find(context->cache, &entry->key, &there);
    if (known) merged = tune_note_merge(there, entry->note);
    stn_cache_note_store(context->cache, &entry->key, merged ? merged : entry->note);
    stn_cache_unlock(lock);
    free(there);
    free(merged);
    return known;
}

static bool is_of(const char *note, const stn_context *context) {
    const char *device = strchr(note, '\n');
    const size_t size = strlen(context->machine.name);
    return device && !strncmp(device + 1, "device: ", 8) && !strncmp(device + 9, context->machine.name, size) &&
           device[9 + size] == ',';
}

stn_status stn_wisdom_import(stn_context *context, const char *text, size_t size, char **report, stn_error *error) {
    if (!text) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_wisdom_import needs a text");
    if (report) *report = NULL;
    STN_TRY(check_folder(context, error));
    tune_wisdom wisdom;
    stn_text out = STN_TEXT_EMPTY;
    char library[128];
    size_t known = 0, here = 0;
    stn_status status;
    tune_wisdom_library(context, library);
    STN_TRY_GOTO(status, tune_wisdom_parse(text, size, &wisdom, &out, error), done);
    if (strcmp(wisdom.library, library) != 0) {
        status =
            stn_fail(error, STN_ERROR_FORMAT,
                     "the wisdom is of other kernels (%.60s...) than this library's (%.60s...), so its times are of no "
                     "use here: measure again",
                     wisdom.library, library);
        goto done;
    }
    for (size_t i = 0; i < wisdom.count; i++) {
        known += keep(context, &wisdom.entries[i]);
        here += is_of(wisdom.entries[i].note, context);
    }
    stn_text_printf(&out, "%zu entries taken, %zu of them for %s; %zu were known and got what they lacked\n",
                    wisdom.count, here, context->machine.name, known);
    if (report) status = stn_text_take(&out, report, error);
done:
    tune_wisdom_clear(&wisdom);
    stn_text_clear(&out);
    return status;
}

stn_status stn_wisdom_forget(stn_context *context, const char *prefix, stn_error *error) {
    stn_key key;
    STN_TRY(check_folder(context, error));
    if (!prefix) return stn_cache_notes_clear(context->cache, error);
    STN_TRY(stn_cache_resolve(context->cache, prefix, &key, error));
    stn_cache_note_reject(context->cache, &key);
    return STN_OK;
}

stn_status stn_wisdom_merge(const char *first, size_t first_size, const char *second, size_t second_size, char **merged,
                            stn_error *error) {
    tune_wisdom one = {0}, two = {0};
    stn_text skipped = STN_TEXT_EMPTY, out = STN_TEXT_EMPTY;
    stn_status status;
    if (!first || !second || !merged)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_wisdom_merge needs two texts and a place for a third");
    *merged = NULL;
    STN_TRY_GOTO(status, tune_wisdom_parse(first, first_size, &one, &skipped, error), done);
    STN_TRY_GOTO(status, tune_wisdom_parse(second, second_size, &two, &skipped, error), done);
    if (strcmp(one.library, two.library) != 0) {
        status = stn_fail(
            error, STN_ERROR_FORMAT,
            "the two are of different kernels (%.60s... and %.60s...): only one of them is of use to a library",
            one.library, two.library);
        goto done;
    }
    for (size_t i = 0; i < two.count; i++)
        STN_TRY_GOTO(status, tune_wisdom_add(&one, &two.entries[i].key, two.entries[i].note, NULL, error), done);
    tune_wisdom_print(&one, &out);
    status = stn_text_take(&out, merged, error);
done:
    tune_wisdom_clear(&one);
    tune_wisdom_clear(&two);
    stn_text_clear(&skipped);
    stn_text_clear(&out);
    return status;
}
