// A loop whose index is a constant in each turn, however long it is: body(index<0>),
// body(index<1>), ... `#pragma unroll` is a wish, which the compiler drops where it finds a loop
// too long; arrays in registers need it fulfilled.
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
