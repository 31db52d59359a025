/* The table of kinds, by which plan/ makes subplans. */
#include "kinds/kinds.h"

const stn_kind *const stn_kinds[STN_KIND_COUNT] = {
    [STN_KIND_STENCIL] = &stn_kind_stencil,
    [STN_KIND_FFT] = &stn_kind_fft,
    [STN_KIND_LAYER] = &stn_kind_layer,
    [STN_KIND_SYSTEM] = &stn_kind_system,
};
