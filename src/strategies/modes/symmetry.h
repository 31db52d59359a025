/* What is the same at frequencies that mirror each other. */
#ifndef STN_STRATEGIES_MODES_SYMMETRY_H
#define STN_STRATEGIES_MODES_SYMMETRY_H
#include "strategies/modes/linear.h"

/* modes_linear_make, and the symmetries of the matrix. False, with the reason in one phrase, where
 * waves do not serve the system, which includes mirrors that its stencils do not keep. Cleared by
 * the caller in any case. */
bool modes_analyse(const stn_system_task *task, modes_linear *linear, char *reason, size_t size);
#endif
