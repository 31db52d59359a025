/* stentor-steps: measured and predicted times of all forms of a Fourier layer: cuFFT and cuBLAS,
 * nothing fused, and each fusion. TurboFNO's steps: separate pruned transforms (A), the transform
 * fused with the product (B), the product with the inverse (C), all three (D), and the planner's
 * choice (E).
 *
 *     stentor-steps [--quick] [--grid] [--repeat N] [--only PART-OF-A-NAME] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"
#include "base/error.h"
#include "plan/plan.h"

enum { WAYS = 12 }; /* largest number of candidates of strategy fno */

typedef struct step_case {
    const char *name;
    int rank;
    size_t extent[3], modes[3], batch, in, out;
    int complex_data, shared;
    double tolerance, bar; /* ms; 0: none */
} step_case;

static const step_case peers[] = {
    {"1D 4096 x 64 to 64", 1, {128}, {64}, 4096, 64, 64, 1, 1, 0, 0.27},
    {"1D 16384 x 64 to 64", 1, {128}, {64}, 16384, 64, 64, 1, 1, 0, 1.1},
    {"1D 16384 x 128 to 128", 1, {128}, {64}, 16384, 128, 128, 1, 1, 0, 3.0},
    {"1D 16384 x 128 to 128, TF32", 1, {128}, {64}, 16384, 128, 128, 1, 1, 5e-4, 1.9},
    {"2D 64 x 64 to 64", 2, {128, 128}, {64, 64}, 64, 64, 64, 1, 1, 0, 0.9},
    {"2D 64 x 128 to 128", 2, {128, 128}, {64, 64}, 64, 128, 128, 1, 1, 0, 2.0},
};
/* Real, a matrix for each mode: neuraloperator's. */
static const step_case grid[] = {
    {"1D 64 x 64 to 64 of 1024, 16 modes", 1, {1024}, {16}, 64, 64, 64, 0, 0, 0, 0},
    {"1D 20 x 64 to 64 of 8192, 16 modes", 1, {8192}, {16}, 20, 64, 64, 0, 0, 0, 0},
    {"1D 20 x 64 to 64 of 1024, 9 modes", 1, {1024}, {9}, 20, 64, 64, 0, 0, 0, 0},
    {"1D 20 x 64 to 64 of 8192, 9 modes", 1, {8192}, {9}, 20, 64, 64, 0, 0, 0, 0},
    {"1D 256 x 64 to 64 of 512, 17 modes", 1, {512}, {17}, 256, 64, 64, 0, 0, 0, 0},
    {"2D 4 x 32 to 32 of 512^2, 32 x 17 modes", 2, {512, 512}, {32, 17}, 4, 32, 32, 0, 0, 0, 0},
    {"2D 8 x 64 to 64 of 256^2, 16 x 9 modes", 2, {256, 256}, {16, 9}, 8, 64, 64, 0, 0, 0, 0},
    {"3D 8 x 32 to 32 of 32^3, 16 x 16 x 9 modes", 3, {32, 32, 32}, {16, 16, 9}, 8, 32, 32, 0, 0, 0, 0},
    {"3D 4 x 32 to 32 of 64^3, 8 x 8 x 5 modes", 3, {64, 64, 64}, {8, 8, 5}, 4, 32, 32, 0, 0, 0, 0},
    {"1D 256 x 32 to 32 of 256, 64 modes", 1, {256}, {64}, 256, 32, 32, 0, 0, 0, 0},
    {"2D 20 x 32 to 32 of 64^2, 12 modes", 2, {64, 64}, {12, 12}, 20, 32, 32, 0, 0, 0, 0},
    {"2D 32 x 64 to 64 of 128^2, 32 x 17 modes", 2, {128, 128}, {32, 17}, 32, 64, 64, 0, 0, 0, 0},
    {"2D 8 x 32 to 32 of 421^2 (420^2), 24 x 13 modes", 2, {420, 420}, {24, 13}, 8, 32, 32, 0, 0, 0, 0},
    {"2D 4 x 64 to 64 of 512^2, 64 x 33 modes", 2, {512, 512}, {64, 33}, 4, 64, 64, 0, 0, 0, 0},
    {"3D 4 x 20 to 20 of 64^3, 8 modes", 3, {64, 64, 64}, {8, 8, 8}, 4, 20, 20, 0, 0, 0, 0},
    {"3D 2 x 32 to 32 of 64 x 64 x 40, 16 x 16 x 9 modes", 3, {64, 64, 40}, {16, 16, 9}, 2, 32, 32, 0, 0, 0, 0},
};

static stn_spectral_conv layer_of(const step_case *c, bool quick, stn_layer_pass pass) {
    stn_spectral_conv layer = STN_SPECTRAL_CONV_INIT;
    layer.rank = c->rank;
    memcpy(layer.extent, c->extent, sizeof c->extent);
    memcpy(layer.modes, c->modes, sizeof c->modes);
    layer.batch = quick ? 1 : c->batch, layer.in_channels = c->in, layer.out_channels = c->out;
    layer.complex_data = c->complex_data, layer.shared_weights = c->shared;
    layer.mode_choice = c->shared ? STN_MODES_LOW : STN_MODES_BOTH_SIGNS;
    layer.dtype = STN_F32, layer.tolerance = c->tolerance, layer.pass = pass;
    return layer;
}

/* Allocates the layer's arrays and fills the inputs with random numbers. */
static stn_status bring(bench *machine, const stn_layer *l, bench_execution *work, void *memory[4], stn_error *error) {
    int64_t operands[STN_OPERANDS];
    stn_layer_operands(l, operands);
    const int64_t numbers[4] = {stn_layer_in_numbers(l), stn_layer_out_numbers(l), operands[STN_OPERAND_WEIGHTS],
                                operands[STN_OPERAND_GRADIENT]};
    for (int i = 0; i < 4; i++) {
        if (!numbers[i]) continue;
        STN_TRY(stn_memory_alloc(machine->context, (size_t)numbers[i] * sizeof(float), &memory[i], error));
        if (i != 1) STN_TRY(bench_fill(machine, memory[i], (uint64_t)numbers[i], STN_F32, STN_F32, error));
    }
    work->run = (stn_execution)STN_EXECUTION_INIT;
    work->run.in = memory[0], work->run.out = memory[1], work->run.weights = memory[2], work->run.gradient = memory[3];
    return STN_OK;
}

/* The plan of one row of the strategy's ranking; -1: the planner's choice. */
static stn_status make_plan(bench *machine, const stn_spectral_conv *layer, const char *strategy, int row,
                            stn_plan **plan, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy, options.estimate_only = row >= 0;
    options.mode = STN_MODE_ESTIMATE; /* compiled before it is measured */
    STN_TRY(stn_plan_create_spectral_conv(machine->context, layer, &options, plan, error));
    if (row < 0) return STN_OK;
    stn_plan *p = *plan, *built = NULL;
    if ((size_t)row >= p->ranked || !p->ranking[row].applies) return STN_ERROR_UNSUPPORTED;
    STN_TRY(stn_plan_build(p, 1, p->ranking[row].strategy, &p->ranking[row].candidate, &built, error));
    built->estimate = p->ranking[row].estimate;
    stn_plan_destroy(p);
    *plan = built;
    return STN_OK;
}

static stn_status time_row(bench *machine, const stn_spectral_conv *layer, const char *strategy, int row,
                           bench_execution *work, const char *name, stn_error *error) {
    void *workspace = NULL;
    double seconds = 0;
    work->plan = NULL;
    stn_status status;
    STN_TRY_GOTO(status, make_plan(machine, layer, strategy, row, &work->plan, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, stn_plan_workspace_size(work->plan) + 1, &workspace, error),
                 done);
    work->run.workspace = workspace;
    STN_TRY_GOTO(status, bench_time_short(machine, bench_execute, work, &seconds, error), done);
    stn_text text = STN_TEXT_EMPTY;
    const stn_strategy *own = work->plan->strategy;
    if (own->name_candidate) own->name_candidate(NULL, &work->plan->candidate, &text);
    printf("| %s | %s%s: %s | %.4f | %.4f |\n", name, row < 0 ? "planner: " : "", own->name, text.data ? text.data : "",
           1e3 * seconds, 1e3 * work->plan->estimate.seconds);
    stn_text_clear(&text);
    fflush(stdout);
done:
    stn_memory_free(machine->context, workspace);
    stn_plan_destroy(work->plan);
    return status;
}

/* False if one of our candidates failed; cuFFT and cuBLAS may be absent. */
static bool measure(bench *machine, const step_case *c, stn_layer_pass pass) {
    static const char *const passes[] = {"", ", to x", ", to weights"};
    const stn_spectral_conv layer = layer_of(c, machine->quick, pass);
    stn_layer l;
    stn_error error = {0};
    bench_execution work = {0};
    void *memory[4] = {0};
    char name[160];
    snprintf(name, sizeof name, "%s%s", c->name, passes[pass]);
    stn_status status = stn_layer_make(&layer, &l, &error);
    if (status == STN_OK) status = bring(machine, &l, &work, memory, &error);
    if (status == STN_OK && time_row(machine, &layer, "cublas", 0, &work, name, &error) != STN_OK)
        printf("| %s | cublas: %.150s | | |\n", name, error.message);
    for (int row = 0; status == STN_OK && row < WAYS; row++) {
        status = time_row(machine, &layer, "fno", row, &work, name, &error);
        if (status == STN_ERROR_UNSUPPORTED && row > 0) { /* there are no more */
            status = STN_OK;
            break;
        }
    }
    if (status == STN_OK) status = time_row(machine, &layer, NULL, -1, &work, name, &error);
    if (status != STN_OK) printf("| %s | %.200s | | |\n", name, error.message);
    for (int i = 0; i < 4; i++) stn_memory_free(machine->context, memory[i]);
    return status == STN_OK;
}

int main(int argc, char **argv) {
    bench machine = {.repeat = 9};
    bool all = false, good = true;
    const char *only = "";
    stn_error error = {0};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) machine.quick = true;
        if (!strcmp(argv[i], "--grid")) all = true;
        if (!strcmp(argv[i], "--only") && i + 1 < argc) only = argv[++i];
        if (!strcmp(argv[i], "--repeat") && i + 1 < argc) machine.repeat = atoi(argv[++i]);
    }
    if (machine.repeat < 1) machine.repeat = 1;
    stn_status status = bench_open(STN_DEVICE_CUDA(0), 0, NULL, &machine, &error);
    if (status == STN_OK) {
        printf("| layer | by | ms | predicted |\n|---|---|--:|--:|\n");
        for (size_t i = 0; i < (machine.quick ? 1 : sizeof peers / sizeof *peers); i++)
            if (strstr(peers[i].name, only)) good &= measure(&machine, &peers[i], STN_PASS_FORWARD);
        for (size_t i = 0; all && i < sizeof grid / sizeof *grid; i++)
            for (int pass = 0; pass < 3 && strstr(grid[i].name, only); pass++)
                good &= measure(&machine, &grid[i], (stn_layer_pass)pass);
    } else
        fprintf(stderr, "stentor-steps: %s\n", error.message);
    bench_close(&machine);
    return status != STN_OK ? stn_status_exit_code(status) : !good;
}
