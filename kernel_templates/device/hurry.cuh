// Ladders that are compiled in a hurry (device/ladder.cuh), 2/5 sooner: one function serves all rungs and both ways, which is told as it runs what else
// is written out. A butterfly is the sum that it stands for, its points in memory of the thread's own.
#pragma once
#include "device/complex.cuh"

// cos(2 pi k / n), 0 <= k <= n, from at most an eighth of a turn
constexpr double turn_cosine(int k, int n) {
    const int mirrored = 2 * k > n ? n - k : k, rest = 4 * mirrored > n ? n - 2 * mirrored : 2 * mirrored;  // of 2 n
    const bool low = 4 * rest <= n;
    const double angle = 3.14159265358979323846 * (low ? rest : n - 2 * rest) / (low ? n : 2 * n);
    double term = low ? 1.0 : angle, sum = term;
    for (int i = low ? 1 : 2; i < 18; i += 2) sum += term *= -angle * angle / (i * (i + 1));
    return 4 * mirrored > n ? -sum : sum;
}
// exp(-2 pi i k / R) of each rung's radix
template <class LINE, class T>
struct turns {
    complex<T> at[LINE::STAGES][16];
    constexpr turns() : at() {
        for (int s = 0; s < LINE::STAGES; s++)
            for (int k = 0, n = LINE::radix(s); k < n; k++)
                at[s][k] = {T(turn_cosine(k, n)), T(turn_cosine((4 * k + n) % (4 * n), 4 * n))};
    }
};
template <class LINE, class T>
__constant__ const turns<LINE, T> TURNS{};

struct rung_place {
    int radix, block, stride, roots;  // roots: how many the rungs before it have
    bool whole;
};
template <class LINE>
__device__ __forceinline__ rung_place rung_number(int stage) {
    rung_place here = {1, LINE::N, LINE::N, 0, false};
#pragma unroll 1
    for (int s = 0; s <= stage; s++) {
        const int roots = here.stride * (here.whole ? here.radix - 1 : 1);
        here.radix = LINE::radix(s), here.block = here.stride, here.stride /= here.radix;
        here.whole = here.stride * (here.radix - 1) <= LINE::TABLE;
        here.roots += s ? roots : 0;
    }
    return here;
}
// Every LINE::THREADS-th butterfly of a rung, from and to shared memory, as descend and ascend have them; a barrier after them.
template <class LINE, class T>
__device__ __noinline__ void do_rung(complex<T> *line, int t, const T *roots, int stage, bool up) {
    const rung_place here = rung_number<LINE>(stage);
    const complex<T> *const wheel = TURNS<LINE, T>.at[stage];
#pragma unroll 1
    for (int j = t; j < LINE::N / LINE::SHARES / here.radix; j += LINE::THREADS) {
        const int part = static_cast<int>(static_cast<unsigned>(j) / static_cast<unsigned>(here.stride));
        const int q = j - part * here.stride, first = part * here.block + q;
        const T *const mine = roots + 2 * (here.roots + q);
        complex<T> x[16], root[16];  // w_BLOCK^(q r)
#pragma unroll 1
        for (int r = 0; r < here.radix; r++) {
            root[r] = {T(1), T(0)};
            if (r && here.stride > 1)
                root[r] =
                    here.whole || r == 1 ? load_pair(mine + 2 * (r - 1) * here.stride) : root[r / 2] * root[r - r / 2];
            x[r] = line[padded<LINE>(first + r * here.stride) * LINE::LINES];
            if (up) x[r] = x[r] * root[r];
        }
#pragma unroll 1
        for (int k = 0; k < here.radix; k++) {
            complex<T> sum = x[0];
            int at = 0;  // n k modulo the radix
#pragma unroll 1
            for (int n = 1; n < here.radix; n++) {
                at += k;
                if (at >= here.radix) at -= here.radix;
                sum = sum + x[n] * wheel[at];
            }
            line[padded<LINE>(first + k * here.stride) * LINE::LINES] = up ? sum : sum * root[k];
        }
    }
    __syncthreads();
}
// foot_of, in a loop.
template <class LINE>
__device__ __noinline__ int foot_in_turn(int t) {
    unsigned at = 0, stride = LINE::N, rest = static_cast<unsigned>(t);
#pragma unroll 1
    for (int s = 0; s < LINE::STAGES; s++) {
        const unsigned radix = static_cast<unsigned>(LINE::radix(s)), next = rest / radix;
        stride /= radix;
        at += (rest - next * radix) * stride;
        rest = next;
    }
    return static_cast<int>(at);
}
