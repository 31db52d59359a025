/* Parsers of a system's declarations. Each begins after its keyword and stops at the end of the
 * statement. */
#ifndef STN_PROBLEM_SYSTEM_DECLARE_H
#define STN_PROBLEM_SYSTEM_DECLARE_H
#include "problem/system_text.h"

stn_status stn_system_declare_fields(stn_system_parser *p);
stn_status stn_system_declare_coefficients(stn_system_parser *p);
stn_status stn_system_declare_stencils(stn_system_parser *p);
stn_status stn_system_declare_boundary(stn_system_parser *p);
/* Sets the system's rank to that of the construct at byte `at`, or fails if it differs. */
stn_status stn_system_fix_rank(stn_system_parser *p, size_t at, int rank);
#endif
