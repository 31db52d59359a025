/* Parsers of a system's declarations. Each starts behind its keyword and stops at the end of the
 * statement. */
#ifndef STN_PROBLEM_SYSTEM_DECLARE_H
#define STN_PROBLEM_SYSTEM_DECLARE_H
#include "problem/system_text.h"

stn_status stn_system_declare_fields(stn_system_parser *p);
stn_status stn_system_declare_coefficients(stn_system_parser *p);
stn_status stn_system_declare_stencils(stn_system_parser *p);
stn_status stn_system_declare_boundary(stn_system_parser *p);
/* The construct at byte `at` has this rank, so the system must have it too. */
stn_status stn_system_fix_rank(stn_system_parser *p, size_t at, int rank);
#endif
