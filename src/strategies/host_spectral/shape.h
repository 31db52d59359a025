/* The torus that a run on the host is computed on, and the tables of its lines. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_SHAPE_H
#define STN_STRATEGIES_HOST_SPECTRAL_SHAPE_H
#include "host/fft_line.h"
#include "plan/strategy.h"
#include "strategies/common/extension.h"
#include "strategies/common/symbol.h"

/* The task with the steps from its input to its last snapshot: its taps are the other's. */
stn_task shape_run(const stn_task *task);

/* What a candidate says: each axis's line (common/extension.h) and how many of its frequencies live
 * through all steps. */
typedef struct torus_axis {
    int64_t length, before;
} torus_axis;
typedef struct torus {
    torus_axis axis[3];
    int64_t kept; /* of the half spectrum along x */
} torus;

/* False: these sides and taps go on in no mirror; the reason is one phrase. Cheap, but for what the
 * taps' reach costs. */
bool torus_choose(const stn_task *task, torus *chosen, char *reason, size_t reason_size);
/* Whether a torus that was chosen for other weights serves these; it is then as exact, if not the
 * cheapest. */
bool torus_serves(const stn_task *task, const torus *chosen);
/* Fixed or constant sides, or the problem itself, add something at each step. */
bool torus_has_source(const stn_task *task);
/* Taps that reach so far along the last axis have long polynomials: terms, of both. */
#define SHAPE_WIDE 24
#define SHAPE_DOUBLINGS 16
#define SHAPE_KEPT_BITS 64 /* a factor so far below the largest is 0 */
/* What the transforms of a line of n points cost, in operations. */
double torus_line_cost(int64_t n);

typedef struct shape {
    torus torus;
    stn_extension axis[3];
    int last;    /* the axis whose frequencies come last: there the symbol is applied */
    bool halved; /* rows of an even length are taken as half as many complex numbers */
    bool source;
    int64_t rows;        /* of a plane of the spectrum */
    int64_t pitch;       /* complex numbers of a row of it */
    int64_t plane, grid; /* complex numbers of a plane, of a grid */
    int64_t wave;        /* grids of a batch that run together */
    int64_t live[3][2];  /* points outside are frozen */
    stn_symbol symbol;
    bool wide;      /* its polynomials are long: they are transformed too */
    double largest; /* |K| */
    /* As torus.kept, of 1, 2, 4, .. snapshots' steps; no fewer after more of them than what the
     * last of these says. */
    int64_t kept[SHAPE_DOUBLINGS];
    int lanes[3];
    int64_t room;           /* numbers of one plane of a thread's */
    stn_fft_line *line[3];  /* owned; axes of equal length share one */
    double *half_turns;     /* exp(-2 pi i k / length), of halved rows */
    int64_t *image[3];      /* of each point of a line: the grid's point that it shows, */
    double *sign[3];        /* and the factor: 1, -1, 0 */
    double *parts, *angles; /* common/symbol.h */
} shape;

stn_status shape_make(const stn_task *task, const torus *chosen, shape *made, stn_error *error);
/* Of new weights: parts, largest, dead. */
stn_status shape_weigh(const stn_task *task, shape *made, stn_error *error);
void shape_clear(shape *made);
enum { SHAPE_PAIRS = 7 };
/* Numbers of a thread's planes, and of all that lies between passes. */
int64_t shape_planes(const shape *s);
int64_t shape_between(const stn_task *task, const shape *s);
/* Numbers of the frequencies of a group of columns along the last axis; and what of the above is
 * there to hold them all. */
int64_t shape_held(const shape *s);
int64_t shape_all_held(const stn_task *task, const shape *s);
#endif
