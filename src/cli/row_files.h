/* Files of grids that several processes read and write by rows, each its own; no process holds the
 * grid. Without processes (a team of this one's devices) the one part is the grid. */
#ifndef STN_CLI_ROW_FILES_H
#define STN_CLI_ROW_FILES_H
#include "cli/shared_options.h"
#include "team/team.h"

typedef struct cli_rows {
    const stn_team *team;
    stn_array whole;    /* the whole grid's extents and dtype, without data */
    int axis;           /* the axis that is cut: the stencil's slowest */
    size_t first, rows; /* this process's, from stn_team_plan_local */
} cli_rows;

/* Sets first and rows: those of this process in a plan, or all where it holds the whole grid. */
stn_status cli_rows_of_plan(cli_rows *rows, const stn_team_plan *plan, stn_error *error);
/* Memory for this process's rows of a grid, set to zero; *array is the caller's. */
stn_status cli_rows_make(const cli_rows *rows, stn_array *array, stn_error *error);
/* Reads this process's rows from a file. If path is NULL, draws them from --random's seed. */
stn_status cli_rows_read(const cli_rows *rows, const char *path, const stn_raw *raw, uint64_t seed, stn_array *array,
                         stn_error *error);

/* Writes an .npy whole or not at all: rank 0 begins a file beside its place, all write their rows
 * into it, and it takes its place after all have. comment: stn_npy_preamble's. All processes call
 * it, and all get the same status. */
stn_status cli_rows_write(const cli_rows *rows, const char *path, const char *comment, const stn_array *array,
                          stn_error *error);
#endif
