/* Random invalid values; see bad.h. */
#include "bad.h"

#include <math.h>
#include <string.h>

bool chance(dice *d, int percent) { return dice_int(d, 1, 100) <= percent; }

size_t bad_size(dice *d) {
    static const size_t list[] = {0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  SIZE_MAX,
                                  SIZE_MAX / 2,
                                  SIZE_MAX / 2 + 1,
                                  SIZE_MAX / 8,
                                  (size_t)1 << 32,
                                  (size_t)1 << 31,
                                  ((size_t)1 << 31) - 1,
                                  (size_t)1 << 62,
                                  (size_t)1 << 40,
                                  65,
                                  129};
    return list[dice_int(d, 0, (int)(sizeof list / sizeof *list) - 1)];
}

ptrdiff_t bad_stride(dice *d) {
    static const ptrdiff_t list[] = {
        0, -1, 1, 2, 3, PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX / 2, -PTRDIFF_MAX, (ptrdiff_t)1 << 40, 17, 100, 5000};
    return list[dice_int(d, 0, (int)(sizeof list / sizeof *list) - 1)];
}

double bad_real(dice *d) {
    static const double list[] = {NAN,    INFINITY, -INFINITY, 0,  -0.0, 1e308, -1e308,
                                  1e-320, 1e39,     1e5,       -1, 0.5,  65504, 65520};
    return list[dice_int(d, 0, (int)(sizeof list / sizeof *list) - 1)];
}

int bad_int(dice *d) {
    static const int list[] = {0, 1, 2, 3, 4, 5, 6, 7, -1, INT32_MAX, INT32_MIN, 16, 24, 1 << 30, 64, 128, 256, 1000};
    return list[dice_int(d, 0, (int)(sizeof list / sizeof *list) - 1)];
}

uint64_t bad_count(dice *d) {
    static const uint64_t list[] = {0,
                                    1,
                                    2,
                                    3,
                                    5,
                                    8,
                                    1000,
                                    UINT64_MAX,
                                    UINT64_MAX / 2,
                                    UINT64_MAX / 2 + 1,
                                    UINT64_C(1) << 63,
                                    UINT64_C(1) << 32,
                                    999999937};
    return list[dice_int(d, 0, (int)(sizeof list / sizeof *list) - 1)];
}

size_t bad_struct_size(dice *d, size_t right) {
    const size_t list[] = {0, 1, 7, 8, 9, right - 1, right - 8, right + 1, right + 8, SIZE_MAX, right / 2};
    return list[dice_int(d, 0, 10)];
}

/* Names of strategies, and other texts. */
const char *bad_name(dice *d) {
    static char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    const char *const list[] = {NULL,      "auto",   "host",    "direct",    "segment",       "spectral",
                                "sourced", "sparse", "lowrank", "aperiodic", "host-spectral", "cufft-spectral",
                                "fft",     "block",  "cufft",   "fno",       "cublas",        "padded",
                                "",        "%s%n%s", longest};
    return list[dice_int(d, 0, 20)];
}

void spoil(dice *d, const slots *s) {
    int sizes = 0, strides = 0, integers = 0, reals = 0, counts = 0;
    while (sizes < 8 && s->size[sizes]) sizes++;
    while (strides < 10 && s->stride[strides]) strides++;
    while (integers < 14 && s->integer[integers]) integers++;
    while (reals < 8 && s->real[reals]) reals++;
    while (counts < 2 && s->count[counts]) counts++;
    int place = dice_int(d, 0, sizes + strides + integers + reals + counts);
    if (place < sizes)
        *s->size[place] = bad_size(d);
    else if ((place -= sizes) < strides)
        *s->stride[place] = bad_stride(d);
    else if ((place -= strides) < integers)
        *s->integer[place] = bad_int(d);
    else if ((place -= integers) < reals)
        *s->real[place] = bad_real(d);
    else if ((place -= reals) < counts)
        *s->count[place] = bad_count(d);
    else
        *s->struct_size = bad_struct_size(d, s->right);
}
