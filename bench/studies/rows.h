/* Rows whose length is no multiple of 16 bytes, compared with the even length next to them. */
#ifndef STN_BENCH_ROWS_H
#define STN_BENCH_ROWS_H
#include "../bench.h"
#include "../options.h"

/* Prints a row for each problem and number of columns n - 1, n, n + 1 and n + 2 as it is measured:
 * GStencil/s, the share of the rate of n columns, and the chosen candidate. Results are checked
 * before they are timed. Uses --case, --strategy and --boundary.
 * Errors: a result is wrong. */
stn_status bench_rows(bench *machine, const bench_options *options, stn_error *error);
#endif
