/* Random values that are mostly invalid, and structs with some of them. */
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
const char *bad_name(dice *d); /* the name of a strategy, or no such name */

/* The members of a struct that may be spoilt, by type. */
typedef struct slots {
    size_t *size[8], *struct_size, right; /* right: the valid struct_size */
    ptrdiff_t *stride[10];
    int *integer[14]; /* enums too */
    double *real[8];
    uint64_t *count[2];
} slots;

void spoil(dice *d, const slots *s); /* Overwrites one member with a bad value. */
#endif
