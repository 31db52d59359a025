/* The generic kernels, which run any stencil: for packs, and for the one in the library. */
#ifndef STN_CLI_GENERIC_KERNELS_H
#define STN_CLI_GENERIC_KERNELS_H
#include <stdbool.h>

#include "stentor.h"

/* Makes those of every dtype, which the context's cache then stores or records. with_source: also
 * those of problems with a constant source. */
stn_status cli_make_generic_kernels(stn_context *context, bool with_source, stn_error *error);
#endif
