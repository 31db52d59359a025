/* One device, and teams of each size of it or of several. */
#ifndef STN_TESTS_TEAM_ALL_SIZES_H
#define STN_TESTS_TEAM_ALL_SIZES_H
#include <stentor.h>

enum { MOST = 8 };

/* Makes a context of one device, and team[m] of m members for m from 1 to MOST, on the host or with
 * gpus > 0 on so many GPUs in turn. *alone is NULL if there is no such device. The caller destroys
 * all of them. */
static inline stn_status make_teams(int gpus, stn_context **alone, stn_team *team[MOST + 1], stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = ":memory:";
    options.device = gpus ? STN_DEVICE_CUDA(0) : STN_DEVICE_HOST;
    int devices[MOST];
    for (int i = 0; i < MOST; i++) devices[i] = gpus ? STN_DEVICE_CUDA(i % gpus) : STN_DEVICE_HOST;
    stn_status status = stn_context_create(&options, alone, error);
    for (int m = 1; m <= MOST && status == STN_OK; m++) status = stn_team_create(&options, m, devices, &team[m], error);
    return status;
}
#endif
