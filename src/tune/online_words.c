/* Describes an online plan: the current candidate, how many were tried, and which could not be
 * compiled. */
#include "base/error.h"
#include "tune/online.h"
#include "tune/online_state.h"

static void name_arm(const stn_online *o, const online_arm *arm, stn_text *text) {
    stn_text_printf(text, "%s", arm->strategy->name);
    if (arm->strategy->name_candidate) {
        stn_text_printf(text, ", ");
        arm->strategy->name_candidate(&o->unit->task, &arm->candidate, text);
    }
}

/* The number of candidates that could not be built; *first: one of them. */
static size_t count_failed(const stn_online *o, const online_arm **first) {
    size_t failed = 0;
    for (size_t i = o->search.count; i-- > 1;)
        if (atomic_load(&o->arms[i].built) == TUNE_FAILED) failed++, *first = &o->arms[i];
    return failed;
}

void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const stn_online *o = plan->online;
    const online_arm *arm = &o->arms[o->search.current], *bad = NULL;
    const size_t failed = count_failed(o, &bad);
    size_t tried = 0;
    for (size_t i = 1; i < o->search.count; i++) tried += o->search.arms[i].count > 0 || o->search.arms[i].known > 0;
    if (format == STN_TEXT) {
        stn_text_printf(text, "\nonline:     ");
        name_arm(o, arm, text);
        stn_text_printf(text, " runs; %zu of %zu others tried%s", tried, o->search.count - 1,
                        tune_search_over(&o->search) ? ", and no more" : "");
        if (bad) stn_text_printf(text, "; %zu skipped, as %s: %s", failed, bad->strategy->name, bad->why.message);
        return;
    }
    stn_json_key(text, "online");
    stn_text_printf(text, "{");
    stn_json_key(text, "strategy"), stn_json_string(text, arm->strategy->name);
    stn_json_key(text, "others"), stn_text_printf(text, "%zu", o->search.count - 1);
    stn_json_key(text, "tried"), stn_text_printf(text, "%zu", tried);
    stn_json_key(text, "skipped"), stn_text_printf(text, "%zu", failed);
    stn_json_key(text, "skipped_because"), stn_json_string(text, bad ? bad->why.message : NULL);
    stn_json_key(text, "legs"), stn_text_printf(text, "%llu", (unsigned long long)o->legs);
    stn_json_key(text, "over"), stn_text_printf(text, tune_search_over(&o->search) ? "true" : "false");
    stn_text_printf(text, "}");
}
