// A loop whose index is a compile-time constant in each iteration: body(index<0>), body(index<1>),
// ... The compiler may ignore `#pragma unroll` for long loops, but arrays in registers need
// unrolling.
#pragma once
template <int I>
struct index {
    static constexpr int value = I;
    __device__ __forceinline__ constexpr operator int() const { return I; }
};
template <int FROM, int TO, class BODY>
__device__ __forceinline__ void unroll(const BODY &body) {
    if constexpr (FROM < TO) {
        body(index<FROM>());
        unroll<FROM + 1, TO>(body);
    }
}
