/* An assignment of a system over a piece of a row: its program, with a row of memory for each
 * result that is still needed. */
#ifndef STN_HOST_SYSTEM_ROWS_H
#define STN_HOST_SYSTEM_ROWS_H
#include "host/system_kernels.h"
#include "problem/system_program.h"
#include "problem/system_task.h"

/* What an assignment reads in one step. */
typedef struct stn_host_sources {
    const char *fields[STN_SYSTEM_MAX_FIELDS][STN_SYSTEM_MAX_LEVELS + 1]; /* [0]: the next state, [1]: the present... */
    const void *coefficients[STN_SYSTEM_MAX_COEFFICIENTS];                /* NULL: the number */
    double numbers[STN_SYSTEM_MAX_COEFFICIENTS];
} stn_host_sources;

typedef struct stn_host_rows {
    const stn_system_task *task; /* borrowed */
    const stn_system_kernels *kernels;
    stn_system_program program;
    int *row;       /* of each instruction, in the scratch memory */
    int64_t points; /* of a piece */
    int before;     /* points of a row before the piece's first */
    size_t bytes;   /* of a row */
    size_t scratch; /* of all rows and of a pointer for each instruction */
} stn_host_rows;

stn_status stn_host_rows_make(const stn_system_task *task, const stn_system_equation *equation, stn_host_rows *rows,
                              stn_error *error);
void stn_host_rows_clear(stn_host_rows *rows);
/* Fills the rows of numbers, which stay. */
void stn_host_rows_begin(const stn_host_rows *rows, const double *numbers, char *scratch);
/* Points `begin` to begin + count of the row at[0], at[1] of a grid, at most rows->points, to
 * `next`. */
void stn_host_rows_run(const stn_host_rows *rows, const stn_host_sources *sources, int64_t grid, const int64_t at[2],
                       int64_t begin, int64_t count, char *scratch, void *next);
#endif
