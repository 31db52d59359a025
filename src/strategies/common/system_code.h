/* Arrays and numbers that the kernels of a system's assignments read, and the assignments as
 * straight-line CUDA code. */
#ifndef STN_STRATEGIES_COMMON_SYSTEM_CODE_H
#define STN_STRATEGIES_COMMON_SYSTEM_CODE_H
#include "plan/plan.h"
#include "problem/system_program.h"

#define STN_SYSTEM_MAX_READ_ARRAYS 64
#define STN_SYSTEM_MAX_OPERATIONS 4096 /* of a point; compiling takes about 1 ms for each ten */
#define STN_SYSTEM_MAX_ARGUMENTS 4096  /* bytes of any kernel's arguments */

/* An array that a kernel reads: a field's level, or a coefficient. Level STN_SYSTEM_NEXT is the
 * state after the launch's first step, the level below it the state after its second step. */
typedef struct stn_system_array {
    bool is_field;
    int index, level;
    /* Ranges of offsets at which the array is read, first and last, always with 0 among them. own:
     * planes, in the column of the computed point. other: planes, in other columns. rows, points:
     * these other columns' offsets across the march and along x. Planes follow each other along
     * axis stn_system_march. */
    int own[2], other[2], rows[2], points[2];
    /* Other columns are read; columns that differ in both row and point are read. */
    bool others, corners;
    bool wraps[3]; /* rendered as if it wrapped along the axis, whatever its sides are */
} stn_system_array;

/* The kernel's values are the numbers, then for each array the constants of its sides. */
typedef struct stn_system_reads {
    int narrays, nnumbers, nvalues; /* nvalues: at least 1 */
    stn_system_array arrays[STN_SYSTEM_MAX_READ_ARRAYS];
    /* For each coefficient, its index in the values; -1: it is not a number. */
    int number_of[STN_SYSTEM_MAX_COEFFICIENTS];
} stn_system_reads;

/* The program of an assignment: each instruction computes one value. The caller clears it, also on
 * failure. */
stn_status stn_system_code_program(const stn_system_task *task, const stn_system_equation *equation,
                                   stn_system_program *program, stn_error *error);

/* The axis along which blocks march: the slowest one of more than one point, z or y. */
int stn_system_march(const stn_system_task *task);

/* begin makes an empty list, add adds all that a program reads (false: the list is full), end
 * counts the values of the complete list. */
void stn_system_reads_begin(stn_system_reads *reads);
bool stn_system_reads_add(const stn_system_task *task, const stn_system_program *program, stn_system_reads *reads);
void stn_system_reads_end(const stn_system_task *task, stn_system_reads *reads);

/* Adds an array to the list, unless it is there, and returns its index; -1: the list is full. */
int stn_system_reads_array(stn_system_reads *reads, bool is_field, int index, int level);
const stn_system_variable *stn_system_array_variable(const stn_system_task *task, const stn_system_array *array);

/* Renders the include of the operators, and SYSTEM_ARRAYS, SYSTEM_VALUES, SYSTEM_SIDES and
 * SYSTEM_PAST, which system/fold.cuh reads. */
void stn_system_render_sides(const stn_system_task *task, const stn_system_reads *reads, stn_text *text);
/* Renders the body of a function of `around` that returns the assigned value. */
void stn_system_render_program(const stn_system_task *task, stn_system_reads *reads, const stn_system_program *program,
                               stn_text *text);
/* Store the constants of sides in the values, after the numbers; store an execution's numbers. */
void stn_system_put_constants(const stn_system_task *task, const stn_system_reads *reads, unsigned char *values);
void stn_system_put_numbers(const stn_system_task *task, const stn_system_reads *reads, const double *numbers,
                            unsigned char *values);
#endif
