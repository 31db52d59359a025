/* Symmetries of the step's matrix under a change of sign of the frequency. */
#ifndef STN_STRATEGIES_MODES_SYMMETRY_H
#define STN_STRATEGIES_MODES_SYMMETRY_H
#include "strategies/modes/linear.h"

typedef enum modes_parity { MODES_ABSENT, MODES_EVEN, MODES_ODD, MODES_NEITHER } modes_parity;

/* The parity of a stencil under a change of sign of the offsets along an axis; 3: along all. */
modes_parity modes_stencil_parity(const stn_system_stencil *stencil, int flip);

/* Does what modes_linear_make does, and finds the symmetries. Returns false, with the reason in one
 * phrase, if the strategy cannot serve the system; the stencils must keep the symmetry of mirrored
 * axes. The caller clears *linear in any case. */
bool modes_analyse(const stn_system_task *task, modes_linear *linear, char *reason, size_t size);
#endif
