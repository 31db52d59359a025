/* What users may write as an option's value: sizes, types, devices, boundaries. Errors name the
 * option that was typed. */
#ifndef STN_CLI_SPELLING_H
#define STN_CLI_SPELLING_H
#include "io/input.h"

/* "512x512" or "512,512" into 1 to STN_ARRAY_RANK extents. */
stn_status cli_parse_size(const char *option, const char *text, size_t extent[STN_ARRAY_RANK], int *rank,
                          stn_error *error);
/* --dtype: as stn_dtype_parse. */
stn_status cli_parse_dtype(const char *text, stn_dtype *dtype, stn_error *error);
/* --shape and --dtype of a raw file: dtype also of whole numbers (uint8, i16, bool) and, where complex_too, of complex
 * ones. */
stn_status cli_parse_raw(const char *shape, const char *dtype, bool complex_too, stn_raw *raw, stn_error *error);
/* --device: auto, host or cpu, cuda or gpu, cuda:1. NULL is auto. */
stn_status cli_parse_device(const char *text, int *device, stn_error *error);
/* --mode, where it says how to choose a strategy: a value of stn_plan_options.mode. */
stn_status cli_parse_tuning_mode(const char *text, int *mode, stn_error *error);
/* One boundary for all axes or one for each, as stn_boundary_parse takes them, with commas
 * between. */
stn_status cli_parse_boundaries(const char *option, const char *text, int rank, stn_boundary boundary[][2],
                                stn_error *error);

/* Fails as `why` did, with the option and its value in front of the sentence. */
stn_status cli_fail_option(const char *option, const char *value, const stn_error *why, stn_error *error);
#endif
