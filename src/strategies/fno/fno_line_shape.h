/* One launch of fno_line or fno_split (kernel_templates/fno/): which lines and operations, its
 * shape for a machine, and what it costs. */
#ifndef STN_STRATEGIES_FNO_FNO_LINE_SHAPE_H
#define STN_STRATEGIES_FNO_FNO_LINE_SHAPE_H
#include "launch/machine.h"
#include "plan/strategy.h"
#include "strategies/common/shared_fft.h"

/* Layout of a pass's input or output. Strides count complex numbers, or real numbers if the points
 * are real. Item i of the pass is item i / inner of an outer loop and item i % inner of an inner
 * loop. Points of a channel, and channels of a mode, are contiguous. */
typedef struct fno_side {
    int64_t outer, inner, stride; /* stride: between channels (points), or between modes */
} fno_side;

typedef struct fno_pass {
    int64_t n, modes, low; /* of the axis: points; retained modes, from frequency -low on */
    bool real;             /* points are real */
    bool forward, product, back;
    bool in_is_dtype, out_is_dtype; /* the layer's dtype, else the arithmetic type */
    bool conjugate;                 /* weights are conjugated */
    /* in a gradient's half spectrum, modes that represent two frequencies count twice */
    bool doubled;
    /* one for each channel, or for each item of the inner loop */
    enum { FNO_NO_BIAS, FNO_BIAS_BY_CHANNEL, FNO_BIAS_BY_ITEM } bias;
    bool added; /* adds the skip product, which is in the output array */
    stn_activation activation;
    int64_t items, inner, channels, outputs;
    fno_side in, out;
    int64_t weight_in, weight_out;
    bool aligned; /* weights are aligned to 16 bytes */
    double scale;
} fno_pass;

/* Storage type, arithmetic type and type of products. */
typedef struct fno_numbers {
    stn_dtype dtype;
    int parts; /* of a factor: 2 is full f32 precision, by three TF32 products */
    bool bf16; /* factors of products are bf16, in one part */
} fno_numbers;
/* Type of the factors of products, as in device/fragment.cuh. */
static inline const char *fno_factor(fno_numbers numbers) {
    return numbers.dtype == STN_F64 ? "double" : numbers.bf16 ? "struct bf16_t" : "float";
}
static inline bool fno_wide(fno_numbers numbers) { return numbers.dtype == STN_F64; }
/* bytes, complex */
static inline size_t fno_complex_bytes(fno_numbers numbers) { return fno_wide(numbers) ? 16 : 8; }

typedef struct fno_line_shape {
    stn_shared_fft line;
    int groups;             /* of line.lines lines, transformed at once */
    int threads;            /* per block */
    int warps[2], tiles[2]; /* of the product: along modes, along outputs */
    int held;               /* channels whose weights stay in shared memory */
    int whole;              /* fno_split: channels, whose modes are all held at once; else 0 */
    int mixers;             /* threads that multiply while the others transform; 0: all do both */
} fno_line_shape;

/* Modes that a block of the launch with the product holds at once. FNO_BY_GROUPS: the modes of a
 * group of lines. FNO_SPLIT: the modes of all channels of two items; some warps transform one item
 * while the other warps multiply the other item (fno_split), in one block of 512 threads.
 * FNO_SPLIT_IN_TWO: the same in two blocks of 256 threads. */
typedef enum fno_form { FNO_BY_GROUPS, FNO_SPLIT, FNO_SPLIT_IN_TWO } fno_form;

/* Finds a shape; false, with the reason, if no block can hold what the pass needs. */
bool fno_line_shape_for(const fno_pass *pass, fno_numbers numbers, fno_form form, const stn_machine *machine,
                        fno_line_shape *shape, char *reason, size_t size);
size_t fno_line_shared(const fno_pass *pass, fno_numbers numbers, const fno_line_shape *shape);
/* Blocks of the launch, and the items that each processes. */
int64_t fno_line_blocks(const fno_pass *pass, const fno_line_shape *shape, const stn_machine *machine, int64_t *each);

/* Estimated seconds with the launch; adds bytes and operations to *sum. */
double fno_pass_cost(const fno_pass *pass, fno_numbers numbers, const fno_line_shape *shape, const stn_machine *machine,
                     stn_estimate *sum);
#endif
