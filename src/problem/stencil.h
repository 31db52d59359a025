/* The taps as a value. */
#ifndef STN_PROBLEM_STENCIL_H
#define STN_PROBLEM_STENCIL_H
#include "stentor.h"

struct stn_stencil {
    int rank;
    size_t ntaps;
    stn_tap *taps; /* sorted by offset, axis 0 first */
};

/* The named stencils' builders live in named.c; this copies, sorts and checks. */
#endif
