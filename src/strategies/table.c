/* The one table of strategies, a row each. */
#include "strategies/table.h"

const stn_strategy *const stn_stencil_strategies[] = {
    &stn_strategy_host,
    &stn_strategy_direct,
    &stn_strategy_lowrank,
    &stn_strategy_segment,
    &stn_strategy_spectral,
    &stn_strategy_sourced,
    &stn_strategy_host_spectral,
    &stn_strategy_aperiodic,
    &stn_strategy_sparse,
    &stn_strategy_cufft_spectral,
    &stn_strategy_typed,
    &stn_strategy_converted,
    &stn_strategy_normalized,
    &stn_strategy_padded,
    &stn_strategy_chunked, /* last: it composes runs of those before it */
    NULL,
};

const stn_strategy *const stn_fft_strategies[] = {
    &stn_fft_strategy_host, &stn_fft_strategy_fft, &stn_fft_strategy_block, &stn_fft_strategy_cufft, NULL,
};

const stn_strategy *const stn_layer_strategies[] = {
    &stn_layer_strategy_host,
    &stn_layer_strategy_fno,
    &stn_layer_strategy_cublas,
    NULL,
};

const stn_strategy *const stn_system_strategies[] = {
    &stn_system_strategy_host, &stn_system_strategy_modes, &stn_system_strategy_step, &stn_system_strategy_fused, NULL,
};
