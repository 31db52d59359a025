/* See number.h. */
#include "strategies/modes/number.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

#define TERMS 14 /* of the Taylor series of sine and cosine for angles up to pi/4 */

modes_wide modes_reciprocal(double x) {
    const double first = 1 / x;
    return modes_renormalise(first, fma(-first, x, 1) / x);
}

static const modes_wide two_pi = {0x1.921fb5p+2, 0x1.110b4611a6263p-24};

/* cos and sin of an angle of at most pi/4. */
static modes_pair cos_sin(modes_wide angle) {
    const modes_wide square = modes_negate(modes_times(angle, angle));
    modes_wide even = modes_wide_of(1), odd = angle;
    modes_pair sum = {even, odd};
    for (int i = 1; i < TERMS; i++) {
        even = modes_times(modes_times(even, square), modes_reciprocal((double)((2 * i - 1) * (2 * i))));
        odd = modes_times(modes_times(odd, square), modes_reciprocal((double)((2 * i) * (2 * i + 1))));
        sum.re = modes_add(sum.re, even);
        sum.im = modes_add(sum.im, odd);
    }
    return sum;
}

/* Uses the angle to the nearest multiple of pi/2. It is 2 pi / 4n times an integer, which is
 * computed without error. */
static modes_pair root(int64_t k, int64_t n) {
    const int64_t quarters = (8 * k + n) / (2 * n);
    const modes_wide part = modes_times(modes_wide_of((double)(4 * k - quarters * n)), modes_reciprocal(4 * (double)n));
    const modes_pair at = cos_sin(modes_times(two_pi, part));
    switch (quarters % 4) {
        case 0:
            return at;
        case 1:
            return (modes_pair){modes_negate(at.im), at.re};
        case 2:
            return modes_pair_negate(at);
        default:
            return (modes_pair){at.im, modes_negate(at.re)};
    }
}

stn_status modes_roots_make(int64_t n, modes_roots *roots, stn_error *error) {
    *roots = (modes_roots){.n = n};
    while ((INT64_C(1) << (2 * roots->low)) < n) roots->low++;
    const int64_t fine = INT64_C(1) << roots->low, coarse = ((n - 1) >> roots->low) + 1;
    const size_t bytes = (size_t)(fine + coarse) * sizeof *roots->coarse;
    roots->coarse = malloc(bytes);
    if (!roots->coarse) return stn_fail_memory(error, "a table of roots", bytes);
    roots->fine = roots->coarse + coarse;
    for (int64_t i = 0; i < coarse; i++) roots->coarse[i] = root(i << roots->low, n);
    for (int64_t i = 0; i < fine; i++) roots->fine[i] = root(i < n ? i : 0, n);
    return STN_OK;
}

void modes_roots_clear(modes_roots *roots) {
    free(roots->coarse);
    *roots = (modes_roots){0};
}

modes_pair modes_root(const modes_roots *roots, int64_t k) {
    return modes_pair_times(roots->coarse[k >> roots->low], roots->fine[k & ((INT64_C(1) << roots->low) - 1)]);
}

void modes_powers(modes_pair z, int most, modes_pair *to) {
    to[0] = (modes_pair){modes_wide_of(1), modes_wide_of(0)};
    for (int o = 1; o <= most; o++) to[o] = modes_pair_times(to[o - 1], z);
}
