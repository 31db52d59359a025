// Conversion between the transform Z of N pairs of real numbers (even numbers as real, odd ones as
// imaginary parts) and the N + 1 coefficients X of the 2N numbers, for transforms that take several
// launches. With A = Z[k], B = Z*[N-k], w = exp(-pi i k / N):
//
//     FFT_STORE_REAL   X[k] = (A + B - i w (A - B)) / 2       X[N-k] = (A + B + i w (A - B))* / 2
//     FFT_LOAD_REAL    Z[k] = A + B + i w* (A - B)            Z[N-k] = (A + B - i w* (A - B))*
//                      with A = X[k], B = X*[N-k]
//
// A thread has one pair, k = 0 .. N/2, so the conversion also works in place:
//
//     | 0  1  2  3 ...  N/2  ... N-3 N-2 N-1  N |
//       t0 t1 t2 t3 ->            <- t3  t2  t1 t0
#include "device/fft.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

static_assert(!FFT_LOAD_REAL || !FFT_STORE_REAL, "one way or the other");
using value = complex<REAL>;

struct fft_arguments {
    const STORE *in;
    STORE *out;
    // exp(-pi i k / N) for k < 2^FFT_OUTER_LOW, then for the multiples of 2^FFT_OUTER_LOW
    const REAL *twiddles;
    long long n;
    long long in_line[3], out_line[3];  // complex elements between lines, for each loop
    unsigned tiles, lines, rows;        // blocks per line; lengths of the first and second loop
    unsigned unused;
};
static_assert(layout_matches(sizeof(fft_arguments)), "the arguments match the launcher's struct");

extern "C" __global__ void __launch_bounds__(THREADS_X) fft_real(const __grid_constant__ fft_arguments a) {
    const unsigned line = blockIdx.x / a.tiles, row = line / a.lines;
    const long long line0 = line % a.lines, line1 = row % a.rows, line2 = row / a.rows;
    const long long k = static_cast<long long>(blockIdx.x % a.tiles) * THREADS_X + threadIdx.x;
    if (k > a.n / 2) return;
    const STORE *const in = a.in + 2 * (line0 * a.in_line[0] + line1 * a.in_line[1] + line2 * a.in_line[2]);
    STORE *const out = a.out + 2 * (line0 * a.out_line[0] + line1 * a.out_line[1] + line2 * a.out_line[2]);

    constexpr long long SIZE = 1ll << FFT_OUTER_LOW;
    const value w = load_pair(a.twiddles + 2 * (k % SIZE)) * load_pair(a.twiddles + 2 * (SIZE + k / SIZE));
    value first = load_pair(in + 2 * k), second = k || FFT_LOAD_REAL ? load_pair(in + 2 * (a.n - k)) : first;
    if (FFT_LOAD_REAL && k == 0) first.im = second.im = REAL(0);  // real data: these are real
    second = conjugate(second);
    const value sum = first + second, rotated = minus_i((FFT_LOAD_REAL ? conjugate(w) : w) * (first - second));
    if (!FFT_LOAD_REAL) {
        store_pair(out + 2 * k, REAL(0.5) * (sum + rotated));
        store_pair(out + 2 * (a.n - k), REAL(0.5) * conjugate(sum - rotated));
    } else {
        store_pair(out + 2 * k, sum - rotated);
        if (k) store_pair(out + 2 * (a.n - k), conjugate(sum + rotated));
    }
}
