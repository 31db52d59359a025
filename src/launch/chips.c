/* Assumed properties of a GPU before measurement: a table of chips, scaled by what a device
 * reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch_internal.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Fraction of the peak memory rate that a copy reaches (4.26 of 4.9 TB/s, measured on an H200). */
#define COPY_PART 0.87
/* Registers of a multiprocessor, from sm_50 on. */
#define REGISTERS 65536
/* Seconds from one launch to the next dependent one on a stream. */
#define LAUNCH_SECONDS 2.2e-6

/* A typical chip of an architecture. Rates in 1e12 operations per second, as kernels reach them
 * with mma.sync: measured for sm_90 (H200), from data sheets for the others. */
typedef struct chip {
    int sm;
    const char *name;
    int multiprocessors;
    double clock, memory_rate; /* Hz; bytes/s, peak */
    double tera[STN_UNIT_COUNT];
    int lanes, wide_lanes;
    size_t shared_per_block, shared_per_multiprocessor;
    int threads;
    size_t l2, memory;
} chip;

/* clang-format off */
static const chip chips[] = { /* f64, f32, tensor f64, tf32, f16; lanes of f32, f64 */
    {75, "T4 class", 40, 1.590e9, 0.32e12, {0.25, 8.1, 0.25, 8.1, 65}, 64, 2,
     64 * KIB, 64 * KIB, 1024, 4 * MIB, 15 * GIB},
    {80, "A100 class", 108, 1.410e9, 2.04e12, {9.7, 19.5, 19.5, 156, 312}, 64, 32,
     163 * KIB, 164 * KIB, 2048, 40 * MIB, 80 * GIB},
    {86, "RTX A6000 class", 84, 1.800e9, 0.768e12, {0.6, 38, 0.6, 77, 155}, 128, 2,
     99 * KIB, 100 * KIB, 1536, 6 * MIB, 48 * GIB},
    {89, "L40S class", 142, 2.520e9, 0.864e12, {1.4, 91, 1.4, 183, 362}, 128, 2,
     99 * KIB, 100 * KIB, 1536, 96 * MIB, 45 * GIB},
    {90, "H200 class", 132, 1.980e9, 4.9e12, {28, 60, 66, 313, 630}, 128, 64,
     227 * KIB, 228 * KIB, 2048, 60 * MIB, 141 * GIB},
    {100, "B200 class", 148, 1.965e9, 8.0e12, {37, 75, 37, 500, 1000}, 128, 64,
     227 * KIB, 228 * KIB, 2048, 126 * MIB, 180 * GIB},
    {103, "B300 class", 148, 1.920e9, 8.0e12, {1.2, 75, 1.2, 500, 1000}, 128, 2,
     227 * KIB, 228 * KIB, 2048, 126 * MIB, 270 * GIB},
    {120, "RTX 5090 class", 170, 2.410e9, 1.79e12, {1.6, 105, 1.6, 105, 209}, 128, 2,
     99 * KIB, 100 * KIB, 1536, 96 * MIB, 32 * GIB},
};
/* clang-format on */

/* The newest known chip not newer than sm; the oldest one if all are newer. */
static const chip *nearest(int sm) {
    const chip *found = &chips[0];
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (chips[i].sm <= sm) found = &chips[i];
    return found;
}

void stn_machine_assume(stn_machine *machine, int sm, int multiprocessors, double clock, double memory_rate) {
    const chip *like = nearest(sm);
    memset(machine, 0, sizeof *machine);
    machine->is_device = true;
    snprintf(machine->name, sizeof machine->name, "%s", like->name);
    snprintf(machine->arch, sizeof machine->arch, "sm_%d", sm);
    machine->sm = sm;
    machine->multiprocessors = multiprocessors > 0 ? multiprocessors : like->multiprocessors;
    machine->threads = like->threads;
    machine->lanes = like->lanes;
    machine->wide_lanes = like->wide_lanes;
    machine->shared_per_block = like->shared_per_block;
    machine->shared_per_multiprocessor = like->shared_per_multiprocessor;
    machine->registers_per_multiprocessor = REGISTERS;
    machine->l2_bytes = like->l2;
    machine->memory_bytes = like->memory;
    machine->copy_bandwidth = COPY_PART * (memory_rate > 0 ? memory_rate : like->memory_rate);
    machine->launch_seconds = LAUNCH_SECONDS;
    double scale = (double)machine->multiprocessors / like->multiprocessors * (clock > 0 ? clock / like->clock : 1);
    for (int unit = 0; unit < STN_UNIT_COUNT; unit++) machine->flops[unit] = 1e12 * like->tera[unit] * scale;
    machine->clock = machine->flops[STN_UNIT_FMA_F32] / (2.0 * machine->lanes * machine->multiprocessors);
}

bool stn_machine_for_arch(const char *arch, stn_machine *machine) {
    if (strncmp(arch, "sm_", 3)) return false;
    size_t digits = strspn(arch + 3, "0123456789");
    if (digits < 2 || digits > 3 || arch[3 + digits]) return false;
    stn_machine_assume(machine, atoi(arch + 3), 0, 0, 0);
    return true;
}
