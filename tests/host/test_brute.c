/* The host against a brute-force implementation, which pads the whole grid by copying and sums
 * every tap at every point. Both sum in double precision in the same order, mirrored taps in pairs,
 * so the results must be bit-identical. The random problems are the same in every run. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "host_grids.h"

/* A grid of doubles, padded by `pad` points on every side of every axis. */
typedef struct padded {
    int64_t pad[3], size[3];
    double *u;
} padded;

static double *at(const padded *p, int64_t i, int64_t j, int64_t k) {
    return p->u + ((i + p->pad[0]) * p->size[1] + j + p->pad[1]) * p->size[2] + k + p->pad[2];
}

static double *at_axis(const padded *p, int axis, int64_t i, int64_t other1, int64_t other2) {
    if (axis == 0) return at(p, i, other1, other2);
    return axis == 1 ? at(p, other1, i, other2) : at(p, other1, other2, i);
}

static double rounded(const stn_task *task, double value) {
    double element;
    set(task->dtype, &element, 0, value);
    return get(task->dtype, &element, 0);
}

/* Sets the k-th point past a side of a line by copying a point inside. */
static void pad_point(const stn_task *task, const padded *p, int axis, int side, int64_t k, int64_t a, int64_t b) {
    int64_t n = task->n[axis], from = 0, to = side ? n + k : -1 - k;
    switch (task->boundary[axis][side].kind) {
        case STN_WRAP:
            from = side ? k : n - 1 - k;
            break;
        case STN_NEAREST:
            from = side ? n - 1 : 0;
            break;
        case STN_REFLECT:
            from = side ? n - 1 - k : k;
            break;
        case STN_MIRROR:
            from = n == 1 ? 0 : side ? n - 2 - k : k + 1;
            break;
        case STN_CONSTANT:
        case STN_FIXED:
            *at_axis(p, axis, to, a, b) = rounded(task, task->boundary[axis][side].value);
            return;
    }
    *at_axis(p, axis, to, a, b) = *at_axis(p, axis, from, a, b);
}

/* Pads fast axes first, so that a slower axis overwrites corners and its constant wins. */
static void pad_all(const stn_task *task, const padded *p) {
    for (int axis = 2; axis >= 0; axis--) {
        int other1 = axis == 0 ? 1 : 0, other2 = axis == 2 ? 1 : 2;
        int64_t margin1 = other1 > axis ? p->pad[other1] : 0, margin2 = other2 > axis ? p->pad[other2] : 0;
        for (int64_t a = -margin1; a < task->n[other1] + margin1; a++)
            for (int64_t b = -margin2; b < task->n[other2] + margin2; b++)
                for (int64_t k = 0; k < p->pad[axis]; k++)
                    for (int side = 0; side < 2; side++) pad_point(task, p, axis, side, k, a, b);
    }
}

static bool frozen(const stn_task *task, const int64_t x[3]) {
    for (size_t t = 0; t < task->ntaps; t++)
        for (int a = 0; a < 3; a++) {
            int64_t seen = x[a] + task->taps[t].offset[a];
            if (seen < 0 && task->boundary[a][0].kind == STN_FIXED) return true;
            if (seen >= task->n[a] && task->boundary[a][1].kind == STN_FIXED) return true;
        }
    return false;
}

static double seen(const padded *p, const int64_t x[3], const stn_tap *tap) {
    return *at(p, x[0] + tap->offset[0], x[1] + tap->offset[1], x[2] + tap->offset[2]);
}

/* Whether taps at opposite offsets have weights of this ratio. */
static bool pairs(const stn_task *task, double ratio) {
    for (size_t t = 0; t < task->ntaps; t++) {
        bool found = false;
        for (size_t o = 0; o < task->ntaps; o++) {
            bool opposite = task->taps[o].weight == ratio * task->taps[t].weight;
            for (int a = 0; a < 3; a++) opposite = opposite && task->taps[o].offset[a] == -task->taps[t].offset[a];
            found = found || opposite;
        }
        if (!found) return false;
    }
    return task->ntaps > 1;
}

/* The sum at a point; ratio: of the weights that are summed in pairs, or 0. */
static double evaluate(const stn_task *task, const padded *p, const int64_t x[3], double ratio) {
    const size_t n = task->ntaps;
    double sum = 0;
    if (frozen(task, x)) return *at(p, x[0], x[1], x[2]);
    if (ratio && n % 2) sum = task->taps[n / 2].weight * seen(p, x, &task->taps[n / 2]);
    for (size_t t = 0; t < (ratio ? n / 2 : n); t++)
        sum += task->taps[t].weight * (ratio ? seen(p, x, &task->taps[t]) + ratio * seen(p, x, &task->taps[n - 1 - t])
                                             : seen(p, x, &task->taps[t]));
    return rounded(task, sum);
}

/* All steps for one grid, in place in dense[]. */
static void brute(const stn_task *task, double *dense) {
    padded p;
    const double ratio = pairs(task, 1) ? 1 : pairs(task, -1) && task->ntaps % 2 == 0 ? -1 : 0;
    for (int a = 0; a < 3; a++) {
        p.pad[a] = task->reach[a][0] > task->reach[a][1] ? task->reach[a][0] : task->reach[a][1];
        p.size[a] = task->n[a] + 2 * p.pad[a];
    }
    p.u = calloc((size_t)(p.size[0] * p.size[1] * p.size[2]), sizeof *p.u);
    for (uint64_t step = 0; step < task->steps; step++) {
        int64_t x[3], index = 0;
        for (x[0] = 0; x[0] < task->n[0]; x[0]++)
            for (x[1] = 0; x[1] < task->n[1]; x[1]++)
                for (x[2] = 0; x[2] < task->n[2]; x[2]++) *at(&p, x[0], x[1], x[2]) = dense[index++];
        pad_all(task, &p);
        index = 0;
        for (x[0] = 0; x[0] < task->n[0]; x[0]++)
            for (x[1] = 0; x[1] < task->n[1]; x[1]++)
                for (x[2] = 0; x[2] < task->n[2]; x[2]++) dense[index++] = evaluate(task, &p, x, ratio);
    }
    free(p.u);
}

/* Index in memory of point `index` of grid `batch`. */
static int64_t element(const stn_task *task, bool of_output, int64_t batch, int64_t index) {
    const int64_t *stride = of_output ? task->out_stride : task->in_stride;
    int64_t place = batch * (of_output ? task->out_batch_stride : task->in_batch_stride);
    for (int a = 2; a >= 0; a--) {
        place += index % task->n[a] * stride[a];
        index /= task->n[a];
    }
    return place;
}

/* Runs a task on random numbers, and compares every point; also checks that padding and input are
 * unchanged. */
static void check(const stn_task *task, int threads, uint64_t *state, const char *what) {
    int64_t points = stn_task_points(task) / task->batch;
    int64_t in_span = stn_task_span(task, false), out_span = stn_task_span(task, true);
    size_t size = stn_dtype_size(task->dtype);
    void *in = poisoned(task->dtype, in_span), *in_copy = poisoned(task->dtype, in_span);
    void *out = task->in_place ? in : poisoned(task->dtype, out_span);
    double *dense = malloc((size_t)points * sizeof *dense);
    for (int64_t b = 0; b < task->batch; b++)
        for (int64_t i = 0; i < points; i++) set(task->dtype, in, element(task, false, b, i), random_unit(state));
    memcpy(in_copy, in, (size_t)in_span * size);
    run(task, threads, in, out);

    cr_assert(task->in_place || !memcmp(in, in_copy, (size_t)in_span * size), "%s: the input was written to", what);
    for (int64_t b = 0; b < task->batch; b++) {
        for (int64_t i = 0; i < points; i++) dense[i] = get(task->dtype, in_copy, element(task, false, b, i));
        brute(task, dense);
        for (int64_t i = 0; i < points; i++) {
            int64_t e = element(task, true, b, i);
            double got = get(task->dtype, out, e);
            cr_assert_eq(got, dense[i], "%s: grid %d point %d is %.17g, not %.17g", what, (int)b, (int)i, got,
                         dense[i]);
            memset((char *)out + (size_t)e * size, 0xff, size);
        }
    }
    for (size_t i = 0; i < (size_t)out_span * size; i++)
        cr_assert_eq(((unsigned char *)out)[i], 0xff, "%s: a gap between points was written to", what);
    if (out != in) free(out);
    free(in);
    free(in_copy);
    free(dense);
}

/* Up to `tries` distinct random taps within the extents. */
static size_t random_taps(uint64_t *state, int rank, const size_t *extent, int64_t radius, size_t tries,
                          stn_tap *taps) {
    size_t made = 0;
    for (size_t i = 0; i < tries; i++) {
        stn_tap tap = {.weight = random_unit(state)};
        for (int a = 0; a < rank; a++) {
            int64_t r = (int64_t)extent[a] < radius ? (int64_t)extent[a] : radius;
            tap.offset[a] = random_int(state, -r, r);
        }
        bool known = false;
        for (size_t j = 0; j < made; j++) known = known || !memcmp(taps[j].offset, tap.offset, sizeof tap.offset);
        if (!known) taps[made++] = tap;
    }
    int64_t kind = random_int(state, 0, 3);
    if (kind > 1 || made > 19) return made;
    const double ratio = kind ? 1 : -1; /* mirrored taps, with a middle tap where possible */
    size_t mirrored = 0;
    for (size_t i = 0; i < made; i++) {
        stn_tap tap = taps[i], opposite = {.weight = ratio * tap.weight};
        bool known = false, middle = true;
        for (int a = 0; a < 3; a++) opposite.offset[a] = -tap.offset[a], middle = middle && !tap.offset[a];
        for (size_t j = 0; j < made; j++)
            known = known || (!middle && !memcmp(taps[j].offset, opposite.offset, sizeof tap.offset));
        if (!known && !(middle && ratio < 0)) taps[mirrored++] = tap;
        if (!known && !middle) taps[20 + mirrored] = opposite;
    }
    for (size_t i = 0, last = mirrored; i < last; i++) {
        bool middle = !taps[i].offset[0] && !taps[i].offset[1] && !taps[i].offset[2];
        if (!middle) taps[mirrored++] = taps[20 + i + 1];
    }
    return mirrored ? mirrored : made;
}

static void random_boundary(uint64_t *state, stn_boundary sides[2]) {
    for (int side = 0; side < 2; side++) {
        sides[side].kind = (stn_boundary_kind)random_int(state, STN_CONSTANT, STN_FIXED);
        sides[side].value = sides[side].kind == STN_CONSTANT ? random_unit(state) : 0;
    }
    if (!random_int(state, 0, 5)) sides[0] = sides[1] = (stn_boundary){STN_WRAP, 0};
}

/* A random layout: dense, padded, transposed, strided, or with interleaved grids. */
static void random_layout(uint64_t *state, int rank, const stn_problem *problem, ptrdiff_t *stride,
                          ptrdiff_t *between) {
    ptrdiff_t next = 1;
    bool transposed = random_int(state, 0, 3) == 0, interleaved = random_int(state, 0, 3) == 0;
    if (random_int(state, 0, 2) == 0) return;
    if (interleaved) *between = next, next = (ptrdiff_t)problem->batch + random_int(state, 0, 1);
    if (random_int(state, 0, 2) == 0) next *= 2;
    for (int i = 0; i < rank; i++) {
        int axis = transposed ? i : rank - 1 - i;
        stride[axis] = next;
        next = next * (ptrdiff_t)problem->extent[axis] + random_int(state, 0, 3);
    }
    if (!interleaved) *between = next;
}

static void check_random(uint64_t *state, int rank, stn_dtype dtype, const stn_boundary *given, int given_axis) {
    stn_tap taps[40];
    stn_problem problem = {.dtype = dtype, .batch = (size_t)random_int(state, 1, 3)};
    for (int a = 0; a < rank; a++) {
        problem.extent[a] = (size_t)random_int(state, 1, a == rank - 1 ? 40 : 9);
        random_boundary(state, problem.boundary[a]);
    }
    if (random_int(state, 0, 9) == 0)
        problem.extent[rank - 1] = (size_t)random_int(state, 500, 1300);
    else if (rank > 1 && random_int(state, 0, 5) == 0) /* short rows, computed by columns */
        problem.extent[rank - 2] = (size_t)random_int(state, 20, 1300 / (rank * rank));
    else if (rank < 3 && random_int(state, 0, 5) == 0) /* grids of a batch that are parts of one */
        problem.batch = (size_t)random_int(state, 20, 700 / (rank * rank * rank));
    if (given) memcpy(problem.boundary[given_axis], given, sizeof problem.boundary[0]);
    size_t ntaps =
        random_taps(state, rank, problem.extent, random_int(state, 0, 4), (size_t)random_int(state, 1, 40), taps);
    for (int a = 0; a < rank; a++) /* a tap that a mirror folds past a fixed side is refused */
        for (int side = 0; side < 2; side++)
            for (size_t t = 0; t < ntaps; t++)
                if (problem.boundary[a][side].kind == STN_MIRROR && problem.boundary[a][!side].kind == STN_FIXED &&
                    llabs((long long)taps[t].offset[a]) >= (long long)problem.extent[a])
                    problem.boundary[a][side].kind = STN_REFLECT;
    random_layout(state, rank, &problem, problem.in_stride, &problem.in_batch_stride);
    problem.in_place = random_int(state, 0, 2) == 0;
    if (problem.in_place) {
        memcpy(problem.out_stride, problem.in_stride, sizeof problem.in_stride);
        problem.out_batch_stride = problem.in_batch_stride;
    } else
        random_layout(state, rank, &problem, problem.out_stride, &problem.out_batch_stride);
    problem.steps = (uint64_t)random_int(state, 1, 4);
    uint64_t seed = *state;
    stn_task task = make_task(rank, ntaps, taps, problem);
    stn_text text = STN_TEXT_EMPTY;
    stn_task_print(&task, &text);
    stn_text_printf(&text, " (random state %llu)", (unsigned long long)seed);
    check(&task, (int)random_int(state, 1, 3), state, text.data);
    stn_text_clear(&text);
    stn_task_clear(&task);
}

static void check_dtype(stn_dtype dtype) {
    uint64_t state = 7 + (uint64_t)dtype;
    for (int rank = 1; rank <= 3; rank++)
        for (int axis = 0; axis < rank; axis++)
            for (int pair = 0; pair < 26; pair++) { /* 5 x 5 kinds other than wrap, and wrap */
                stn_boundary sides[2] = {{STN_WRAP, 0}, {STN_WRAP, 0}};
                if (pair < 25) {
                    sides[0] = (stn_boundary){(stn_boundary_kind)(STN_CONSTANT + pair / 5), pair / 5 ? 0 : 0.75};
                    sides[1] = (stn_boundary){(stn_boundary_kind)(STN_CONSTANT + pair % 5), pair % 5 ? 0 : -1.3};
                }
                for (int repeat = 0; repeat < 6; repeat++) check_random(&state, rank, dtype, sides, axis);
            }
}

Test(brute, f64_all_boundaries_ranks_strides_batches) { check_dtype(STN_F64); }
Test(brute, f32_all_boundaries_ranks_strides_batches) { check_dtype(STN_F32); }
Test(brute, f16_all_boundaries_ranks_strides_batches) { check_dtype(STN_F16); }

/* Large enough to be divided into many boxes along each axis; with few taps, which are summed in
 * one call, and with many. */
static void check_large(int rank, const size_t *extent, int64_t radius, size_t tries, stn_dtype dtype) {
    uint64_t state = 5;
    stn_tap taps[240];
    stn_problem problem = {.dtype = dtype, .steps = 2, .batch = 1};
    memcpy(problem.extent, extent, sizeof problem.extent);
    for (int a = 0; a < rank; a++) {
        problem.boundary[a][0] = (stn_boundary){STN_CONSTANT, 0.5 + a};
        problem.boundary[a][1] = a == 1 ? (stn_boundary){STN_MIRROR, 0} : (stn_boundary){STN_CONSTANT, -0.5};
    }
    size_t ntaps = random_taps(&state, rank, extent, radius, tries, taps);
    stn_task task = make_task(rank, ntaps, taps, problem);
    check(&task, 3, &state, "large");
    stn_task_clear(&task);
}

Test(brute, large_1d) { check_large(1, (size_t[3]){200003}, 64, 40, STN_F64); }
Test(brute, large_2d) { check_large(2, (size_t[3]){301, 1111}, 5, 40, STN_F64); }
Test(brute, large_2d_few_taps) { check_large(2, (size_t[3]){61, 16001}, 1, 9, STN_F64); }
Test(brute, large_2d_half) { check_large(2, (size_t[3]){301, 1111}, 5, 40, STN_F16); }
Test(brute, large_3d) { check_large(3, (size_t[3]){61, 67, 71}, 3, 40, STN_F32); }
Test(brute, tall) { check_large(2, (size_t[3]){70001, 3}, 2, 9, STN_F64); }

/* Full boxes of taps, which are summed for several rows at once, apart from the edges of rows. */
static void check_box(int rank, const size_t *extent, int64_t (*range)[2], stn_dtype dtype) {
    uint64_t state = 3;
    stn_tap taps[64];
    size_t count = 0;
    stn_problem problem = {.dtype = dtype, .steps = 2, .batch = 1};
    memcpy(problem.extent, extent, (size_t)rank * sizeof *extent);
    for (int a = 0; a < rank; a++) {
        problem.boundary[a][0] = (stn_boundary){STN_CONSTANT, 0.5 + a};
        problem.boundary[a][1] = (stn_boundary){a == 1 ? STN_MIRROR : STN_NEAREST, 0};
    }
    int64_t at[3] = {0};
    for (int a = 0; a < rank; a++) at[a] = range[a][0];
    while (at[0] <= range[0][1]) {
        taps[count] = (stn_tap){.weight = (float)random_unit(&state)};
        memcpy(taps[count++].offset, at, sizeof at);
        for (int a = rank - 1; ++at[a] > range[a][1] && a > 0; a--) at[a] = range[a][0];
    }
    stn_task task = make_task(rank, count, taps, problem);
    check(&task, 2, &state, "a box of taps");
    stn_task_clear(&task);
}

static void check_boxes(stn_dtype dtype) {
    check_box(2, (size_t[2]){47, 700}, (int64_t[2][2]){{-1, 1}, {-2, 1}}, dtype);
    check_box(2, (size_t[2]){47, 700}, (int64_t[2][2]){{-4, 2}, {1, 3}}, dtype);
    check_box(3, (size_t[3]){7, 21, 330}, (int64_t[3][2]){{-1, 0}, {-1, 2}, {-3, 1}}, dtype);
}

Test(brute, boxes_f64) { check_boxes(STN_F64); }
Test(brute, boxes_f32) { check_boxes(STN_F32); }

/* Taps beyond the radius of GPUs; few of them are read as floats only if their rows fit. */
Test(brute, far_1d) { check_large(1, (size_t[3]){5003}, STN_MAX_HOST_RADIUS, 40, STN_F64); }
Test(brute, far_1d_few_taps) { check_large(1, (size_t[3]){5003}, STN_MAX_HOST_RADIUS, 9, STN_F32); }
Test(brute, far_rows) { check_large(2, (size_t[3]){70, 1030}, STN_MAX_HOST_RADIUS, 40, STN_F16); }
Test(brute, far_rows_few_taps) { check_large(2, (size_t[3]){70, 1030}, STN_MAX_HOST_RADIUS, 9, STN_F32); }
Test(brute, far_columns) { check_large(2, (size_t[3]){1030, 70}, STN_MAX_HOST_RADIUS, 40, STN_F32); }
/* As many rows of floats as fit for one sum, and more. */
Test(brute, rows_of_floats) { check_large(3, (size_t[3]){40, 38, 42}, 34, 240, STN_F32); }
Test(brute, too_many_rows_of_floats) { check_large(3, (size_t[3]){30, 20, 130}, 62, 240, STN_F32); }
/* More taps than are summed in one call, which are not a full box: not in pairs, in pairs of equal
 * weights, and in pairs of opposite weights. */
static void check_many_taps(stn_dtype dtype) {
    uint64_t state = 11;
    const int64_t radius = 11;
    for (int paired = 0; paired < 3; paired++) {
        stn_problem problem = {.dtype = dtype, .steps = 2, .batch = 1, .extent = {15, 150}};
        problem.boundary[0][0] = problem.boundary[0][1] = (stn_boundary){STN_MIRROR, 0};
        problem.boundary[1][0] = (stn_boundary){STN_CONSTANT, 0.5},
        problem.boundary[1][1] = (stn_boundary){STN_REFLECT, 0};
        stn_tap *taps = malloc((size_t)((2 * radius + 1) * (2 * radius + 1)) * sizeof *taps);
        size_t count = 0;
        for (int64_t y = -radius; y <= radius; y++)
            for (int64_t x = -radius; x <= radius; x++) {
                const bool second = y > 0 || (y == 0 && x > 0), middle = y == 0 && x == 0;
                if ((y * 7 + x * 3) % 13 == 0 && !middle) continue;
                if (paired == 2 && middle) continue;
                double weight = random_unit(&state) / 400;
                for (size_t k = 0; k < count && paired && second; k++)
                    if (taps[k].offset[0] == -y && taps[k].offset[1] == -x)
                        weight = paired == 2 ? -taps[k].weight : taps[k].weight;
                taps[count++] = (stn_tap){{y, x}, weight};
            }
        cr_assert_gt(count, 300u);
        stn_task task = make_task(2, count, taps, problem);
        check(&task, 2, &state, "many taps");
        stn_task_clear(&task);
        free(taps);
    }
}

Test(brute, many_taps) { check_many_taps(STN_F64); }
Test(brute, many_taps_of_halves) { check_many_taps(STN_F16); }

Test(brute, wide_planes) { /* rows far longer than a buffer, next to constant planes */
    uint64_t state = 2;
    const stn_tap taps[] = {{{-1}, 0.3}, {{0, 0, -1}, 0.1}, {{0}, 0.2}, {{0, 0, 1}, 0.1}, {{1}, 0.3}};
    stn_problem problem = {.extent = {5, 3, 8101}};
    problem.boundary[0][0] = (stn_boundary){STN_CONSTANT, 2};
    problem.boundary[0][1] = (stn_boundary){STN_CONSTANT, 3};
    stn_task task = make_task(3, 5, taps, problem);
    check(&task, 2, &state, "wide planes");
    stn_task_clear(&task);
}

/* Rows that map to the same entry of a tile's hash table of loaded rows, so that every tap loads
 * its row again until the buffer is full. */
Test(brute, rows_of_one_place) {
    uint64_t state = 3;
    stn_tap taps[9];
    stn_problem problem = {.dtype = STN_F32, .steps = 1, .batch = 1, .extent = {5, 19, 530}};
    for (int i = 0; i < 9; i++)
        taps[i] = (stn_tap){{i < 4 ? 0 : 2, i < 4 ? i : i - 2, 16 * i - 64}, 0.1 + random_unit(&state)};
    stn_task task = make_task(3, 9, taps, problem);
    check(&task, 1, &state, "rows of one place");
    stn_task_clear(&task);
}

Test(brute, many_small_grids) { /* more points than one group of grids */
    uint64_t state = 5;
    stn_tap taps[40];
    stn_problem problem = {.dtype = STN_F64, .steps = 3, .batch = 5, .extent = {467, 601}};
    size_t ntaps = random_taps(&state, 2, problem.extent, 1, 9, taps);
    for (int in_place = 0; in_place < 2; in_place++) {
        problem.in_place = in_place;
        problem.out_batch_stride = in_place ? 0 : 467 * 601 + 10;
        stn_task task = make_task(2, ntaps, taps, problem);
        check(&task, 2, &state, "many grids");
        stn_task_clear(&task);
    }
}
