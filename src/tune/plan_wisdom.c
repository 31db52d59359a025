/* Wisdom of plans: keys, lookup of similar problems, new entries, and the functions of stentor.h;
 * see cache/wisdom.h. */
#include "tune/plan_wisdom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "cache/format.h"
#include "context/context.h"

/* ---- the key --------------------------------------------------------------------------------- */

static void add_number(void *builder, const char *label, int64_t value) {
    unsigned char bytes[8];
    stn_put64(bytes, (uint64_t)value);
    stn_key_add(builder, label, bytes, sizeof bytes);
}

static void add_text(void *builder, const char *label, const char *value) { stn_key_add_text(builder, label, value); }

/* Size class: the size rounded to powers of sqrt(2), and the number of factors of two (at most 4),
 * which alignment depends on. */
static int64_t size_class(int64_t value) {
    if (value <= 1) return value;
    const int twos = __builtin_ctzll((uint64_t)value);
    return 32 * llround(2 * log2((double)value)) + (twos < 4 ? twos : 4);
}

/* Adds a number to the class. Its label (stn_kind.key) tells what it is: a size is replaced by
 * its size class, more than 64 steps by a rounded logarithm; other numbers stay as they are. */
static void add_class(void *builder, const char *label, int64_t value) {
    const bool sized = strstr(label, "extent") || strstr(label, "stride") || strstr(label, "batch");
    if (!strcmp(label, "steps") && value > 64) value = 64 + llround(log2((double)value));
    add_number(builder, label, sized ? size_class(value) : value);
}

static void begin_key(const stn_plan *plan, const char *kind, stn_key_builder *builder) {
    stn_key_begin(builder);
    stn_key_add_text(builder, "kind", kind);
    stn_key_add_text(builder, "version", stn_version());
    stn_key_add_text(builder, "device", plan->machine.name);
    stn_key_add_text(builder, "arch", plan->machine.arch);
    add_number(builder, "multiprocessors", plan->machine.multiprocessors);
    stn_key_add(builder, "kernels", plan->context->templates_key.bytes, sizeof plan->context->templates_key.bytes);
    if (plan->cold) add_number(builder, "cold", 1);
}

static int driver_of(const stn_plan *plan) {
    return plan->context->driver ? stn_driver_version(plan->context->driver) : 0;
}

void tune_wisdom_key(const stn_plan *plan, stn_wisdom_key *key) {
    stn_key_builder builder;
    begin_key(plan, "seeds", &builder);
    plan->kind->key(plan, &(stn_key_sink){&builder, add_class, add_text});
    stn_key_finish(&builder, &key->class);
    begin_key(plan, "problem", &builder);
    add_number(&builder, "driver", driver_of(plan));
    plan->kind->key(plan, &(stn_key_sink){&builder, add_number, add_text});
    stn_key_finish(&builder, &key->problem);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

/* Reads the folder's wisdom again if it has changed; true if it has entries. */
static bool refresh(stn_context *context) {
    stn_folder *folder = &context->cache->folder;
    stn_error why = {0};
    pthread_mutex_lock(&context->lock);
    if (folder->path && stn_wisdom_refresh(folder, &context->wisdom, &context->wisdom_seen, &why) != STN_OK)
        stn_folder_warn(folder, "%s", why.message);
    const bool any = context->wisdom.count > 0;
    pthread_mutex_unlock(&context->lock);
    return any;
}

/* Copies all entries of the class in the wisdom, the problem's own ones first, and returns the size
 * of the problem's own entries. */
static size_t find_class(stn_context *context, const stn_wisdom_key *key, stn_text *entries) {
    const stn_wisdom *wisdom = &context->wisdom;
    size_t same_size = 0;
    pthread_mutex_lock(&context->lock);
    for (int same = 1; same >= 0; same--) {
        for (size_t i = 0; i < wisdom->count; i++) {
            const char *at = wisdom->entry[i];
            bool same_class;
            if (stn_wisdom_is_of(at, key, &same_class) == same && same_class)
                stn_text_append(entries, at, (size_t)(wisdom->entry[i + 1] - at));
        }
        if (same) same_size = entries->size;
    }
    pthread_mutex_unlock(&context->lock);
    stn_text_append(entries, "", 1);
    return same_size;
}

bool tune_recall(stn_plan *plan, const char *strategy, tune_try visit) {
    stn_wisdom_key key;
    stn_text entries = STN_TEXT_EMPTY;
    /* Without wisdom no key is computed, since that takes as long as loading a kernel. */
    tune_records *records = plan->kind->key && refresh(plan->context) ? malloc(sizeof *records) : NULL;
    bool taken = false;
    if (records) {
        tune_wisdom_key(plan, &key);
        const size_t same_size = find_class(plan->context, &key, &entries);
        for (const char *end, *at = entries.failed ? "" : entries.data; !taken && *at; at = end) {
            const char *next = strstr(at + 1, "\nentry: ");
            end = next ? next + 1 : at + strlen(at);
            tune_records_parse(at, end, records);
            taken = visit(plan, strategy, records, at < entries.data + same_size);
        }
    }
    stn_text_clear(&entries);
    free(records);
    return taken;
}

/* ---- new entries ----------------------------------------------------------------------------- */

static void print_entry(const stn_plan *plan, const tune_records *records, stn_text *text) {
    stn_wisdom_key key;
    tune_wisdom_key(plan, &key);
    stn_wisdom_put_key(text, &key);
    const size_t begin = text->size;
    stn_text_printf(text, "problem: ");
    plan->kind->print(plan, text);
    stn_text_printf(text, "\ndevice: %s, driver %d\n", plan->machine.name, driver_of(plan));
    /* Names from a driver may hold any character. */
    for (size_t i = begin; i < text->size; i++)
        if ((text->data[i] < ' ' && text->data[i] != '\n') || text->data[i] > '~') text->data[i] = '?';
    tune_records_print(records, text);
}

static stn_status join_newest(void *user, stn_wisdom *before, stn_text *after, stn_error *error) {
    const stn_wisdom *newest = user;
    if (before->count == STN_WISDOM_ENTRIES && !stn_wisdom_has(before, newest->entry[0]))
        before->count--; /* the oldest */
    return stn_wisdom_join(newest, before, after, NULL, error);
}

static stn_status remember(const stn_plan *plan, const tune_records *records, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    stn_wisdom newest = {0};
    stn_wisdom_begin(&text);
    print_entry(plan, records, &text);
    stn_wisdom_end(&text);
    stn_status status = text.failed ? stn_fail_memory(error, "wisdom", sizeof *records)
                                    : stn_wisdom_parse(text.data, text.size, &newest, error);
    if (status == STN_OK) status = stn_wisdom_update(&plan->context->cache->folder, join_newest, &newest, error);
    stn_wisdom_clear(&newest);
    stn_text_clear(&text);
    return status;
}

void tune_remember(const stn_plan *plan, const tune_records *records) {
    stn_error why = {0};
    if (records->count && plan->context->cache->folder.path && remember(plan, records, &why) != STN_OK)
        stn_log(&plan->context->logger, STN_LOG_WARNING, "measured times are not remembered: %s", why.message);
}

/* ---- stentor.h ------------------------------------------------------------------------------- */

static stn_status check_folder(const stn_context *context, stn_folder **folder, stn_error *error) {
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "wisdom needs a context");
    *folder = &context->cache->folder;
    if ((*folder)->path) return STN_OK;
    const char *problem = stn_cache_dir_problem(context->cache);
    return stn_fail(error, STN_ERROR_IO, "there is no cache folder to keep wisdom in: %s",
                    problem ? problem : "name one that is not \":memory:\"");
}

stn_status stn_wisdom_export(stn_context *context, char **text, stn_error *error) {
    stn_folder *folder = NULL;
    stn_wisdom wisdom;
    struct stat seen;
    stn_text out = STN_TEXT_EMPTY;
    if (!text) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_wisdom_export needs a place for the text");
    *text = NULL;
    STN_TRY(check_folder(context, &folder, error));
    STN_TRY(stn_wisdom_read(folder, &wisdom, &seen, error));
    stn_status status = stn_wisdom_join(&wisdom, &(stn_wisdom){0}, &out, NULL, error);
    stn_wisdom_clear(&wisdom);
    if (status == STN_OK) status = stn_text_take(&out, text, error);
    stn_text_clear(&out);
    return status;
}

typedef struct importing {
    stn_wisdom wisdom;
    size_t known;
} importing;

static stn_status join_import(void *user, stn_wisdom *before, stn_text *after, stn_error *error) {
    importing *in = user;
    return stn_wisdom_join(before, &in->wisdom, after, &in->known, error);
}

static void print_import(const stn_context *context, const importing *in, stn_text *text) {
    const stn_wisdom *wisdom = &in->wisdom;
    const char *device;
    size_t for_machine = 0;
    for (size_t i = 0; i < wisdom->count; i++) {
        const size_t name = strlen(context->machine.name),
                     size = stn_wisdom_line(wisdom->entry[i], wisdom->entry[i + 1], "device: ", &device);
        for_machine += size > name && !strncmp(device, context->machine.name, name) && device[name] == ',';
    }
    stn_text_printf(text, "%zu entries taken, %zu of them for %s; %zu were known and are completed\n", wisdom->count,
                    for_machine, context->machine.name, in->known);
}

stn_status stn_wisdom_import(stn_context *context, const char *text, size_t size, char **report, stn_error *error) {
    stn_folder *folder = NULL;
    importing in = {.known = 0};
    stn_text out = STN_TEXT_EMPTY;
    if (!text) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_wisdom_import needs a text");
    if (report) *report = NULL;
    STN_TRY(check_folder(context, &folder, error));
    STN_TRY(stn_wisdom_parse(text, size, &in.wisdom, error));
    stn_status status = stn_wisdom_update(folder, join_import, &in, error);
    if (status == STN_OK && report) {
        print_import(context, &in, &out);
        status = stn_text_take(&out, report, error);
    }
    stn_wisdom_clear(&in.wisdom);
    stn_text_clear(&out);
    return status;
}

static stn_status drop(void *user, stn_wisdom *before, stn_text *after, stn_error *error) {
    const char *prefix = user, *found = NULL;
    const size_t digits = strlen(prefix);
    stn_wisdom_begin(after);
    for (size_t i = 0; i < before->count; i++) {
        const char *entry = before->entry[i], *problem = stn_wisdom_problem(entry);
        if (strncasecmp(problem, prefix, digits) != 0) {
            stn_text_append(after, entry, (size_t)(before->entry[i + 1] - entry));
            continue;
        }
        if (found && memcmp(found, problem, 64))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "several keys begin with %s: give more digits", prefix);
        found = problem;
    }
    stn_wisdom_end(after);
    return found ? STN_OK
                 : stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "no key begins with %s: `stentor wisdom list` shows them", prefix);
}

stn_status stn_wisdom_forget(stn_context *context, const char *prefix, stn_error *error) {
    stn_folder *folder = NULL;
    STN_TRY(check_folder(context, &folder, error));
    if (!prefix) return stn_wisdom_remove(folder, error);
    const size_t digits = strlen(prefix);
    if (digits < 4 || digits > 64 || strspn(prefix, "0123456789abcdefABCDEF") != digits)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "\"%s\" is no key: give the first 4 to 64 hex digits that `stentor wisdom list` shows", prefix);
    return stn_wisdom_update(folder, drop, (void *)prefix, error);
}

stn_status stn_wisdom_merge(const char *first, size_t first_size, const char *second, size_t second_size, char **merged,
                            stn_error *error) {
    stn_wisdom one = {0}, two = {0};
    stn_text out = STN_TEXT_EMPTY;
    stn_status status;
    if (!first || !second || !merged)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_wisdom_merge needs two texts and a place for a third");
    *merged = NULL;
    STN_TRY_GOTO(status, stn_wisdom_parse(first, first_size, &one, error), done);
    STN_TRY_GOTO(status, stn_wisdom_parse(second, second_size, &two, error), done);
    STN_TRY_GOTO(status, stn_wisdom_join(&one, &two, &out, NULL, error), done);
    status = stn_text_take(&out, merged, error);
done:
    stn_wisdom_clear(&one);
    stn_wisdom_clear(&two);
    stn_text_clear(&out);
    return status;
}
