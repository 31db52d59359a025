/* Numbers of 79 bits, one at a time, and roots of unity of that precision. */
#ifndef STN_STRATEGIES_MODES_NUMBER_H
#define STN_STRATEGIES_MODES_NUMBER_H
#include <stdint.h>
#include <string.h>

#include "stentor.h"

#define MODES_TOP_BITS (-(INT64_C(1) << 27)) /* of a double's 52 stored bits the first 25 */

static inline double modes_top(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= MODES_TOP_BITS;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

#define REAL double
#define TOP(x) modes_top(x)
#define NAME(name) modes_##name
#define TARGET
#include "strategies/modes/wide.h"
#undef REAL
#undef TOP
#undef NAME
#undef TARGET

static inline modes_wide modes_wide_of(double x) { return modes_renormalise(x, 0); }
modes_wide modes_reciprocal(double x);

/* exp(2 pi i k / n), 0 <= k < n, as the product of two roots from tables of about sqrt(n) each. */
typedef struct modes_roots {
    int64_t n;
    int low;            /* how many low bits of k are the index into `fine` */
    modes_pair *coarse; /* owned; fine follows */
    modes_pair *fine;
} modes_roots;

stn_status modes_roots_make(int64_t n, modes_roots *roots, stn_error *error);
void modes_roots_clear(modes_roots *roots);
modes_pair modes_root(const modes_roots *roots, int64_t k);

/* The powers 0 to `most` of z. */
void modes_powers(modes_pair z, int most, modes_pair *to);
/* Power o of z from the list of powers; negative powers are conjugates. */
static inline modes_pair modes_power_of(const modes_pair *powers, int o) {
    modes_pair p = powers[o < 0 ? -o : o];
    if (o < 0) p.im = modes_negate(p.im);
    return p;
}
#endif
