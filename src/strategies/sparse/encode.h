/* Rows of taps as left factors of 2:4 sparse products (SPTCStencil): the window column of each
 * element of a product, the elements of a group that are kept, and the contents of a lane's
 * registers.
 *
 * A row of taps w maps a window of points to 16 neighbouring outputs: K(i, c) = w[c - i - first], a
 * banded matrix. A word is 32 bits of the window: one point of f32 or two of f16. The strided swap
 * puts word v and the word half a window later into one group; a row of K is no longer than half
 * the window, so it has nonzeros in at most half of a group:
 *
 *     words    0  1  2  3  4  5  6  7 | 8  9  10 11 12 13 14 15        halves 2: 16 words
 *     groups   0  1  2  3  4  5  6  7 | 0  1  2  3  4  5  6  7
 *
 * Groups are assigned to products and lanes so that each lane's points are adjacent in memory:
 * swapping the points only changes the address where a lane reads. The kept elements follow from
 * the window alone, so weights of 0 are kept like others. */
#ifndef STN_STRATEGIES_SPARSE_ENCODE_H
#define STN_STRATEGIES_SPARSE_ENCODE_H
#include <stdbool.h>
#include <stdint.h>

#include "stentor.h"

#define SPARSE_OUTPUTS 16 /* outputs of a product: rows of K */
#define SPARSE_MAX_HALVES 48
#define SPARSE_MAX_PRODUCTS (SPARSE_MAX_HALVES / 2)
/* Words of a product's left factor: 4 for each of 32 lanes. In half a product, the last two words
 * of each lane are not used. */
#define SPARSE_FRAGMENT 128

typedef struct sparse_window {
    stn_dtype dtype;  /* f32 (as tf32) or f16 */
    int halves;       /* length of the window in units of 8 words (half a product's) */
    int first;        /* the column of output 0's lowest tap */
    int span;         /* a row has span + 1 taps */
    bool paired;      /* rows of K are ordered so that a lane ends with four adjacent outputs */
    bool interleaved; /* f16: words hold columns 0 2, 1 3, 4 6, 5 7, .. instead of 0 1, 2 3, .. */
} sparse_window;

int sparse_columns(const sparse_window *w); /* columns of the window */
/* Whether the window contains all taps of all outputs, and K is 2:4 sparse after the swap. */
bool sparse_legal(const sparse_window *w);
/* Products of a row of taps, 16 words each; the last has 8 where halves is odd. */
int sparse_products(const sparse_window *w);
int sparse_groups(const sparse_window *w, int product); /* groups of a product's row: 8 or 4 */
/* Elements of a group: 4 in f16, 2 in f32. */
int sparse_group_elements(const sparse_window *w);
int sparse_kept(const sparse_window *w); /* kept elements of a group: 2 or 1 */

/* The window column of an element of a group of a product. */
int sparse_column(const sparse_window *w, int product, int group, int element);
/* The output of row i of the left factor. */
int sparse_output(const sparse_window *w, int i);

/* Encodes one row of taps, weight[0 .. span], rounded to the type: SPARSE_FRAGMENT words for each
 * product. */
void sparse_encode(const sparse_window *w, const float *weight, uint32_t *to);
/* Metadata of the sparse products, as registers of 32 lanes. A product k of 16 words takes register
 * k / 2, with sparsity selector k % 2; half a product takes the last register, with selector 0. */
int sparse_registers(const sparse_window *w);
void sparse_metadata(const sparse_window *w, uint32_t *to);
#endif
