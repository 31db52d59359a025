/* See compare.h. */
#include "tune/compare.h"

#include <math.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "render/render.h"

/* Twin of the kernel's arguments. */
typedef struct compare_arguments {
    const void *got, *want;
    double *out;
    int64_t count;
} compare_arguments;

stn_status tune_kernel(stn_context *context, stn_dtype dtype, const char *name, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_elements(&params, dtype);
    stn_params_int(&params, "THREADS_X", TUNE_THREADS);
    return stn_kernel_make(context, name, &params, 0, kernel, error);
}

unsigned tune_blocks(int64_t elements) {
    return (unsigned)stn_min(stn_div_up(elements, 4 * TUNE_THREADS), TUNE_BLOCKS);
}

stn_status tune_compare_start(const stn_kernel *kernel, const void *got, const void *want, void *sums, int64_t elements,
                              void *stream, stn_error *error) {
    compare_arguments arguments = {got, want, sums, elements};
    stn_launch launch = {.grid = {tune_blocks(elements), 1, 1}, .block = {TUNE_THREADS, 1, 1}, .stream = stream};
    return stn_module_launch(kernel->module, &launch, &arguments, error);
}

stn_status tune_compare_read(stn_context *context, const void *sums, int64_t elements, double *difference,
                             stn_error *error) {
    double parts[TUNE_BLOCKS * 3], total[3] = {0};
    const unsigned blocks = tune_blocks(elements);
    STN_TRY(stn_memory_download(context, parts, sums, blocks * 3 * sizeof(double), error));
    for (unsigned i = 0; i < 3 * blocks; i++) total[i % 3] += parts[i];
    if (total[2] > 0)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "values overflow in so many steps, so nothing can be compared");
    *difference = total[1] > 0 ? sqrt(total[0] / total[1]) : sqrt(total[0]);
    return STN_OK;
}
