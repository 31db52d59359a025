/* Four-step FFT: the tables that the passes read; see sheet.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "strategies/common/roots.h"
#include "strategies/spectral/arguments.h"
#include "strategies/spectral/sheet.h"

static const long double pi = 3.14159265358979323846264338327950288L;

static size_t placed(size_t *at, size_t bytes) {
    size_t here = *at;
    *at += (size_t)stn_round_up((int64_t)bytes, 256);
    return here;
}

/* cos and sin of pi k / n, for k from -n / 2 to n / 2. */
static void put_half(double *to, int64_t k, int64_t n) {
    const long double angle = pi * (long double)(2 * k > n ? k - n : k) / (long double)n;
    to[0] = (double)cosl(angle), to[1] = (double)sinl(angle);
}

/* ---- images of the points next to sides ------------------------------------------------------ */

typedef struct images {
    int32_t *first; /* The first image of each window, and the total number at the end. */
    spectral_sheet_image *list;
    double *row; /* A complex number for each image and row. */
} images;

/* The side to which point p of window w belongs as an image, or -1, and its sign. */
static int side_of(const spectral_sheet *s, int64_t window, int64_t p, int *sign) {
    const int64_t at = stn_extension_image(&s->axis, window * s->choice.useful - s->choice.before + p, sign);
    for (int side = 0; side < 2 && *sign; side++)
        if (at == stn_extension_beside(&s->axis, side)) return side;
    return -1;
}

/* The first image, at point `from` of the extended axis or later, of a point next to a side. The
 * images of a point alternate between copies and mirror images, and repeat, with any sign, from one
 * mirror at the low side to the next. */
static int64_t next_image(const spectral_sheet *s, int64_t from) {
    const stn_extension *e = &s->axis;
    const int64_t apart = stn_extension_period(e) / (e->sign[0] == e->sign[1] ? 1 : 2);
    int64_t best = INT64_MAX;
    for (int side = 0; side < 2; side++) {
        const int64_t beside = stn_extension_beside(e, side);
        for (int mirrored = 0; mirrored < 2 && beside >= 0; mirrored++) {
            const int64_t rest = ((mirrored ? -e->beyond[0] - beside : beside) - from) % apart;
            best = stn_min(best, from + (rest < 0 ? rest + apart : rest));
        }
    }
    return best;
}

/* Counts the images of all windows; if `to` is not NULL, fills its lists. */
static int64_t find_images(const spectral_sheet *s, images *to) {
    int64_t count = 0;
    for (int64_t w = 0; w < s->windows; w++) {
        const int64_t begin = w * s->choice.useful - s->choice.before;
        if (to) to->first[w] = (int32_t)count;
        for (int64_t i = next_image(s, begin); i < begin + s->length; i = next_image(s, i + 1)) {
            int sign;
            const int side = side_of(s, w, i - begin, &sign);
            if (side < 0) continue;
            if (to) {
                to->list[count] = (spectral_sheet_image){(int32_t)((i - begin) % s->choice.width), side};
                /* Doubled, as are the results of the first pass. */
                for (int64_t k = 0; k <= s->choice.rows / 2; k++) {
                    const long double turns = (long double)(k * (i - begin) % s->length) / (long double)s->length;
                    double *put = to->row + 2 * (count * (s->choice.rows / 2 + 1) + k);
                    put[0] = 2 * sign * (double)cosl(2 * pi * turns), put[1] = -2 * sign * (double)sinl(2 * pi * turns);
                }
            }
            count++;
        }
    }
    if (to) to->first[s->windows] = (int32_t)count;
    return count;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void place_tables(const stn_task *task, spectral_sheet_state *state) {
    const spectral_sheet *s = &state->shape;
    const bool wide = spectral_wide(task);
    const size_t cell = wide ? 16 : 8, rows = (size_t)s->choice.rows / 2 + 1;
    const size_t images = state->has_source ? (size_t)find_images(s, NULL) : 0;
    state->size = 0;
    state->down = placed(&state->size, stn_ladder_roots(&s->down, wide, NULL) + 16);
    state->along = placed(&state->size, stn_ladder_roots(&s->along, wide, NULL) + 16);
    state->fine = placed(&state->size, ((size_t)1 << s->fine) * cell);
    state->coarse = placed(&state->size, (size_t)((s->length >> s->fine) + 1) * cell);
    state->turns = placed(&state->size, rows * 16);
    state->angles = placed(&state->size, (size_t)s->choice.width * 16);
    state->parts = placed(&state->size, (size_t)s->symbol.parts * sizeof(double));
    state->image = placed(&state->size, (images + 1) * sizeof(spectral_sheet_image));
    state->image_row = placed(&state->size, (images + 1) * rows * 16);
    state->images = placed(&state->size, (size_t)(s->windows + 1) * sizeof(int32_t));
    state->taps = placed(&state->size, task->ntaps * sizeof(spectral_source_tap));
}

static bool fill(const stn_task *task, const spectral_sheet_state *state, unsigned char *to) {
    const spectral_sheet *s = &state->shape;
    const bool wide = spectral_wide(task);
    const int64_t zero[1] = {0}, *const place[2] = {zero, zero};
    stn_ladder_roots(&s->down, wide, to + state->down);
    stn_ladder_roots(&s->along, wide, to + state->along);
    for (int64_t m = 0; m < (int64_t)1 << s->fine; m++) stn_put_root(to + state->fine, (size_t)m, wide, m, s->length);
    for (int64_t m = 0; m <= s->length >> s->fine; m++)
        stn_put_root(to + state->coarse, (size_t)m, wide, m << s->fine, s->length);
    for (int64_t k = 0; k <= s->choice.rows / 2; k++)
        put_half((double *)(void *)(to + state->turns) + 2 * k, k, s->length);
    for (int64_t k = 0; k < s->choice.width; k++)
        put_half((double *)(void *)(to + state->angles) + 2 * k, k, s->choice.width);
    if (state->has_source) {
        images into = {(int32_t *)(void *)(to + state->images), (spectral_sheet_image *)(void *)(to + state->image),
                       (double *)(void *)(to + state->image_row)};
        find_images(s, &into);
    }
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset;
        const spectral_source_tap put = {task->taps[i].weight, (int32_t)o[0], (int32_t)o[1], (int32_t)o[2], 0};
        memcpy(to + state->taps + i * sizeof put, &put, sizeof put);
    }
    return stn_symbol_parts(&s->symbol, task, 1, place, (double *)(void *)(to + state->parts));
}

stn_status spectral_sheet_tables(stn_plan *plan, spectral_sheet_state *state, stn_error *error) {
    stn_device *device = plan->context->device;
    const size_t before = state->size;
    state->largest = stn_symbol_largest(&plan->task, state->shape.symbol.length);
    state->dead = spectral_dead_of(&plan->task, state->largest, state->has_source);
    place_tables(&plan->task, state);
    const size_t size = state->size;
    state->size = before; /* The size of the tables on the device, until they are replaced. */
    if (!plan->machine.present) return STN_OK;
    unsigned char *tables = calloc(1, size);
    if (!tables) return stn_fail_memory(error, "the tables of a plan", size);
    stn_status status = STN_OK;
    if (!fill(&plan->task, state, tables)) status = stn_fail_memory(error, "the roots of a symbol", size);
    if (status == STN_OK && state->tables) /* Pending executions read the old ones. */
        status = stn_device_synchronize_all(device, error);
    if (status == STN_OK && state->tables && size > before) {
        stn_device_free(device, state->tables);
        state->tables = NULL;
    }
    if (status == STN_OK && !state->tables) status = stn_device_alloc(device, size, &state->tables, error);
    if (status == STN_OK) status = stn_device_upload(device, state->tables, tables, size, error);
    if (status == STN_OK) state->size = size;
    free(tables);
    return status;
}
