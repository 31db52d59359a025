// One warp, one tensor-core product: every lane's registers are loaded from memory and stored
// again, so that the host alone decides the layout.
#include "device/ptx.cuh"

struct arguments {
    const void *a, *b;
    void *c;
    const unsigned *metadata;
};

#define BODY(C, NC, A, NA, B, NB, ...)                                                                                 \
    {                                                                                                                  \
        const int lane = threadIdx.x;                                                                                  \
        A a[NA];                                                                                                       \
        B b[NB];                                                                                                       \
        C c[NC];                                                                                                       \
        for (int i = 0; i < NA; i++) a[i] = static_cast<const A *>(args.a)[lane * NA + i];                             \
        for (int i = 0; i < NB; i++) b[i] = static_cast<const B *>(args.b)[lane * NB + i];                             \
        for (int i = 0; i < NC; i++) c[i] = static_cast<C *>(args.c)[lane * NC + i];                                   \
        const unsigned metadata = args.metadata[lane];                                                                 \
        (void)metadata;                                                                                                \
        __VA_ARGS__;                                                                                                   \
        for (int i = 0; i < NC; i++) static_cast<C *>(args.c)[lane * NC + i] = c[i];                                   \
    }

extern "C" __global__ void f64_m8n8k4(const __grid_constant__ arguments args)
    BODY(double, 2, double, 1, double, 1, mma_m8n8k4(c, a[0], b[0]))
#if __CUDA_ARCH__ >= 900
        extern "C" __global__ void f64_m16n8k4(const __grid_constant__ arguments args)
            BODY(double, 4, double, 2, double, 1, mma_m16n8k4(c, a, b[0])) extern "C" __global__
    void f64_m16n8k8(const __grid_constant__ arguments args)
        BODY(double, 4, double, 4, double, 2, mma_m16n8k8(c, a, b)) extern "C" __global__
    void f64_m16n8k16(const __grid_constant__ arguments args)
        BODY(double, 4, double, 8, double, 4, mma_m16n8k16(c, a, b))
#endif
            extern "C" __global__ void f16_m16n8k8(const __grid_constant__ arguments args)
                BODY(float, 4, unsigned, 2, unsigned, 1, mma_f16_m16n8k8(c, a, b[0])) extern "C" __global__
    void f16_m16n8k16(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 4, unsigned, 2, mma_f16_m16n8k16(c, a, b)) extern "C" __global__
    void s8_m16n8k32(const __grid_constant__ arguments args)
        BODY(int, 4, unsigned, 4, unsigned, 2, mma_s8_m16n8k32(c, a, b, c)) extern "C" __global__
    void bf16_m16n8k8(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 1, mma_bf16_m16n8k8(c, a, b[0])) extern "C" __global__
    void tf32_m16n8k4(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 1, mma_tf32_m16n8k4(c, a, b[0])) extern "C" __global__
    void tf32_m16n8k8(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 4, unsigned, 2, mma_tf32_m16n8k8(c, a, b)) extern "C" __global__
    void sp_f16_m16n8k16_0(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_f16_m16n8k16<0>(c, a, b, metadata)) extern "C" __global__
    void sp_f16_m16n8k16_1(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_f16_m16n8k16<1>(c, a, b, metadata)) extern "C" __global__
    void sp_f16_m16n8k16_2(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_f16_m16n8k16<2>(c, a, b, metadata)) extern "C" __global__
    void sp_f16_m16n8k16_3(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_f16_m16n8k16<3>(c, a, b, metadata)) extern "C" __global__
    void sp_f16_m16n8k32_0(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 4, unsigned, 4, mma_sp_f16_m16n8k32<0>(c, a, b, metadata)) extern "C" __global__
    void sp_f16_m16n8k32_1(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 4, unsigned, 4, mma_sp_f16_m16n8k32<1>(c, a, b, metadata)) extern "C" __global__
    void sp_tf32_m16n8k8_0(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_tf32_m16n8k8<0>(c, a, b, metadata)) extern "C" __global__
    void sp_tf32_m16n8k8_1(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_tf32_m16n8k8<1>(c, a, b, metadata)) extern "C" __global__
    void sp_tf32_m16n8k8_2(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_tf32_m16n8k8<2>(c, a, b, metadata)) extern "C" __global__
    void sp_tf32_m16n8k8_3(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 2, unsigned, 2, mma_sp_tf32_m16n8k8<3>(c, a, b, metadata)) extern "C" __global__
    void sp_tf32_m16n8k16_0(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 4, unsigned, 4, mma_sp_tf32_m16n8k16<0>(c, a, b, metadata)) extern "C" __global__
    void sp_tf32_m16n8k16_1(const __grid_constant__ arguments args)
        BODY(float, 4, unsigned, 4, unsigned, 4, mma_sp_tf32_m16n8k16<1>(c, a, b, metadata))
