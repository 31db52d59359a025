/* X-macro list of all NVRTC functions that we call: X(name, (arguments)). All are in NVRTC 12.0. */
#ifndef STN_COMPILE_NVRTC_FUNCTIONS_H
#define STN_COMPILE_NVRTC_FUNCTIONS_H
#include <stddef.h>

typedef struct _nvrtcProgram *stn_nvrtc_program;
typedef unsigned stn_nvrtc_result; /* 0: success */
enum { STN_NVRTC_OUT_OF_MEMORY = 1, STN_NVRTC_COMPILATION = 6, STN_NVRTC_BUILTIN_FAILURE = 7 };

/* clang-format off */
#define STN_NVRTC_FUNCTION_LIST(X)                                                                                     \
    X(nvrtcVersion, (int *major, int *minor))                                                                          \
    X(nvrtcGetNumSupportedArchs, (int *count))                                                                         \
    X(nvrtcGetSupportedArchs, (int *archs))                                                                            \
    X(nvrtcCreateProgram, (stn_nvrtc_program *program, const char *source, const char *name, int header_count,         \
                           const char *const *headers, const char *const *header_names))                               \
    X(nvrtcDestroyProgram, (stn_nvrtc_program *program))                                                               \
    X(nvrtcCompileProgram, (stn_nvrtc_program program, int option_count, const char *const *options))                  \
    X(nvrtcGetPTXSize, (stn_nvrtc_program program, size_t *size))                                                      \
    X(nvrtcGetPTX, (stn_nvrtc_program program, char *ptx))                                                             \
    X(nvrtcGetCUBINSize, (stn_nvrtc_program program, size_t *size))                                                    \
    X(nvrtcGetCUBIN, (stn_nvrtc_program program, char *cubin))                                                         \
    X(nvrtcGetProgramLogSize, (stn_nvrtc_program program, size_t *size))                                               \
    X(nvrtcGetProgramLog, (stn_nvrtc_program program, char *log))
/* clang-format on */

typedef struct stn_nvrtc_functions {
#define STN_NVRTC_FIELD(name, arguments) stn_nvrtc_result(*name) arguments;
    STN_NVRTC_FUNCTION_LIST(STN_NVRTC_FIELD)
#undef STN_NVRTC_FIELD
    const char *(*nvrtcGetErrorString)(stn_nvrtc_result result);
    /* NULL before NVRTC 12.9. The callback is called during a compile, which stops if it returns
     * 1. */
    stn_nvrtc_result (*nvrtcSetFlowCallback)(stn_nvrtc_program program, int (*callback)(void *payload, void *unused),
                                             void *payload);
} stn_nvrtc_functions;
#endif
