/* See option_parser.h: the option parser, and suggestions for misspelt names by edit distance. */
#include "cli/option_parser.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

bool cli_parse_count(const char *text, uint64_t *count) {
    uint64_t whole = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(whole, 10u, &whole) || __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
            return false;
    if (at != text && !*at) {
        *count = whole;
        return true;
    }
    double value;
    if (!stn_number_parse(text, strlen(text), &value)) return false;
    /* beyond 2^53 a double is not exact */
    if (!(value >= 0) || value >= 0x1p53 || value != floor(value)) return false;
    *count = (uint64_t)value;
    return true;
}

/* Levenshtein distance (insertions, deletions, substitutions) of two short words. */
static size_t distance(const char *a, const char *b) {
    size_t row[64], n = strlen(b);
    if (n >= 64 || strlen(a) >= 64) return 64;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t edited = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = edited < replaced ? edited : replaced;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *const *names, size_t count, size_t stride) {
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        const char *name = *(const char *const *)((const char *)names + i * stride);
        size_t edits = distance(word, name);
        if (edits < least) {
            least = edits;
            best = name;
        }
    }
    return best;
}

void cli_print_exit_codes(void) {
    printf("Exit codes:\n");
#define CLI_EXIT_CODE(name, exit_code, text) printf("  %2d  %s\n", exit_code, text);
    STN_STATUS_LIST(CLI_EXIT_CODE)
#undef CLI_EXIT_CODE
}

/* Prints the help: each option on a line; its text may continue after a newline. */
static void print_help(const cli_usage *usage) {
    printf("stentor %s: %s\n\nUsage: stentor %s %s\n", usage->command, usage->summary, usage->command, usage->synopsis);
    for (size_t g = 0; g < usage->group_count; g++) {
        const cli_group *group = &usage->groups[g];
        printf("\n%s:\n", group->title);
        for (size_t i = 0; i < group->count; i++) {
            const cli_option *option = &group->options[i];
            char left[64];
            snprintf(left, sizeof left, "%s%s%s", option->name, option->value ? " " : "",
                     option->value ? option->value : "");
            printf("  %-24s%s", left, strlen(left) >= 24 ? "\n                          " : "");
            for (const char *c = option->help; *c; c++) {
                putchar(*c);
                if (*c == '\n') printf("%-26s", "");
            }
            putchar('\n');
        }
    }
    if (usage->notes) printf("\n%s", usage->notes);
    putchar('\n');
    cli_print_exit_codes();
}

static const cli_option *find(const cli_usage *usage, const char *name, size_t size, const cli_group **group) {
    for (size_t g = 0; g < usage->group_count; g++)
        for (size_t i = 0; i < usage->groups[g].count; i++) {
            const cli_option *option = &usage->groups[g].options[i];
            if (strlen(option->name) == size && memcmp(option->name, name, size) == 0) {
                *group = &usage->groups[g];
                return option;
            }
        }
    return NULL;
}

static stn_status unknown(const cli_usage *usage, const char *word, size_t size, stn_error *error) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(size < 60 ? size : 60), word);
    const char *best = NULL;
    for (size_t g = 0; g < usage->group_count; g++) {
        const cli_group *group = &usage->groups[g];
        const char *near = cli_nearest(name, &group->options->name, group->count, sizeof *group->options);
        if (near && (!best || distance(name, near) < distance(name, best))) best = near;
    }
    if (best)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no option '%s': did you mean '%s'?", name, best);
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no option '%s': see 'stentor %s --help'", name,
                    usage->command);
}

static stn_status store(const cli_option *option, void *into, const char *value, stn_error *error) {
    char *member = (char *)into + option->offset;
    switch (option->kind) {
        case CLI_FLAG:
            *(bool *)member = true;
            break;
        case CLI_TEXT:
            *(const char **)member = value;
            break;
        case CLI_COUNT:
            if (!cli_parse_count(value, (uint64_t *)member))
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s must be a whole number without sign, not '%s'",
                                option->name, value);
            break;
        case CLI_LIST: {
            const char **list = (const char **)member;
            size_t used = 0;
            while (list[used]) used++;
            if (used == CLI_LIST_MAX)
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s may be given %d times at most", option->name,
                                CLI_LIST_MAX);
            list[used] = value;
            break;
        }
    }
    return STN_OK;
}

/* Handles the option argv[*at] and the value that may follow it. */
static stn_status take_option(const cli_usage *usage, int argc, char **argv, int *at, stn_error *error) {
    const char *word = argv[*at], *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
    size_t size = equals ? (size_t)(equals - word) : strlen(word);
    const cli_group *group = NULL;
    const cli_option *option = find(usage, word, size, &group);
    if (!option) return unknown(usage, word, size, error);
    if (option->kind == CLI_FLAG) {
        if (value) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s takes no value", option->name);
    } else if (!value) {
        if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s needs a value: %s %s", option->name, option->name,
                            option->value);
        value = argv[++*at];
    }
    return store(option, group->into, value, error);
}

stn_status cli_parse(const cli_usage *usage, int argc, char **argv, bool *help, stn_error *error) {
    size_t positionals = 0;
    bool options = true;
    *help = false;
    for (int at = 1; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-h")) {
            print_help(usage);
            *help = true;
            return STN_OK;
        }
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        if (options && !strcmp(word, "--"))
            options = false;
        else if (options && word[0] == '-' && word[1])
            STN_TRY(take_option(usage, argc, argv, &at, error));
        else if (positionals < usage->positionals_max)
            usage->positionals[positionals++] = word;
        else
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "'%s' is one argument too many: values go with an option, see 'stentor %s --help'", word,
                            usage->command);
    }
    if (positionals < usage->positionals_min)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "an argument is missing: stentor %s %s", usage->command,
                        usage->synopsis);
    return STN_OK;
}
