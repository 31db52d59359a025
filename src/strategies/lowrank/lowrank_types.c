/* Arithmetic of the lowrank kernels for each element type: products, rounding of weights, predicted
 * errors. */
#include "strategies/lowrank/lowrank_types.h"

#include <math.h>

#include "context/search_cache.h"
#include "plan/error_bound.h"
#include "render/render.h"
#include "strategies/common/rounding_on_few_points.h"

/* Error bounds of tests/NUMERICS.md for data rounded to 11 bits. */
#define TF32_ERROR 5e-4
#define F16_ERROR 1e-3
#define WEIGHT_ERROR 0x1p-11 /* error of one launch with 11-bit weights */
#define FEW_POINTS 64        /* on fewer points results may cancel by chance */
/* Error of one launch with 11-bit elements that all have the same error. */
#define ELEMENT_ERROR 0x1p-12

const char lowrank_none[] =
    "its taps need too many separable terms, or their margins cover the grid, or the batch is too large";

/* The ratio of a step's effect on rounding errors to that on smooth data: the root of the sum of
 * the squared weights over the sum of the weights, at most 4. Below 1 the step smooths errors. */
static double smoothing(const stn_task *task) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < task->ntaps; i++)
        sum += task->taps[i].weight, squares += task->taps[i].weight * task->taps[i].weight;
    return squares < 16 * sum * sum ? sqrt(squares) / fabs(sum) : 4;
}

/* Whether f32 needs three products. With 11-bit elements, the result has their relative error,
 * unless the result is much smaller than the elements. It may be: weights that cancel damp smooth
 * data more than rounding errors, and few points may cancel by chance. For few points three
 * products take little time. */
static bool needs_full_precision(const stn_task *task) {
    return smoothing(task) > 1 || stn_task_points(task) < FEW_POINTS;
}

int lowrank_products(const stn_task *task, int launches) {
    const double all = (double)launches * (double)task->snapshots;
    if (task->dtype == STN_F64) return 1;
    if (task->dtype == STN_F32 && needs_full_precision(task)) return 3;
    /* Each weight has this many factors, and an element is rounded this often in one launch. */
    int factors = task->rank > 1 ? 2 : 1;
    bool coarse = all * factors * WEIGHT_ERROR <= task->tolerance;
    if (task->dtype == STN_F16) return coarse && task->tolerance >= F16_ERROR ? 1 : 2;
    double elements = fmax(factors * TF32_ERROR, task->rank == 3 ? all * ELEMENT_ERROR : 0);
    return task->tolerance < elements ? 3 : coarse ? 1 : 2;
}

int lowrank_data_parts(int products) { return products == 3 ? 2 : 1; }
int lowrank_band_parts(int products) { return products > 1 ? 2 : 1; }

const char *lowrank_arithmetic(stn_dtype dtype, int products) {
    if (dtype == STN_F64) return "f64";
    if (dtype == STN_F16) return products == 1 ? "f16" : "f16 x 2";
    return products == 1 ? "tf32" : products == 2 ? "tf32 x 2" : "tf32 x 3";
}

stn_unit lowrank_unit(stn_dtype dtype) {
    return dtype == STN_F64 ? STN_UNIT_TENSOR_F64 : dtype == STN_F32 ? STN_UNIT_TENSOR_TF32 : STN_UNIT_TENSOR_F16;
}
int lowrank_slot(stn_dtype dtype) { return 16 / (int)stn_dtype_size(dtype); }
int lowrank_step(stn_dtype dtype) { return dtype == STN_F16 ? 2 : 1; }

/* The nearest number with `bits` significant bits. */
static double nearest(int bits, double number) {
    int exponent;
    double part = frexp(number, &exponent);
    return ldexp(rint(ldexp(part, bits)), exponent - bits);
}

void lowrank_round(int bits, double factor, double *vector, int count, bool even) {
    double rest = 0, below = INFINITY;
    for (int i = 0; i < count; i++) {
        double exact = vector[i] * factor;
        vector[i] = nearest(bits, exact);
        rest += (exact - vector[i]) * (even && i < count - 1 ? 2 : 1);
    }
    /* The rounding errors are added to the largest weight; the error that remains after rounding
     * this weight is added to the next smaller one, and so on. */
    while (isfinite(rest)) {
        int next = -1;
        for (int i = 0; i < count; i++)
            if (fabs(vector[i]) < below && (next < 0 || fabs(vector[i]) > fabs(vector[next]))) next = i;
        if (next < 0 || vector[next] == 0) return;
        below = fabs(vector[next]);
        int times = even && next < count - 1 ? 2 : 1;
        double exact = vector[next] + rest / times;
        vector[next] = nearest(bits, exact);
        rest = (exact - vector[next]) * times;
    }
}

void lowrank_pack(stn_dtype dtype, bool scaled, const double *weights, int count, int first, unsigned char *to) {
    double largest = 0, scale = 1;
    int exponent = 0;
    for (int i = first; i < count; i++) largest = fmax(largest, fabs(weights[i]));
    if (dtype == STN_F16 && largest > 0 && isfinite(largest)) {
        frexp(largest, &exponent);
        scale = ldexp(1, exponent);
    }
    if (scaled) to += stn_put_real(dtype, scale, to);
    for (int i = 0; i < count; i++) to += stn_put_real(dtype, i < first ? weights[i] : weights[i] / scale, to);
}

/* Each launch smooths the rounding errors of the previous ones, so they hardly grow. With taps that
 * do not smooth, or on few points, they grow like the root of the number of launches. */
static double accumulated_error(const stn_task *task, double launches) {
    const double ratio = smoothing(task);
    return sqrt(stn_rounding_accumulated(task, launches, ratio < 1 ? 1 + log2(launches) : ratio * ratio * launches));
}

/* Rounding errors of 11-bit elements are random. The figures for f32 are fitted to long runs. */
double lowrank_error(const stn_task *task, int products, double launches, double growth, double systematic) {
    const double factors = task->rank > 1 ? 2 : 1, cancelling = stn_error_cancellation(task);
    const double own = stn_error_rounding(task->dtype) * cancelling;
    /* The bound includes the errors of the reference's steps, which are correlated. */
    if (task->dtype == STN_F64)
        return hypot(stn_error_accumulated(0.3 * 0x1p-53 * growth, 8 * own * growth, launches),
                     0.6 * 0x1p-53 * (double)task->steps);
    /* Tensor cores truncate sums. With a single tap the error is the same in each step: 8e-8 was
     * measured on an H200. */
    if (products == 3 && task->ntaps == 1) systematic = 0x1p-23;
    double weights = products == 1 ? 0.15 * factors * WEIGHT_ERROR : systematic;
    if (task->dtype == STN_F16) /* accumulated_error and the callers account for cancellation */
        return hypot(weights * launches * growth,
                     1.2 * stn_error_rounding(STN_F16) * accumulated_error(task, launches));
    double elements = products == 3 ? 20 * own : 1.2 * sqrt(factors) * stn_error_rounding(STN_F16) * cancelling;
    const double accumulated =
        products == 3 ? sqrt(launches) * growth : sqrt(stn_rounding_accumulated(task, launches, 1));
    return hypot(weights * launches * growth, elements * accumulated);
}

double lowrank_inner_error(const stn_task *task, double inner, double launches) {
    const double few = 1 + 2 / sqrt((double)stn_task_points(task));
    return stn_error_rounding(task->dtype) * inner * few * sqrt(stn_rounding_accumulated(task, launches, 1));
}

static stn_search_cache *key_of(const stn_task *task, const double numbers[LOWRANK_KEY_NUMBERS], stn_text *key) {
    stn_text_append(key, (const char *)numbers, LOWRANK_KEY_NUMBERS * sizeof *numbers);
    stn_text_append(key, (const char *)task->taps, task->ntaps * sizeof *task->taps);
    return key->failed ? NULL : task->searches;
}

bool lowrank_lookup(const stn_task *task, stn_search_cache_kind kind, const double numbers[LOWRANK_KEY_NUMBERS],
                    void *result, size_t size) {
    stn_text key = STN_TEXT_EMPTY;
    stn_search_cache *searches = key_of(task, numbers, &key);
    const bool known = stn_search_cache_lookup(searches, kind, key.data, key.size, result, size);
    stn_text_clear(&key);
    return known;
}

void lowrank_store(const stn_task *task, stn_search_cache_kind kind, const double numbers[LOWRANK_KEY_NUMBERS],
                   const void *result, size_t size) {
    stn_text key = STN_TEXT_EMPTY;
    stn_search_cache *searches = key_of(task, numbers, &key);
    stn_search_cache_store(searches, kind, key.data, key.size, result, size);
    stn_text_clear(&key);
}
