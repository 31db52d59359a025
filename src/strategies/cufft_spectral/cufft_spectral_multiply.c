/* The kernel spectral_multiply and its tables; see cufft_spectral_multiply.h. */
#include "strategies/cufft_spectral/cufft_spectral_multiply.h"

#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"

enum { THREADS = 256, CHUNK = 1024, WARP = 32, MAX_BLOCKS = 1 << 16 };

/* The arguments that spectral_multiply.cu declares. */
typedef struct multiply_arguments {
    void *spectrum;
    const void *parts, *angles;
    uint64_t steps;
    double decay_threshold, scale;
    const void *chunk_angles;
    int64_t half, lines, chunks, all;
} multiply_arguments;

stn_symbol cufft_spectral_symbol(const stn_task *task) { return stn_symbol_form(task, 2, task->n, false); }

/* Threads that share a chunk. */
static int lanes_of(int64_t half) {
    int lanes = 1;
    while (lanes < WARP && lanes < half) lanes *= 2;
    return lanes;
}

static stn_status make_kernel(stn_kernel_set *kernels, const cufft_spectral_range *range, cufft_spectral_multiply *m,
                              stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_type(&params, "REAL", range->inner == STN_F64 ? "double" : "float");
    stn_params_int(&params, "SYMBOL", !m->symbol.plain);
    stn_params_int(&params, "SYMBOL_ANGLE_SUM", 1);
    stn_params_int(&params, "SYMBOL_SUM", 0);
    stn_params_int(&params, "SYMBOL_HIGH", m->symbol.high);
    stn_params_int(&params, "SYMBOL_LOW", m->symbol.low);
    stn_params_int(&params, "MULTIPLY_CHUNK", CHUNK);
    stn_params_int(&params, "MULTIPLY_LANES", lanes_of(range->count[2]));
    stn_params_int(&params, "THREADS_X", THREADS);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(multiply_arguments));
    return stn_kernel_make(kernels, "spectral_multiply", &params, 0, &m->kernel, error);
}

/* ---- tables */

/* cos and sin of pi k / n at k = first, first + step, ..; arguments are at most a quarter turn, so
 * that the relative error is small. */
static void fill_angles(int64_t n, int64_t first, int64_t step, int64_t count, double *to) {
    for (int64_t i = 0; i < count; i++) {
        const long double angle =
            3.14159265358979323846264338327950288L * (long double)(first + i * step) / (long double)n;
        to[2 * i] = (double)cosl(angle), to[2 * i + 1] = (double)sinl(angle);
    }
}

static stn_status fill_parts(const stn_task *task, const cufft_spectral_range *range, const stn_symbol *symbol,
                             double *parts, stn_error *error) {
    const int64_t lines = range->count[0] * range->count[1];
    int64_t *at = malloc(2 * (size_t)lines * sizeof *at);
    if (!at) return stn_fail_memory(error, "the frequencies of a spectrum", 2 * (size_t)lines * sizeof *at);
    for (int64_t i = 0; i < lines; i++) {
        at[i] = range->first[0] + i / range->count[1];
        at[lines + i] = range->first[1] + i % range->count[1];
    }
    const int64_t *const place[2] = {at, at + lines};
    const bool good = stn_symbol_parts(symbol, task, lines, place, parts);
    free(at);
    return good ? STN_OK : stn_fail_memory(error, "the roots of a symbol", (size_t)lines * 32);
}

static stn_status make_tables(stn_kernel_set *kernels, const stn_task *task, const cufft_spectral_range *range,
                              cufft_spectral_multiply *m, stn_error *error) {
    const int64_t angles = stn_min(range->count[2], CHUNK), chunk_angles = stn_div_up(range->count[2], CHUNK);
    const size_t numbers = (size_t)(range->count[0] * range->count[1] * m->symbol.parts);
    const size_t first = (numbers + 1) / 2 * 2; /* pairs are aligned */
    m->largest = stn_symbol_largest(task, task->n);
    m->decay_threshold = stn_symbol_decay_threshold(m->largest, task->steps, stn_symbol_bits(task->dtype));
    m->angles = first * sizeof(double);
    m->chunk_angles = m->angles + 2 * (size_t)angles * sizeof(double);
    const size_t size = m->chunk_angles + 2 * (size_t)chunk_angles * sizeof(double);
    if (stn_kernels_miss(kernels)) return STN_OK;
    double *tables = calloc(1, size);
    if (!tables) return stn_fail_memory(error, "the tables of a plan", size);
    fill_angles(task->n[2], 0, 1, angles, tables + first);
    fill_angles(task->n[2], range->first[2], CHUNK, chunk_angles, tables + first + 2 * angles);
    stn_status status = fill_parts(task, range, &m->symbol, tables, error);
    if (status == STN_OK)
        status = stn_device_replace(kernels->context->device, &m->tables, m->size, tables, size, error);
    if (status == STN_OK && size > m->size) m->size = size;
    free(tables);
    return status;
}

stn_status cufft_spectral_multiply_make(stn_kernel_set *kernels, const stn_task *task,
                                        const cufft_spectral_range *range, cufft_spectral_multiply *m,
                                        stn_error *error) {
    const stn_symbol symbol = cufft_spectral_symbol(task);
    const bool same = m->kernel && symbol.plain == m->symbol.plain;
    m->symbol = symbol;
    if (!same) STN_TRY(make_kernel(kernels, range, m, error));
    return make_tables(kernels, task, range, m, error);
}

void cufft_spectral_multiply_clear(stn_context *context, cufft_spectral_multiply *m) {
    stn_device_free(context->device, m->tables);
    m->tables = NULL;
}

/* ---- running */

stn_status cufft_spectral_multiply_run(const stn_task *task, const cufft_spectral_range *range,
                                       const cufft_spectral_multiply *m, void *spectrum, void *stream,
                                       stn_error *error) {
    const unsigned char *tables = m->tables;
    multiply_arguments a = {.spectrum = spectrum, .parts = tables, .angles = tables + m->angles};
    a.chunk_angles = tables + m->chunk_angles;
    a.steps = task->steps, a.decay_threshold = m->decay_threshold;
    a.scale = 1 / ((double)task->n[0] * (double)task->n[1] * (double)task->n[2]);
    a.half = range->count[2], a.lines = range->count[0] * range->count[1];
    a.chunks = stn_div_up(a.half, CHUNK);
    a.all = a.chunks * a.lines * task->batch;
    const int64_t blocks = stn_min(stn_div_up(a.all, THREADS / lanes_of(a.half)), MAX_BLOCKS);
    return stn_kernel_launch(m->kernel, blocks, THREADS, 0, &a, stream, error);
}
