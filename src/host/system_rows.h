/* Evaluation of a system's assignment over a piece of a row: its program, with a row of scratch
 * memory for each result that is still needed. */
#ifndef STN_HOST_SYSTEM_ROWS_H
#define STN_HOST_SYSTEM_ROWS_H
#include "host/system_kernels.h"
#include "problem/system_program.h"
#include "problem/system_task.h"

/* The arrays and numbers that an assignment reads in one step. */
typedef struct stn_host_sources {
    /* Level 0 is the next state, 1 the present one, and so on. */
    const char *fields[STN_SYSTEM_MAX_FIELDS][STN_SYSTEM_MAX_LEVELS + 1];
    const void *coefficients[STN_SYSTEM_MAX_COEFFICIENTS]; /* NULL: a number */
    double numbers[STN_SYSTEM_MAX_COEFFICIENTS];
} stn_host_sources;

typedef struct stn_host_rows {
    const stn_system_task *task; /* borrowed */
    const stn_system_kernels *kernels;
    stn_system_program program;
    int *row;       /* row in the scratch memory of each instruction */
    int64_t points; /* per piece */
    int before;     /* points in a row before the piece's first */
    size_t bytes;   /* per row */
    size_t scratch; /* bytes of all rows and of a pointer for each instruction */
} stn_host_rows;

stn_status stn_host_rows_make(const stn_system_task *task, const stn_system_equation *equation, stn_host_rows *rows,
                              stn_error *error);
void stn_host_rows_clear(stn_host_rows *rows);
/* Fills the rows of numbers, which do not change. */
void stn_host_rows_begin(const stn_host_rows *rows, const double *numbers, char *scratch);
/* Computes points `begin` to begin + count (at most rows->points) of the row at[0], at[1] of a
 * grid, and stores them to `next`. */
void stn_host_rows_run(const stn_host_rows *rows, const stn_host_sources *sources, int64_t grid, const int64_t at[2],
                       int64_t begin, int64_t count, char *scratch, void *next);
#endif
