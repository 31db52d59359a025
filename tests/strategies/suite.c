/* See suite.h. */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const side_names[6] = {"wrap", "constant", "nearest", "reflect", "mirror", "fixed"};
const char *const taps_names[3] = {"star", "box", "random"};

void suite_report(suite *s, bool good, const char *what, const char *detail) {
    s->run++;
    if (!good) s->failed++;
    printf("%s %d - %s\n", good ? "ok" : "not ok", s->run, what);
    if (!good && detail) printf("# %s\n", detail);
    fflush(stdout);
}

void suite_detail(const comparison *c, char *detail, size_t size) {
    snprintf(detail, size, "relative L2 %.3g, bar %.3g, %s; %s", c->relative_l2, c->bar,
             c->all_written ? "all written" : "a point unwritten or padding touched",
             c->error.status ? c->error.message : "no error");
}

stn_problem suite_problem(const suite *s, const stn_problem *problem) {
    stn_problem typed = *problem;
    if (s->dtype_given) typed.dtype = s->dtype, typed.tolerance = s->tolerance;
    return typed;
}

void suite_compare(suite *s, const char *strategy, bool fused, const char *what, const stn_problem *problem,
                   uint64_t seed) {
    comparison c;
    char detail[1200];
    stn_problem typed = suite_problem(s, problem);
    bool good = compare_with_host(s->context, s->pool, &typed, strategy, fused, seed, &c);
    s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
    suite_detail(&c, detail, sizeof detail);
    suite_report(s, good, what, detail);
}

void random_sides(dice *d, stn_problem *problem, int rank) {
    for (int axis = 0; axis < rank; axis++) {
        int low = dice_int(d, 0, 5), high = low ? dice_int(d, 1, 5) : 0;
        problem->boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.7 : 0};
        problem->boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.3 : 0};
    }
}

int suite_main(int argc, char **argv, const suite_part *parts, size_t count) {
    return suite_main_on(STN_DEVICE_CUDA(0), argc, argv, parts, count);
}

int suite_main_on(int device, int argc, char **argv, const suite_part *parts, size_t count) {
    suite s = {0};
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--full")) s.full = true;
        if (!strcmp(argv[i], "--tolerance") && i + 1 < argc) s.tolerance = strtod(argv[++i], NULL);
        if (!strcmp(argv[i], "--dtype") && i + 1 < argc) {
            i++;
            s.dtype_given = true;
            s.dtype = !strcmp(argv[i], "f16") ? STN_F16 : !strcmp(argv[i], "f32") ? STN_F32 : STN_F64;
        }
        if (!strcmp(argv[i], "--only") && i + 1 < argc) only = argv[++i];
    }
    stn_error error;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = device;
    options.cache_dir = ":memory:";
    if (stn_context_create(&options, &s.context, &error) != STN_OK) {
        printf("1..0 # SKIP %s\n", error.message);
        return 0;
    }
    if (stn_pool_create(2, &s.pool, &error) != STN_OK) return 1;
    for (size_t i = 0; i < count; i++)
        if (!only || !strcmp(only, parts[i].name)) parts[i].run(&s);
    printf("1..%d\n# largest error of those that passed: %.2g of its bar\n", s.run, s.worst);
    stn_pool_destroy(s.pool);
    stn_context_destroy(s.context);
    return s.failed != 0;
}
