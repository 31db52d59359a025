/* Rows of taps as left factors of sparse products: decoded by the layouts of the PTX ISA, with only
 * the column mapping of encode.c, they give the banded matrix again. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/half.h"
#include "strategies/sparse/encode.h"

static uint64_t state = 12345;
static int between(int low, int high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (int)(state >> 33) % (high - low + 1);
}

/* The narrowest legal window for taps from -low to high, and wider ones. */
static bool make_window(stn_dtype dtype, int low, int high, int wider, sparse_window *w) {
    int slot = dtype == STN_F16 ? 8 : 4, lead = (low + slot - 1) / slot * slot;
    *w = (sparse_window){
        .dtype = dtype, .first = lead - low, .span = low + high, .paired = between(0, 1), .interleaved = between(0, 1)};
    for (w->halves = 1; w->halves <= SPARSE_MAX_HALVES; w->halves++)
        if (sparse_legal(w) && wider-- == 0) return true;
    return false;
}

/* Weights representable in the type; some are 0. */
static void draw_weights(const sparse_window *w, float *weight) {
    for (int j = 0; j <= w->span; j++) {
        float value = (float)between(-2000, 2000) / 1024;
        weight[j] = between(0, 4) ? value : 0;
    }
}

/* The four metadata bits of group `group` of row i, from the lane and register half that the ISA
 * specifies. */
static unsigned bits_of(const sparse_window *w, const uint32_t *meta, int product, int group, int i) {
    bool half = 2 * product + 1 == w->halves;
    int selector = half ? 0 : product % 2, at = half ? sparse_registers(w) - 1 : product / 2;
    int lane = half ? 4 * (i % 8) + selector : 4 * (i % 8) + 2 * selector + group / 4;
    return meta[32 * at + lane] >> (16 * (i / 8) + 4 * (group % 4)) & 15;
}

/* Element k of those that row i keeps of a group. */
static float value_of(const sparse_window *w, const uint32_t *fragments, int product, int group, int i, int k) {
    uint32_t word = fragments[product * SPARSE_FRAGMENT + 4 * (4 * (i % 8) + group % 4) + i / 8 + 2 * (group / 4)];
    if (w->dtype == STN_F16) return stn_half_to_float((uint16_t)(word >> (16 * k)));
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

#define MAX_COLUMNS (16 * SPARSE_MAX_HALVES)

static void decode(const sparse_window *w, const float *weight, float (*band)[MAX_COLUMNS]) {
    static uint32_t fragments[SPARSE_MAX_PRODUCTS * SPARSE_FRAGMENT], meta[SPARSE_MAX_PRODUCTS * 32];
    sparse_encode(w, weight, fragments);
    sparse_metadata(w, meta);
    memset(band, 0, sizeof(float[SPARSE_OUTPUTS][MAX_COLUMNS]));
    for (int product = 0; product < sparse_products(w); product++)
        for (int group = 0; group < sparse_groups(w, product); group++)
            for (int i = 0; i < SPARSE_OUTPUTS; i++) {
                unsigned bits = bits_of(w, meta, product, group, i);
                int element[2] = {(int)(bits & 3), (int)(bits >> 2)};
                if (w->dtype == STN_F16)
                    cr_assert_lt(element[0], element[1], "metadata %x is no ordered pair", bits);
                else
                    cr_assert(bits == 0x4 || bits == 0xe, "metadata %x says none of two", bits);
                if (w->dtype == STN_F32) element[0] = bits == 0xe;
                for (int k = 0; k < sparse_kept(w) && k < 2; k++)
                    band[sparse_output(w, i)][sparse_column(w, product, group, element[k])] +=
                        value_of(w, fragments, product, group, i, k);
            }
}

/* Lanes 2u and 2u + 1 of each four hold group 2 r + u in register r: consecutive words of either
 * half of the window. */
static void check_lanes(const sparse_window *w) {
    int points = w->dtype == STN_F16 ? 2 : 1;
    bool seen[MAX_COLUMNS] = {false};
    for (int product = 0; product < sparse_products(w); product++) {
        int registers = sparse_groups(w, product) / 2;
        for (int t = 0; t < 4; t++)
            for (int r = 0; r < registers; r++)
                for (int e = 0; e < points; e++) {
                    int begin = 8 * product + registers * (t / 2) + t % 2 * 4 * w->halves;
                    int column = sparse_column(w, product, 2 * r + t / 2, t % 2 * points + e);
                    if (w->interleaved && points == 2)
                        cr_assert_eq(column, (begin + r) / 2 * 4 + r % 2 + 2 * e);
                    else
                        cr_assert_eq(column, (begin + r) * points + e);
                    cr_assert(!seen[column], "column %d is multiplied twice", column);
                    seen[column] = true;
                }
    }
    for (int c = 0; c < sparse_columns(w); c++) cr_assert(seen[c], "column %d is multiplied by none", c);
}

Test(sparse_encode, decodes_to_the_taps) {
    int served = 0;
    for (int variant = 0; variant < 4000; variant++) {
        sparse_window w;
        stn_dtype dtype = variant % 2 ? STN_F32 : STN_F16;
        int most = variant % 3 ? 7 : 60;
        if (!make_window(dtype, between(0, most), between(0, most), between(0, 2) / 2, &w)) continue;
        static float weight[MAX_COLUMNS], band[SPARSE_OUTPUTS][MAX_COLUMNS];
        draw_weights(&w, weight);
        check_lanes(&w);
        decode(&w, weight, band);
        for (int i = 0; i < SPARSE_OUTPUTS; i++)
            for (int c = 0; c < sparse_columns(&w); c++) {
                int tap = c - i - w.first;
                float expected = tap >= 0 && tap <= w.span ? weight[tap] : 0;
                cr_assert_eq(band[i][c], expected, "output %d, column %d of taps %d at %d, %d halves", i, c, w.span + 1,
                             w.first, w.halves);
            }
        served++;
    }
    cr_expect_gt(served, 2000);
}

/* Zero weights inside the pattern, up to all of them: the metadata, which decode() reads, still
 * name two elements, and their values are 0. */
Test(sparse_encode, zeros_stay_legal) {
    for (int variant = 0; variant < 400; variant++) {
        sparse_window w;
        if (!make_window(variant % 2 ? STN_F32 : STN_F16, between(0, 9), between(0, 9), 0, &w)) continue;
        static float weight[MAX_COLUMNS], band[SPARSE_OUTPUTS][MAX_COLUMNS];
        const int kept = variant % 4 ? between(0, w.span) : -1; /* the only nonzero tap */
        for (int j = 0; j <= w.span; j++) weight[j] = j == kept ? 0.75f : 0;
        decode(&w, weight, band);
        for (int i = 0; i < SPARSE_OUTPUTS; i++)
            for (int c = 0; c < sparse_columns(&w); c++)
                cr_assert_eq(band[i][c], kept >= 0 && c == i + w.first + kept ? 0.75f : 0);
    }
}

/* The narrowest windows: radius 7 of f16 in one product, as L = 16 = 2 r + 2 requires, and one tap
 * more; half of all columns. */
Test(sparse_encode, windows_are_narrow) {
    static const struct {
        stn_dtype dtype;
        int low, high, halves;
    } cases[] = {{STN_F16, 7, 7, 2}, {STN_F16, 8, 7, 2}, {STN_F16, 8, 8, 3}, {STN_F16, 1, 1, 2},  {STN_F16, 15, 15, 4},
                 {STN_F32, 1, 1, 3}, {STN_F32, 4, 4, 3}, {STN_F32, 7, 7, 4}, {STN_F32, 11, 11, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sparse_window w;
        cr_assert(make_window(cases[i].dtype, cases[i].low, cases[i].high, 0, &w));
        cr_expect_eq(w.halves, cases[i].halves, "case %zu: %d halves", i, w.halves);
    }
}

/* Legal rows keep all their taps; with one more tap, some row would lose one. */
Test(sparse_encode, longer_rows_are_not_legal) {
    for (int halves = 2; halves <= 8; halves++)
        for (int half = 0; half < 2; half++) {
            sparse_window w = {.dtype = half ? STN_F16 : STN_F32, .halves = halves};
            while (w.first + w.span + SPARSE_OUTPUTS <= sparse_columns(&w) && !sparse_legal(&w)) w.first++;
            if (!sparse_legal(&w)) continue;
            while (sparse_legal(&w)) w.span++;
            if (w.first + w.span + SPARSE_OUTPUTS > sparse_columns(&w)) continue;
            bool lost = false;
            for (int product = 0; product < sparse_products(&w); product++)
                for (int group = 0; group < sparse_groups(&w, product); group++)
                    for (int i = 0; i < SPARSE_OUTPUTS; i++) {
                        int taps = 0;
                        for (int element = 0; element < sparse_group_elements(&w); element++) {
                            int tap = sparse_column(&w, product, group, element) - sparse_output(&w, i) - w.first;
                            taps += tap >= 0 && tap <= w.span;
                        }
                        lost = lost || taps > sparse_kept(&w);
                    }
            cr_expect(lost, "halves %d: %d taps would fit", halves, w.span + 1);
        }
}
