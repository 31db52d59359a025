/* Numbers that nobody means, by chance, and structs that have some of them. */
#ifndef STN_TESTS_PLAN_BAD_H
#define STN_TESTS_PLAN_BAD_H
#include "../strategies/compare.h"

bool chance(dice *d, int percent);
size_t bad_size(dice *d);
ptrdiff_t bad_stride(dice *d);
double bad_real(dice *d);
int bad_int(dice *d);
uint64_t bad_count(dice *d);
size_t bad_struct_size(dice *d, size_t right);
const char *bad_name(dice *d); /* of a strategy, or of none */

/* Where a struct may be spoilt, by what lies there. */
typedef struct slots {
    size_t *size[8], *struct_size, right; /* right: what struct_size is */
    ptrdiff_t *stride[10];
    int *integer[14]; /* enums too */
    double *real[8];
    uint64_t *count[2];
} slots;

void spoil(dice *d, const slots *s); /* one place */
#endif
