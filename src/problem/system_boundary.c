/* Boundary conditions of systems: the parser of "boundary u, v = rule, ..." (single rules are
 * parsed by boundary.c), and index folding with signs. */
#include <string.h>

#include "base/error.h"
#include "problem/system_declare.h"

static stn_status parse_side(stn_system_parser *p, size_t at, const char *text, size_t size, stn_system_side *side) {
    char word[64];
    stn_boundary both[2];
    stn_error why = {STN_OK, ""};
    if (size >= sizeof word) return stn_system_fail_at(p, at, "no boundary has a name of %zu characters", size);
    memcpy(word, text, size);
    word[size] = 0;
    const char *even = strncmp(word, "odd-", 4) == 0 ? word + 4 : word;
    *side = (stn_system_side){.odd = even != word};
    if (side->odd && strcmp(even, "reflect") != 0 && strcmp(even, "mirror") != 0)
        return stn_system_fail_at(
            p, at, "the boundary \"%s\" is unknown: those with odd- are odd-reflect and odd-mirror", word);
    if (stn_boundary_parse(even, both, &why) != STN_OK)
        return stn_system_fail_at(p, at, "%.500s; systems also take odd-reflect and odd-mirror", why.message);
    side->kind = both[0].kind;
    side->value = both[0].value;
    return STN_OK;
}

/* Parses the rule of one axis: LOW:HIGH, or one rule for both sides. */
static stn_status parse_rule(stn_system_parser *p, stn_system_side sides[2]) {
    const size_t at = p->at;
    const char *text = p->text + at;
    size_t size = 0;
    while (at + size < p->size && !strchr(" \t\r\n;#,", text[size])) size++;
    const char *colon = memchr(text, ':', size);
    const size_t low = colon ? (size_t)(colon - text) : size;
    STN_TRY(parse_side(p, at, text, low, &sides[0]));
    sides[1] = sides[0];
    if (colon) STN_TRY(parse_side(p, at + low + 1, colon + 1, size - low - 1, &sides[1]));
    if ((sides[0].kind == STN_WRAP) != (sides[1].kind == STN_WRAP))
        return stn_system_fail_at(p, at, "this wraps on one side only: an axis wraps on both sides or on none");
    p->at += size;
    return STN_OK;
}

static stn_system_variable *variable(stn_system *system, const char *name, size_t size) {
    for (int i = 0; i < system->nfields; i++)
        if (strlen(system->fields[i].name) == size && !memcmp(system->fields[i].name, name, size))
            return &system->fields[i];
    for (int i = 0; i < system->ncoefficients; i++)
        if (strlen(system->coefficients[i].name) == size && !memcmp(system->coefficients[i].name, name, size))
            return &system->coefficients[i];
    return NULL;
}

stn_status stn_system_declare_boundary(stn_system_parser *p) {
    stn_system *system = p->system;
    stn_system_variable *of[STN_SYSTEM_MAX_FIELDS + STN_SYSTEM_MAX_COEFFICIENTS];
    stn_system_side rules[3][2] = {{{0}}};
    int count = 0, axes = 0;
    const int most = (int)(sizeof of / sizeof *of);
    const size_t names = p->at;
    if (!stn_system_accept(p, '=')) {
        do {
            stn_system_skip_lines(p);
            const size_t size = stn_system_name_size(p);
            if (count == most)
                return stn_system_fail_at(p, p->at, "more names than a system has fields and coefficients");
            of[count] = variable(system, p->text + p->at, size);
            if (!of[count++])
                return stn_system_fail_at(p, p->at,
                                          "a boundary is that of fields or coefficients declared before it: "
                                          "\"boundary u, v = reflect\"");
            p->at += size;
        } while (stn_system_accept(p, ','));
        if (!stn_system_accept(p, '=')) return stn_system_fail_at(p, p->at, "the names are followed by = and a rule");
    } else
        while (count < system->nfields) of[count] = &system->fields[count], count++;
    if (!count) return stn_system_fail_at(p, p->at, "no field is declared yet: boundaries come after fields");
    stn_system_skip_lines(p);
    const size_t at = p->at;
    do {
        stn_system_skip_lines(p);
        if (axes == 3) return stn_system_fail_at(p, p->at, "there are at most three axes");
        STN_TRY(parse_rule(p, rules[axes++]));
    } while (stn_system_accept(p, ','));
    if (axes > 1) STN_TRY(stn_system_fix_rank(p, at, axes));
    for (int i = 0; i < count; i++)
        for (int axis = 0; axis < 3; axis++) {
            const bool is_field = of[i] >= system->fields && of[i] < system->fields + STN_SYSTEM_MAX_FIELDS;
            const int own = axes == 1 ? 0 : axis - (3 - axes);
            if (own < 0) continue;
            if (!is_field && (rules[own][0].kind == STN_FIXED || rules[own][1].kind == STN_FIXED))
                return stn_system_fail_at(
                    p, names, "the coefficient %s has a fixed side: only fields, which change, do", of[i]->name);
            memcpy(of[i]->side[axis], rules[own], sizeof rules[own]);
        }
    return STN_OK;
}

int64_t stn_system_fold(int64_t i, int64_t n, const stn_system_side sides[2], double *sign, double *constant) {
    while (i < 0 || i >= n) {
        const stn_system_side *side = &sides[i >= n];
        switch (side->kind) {
            case STN_WRAP:
                i = i < 0 ? i + n : i - n;
                break;
            case STN_NEAREST:
            case STN_FIXED:
                i = i < 0 ? 0 : n - 1;
                break;
            case STN_REFLECT:
                i = i < 0 ? -1 - i : 2 * n - 1 - i;
                break;
            case STN_MIRROR:
                i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
                break;
            case STN_CONSTANT:
                *constant = side->value;
                return -1;
        }
        if (side->odd) *sign = -*sign;
    }
    return i;
}
