/* An online plan in words: what runs now, what was tried, what could not be compiled. */
#include "base/error.h"
#include "tune/online.h"
#include "tune/online_state.h"

static void name_arm(const stn_online *o, const online_arm *arm, stn_text *text) {
    stn_text_printf(text, "%s", arm->strategy->name);
    if (arm->strategy->name_candidate) {
        stn_text_printf(text, ", ");
        arm->strategy->name_candidate(&o->unit->task, &arm->candidate, text);
    }
    if (arm->hurried) stn_text_printf(text, ", compiled in a hurry");
}

static void json_arm(const stn_online *o, const char *key, const online_arm *arm, stn_text *text) {
    stn_text name = STN_TEXT_EMPTY;
    name_arm(o, arm, &name);
    stn_text_append(&name, "", 1);
    stn_json_key(text, key);
    stn_json_string(text, name.failed ? arm->strategy->name : name.data);
    stn_text_clear(&name);
}

/* ---- a plan that begins ------------------------------------------------------------------------------------------ */

static const char *state_of(const stn_online *o) {
    if (o->search.current == 1) return "runs";
    if (o->search.frozen) return "frozen";
    switch (atomic_load(&o->arms[1].built)) {
        case TUNE_UNBUILT:
            return "compiling";
        case TUNE_FAILED:
            return "failed";
        default:
            return "compiled";
    }
}

static void follow_text(const stn_online *o, stn_text *text) {
    const bool runs = o->search.current == 1, failed = atomic_load(&o->arms[1].built) == TUNE_FAILED;
    stn_text_printf(text, runs ? "\nnow:        " : "\nbegins:     with ");
    name_arm(o, &o->arms[runs ? 1 : 0], text);
    if (runs) {
        stn_text_printf(text, "; it has taken over");
        return;
    }
    stn_text_printf(text, failed             ? ", and stays with it: "
                          : o->search.frozen ? ", which a captured stream holds, not "
                                             : " until it is compiled: ");
    name_arm(o, &o->arms[1], text);
    if (failed) stn_text_printf(text, " cannot be had: %s", o->arms[1].why.message);
}

static void follow_json(const stn_online *o, stn_text *text) {
    stn_json_key(text, "begins");
    stn_text_printf(text, "{");
    json_arm(o, "with", &o->arms[0], text);
    json_arm(o, "follower", &o->arms[1], text);
    stn_json_key(text, "state"), stn_json_string(text, state_of(o));
    stn_json_key(text, "legs"), stn_text_printf(text, "%llu", (unsigned long long)o->legs);
    stn_json_key(text, "error");
    stn_json_string(text, atomic_load(&o->arms[1].built) == TUNE_FAILED ? o->arms[1].why.message : NULL);
    stn_text_printf(text, "}");
}

/* ---- one that searches ------------------------------------------------------------------------------------------- */

/* How many could not be built; *first: one of them. */
static size_t count_failed(const stn_online *o, const online_arm **first) {
    size_t failed = 0;
    for (size_t i = o->search.count; i-- > 1;)
        if (atomic_load(&o->arms[i].built) == TUNE_FAILED) failed++, *first = &o->arms[i];
    return failed;
}

void tune_online_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const stn_online *o = plan->online;
    if (o->follows) {
        (format == STN_TEXT ? follow_text : follow_json)(o, text);
        return;
    }
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
