/* Top-level parser of a system's text: statements and assignments (declarations are in
 * system_declare.c, boundaries in system_boundary.c, expressions in system_expression.c). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "problem/system_declare.h"

static stn_status parse_assignment(stn_system_parser *p, size_t size) {
    stn_system *system = p->system;
    const size_t start = p->at;
    const char *name = p->text + start;
    int field = 0;
    while (field < system->nfields &&
           (strlen(system->fields[field].name) != size || memcmp(system->fields[field].name, name, size) != 0))
        field++;
    const int shown = (int)(size < 63 ? size : 63);
    if (field == system->nfields)
        return stn_system_fail_at(p, start,
                                  "\"%.*s\" begins no statement and is no field: statements begin with field, "
                                  "coefficient, stencil or boundary, or assign a field's .next",
                                  shown, name);
    p->at += size;
    if (p->size - p->at < 5 || memcmp(p->text + p->at, ".next", 5) != 0)
        return stn_system_fail_at(p, p->at, "only %.*s.next can be assigned", shown, name);
    p->at += 5;
    if (!stn_system_accept(p, '='))
        return stn_system_fail_at(p, p->at, "%.*s.next is followed by = and an expression", shown, name);
    if (p->assigned >> field & 1)
        return stn_system_fail_at(p, start, "%.*s.next is assigned a second time: once for each field", shown, name);
    stn_system_equation *equation = &system->equations[system->nequations];
    equation->field = field;
    stn_system_line_column(p, start, &equation->line, &equation->column);
    p->assigning = field;
    STN_TRY(stn_system_parse_expression(p, &equation->root));
    p->assigning = -1;
    p->assigned |= 1u << field;
    system->nequations++;
    return STN_OK;
}

static stn_status parse_statement(stn_system_parser *p) {
    static const struct {
        const char *word;
        stn_status (*parse)(stn_system_parser *p);
    } words[] = {{"field", stn_system_declare_fields},
                 {"coefficient", stn_system_declare_coefficients},
                 {"stencil", stn_system_declare_stencils},
                 {"boundary", stn_system_declare_boundary}};
    char shown[40];
    const size_t size = stn_system_name_size(p);
    if (!size) {
        stn_system_quote_next(p, shown);
        return stn_system_fail_at(p, p->at,
                                  "a statement is expected, but here is %s: field, coefficient, stencil, boundary, "
                                  "or a field's .next",
                                  shown);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) != size || memcmp(words[i].word, p->text + p->at, size) != 0) continue;
        p->at += size;
        return words[i].parse(p);
    }
    return parse_assignment(p, size);
}

static stn_status parse_text(stn_system_parser *p) {
    char shown[40];
    for (;;) {
        stn_system_skip_lines(p);
        if (p->at == p->size) break;
        if (p->text[p->at] == ';') {
            p->at++;
            continue;
        }
        STN_TRY(parse_statement(p));
        stn_system_skip(p);
        if (p->at == p->size || p->text[p->at] == '\n' || p->text[p->at] == ';') continue;
        stn_system_quote_next(p, shown);
        return stn_system_fail_at(p, p->at,
                                  "the statement should end here, but goes on with %s: a line ends it, or a "
                                  "semicolon",
                                  shown);
    }
    const stn_system *system = p->system;
    if (!system->nfields)
        return stn_fail(p->error, STN_ERROR_INVALID_ARGUMENT,
                        "the system declares no field: begin with one, such as \"field u\"");
    for (int f = 0; f < system->nfields; f++)
        if (!(p->assigned >> f & 1))
            return stn_fail(p->error, STN_ERROR_INVALID_ARGUMENT,
                            "the field %s is not assigned: write \"%s.next = ...\", or declare it as a coefficient",
                            system->fields[f].name, system->fields[f].name);
    return STN_OK;
}

stn_status stn_system_parse(const char *text, stn_system **result, stn_error *error) {
    if (!text || !result)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the system's %s is NULL: pass %s", text ? "place" : "text",
                        text ? "a stn_system **" : "its fields, coefficients, stencils and assignments");
    *result = NULL;
    const size_t size = strnlen(text, STN_SYSTEM_MAX_TEXT + 1);
    if (size > STN_SYSTEM_MAX_TEXT)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the system's text has more than %d characters: write it in fewer", STN_SYSTEM_MAX_TEXT);
    stn_system *system = calloc(1, sizeof *system);
    if (!system) return stn_fail_memory(error, "a system", sizeof *system);
    stn_system_parser p = {.text = text, .size = size, .system = system, .assigning = -1, .error = error};
    stn_status status = parse_text(&p);
    if (status == STN_OK) status = stn_system_check(system, error);
    free(p.table);
    if (status == STN_OK)
        *result = system;
    else
        stn_system_destroy(system);
    return status;
}
