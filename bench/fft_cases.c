/* The transforms that are measured, and the bars that they must reach on an H200. */
#include <stdio.h>
#include <string.h>

#include "fft.h"

static fft_case *add(fft_case *list, size_t *count, const char *group, stn_dtype dtype, size_t rows, size_t n,
                     size_t batch) {
    fft_case *c = &list[(*count)++];
    memset(c, 0, sizeof *c);
    c->group = group;
    c->transform.struct_size = sizeof c->transform;
    c->transform.rank = rows ? 2 : 1;
    c->transform.extent[0] = rows ? rows : n;
    c->transform.extent[1] = rows ? n : 0;
    c->transform.batch = batch;
    c->transform.dtype = dtype;
    if (rows)
        snprintf(c->name, sizeof c->name, "%zux%zu x %zu", rows, n, batch);
    else
        snprintf(c->name, sizeof c->name, "%zu x %zu", n, batch);
    return c;
}

/* The tcFFT paper's sizes (figures 4 and 5; errors: table 4) with 2^26 points each: required speed,
 * and the better of cuFFT and tcFFT. Its figure 7 is group fft-batch. */
static const struct {
    size_t rows, n, batch;
    double bar, peer;
} paper[] = {{0, 256, 262144, 3900, 3709}, {0, 512, 131072, 3900, 3466}, {0, 1024, 65536, 3900, 3482},
             {0, 131072, 512, 1600, 934},  {0, 262144, 256, 1500, 878},  {0, 524288, 128, 1400, 856},
             {0, 1 << 24, 4, 1200, 741},   {256, 256, 1024, 1900, 1348}, {512, 256, 512, 1700, 1004},
             {512, 512, 256, 1700, 967},   {256, 1024, 256, 1700, 1317}};

/* Adds single grids of all kinds, with and without extents that are powers of two. */
static void add_grids(fft_case *list, size_t *count) {
    static const size_t sizes[][3] = {{1024, 1024, 0},   {1080, 1920, 0}, {2048, 2048, 0}, {3000, 3000, 0},
                                      {4096, 4096, 0},   {5040, 7000, 0}, {8192, 8192, 0}, {10240, 10240, 0},
                                      {16384, 16384, 0}, {128, 128, 128}, {200, 200, 200}, {256, 256, 256},
                                      {384, 384, 384},   {512, 512, 512}, {768, 768, 768}};
    static const char *const kinds[] = {"c2c", "r2c", "c2r"};
    for (int dtype = STN_F64; dtype <= STN_F32; dtype++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int kind = STN_C2C; kind <= STN_C2R; kind++) {
                fft_case *c = add(list, count, "fft-grid", (stn_dtype)dtype, sizes[i][0], sizes[i][1], 1);
                c->of_cufft = 0.95;
                c->transform.kind = (stn_transform_kind)kind;
                if (sizes[i][2]) c->transform.rank = 3, c->transform.extent[2] = sizes[i][2];
                snprintf(c->name, sizeof c->name, sizes[i][2] ? "%zux%zux%zu %s" : "%zux%zu%.0zu %s", sizes[i][0],
                         sizes[i][1], sizes[i][2], kinds[kind]);
            }
}

size_t bench_fft_cases(fft_case list[FFT_CASES]) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
        fft_case *c = add(list, &count, "fft", STN_F16, paper[i].rows, paper[i].n, paper[i].batch);
        c->bar = paper[i].bar;
        c->peer = paper[i].peer;
    }
    for (int log2 = 8; log2 <= 27; log2++)
        for (size_t batch = 1; batch <= 8; batch *= 8)
            add(list, &count, "fft-few", STN_F16, 0, (size_t)1 << log2, batch)->of_cufft = 0.9;
    for (size_t batch = 1; batch <= 512; batch *= 2) add(list, &count, "fft-batch", STN_F16, 0, 131072, batch);
    for (size_t batch = 1; batch <= 512; batch *= 2) add(list, &count, "fft-batch", STN_F16, 512, 256, batch);
    for (size_t batch = 1; batch <= 1024; batch *= 4) add(list, &count, "fft-batch", STN_F16, 256, 256, batch);
    for (int dtype = STN_F64; dtype <= STN_F32; dtype++)
        for (int kind = STN_C2C; kind <= STN_R2C; kind++)
            for (size_t n = 256; n <= 8192; n *= 2) {
                size_t points = (size_t)1 << (dtype == STN_F64 ? 25 : 26);
                fft_case *c = add(list, &count, "fft-types", (stn_dtype)dtype, 0, n, points / n);
                c->transform.kind = (stn_transform_kind)kind;
                c->of_cufft = 0.95;
            }
    add_grids(list, &count);
    return count;
}
