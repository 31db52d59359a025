/* Arrays of other number types than the dtype, on a GPU against the host. One step gives the same
 * bytes, whatever the types; longer runs are compared as numbers. Prints TAP and its seed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/stencil_kernels.h"
#include "plan/plan.h"
#include "strategies/typed/typed_bytes.h"
#include "suite.h"

#define POISON 0xa5

/* A problem with its arrays: input, the host's output, the GPU's. */
typedef struct job {
    stn_problem p;
    stn_task task;
    size_t in_bytes, out_bytes;
    unsigned char *in, *want, *got;
    int axis; /* of `bytes`: of the taps, unless they fill a plane */
    bool in_plane;
    char what[300];
} job;

static uint64_t seed;

static stn_element draw_element(dice *d) { return (stn_element)dice_int(d, STN_ELEMENT_F64, STN_ELEMENT_BOOL); }

/* Taps that are summed in pairs: equal or opposite at opposite offsets, with or without a
 * middle. */
static stn_stencil *paired_stencil(dice *d, int rank, bool odd, bool whole) {
    stn_tap taps[9] = {{{0}, whole ? dice_int(d, -4, 4) : dice_real(d)}};
    stn_stencil *stencil = NULL;
    size_t count = odd ? 0 : (size_t)dice_int(d, 0, 1);
    const int axis = dice_int(d, 0, rank - 1);
    for (int far = 1; far <= dice_int(d, 1, 3); far++) {
        const double weight = whole ? dice_int(d, 1, 5) : dice_positive(d) / 3;
        for (int way = -1; way <= 1; way += 2) {
            taps[count] = (stn_tap){{0}, odd ? way * weight : weight};
            taps[count++].offset[axis] = way * far;
        }
    }
    return stn_stencil_create(rank, count, taps, &stencil, NULL) == STN_OK ? stencil : NULL;
}

static stn_stencil *draw_stencil(dice *d, int rank) {
    const int kind = dice_int(d, 0, 5);
    if (kind < 3) return random_stencil(d, rank, (taps_kind)kind, dice_int(d, 1, 2));
    return paired_stencil(d, rank, kind == 5, kind == 4);
}

static void draw_layout(dice *d, stn_problem *p, int rank) {
    for (int side = 0; side < 2; side++) {
        ptrdiff_t *stride = side ? p->out_stride : p->in_stride, next = dice_int(d, 0, 3) ? 1 : 3;
        for (int axis = rank - 1; axis >= 0; axis--) {
            stride[axis] = next;
            next *= (ptrdiff_t)p->extent[axis] + dice_int(d, 0, 2);
        }
    }
}

static void free_job(job *j) {
    stn_stencil_destroy((stn_stencil *)j->p.stencil);
    stn_task_clear(&j->task);
    free(j->in), free(j->want), free(j->got);
}

/* Numbers of a size that the type can hold, and now and then far larger ones. */
static void fill(dice *d, stn_element element, unsigned char *to, size_t bytes) {
    const stn_kernels *kernels = stn_kernels_best();
    const size_t size = stn_element_size(element);
    const double scale = dice_int(d, 0, 3) ? 250 : 1e5;
    for (size_t at = 0; at + size <= bytes; at += size) {
        const double value = scale * dice_real(d);
        kernels->store[element](to + at, &value, 1);
    }
}

/* False: the drawn problem is not valid (taps that reach too far, a fixed side past a mirror). */
static bool draw(dice *d, job *j, uint64_t steps, bool whole_result) {
    memset(j, 0, sizeof *j);
    const int rank = dice_int(d, 1, 3);
    j->p = (stn_problem)STN_PROBLEM_INIT;
    j->p.stencil = draw_stencil(d, rank);
    for (int axis = 0; axis < rank; axis++) j->p.extent[axis] = (size_t)dice_int(d, 1, axis == rank - 1 ? 40 : 9);
    j->p.batch = (size_t)dice_int(d, 1, 2);
    j->p.dtype = dice_int(d, 0, 1) ? STN_F64 : STN_F32;
    j->p.steps = steps;
    random_sides(d, &j->p, rank);
    draw_layout(d, &j->p, rank);
    j->p.in_element = draw_element(d), j->p.out_element = draw_element(d);
    if (j->p.out_element >= STN_ELEMENT_I8 && dice_int(d, 0, 1)) j->p.divisor = dice_int(d, 2, 9);
    if (!whole_result && j->p.out_element >= STN_ELEMENT_I8) j->p.out_element = STN_ELEMENT_F32, j->p.divisor = 0;
    if (!j->p.stencil || stn_task_make(&j->p, &j->task, NULL) != STN_OK) return false;
    for (int axis = 0; axis < 3; axis++)
        if (stn_task_reach(&j->task, axis) > j->task.n[axis]) return false;
    j->in_bytes = (size_t)stn_task_span(&j->task, false) * stn_element_size(stn_task_element(&j->task, false));
    j->out_bytes = (size_t)stn_task_span(&j->task, true) * stn_element_size(stn_task_element(&j->task, true));
    j->in = malloc(j->in_bytes), j->want = malloc(j->out_bytes), j->got = malloc(j->out_bytes);
    if (!j->in || !j->want || !j->got) return false;
    fill(d, stn_task_element(&j->task, false), j->in, j->in_bytes);
    memset(j->want, POISON, j->out_bytes), memset(j->got, POISON, j->out_bytes);
    stn_text text = STN_TEXT_EMPTY;
    char *line = NULL;
    stn_task_print(&j->task, &text);
    if (stn_text_take(&text, &line, NULL) == STN_OK)
        snprintf(j->what, sizeof j->what, "%.250s, divisor %g", line, j->task.divisor);
    stn_text_free(line);
    return true;
}

static bool run_on_host(job *j, stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *host = NULL;
    stn_plan *plan = NULL;
    options.device = STN_DEVICE_HOST, options.threads = 2, options.cache_dir = ":memory:";
    stn_plan_options by = STN_PLAN_OPTIONS_INIT;
    by.strategy = "host";
    const bool good = stn_context_create(&options, &host, error) == STN_OK &&
                      stn_plan_create(host, &j->p, &by, &plan, error) == STN_OK &&
                      stn_plan_execute(plan, j->in, j->want, NULL, error) == STN_OK;
    stn_plan_destroy(plan);
    stn_context_destroy(host);
    return good;
}

static bool run_both(suite *s, job *j, const char *strategy, char *detail, size_t size) {
    comparison c = {.error = {.status = STN_OK}};
    stn_error error = {STN_OK, ""};
    const bool good = run_on_host(j, &error) && compare_run(s->context, &j->p, strategy, -1, j->in, j->in_bytes, j->got,
                                                            j->out_bytes, &c) == STN_OK;
    snprintf(detail, size, "seed %llu: %s%s", (unsigned long long)seed, error.message, c.error.message);
    return good;
}

/* Draws problems until `count` are valid; reports every `every`-th, and those that are wrong. */
static void try_many(suite *s, uint64_t own_seed, int count, int every, bool (*draw_one)(dice *, job *),
                     bool (*is_right)(suite *, job *, char *, size_t)) {
    dice d = {own_seed};
    int done = 0;
    char detail[1400];
    for (int i = 0; done < count && i < 20 * count; i++) {
        job j;
        if (draw_one(&d, &j)) {
            const bool good = is_right(s, &j, detail, sizeof detail);
            if (!good || done % every == 0) suite_report(s, good, j.what, detail);
            done++;
        }
        free_job(&j);
    }
    suite_report(s, done == count, "problems drawn", NULL);
}

/* One step: the same bytes, padding included. NaN differ in their bits and are set apart. */
static bool draw_step(dice *d, job *j) { return draw(d, j, 1, true) && stn_task_converts(&j->task); }
static bool has_equal_elements(suite *s, job *j, char *detail, size_t room) {
    const stn_kernels *kernels = stn_kernels_best();
    bool good = run_both(s, j, "typed", detail, room);
    const stn_element to = stn_task_element(&j->task, true);
    for (size_t at = 0, size = stn_element_size(to); good && at < j->out_bytes; at += size) {
        double want, got;
        kernels->load[to](&want, j->want + at, 1), kernels->load[to](&got, j->got + at, 1);
        good = !memcmp(j->want + at, j->got + at, size) || (isnan(want) && isnan(got));
        if (!good)
            snprintf(detail, room, "seed %llu: element %zu is %.17g, not %.17g", (unsigned long long)seed, at / size,
                     got, want);
    }
    return good;
}
static void one_step(suite *s) { try_many(s, seed, s->full ? 2000 : 40, 20, draw_step, has_equal_elements); }

/* Taps along one axis of small integers: a bell, random weights, integers, weights whose sums are
 * often integers, or the slope of a bell, which is summed in differences. */
static stn_stencil *line_stencil(dice *d, int rank, int axis, double *divisor) {
    stn_tap taps[65];
    stn_stencil *stencil = NULL;
    const int kind = dice_int(d, 0, 5), most = dice_int(d, 0, 1) ? 4 : 32;
    const bool bell_like = kind == 0 || kind == 5;
    const int low = bell_like ? dice_int(d, 1, most) : dice_int(d, 0, dice_int(d, 1, most)),
              high = bell_like ? low : dice_int(d, 1, most);
    double sum = 0;
    int count = 0;
    for (int i = -low; i <= high; i++) {
        if (kind == 5 && !i) continue;
        const double bell = exp(-0.5 * pow(3.0 * i / (low + 1), 2));
        taps[count] = (stn_tap){{0},
                                kind == 0   ? bell
                                : kind == 1 ? dice_real(d) / 8
                                : kind == 2 ? 1
                                : kind == 3 ? dice_int(d, -3, dice_int(d, 0, 3) ? 9 : 300)
                                : kind == 5 ? i * bell / 8
                                            : dice_int(d, -3, 9) / (dice_int(d, 0, 3) ? 8.0 : 6.0)};
        taps[count].offset[axis] = i;
        sum += taps[count++].weight;
    }
    for (int i = 0; i < count && kind == 0; i++) taps[i].weight /= sum;
    *divisor = kind == 2 ? count : kind == 3 ? dice_int(d, 1, 30) + (dice_int(d, 0, 3) ? 0 : 0.7) : 0;
    return stn_stencil_create(rank, (size_t)count, taps, &stencil, NULL) == STN_OK ? stencil : NULL;
}

/* Dense weights along the last two axes, of the same kinds. */
static stn_stencil *plane_stencil(dice *d, int rank, double *divisor) {
    stn_tap taps[9 * 17];
    stn_stencil *stencil = NULL;
    const int kind = dice_int(d, 0, 3), most[2] = {4, dice_int(d, 0, 3) ? 4 : 8};
    int low[2], high[2], count = 0;
    for (int a = 0; a < 2; a++) high[a] = dice_int(d, 1, most[a]), low[a] = kind ? dice_int(d, 0, most[a]) : high[a];
    for (int y = -low[0]; y <= high[0]; y++)
        for (int x = -low[1]; x <= high[1]; x++, count++) {
            taps[count] = (stn_tap){{0},
                                    kind == 0   ? exp(-0.3 * (x * x + y * y))
                                    : kind == 1 ? dice_real(d) / 16
                                    : kind == 2 ? 1.0 / ((low[0] + 1 + high[0]) * (low[1] + 1 + high[1]))
                                                : dice_int(d, -3, 9)};
            taps[count].offset[rank - 2] = y, taps[count].offset[rank - 1] = x;
        }
    *divisor = kind == 3 ? dice_int(d, 1, 30) : 0;
    return stn_stencil_create(rank, (size_t)count, taps, &stencil, NULL) == STN_OK ? stencil : NULL;
}

/* Noise, with areas of one value and slopes, where sums of a bell are integers but for their
 * rounding. */
static void fill_picture(dice *d, unsigned char *to, size_t bytes, size_t size) {
    for (size_t i = 0; i < bytes;) {
        const int kind = dice_int(d, 0, 2), slope = kind ? dice_int(d, 0, kind) : 0;
        unsigned value = (unsigned)dice_int(d, 0, 0xffff);
        for (int run = dice_int(d, 1, dice_int(d, 0, 3) ? 200 : 20000); run > 0 && i < bytes; run--) {
            value += kind ? (unsigned)slope : (unsigned)dice_int(d, 0, 0xffff);
            for (size_t k = 0; k < size; k++) to[i++] = (unsigned char)(value >> 8 * k);
        }
    }
}

/* The kernels for small integers: the same bytes as the host's. */
static bool draw_bytes(dice *d, job *j) {
    static const stn_boundary_kind kinds[] = {STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR};
    static const stn_element elements[] = {STN_ELEMENT_U8, STN_ELEMENT_I8, STN_ELEMENT_U16, STN_ELEMENT_I16};
    const int type = dice_int(d, 0, 3), narrow = dice_int(d, 0, 2);
    const size_t size = type < 2 ? 1 : 2;
    memset(j, 0, sizeof *j);
    const int rank = dice_int(d, 2, 3), axis = j->axis = dice_int(d, 0, rank - 1);
    j->p = (stn_problem)STN_PROBLEM_INIT;
    j->in_plane = dice_int(d, 0, 2) == 0;
    j->p.stencil = j->in_plane ? plane_stencil(d, rank, &j->p.divisor) : line_stencil(d, rank, axis, &j->p.divisor);
    for (int a = 0; a < rank; a++) {
        j->p.extent[a] = (size_t)(a == rank - 1            ? narrow ? 8 * dice_int(d, 1, 40) : dice_int(d, 1, 300)
                                             : a == axis || rank == 2 ? dice_int(d, 8, 170)
                                                           : dice_int(d, 1, 20));
        const bool wraps = dice_int(d, 0, 3) == 0;
        for (int side = 0; side < 2; side++)
            j->p.boundary[a][side] = (stn_boundary){wraps ? STN_WRAP : kinds[dice_int(d, 0, 3)], dice_int(d, 0, 127)};
    }
    j->p.batch = (size_t)dice_int(d, 1, 2), j->p.in_element = j->p.out_element = elements[type];
    j->p.dtype = dice_int(d, 0, 1) ? STN_F64 : STN_F32;
    if (!j->p.stencil || stn_task_make(&j->p, &j->task, NULL) != STN_OK || stn_task_needs_host(&j->task)) return false;
    j->in_bytes = j->out_bytes = (size_t)stn_task_span(&j->task, false) * size;
    j->in = malloc(j->in_bytes), j->want = malloc(j->out_bytes), j->got = malloc(j->out_bytes);
    fill_picture(d, j->in, j->in_bytes, size);
    memset(j->want, POISON, j->out_bytes), memset(j->got, POISON, j->out_bytes);
    const int *const reach = j->task.reach[3 - rank + axis];
    snprintf(j->what, sizeof j->what, "%s, %zu x %zu x %zu, %s %d, reach %d %d, sides %s %s, divisor %g",
             stn_element_name(elements[type]), j->p.extent[0], j->p.extent[1], j->p.extent[2],
             j->in_plane ? "plane, not axis" : "axis", axis, reach[0], reach[1],
             side_names[j->p.boundary[axis][0].kind], side_names[j->p.boundary[axis][1].kind], j->p.divisor);
    return true;
}

static bool has_equal_bytes(suite *s, job *j, char *detail, size_t room) {
    comparison c = {.error = {.status = STN_OK}};
    stn_plan *plan = NULL;
    const int rank = stn_stencil_rank(j->p.stencil), *const reach = j->task.reach[3 - rank + j->axis];
    bool good = run_both(s, j, "typed", detail, room);
    if (good && memcmp(j->want, j->got, j->out_bytes)) {
        size_t at = 0;
        while (j->want[at] == j->got[at]) at++;
        good = false;
        snprintf(detail, room, "seed %llu: byte %zu is %d, not %d", (unsigned long long)seed, at, j->got[at],
                 j->want[at]);
    }
    if (good && compare_plan(s->context, &j->p, NULL, -1, &plan, &c) == STN_OK &&
        plan->candidate.values[0] == TYPED_POINT && j->p.divisor == rint(j->p.divisor) &&
        ((!j->in_plane && j->axis < rank - 1) || j->task.n[1] >= 8) && reach[0] + reach[1] <= 32) {
        good = false;
        snprintf(detail, room, "seed %llu: typed_point was chosen", (unsigned long long)seed);
    }
    stn_plan_destroy(plan);
    return good;
}
static void bytes(suite *s) { try_many(s, seed + 2, s->full ? 600 : 16, 20, draw_bytes, has_equal_bytes); }

/* The weights of 25 taps lie 0.45 of 2^-bits above multiples of 2^-bits where the image is 255, and
 * below where it is 0, or the reverse (way -1). If the kernel rounds weights to such multiples, its
 * sum in the middle row lies on the other side of an integer than the exact sum. */
static stn_stencil *rounded_stencil(dice *d, int bits, int way, double total) {
    enum { TAPS = 25, MIDDLE = TAPS / 2 };
    const double unit = ldexp(1, -bits);
    stn_tap taps[TAPS];
    stn_stencil *stencil = NULL;
    double any[TAPS], before = 0, sum = 0;
    for (int k = 0; k < TAPS; k++) {
        any[k] = total / TAPS * (1 + dice_real(d) / 4);
        if (k % 2 == 0 && k != MIDDLE) before += 255 * any[k];
    }
    for (int k = 0; k < TAPS; k++) {
        const double whole = rint(any[k] * (ceil(before) - 0.03) / before / unit);
        taps[k] = (stn_tap){.offset = {k - MIDDLE}, .weight = (whole + way * (k % 2 ? -0.45 : 0.45)) * unit};
        if (k % 2 == 0 && k != MIDDLE) sum += 255 * taps[k].weight;
    }
    taps[MIDDLE].weight = ceil(before) - sum + way * 200 * unit;
    return stn_stencil_create(2, TAPS, taps, &stencil, NULL) == STN_OK ? stencil : NULL;
}

enum { IMAGE_ROWS = 25, IMAGE_COLUMNS = 32 };

/* Whether an image of bytes is filtered to the same bytes as on the host. Takes the stencil. */
static bool same_image(suite *s, stn_stencil *stencil, const unsigned char *image, char *detail, size_t size) {
    job j = {.p = STN_PROBLEM_INIT, .in_bytes = IMAGE_ROWS * IMAGE_COLUMNS, .out_bytes = IMAGE_ROWS * IMAGE_COLUMNS};
    j.p.stencil = stencil;
    j.p.extent[0] = IMAGE_ROWS, j.p.extent[1] = IMAGE_COLUMNS;
    j.p.in_element = j.p.out_element = STN_ELEMENT_U8, j.p.dtype = STN_F64;
    for (int axis = 0; axis < 2; axis++) j.p.boundary[axis][0] = j.p.boundary[axis][1] = (stn_boundary){STN_NEAREST, 0};
    j.in = malloc(j.in_bytes), j.want = calloc(j.out_bytes, 1), j.got = calloc(j.out_bytes, 1);
    memcpy(j.in, image, j.in_bytes);
    const bool good = stencil && stn_task_make(&j.p, &j.task, NULL) == STN_OK &&
                      run_both(s, &j, "typed", detail, size) && !memcmp(j.want, j.got, j.out_bytes);
    free_job(&j);
    return good;
}

static void rounded_weights(suite *s) {
    dice d = {seed + 3};
    char detail[1400];
    bool good = true;
    unsigned char image[IMAGE_ROWS * IMAGE_COLUMNS];
    for (int i = 0; i < IMAGE_ROWS * IMAGE_COLUMNS; i++) {
        const int row = i / IMAGE_COLUMNS;
        image[i] = row == IMAGE_ROWS / 2 ? 1 : row % 2 ? 0 : 255;
    }
    for (int bits = 18; good && bits <= 34; bits++)
        for (int kind = 0; good && kind < 4; kind++)
            good = same_image(s, rounded_stencil(&d, bits, kind % 2 ? 1 : -1, kind / 2 ? 2 : 0.9), image, detail,
                              sizeof detail);
    suite_report(s, good, "weights between multiples of a power of 2", good ? NULL : detail);
}

/* The derivative of a bell, along either axis, of an image of one value. */
static void flat_slopes(suite *s) {
    char detail[1400];
    bool good = true;
    unsigned char image[IMAGE_ROWS * IMAGE_COLUMNS];
    memset(image, 201, sizeof image);
    for (int axis = 0; good && axis < 2; axis++)
        for (int reach = 1; good && reach <= 9; reach += 4) {
            stn_tap taps[18];
            stn_stencil *stencil = NULL;
            size_t count = 0;
            for (int i = -reach; i <= reach; i++) {
                if (!i) continue;
                taps[count] = (stn_tap){.weight = i * exp(-4.5 * i * i / (reach + 1) / (reach + 1)) / 8};
                taps[count++].offset[axis] = i;
            }
            good = stn_stencil_create(2, count, taps, &stencil, NULL) == STN_OK &&
                   same_image(s, stencil, image, detail, sizeof detail);
        }
    suite_report(s, good, "slopes of an image of one value", good ? NULL : detail);
}

/* Several steps, and one step to floating point by other strategies: the same numbers, to the
 * rounding of the dtype and of the output. */
static bool draw_steps(dice *d, job *j) {
    return draw(d, j, (uint64_t)dice_int(d, 1, 5), false) && stn_task_converts(&j->task);
}
static bool has_close_elements(suite *s, job *j, char *detail, size_t room) {
    const stn_kernels *kernels = stn_kernels_best();
    bool good = run_both(s, j, "converted", detail, room);
    const stn_element to = stn_task_element(&j->task, true);
    const double unit = to == STN_ELEMENT_BF16  ? 8e-3
                        : to == STN_ELEMENT_F16 ? 1e-3
                        : j->p.dtype == STN_F64 ? 2e-7
                                                : 1e-5;
    double most = 0, off = 0;
    for (size_t at = 0, size = stn_element_size(to); good && at < j->out_bytes; at += size) {
        double want, got;
        kernels->load[to](&want, j->want + at, 1), kernels->load[to](&got, j->got + at, 1);
        /* Of all values, those that overflow too: the rounding errors of large terms remain where
         * these cancel. */
        if (!isnan(want)) most = fmax(most, fabs(want));
        if (memcmp(j->want + at, j->got + at, size) != 0) off = fmax(off, fabs(want - got));
    }
    if (!good || off <= unit * (1 + most)) return good;
    snprintf(detail, room, "seed %llu: off by %g of %g", (unsigned long long)seed, off, most);
    return false;
}
static void converted(suite *s) { try_many(s, seed + 1, s->full ? 300 : 12, 10, draw_steps, has_close_elements); }

/* New weights, which are summed in pairs where the old ones were not. */
static void new_weights(suite *s) {
    const stn_tap first[3] = {{{-1}, 1}, {{0}, 2}, {{1}, 4}};
    const double second[3] = {3, 5, 3};
    unsigned char in[50], want[50], got[50];
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {STN_OK, ""};
    for (int i = 0; i < 50; i++) in[i] = (unsigned char)(i * 37);
    for (int i = 0; i < 50; i++)
        want[i] = (unsigned char)((int)(3 * in[(i + 49) % 50] + 5 * in[i] + 3 * in[(i + 1) % 50]) / 11);
    p.extent[0] = 50, p.in_element = p.out_element = STN_ELEMENT_U8, p.divisor = 11;
    bool good = stn_stencil_create(1, 3, first, &stencil, &error) == STN_OK;
    p.stencil = stencil;
    good = good && stn_plan_create(s->context, &p, NULL, &plan, &error) == STN_OK &&
           compare_execute(s->context, plan, in, 50, NULL, got, 50, &error) == STN_OK &&
           stn_plan_set_weights(plan, 3, second, &error) == STN_OK &&
           compare_execute(s->context, plan, in, 50, NULL, got, 50, &error) == STN_OK && !memcmp(want, got, 50);
    suite_report(s, good, "new weights", error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

/* New weights of other forms than those that the kernel for small integers was compiled for. */
static void other_weights(suite *s) {
    enum { ROWS = 40, COLUMNS = 72, BYTES = ROWS * COLUMNS };
    static const double sets[][3] = {{1, 2, 1}, {0.3, 0.4, 0.3}, {0.1, -0.7, 0.2}, {300, -5, 2}, {0.2, 0.7, 0.1}};
    unsigned char in[BYTES], want[BYTES], got[BYTES];
    const stn_tap taps[3] = {{{-1}, sets[0][0]}, {{0}, sets[0][1]}, {{1}, sets[0][2]}};
    stn_problem p = STN_PROBLEM_INIT;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *host = NULL;
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL, *host_plan = NULL;
    stn_error error = {STN_OK, ""};
    dice d = {seed + 3};
    fill_picture(&d, in, BYTES, 1);
    options.device = STN_DEVICE_HOST, options.cache_dir = ":memory:";
    p.extent[0] = ROWS, p.extent[1] = COLUMNS, p.in_element = p.out_element = STN_ELEMENT_U8;
    bool good = stn_stencil_create(2, 3, taps, &stencil, &error) == STN_OK;
    p.stencil = stencil;
    good = good && stn_context_create(&options, &host, &error) == STN_OK &&
           stn_plan_create(s->context, &p, NULL, &plan, &error) == STN_OK &&
           stn_plan_create(host, &p, NULL, &host_plan, &error) == STN_OK;
    for (size_t i = 0; good && i < sizeof sets / sizeof *sets; i++)
        good = stn_plan_set_weights(plan, 3, sets[i], &error) == STN_OK &&
               stn_plan_set_weights(host_plan, 3, sets[i], &error) == STN_OK &&
               compare_execute(s->context, plan, in, BYTES, NULL, got, BYTES, &error) == STN_OK &&
               stn_plan_execute(host_plan, in, want, NULL, &error) == STN_OK && !memcmp(want, got, BYTES);
    suite_report(s, good, "weights of other forms", error.message);
    stn_plan_destroy(plan), stn_plan_destroy(host_plan);
    stn_context_destroy(host);
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"one-step", one_step},   {"bytes", bytes},         {"rounded", rounded_weights},
                                       {"slopes", flat_slopes},  {"converted", converted}, {"weights", new_weights},
                                       {"others", other_weights}};
    seed = dice_seed();
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
