/* The kernels modes_power, which multiplies spectra by the power of a step's matrix on a GPU, and
 * modes_columns, which also transforms along the slowest axis before and after: their text, their
 * tables on the device, the launch. */
#ifndef STN_STRATEGIES_MODES_POWER_KERNEL_H
#define STN_STRATEGIES_MODES_POWER_KERNEL_H
#include "context/kernel_value.h"
#include "plan/plan.h"
#include "strategies/common/shared_fft.h"
#include "strategies/modes/linear.h"

#define MODES_MOST_VALUES 128 /* constant factors and divisors, and constants that steps add */

/* Columns of a block of modes_columns, and blocks of a cluster that share them. columns 0:
 * modes_power between whole transforms. */
typedef struct modes_columns {
    int columns, shares;
} modes_columns;
enum { MODES_COLUMNS_CHOICES = 3, MODES_SECTOR = 32 }; /* sector: bytes that are moved together */

/* How threads lie on the frequencies of a spectrum. */
typedef struct modes_power_shape {
    int axis;        /* of the lines of frequencies whose terms a block computes once */
    int slots, taps; /* terms of all stencils, and their taps */
    /* Of modes_power; rows: of frequencies, of a block. */
    int threads_x, threads_y, rows;
    int64_t differ[2]; /* rows whose matrices differ, along axis 0 and 1 */
    /* Of modes_columns; columns: of a block. */
    int columns;
    stn_shared_fft line;
    int64_t chunks, blocks; /* blocks of a row, or of a grid, and all */
} modes_power_shape;

typedef struct modes_power {
    modes_power_shape shape;
    stn_kernel *kernel;
    /* Device memory, owned: taps, roots of each axis, twiddle factors. */
    void *tables;
    size_t coarse[3], fine[3], twiddles; /* byte offsets */
    int low[3];
    int nvalues, value[MODES_MOST_VALUES]; /* the node of each value */
    bool divides[MODES_MOST_VALUES];       /* the value is the node's reciprocal */
} modes_power;

/* A pass over the spectra. */
typedef struct modes_power_pass {
    void *spectrum, *to; /* `to` may be the spectrum, and is for modes_columns */
    bool keeps;          /* modes_power: the result is stored to the spectrum too */
    bool levels;         /* `to` gets levels, not their differences */
    uint64_t steps;
    double scale; /* of the result; the constants that steps add are at this scale too */
} modes_power_pass;

/* False, with the reason in one phrase, where the kernel cannot serve the system. */
bool modes_power_fits(const modes_linear *linear, const stn_machine *machine, char *reason, size_t size);
/* The choices of modes_columns that serve a system, the best guess first; returns their number. */
int modes_columns_list(const modes_linear *linear, const stn_machine *machine,
                       modes_columns list[MODES_COLUMNS_CHOICES]);
/* Operations of float64 of a pass of modes_power or of modes_columns, but for transforms. */
double modes_power_flops(const modes_linear *linear, bool columns);
/* Are its matrices in registers, not in local memory? */
bool modes_power_unrolls(const modes_linear *linear);
/* Renders the numbers of the state and of each field, which kernels read as MODES_WIDTH,
 * MODES_FIELDS and MODES_FIELD. */
void modes_render_fields(const modes_linear *linear, stn_text *text);
/* *power is zero before; the caller clears it in any case. */
stn_status modes_power_make(stn_plan *plan, const modes_linear *linear, modes_columns choice, modes_power *power,
                            stn_error *error);
void modes_power_clear(const stn_plan *plan, modes_power *power);
stn_status modes_power_run(const modes_power *power, const modes_linear *linear, const double *numbers,
                           const modes_power_pass *pass, void *stream, stn_error *error);
#endif
