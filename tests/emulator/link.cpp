// Emulates the driver's just-in-time compiler: PTX becomes a cubin for this chip.
#include <cstring>

#include "build.h"
#include "emulated_driver.h"

using namespace stn_emulator;

struct CUlinkState_st {
    std::string cubin;
};
using CUlinkState = CUlinkState_st *;

enum { CU_JIT_INPUT_PTX = 1 };

EXPORT CUresult cuLinkCreate_v2(unsigned, int *, void **, CUlinkState *state) {
    COUNTED(CUDA_ERROR_OUT_OF_MEMORY);
    IN_CONTEXT();
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult r = check_not_capturing()) return r;
    *state = new CUlinkState_st;
    set_live(*state, true);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t size, const char *, unsigned, int *,
                                 void **) {
    COUNTED(CUDA_ERROR_INVALID_PTX);
    IN_CONTEXT();
    if (!is_live(state)) return CUDA_ERROR_INVALID_HANDLE;
    if (type != CU_JIT_INPUT_PTX) return CUDA_ERROR_NOT_SUPPORTED;
    Program program;
    if (!data || !size || static_cast<char *>(data)[size - 1] || !unpack(data, &program) || !program.ptx)
        return CUDA_ERROR_INVALID_PTX;
    if (CUresult r = check_target(program)) return r;
    program.ptx = false;
    program.sm = settings.sm;
    state->cubin = pack(program);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size) {
    COUNTED(CUDA_ERROR_INVALID_PTX);
    IN_CONTEXT();
    if (!is_live(state)) return CUDA_ERROR_INVALID_HANDLE;
    if (!cubin || !size || state->cubin.empty()) return CUDA_ERROR_INVALID_VALUE;
    *cubin = &state->cubin[0];
    *size = state->cubin.size() + 1;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLinkDestroy(CUlinkState state) {
    COUNTED(CUDA_ERROR_INVALID_HANDLE);
    INITIALIZED();
    if (!is_live(state)) return CUDA_ERROR_INVALID_HANDLE;
    set_live(state, false);
    delete state;
    return CUDA_SUCCESS;
}
