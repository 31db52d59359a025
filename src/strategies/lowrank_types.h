/* What the lowrank kernels do with each element type: device/fragment.cuh, seen from the host. */
#ifndef STN_STRATEGIES_LOWRANK_TYPES_H
#define STN_STRATEGIES_LOWRANK_TYPES_H
#include "base/text.h"
#include "plan/machine.h"
#include "problem/task.h"

/* Products on the tensor cores for one product of elements, in a run of so many launches. f64: 1. f32: 3, of upper and
 * lower halves, have f32's error. f16: 2, the weights in halves. Fewer when the task's tolerance allows: an element that
 * is rounded to 11 bits errs by chance, so its errors hardly grow, but in 3D, where terms and launches are many: there the rows
 * of a smooth grid err alike. A weight errs alike in every launch, by 2^-11 at most, and that adds up. */
int lowrank_products(const stn_task *task, int launches);
/* Of an element and of a weight, as the kernels split them: DATA_PARTS and BAND_PARTS. */
int lowrank_data_parts(int products);
int lowrank_band_parts(int products);
/* In words: "tf32 x 3", as describe says it. */
const char *lowrank_arithmetic(stn_dtype dtype, int products);

stn_unit lowrank_unit(stn_dtype dtype);
int lowrank_slot(stn_dtype dtype); /* elements of 16 bytes */
int lowrank_step(stn_dtype dtype); /* blocks of 8 that one product takes at once */

/* Rounds a vector, times `factor`, to numbers of so many bits that sum up to what they did: what is left of a sum errs
 * alike in every launch, and that adds up. */
void lowrank_round(int bits, double factor, double *vector, int count);
/* Weights as a kernel takes them: `count` numbers, before which, where `scaled`, comes the power of two that those from
 * `first` on are divided by, for half precision holds few small numbers. At most (count + 1) * 8 bytes. */
void lowrank_pack(stn_dtype dtype, bool scaled, const double *weights, int count, int first, unsigned char *to);
#endif
