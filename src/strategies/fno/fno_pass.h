/* Launches of fno_line and fno_split (kernel_templates/fno/), with parameters and arguments: a
 * transform of lines along one axis, the mixing of channels, the inverse transform, or some of
 * these. */
#ifndef STN_STRATEGIES_FNO_FNO_PASS_H
#define STN_STRATEGIES_FNO_FNO_PASS_H
#include "context/kernel.h"
#include "strategies/fno/fno_line_shape.h"

typedef struct fno_pointers {
    const void *in, *weights, *bias, *twiddles;
    void *out;
} fno_pointers;

stn_status fno_pass_prepare(stn_kernel_set *kernels, const fno_pass *pass, fno_numbers numbers,
                            const fno_line_shape *shape, stn_kernel **kernel, stn_error *error);
stn_status fno_pass_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                           const fno_line_shape *shape, const stn_machine *machine, const fno_pointers *at,
                           void *stream, stn_error *error);
/* For other kernels that run the same pass: its parameters, and a launch with its arguments.
 * each: items of a block, as fno_line_blocks sets it; 1 for these kernels. */
void fno_pass_params(const fno_pass *pass, fno_numbers numbers, stn_text *params);
typedef struct fno_blocks {
    int64_t count, each;
    int threads;
    size_t shared;
} fno_blocks;
stn_status fno_pass_launch_as(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers, fno_blocks blocks,
                              const fno_pointers *at, void *stream, stn_error *error);
#endif
