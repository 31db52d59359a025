/* Exact steps by the spectra of rows give the same bits as the host's sums, on random problems: all
 * number types and boundaries, and sums that are close to where rounding changes. Steps that are
 * not exact have the rounding errors of transforms. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/row_spectra.h"
#include "host/stencil_kernels.h"
#include "host_grids.h"

enum { ELEMENT_PAIRS = 18, PROBLEMS = 8 * ELEMENT_PAIRS, MAX_TAPS = 41 * 41 };
static const stn_boundary_kind kinds[] = {STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR};
static stn_tap taps[MAX_TAPS];

/* Weights of one of six kinds: random numbers, integers, numbers with sum 1, small multiples of 1 /
 * count, symmetric numbers, or numbers most of which are zeros of either sign. */
static size_t random_taps(uint64_t *state, bool whole) {
    const int64_t height = random_int(state, 12, 41) | 1, width = random_int(state, 500 / height, 41) | 1;
    const int kind = whole ? 1 : (int[]){0, 1, 2, 3, 3, 3, 4, 5}[random_int(state, 0, 7)];
    const bool centred = kind == 4 || random_int(state, 0, 1);
    const int64_t low[2] = {centred ? height / 2 : random_int(state, 0, height - 1),
                            centred ? width / 2 : random_int(state, 0, width - 1)};
    const size_t count = (size_t)(height * width);
    const double scale = random_int(state, 0, 3) ? 1 : 1e-3;
    const size_t many = (size_t)random_int(state, 1, 3);
    const double sign = random_int(state, 0, 1) ? 1 : -1; /* sums of zeros have signs */
    const double part = (random_int(state, 0, 3) ? 1 + (double)(count + 2) * 0x1p-52 : 1) / (double)count;
    for (size_t k = 0; k < count; k++) {
        const double any = random_unit(state), whole_one = (double)random_int(state, -9, 9);
        taps[k].offset[2] = 0;
        taps[k].offset[0] = (int64_t)k / width - low[0];
        taps[k].offset[1] = (int64_t)k % width - low[1];
        taps[k].weight = kind == 1                              ? whole_one
                         : kind == 2                            ? copysign(any, sign)
                         : kind == 3                            ? (double)(1 + k % many) * part
                         : kind == 5 && random_int(state, 0, 3) ? copysign(0, any)
                                                                : scale * any;
    }
    double sum = 0;
    for (size_t k = 0; kind == 2 && k < count; k++) sum += taps[k].weight;
    for (size_t k = 0; kind == 2 && k < count; k++) taps[k].weight *= part * (double)count / fabs(sum);
    for (size_t k = 0; kind == 4 && k < count / 2; k++) taps[count - 1 - k].weight = taps[k].weight;
    return count;
}

/* Random numbers, two different numbers, or long constant runs, perhaps with a single number in
 * them that is NaN, very large or very small. */
static void fill(uint64_t *state, stn_element element, int64_t count, void *to) {
    const int kind = (int)random_int(state, 0, 3);
    const int64_t run = random_int(state, 1, 200) * random_int(state, 1, 200);
    const double most = element <= STN_ELEMENT_BF16 ? 3 : random_int(state, 0, 1) ? 300 : 1e5;
    double value = 255;
    for (int64_t i = 0; i < count; i++) {
        if (kind == 0) value = most * random_unit(state);
        if (kind == 1) value = random_int(state, 0, 1) ? 255 : 0;
        if (kind >= 2 && i % run == 0) value = floor(most * random_unit(state));
        const bool odd_one = kind == 3 && i == count / 2 && element <= STN_ELEMENT_BF16;
        const double now = odd_one ? (double[]){NAN, 3e38, 1e14, 1e-160}[random_int(state, 0, 3)] : value;
        stn_kernels_best()->store[element]((char *)to + i * (int64_t)stn_element_size(element), &now, 1);
    }
}

/* exact: the element types are pair `type` of the table; otherwise `type` stands for a dtype. */
static stn_task random_task(uint64_t *state, int type, bool exact) {
    static const stn_element types[ELEMENT_PAIRS][2] = {
        {STN_ELEMENT_U8, STN_ELEMENT_U8},   {STN_ELEMENT_U8, STN_ELEMENT_U8},   {STN_ELEMENT_I8, STN_ELEMENT_I16},
        {STN_ELEMENT_U16, STN_ELEMENT_U16}, {STN_ELEMENT_I16, STN_ELEMENT_U32}, {STN_ELEMENT_F64, STN_ELEMENT_U8},
        {STN_ELEMENT_I32, STN_ELEMENT_I32}, {STN_ELEMENT_BOOL, STN_ELEMENT_U8}, {STN_ELEMENT_U8, STN_ELEMENT_BOOL},
        {STN_ELEMENT_F32, STN_ELEMENT_I64}, {STN_ELEMENT_F16, STN_ELEMENT_U64}, {STN_ELEMENT_F64, STN_ELEMENT_I8},
        {STN_ELEMENT_F64, STN_ELEMENT_U16}, {STN_ELEMENT_F32, STN_ELEMENT_F32}, {STN_ELEMENT_F16, STN_ELEMENT_F16},
        {STN_ELEMENT_U8, STN_ELEMENT_F32},  {STN_ELEMENT_F64, STN_ELEMENT_F32}, {STN_ELEMENT_F32, STN_ELEMENT_BF16}};
    stn_problem p = {.steps = 1, .batch = (size_t)random_int(state, 1, 2), .dtype = STN_F64};
    const int rank = (int)random_int(state, 2, 3);
    if (exact && types[type][0] == types[type][1] && types[type][0] <= STN_ELEMENT_F16) {
        p.dtype = types[type][0] == STN_ELEMENT_F32 ? STN_F32 : STN_F16;
    } else if (exact) {
        p.in_element = types[type][0];
        p.out_element = types[type][1];
    } else {
        p.dtype = (stn_dtype[]){STN_F64, STN_F32, STN_F16}[type];
    }
    if (exact && stn_element_is_whole(types[type][0]) && stn_element_is_whole(types[type][1]) &&
        !random_int(state, 0, 2))
        p.divisor = (double)random_int(state, 2, 99);
    for (int a = 0; a < rank; a++) {
        const bool wraps = random_int(state, 0, 3) == 0;
        p.extent[a] = (size_t)(a + 2 < rank ? 2 : random_int(state, 50, 300));
        for (int side = 0; side < 2; side++) {
            p.boundary[a][side].kind = wraps ? STN_WRAP : kinds[random_int(state, 0, 3)];
            p.boundary[a][side].value = (double)random_int(state, -2, 9) / (random_int(state, 0, 1) ? 1 : 2);
        }
    }
    const size_t count = random_taps(state, p.divisor != 0);
    for (size_t k = 0; rank == 3 && k < count; k++) {
        taps[k].offset[2] = taps[k].offset[1];
        taps[k].offset[1] = taps[k].offset[0];
        taps[k].offset[0] = 0;
    }
    return make_task(rank, count, taps, p);
}

Test(row_spectra, bits) {
    const uint64_t seed = (uint64_t)time(NULL);
    uint64_t state = seed;
    int served = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        stn_task task = random_task(&state, i % ELEMENT_PAIRS, true);
        stn_row_spectra *spectra;
        cr_assert_eq(stn_row_spectra_create(&task, true, &spectra, NULL), STN_OK);
        const stn_element from = stn_task_element(&task, false), to = stn_task_element(&task, true);
        const int64_t in_span = stn_task_span(&task, false), out_span = stn_task_span(&task, true);
        const size_t in_bytes = (size_t)in_span * stn_element_size(from),
                     bytes = (size_t)out_span * stn_element_size(to);
        char *in = malloc(in_bytes), *out[2];
        fill(&state, from, in_span, in);
        for (int k = 0; k < 2 && spectra; k++) {
            stn_pool *pool;
            cr_assert_eq(stn_pool_create((int)random_int(&state, 1, 2), &pool, NULL), STN_OK);
            out[k] = malloc(bytes);
            memset(out[k], 0x55, bytes);
            stn_host_run_source(&task, k ? spectra : NULL, pool, in, NULL, out[k], NULL);
            stn_pool_destroy(pool);
        }
        if (spectra) {
            cr_expect_arr_eq(out[0], out[1], bytes, "seed %llu, problem %d: %s to %s", (unsigned long long)seed, i,
                             stn_element_name(from), stn_element_name(to));
            free(out[0]);
            free(out[1]);
        }
        served += spectra != NULL;
        free(in);
        stn_row_spectra_destroy(spectra);
        stn_task_clear(&task);
    }
    cr_expect_gt(served, PROBLEMS / 4);
}

Test(row_spectra, sums_of_zeros_keep_their_signs) {
    enum { SIZE = 17, N = 224 };
    static float in[N * N], out[2][N * N];
    for (int sign = -1; sign <= 1; sign += 2) {
        stn_row_spectra *spectra;
        stn_pool *pool;
        for (int k = 0; k < SIZE * SIZE; k++)
            taps[k] = (stn_tap){.offset = {k / SIZE - SIZE / 2, k % SIZE - SIZE / 2}, .weight = sign};
        stn_task task =
            make_task(2, SIZE * SIZE, taps, (stn_problem){.steps = 1, .batch = 1, .dtype = STN_F32, .extent = {N, N}});
        cr_assert_eq(stn_row_spectra_create(&task, true, &spectra, NULL), STN_OK);
        cr_assert_not_null(spectra);
        cr_assert_eq(stn_pool_create(1, &pool, NULL), STN_OK);
        for (int k = 0; k < 2; k++) stn_host_run_source(&task, k ? spectra : NULL, pool, in, NULL, out[k], NULL);
        cr_assert_arr_eq(out[0], out[1], sizeof *out);
        stn_pool_destroy(pool);
        stn_row_spectra_destroy(spectra);
        stn_task_clear(&task);
    }
}

/* Taps along one axis of up to three, which may reach further than the axis is long. */
static stn_task task_along_axis(uint64_t *state, stn_dtype dtype) {
    stn_problem p = {.steps = 1, .batch = (size_t)random_int(state, 1, 3), .dtype = dtype};
    const int rank = (int)random_int(state, 1, 3), axis = (int)random_int(state, 0, rank - 1);
    for (int a = 0; a < rank; a++) {
        const bool wraps = random_int(state, 0, 3) == 0;
        const int64_t most = a == axis ? 4000 >> (rank - 1) : rank == 3 ? 9 : 40;
        p.extent[a] = (size_t)random_int(state, random_int(state, 0, 1) ? 1 : most / 2, most);
        for (int side = 0; side < 2; side++) {
            p.boundary[a][side].kind = wraps ? STN_WRAP : kinds[random_int(state, 0, 3)];
            p.boundary[a][side].value = (double)random_int(state, -2, 9) / (random_int(state, 0, 1) ? 1 : 2);
        }
    }
    const int64_t count = random_int(state, 100, MAX_TAPS), low = random_int(state, 2 * count / 5, count / 2);
    for (int64_t k = 0; k < count; k++) {
        taps[k] = (stn_tap){.weight = random_unit(state)};
        taps[k].offset[axis] = k - low;
    }
    return make_task(rank, (size_t)count, taps, p);
}

/* Results that are not exact differ from the host's sums by the error of transforms, which is
 * relative to the largest number, and by the rounding of the dtype. */
Test(row_spectra, floats) {
    static const double roundings[] = {0, 0x1p-22, 0x1p-9};
    const uint64_t seed = (uint64_t)time(NULL);
    uint64_t state = seed;
    int served[2] = {0};
    for (int i = 0; i < PROBLEMS; i++) {
        const bool along_axis = i % 2;
        stn_task task = along_axis ? task_along_axis(&state, (stn_dtype)(i % 3)) : random_task(&state, i % 3, false);
        stn_row_spectra *spectra;
        stn_pool *pool;
        if (task.dtype == STN_F64) {
            cr_assert_eq(stn_row_spectra_create(&task, true, &spectra, NULL), STN_OK);
            cr_assert_null(spectra, "f64 has no exact results");
        }
        cr_assert_eq(stn_row_spectra_create(&task, false, &spectra, NULL), STN_OK);
        cr_assert_eq(stn_pool_create((int)random_int(&state, 1, 2), &pool, NULL), STN_OK);
        const stn_element type = stn_task_element(&task, false);
        const int64_t spans[2] = {stn_task_span(&task, false), stn_task_span(&task, true)};
        const stn_kernels *kernels = stn_kernels_best();
        double *numbers = malloc((size_t)spans[0] * sizeof *numbers), sum = 0;
        const size_t size = stn_element_size(type);
        char *in = malloc((size_t)spans[0] * size), *out[2];
        for (int64_t k = 0; k < spans[0]; k++) numbers[k] = 9 * random_unit(&state);
        kernels->store[type](in, numbers, (size_t)spans[0]);
        for (size_t k = 0; k < task.ntaps; k++) sum += fabs(task.taps[k].weight);
        for (int k = 0; k < 2; k++) {
            out[k] = calloc((size_t)spans[1], size);
            stn_host_run_source(&task, k ? spectra : NULL, pool, in, NULL, out[k], NULL);
        }
        for (int64_t k = 0; k < spans[1] && spectra; k++) {
            double results[2];
            for (int j = 0; j < 2; j++) kernels->load[type](&results[j], out[j] + k * (int64_t)size, 1);
            const double bound = roundings[i % 3] * (fabs(results[0]) + 0x1p-15) + 1e-13 * 9 * sum;
            cr_assert_leq(fabs(results[1] - results[0]), bound, "seed %llu, problem %d", (unsigned long long)seed, i);
        }
        served[along_axis] += spectra != NULL;
        free(numbers);
        free(in);
        free(out[0]);
        free(out[1]);
        stn_pool_destroy(pool);
        stn_row_spectra_destroy(spectra);
        stn_task_clear(&task);
    }
    cr_expect_gt(served[false], PROBLEMS / 8);
    cr_expect_gt(served[true], PROBLEMS / 8);
}
