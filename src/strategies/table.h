/* Every strategy of the library, and the tables that list them, one for each kind of work. */
#ifndef STN_STRATEGIES_TABLE_H
#define STN_STRATEGIES_TABLE_H
#include "plan/strategy.h"

/* In the order in which they are ranked when estimates are equal; each ends with NULL. */
extern const stn_strategy *const stn_stencil_strategies[];
extern const stn_strategy *const stn_fft_strategies[];
extern const stn_strategy *const stn_layer_strategies[];
extern const stn_strategy *const stn_system_strategies[];

extern const stn_strategy stn_strategy_host, stn_strategy_direct, stn_strategy_lowrank, stn_strategy_segment,
    stn_strategy_spectral, stn_strategy_sourced, stn_strategy_host_spectral, stn_strategy_aperiodic,
    stn_strategy_sparse, stn_strategy_cufft_spectral, stn_strategy_typed, stn_strategy_converted,
    stn_strategy_normalized, stn_strategy_padded, stn_strategy_chunked;
extern const stn_strategy stn_fft_strategy_host, stn_fft_strategy_fft, stn_fft_strategy_block, stn_fft_strategy_cufft;
extern const stn_strategy stn_layer_strategy_host, stn_layer_strategy_fno, stn_layer_strategy_cublas;
extern const stn_strategy stn_system_strategy_host, stn_system_strategy_modes, stn_system_strategy_step,
    stn_system_strategy_fused;
#endif
