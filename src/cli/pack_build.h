/* Compiles all kernels of a list of problems, for several architectures, on several threads. */
#ifndef STN_CLI_PACK_BUILD_H
#define STN_CLI_PACK_BUILD_H
#include "cli/problem_list.h"
#include "cli/shared_options.h"

typedef struct cli_pack_options {
    const char *problems; /* a file in the format of problem_list.h */
    const char *archs;    /* "sm_80,sm_90" */
    const char *out;
    uint64_t threads; /* 0: as many as this process may use */
    const char *cache_dir;
    const char *packs[CLI_LIST_MAX + 1]; /* packs of compiled kernels to reuse */
    /* Keep the PTX of every architecture. Otherwise only the newest one's is kept, which all newer
     * GPUs can use. */
    bool all_ptx;
} cli_pack_options;

typedef struct cli_pack_result {
    size_t problems, archs, kernels, bytes, threads;
    double seconds;
    stn_cache_stats stats; /* sum over all architectures */
} cli_pack_result;

/* Needs no GPU; needs NVRTC only for kernels that are not stored. Errors name the problem and the
 * architecture; the pack is then not written. */
stn_status cli_pack_build(const cli_pack_options *options, const cli_report_settings *report, cli_pack_result *result,
                          stn_error *error);
#endif
