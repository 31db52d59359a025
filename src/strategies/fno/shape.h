/* One launch of fno_line or fno_split (kernel_templates/fno/) as numbers: what it does to which
 * lines, how it is shaped for a machine, and what it costs. */
#ifndef STN_STRATEGIES_FNO_SHAPE_H
#define STN_STRATEGIES_FNO_SHAPE_H
#include "launch/machine.h"
#include "plan/strategy.h"
#include "strategies/common/ladder.h"

/* Where a pass reads or writes, in complex numbers, or in numbers where its points are real: item i
 * is i / inner in an outer loop and i % inner in an inner one. Points of a channel, and channels of
 * a mode, lie side by side. */
typedef struct fno_side {
    int64_t outer, inner, apart; /* apart: from channel to channel of points, from mode to mode of modes */
} fno_side;

typedef struct fno_pass {
    int64_t n, modes, low; /* of the axis: points; kept, from frequency -low on */
    bool real;             /* points are real */
    bool forward, product, back;
    bool store_in, store_out; /* elements are the layer's, else what is computed in */
    bool conjugate;           /* weights */
    bool doubled;             /* of a gradient's spectrum: modes that stand for two are taken twice */
    int bias;                 /* 0, 1: of the channel, 2: of the item of the inner loop */
    bool added;               /* the skip product, which lies where the output goes */
    stn_activation activation;
    int64_t items, inner, channels, outputs;
    fno_side in, out;
    int64_t weight_in, weight_out;
    bool aligned; /* weights begin at a multiple of 16 bytes */
    double scale;
} fno_pass;

/* What numbers are kept in, computed in and multiplied as. */
typedef struct fno_numbers {
    stn_dtype dtype;
    int parts; /* of a factor: 2 is f32's own precision, by three TF32 products */
    bool bf16; /* factors of products are bf16, in one part */
} fno_numbers;
/* What products are of, as device/fragment.cuh calls it. */
static inline const char *fno_factor(fno_numbers numbers) {
    return numbers.dtype == STN_F64 ? "double" : numbers.bf16 ? "struct bf16_t" : "float";
}
static inline bool fno_wide(fno_numbers numbers) { return numbers.dtype == STN_F64; }
static inline size_t fno_cell(fno_numbers numbers) { return fno_wide(numbers) ? 16 : 8; } /* a complex number */

typedef struct fno_shape {
    stn_ladder line;
    int groups;             /* of line.lines lines, at once */
    int threads;            /* of a block */
    int warps[2], tiles[2]; /* of the product: along modes, along outputs */
    int held;               /* channels whose weights stay in shared memory */
    int whole;              /* channels whose modes are held at once: all, 0: a group of lines' */
    int mixers;             /* threads that multiply while the others transform; 0: all do both in turn */
} fno_shape;

/* How the launch that has the product holds modes: those of a group of lines; of all channels, so
 * that two blocks or more fit on a multiprocessor; or of all channels of two items, which some
 * warps transform while others multiply (fno_split), in one block of 512 threads or, as twins, in
 * two of 256. */
typedef enum fno_form { FNO_BY_GROUPS, FNO_WHOLE, FNO_SPLIT, FNO_TWINS } fno_form;

/* False where no block holds what the pass needs, and why. */
bool fno_shape_for(const fno_pass *pass, fno_numbers numbers, fno_form form, const stn_machine *machine,
                   fno_shape *shape, char *reason, size_t size);
size_t fno_shape_shared(const fno_pass *pass, fno_numbers numbers, const fno_shape *shape);
/* Blocks of the launch, and the items that each takes. */
int64_t fno_shape_blocks(const fno_pass *pass, const fno_shape *shape, const stn_machine *machine, int64_t *each);

/* Seconds by the model, the launch included; adds to bytes and operations. */
double fno_pass_cost(const fno_pass *pass, fno_numbers numbers, const fno_shape *shape, const stn_machine *machine,
                     stn_estimate *sum);
#endif
