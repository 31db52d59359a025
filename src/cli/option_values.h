/* Parsers of option values: sizes, types, devices. Errors name the option that was typed. */
#ifndef STN_CLI_OPTION_VALUES_H
#define STN_CLI_OPTION_VALUES_H
#include "io/input.h"

/* Parses "512x512" or "512,512" into 1 to STN_ARRAY_RANK extents. */
stn_status cli_parse_size(const char *option, const char *text, size_t extent[STN_ARRAY_RANK], int *rank,
                          stn_error *error);
/* Parses --dtype, as stn_dtype_parse does. */
stn_status cli_parse_dtype(const char *text, stn_dtype *dtype, stn_error *error);
/* Parses --shape and --dtype of a raw file; --dtype may also be an integer type (uint8, i16, bool)
 * or, if complex_too, a complex one. */
stn_status cli_parse_raw(const char *shape, const char *dtype, bool complex_too, stn_raw *raw, stn_error *error);
/* Parses --device: auto, host or cpu, cuda or gpu, cuda:1. NULL is auto. */
stn_status cli_parse_device(const char *text, int *device, stn_error *error);
/* Parses --mode if it means how to choose a strategy: a value of stn_plan_options.mode. */
stn_status cli_parse_tuning_mode(const char *text, int *mode, stn_error *error);

/* Fails with the status and message of `why`, preceded by the option and its value. */
stn_status cli_fail_option(const char *option, const char *value, const stn_error *why, stn_error *error);
#endif
