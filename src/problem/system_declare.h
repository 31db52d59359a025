/* The declarations of a system's text. Each begins after its keyword, and ends where the statement
 * does. */
#ifndef STN_PROBLEM_SYSTEM_DECLARE_H
#define STN_PROBLEM_SYSTEM_DECLARE_H
#include "problem/system_text.h"

stn_status stn_system_declare_fields(stn_system_parser *p);
stn_status stn_system_declare_coefficients(stn_system_parser *p);
stn_status stn_system_declare_stencils(stn_system_parser *p);
stn_status stn_system_declare_boundary(stn_system_parser *p);
/* What begins at byte `at` is of this rank, and so is the system. */
stn_status stn_system_fix_rank(stn_system_parser *p, size_t at, int rank);
#endif
