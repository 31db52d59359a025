/* Rows of taps as left factors of 2:4 sparse products (SPTCStencil): which columns of a window each
 * place of a product stands for, which of a group's places are kept, and a lane's registers.
 *
 * A row of taps w makes 16 neighbouring outputs of a window of points: K(i, c) = w[c - i - first],
 * a band. 32 bits of the window, one point of f32 or two of f16, are a word. The strided swap puts
 * word v and word v + half the window side by side in one group; a row of K is no longer than half
 * the window, so that it meets half of a group at most:
 *
 *     words    0  1  2  3  4  5  6  7 | 8  9  10 11 12 13 14 15        halves 2: 16 words
 *     groups   0  1  2  3  4  5  6  7 | 0  1  2  3  4  5  6  7
 *
 * Groups go to products and lanes so that each lane's points are neighbours in memory: the swap of
 * the points is where a lane reads, no more. Which places are kept follows from the window alone:
 * weights of 0 are kept like others. */
#ifndef STN_STRATEGIES_SPARSE_ENCODE_H
#define STN_STRATEGIES_SPARSE_ENCODE_H
#include <stdbool.h>
#include <stdint.h>

#include "stentor.h"

#define SPARSE_OUTPUTS 16 /* of a product: rows of K */
#define SPARSE_MOST_HALVES 48
#define SPARSE_MOST_PRODUCTS (SPARSE_MOST_HALVES / 2)
#define SPARSE_FRAGMENT                                                                                                \
    128 /* words of a product's left factor: 32 lanes, 4 each; half a product leaves the last two unused */

typedef struct sparse_window {
    stn_dtype dtype; /* f32 (as tf32) or f16 */
    int halves;      /* of 8 words: the window has so many */
    int first;       /* the column of output 0's lowest tap */
    int span;        /* a row has span + 1 taps */
    bool paired;     /* rows of K are so ordered that a lane ends with four neighbours */
} sparse_window;

int sparse_columns(const sparse_window *w); /* of the window */
/* Do all taps of all outputs lie in the window, and is K 2:4 after the swap? */
bool sparse_legal(const sparse_window *w);
/* Products of a row of taps: of 16 words, the last of 8 where halves is odd. */
int sparse_products(const sparse_window *w);
int sparse_groups(const sparse_window *w, int product); /* of a row of a product: 8 or 4 */
int sparse_places(const sparse_window *w);              /* of a group: 4 in f16, 2 in f32 */
int sparse_kept(const sparse_window *w);                /* of them: 2 or 1 */

/* The column of the window that a place of a group of a product stands for. */
int sparse_column(const sparse_window *w, int product, int group, int place);
/* The output that row i of the left factor makes. */
int sparse_output(const sparse_window *w, int i);
/* The places of a group that row i keeps, rising: all with taps, and others where those are
 * fewer. */
void sparse_keep(const sparse_window *w, int product, int group, int i, int kept[2]);

/* One row of taps, weight[0 .. span], rounded to the type: SPARSE_FRAGMENT words for each
 * product. */
void sparse_encode(const sparse_window *w, const float *weight, uint32_t *to);
/* Metadata: so many registers of 32 lanes. Product k, of 16 words, has its in register k / 2,
 * selector k % 2; half a product in the last register, selector 0. */
int sparse_registers(const sparse_window *w);
void sparse_metadata(const sparse_window *w, uint32_t *to);
#endif
