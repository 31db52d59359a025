/* Arithmetic of the lowrank kernels for each element type: the host's view of device/fragment.cuh.
 */
#ifndef STN_STRATEGIES_LOWRANK_LOWRANK_TYPES_H
#define STN_STRATEGIES_LOWRANK_LOWRANK_TYPES_H
#include "base/text.h"
#include "context/search_cache.h"
#include "launch/machine.h"
#include "problem/task.h"

/* lowrank_store keeps a decomposition of the power of a task's taps in the context's cache, because
 * chunks of other lengths need it again. lowrank_lookup finds it, or returns false. A decomposition
 * depends on `numbers` and the taps alone. */
#define LOWRANK_KEY_NUMBERS 4
bool lowrank_lookup(const stn_task *task, stn_search_cache_kind kind, const double numbers[LOWRANK_KEY_NUMBERS],
                    void *result, size_t size);
void lowrank_store(const stn_task *task, stn_search_cache_kind kind, const double numbers[LOWRANK_KEY_NUMBERS],
                   const void *result, size_t size);

#define LOWRANK_MAX_FUSED 96 /* steps of a launch; in 3D fewer */
/* One phrase for all ranks that says why there is no candidate. */
extern const char lowrank_none[];

/* Tensor-core products for one product of an element and a weight, with `launches` launches between
 * two snapshots, or in a run without them.
 * f64: 1. f32: 3, of upper and lower parts of both factors, with f32's error. f16: 2, with weights
 * in two parts. Fewer if the task's tolerance permits. Errors from rounding elements to 11 bits are
 * random and hardly accumulate, except in 3D, where terms and launches are many and the rows of a
 * smooth grid have the same errors. The rounding error of a weight, at most 2^-11, is the same in
 * every launch and accumulates. */
int lowrank_products(const stn_task *task, int launches);
/* Parts into which the kernels split an element and a weight: DATA_PARTS and BAND_PARTS. */
int lowrank_data_parts(int products);
int lowrank_band_parts(int products);
/* Text for describe: "tf32 x 3". */
const char *lowrank_arithmetic(stn_dtype dtype, int products);

stn_unit lowrank_unit(stn_dtype dtype);
int lowrank_slot(stn_dtype dtype); /* elements in 16 bytes */
int lowrank_step(stn_dtype dtype); /* blocks of 8 that one product takes at once */

/* Multiplies a vector by `factor` and rounds it to numbers of `bits` bits. The sum of the vector is
 * preserved, because an error of the sum is the same in every launch and accumulates. Only the
 * first half and the middle of an `even` vector are stored. */
void lowrank_round(int bits, double factor, double *vector, int count, bool even);
/* Packs `count` weights for a kernel, in at most (count + 1) * 8 bytes. In f16 the weights from
 * `first` on are divided by a power of two, because half precision has few small numbers. If
 * `scaled`, this power, 1 in other types, precedes all weights; f16 requires that. */
void lowrank_pack(stn_dtype dtype, bool scaled, const double *weights, int count, int first, unsigned char *to);
/* Predicted relative L2 error of all launches. `growth`: amplification of rounding errors, the
 * total magnitude of the products of weights over that of the taps. `systematic`: for f32 by three
 * products, the systematic truncation error of one launch. */
#define LOWRANK_SYSTEMATIC_ERROR 1.75e-8 /* if middle values are subtracted (device/band.cuh) */
double lowrank_error(const stn_task *task, int products, double launches, double growth, double systematic);
/* The error that rounding the first of two products to f16 adds, amplified by `inner`
 * (lowrank_terms_inner). It is random, and on few points it may be large by chance. */
double lowrank_inner_error(const stn_task *task, double inner, double launches);
#endif
