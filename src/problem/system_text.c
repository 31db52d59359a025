/* Lexical analysis of a system's text, and error messages with line and column. */
#include "problem/system_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

void stn_system_line_column(const stn_system_parser *p, size_t at, int *line, int *column) {
    *line = *column = 1;
    for (size_t i = 0; i < at && i < p->size; i++) {
        ++*column;
        if (p->text[i] == '\n') ++*line, *column = 1;
    }
}

stn_status stn_system_fail_at(const stn_system_parser *p, size_t at, const char *format, ...) {
    char message[700];
    int line, column;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    stn_system_line_column(p, at, &line, &column);
    return stn_fail(p->error, STN_ERROR_INVALID_ARGUMENT, "line %d, column %d: %s", line, column, message);
}

static void skip(stn_system_parser *p, bool lines) {
    for (; p->at < p->size; p->at++) {
        const char c = p->text[p->at];
        if (c == '#')
            while (p->at + 1 < p->size && p->text[p->at + 1] != '\n') p->at++;
        else if (c != ' ' && c != '\t' && c != '\r' && !(c == '\n' && lines))
            return;
    }
}

void stn_system_skip(stn_system_parser *p) { skip(p, p->brackets > 0); }
void stn_system_skip_lines(stn_system_parser *p) { skip(p, true); }

bool stn_system_accept(stn_system_parser *p, char c) {
    stn_system_skip(p);
    if (p->at == p->size || p->text[p->at] != c) return false;
    p->at++;
    return true;
}

size_t stn_system_name_size(const stn_system_parser *p) {
    size_t end = p->at;
    if (end == p->size || !is_letter(p->text[end])) return 0;
    while (end < p->size && (is_letter(p->text[end]) || is_digit(p->text[end]))) end++;
    return end - p->at;
}

size_t stn_system_number_size(const stn_system_parser *p) {
    size_t end = p->at;
    while (end < p->size && (is_digit(p->text[end]) || p->text[end] == '.')) end++;
    if (end == p->at || (end < p->size && (p->text[end] == 'e' || p->text[end] == 'E'))) {
        if (end == p->at) return 0;
        size_t exponent = end + 1;
        if (exponent < p->size && (p->text[exponent] == '-' || p->text[exponent] == '+')) exponent++;
        if (exponent < p->size && is_digit(p->text[exponent])) end = exponent;
        while (end < p->size && is_digit(p->text[end])) end++;
    }
    return end - p->at;
}

void stn_system_quote_next(const stn_system_parser *p, char shown[40]) {
    size_t end = p->at;
    while (end < p->size && end - p->at < 16 && p->text[end] > ' ' && p->text[end] != ';') end++;
    if (end > p->at)
        snprintf(shown, 40, "\"%.*s\"", (int)(end - p->at), p->text + p->at);
    else
        snprintf(shown, 40, "%s",
                 p->at == p->size || p->text[p->at] == '\n' || p->text[p->at] == ';' ? "the end of the line"
                                                                                     : "a strange character");
}
