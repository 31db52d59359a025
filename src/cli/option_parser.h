/* Table-driven command-line options: a group of options fills one struct, and a command lists the
 * groups that it accepts. */
#ifndef STN_CLI_OPTION_PARSER_H
#define STN_CLI_OPTION_PARSER_H
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

#define CLI_LIST_MAX 31 /* most values of one CLI_LIST option */

typedef enum cli_kind {
    CLI_FLAG,  /* bool: present or not */
    CLI_TEXT,  /* const char *: the value, borrowed from argv */
    CLI_COUNT, /* uint64_t: an integer such as "1000000" or "1e6" */
    CLI_LIST   /* const char *[CLI_LIST_MAX + 1]: may be repeated; NULL-terminated */
} cli_kind;

typedef struct cli_option {
    const char *name;  /* "--steps" */
    const char *value; /* the value's name in the help; NULL for a flag */
    cli_kind kind;
    size_t offset; /* offset of the member in the group's struct */
    const char *help;
} cli_option;

typedef struct cli_group {
    const char *title;
    const cli_option *options;
    size_t count;
    void *into; /* the struct; members of absent options keep their values */
} cli_group;
#define CLI_GROUP(title, table, into)                                                                                  \
    { (title), (table), sizeof(table) / sizeof *(table), (into) }

typedef struct cli_usage {
    const char *command, *summary;
    const char *synopsis; /* after "stentor COMMAND" */
    const char *notes;    /* below the options; may be NULL */
    const cli_group *groups;
    size_t group_count;
    /* arguments that are not options, in order; NULL if the command takes none */
    const char **positionals;
    size_t positionals_max, positionals_min;
} cli_usage;

/* Parses argv[1..). Accepts "--name value" and "--name=value"; "--" ends the options. With --help
 * or -h it prints the help and sets *help, and parses nothing else. Errors name the argument and,
 * for a misspelt option, the most similar one. */
stn_status cli_parse(const cli_usage *usage, int argc, char **argv, bool *help, stn_error *error);

/* Prints the exit codes and their meanings, for --help. */
void cli_print_exit_codes(void);

/* The most similar to `word` of `count` names, which lie `stride` bytes apart; NULL if none is
 * similar. */
const char *cli_nearest(const char *word, const char *const *names, size_t count, size_t stride);

/* Parses an integer such as "500", "1e6" or "2.5e3". False if it is not one or exceeds 64 bits. */
bool cli_parse_count(const char *text, uint64_t *count);
#endif
