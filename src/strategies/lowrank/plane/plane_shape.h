/* The shape of the lowrank kernels in 1D and 2D (fused steps, terms, warps a block), its cost, its
 * params.cuh. */
#ifndef STN_STRATEGIES_LOWRANK_PLANE_PLANE_SHAPE_H
#define STN_STRATEGIES_LOWRANK_PLANE_PLANE_SHAPE_H
#include "plan/strategy.h"
#include "strategies/faces/margins.h"
#include "strategies/lowrank/plane/term_pattern.h"

#define LOWRANK_MAX_WEIGHTS 640 /* weights are kernel arguments: 4 KiB, from CUDA 12.1 on 32 KiB */

/* Must fit into a stn_candidate. */
typedef struct lowrank_shape {
    int fused;    /* most steps of one launch; launches share the task's steps evenly */
    int launches; /* launches, each of `fused` or `fused` - 1 steps */
    int terms;    /* 1 in 1D */
    int products; /* tensor products for one product of elements: lowrank_products */
    int vector;   /* elements of one access along x: 16 bytes, or 1 where rows are unaligned */
    int warps, stages, blocks;
    int held; /* bands stay in registers (1D: always) */
    /* Fused launches are correct up to the faces: axes wrap, or mirror symmetric taps. */
    int extended;
    int even;    /* 2D: taps are symmetric in both axes, so half of each vector is stored */
    int segment; /* 1D: points of a segment; 2D: columns that a block marches through */
    /* 2D: lowrank_mixed, with sums along y and products along x; otherwise products along both */
    int mixed;
    int split;      /* 2D: a lowrank_split */
    int bands;      /* lowrank_mixed: lowrank_pattern_blocks */
    int sums;       /* lowrank_mixed: lowrank_pattern_sums */
    float residual; /* 2D: relative residual of the terms */
    float growth;   /* total magnitude of the terms' products over that of the taps */
    float inner;    /* 2D: lowrank_terms_inner */
} lowrank_shape;

/* Makes the shape for launches of at most `fused` steps, in 2D without its terms; false if no
 * kernel can take it. */
bool lowrank_fit(const stn_task *task, int fused, lowrank_shape *shape);
/* 2D: completes the shape for a pattern of terms and for shape->mixed and shape->split. */
bool lowrank_fit_terms(const stn_task *task, const stn_machine *machine, const lowrank_pattern *pattern,
                       lowrank_shape *shape);
/* Whether this shape's kernel, with another pattern, can take the task's current weights. */
bool lowrank_holds(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape,
                   const lowrank_pattern *pattern);
void lowrank_cost(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape, stn_estimate *estimate);
/* lowrank_faces: the cost of a launch's faces, equal for all shapes with the same number of fused
 * steps. lowrank_cost_with_faces: the cost of a shape, given the cost of its faces. */
stn_faces_cost lowrank_faces(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape);
void lowrank_cost_with_faces(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape,
                             const stn_faces_cost *faces, stn_estimate *estimate);

/* Window of the fused taps along axis 1 (y) or 2 (x): points towards a side, and all points. */
int lowrank_reach(const stn_task *task, const lowrank_shape *shape, int axis, int side);
int lowrank_window(const stn_task *task, const lowrank_shape *shape, int axis);
/* The part of the window that the kernel gets. */
int lowrank_stored_window(const stn_task *task, const lowrank_shape *shape, int axis);
/* 2D: the largest residual allowed for the terms: the task's tolerance, in a norm that bounds the
 * operator's effect on any grid, or the dtype's rounding; divided by the number of launches,
 * because their errors are equal and add up. */
double lowrank_term_tolerance(const stn_task *task, const lowrank_shape *shape);
/* Bytes of dynamic shared memory of a block. */
size_t lowrank_shared(const stn_task *task, const lowrank_shape *shape);
/* Chunks of one line, or tiles along y and x of one plane. */
int64_t lowrank_chunks(const stn_task *task, const lowrank_shape *shape);
void lowrank_tiles(const stn_task *task, const lowrank_shape *shape, int64_t *tiles_y, int64_t *tiles_x);

const char *lowrank_kernel_name(const stn_task *task, const lowrank_shape *shape);
/* pattern: used by lowrank_mixed only. */
void lowrank_params(const stn_task *task, const lowrank_shape *shape, const lowrank_pattern *pattern, stn_text *params);
#endif
