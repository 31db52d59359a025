/* The generic kernels, which run any stencil: for packs, and for the one in the library. */
#ifndef STN_CLI_GENERIC_KERNELS_H
#define STN_CLI_GENERIC_KERNELS_H
#include <stdbool.h>

#include "cache/pack.h"
#include "stentor.h"

/* Makes those of every dtype, which the context's cache then stores or records. with_source: also
 * those of problems with a constant source. */
stn_status cli_make_generic_kernels(stn_context *context, bool with_source, stn_error *error);
/* Adds those that the library contains, without sources, for these architectures ("sm_90"), with
 * the PTX of the oldest one: it serves all newer GPUs that run none of the cubins. cache_dir: as of
 * stn_context_options. After a failure the remaining architectures are added all the same. */
stn_status cli_record_embedded_kernels(stn_pack_writer *writer, const char *const *archs, size_t count,
                                       const char *cache_dir, stn_error *error);
#endif
