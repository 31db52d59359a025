/* X-macro list of all cuFFT functions that we call: X(name, (arguments)), all in cuFFT 11, and the
 * types that they use. If the toolkit's header is installed, tests/launch compares them with it. */
#ifndef STN_LAUNCH_CUFFT_FUNCTIONS_H
#define STN_LAUNCH_CUFFT_FUNCTIONS_H
#include "launch/cuda_types.h"

typedef int stn_cufft_handle;
typedef int stn_cufft_type; /* cudaDataType */

/* cuFFT's result values, and advice for the user. */
#define STN_CUFFT_RESULT_LIST(X)                                                                                       \
    X(CUFFT_SUCCESS, 0, "")                                                                                            \
    X(CUFFT_INVALID_PLAN, 1, "please report this message")                                                             \
    X(CUFFT_ALLOC_FAILED, 2, "free device memory or use a smaller transform")                                          \
    X(CUFFT_INVALID_TYPE, 3, "please report this message")                                                             \
    X(CUFFT_INVALID_VALUE, 4, "please report this message")                                                            \
    X(CUFFT_INTERNAL_ERROR, 5, "check that the driver is as new as this cuFFT needs")                                  \
    X(CUFFT_EXEC_FAILED, 6, "check that the pointers are device memory that holds the transform's layout")             \
    X(CUFFT_SETUP_FAILED, 7, "check that the driver is as new as this cuFFT needs")                                    \
    X(CUFFT_INVALID_SIZE, 8, "use another size or dtype")                                                              \
    X(CUFFT_UNALIGNED_DATA, 9, "align the pointers to one complex number")                                             \
    X(CUFFT_INVALID_DEVICE, 11, "please report this message")                                                          \
    X(CUFFT_NO_WORKSPACE, 13, "please report this message")                                                            \
    X(CUFFT_NOT_IMPLEMENTED, 14, "use another size or dtype")                                                          \
    X(CUFFT_NOT_SUPPORTED, 16, "use another size or dtype")                                                            \
    X(CUFFT_MISSING_DEPENDENCY, 17, "install cuFFT with all that its package asks for")                                \
    X(CUFFT_NVRTC_FAILURE, 18, "install cuFFT with all that its package asks for")                                     \
    X(CUFFT_NVJITLINK_FAILURE, 19, "install cuFFT with all that its package asks for")

typedef enum stn_cufft_result {
#define STN_CUFFT_RESULT_ENUM(name, value, advice) STN_##name = value,
    STN_CUFFT_RESULT_LIST(STN_CUFFT_RESULT_ENUM)
#undef STN_CUFFT_RESULT_ENUM
} stn_cufft_result;

enum { STN_CUFFT_FORWARD = -1, STN_CUFFT_INVERSE = 1 };
/* cudaDataType of each dtype: real, complex. */
enum {
    STN_CUDA_R_32F = 0,
    STN_CUDA_R_64F = 1,
    STN_CUDA_R_16F = 2,
    STN_CUDA_C_32F = 4,
    STN_CUDA_C_64F = 5,
    STN_CUDA_C_16F = 6
};

/* clang-format off */
#define STN_CUFFT_FUNCTION_LIST(X)                                                                                     \
    X(cufftGetVersion, (int *version))                                                                                 \
    X(cufftCreate, (stn_cufft_handle *plan))                                                                           \
    X(cufftDestroy, (stn_cufft_handle plan))                                                                           \
    X(cufftSetAutoAllocation, (stn_cufft_handle plan, int automatic))                                                  \
    X(cufftXtMakePlanMany, (stn_cufft_handle plan, int rank, long long *n, long long *in_embed, long long in_stride,   \
                            long long in_distance, stn_cufft_type in_type, long long *out_embed, long long out_stride, \
                            long long out_distance, stn_cufft_type out_type, long long batch, size_t *workspace,       \
                            stn_cufft_type execution_type))                                                            \
    X(cufftSetStream, (stn_cufft_handle plan, stn_cu_stream stream))                                                   \
    X(cufftSetWorkArea, (stn_cufft_handle plan, void *workspace))                                                      \
    X(cufftXtExec, (stn_cufft_handle plan, void *in, void *out, int direction))
/* clang-format on */

typedef struct stn_cufft_functions {
#define STN_CUFFT_FIELD(name, arguments) stn_cufft_result(*name) arguments;
    STN_CUFFT_FUNCTION_LIST(STN_CUFFT_FIELD)
#undef STN_CUFFT_FIELD
} stn_cufft_functions;
#endif
