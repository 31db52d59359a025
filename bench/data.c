/* Random input as a function of the index. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "bench.h"

double bench_value(uint64_t index, stn_dtype dtype) {
    uint64_t bits = index + 0x9e3779b97f4a7c15u; /* the finaliser of splitmix64 */
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    double value = (double)((int64_t)bits >> 11) * 0x1p-52;
    if (dtype == STN_F32) return (float)value;
    if (dtype == STN_F16) return stn_half_to_float(stn_float_to_half((float)value));
    return value;
}

double bench_load(const void *data, uint64_t index, stn_dtype dtype) {
    if (dtype == STN_F32) return ((const float *)data)[index];
    if (dtype == STN_F16) return stn_half_to_float(((const uint16_t *)data)[index]);
    return ((const double *)data)[index];
}

void bench_store(void *data, uint64_t index, stn_dtype dtype, double value) {
    if (dtype == STN_F32)
        ((float *)data)[index] = (float)value;
    else if (dtype == STN_F16)
        ((uint16_t *)data)[index] = stn_float_to_half((float)value);
    else
        ((double *)data)[index] = value;
}

typedef struct filling {
    void *data;
    uint64_t first;
    stn_dtype values, dtype;
    double shift, scale;
} filling;

static void fill_piece(void *user, int64_t begin, int64_t end) {
    const filling *work = user;
    for (int64_t i = begin; i < end; i++)
        bench_store(work->data, (uint64_t)i, work->dtype,
                    work->shift + work->scale * bench_value(work->first + (uint64_t)i, work->values));
}

static stn_status fill(bench *machine, void *data, uint64_t count, filling work, stn_error *error) {
    const uint64_t most = (uint64_t)1 << 23;
    size_t size = stn_dtype_size(work.dtype), bytes = (size_t)most * size;
    work.data = malloc(bytes);
    if (!work.data) return stn_fail_memory(error, "a piece of the input", bytes);
    stn_status status = STN_OK;
    for (uint64_t done = 0; done < count && status == STN_OK; done += most, work.first += most) {
        uint64_t part = count - done < most ? count - done : most;
        stn_pool_for(machine->pool, (int64_t)part, 1 << 16, fill_piece, &work);
        status = stn_memory_upload(machine->context, (char *)data + done * size, work.data, (size_t)part * size, error);
    }
    free(work.data);
    return status;
}

stn_status bench_fill(bench *machine, void *data, uint64_t count, stn_dtype values, stn_dtype dtype, stn_error *error) {
    return fill(machine, data, count, (filling){.values = values, .dtype = dtype, .scale = 1}, error);
}

stn_status bench_fill_scaled(bench *machine, void *data, uint64_t first, uint64_t count, stn_dtype dtype, double shift,
                             double scale, stn_error *error) {
    return fill(machine, data, count, (filling){NULL, first, dtype, dtype, shift, scale}, error);
}

stn_status bench_stencil(const char *spec, stn_stencil **stencil, stn_error *error) {
    static const char dense[] = "dense-2d:";
    if (strncmp(spec, dense, sizeof dense - 1) != 0) return stn_stencil_parse(spec, stencil, error);
    int radius = (int)strtol(spec + sizeof dense - 1, NULL, 10), side = 2 * radius + 1;
    size_t count = (size_t)(side * side);
    stn_tap *taps = calloc(count, sizeof *taps);
    if (!taps) return stn_fail_memory(error, "the taps of a case", count * sizeof *taps);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        taps[i].offset[0] = (int)(i / (size_t)side) - radius;
        taps[i].offset[1] = (int)(i % (size_t)side) - radius;
        taps[i].weight = bench_value(i, STN_F64);
        sum += taps[i].weight < 0 ? -taps[i].weight : taps[i].weight;
    }
    for (size_t i = 0; i < count; i++) taps[i].weight /= sum;
    stn_status status = stn_stencil_create(2, count, taps, stencil, error);
    free(taps);
    return status;
}
