// Adds point sources to a field after its assignment (SYSTEM_ADDS 1), or records receivers after a
// step (SYSTEM_ADDS 0):
//
//     SYSTEM_ADDS 1    field(p) += weight * amplitude[row][channel]
//                      one thread for each location p, with all sources there
//     SYSTEM_ADDS 0    record[row][grid][channel] = sum of weight * field(p)
//                      one thread for each channel
//
// in the order of the list, so that sums are deterministic. For each grid of the batch, thread i
// has the points first[i] .. first[i + 1] - 1.
//
// Reads STORE, REAL, SYSTEM_ADDS, THREADS_X.
#include "device/element.cuh"
#include "params.cuh"

struct system_point {
    long long at;  // index in the grid
    double weight;
    int channel, field;
};
struct points_arguments {
    STORE *field[16];
    const system_point *list;
    const long long *first;
    const REAL *amplitudes;  // of this step's row
    REAL *records;           // of this step's row, all grids
    long long threads, batch, points, channels;
};

extern "C" __global__ void __launch_bounds__(THREADS_X) system_points(const __grid_constant__ points_arguments a) {
    const long long thread = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    if (thread >= a.threads * a.batch) return;
    const long long grid = thread / a.threads, i = thread - grid * a.threads;
    const long long begin = a.first[i], end = a.first[i + 1];
    if (SYSTEM_ADDS) {
        STORE *const to = a.field[a.list[begin].field] + grid * a.points + a.list[begin].at;
        STORE value = *to;
        for (long long k = begin; k < end; k++)
            value = narrow<STORE>(widen(value) + static_cast<REAL>(a.list[k].weight) * a.amplitudes[a.list[k].channel]);
        *to = value;
    } else {
        REAL sum = 0;
        for (long long k = begin; k < end; k++)
            sum +=
                static_cast<REAL>(a.list[k].weight) * widen(a.field[a.list[k].field][grid * a.points + a.list[k].at]);
        a.records[grid * a.channels + i] = sum;
    }
}
