/* How the lowrank kernels are shaped for a task: steps fused, terms, warps a block; what that
 * costs; its params.cuh. */
#ifndef STN_STRATEGIES_LOWRANK_FLAT_SHAPE_H
#define STN_STRATEGIES_LOWRANK_FLAT_SHAPE_H
#include "plan/strategy.h"
#include "strategies/lowrank/flat/pattern.h"

#define LOWRANK_MAX_WEIGHTS 640 /* weights travel as kernel arguments, 4 KiB and from CUDA 12.1 on 32 */

/* Fits a stn_candidate. */
typedef struct lowrank_shape {
    int fused;    /* most steps that one launch does; launches share the task's steps evenly */
    int launches; /* of `fused` or `fused` - 1 steps */
    int terms;    /* 1 in 1D */
    int products; /* lowrank_products */
    int vector;   /* elements of one access along x: 16 bytes, or 1 where rows are not aligned */
    int warps, stages, blocks;
    int held;       /* bands stay in registers (1D: always) */
    int extended;   /* fused launches are right up to the faces: axes wrap, or mirror symmetric taps */
    int even;       /* 2D: taps are symmetric in both axes, so that half of each vector tells it */
    int segment;    /* 1D: points of a segment; 2D: columns of a block's walk */
    int mixed;      /* 2D: lowrank_mixed, sums along y and products along x; else products along both */
    int split;      /* 2D: a lowrank_split */
    int bands;      /* lowrank_mixed: lowrank_pattern_blocks */
    int sums;       /* and lowrank_pattern_sums */
    float residual; /* 2D: what the terms leave of the taps, relative */
    float growth;   /* sizes of the terms' products over those of the taps */
    float inner;    /* 2D: lowrank_terms_inner */
} lowrank_shape;
_Static_assert(sizeof(lowrank_shape) <= sizeof(stn_candidate), "a shape is a candidate");

/* The shape for launches of at most `fused` steps, in 2D but for its terms; false if no kernel can
 * take it. */
bool lowrank_fit(const stn_task *task, int fused, lowrank_shape *shape);
/* 2D: the rest of it, for a pattern of terms and shape->mixed and shape->split. tally: may be
 * NULL. */
bool lowrank_fit_terms(const stn_task *task, const stn_machine *machine, const lowrank_pattern *pattern,
                       lowrank_shape *shape, stn_tally *tally);
/* Can this shape's kernel, with another pattern, take the weights that the task has now? */
bool lowrank_holds(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape,
                   const lowrank_pattern *pattern);
void lowrank_cost(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape, stn_estimate *estimate);
/* The same where it is known what faces take a launch: all shapes of as many steps have the
 * same. */
double lowrank_faces(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape);
void lowrank_cost_beside(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape, double faces,
                         stn_estimate *estimate);

/* Window of the fused taps along axis 1 (y) or 2 (x): points towards a side, and all of them. */
int lowrank_reach(const stn_task *task, const lowrank_shape *shape, int axis, int side);
int lowrank_window(const stn_task *task, const lowrank_shape *shape, int axis);
int lowrank_given(const stn_task *task, const lowrank_shape *shape, int axis); /* of it, as the kernel takes it */
/* 2D: the largest residual that the terms may leave: the task's tolerance, in a norm that bounds
 * what the operator can do to any grid, or what the dtype rounds away; shared out to all launches,
 * for they all err alike. */
double lowrank_term_tolerance(const stn_task *task, const lowrank_shape *shape);
/* Bytes of dynamic shared memory, threads, and blocks of one launch. */
size_t lowrank_shared(const stn_task *task, const lowrank_shape *shape);
/* Chunks of one line, or tiles along y and x of one plane. */
int64_t lowrank_chunks(const stn_task *task, const lowrank_shape *shape);
void lowrank_tiles(const stn_task *task, const lowrank_shape *shape, int64_t *tiles_y, int64_t *tiles_x);

const char *lowrank_kernel_name(const stn_task *task, const lowrank_shape *shape);
/* `pattern`: for lowrank_mixed. */
void lowrank_params(const stn_task *task, const lowrank_shape *shape, const lowrank_pattern *pattern, stn_text *params);
#endif
