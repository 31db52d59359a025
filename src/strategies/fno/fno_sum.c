/* fno_sum: strided sums; see fno_sum.h. */
#include "strategies/fno/fno_sum.h"

#include <math.h>

#include "base/arith.h"
#include "render/render.h"

enum { THREADS = 256, SIDE = 32 };

/* The arguments that fno_sum.cu declares. */
typedef struct sum_arguments {
    const void *in;
    void *out;
    int64_t stride, step, terms, outputs;
} sum_arguments;

/* Threads along outputs: a warp if outputs are contiguous; otherwise threads go along the sum, with
 * at most the two numbers of a complex output. */
static int across(const fno_sum *sum) { return sum->stride == sum->per ? SIDE : sum->per; }

int64_t fno_sum_blocks(const fno_sum *sum) { return stn_div_up(sum->outputs, across(sum)); }

stn_status fno_sum_prepare(stn_kernel_set *kernels, const fno_sum *sum, fno_numbers numbers, stn_kernel **kernel,
                           stn_error *error) {
    static const char *const store[] = {"double", "float", "unsigned short"}; /* by stn_dtype */
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, numbers.dtype);
    stn_params_type(&params, "FNO_FROM", fno_wide(numbers) ? "double" : "float");
    stn_params_type(&params, "FNO_TO", store[numbers.dtype]);
    stn_params_int(&params, "FNO_REAL", 0);
    stn_params_int(&params, "FNO_PER", sum->per);
    stn_params_int(&params, "THREADS_X", across(sum));
    stn_params_int(&params, "THREADS_Y", THREADS / across(sum));
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(sum_arguments));
    return stn_kernel_make(kernels, "fno_sum", &params, 0, kernel, error);
}

static size_t number(fno_numbers numbers) { return fno_complex_bytes(numbers) / 2; }

stn_status fno_sum_launch(const stn_kernel *kernel, const fno_sum *sum, fno_numbers numbers, const void *in, void *out,
                          void *stream, stn_error *error) {
    sum_arguments a = {.in = (const char *)in + (size_t)sum->offset * number(numbers), .out = out};
    a.stride = sum->stride, a.step = sum->step, a.terms = sum->terms, a.outputs = sum->outputs;
    return stn_kernel_launch(kernel, fno_sum_blocks(sum), THREADS, 0, &a, stream, error);
}

/* Estimate, not measured: bytes per second that a block reads at most. */
#define BLOCK_RATE 1.5e10

double fno_sum_cost(const fno_sum *sum, fno_numbers numbers, const stn_machine *machine, stn_estimate *total) {
    const double size = (double)number(numbers), bytes = (double)sum->terms * (double)sum->outputs * size;
    const double rate = fmin(0.7 * machine->copy_bandwidth, BLOCK_RATE * (double)fno_sum_blocks(sum));
    total->bytes += bytes, total->launches += 1;
    return bytes / rate + 2e-6 + machine->launch_seconds;
}
