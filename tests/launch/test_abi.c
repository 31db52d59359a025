/* Compares our declarations of the driver with the toolkit's headers: values, sizes, offsets,
 * signatures and the release that introduced each. The compiler checks everything; running the test
 * only prints how much. */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdio.h>
#if __has_include(<cufftXt.h>)
#include <cufftXt.h>
#endif
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

#include "launch/cublas_functions.h"
#include "launch/cuda_types.h"
#include "launch/cufft_functions.h"
#include "launch/driver_functions.h"
#include "team/nccl.h"

#define CHECK_VALUE(name, value) _Static_assert((long long)(value) == (long long)(name), #name);
STN_CU_CONSTANT_LIST(CHECK_VALUE)

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
SAME_SIZE(stn_cu_result, CUresult);
SAME_SIZE(stn_cu_enum, CUdevice_attribute);
SAME_SIZE(stn_cu_device, CUdevice);
SAME_SIZE(stn_cu_pointer, CUdeviceptr);
SAME_SIZE(stn_cu_uuid, CUuuid);
SAME_SIZE(stn_cu_launch_attribute, CUlaunchAttribute);
SAME_SIZE(stn_cu_launch_config, CUlaunchConfig);
SAME_SIZE(stn_cu_memcpy_3d_peer, CUDA_MEMCPY3D_PEER);

#define SAME_PLACE(our_type, our_field, their_type, their_field)                                                       \
    _Static_assert(offsetof(our_type, our_field) == offsetof(their_type, their_field), #our_field)
SAME_PLACE(stn_cu_launch_attribute, value.cluster.z, CUlaunchAttribute, value.clusterDim.z);
SAME_PLACE(stn_cu_memcpy_3d_peer, from.memory_type, CUDA_MEMCPY3D_PEER, srcMemoryType);
SAME_PLACE(stn_cu_memcpy_3d_peer, from.device, CUDA_MEMCPY3D_PEER, srcDevice);
SAME_PLACE(stn_cu_memcpy_3d_peer, to.context, CUDA_MEMCPY3D_PEER, dstContext);
SAME_PLACE(stn_cu_memcpy_3d_peer, to.pitch, CUDA_MEMCPY3D_PEER, dstPitch);
SAME_PLACE(stn_cu_memcpy_3d_peer, width, CUDA_MEMCPY3D_PEER, WidthInBytes);
SAME_PLACE(stn_cu_launch_config, grid_z, CUlaunchConfig, gridDimZ);
SAME_PLACE(stn_cu_launch_config, block_z, CUlaunchConfig, blockDimZ);
SAME_PLACE(stn_cu_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_PLACE(stn_cu_launch_config, stream, CUlaunchConfig, hStream);
SAME_PLACE(stn_cu_launch_config, attributes, CUlaunchConfig, attrs);
SAME_PLACE(stn_cu_launch_config, attribute_count, CUlaunchConfig, numAttrs);

/* The toolkit names a function's type by its release: PFN_cuMemAlloc_v3020. So our pinned release
 * must exist, and the signature must be the one of that release, with our own structs in place of
 * the toolkit's. */
#define stn_cu_uuid CUuuid
#define stn_cu_launch_config CUlaunchConfig
#define stn_cu_memcpy_3d_peer CUDA_MEMCPY3D_PEER
#define CHECK_FUNCTION(name, version, arguments)                                                                       \
    _Static_assert(__builtin_types_compatible_p(stn_cu_result(*) arguments, PFN_##name##_v##version), #name);
STN_DRIVER_FUNCTION_LIST(CHECK_FUNCTION)

#if __has_include(<cufftXt.h>)
#if CUFFT_VERSION >= 12000 /* older headers lack some results */
#define CHECK_RESULT(name, value, advice) _Static_assert((int)name == (value), #name);
STN_CUFFT_RESULT_LIST(CHECK_RESULT)
#endif
_Static_assert(STN_CUFFT_FORWARD == CUFFT_FORWARD && STN_CUFFT_INVERSE == CUFFT_INVERSE, "directions");
_Static_assert((int)STN_CUDA_R_16F == (int)CUDA_R_16F && (int)STN_CUDA_C_16F == (int)CUDA_C_16F, "f16");
_Static_assert((int)STN_CUDA_R_32F == (int)CUDA_R_32F && (int)STN_CUDA_C_32F == (int)CUDA_C_32F, "f32");
_Static_assert((int)STN_CUDA_R_64F == (int)CUDA_R_64F && (int)STN_CUDA_C_64F == (int)CUDA_C_64F, "f64");
_Static_assert(sizeof(stn_cufft_handle) == sizeof(cufftHandle), "handle");
#define stn_cufft_type cudaDataType
#define CHECK_CUFFT(name, arguments)                                                                                   \
    _Static_assert(__builtin_types_compatible_p(cufftResult(*) arguments, __typeof__(&name)), #name);
STN_CUFFT_FUNCTION_LIST(CHECK_CUFFT)
#endif
#if __has_include(<cublas_v2.h>)
#define CHECK_CUBLAS_RESULT(name, value, advice) _Static_assert((int)name == (value), #name);
STN_CUBLAS_RESULT_LIST(CHECK_CUBLAS_RESULT)
_Static_assert((int)STN_CUBLAS_OP_N == (int)CUBLAS_OP_N && (int)STN_CUBLAS_OP_T == (int)CUBLAS_OP_T, "operations");
_Static_assert((int)STN_CUBLAS_OP_C == (int)CUBLAS_OP_C, "adjoint");
_Static_assert((int)STN_CUBLAS_COMPUTE_32F == (int)CUBLAS_COMPUTE_32F, "f32");
_Static_assert((int)STN_CUBLAS_COMPUTE_64F == (int)CUBLAS_COMPUTE_64F, "f64");
_Static_assert((int)STN_CUBLAS_COMPUTE_32F_FAST_TF32 == (int)CUBLAS_COMPUTE_32F_FAST_TF32, "tf32");
_Static_assert((int)STN_CUBLAS_GEMM_DEFAULT == (int)CUBLAS_GEMM_DEFAULT, "algorithm");
#define stn_cublas_handle cublasHandle_t
#define stn_cublas_operation cublasOperation_t
#define stn_cublas_type cudaDataType
#define stn_cublas_compute cublasComputeType_t
#define stn_cublas_algorithm cublasGemmAlgo_t
#define CHECK_CUBLAS(name, arguments)                                                                                  \
    _Static_assert(__builtin_types_compatible_p(cublasStatus_t(*) arguments, __typeof__(&name)), #name);
STN_CUBLAS_FUNCTION_LIST(CHECK_CUBLAS)
#endif
#if __has_include(<nccl.h>)
SAME_SIZE(stn_nccl_id, ncclUniqueId);
SAME_PLACE(stn_nccl_config, version, ncclConfig_t, version);
SAME_PLACE(stn_nccl_config, blocking, ncclConfig_t, blocking);
_Static_assert((int)STN_NCCL_SUCCESS == (int)ncclSuccess && (int)STN_NCCL_IN_PROGRESS == (int)ncclInProgress &&
                   (int)STN_NCCL_INT8 == (int)ncclInt8,
               "results and types");
#define stn_nccl_result ncclResult_t
#define stn_nccl_type ncclDataType_t
#define stn_nccl_id ncclUniqueId
#define stn_nccl_comm ncclComm_t
#define stn_nccl_config ncclConfig_t
#define CHECK_NCCL(type, name, arguments)                                                                              \
    _Static_assert(__builtin_types_compatible_p(type(*) arguments, __typeof__(&name)), #name);
STN_NCCL_FUNCTION_LIST(CHECK_NCCL)
#endif

int main(void) {
#define COUNT(...) +1
    printf("%d constants and %d functions equal those of CUDA %d.%d's headers\n", STN_CU_CONSTANT_LIST(COUNT),
           STN_DRIVER_FUNCTION_LIST(COUNT), CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    return 0;
}
