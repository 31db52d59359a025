/* segment on eigenmodes of lines: exact factors for up to a million steps; and powers of symbols
 * whose factors grow and shrink. On any device. Prints TAP. Usage: test_segment [--full].
 * test_random compares its candidates with the host. */
#include <math.h>
#include <stdio.h>

#include "../suite.h"

/* Eigenmodes of heat-1d are multiplied by the power of their symbol, for any number of steps. */
typedef struct mode {
    const char *name;
    stn_boundary_kind kind;
    double from, over; /* Mode m is cos or sin(pi m (i + from) / over). */
    bool sine;
} mode;

static void check_mode(suite *s, const mode *m, int n, int order, uint64_t steps) {
    static double in[2000], out[2000];
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    stn_stencil_parse("heat-1d", &stencil, NULL);
    stn_problem p = grid_problem(stencil, &n, STN_F64, steps);
    p.boundary[0][0].kind = p.boundary[0][1].kind = m->kind;
    const long double wide = acosl(-1.0L) * order / (long double)m->over, half = sinl(wide / 2);
    /* Weights 1/8, 3/4, 1/8. */
    const double k = (double)wide, factor = (double)powl(1 - half * half / 2, (long double)steps);
    for (int i = 0; i < n; i++) in[i] = m->sine ? sin(k * (i + m->from)) : cos(k * (i + m->from));
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "segment";
    void *from = NULL, *to = NULL;
    const size_t bytes = (size_t)n * sizeof *in;
    stn_context *c = s->context;
    bool good = stn_plan_create(c, &p, &options, &plan, &error) == STN_OK &&
                stn_memory_alloc(c, bytes, &from, &error) == STN_OK &&
                stn_memory_alloc(c, bytes, &to, &error) == STN_OK &&
                stn_memory_upload(c, from, in, bytes, &error) == STN_OK &&
                stn_plan_execute(plan, from, to, NULL, &error) == STN_OK &&
                stn_memory_download(c, out, to, bytes, &error) == STN_OK;
    double worst = 0;
    for (int i = 0; i < n && good; i++) worst = fmax(worst, fabs(out[i] - factor * in[i]));
    char what[120], detail[1200];
    snprintf(what, sizeof what, "%s, mode %d of %d points, %g steps", m->name, order, n, (double)steps);
    snprintf(detail, sizeof detail, "off by %g; %s", worst, error.message);
    suite_report(s, good && worst < 1e-13 * (1 + log2((double)steps)), what, detail);
    stn_memory_free(c, from), stn_memory_free(c, to);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

static void modes(suite *s) {
    const int n = 1601;
    const mode all[] = {{"wrap", STN_WRAP, 0, n / 2.0, false},
                        {"reflect", STN_REFLECT, 0.5, n, false},
                        {"mirror", STN_MIRROR, 0, n - 1, false},
                        {"constant 0", STN_CONSTANT, 1, n + 1, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int order = 1; order < 40; order *= 6)
            for (uint64_t steps = 100; steps <= 1000000; steps *= 100)
                if (s->full || (i + (size_t)order) % 2 == 0) check_mode(s, &all[i], n, order, steps);
}

/* Weights of the product form whose symbols have the largest absolute value 1 where the sums of
 * their absolute values are 1.4 and 1: 1.4^1000 is beyond f32. */
static void signs(suite *s) {
    const double along_y[] = {-0.404, 0.589, 0.404}, along_x[] = {0.101, 0.39, 0.509};
    stn_tap taps[9];
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            taps[3 * y + x] = (stn_tap){.offset = {y - 1, x - 1}, .weight = along_y[y] * along_x[x]};
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, 9, taps, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[]){24, 40}, STN_F32, 1000);
    for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
    suite_compare_words(s, "segment", "along axis 1|along axis 0", "factors of either sign", &p, 1);
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"modes", modes}, {"signs", signs}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
