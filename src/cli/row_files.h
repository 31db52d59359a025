/* Files of grids that several processes read and write. Each process holds its own rows only. If
 * the team consists of devices of one process, that process holds all rows. */
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

/* Writes an .npy file completely or not at all: rank 0 creates a temporary file in the same folder,
 * all processes write their rows into it, and then rank 0 renames it. comment: see
 * stn_npy_preamble. All processes call this function, and all get the same status. */
stn_status cli_rows_write(const cli_rows *rows, const char *path, const char *comment, const stn_array *array,
                          stn_error *error);
#endif
