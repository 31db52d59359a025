/* Options by table. A group of rows fills one struct; a command names the groups that it takes. */
#ifndef STN_CLI_OPTIONS_H
#define STN_CLI_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

#define CLI_LIST_MOST 31 /* values of one CLI_LIST option */

typedef enum cli_kind {
    CLI_FLAG,  /* bool: present or not */
    CLI_TEXT,  /* const char *: the value, borrowed from argv */
    CLI_COUNT, /* uint64_t: a whole number, "1000000" or "1e6" */
    CLI_LIST   /* const char *[CLI_LIST_MOST + 1]: may be given again; NULL-terminated */
} cli_kind;

typedef struct cli_option {
    const char *name;  /* "--steps" */
    const char *value; /* what the help calls the value; NULL for a flag */
    cli_kind kind;
    size_t offset; /* of the member in the group's struct */
    const char *help;
} cli_option;

typedef struct cli_group {
    const char *title;
    const cli_option *options;
    size_t count;
    void *into; /* the struct; what is not given keeps its value */
} cli_group;
#define CLI_GROUP(title, table, into)                                                                                  \
    { (title), (table), sizeof(table) / sizeof *(table), (into) }

typedef struct cli_usage {
    const char *command, *summary;
    const char *synopsis; /* after "stentor COMMAND" */
    const char *notes;    /* below the options; may be NULL */
    const cli_group *groups;
    size_t group_count;
    const char **words; /* arguments that are not options, in order; NULL if the command takes none */
    size_t words_most, words_least;
} cli_usage;

/* Parses argv[1..). Accepts "--name value" and "--name=value"; "--" ends the options. *help is set,
 * and nothing else looked at, when --help or -h is there: the help has then been printed. Errors
 * name the argument and, for a misspelt option, the nearest one that exists. */
stn_status cli_parse(const cli_usage *usage, int argc, char **argv, bool *help, stn_error *error);

/* The exit codes and their meanings, for --help. */
void cli_print_exit_codes(void);

/* Of `count` names that lie `stride` bytes apart, the one nearest to a misspelt word; NULL if none
 * is near. */
const char *cli_nearest(const char *word, const char *const *names, size_t count, size_t stride);

/* A whole number such as "500", "1e6" or "2.5e3". False if it is not one or past 2^64. */
bool cli_parse_count(const char *text, uint64_t *count);
#endif
