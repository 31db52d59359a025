/* The Fourier layers that are measured, and the bars that they must reach on an H200. */
#include <stdio.h>
#include <string.h>

#include "fno.h"

static fno_case *add(fno_case *list, size_t *count, const char *group, int rank, size_t n, size_t modes,
                     size_t channels, size_t batch) {
    fno_case *c = &list[(*count)++];
    stn_spectral_conv *layer = &c->layer;
    memset(c, 0, sizeof *c);
    c->group = group;
    layer->struct_size = sizeof *layer;
    layer->rank = rank;
    for (int axis = 0; axis < rank; axis++) layer->extent[axis] = n, layer->modes[axis] = modes;
    layer->in_channels = layer->out_channels = channels;
    layer->batch = batch;
    layer->dtype = STN_F32;
    snprintf(c->name, sizeof c->name, "%dd-%zu-m%zu-c%zu-b%zu", rank, n, modes, channels, batch);
    return c;
}

/* The paper's layers. */
static const struct {
    int rank;
    size_t channels, batch;
    double bar, tolerance;
} paper[] = {{1, 64, 4096, 0.27, 0},     {1, 64, 16384, 1.1, 0}, {1, 128, 16384, 3.0, 0}, {1, 128, 16384, 1.9, 1e-3},
             {1, 128, 16384, 1.9, 5e-3}, {2, 64, 64, 0.9, 0},    {2, 128, 64, 2.0, 0}};

/* Typical layers of users: small and large grids, few and many modes, any length. */
static const struct {
    int rank;
    size_t n, modes, channels, batch;
} grid[] = {{1, 128, 16, 64, 256},  {1, 128, 64, 64, 1024}, {1, 256, 32, 32, 512},  {1, 256, 128, 64, 256},
            {1, 512, 32, 64, 256},  {1, 1024, 16, 64, 20},  {1, 1024, 64, 64, 128}, {1, 1024, 512, 32, 64},
            {1, 2048, 64, 128, 64}, {1, 8192, 16, 64, 20},  {2, 64, 12, 32, 20},    {2, 64, 16, 64, 32},
            {2, 64, 32, 64, 32},    {2, 85, 12, 32, 20},    {2, 128, 16, 32, 16},   {2, 128, 16, 64, 64},
            {2, 128, 32, 64, 16},   {2, 128, 64, 64, 8},    {2, 128, 64, 32, 32},   {2, 241, 12, 32, 10},
            {2, 256, 16, 64, 8},    {2, 256, 64, 32, 8},    {2, 512, 32, 32, 4},    {3, 32, 8, 32, 8},
            {3, 32, 16, 32, 8},     {3, 48, 12, 24, 4},     {3, 64, 8, 32, 4},      {3, 64, 16, 20, 10},
            {3, 64, 16, 32, 2},     {3, 128, 16, 16, 1}};

size_t bench_fno_cases(fno_case list[FNO_CASES]) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
        fno_case *c = add(list, &count, "fno", paper[i].rank, 128, 64, paper[i].channels, paper[i].batch);
        c->layer.complex_data = c->layer.shared_weights = 1, c->layer.mode_choice = STN_MODES_LOW;
        c->layer.tolerance = paper[i].tolerance;
        c->bar = paper[i].bar;
        if (paper[i].tolerance > 0)
            strncat(c->name, paper[i].tolerance < 5e-3 ? "-tf32" : "-bf16", sizeof c->name - strlen(c->name) - 1);
    }
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        fno_case *c =
            add(list, &count, "fno-grid", grid[i].rank, grid[i].n, grid[i].modes, grid[i].channels, grid[i].batch);
        /* neuraloperator's n_modes counts both signs of a real axis. */
        c->layer.modes[grid[i].rank - 1] = grid[i].modes / 2 + 1;
        c->of_cublas = 1.5;
    }
    return count;
}
