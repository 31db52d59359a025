/* What a spectral run costs, and how far off it is; see shape.h. */
#include <math.h>

#include "plan/accuracy.h"
#include "strategies/spectral/shape.h"

/* ---- cost ---------------------------------------------------------------------------------------------------------- */

/* What passes reach of the copy bandwidth, by bench/results/2026-11-22-spectral.md; rows also take what no access hides, as if their
 * arithmetic ran at so many times the unit's rate, and more where one row fills a multiprocessor. source: so many times the copy
 * bandwidth is what numbers of a source's frequencies come at, four for each frequency or, in 3D, six: of what fixed sides took beside
 * four steps on the same torus, before columns without points had a way of their own. */
static const struct {
    double plane, solid, source, arithmetic, alone, symbol;
} rates[2] = {{0.45, 0.63, 1.27, 1.4, 0.55, 0.38}, {0.45, 0.64, 0.95, 0.9, 0.9, 0.38}}; /* f64, f32 */

/* Numbers of a source that columns without points read, four a point, as a recursion reads them: from caches mostly. An estimate by the
 * bytes that these give; not measured yet. */
enum { SETTLED = 8 };

/* The least K at the corners of the frequencies, which is the least of all for most symmetric taps. */
static double lowest_corner(const stn_task *task) {
    double lowest = INFINITY;
    for (int corner = 0; corner < 8; corner++) {
        double sum = 0;
        for (size_t i = 0; i < task->ntaps; i++) {
            const int64_t *o = task->taps[i].offset;
            int64_t flips = (corner & 1 ? o[0] : 0) + (corner & 2 ? o[1] : 0) + (corner & 4 ? o[2] : 0);
            sum += flips % 2 ? -task->taps[i].weight : task->taps[i].weight;
        }
        lowest = fmin(lowest, sum);
    }
    return lowest;
}

/* Two transforms, each of log2 N roundings at random, and of their roots' (of long lines in f32 the most): no less than what is found
 * (tests/strategies/test_errors.c); the symbol's power, whose error grows with the logarithm of T where K is real and
 * above -1, else with T; one rounding when stored. */
double spectral_error(const stn_task *task, double points, bool plain) {
    double levels = log2(points + 1), steps = (double)task->steps * (double)task->snapshots;
    double real = stn_error_rounding(spectral_wide(task) ? STN_F64 : STN_F32), exact = stn_error_rounding(STN_F64);
    bool mild = plain && -lowest_corner(task) < 1 - spectral_dead(task, 1);
    double power = mild ? exact * (4 + 2 * log2(steps)) : exact * (4 + steps);
    const double transforms = (spectral_wide(task) ? 2.6 : 3.5) * real * sqrt(levels) * stn_error_cancelling(task);
    return hypot(transforms, hypot(power, stn_error_rounding(task->dtype)));
}

/* Seconds of arithmetic beside all accesses: the stages of lines, the terms of a symbol whose taps are no transform, in f64, or one
 * more transform of each column. */
static double hidden_by_nothing(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                                const stn_estimate *e) {
    const bool wide = spectral_wide(task),
               alone = (size_t)s->choice.length[2] * (wide ? 8 : 4) * 2 > machine->shared_per_multiprocessor;
    const double stages = e->flops / (machine->flops[e->unit] * (alone ? rates[!wide].alone : rates[!wide].arithmetic));
    const double points = (double)s->columns * s->strips * s->segments * s->choice.length[s->last] *
                          (double)task->batch * (double)task->snapshots;
    if (s->symbol.plain) return stages;
    if (s->symbol.taps)
        return (spectral_tiled(&s->choice) ? 1.1 : 1.5) * stages; /* tiles' columns: once for all segments */
    return stages +
           8 * points * (s->symbol.high + s->symbol.low) / (rates[!wide].symbol * machine->flops[STN_UNIT_FMA_F64]);
}

void spectral_estimate(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                       stn_estimate *estimate) {
    const bool wide = spectral_wide(task), solid = s->last == 0;
    const spectral_choice *c = &s->choice;
    const double count = (double)task->snapshots, half = 0.5 * (1 + count); /* of a way there, and the ways back */
    const double cell = wide ? 16 : 8, rows = (double)(task->n[0] * task->n[1] * task->batch), lines = rows * s->strips;
    const double grid = rows * (double)task->n[2] * (double)stn_dtype_size(task->dtype);
    const double across =
        2 * c->live[1] > c->length[1] ? c->length[1] : 2 * c->live[1] - 1; /* frequencies along y with points */
    const double spectrum = lines * c->kept[2] * cell, live = lines * c->live[2] * cell;
    const double turned = solid ? (double)(s->columns * task->n[0] * task->batch) * cell : spectrum;
    const double turned_live = solid ? across * c->live[2] * (double)(task->n[0] * task->batch) * cell : live;
    double ahead = grid + live, back = grid + spectrum, numbers = 0;
    if (solid) ahead += live + turned_live, back += spectrum + turned;
    for (int axis = 0; axis < 3; axis++)
        if (stn_extension_odd(&s->axis[axis])) numbers = solid ? 6 : 4;
    const double at_points = c->settles ? across * c->live[2] : (double)s->columns; /* columns with points, or all */
    const double source = numbers * cell * at_points * c->length[s->last] * (double)task->batch;
    const double settled = 4 * cell * ((double)s->columns - at_points) * (double)(task->n[0] * task->batch);
    *estimate = (stn_estimate){.unit = wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->launches = (solid ? 2 + 3 * count : 1 + 2 * count) + (c->settles ? count : 0);
    estimate->bytes = ahead + count * (back + turned_live + turned);
    double points = lines * (double)s->choice.length[2];
    if (spectral_tiled(c)) points *= 0.5 * (1 + (double)s->segments * c->length[1] / (double)task->n[1]);
    estimate->flops =
        half * 5 * points * log2((double)s->choice.length[0] * s->choice.length[1] * s->choice.length[2] + 1);
    estimate->halo_waste = points / (rows * (double)task->n[2]) - 1;
    /* tiles' columns are those of 3D: as wide, as short */
    const double rate = solid || spectral_tiled(c) ? rates[!wide].solid : rates[!wide].plane;
    estimate->seconds = estimate->bytes / (machine->copy_bandwidth * rate) +
                        count * source / (machine->copy_bandwidth * rates[!wide].source) +
                        (c->settles ? count * settled / (machine->copy_bandwidth * SETTLED) : 0) +
                        hidden_by_nothing(task, machine, s, estimate) +
                        estimate->launches * (machine->launch_seconds + 2e-6);
    estimate->error =
        spectral_error(task, (double)s->choice.length[0] * s->choice.length[1] * s->choice.length[2], s->symbol.plain);
}
