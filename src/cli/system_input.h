/* The inputs of `stentor run --system`: the text, the fields' arrays, the coefficients. */
#ifndef STN_CLI_SYSTEM_INPUT_H
#define STN_CLI_SYSTEM_INPUT_H
#include "cli/option_parser.h"
#include "io/input.h"
#include "problem/system_task.h"

typedef struct cli_system_settings { /* as given; NULL: not given */
    const char *text;                /* the file of the system's text */
    const char *fields[CLI_LIST_MAX + 1], *coefficients[CLI_LIST_MAX + 1], *keep[CLI_LIST_MAX + 1];
} cli_system_settings;

typedef struct cli_system_input { /* all owned */
    stn_system *system;
    int count;                               /* number of arrays of all fields and levels */
    stn_array fields[STN_SYSTEM_MAX_ARRAYS]; /* of the same shape and dtype */
    stn_array coefficients[STN_SYSTEM_MAX_COEFFICIENTS];
    int is_number[STN_SYSTEM_MAX_COEFFICIENTS];
    /* range of each coefficient's values */
    double low[STN_SYSTEM_MAX_COEFFICIENTS], high[STN_SYSTEM_MAX_COEFFICIENTS];
} cli_system_input;

#define CLI_ARRAY_NAME (STN_SYSTEM_NAME + 16)
/* The name of array i: "u", "u.prev", ... */
void cli_system_array_name(const stn_system *system, int i, char name[CLI_ARRAY_NAME]);
/* VALUE of the NAME=VALUE in a list; NULL: there is none. */
const char *cli_system_given(const char *const *list, const char *name);

/* Reads all inputs. dtype: of --dtype; NULL: of the first field's file. headers_only: of files,
 * only the headers are read: arrays have no data, and ranges of coefficients in files are NaN. */
stn_status cli_system_read(const cli_system_settings *given, const char *dtype, bool headers_only,
                           cli_system_input *input, stn_error *error);
/* The file of array i; for an earlier level that is not given, that of the present one. */
const char *cli_system_field_path(const cli_system_settings *given, const stn_system *system, int i);
void cli_system_input_clear(cli_system_input *input);
#endif
