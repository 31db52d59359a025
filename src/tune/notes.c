/* See notes.h. */
#include "tune/notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "launch/clocks.h"

/* ---- the key ----------------------------------------------------------------------------------------------------- */

static void add_number(void *builder, const char *label, int64_t value) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
    stn_key_add(builder, label, bytes, sizeof bytes);
}

static void add_text(void *builder, const char *label, const char *value) { stn_key_add_text(builder, label, value); }

/* What tells devices and libraries apart, by templates or by a version; the driver too where times are to be those of this one. */
static stn_status begin_key(const stn_plan *plan, const char *what, const char *version, stn_key_builder **result,
                            stn_error *error) {
    const stn_context *context = plan->context;
    stn_key_builder *builder;
    STN_TRY(stn_key_begin(&builder, error));
    stn_key_add_text(builder, "kind", what);
    if (version)
        stn_key_add_text(builder, "version", version);
    else
        stn_key_add(builder, "templates", context->templates_key.bytes, sizeof context->templates_key.bytes);
    stn_key_add_text(builder, "device", plan->machine.name);
    stn_key_add_text(builder, "arch", plan->machine.arch);
    add_number(builder, "multiprocessors", plan->machine.multiprocessors);
    if (plan->cold) add_number(builder, "cold", 1);
    *result = builder;
    return STN_OK;
}

stn_status tune_key(const stn_plan *plan, stn_key *key, stn_error *error) {
    const stn_context *context = plan->context;
    stn_key_builder *builder;
    STN_TRY(begin_key(plan, "measured candidates", NULL, &builder, error));
    add_number(builder, "driver", context->driver ? stn_driver_version(context->driver) : 0);
    plan->kind->key(plan, &(stn_key_sink){builder, add_number, add_text});
    stn_key_finish(builder, key);
    return STN_OK;
}

/* Half powers of two, and how often two divides the number: accesses go by that. */
static int64_t size_class(int64_t value) {
    if (value <= 1) return value;
    const int twos = __builtin_ctzll((uint64_t)value);
    return 32 * llround(2 * log2((double)value)) + (twos < 4 ? twos : 4);
}

static void add_class(void *builder, const char *label, int64_t value) {
    const bool sized = strstr(label, "extent") || strstr(label, "stride") || strstr(label, "batch");
    if (!strcmp(label, "steps") && value > 64) value = 64 + llround(log2((double)value));
    add_number(builder, label, sized ? size_class(value) : value);
}

stn_status tune_key_of_class(const stn_plan *plan, const char *what, const char *version, stn_key *key,
                             stn_error *error) {
    stn_key_builder *builder;
    STN_TRY(begin_key(plan, what, version, &builder, error));
    plan->kind->key(plan, &(stn_key_sink){builder, add_class, add_text});
    stn_key_finish(builder, key);
    return STN_OK;
}

stn_status tune_class_key(const stn_plan *plan, stn_key *key, stn_error *error) {
    return tune_key_of_class(plan, "measured candidates of problems like this", NULL, key, error);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Words of the device's line; it is for people, and nothing reads it back. */
static void print_clocks(const stn_device *device, stn_text *text) {
    stn_clocks clocks;
    stn_device_clocks(device, &clocks);
    if (*clocks.why) stn_text_printf(text, ", clocks not known: %s", clocks.why);
    if (clocks.multiprocessor) stn_text_printf(text, ", multiprocessors at %u MHz", clocks.multiprocessor);
    if (clocks.memory) stn_text_printf(text, ", memory at %u MHz", clocks.memory);
    if (clocks.power_limit) stn_text_printf(text, ", %u W at most", clocks.power_limit);
    stn_text_printf(text, "\n");
}

void tune_records_print(const stn_plan *plan, const tune_records *records, stn_text *text) {
    stn_text_printf(text, "problem: ");
    plan->kind->print(plan, text);
    stn_text_printf(text, "\ndevice: %s, driver %d", plan->machine.name,
                    plan->context->driver ? stn_driver_version(plan->context->driver) : 0);
    print_clocks(plan->context->device, text);
    tune_records_print_list(records, text);
}

bool tune_recall(const stn_plan *plan, const stn_key *key, tune_records *records) {
    char *text;
    records->count = 0;
    if (!stn_cache_note_find(plan->context->cache, key, &text)) return false;
    bool good = tune_records_parse(text, records);
    free(text);
    if (!good) {
        records->count = 0;
        stn_cache_note_reject(plan->context->cache, key);
    }
    return good;
}

static void store(const stn_plan *plan, const stn_key *key, const tune_records *records) {
    stn_text text = STN_TEXT_EMPTY;
    char *data;
    tune_records_print(plan, records, &text);
    if (stn_text_take(&text, &data, NULL) != STN_OK) return;
    stn_cache_note_store(plan->context->cache, key, data);
    stn_text_free(data);
}

static void add(const stn_plan *plan, const stn_key *key, const tune_records *records) {
    tune_records *all = malloc(sizeof *all);
    if (!all) return;
    stn_cache_lock *lock = stn_cache_lock_key(plan->context->cache, key);
    (void)tune_recall(plan, key, all);
    for (size_t i = 0; i < records->count; i++)
        tune_record_set(all, records->list[i].strategy, &records->list[i].candidate, records->list[i].seconds);
    store(plan, key, all);
    stn_cache_unlock(lock);
    free(all);
}

void tune_remember(const stn_plan *plan, const stn_key *key, const tune_records *records) {
    stn_key like;
    add(plan, key, records);
    if (tune_class_key(plan, &like, NULL) == STN_OK) store(plan, &like, records); /* of one size: the last one's */
}
