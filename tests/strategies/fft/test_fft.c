/* Transforms by one strategy against their definition. Prints TAP; refusals that are allowed
 * (fft_may_refuse.c) are reported as skipped. Usage: test_fft --strategy NAME [--full] [--only
 * PART] [--seed N] [--count N]; the strategy host runs on the host, others on a GPU. --seed and
 * --count are for random transforms. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare_fft.h"

static const char *strategy;

/* ---- one case */

static void report(suite *s, const stn_transform *t, bool good, const fft_comparison *c, const char *what) {
    char line[700], detail[1500];
    stn_fft fft;
    bool allowed = stn_fft_make(t, &fft, NULL) == STN_OK && fft_may_refuse(strategy, &fft);
    if (!c->served && c->error.status && allowed) {
        snprintf(line, sizeof line, "%s # SKIP %.200s", what, c->error.message);
        suite_report(s, true, line, NULL);
        return;
    }
    fft_explain(c, detail, sizeof detail);
    if (good && c->bar > 0) s->worst = fmax(s->worst, c->relative_l2 / c->bar);
    suite_report(s, good, what, detail);
}

static void check(suite *s, const stn_transform *t, const char *more) {
    fft_comparison c;
    char what[300];
    fft_name(t, what, sizeof what);
    strncat(what, more, sizeof what - strlen(what) - 1);
    bool good = compare_fft(s, t, strategy, -1, 1000 + (uint64_t)s->run, &c);
    report(s, t, good, &c, what);
}

static size_t largest(const suite *s) { /* maximum points of a case */
    return (size_t)1 << (strcmp(strategy, "host") ? s->full ? 24 : 14 : s->full ? 22 : 16);
}

/* ---- parts */

/* Every power of two, alternating directions, single and batched. */
static void powers(suite *s) {
    for (int d = STN_F64; d <= STN_F16; d++)
        for (size_t n = 2, i = 0; n <= largest(s); n *= 2, i++)
            for (int many = 0; many < 2; many++) {
                size_t batch = !many ? 1 : n < 64 ? 67 : n < 4096 ? 5 : 2;
                stn_transform t = fft_line((stn_dtype)d, n, batch);
                t.direction = (i + (size_t)many) % 2 ? STN_INVERSE : STN_FORWARD;
                if (d == STN_F16 && n > 4096) t.forward_scale = t.inverse_scale = 1 / sqrt((double)n);
                check(s, &t, "");
            }
    stn_transform t = fft_line(STN_F16, 1024, 2);
    t.f16_sums = 1;
    check(s, &t, "");
}

/* Split axes: two passes, three passes, and strided columns, in batches and single. */
static void splits(suite *s) {
    for (int d = STN_F64; d <= STN_F16; d++) {
        stn_transform t = fft_line((stn_dtype)d, (size_t)1 << 15, 2);
        t.forward_scale = t.inverse_scale = 1.0 / 256;
        check(s, &t, "");
        t.in_place = 1;
        check(s, &t, "");
        t.in_place = 0, t.extent[0] = 31104, t.batch = 1; /* 2^7 3^5 */
        check(s, &t, "");
        t.extent[0] = 1 << 12, t.in_stride[0] = t.out_stride[0] = t.batch = 6,
        t.in_batch_stride = t.out_batch_stride = 1;
        check(s, &t, ", columns");
        t = fft_line((stn_dtype)d, 2048, 1);
        t.rank = 2, t.extent[1] = 12, t.direction = STN_INVERSE, t.inverse_scale = 1.0 / 128;
        check(s, &t, "");
        for (int way = 0; way < 4; way++) { /* real lines of two passes, also with a second axis */
            t = fft_line((stn_dtype)d, 65536, 2);
            if (way / 2) t.rank = 2, t.extent[0] = 3, t.extent[1] = 65536, t.batch = 1;
            t.kind = way % 2 ? STN_C2R : STN_R2C, t.in_place = way == 1 || way == 2;
            t.forward_scale = t.inverse_scale = 1.0 / 256;
            check(s, &t, "");
        }
        if (!s->full && d != STN_F32) continue;
        t = fft_line((stn_dtype)d, (size_t)1 << 21, 1);
        t.forward_scale = 1.0 / 1024;
        check(s, &t, ", three passes");
    }
}

/* f16 lines for fft_warp: more than are resident at once, with padding, both directions, scaled and
 * in place. */
static void tensor_lines(suite *s) {
    for (int i = 0; i < 12; i++) {
        stn_transform t = fft_line(STN_F16, (size_t)256 << i % 3, s->full ? 20011 : 1 + (size_t)i % 5 * 40);
        t.direction = i / 3 % 2 ? STN_INVERSE : STN_FORWARD;
        t.in_place = i / 6;
        if (i % 2) t.in_batch_stride = (ptrdiff_t)t.extent[0] + 8, t.out_batch_stride = (ptrdiff_t)t.extent[0] + 8;
        if (i % 4) t.forward_scale = t.inverse_scale = 1 / sqrt((double)t.extent[0]);
        for (int pick = 0; pick < 2; pick++) { /* the two best candidates by estimate */
            fft_comparison c;
            char what[300];
            bool good = compare_fft(s, &t, strategy, pick, 40 + (uint64_t)i, &c);
            if (!c.served && pick) continue; /* the host has only one candidate */
            fft_name(&t, what, sizeof what);
            report(s, &t, good, &c, what);
        }
    }
}

static void each_candidate(suite *s, const stn_transform *t) {
    for (int pick = 0;; pick++) {
        fft_comparison c;
        char what[400];
        bool good = compare_fft(s, t, strategy, pick, 5, &c); /* in the planner's order */
        if (!c.served && pick) return;
        fft_name(t, what, 300);
        snprintf(what + strlen(what), 100, ", candidate %d", pick);
        report(s, t, good, &c, what);
        if (!c.served) return;
    }
}

/* f16 images that fit in a cluster of blocks: both directions, scaled and unscaled, padded, in
 * place. */
static void images(suite *s) {
    for (int i = 0; i < (s->full ? 16 : 4); i++) {
        stn_transform t = fft_line(STN_F16, 256, 1 + (size_t)(s->full ? i == 15 ? 128 : i : i % 2));
        t.rank = 2, t.extent[1] = 256;
        t.direction = i % 2 ? STN_INVERSE : STN_FORWARD;
        t.forward_scale = 1.0 / 256, t.inverse_scale = i % 4 == 1 ? 1.0 / 65536 : 1.0 / 300;
        t.in_place = i / 2 % 2;
        if (i % 4 >= 2) {
            t.in_stride[0] = 260, t.in_stride[1] = 1, t.in_batch_stride = 67000;
            t.out_stride[0] = t.in_place ? 260 : 264, t.out_stride[1] = 1;
            t.out_batch_stride = t.in_place ? 67000 : 68000;
        }
        each_candidate(s, &t);
    }
}

/* f16 lines for fft_long: single passes, and as passes of longer lines. */
static void long_lines(suite *s) {
    for (int inverse = 0; inverse < 2; inverse++) {
        stn_transform t = fft_line(STN_F16, 4096, inverse ? 48 : 16); /* rows to columns */
        t.direction = inverse ? STN_INVERSE : STN_FORWARD;
        t.forward_scale = t.inverse_scale = 1.0 / 64;
        t.in_stride[0] = 1, t.in_batch_stride = 4100;
        t.out_stride[0] = (ptrdiff_t)t.batch + 4, t.out_batch_stride = 1;
        each_candidate(s, &t);
        for (int power = 21; power <= (s->full && !inverse ? 24 : 21); power++) {
            t = fft_line(STN_F16, (size_t)1 << power, power < 24 && s->full ? 3 : 1);
            t.direction = inverse ? STN_INVERSE : STN_FORWARD;
            t.forward_scale = t.inverse_scale = 1 / sqrt((double)t.extent[0]);
            t.in_place = inverse;
            each_candidate(s, &t);
        }
        if (inverse && !s->full) return;
        t.kind = inverse ? STN_C2R : STN_R2C, t.extent[0] = (size_t)1 << 22;
        each_candidate(s, &t);
    }
}

/* Lines that fill a block's shared memory (fft_shared): contiguous and strided, of every kind. */
static void shared_memory(suite *s) {
    static const struct {
        int rank;
        size_t extent[3], batch;
        bool large;
    } sizes[] = {{2, {60, 100}, 1, 0}, {1, {2500}, 3, 0},        {2, {1200, 12}, 1, 0}, {3, {50, 6, 108}, 1, 0},
                 {2, {49, 112}, 3, 0}, {2, {1280, 1280}, 1, 1},  {2, {2048, 96}, 2, 1}, {2, {10240, 64}, 1, 1},
                 {1, {10000}, 5, 1},   {3, {300, 4, 100}, 1, 1}, {2, {16384, 6}, 1, 1}, {1, {26880}, 2, 1},
                 {1, {17150}, 1, 0},   {2, {16384, 3}, 1, 0},    {2, {3, 40000}, 1, 1}, {3, {384, 2, 200}, 1, 0}};
    for (int dtype = STN_F64; dtype <= STN_F32; dtype++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int kind = STN_C2C; kind <= STN_C2R; kind++) {
                bool shared = sizes[i].extent[0] == 16384; /* shared by a cluster in f64 */
                if (!s->full &&
                    (sizes[i].large || (shared ? kind + dtype > 0 : (i + (size_t)kind + (size_t)dtype) % 3)))
                    continue;
                stn_transform t = fft_line((stn_dtype)dtype, 0, sizes[i].batch);
                t.rank = sizes[i].rank;
                memcpy(t.extent, sizes[i].extent, sizeof t.extent);
                t.kind = (stn_transform_kind)kind;
                t.direction = i % 2 || kind == STN_C2R ? STN_INVERSE : STN_FORWARD;
                t.in_place = (i / 2 + (size_t)kind) % 3 == 0;
                if ((i + (size_t)kind) % 2) t.forward_scale = 0.25, t.inverse_scale = 1.0 / 16;
                each_candidate(s, &t);
            }
}

/* Half spectra of several axes, also with padded rows between passes; columns of one pass and of
 * two, on either axis. */
static void spectra(suite *s) {
    static const size_t sizes[][4] = {{1200, 12, 0, 1}, {20, 36, 0, 3},   {3, 1050, 10, 1}, {1120, 3, 12, 1},
                                      {9, 10, 14, 2},   {2048, 10, 0, 2}, {4200, 4, 0, 1},  {2048, 60, 0, 1},
                                      {16, 200, 24, 2}, {40, 16, 36, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t way = s->full ? 0 : i % 3; way < 6; way += s->full ? 1 : 3) {
            stn_transform t = fft_line((stn_dtype)(way % 3), 0, sizes[i][3]);
            memcpy(t.extent, sizes[i], sizeof t.extent);
            t.rank = t.extent[2] ? 3 : 2, t.kind = (way + i) / 3 % 2 ? STN_C2R : STN_R2C,
            t.in_place = (i + way) % 4 == 0;
            if (i == 1 && !t.in_place) t.out_stride[1] = 1, t.out_stride[0] = 44, t.out_batch_stride = 1000;
            each_candidate(s, &t);
        }
}

/* All candidates of the strategy, for some transforms. */
static void candidates(suite *s) {
    tensor_lines(s);
    images(s);
    long_lines(s);
    static const size_t sizes[] = {256, 512, 1024, 4096, 65536, 131072};
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (s->full ? 0 : 2); i++) {
            stn_transform t = fft_line((stn_dtype)dtype, sizes[i], 3);
            if (dtype == STN_F16) t.forward_scale = 1 / sqrt((double)sizes[i]);
            each_candidate(s, &t);
        }
}

/* For the race detector: kernels whose lanes exchange values through shared memory. */
static void races(suite *s) {
    stn_transform t = fft_line(STN_F16, 256, 1);
    t.rank = 2, t.extent[1] = 256;
    each_candidate(s, &t);
    t = fft_line(STN_F32, 256, 20);
    each_candidate(s, &t);
    t = fft_line(STN_F16, 1000, 3);
    each_candidate(s, &t);
}

/* f16 compared with cuFFT on the same data: at most 1.2 times its error. */
static void compare_with_cufft(suite *s) {
    for (size_t n = 256; n <= largest(s); n *= 2)
        for (int rank = 1; rank < 3; rank++) {
            stn_transform t = fft_line(STN_F16, n, n < 65536 ? 64 : 3);
            fft_comparison ours, its;
            char what[300], detail[300];
            t.rank = rank;
            if (rank > 1) t.extent[0] = n / 16, t.extent[1] = 16;
            if (n > 4096) t.forward_scale = 1 / sqrt((double)n);
            fft_name(&t, what, 200);
            strcat(what, ", beside cuFFT");
            bool good = compare_fft(s, &t, strategy, -1, n, &ours);
            compare_fft(s, &t, "cufft", -1, n, &its);
            if (its.error.status) strcat(what, " # SKIP no cuFFT");
            snprintf(detail, sizeof detail, "relative L2 %.3g, cuFFT's %.3g", ours.relative_l2, its.relative_l2);
            suite_report(s, good && (its.error.status || ours.relative_l2 <= 1.2 * its.relative_l2), what, detail);
        }
}

static void properties(suite *s) { check_properties(s, strategy); }

static unsigned long long seed = 20251;
static int random_count;

static void random_ones(suite *s) {
    bool here = s->full || !strcmp(strategy, "host"), fake = !strcmp(strategy, "cufft") || !strcmp(strategy, "auto");
    const int power = s->full ? 18 : here ? 14 : fake ? 9 : 12;
    check_random(s, strategy, seed, random_count ? random_count : s->full ? 520 : 120, (size_t)1 << power);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"powers", powers},
                                       {"properties", properties},
                                       {"candidates", candidates},
                                       {"cufft-error", compare_with_cufft},
                                       {"splits", splits},
                                       {"random", random_ones},
                                       {"shared-memory", shared_memory},
                                       {"spectra", spectra},
                                       {"races", races}};
    char *rest[16] = {argv[0]}; /* arguments for the suite */
    int count = 1;
    for (int i = 1; i < argc && count < 16; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--strategy"))
            strategy = value, i++;
        else if (!strcmp(argv[i], "--seed"))
            seed = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--count"))
            random_count = atoi(value), i++;
        else
            rest[count++] = argv[i];
    }
    if (!strategy) {
        fprintf(stderr, "usage: test_fft --strategy NAME [--full] [--only PART] [--seed N] [--count N]\n");
        return 2;
    }
    return suite_main_on(strcmp(strategy, "host") ? STN_DEVICE_CUDA(0) : STN_DEVICE_HOST, count, rest, parts,
                         sizeof parts / sizeof *parts);
}
