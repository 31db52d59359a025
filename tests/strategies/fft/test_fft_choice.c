/* Estimated choice between fft and cufft, against times measured on an H200, with a machine
 * description of that GPU. cuFFT's estimate needs no cuFFT. */
#include <math.h>

#include "../../expect.h"
#include "context/context.h"
#include "plan/plan.h"
#include "plan/strategy.h"

static stn_machine h200(void) {
    stn_context *context = context_of_h200();
    stn_machine machine = context->machine;
    stn_context_destroy(context);
    machine.searches = NULL; /* it was freed with the context */
    machine.present = true;  /* otherwise strategy cufft does not apply */
    machine.copy_bandwidth = 4278e9;
    return machine;
}

static double seconds(const stn_fft *fft, const stn_machine *machine, const char *strategy) {
    stn_estimate estimate;
    return stn_subplan_estimate_fft(fft, machine, strategy, &estimate) ? estimate.seconds : INFINITY;
}

/* Measured milliseconds; 0: not supported then; UNTIMED: the estimate now chooses passes that were
 * not measured. */
#define UNTIMED (-1)
static const struct row {
    stn_dtype dtype;
    stn_transform_kind kind;
    size_t extent[3];
    double ours, cufft;
} rows[] = {
    {STN_F64, STN_C2C, {2048, 2048}, 0.0911, 0.1048},     {STN_F64, STN_R2C, {3000, 3000}, 0.1349, 0.2037},
    {STN_F64, STN_C2R, {4096, 4096}, 0.2164, 0.2294},     {STN_F64, STN_C2R, {5040, 7000}, 0.5277, 1.0343},
    {STN_F64, STN_C2C, {8192, 8192}, 1.8195, 1.8559},     {STN_F64, STN_C2R, {8192, 8192}, 0.8495, 1.3592},
    {STN_F64, STN_R2C, {10240, 10240}, UNTIMED, 2.2926},  {STN_F64, STN_C2R, {10240, 10240}, 1.6606, 2.6902},
    {STN_F64, STN_R2C, {16384, 16384}, UNTIMED, 4.6314},  {STN_F64, STN_C2R, {16384, 16384}, 4.0108, 5.7756},
    {STN_F64, STN_R2C, {200, 200, 200}, UNTIMED, 0.1741}, {STN_F64, STN_C2C, {384, 384, 384}, UNTIMED, 1.5983},
    {STN_F64, STN_R2C, {512, 512, 512}, 1.7119, 1.7975},  {STN_F64, STN_C2C, {768, 768, 768}, 12.8636, 19.5527},
    {STN_F32, STN_C2C, {2048, 2048}, 0.0450, 0.0526},     {STN_F32, STN_C2R, {4096, 4096}, 0.1125, 0.1249},
    {STN_F32, STN_R2C, {8192, 8192}, UNTIMED, 0.4297},    {STN_F32, STN_C2C, {10240, 10240}, 1.4699, 1.7786},
    {STN_F32, STN_C2R, {10240, 10240}, UNTIMED, 1.5580},  {STN_F32, STN_C2C, {16384, 16384}, 3.5322, 3.6028},
    {STN_F32, STN_R2C, {256, 256, 256}, 0.1212, 0.1309},  {STN_F32, STN_R2C, {1080, 1920}, UNTIMED, 0.0357},
    {STN_F32, STN_C2C, {200, 200, 200}, UNTIMED, 0.1357}, {STN_F32, STN_C2C, {256, 256, 256}, 0.2122, 0.2377},
    {STN_F32, STN_R2C, {512, 512, 512}, 0.8715, 1.0719},
};

Test(fft_choice, estimates_choose_the_measured_faster_strategy) {
    const stn_machine machine = h200();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        stn_transform t = STN_TRANSFORM_INIT;
        stn_fft fft;
        t.rank = row->extent[2] ? 3 : 2;
        for (int axis = 0; axis < 3; axis++) t.extent[axis] = row->extent[axis];
        t.kind = row->kind, t.dtype = row->dtype;
        OK(stn_fft_make(&t, &fft, &error));
        double ours = seconds(&fft, &machine, "fft"), cufft = seconds(&fft, &machine, "cufft");
        bool faster = row->ours > 0 && row->ours < row->cufft;
        cr_expect(isfinite(cufft) && (row->ours == UNTIMED || faster == (ours < cufft)),
                  "%s %s %zu x %zu x %zu: fft %g s, cufft %g s", stn_dtype_name(row->dtype),
                  stn_transform_kind_name(row->kind), row->extent[0], row->extent[1], row->extent[2], ours, cufft);
        cr_expect(cufft > 0.7e-3 * row->cufft && cufft < 1.4e-3 * row->cufft, "%s %s %zu: cufft %g s, measured %g ms",
                  stn_dtype_name(row->dtype), stn_transform_kind_name(row->kind), row->extent[0], cufft, row->cufft);
    }
}

/* GPUs have cosine transforms of types 2 and 3 only. */
Test(fft_choice, types_of_cosine_transforms) {
    const stn_machine machine = h200();
    for (int kind = STN_DCT2; kind <= STN_DST4; kind++) {
        stn_transform t = STN_TRANSFORM_INIT;
        stn_fft fft;
        t.rank = 2, t.extent[0] = t.extent[1] = 64, t.kind = (stn_transform_kind)kind;
        OK(stn_fft_make(&t, &fft, &error));
        cr_expect(isfinite(seconds(&fft, &machine, "fft")) == (kind <= STN_DST3), "kind %d", kind);
    }
}

/* For few points one launch takes as long as each of two; for many, one multiprocessor is slower
 * than the whole GPU. */
Test(fft_choice, block_strategy_for_small_grids) {
    const stn_machine machine = h200();
    static const size_t sides[] = {8, 16, 32, 100, 128};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
            stn_transform t = STN_TRANSFORM_INIT;
            stn_fft fft;
            t.rank = 2, t.extent[0] = t.extent[1] = sides[i], t.dtype = (stn_dtype)dtype;
            OK(stn_fft_make(&t, &fft, &error));
            double whole = seconds(&fft, &machine, "block"), axes = seconds(&fft, &machine, "fft");
            cr_expect((whole < axes) == (sides[i] <= 32), "%s %zu^2: as a whole %g s, by axes %g s",
                      stn_dtype_name(t.dtype), sides[i], whole, axes);
        }
}
