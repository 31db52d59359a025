/* Slices of fused taps perpendicular to one axis, as linear combinations of a few of them. */
#ifndef STN_STRATEGIES_LOWRANK_VOLUME_SPANNING_SLICES_H
#define STN_STRATEGIES_LOWRANK_VOLUME_SPANNING_SLICES_H
#include "strategies/common/stencil_power.h"
#include "strategies/lowrank/volume/tap_core.h"

/* The slices perpendicular to one axis, each as one vector, and the spanning slices (pivots), of
 * which all others are linear combinations. */
typedef struct lowrank_slices {
    int count, length, rank;
    int terms;                    /* of the core with the pivots found so far; 0: not counted */
    int pivot[LOWRANK_CORE_SIDE]; /* indices of the spanning slices */
    /* Slice i = sum over k of part[k][i] * slice pivot[k]. */
    long double part[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE];
    /* Slice pivot[k] = sum over j of upper[j][k] * q[j], with orthonormal vectors q. */
    long double upper[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE];
    /* For each slice: its components along q, computed when there were `of` pivots. */
    struct {
        int of;
        long double along[LOWRANK_CORE_SIDE];
    } dropped[LOWRANK_CORE_SIDE];
    long double *slice, *q; /* count and rank vectors, one allocation */
} lowrank_slices;

/* Cuts the taps perpendicular to axis 0 (z) or 2 (x) and finds the spanning slices: from the
 * outermost inwards, or those with the largest residual first. Residuals of the size of rounding
 * count as zero. along_z: the slices perpendicular to z, if those perpendicular to x are cut and
 * terms are counted; otherwise NULL. False if out of memory, or once the core has more than
 * LOWRANK_CORE_TERMS terms. */
bool lowrank_slices_make(const stn_power *taps, int axis, bool outer_first, const lowrank_slices *along_z,
                         lowrank_slices *slices);
/* Writes every slice as a combination of the spanning ones: `part`. */
void lowrank_slices_divide(lowrank_slices *slices);
void lowrank_slices_clear(lowrank_slices *slices);
/* Whether the taps are zero along y at this position. */
bool lowrank_fibre_is_zero(const stn_power *taps, int z, int x);
#endif
