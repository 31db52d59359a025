/* Encodes rows of taps as 2:4 sparse left factors and their metadata. */
#include "strategies/sparse/encode.h"

#include <string.h>

#include "base/half.h"

static int points_of_word(const sparse_window *w) { return w->dtype == STN_F16 ? 2 : 1; }
static bool is_half(const sparse_window *w, int product) { return 2 * product + 1 == w->halves; }

int sparse_columns(const sparse_window *w) { return 8 * w->halves * points_of_word(w); }
int sparse_products(const sparse_window *w) { return (w->halves + 1) / 2; }
int sparse_groups(const sparse_window *w, int product) { return is_half(w, product) ? 4 : 8; }
int sparse_group_elements(const sparse_window *w) { return 2 * points_of_word(w); }
int sparse_kept(const sparse_window *w) { return points_of_word(w); }

/* The two words of a group are half a window apart. A row of taps is no longer than half the
 * window, so it has nonzeros in at most two of the group's four elements (f32: in one of two). */
bool sparse_legal(const sparse_window *w) {
    return w->halves > 0 && w->halves <= SPARSE_MAX_HALVES && w->first >= 0 && w->span >= 0 &&
           w->first + w->span + SPARSE_OUTPUTS <= sparse_columns(w) && w->span < sparse_columns(w) / 2;
}

/* Group 2r + u of a product: lanes t = 2u and t = 2u + 1 hold its two words, each in register r,
 * which is r words after the lane's first word. */
int sparse_column(const sparse_window *w, int product, int group, int element) {
    int points = points_of_word(w), registers = sparse_groups(w, product) / 2;
    int word = 8 * product + registers * (group % 2) + group / 2;
    if (element >= points) word += 4 * w->halves;
    if (w->interleaved && points == 2) return word / 2 * 4 + word % 2 + element % 2 * 2;
    return word * points + element % points;
}

int sparse_output(const sparse_window *w, int i) {
    if (!w->paired) return i;
    return 4 * (i % 8 / 2) + i % 2 + 2 * (i / 8);
}

static int tap_of(const sparse_window *w, int product, int group, int element, int i) {
    int tap = sparse_column(w, product, group, element) - sparse_output(w, i) - w->first;
    return tap >= 0 && tap <= w->span ? tap : -1;
}

/* The elements of a group that row i keeps, in ascending order: all that have taps, and others if
 * these are fewer. */
static void keep_elements(const sparse_window *w, int product, int group, int i, int kept[2]) {
    bool keep[4] = {false};
    int places = sparse_group_elements(w), count = 0, at = 0;
    for (int element = 0; element < places; element++) {
        keep[element] = tap_of(w, product, group, element, i) >= 0;
        count += keep[element];
    }
    for (int element = 0; element < places && count < sparse_kept(w); element++) {
        count += !keep[element];
        keep[element] = true;
    }
    for (int element = 0; element < places; element++)
        if (keep[element] && at < 2) kept[at++] = element;
}

/* The elements of a group that row i keeps, as a register word. */
static uint32_t word_of(const sparse_window *w, const float *weight, int product, int group, int i) {
    int kept[2] = {0};
    uint32_t word = 0;
    keep_elements(w, product, group, i, kept);
    for (int k = 0; k < sparse_kept(w); k++) {
        int tap = tap_of(w, product, group, kept[k], i);
        float value = tap >= 0 ? weight[tap] : 0;
        if (w->dtype == STN_F16)
            word |= (uint32_t)stn_float_to_half(value) << (16 * k);
        else
            memcpy(&word, &value, sizeof word);
    }
    return word;
}

/* Lane 4g + t holds rows g and g + 8 of groups t and t + 4. */
void sparse_encode(const sparse_window *w, const float *weight, uint32_t *to) {
    memset(to, 0, (size_t)(sparse_products(w) * SPARSE_FRAGMENT) * sizeof *to);
    for (int product = 0; product < sparse_products(w); product++)
        for (int group = 0; group < sparse_groups(w, product); group++)
            for (int i = 0; i < SPARSE_OUTPUTS; i++)
                to[product * SPARSE_FRAGMENT + 4 * (4 * (i % 8) + group % 4) + 2 * (group / 4) + i / 8] =
                    word_of(w, weight, product, group, i);
}

int sparse_registers(const sparse_window *w) { return (w->halves / 2 + 1) / 2 + w->halves % 2; }

static uint32_t metadata_of(const sparse_window *w, int product, int group, int i) {
    int kept[2] = {0};
    keep_elements(w, product, group, i, kept);
    if (w->dtype == STN_F16) return (uint32_t)(kept[0] | kept[1] << 2);
    return kept[0] ? 0xe : 0x4;
}

void sparse_metadata(const sparse_window *w, uint32_t *to) {
    int registers = sparse_registers(w);
    memset(to, 0, (size_t)registers * 32 * sizeof *to);
    for (int product = 0; product < sparse_products(w); product++)
        for (int group = 0; group < sparse_groups(w, product); group++)
            for (int i = 0; i < SPARSE_OUTPUTS; i++) {
                int in = is_half(w, product) ? registers - 1 : product / 2;
                int lane = 4 * (i % 8) + (is_half(w, product) ? 0 : 2 * (product % 2) + group / 4);
                to[32 * in + lane] |= metadata_of(w, product, group, i) << (16 * (i / 8) + 4 * (group % 4));
            }
}
