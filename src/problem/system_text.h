/* What the parser's two files share: where in the text it stands, and what it has made so far. */
#ifndef STN_PROBLEM_SYSTEM_TEXT_H
#define STN_PROBLEM_SYSTEM_TEXT_H
#include "problem/system.h"

#define STN_SYSTEM_NESTED 200 /* brackets, functions and signs inside each other */

typedef struct stn_system_parser {
    const char *text;
    size_t size, at;
    int brackets; /* open ones, in which line ends are spaces */
    int nested;
    stn_system *system;
    unsigned assigned; /* bit f: field f has an equation already */
    int assigning;     /* the field whose equation is read; -1: none */
    int room;          /* nodes that there is memory for */
    int *table;        /* hash of a node to its number + 1: two nodes alike are one */
    size_t table_size; /* a power of two */
    stn_error *error;
} stn_system_parser;

/* A sentence about byte `at` of the text. */
__attribute__((format(printf, 3, 4))) stn_status stn_system_fail_at(const stn_system_parser *p, size_t at,
                                                                    const char *format, ...);
void stn_system_place(const stn_system_parser *p, size_t at, int *line, int *column);

/* Passes spaces, comments, and line ends inside brackets. */
void stn_system_skip(stn_system_parser *p);
/* Passes line ends too: after an operator or a comma. */
void stn_system_skip_lines(stn_system_parser *p);
/* Is this character next? Then it is passed. */
bool stn_system_take(stn_system_parser *p, char c);
/* Size of the name that is next; 0: none is. */
size_t stn_system_name_size(const stn_system_parser *p);
/* Size of the number that is next, without a sign; 0: none is. */
size_t stn_system_number_size(const stn_system_parser *p);
/* What is next, for messages: a few characters, or the end of the line. */
void stn_system_show(const stn_system_parser *p, char shown[40]);

/* An expression to the end of it; *root is its node. */
stn_status stn_system_parse_expression(stn_system_parser *p, int *root);
bool stn_system_is_reserved(const char *name, size_t size);
#endif
