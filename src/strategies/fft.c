/* The fft strategy: batched transforms on tensor cores, after tcFFT. Its kernels are on their way. */
#include <stdio.h>

#include "plan/plan.h"

static bool applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    (void)fft;
    (void)machine;
    snprintf(reason, reason_size, "it has no kernels yet");
    return false;
}

const stn_fft_strategy stn_fft_strategy_fft = {.run = {.name = "fft"}, .applies = applies};
