// Zero-pads spectra whose first `kept` frequencies a product has written in place.
//
//     row of `length` complex numbers   |<- kept ->| 0 0 0 0 0 |
//
// LAYER_HALF: also clears the imaginary parts of frequencies 0 and n/2, as a C2R transform ignores
// them. A warp takes one row at a time. Reads STORE, LAYER_HALF.
#include "device/complex.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int WIDE = 32, ROWS_AT_ONCE = 8;
constexpr int THREADS = WIDE * ROWS_AT_ONCE;

struct pad_arguments {
    STORE *data;
    long long rows, length, kept, n;  // n: points of the line that the C2R transform gives
};
static_assert(layout_matches(sizeof(pad_arguments)), "the arguments match the launcher's struct");

extern "C" __global__ void __launch_bounds__(THREADS) layer_pad(const __grid_constant__ pad_arguments a) {
    const long long step = static_cast<long long>(gridDim.x) * ROWS_AT_ONCE;
    for (long long row = static_cast<long long>(blockIdx.x) * ROWS_AT_ONCE + threadIdx.y; row < a.rows; row += step) {
        STORE *const line = a.data + 2 * row * a.length;
        for (long long k = a.kept + threadIdx.x; k < a.length; k += WIDE) {
            line[2 * k] = 0;
            line[2 * k + 1] = 0;
        }
        if (!LAYER_HALF || threadIdx.x) continue;
        line[1] = 0;
        if (a.n % 2 == 0 && a.n / 2 < a.kept) line[2 * (a.n / 2) + 1] = 0;
    }
}
