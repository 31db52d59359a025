/* State of the parser, and its lexical functions, shared by the parser's files. */
#ifndef STN_PROBLEM_SYSTEM_TEXT_H
#define STN_PROBLEM_SYSTEM_TEXT_H
#include "problem/system.h"

#define STN_SYSTEM_NESTED 200 /* most nested brackets, functions and signs */

typedef struct stn_system_parser {
    const char *text;
    size_t size, at;
    int brackets; /* open brackets, inside of which line ends are spaces */
    int nested;
    stn_system *system;
    unsigned assigned; /* bit f: field f has an equation already */
    int assigning;     /* the field whose equation is parsed; -1: none */
    int capacity;      /* allocated nodes */
    int *table;        /* hash table of nodes: index + 1 */
    size_t table_size; /* a power of two */
    stn_error *error;
} stn_system_parser;

/* Fails with a message about byte `at` of the text. */
__attribute__((format(printf, 3, 4))) stn_status stn_system_fail_at(const stn_system_parser *p, size_t at,
                                                                    const char *format, ...);
void stn_system_line_column(const stn_system_parser *p, size_t at, int *line, int *column);

/* Skips spaces, comments, and line ends inside brackets. */
void stn_system_skip(stn_system_parser *p);
/* Skips line ends too, as after an operator or a comma. */
void stn_system_skip_lines(stn_system_parser *p);
/* Consumes this character if it is next. */
bool stn_system_accept(stn_system_parser *p, char c);
/* Size of the name at the current position; 0: there is none. */
size_t stn_system_name_size(const stn_system_parser *p);
/* Size of the unsigned number at the current position; 0: there is none. */
size_t stn_system_number_size(const stn_system_parser *p);
/* Quotes the next characters for a message, or says that the line ends. */
void stn_system_quote_next(const stn_system_parser *p, char shown[40]);

/* Parses a whole expression; *root is its node. */
stn_status stn_system_parse_expression(stn_system_parser *p, int *root);
bool stn_system_is_reserved(const char *name, size_t size);
#endif
