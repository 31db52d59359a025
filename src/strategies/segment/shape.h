/* How a task becomes passes of overlapping segments: so many steps a launch, a segment's length
 * along each axis. */
#ifndef STN_STRATEGIES_SEGMENT_SHAPE_H
#define STN_STRATEGIES_SEGMENT_SHAPE_H
#include "plan/strategy.h"
#include "strategies/segment/axis.h"
#include "strategies/segment/product.h"

/* Of SEGMENT_WAY. */
enum { SEGMENT_STREAMED = 1, SEGMENT_AT_ONCE = 2, SEGMENT_WIDELY = 4 };

/* A pass along one axis: segments of 256 * first points (first > 16: segment_alone; < 0: of a
 * product's, product.h), of which `useful` are outputs, after `lead` of their own. */
typedef struct segment_pass {
    uint8_t axis;
    int8_t first;            /* 1: along x only */
    uint8_t cosines;         /* a whole line, mirrored at both ends, by half its period */
    uint8_t middle;          /* a line is one segment, at places known from its length: SEGMENT_MIDDLE */
    int lead, useful, reach; /* reach: of the longest launch's steps, to both sides together */
} segment_pass;

typedef struct segment_shape {
    int launches, fused; /* f steps in the longest of them */
    uint8_t margins;     /* 1: sides are stepped by the faces, one launch after the other; 0: every side is folded in */
    uint8_t sources;     /* 1: what sides of a plane add comes by source.h */
    uint8_t whole;       /* points of f64 go through shared memory whole, not by halves */
    uint8_t fragment;    /* of products: product.h */
    uint8_t unused[4];   /* shapes are compared byte by byte */
    union {
        int pairs;  /* of columns of a tile, along y and z */
        int shares; /* blocks of a cluster that hold a tile of tile.h together; 0: it is one block's */
    };
    int blocks; /* of a multiprocessor, for which registers are kept few enough, of the pass along x if there are more; 0: as a pass's segments
                   have it */
    uint8_t passes;
    uint8_t
        straight; /* 1: segments along x begin where they begin; 0: they are turned to whole lines of memory (SEGMENT_TURNED) */
    uint8_t tile; /* warps of a block of tiles (tile.h), whose passes 0 and 1 are y and x; 0: passes along lines */
    uint8_t way;  /* along x, of 256 points: SEGMENT_WAY */
    segment_pass pass[3];
} segment_shape;
_Static_assert(sizeof(segment_shape) <= sizeof(stn_candidate), "a shape is a candidate");

/* The unit that a pass's transforms run on. */
stn_unit segment_unit(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* What a pass along this axis would be for steps that reach so far; false: too far for segments of
 * that length, or not in that form. middle: a line may lie in the middle of its segment. */
bool segment_fit(const stn_task *task, const segment_axis *axis, const stn_reach *reach, int first, bool middle,
                 segment_pass *pass);
/* Can a kernel make it? tally: may be NULL. */
bool segment_holds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                   const segment_pass *pass, stn_tally *tally);
/* The cheapest shapes, at most `most`; 0: there is none, and *why says so. tally: of passes that no
 * kernel takes; may be NULL. */
size_t segment_search(const stn_task *task, const stn_machine *machine, segment_shape *best, size_t most,
                      const char **why, stn_tally *tally);
void segment_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *estimate);
/* Of one launch of a pass, and its operations. */
double segment_seconds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                       const segment_pass *pass, double *flops);

/* Segments of 8192 points and more (first = 32, 64; along x only) are convolved each by itself, not
 * in pairs, by one transform of half as many complex points, or two. */
bool segment_alone(int first);
/* Pairs of segments that a block along x takes at once; pairs, or transforms of one segment, that
 * any block convolves at once. */
int segment_groups(const segment_pass *pass);
int segment_pairs(const segment_shape *shape, const segment_pass *pass);
/* Of one block of a pass: threads, bytes of shared memory, and how many are to fit on a
 * multiprocessor. */
int segment_threads(const segment_shape *shape, const segment_pass *pass);
size_t segment_shared(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
int segment_blocks(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* Are segments along x turned to whole lines of memory? Where all begin there it is no use. */
bool segment_turned(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* What blocks take one after the other: along x segment_groups pairs of segments, else tiles of
 * columns. */
int64_t segment_works(const stn_task *task, const segment_shape *shape, const segment_pass *pass);
/* Blocks that a launch has for so many works of segments that `first` tells, where so many blocks
 * run at once. */
int64_t segment_grid(const stn_task *task, int first, int64_t works, int64_t resident);
/* Along y and z: tiles of columns side by side. */
int64_t segment_tiles(const stn_task *task, const segment_shape *shape);
#endif
