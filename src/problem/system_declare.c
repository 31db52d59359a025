/* Parser of a system's declarations: fields, coefficients, stencils. */
#include "problem/system_declare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

#define MAX_STENCILS 64
#define MAX_TAPS 4096 /* largest number of taps of a stencil that is written as taps */

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_used(const stn_system *system, const char *name) {
    for (int i = 0; i < system->nfields; i++)
        if (!strcmp(system->fields[i].name, name)) return true;
    for (int i = 0; i < system->ncoefficients; i++)
        if (!strcmp(system->coefficients[i].name, name)) return true;
    for (int i = 0; i < system->nstencils; i++)
        if (!strcmp(system->stencils[i].name, name)) return true;
    return false;
}

/* Parses an undeclared name. */
static stn_status new_name(stn_system_parser *p, const char *of, char name[STN_SYSTEM_NAME]) {
    char shown[40];
    stn_system_skip_lines(p);
    const size_t size = stn_system_name_size(p);
    if (!size) {
        stn_system_quote_next(p, shown);
        return stn_system_fail_at(p, p->at, "a %s needs a name of letters, digits and _, but here is %s", of, shown);
    }
    if (size >= STN_SYSTEM_NAME)
        return stn_system_fail_at(p, p->at, "the name has %zu characters: at most %d", size, STN_SYSTEM_NAME - 1);
    memcpy(name, p->text + p->at, size);
    name[size] = 0;
    if (stn_system_is_reserved(name, size))
        return stn_system_fail_at(p, p->at, "\"%s\" is a word of the language: choose another name", name);
    if (is_used(p->system, name))
        return stn_system_fail_at(p, p->at, "\"%s\" is declared a second time: choose another name", name);
    p->at += size;
    return STN_OK;
}

static stn_status signed_number(stn_system_parser *p, const char *of, double *value) {
    char shown[40];
    const bool minus = stn_system_accept(p, '-');
    stn_system_skip(p);
    const size_t size = stn_system_number_size(p);
    if (!size || !stn_number_parse(p->text + p->at, size, value)) {
        stn_system_quote_next(p, shown);
        return stn_system_fail_at(p, p->at, "%s is a finite number, but here is %s", of, shown);
    }
    p->at += size;
    if (minus) *value = -*value;
    return STN_OK;
}

/* ---- fields and coefficients ----------------------------------------------------------------- */

static void set_sides(stn_system_variable *v, stn_boundary_kind kind) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) v->side[axis][side] = (stn_system_side){.kind = kind};
}

static stn_status field(stn_system_parser *p) {
    stn_system *system = p->system;
    stn_system_variable *v = &system->fields[system->nfields];
    double levels = 1;
    stn_system_skip_lines(p);
    if (system->nfields == STN_SYSTEM_MAX_FIELDS)
        return stn_system_fail_at(p, p->at, "a system has at most %d fields", STN_SYSTEM_MAX_FIELDS);
    STN_TRY(new_name(p, "field", v->name));
    if (stn_system_accept(p, '(')) {
        const size_t at = p->at;
        STN_TRY(signed_number(p, "the count of levels", &levels));
        if (!(levels >= 1 && levels <= STN_SYSTEM_MAX_LEVELS && levels == (int)levels))
            return stn_system_fail_at(p, at, "a field has 1 to %d levels", STN_SYSTEM_MAX_LEVELS);
        if (!stn_system_accept(p, ')')) return stn_system_fail_at(p, p->at, "the count of levels ends with a bracket");
    }
    v->levels = (int)levels;
    set_sides(v, STN_WRAP);
    system->nfields++;
    return STN_OK;
}

static stn_status coefficient(stn_system_parser *p) {
    stn_system *system = p->system;
    stn_system_variable *v = &system->coefficients[system->ncoefficients];
    stn_system_skip_lines(p);
    if (system->ncoefficients == STN_SYSTEM_MAX_COEFFICIENTS)
        return stn_system_fail_at(p, p->at, "a system has at most %d coefficients", STN_SYSTEM_MAX_COEFFICIENTS);
    STN_TRY(new_name(p, "coefficient", v->name));
    v->has_value = stn_system_accept(p, '=');
    if (v->has_value) STN_TRY(signed_number(p, "a coefficient's value", &v->value));
    set_sides(v, STN_NEAREST);
    system->ncoefficients++;
    return STN_OK;
}

stn_status stn_system_declare_fields(stn_system_parser *p) {
    do STN_TRY(field(p));
    while (stn_system_accept(p, ','));
    return STN_OK;
}

stn_status stn_system_declare_coefficients(stn_system_parser *p) {
    do STN_TRY(coefficient(p));
    while (stn_system_accept(p, ','));
    return STN_OK;
}

/* ---- stencils -------------------------------------------------------------------------------- */

stn_status stn_system_fix_rank(stn_system_parser *p, size_t at, int rank) {
    stn_system *system = p->system;
    if (system->rank && system->rank != rank)
        return stn_system_fail_at(p, at, "this is of rank %d, and the system of rank %d by what stands before", rank,
                                  system->rank);
    if (rank < system->least_rank)
        return stn_system_fail_at(p, at, "this is of rank %d, and a stencil along %c, before it, needs %d axes", rank,
                                  'x' + system->least_rank - 1, system->least_rank);
    system->rank = rank;
    return STN_OK;
}

/* The taps read so far. */
typedef struct tap_list {
    stn_tap taps[MAX_TAPS];
    size_t count;
    int rank, axis; /* rank 0: all offsets are along `axis`; axis -1: offsets have `rank` numbers */
} tap_list;

static stn_status parse_offset(stn_system_parser *p, tap_list *list) {
    stn_tap *tap = &list->taps[list->count];
    const size_t at = p->at;
    double offset[3] = {0};
    int count = 0;
    for (; stn_system_skip(p), p->at < p->size && p->text[p->at] != ',' && p->text[p->at] != ']'; count++) {
        const size_t number = p->at;
        if (count == 3)
            return stn_system_fail_at(p, number, "an offset has at most three numbers: commas part offsets");
        STN_TRY(signed_number(p, "an offset", &offset[count]));
        if (!(offset[count] >= -STN_MAX_RADIUS && offset[count] <= STN_MAX_RADIUS &&
              offset[count] == (int)offset[count]))
            return stn_system_fail_at(p, number, "offsets are whole numbers of at most %d either way", STN_MAX_RADIUS);
    }
    *tap = (stn_tap){{0}, 0};
    if (list->axis >= 0) {
        if (count != 1)
            return stn_system_fail_at(p, at, "an offset along one axis is one number, and here are %d", count);
        tap->offset[list->axis] = (int64_t)offset[0];
    } else {
        if (!list->count) list->rank = count;
        if (!count) return stn_system_fail_at(p, at, "an offset is expected here: one whole number for each axis");
        if (count != list->rank)
            return stn_system_fail_at(p, at, "this offset has %d numbers, and the first one %d: one for each axis",
                                      count, list->rank);
        for (int own = 0; own < count; own++) tap->offset[3 - count + own] = (int64_t)offset[own];
    }
    list->count++;
    return STN_OK;
}

static stn_status parse_weight(stn_system_parser *p, double *weight) {
    double divisor = 1;
    const size_t at = p->at;
    STN_TRY(signed_number(p, "a weight", weight));
    if (stn_system_accept(p, '/')) STN_TRY(signed_number(p, "a divisor", &divisor));
    *weight /= divisor;
    if (!(*weight - *weight == 0)) return stn_system_fail_at(p, at, "this weight is no finite number");
    return STN_OK;
}

static stn_status parse_lists(stn_system_parser *p, tap_list *list) {
    size_t count = 0;
    if (!stn_system_accept(p, '['))
        return stn_system_fail_at(p, p->at,
                                  "taps are written as offsets and weights: taps [0, 1] (-1 1), or along an axis "
                                  "taps x [0, 1] (-1 1)");
    p->brackets++;
    do {
        if (list->count == MAX_TAPS)
            return stn_system_fail_at(p, p->at, "a stencil of a system has at most %d taps here", MAX_TAPS);
        STN_TRY(parse_offset(p, list));
    } while (stn_system_accept(p, ','));
    if (!stn_system_accept(p, ']')) return stn_system_fail_at(p, p->at, "the offsets end with ]");
    p->brackets--;
    if (!stn_system_accept(p, '('))
        return stn_system_fail_at(p, p->at, "after the offsets come the weights, in brackets");
    p->brackets++;
    const size_t at = p->at;
    for (; stn_system_skip(p), p->at < p->size && p->text[p->at] != ')'; count++) {
        (void)stn_system_accept(p, ',');
        double weight;
        STN_TRY(parse_weight(p, &weight));
        if (count < list->count) list->taps[count].weight = weight;
    }
    if (!stn_system_accept(p, ')')) return stn_system_fail_at(p, p->at, "the weights end with a bracket");
    p->brackets--;
    if (count != list->count)
        return stn_system_fail_at(p, at, "there are %zu weights for %zu offsets", count, list->count);
    return STN_OK;
}

/* Sorts the taps and stores them in the system's stencil. */
static stn_status keep(stn_system_parser *p, size_t at, const tap_list *list, stn_system_stencil *stencil) {
    stn_stencil *sorted;
    stn_error why = {STN_OK, ""};
    if (stn_stencil_create(3, list->count, list->taps, &sorted, &why) != STN_OK)
        return stn_system_fail_at(p, at, "%.600s", why.message);
    stencil->ntaps = stn_stencil_tap_count(sorted);
    stencil->taps = malloc(stencil->ntaps * sizeof *stencil->taps);
    if (stencil->taps) memcpy(stencil->taps, stn_stencil_taps(sorted), stencil->ntaps * sizeof *stencil->taps);
    stn_stencil_destroy(sorted);
    return stencil->taps ? STN_OK : stn_fail_memory(p->error, "a system", list->count * sizeof *stencil->taps);
}

static stn_status written_taps(stn_system_parser *p, stn_system_stencil *stencil) {
    const size_t at = p->at;
    tap_list *list = malloc(sizeof *list);
    if (!list) return stn_fail_memory(p->error, "a system", sizeof *list);
    list->count = 0, list->rank = 0, list->axis = -1;
    stn_system_skip(p);
    const size_t size = stn_system_name_size(p);
    if (size == 1 && p->text[p->at] >= 'x' && p->text[p->at] <= 'z') {
        list->axis = 2 - (p->text[p->at] - 'x');
        if (p->system->rank && p->system->rank < 3 - list->axis) {
            free(list);
            return stn_system_fail_at(p, p->at, "there is no axis %c: the system is of rank %d by what stands before",
                                      p->text[p->at], p->system->rank);
        }
        if (p->system->least_rank < 3 - list->axis) p->system->least_rank = 3 - list->axis;
        p->at++;
    }
    stn_status status = parse_lists(p, list);
    stencil->rank = list->rank;
    stencil->axis = list->axis;
    if (status == STN_OK && list->rank) status = stn_system_fix_rank(p, at, list->rank);
    if (status == STN_OK) status = keep(p, at, list, stencil);
    free(list);
    return status;
}

/* Bytes up to a space, the end of the line, or a comma that no parameter follows. */
static size_t spec_size(const stn_system_parser *p) {
    size_t end = p->at;
    for (; end < p->size && !strchr(" \t\r\n;#", p->text[end]); end++) {
        if (p->text[end] != ',') continue;
        stn_system_parser next = *p;
        next.at = end + 1;
        next.at += stn_system_name_size(&next);
        if (next.at == end + 1 || next.at == p->size || p->text[next.at] != '=') break;
    }
    return end - p->at;
}

static stn_status named_taps(stn_system_parser *p, stn_system_stencil *stencil) {
    char spec[200];
    stn_stencil *named;
    stn_error why = {STN_OK, ""};
    const size_t at = p->at, size = spec_size(p);
    if (size >= sizeof spec) return stn_system_fail_at(p, at, "no stencil has a name of %zu characters", size);
    memcpy(spec, p->text + at, size);
    spec[size] = 0;
    if (stn_stencil_parse(spec, &named, &why) != STN_OK) return stn_system_fail_at(p, at, "%.600s", why.message);
    p->at += size;
    const int rank = stn_stencil_rank(named);
    stencil->rank = rank;
    stencil->axis = -1;
    stencil->ntaps = stn_stencil_tap_count(named);
    stencil->taps = calloc(stencil->ntaps, sizeof *stencil->taps);
    for (size_t i = 0; stencil->taps && i < stencil->ntaps; i++) {
        const stn_tap *tap = &stn_stencil_taps(named)[i];
        for (int own = 0; own < rank; own++) stencil->taps[i].offset[3 - rank + own] = tap->offset[own];
        stencil->taps[i].weight = tap->weight;
    }
    stn_stencil_destroy(named);
    if (!stencil->taps) return stn_fail_memory(p->error, "a system", stencil->ntaps * sizeof *stencil->taps);
    return stn_system_fix_rank(p, at, rank);
}

static stn_status stencil(stn_system_parser *p) {
    stn_system *system = p->system;
    stn_system_skip_lines(p);
    if (system->nstencils == MAX_STENCILS)
        return stn_system_fail_at(p, p->at, "a system has at most %d stencils", MAX_STENCILS);
    stn_system_stencil *resized = realloc(system->stencils, ((size_t)system->nstencils + 1) * sizeof *resized);
    if (!resized) return stn_fail_memory(p->error, "a system", sizeof *resized);
    system->stencils = resized;
    stn_system_stencil *made = &resized[system->nstencils];
    memset(made, 0, sizeof *made);
    STN_TRY(new_name(p, "stencil", made->name));
    system->nstencils++; /* its taps are NULL until the statement is parsed */
    if (!stn_system_accept(p, '='))
        return stn_system_fail_at(p, p->at, "the stencil %s is followed by = and its taps or the name of one",
                                  made->name);
    stn_system_skip(p);
    if (stn_system_name_size(p) != 4 || memcmp(p->text + p->at, "taps", 4) != 0) return named_taps(p, made);
    p->at += 4;
    return written_taps(p, made);
}

stn_status stn_system_declare_stencils(stn_system_parser *p) {
    do STN_TRY(stencil(p));
    while (stn_system_accept(p, ','));
    return STN_OK;
}
