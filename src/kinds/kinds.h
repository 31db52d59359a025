/* The kinds of work: what a plan can be made for, each described by a table of operations
 * (plan/kind.h). */
#ifndef STN_KINDS_KINDS_H
#define STN_KINDS_KINDS_H
#include "plan/kind.h"

extern const stn_kind stn_kind_stencil, stn_kind_fft, stn_kind_layer, stn_kind_system;
#endif
