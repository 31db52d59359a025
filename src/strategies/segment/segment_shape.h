/* How a task is divided into passes of overlapping segments: fused steps per launch, and the
 * segment length along each axis. */
#ifndef STN_STRATEGIES_SEGMENT_SEGMENT_SHAPE_H
#define STN_STRATEGIES_SEGMENT_SEGMENT_SHAPE_H
#include <math.h>

#include "plan/strategy.h"
#include "strategies/segment/axis.h"
#include "strategies/segment/dense_dft.h"

/* Bits of SEGMENT_TRANSFER: streamed outputs, inputs directly to registers, prefetch of 256
 * bytes. */
enum { SEGMENT_STREAMED = 1, SEGMENT_DIRECT_INPUTS = 2, SEGMENT_PREFETCH_256 = 4 };

/* A pass along one axis. first > 0: segments of 256 * first points by FFTs, where `first` is the
 * radix of the first stage if it is at most 16 (above: segment_is_single). first < 0: the number of
 * a dense DFT (dense_dft.h). For FFT tiles (fft_tile.h), `first` is the side in units of 16 points.
 * `useful` points of a segment are outputs, from point `lead` on. */
typedef struct segment_pass {
    uint8_t axis;
    int8_t first; /* 1: only along x. */
    /* The segment is a whole line mirrored at both ends; half its period is transformed. */
    uint8_t cosines;
    /* The weights of all steps reach further, both sides together, than one period of the
     * extension, and are folded to offsets -period / 2 .. period / 2, which give the same
     * results. */
    uint8_t folded;
    int lead, useful, reach; /* reach: of the longest launch's steps, both sides together. */
} segment_pass;

typedef struct segment_shape {
    int launches, fused; /* fused: steps of the longest launch. */
    /* 1: strategies/faces computes the margins after each launch; 0: every side is an extension. */
    uint8_t margins;
    uint8_t sources;   /* 1: the terms of a plane's sides are added by segment_boundary_source.h. */
    uint8_t fragment;  /* Fragment of dense DFTs: dense_dft.h. */
    uint8_t unused[5]; /* Shapes are compared byte by byte. */
    union {
        int pairs;  /* Pairs of columns in a tile, along y and z. */
        int shares; /* Blocks of a cluster that share a tile of fft_tile.h; 0: one block has it. */
    };
    /* Minimum blocks per multiprocessor, which limits the registers per thread, of the pass along x
     * if there are several; 0: the default of the pass. */
    int blocks;
    uint8_t passes;
    /* 1: segments along x are not rotated to whole memory lines (SEGMENT_ROTATED). */
    uint8_t unrotated;
    /* Warps of a block of tiles (fft_tile.h), with y and x in passes 0 and 1; 0: passes along
     * lines. */
    uint8_t tile;
    uint8_t transfer; /* Along x, for 256 points: SEGMENT_TRANSFER. */
    segment_pass pass[3];
} segment_shape;

/* Effect of the neglected weights relative to their part of the weights' sum, sqrt(9.7): the tails
 * of a Gaussian are at most a third as wide as the Gaussian. */
#define SEGMENT_NEGLECTED_ERROR 3.1
/* Whether the pass neglects small weights. It does not if its reach includes all weights, as that
 * of few steps does, if they are folded, or if its segments hold whole periods. */
static inline bool segment_neglects_weights(const stn_task *task, const segment_shape *shape,
                                            const segment_pass *pass) {
    const int64_t all = (int64_t)shape->fused * (task->reach[pass->axis][0] + task->reach[pass->axis][1]);
    return pass->reach < all && !pass->folded && (pass->lead > 0 || pass->useful != task->n[pass->axis]);
}
/* Whether the symbol's power overflows the data's type. largest: of the symbol's magnitudes. */
static inline bool segment_overflows(const stn_task *task, double largest, uint64_t steps) {
    return (double)steps * log10(largest) > (task->dtype == STN_F64 ? 290 : 36);
}
/* The arithmetic unit that the transforms of a pass run on. */
stn_unit segment_unit(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* The reach of weights folded to one period of the axis's extension, if the period is not long and
 * that reach is shorter than `reach` (*folded); otherwise `reach`. */
stn_reach segment_folded_reach(const segment_axis *axis, const stn_reach *reach, uint8_t *folded);
/* Makes the pass along this axis for steps of this reach. False: the reach is too long for the
 * segment length, or these transforms do not serve the axis. */
bool segment_fit(const stn_task *task, const segment_axis *axis, const stn_reach *reach, int first, segment_pass *pass);
/* The cheapest shapes, at most `most`; 0: none, and *why is the reason. */
size_t segment_search(const stn_task *task, const stn_machine *machine, segment_shape *best, size_t most,
                      const char **why);
/* Whether so many launches, each of which at least reads and writes every point, exceed the
 * machine's time limit. */
bool segment_exceeds_time_limit(const stn_task *task, const stn_machine *machine, double launches);
void segment_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *estimate);
/* Seconds and operations of one launch of a pass. */
double segment_seconds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                       const segment_pass *pass, double *flops);

/* Whether segments of this length are convolved singly, not in pairs, packed as half as many
 * complex points: 8192 points and more (first = 32, 64; along x only). */
bool segment_is_single(int first);
/* segment_groups: pairs of segments that a block along x takes at once. segment_pairs: pairs, or
 * transforms of one segment, that a block along any axis convolves at once. */
int segment_groups(const segment_pass *pass);
int segment_pairs(const segment_shape *shape, const segment_pass *pass);
/* Threads and bytes of shared memory of a block, and the minimum number of blocks per
 * multiprocessor. */
int segment_threads(const segment_shape *shape, const segment_pass *pass);
size_t segment_shared(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
int segment_blocks(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* Whether segments along x are rotated to whole memory lines. This is useless if all begin at whole
 * lines. */
bool segment_is_rotated(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* Number of work items, which blocks take one after another: segment_groups pairs of segments along
 * x, otherwise tiles of columns. */
int64_t segment_work_items(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* Blocks of a launch of this number of work items, where `resident` blocks run at once. */
int64_t segment_grid(const stn_task *task, int first, int64_t work_items, int64_t resident);
/* Along y and z: the number of tiles of columns side by side. */
int64_t segment_tiles(const stn_task *task, const segment_shape *shape);
#endif
