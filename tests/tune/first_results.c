/* First results: from an empty cache, makes a plan with options.first_result and executes it three
 * times, then a plan that compiles everything first. All results must agree, and the second
 * execution must run the chosen kernels. Prints seconds, which mean something on a GPU only.
 *
 *     first_results                                            a few small problems
 *     first_results STENCIL SIZE DTYPE BOUNDARY STEPS ...      these, five words each */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "context/context.h"
#include "plan/plan.h"

static stn_error error;
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != STN_OK) {                                                                                        \
            printf("Bail out! %s\n", error.message);                                                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct work {
    stn_problem problem;
    stn_stencil *stencil;
    size_t points, bytes;
    void *in, *out; /* on the host */
} work;

static void make_work(char *const words[5], work *w) {
    static const stn_dtype types[] = {STN_F64, STN_F32, STN_F16};
    OK(stn_stencil_parse(words[0], &w->stencil, &error));
    w->problem = (stn_problem)STN_PROBLEM_INIT;
    w->problem.stencil = w->stencil;
    w->problem.steps = strtoull(words[4], NULL, 10);
    for (int i = 0; i < 3; i++)
        if (!strcmp(words[2], stn_dtype_name(types[i]))) w->problem.dtype = types[i];
    w->points = 1;
    const char *at = words[1];
    for (int axis = 0; axis < 3 && at; axis++, at = strchr(at, 'x') ? strchr(at, 'x') + 1 : NULL) {
        w->points *= w->problem.extent[axis] = strtoull(at, NULL, 10);
        OK(stn_boundary_parse(words[3], w->problem.boundary[axis], &error));
    }
    w->bytes = w->points * (w->problem.dtype == STN_F64 ? 8 : w->problem.dtype == STN_F32 ? 4 : 2);
    w->in = calloc(1, w->bytes), w->out = calloc(3, w->bytes);
    if (!w->in || !w->out) exit(1);
    for (size_t i = 0; i < w->points; i++) {
        const double value = sin(0.37 * (double)(i % 100003)) + (double)(i % 7);
        if (w->problem.dtype == STN_F64) ((double *)w->in)[i] = value;
        if (w->problem.dtype == STN_F32) ((float *)w->in)[i] = (float)value;
        if (w->problem.dtype == STN_F16)
            ((unsigned short *)w->in)[i] = (unsigned short)(0x3800 + i % 1024); /* 0.5 to 1 */
    }
}

static void clear_work(work *w) {
    stn_stencil_destroy(w->stencil);
    free(w->in), free(w->out);
}

typedef struct seconds {
    double plan, first, second, later, best; /* best: of the plan that compiled everything */
    /* the first execution ran the generic kernel; the second one the chosen ones */
    bool generic, ready;
} seconds;

static double execute(stn_context *context, stn_plan *plan, const void *in, void *out) {
    const double begin = now();
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    OK(stn_synchronize(context, NULL, &error));
    return now() - begin;
}

static void run(const work *w, seconds *s) {
    stn_context *context;
    stn_plan *plan;
    void *in, *out;
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:"};
    OK(stn_context_create(&options, &context, &error));
    OK(stn_memory_alloc(context, w->bytes, &in, &error));
    OK(stn_memory_alloc(context, w->bytes, &out, &error));
    OK(stn_memory_upload(context, in, w->in, w->bytes, &error));
    const double begin = now();
    stn_plan_options soon = STN_PLAN_OPTIONS_INIT;
    soon.first_result = 1;
    OK(stn_plan_create(context, &w->problem, &soon, &plan, &error));
    s->plan = now() - begin;
    s->generic = stn_first_result_now(plan) != plan;
    s->first = execute(context, plan, in, out);
    OK(stn_memory_download(context, w->out, out, w->bytes, &error));
    s->second = execute(context, plan, in, out);
    s->ready = stn_first_result_now(plan) == plan;
    s->later = execute(context, plan, in, out);
    OK(stn_memory_download(context, (char *)w->out + 2 * w->bytes, out, w->bytes, &error));
    stn_plan_destroy(plan);
    stn_plan_options estimate = STN_PLAN_OPTIONS_INIT;
    estimate.mode = STN_MODE_ESTIMATE;
    OK(stn_plan_create(context, &w->problem, &estimate, &plan, &error));
    (void)execute(context, plan, in, out);
    s->best = execute(context, plan, in, out);
    OK(stn_memory_download(context, (char *)w->out + w->bytes, out, w->bytes, &error));
    stn_plan_destroy(plan);
    stn_memory_free(context, in), stn_memory_free(context, out);
    stn_context_destroy(context);
}

static double half(unsigned short bits) {
    const double fraction = (bits & 1023) / 1024.0, sign = bits & 0x8000 ? -1 : 1;
    const int power = (bits >> 10 & 31) - 15;
    return sign * (power > -15 ? ldexp(1 + fraction, power) : ldexp(fraction, -14));
}

static double number(const work *w, size_t i) {
    if (w->problem.dtype == STN_F64) return ((const double *)w->out)[i];
    return w->problem.dtype == STN_F32 ? (double)((const float *)w->out)[i] : half(((const unsigned short *)w->out)[i]);
}

/* Relative L2 difference between result number `which` and the second one, of the plan that
 * compiled everything. */
static double difference(const work *w, size_t which) {
    double apart = 0, all = 0;
    for (size_t i = 0; i < w->points; i++) {
        const double a = number(w, which * w->points + i), b = number(w, w->points + i);
        if (!isfinite(a) && !isfinite(b)) continue; /* The values grow without bound. */
        apart += (a - b) * (a - b), all += b * b;
    }
    return sqrt(apart / (all > 0 ? all : 1));
}

static int test(int index, char *const words[5]) {
    work w = {0};
    seconds s = {0};
    make_work(words, &w);
    run(&w, &s);
    const double apart = difference(&w, 0), later = difference(&w, 2), steps = (double)w.problem.steps;
    const double bar = w.problem.dtype == STN_F64   ? 1e-12 * (1 + log2(steps))
                       : w.problem.dtype == STN_F32 ? 2e-6 * (1 + sqrt(steps))
                                                    : 4e-3 * (1 + sqrt(steps));
    const int right = apart <= bar && later <= bar && s.ready;
    printf(
        "%s %d - %s %s %s %s T=%s: plan %.3f s, first execution %.4f s%s, second %.4f s, third %.6f s, by a plan that "
        "compiles first %.6f s; apart %.2g, %.2g\n",
        right ? "ok" : "not ok", index, words[0], words[1], words[2], words[3], words[4], s.plan, s.first,
        s.generic ? " by the generic kernel" : "", s.second, s.later, s.best, apart, later);
    fflush(stdout);
    clear_work(&w);
    return !right;
}

int main(int argc, char **argv) {
    static char *const few[][5] = {{"heat-2d", "96x80", "f64", "fixed", "3"},
                                   {"heat-2d", "128x128", "f32", "wrap", "200"},
                                   {"gaussian-1d:sigma=8,truncate=4", "5000", "f32", "mirror", "20"},
                                   {"box-3d27p", "40x36x32", "f64", "constant", "6"},
                                   {"star-2d13p", "100x96", "f16", "wrap", "2"}};
    int failed = 0;
    const int count = argc > 1 ? (argc - 1) / 5 : (int)(sizeof few / sizeof *few);
    stn_context *probe;
    if (stn_context_create(&(stn_context_options){.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:"}, &probe,
                           &error) != STN_OK) {
        printf("1..0 # SKIP %s\n", error.message);
        return 0;
    }
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) failed |= test(i + 1, argc > 1 ? argv + 1 + 5 * i : few[i]);
    stn_context_destroy(probe);
    return failed;
}
