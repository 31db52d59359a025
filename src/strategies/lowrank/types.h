/* What the lowrank kernels do with each element type: device/fragment.cuh, seen from the host. */
#ifndef STN_STRATEGIES_LOWRANK_TYPES_H
#define STN_STRATEGIES_LOWRANK_TYPES_H
#include "base/text.h"
#include "launch/machine.h"
#include "problem/task.h"

/* Why there is no candidate: one phrase for all ranks. */
extern const char lowrank_none[];

/* Products on the tensor cores for one product of elements, in a run of so many launches. f64: 1.
 * f32: 3, of upper and lower halves, have f32's error. f16: 2, the weights in halves. Fewer when
 * the task's tolerance allows. Rounding errors of elements to 11 bits are random, so they hardly
 * accumulate, except in 3D, where terms and launches are many and the rows of a smooth grid have
 * the same errors. The rounding error of a weight, 2^-11 at most, is the same in every launch: it
 * accumulates. */
int lowrank_products(const stn_task *task, int launches);
/* Of an element and of a weight, as the kernels split them: DATA_PARTS and BAND_PARTS. */
int lowrank_data_parts(int products);
int lowrank_band_parts(int products);
/* In words: "tf32 x 3", as describe says it. */
const char *lowrank_arithmetic(stn_dtype dtype, int products);

stn_unit lowrank_unit(stn_dtype dtype);
int lowrank_slot(stn_dtype dtype); /* elements of 16 bytes */
int lowrank_step(stn_dtype dtype); /* blocks of 8 that one product takes at once */

/* Rounds a vector, times `factor`, to numbers of so many bits that sum up to what they did: what is
 * left of a sum errs alike in every launch, and that adds up. Of an `even` one the first half is
 * given, its middle included. */
void lowrank_round(int bits, double factor, double *vector, int count, bool even);
/* Weights as a kernel takes them: `count` numbers, before which, where `scaled`, comes the power of
 * two that those from `first` on are divided by, for half precision holds few small numbers. At
 * most (count + 1) * 8 bytes. */
void lowrank_pack(stn_dtype dtype, bool scaled, const double *weights, int count, int first, unsigned char *to);
/* Predicted error of so many launches, relative L2. `growth`: sizes of all products of weights over
 * the sizes of the weights that they stand for, which is what rounding is multiplied by. `alike`:
 * f32 by three products, what is left of what tensor cores cut off, of one launch. */
#define LOWRANK_ALIKE 1.75e-8 /* with middles (device/band.cuh): bench/results/2026-11-22-lowrank-f32.md */
double lowrank_error(const stn_task *task, int products, double launches, double growth, double alike);
/* What rounding the first of two products to f16 adds to it, `inner` times as large when it is in
 * the answer (lowrank_terms_inner); by chance, and in few points chance may be large. */
double lowrank_inner_error(const stn_task *task, double inner, double launches);
#endif
