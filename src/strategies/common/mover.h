/* Elements of a transform's side from one layout and type to another, times a factor, by a kernel
 * of ours (fft/scale.cu): around libraries that have no scale factors, take not every layout and
 * type, and ruin their inputs. */
#ifndef STN_STRATEGIES_COMMON_MOVER_H
#define STN_STRATEGIES_COMMON_MOVER_H
#include "plan/plan.h"

/* From elements of one type to those of another; the kernel is in the plan's list. */
stn_status stn_mover_make(stn_plan *plan, stn_dtype from, stn_dtype to, struct stn_kernel **kernel, stn_error *error);

/* Grids of one side: where they lie, and its element's type. */
typedef struct stn_mover_end {
    const stn_fft_side *side;
    void *data; /* that is moved from is only read */
} stn_mover_end;
/* So many grids. `from` and `to` may be the same. type: that of the elements of `from`. */
stn_status stn_mover_run(const struct stn_kernel *kernel, stn_dtype type, const stn_mover_end *from,
                         const stn_mover_end *to, int64_t batch, double factor, void *stream, stn_error *error);
#endif
