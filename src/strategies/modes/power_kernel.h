/* The kernel modes_power, which multiplies spectra by the power of a step's matrix on a GPU: its
 * text, its tables on the device, the launch. */
#ifndef STN_STRATEGIES_MODES_POWER_KERNEL_H
#define STN_STRATEGIES_MODES_POWER_KERNEL_H
#include "context/kernel.h"
#include "plan/plan.h"
#include "strategies/modes/linear.h"

#define MODES_MAX_VALUES 128 /* constant factors and divisors, and constants that steps add */

/* The sum of two doubles: `wide` of the kernels. */
typedef struct modes_value {
    double top, rest;
} modes_value;
/* Mirror the structs of matrix.cuh. */
typedef struct modes_device_roots {
    const void *coarse, *fine;
    int64_t n, low;
} modes_device_roots;
typedef struct modes_symbol_tables {
    const void *taps;
    modes_device_roots axis[3];
} modes_symbol_tables;

/* How threads lie on the frequencies of a spectrum. */
typedef struct modes_power_shape {
    int axis;                       /* of the lines of frequencies that have the same terms */
    int slots, taps;                /* terms of all stencils, and their taps */
    int threads_x, threads_y, rows; /* rows: of frequencies, of a block */
    int64_t differ[2];              /* rows whose matrices differ, along axis 0 and 1 */
    int64_t chunks, blocks;         /* blocks of a row, and all */
} modes_power_shape;

typedef struct modes_power {
    modes_power_shape shape;
    stn_kernel *kernel;
    /* Device memory, owned: taps, roots of each axis. */
    void *tables;
    size_t coarse[3], fine[3]; /* byte offsets */
    int low[3];
    int nvalues, value[MODES_MAX_VALUES]; /* the node of each value */
    bool divides[MODES_MAX_VALUES];       /* the value is the node's reciprocal */
} modes_power;

/* A pass over the spectra. */
typedef struct modes_power_pass {
    void *spectrum, *to; /* `to` may be the spectrum */
    bool keeps;          /* the result is stored to the spectrum too */
    bool levels;         /* `to` gets levels, not their differences */
    uint64_t steps;
    double scale; /* factor of the result, except for the constants that steps add */
} modes_power_pass;

/* False, with the reason in one phrase, where the kernel cannot serve the system. */
bool modes_power_fits(const modes_linear *linear, const stn_machine *machine, char *reason, size_t size);
/* Operations of float64 of a pass. */
double modes_power_flops(const modes_linear *linear);
/* Are the kernel's matrices in registers, not in local memory? */
bool modes_power_unrolls(const modes_linear *linear);
/* Renders the numbers of the state and of each field, which kernels read as MODES_WIDTH,
 * MODES_FIELDS and MODES_FIELD. */
void modes_render_fields(const modes_linear *linear, stn_text *text);
/* *power must be zero. The caller clears it in any case. */
stn_status modes_power_make(stn_plan *plan, const modes_linear *linear, modes_power *power, stn_error *error);
/* Makes the tables of symbols along lines of `axis`, and renders what matrix.cuh reads after the
 * fields: the symbols and the matrix. */
stn_status modes_power_symbols(stn_plan *plan, const modes_linear *linear, int axis, modes_power *power, stn_text *text,
                               stn_error *error);
/* The arguments of matrix.cuh. */
modes_symbol_tables modes_power_tables(const modes_power *power, const modes_linear *linear);
void modes_power_values(const modes_power *power, const modes_linear *linear, const double *numbers, modes_value *to);
void modes_power_clear(const stn_plan *plan, modes_power *power);
stn_status modes_power_run(const modes_power *power, const modes_linear *linear, const double *numbers,
                           const modes_power_pass *pass, void *stream, stn_error *error);
#endif
