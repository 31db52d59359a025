/* Symmetries of a step's matrix between frequencies that are mirror images. */
#ifndef STN_STRATEGIES_MODES_SYMMETRY_H
#define STN_STRATEGIES_MODES_SYMMETRY_H
#include "strategies/modes/linear.h"

/* modes_linear_make, and the symmetries of the matrix. False, with the reason in one phrase, if the
 * system has no such form, for example if its stencils break a mirror symmetry of its sides. The
 * caller clears *linear in either case. */
bool modes_analyse(const stn_system_task *task, modes_linear *linear, char *reason, size_t size);
#endif
