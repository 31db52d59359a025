/* Relative L2 difference of two results on the device; see compare_results.h. */
#include "tune/compare_results.h"

#include <math.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "render/render.h"

/* Exponent of the power of two by which the kernel scales huge numbers down, and tiny ones up,
 * before it squares them. */
enum { SCALE = 600 };

/* Mirrors the kernel's argument struct. */
typedef struct compare_arguments {
    const void *got, *want;
    double *out;
    int64_t count;
} compare_arguments;

stn_status tune_kernel(stn_kernel_set *set, stn_dtype dtype, const char *name, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, dtype);
    stn_params_int(&params, "THREADS_X", TUNE_THREADS);
    return stn_kernel_make(set, name, &params, 0, kernel, error);
}

unsigned tune_blocks(int64_t elements) {
    return (unsigned)stn_min(stn_div_up(elements, 4 * TUNE_THREADS), TUNE_BLOCKS);
}

/* A norm is root * 2^exponent. Must match the scales of the kernel. */
typedef struct norm {
    double root;
    int exponent;
} norm;

/* Combines the sums of tiny, ordinary and huge squares; a NaN in any of them gives NaN. Tiny
 * squares are negligible in a sum with huge ones. */
static norm norm_of(const double *sums) {
    const double tiny = sums[0], plain = sums[1], huge = sums[2];
    if (isnan(tiny) || isnan(plain) || isnan(huge)) return (norm){NAN, 0};
    if (huge > 0) return (norm){sqrt(huge + ldexp(plain, -2 * SCALE)), SCALE};
    if (plain == 0) return (norm){sqrt(tiny), -SCALE};
    return (norm){sqrt(plain + ldexp(tiny, -2 * SCALE)), 0};
}

stn_status tune_compare(stn_context *context, const stn_kernel *kernel, const void *got, const void *want, void *sums,
                        int64_t elements, void *stream, double *difference, stn_error *error) {
    const unsigned blocks = tune_blocks(elements), numbers = blocks * TUNE_SUMS_EACH;
    double parts[TUNE_BLOCKS * TUNE_SUMS_EACH], total[TUNE_SUMS_EACH] = {0};
    compare_arguments arguments = {got, want, sums, elements};
    STN_TRY(stn_kernel_launch(kernel, blocks, TUNE_THREADS, 0, &arguments, stream, error));
    STN_TRY(stn_synchronize(context, stream, error));
    STN_TRY(stn_memory_download(context, parts, sums, numbers * sizeof *parts, error));
    for (unsigned i = 0; i < numbers; i++) total[i % TUNE_SUMS_EACH] += parts[i];
    if (total[TUNE_SUMS_EACH - 1] > 0)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "values overflow in so many steps, so nothing can be compared");
    const norm off = norm_of(total), all = norm_of(total + 3);
    *difference =
        all.root > 0 ? ldexp(off.root / all.root, off.exponent - all.exponent) : ldexp(off.root, off.exponent);
    return STN_OK;
}
