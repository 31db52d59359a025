/* Compiling all kernels of a list of problems, for several architectures, on several threads. */
#ifndef STN_CLI_PACK_BUILD_H
#define STN_CLI_PACK_BUILD_H
#include "cli/problem_list.h"
#include "cli/settings.h"

typedef struct cli_pack_order {
    const char *problems; /* a file of problem_list.h's form */
    const char *archs;    /* "sm_80,sm_90" */
    const char *out;
    uint64_t threads; /* 0: as many as this process may use */
    const char *cache_dir;
    const char *packs[CLI_LIST_MOST + 1]; /* ready kernels are taken from there */
    bool all_ptx; /* keep every architecture's PTX, not only the newest's, which serves all GPUs that are newer still */
} cli_pack_order;

typedef struct cli_pack_result {
    size_t problems, archs, kernels, bytes, threads;
    double seconds;
    stn_cache_stats stats; /* of all architectures together */
} cli_pack_result;

/* Needs no GPU, and NVRTC only for kernels that are not stored yet. Errors name the problem and the
 * architecture; the pack is then not written. */
stn_status cli_pack_build(const cli_pack_order *order, const cli_report_settings *report, cli_pack_result *result,
                          stn_error *error);
#endif
