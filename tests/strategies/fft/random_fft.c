/* Random transforms: ranks, sizes from 1 to 2^18 points (also primes), kinds, types, batches, in
 * place. A failing transform is reduced while it still fails, then printed as an equivalent
 * command. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare_fft.h"
#include "problem/transform.h"

enum { MAX_BATCH = 8 };

static bool is_prime(size_t n) {
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0) return false;
    return n > 1;
}

static bool is_smooth(size_t n) {
    for (size_t p = 2; p <= 7; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

/* A log-uniform extent up to `most`: any, a prime, a power of two, or a product of small primes. */
static size_t extent_up_to(dice *d, size_t most) {
    size_t n = (size_t)exp(log((double)most) * 0.5 * (1 + dice_real(d)));
    int sort = dice_int(d, 0, 19);
    n = n < 1 ? 1 : n > most ? most : n;
    if (sort < 6)
        while (n > 2 && !is_prime(n)) n--;
    else if (sort < 10)
        while (n & (n - 1)) n &= n - 1;
    else if (sort < 12)
        while (!is_smooth(n)) n--;
    return n;
}

static stn_transform random_transform(dice *d, size_t most) {
    stn_transform t = STN_TRANSFORM_INIT;
    size_t left = most;
    t.rank = dice_int(d, 1, 3);
    t.dtype = (stn_dtype)dice_int(d, 0, 2);
    t.kind = (stn_transform_kind)dice_int(d, 0, 2);
    t.direction = t.kind == STN_C2R || (t.kind == STN_C2C && dice_int(d, 0, 1)) ? STN_INVERSE : STN_FORWARD;
    t.in_place = dice_int(d, 0, 2) == 0;
    int first = dice_int(d, 0, t.rank - 1); /* any axis may be the long one */
    for (int i = 0; i < t.rank; i++) {
        size_t *extent = &t.extent[(first + i) % t.rank];
        *extent = extent_up_to(d, left);
        left /= *extent;
    }
    size_t batch = left < MAX_BATCH ? left : MAX_BATCH;
    t.batch = dice_int(d, 0, 1) && batch ? (size_t)dice_int(d, 1, (int)batch) : 1;
    return t;
}

/* Random padding of rows, planes and batches, independent on each side; sometimes strided
 * elements. */
static void random_strides(dice *d, stn_transform *t) {
    for (int side = 0; side < 2; side++) {
        const bool half = t->kind == (side ? STN_R2C : STN_C2R);
        ptrdiff_t *stride = side ? t->out_stride : t->in_stride, next = dice_int(d, 0, 3) ? 1 : dice_int(d, 1, 3);
        for (int a = t->rank - 1; a >= 0; a--) {
            const ptrdiff_t n = (ptrdiff_t)t->extent[a];
            stride[a] = next;
            next *= (half && a == t->rank - 1 ? n / 2 + 1 : n) + dice_int(d, 0, 2);
        }
        *(side ? &t->out_batch_stride : &t->in_batch_stride) = next;
    }
    if (t->in_place) {
        memcpy(t->out_stride, t->in_stride, sizeof t->out_stride);
        t->out_batch_stride = t->in_batch_stride;
    }
}

/* Uses its own random numbers, so that the transforms of a seed do not change. */
static void random_layout(uint64_t seed, stn_transform *t) {
    dice d = {~seed};
    dice_next(&d);
    if (dice_int(&d, 0, 2) == 0 && (!t->in_place || t->kind == STN_C2C)) random_strides(&d, t);
    if (dice_int(&d, 0, 3) == 0) t->forward_scale = dice_real(&d), t->inverse_scale = -dice_real(&d);
    if (dice_int(&d, 0, 3) == 0) t->alignment = (int)stn_dtype_size(t->dtype) * 2;
}

/* Tests a candidate of the planner, or its choice if there is no candidate of that index. */
static bool fails(suite *s, const stn_transform *t, const char *strategy, uint64_t seed, fft_comparison *c) {
    const int pick = (int)(seed % 7) - 2;
    if (pick >= 0 && compare_fft(s, t, strategy, pick, seed, c)) return false;
    if (pick >= 0 && c->served) return true;
    return !compare_fft(s, t, strategy, -1, seed, c);
}

/* The `way`-th simplification of a transform; false past the last one. */
static bool simpler(const stn_transform *t, int way, stn_transform *made) {
    *made = *t;
    if (way == 0) made->batch = 1;
    if (way == 1) made->in_place = 0;
    if (way == 2 && t->rank > 1) { /* without its first axis */
        made->rank--;
        memmove(made->extent, made->extent + 1, 2 * sizeof *made->extent);
    }
    if (way >= 3 && way < 6 && way - 3 < t->rank) made->extent[way - 3] = 1;
    if (way >= 6 && way < 9 && way - 6 < t->rank) made->extent[way - 6] = (t->extent[way - 6] + 1) / 2;
    if (way >= 9 && way < 12 && way - 9 < t->rank && t->extent[way - 9] > 1) made->extent[way - 9]--;
    if (way >= 2 && way < 12) { /* strides belong to the extents */
        memset(made->in_stride, 0, sizeof made->in_stride), memset(made->out_stride, 0, sizeof made->out_stride);
        made->in_batch_stride = made->out_batch_stride = 0;
    }
    if (way == 12) made->dtype = STN_F64, made->alignment = 0;
    if (way == 13) made->forward_scale = made->inverse_scale = 0;
    if (way == 14) made->alignment = 0;
    return way < 15;
}

/* Greedy reduction with a limited number of tries. */
static stn_transform reduced(suite *s, const stn_transform *t, const char *strategy, uint64_t seed) {
    stn_transform best = *t, next;
    fft_comparison unused;
    int tries = 0;
    for (int way = 0; tries < 60 && simpler(&best, way, &next); way++) {
        if (!memcmp(&next, &best, sizeof next)) continue;
        tries++;
        if (fails(s, &next, strategy, seed, &unused)) best = next, way = -1;
    }
    return best;
}

static void print_command(const stn_transform *t, const char *strategy, uint64_t seed, char *text, size_t size) {
    static const char *const axes[] = {"1", "1,2", "1,2,3"};
    size_t used = (size_t)snprintf(text, size, "stentor fft --size %zu", t->batch ? t->batch : 1);
    for (int a = 0; a < t->rank; a++) {
        size_t n = t->kind == STN_C2R && a == t->rank - 1 ? t->extent[a] / 2 + 1 : t->extent[a];
        used += (size_t)snprintf(text + used, size - used, "x%zu", n);
    }
    used +=
        (size_t)snprintf(text + used, size - used, " --axes %s --dtype %s --norm none --random %llu --strategy %s%s%s",
                         axes[t->rank - 1], stn_dtype_name(t->dtype), (unsigned long long)seed, strategy,
                         t->kind == STN_C2C ? "" : " --real", t->direction == STN_INVERSE ? " --inverse" : "");
    if (t->kind == STN_C2R) used += (size_t)snprintf(text + used, size - used, " --points %zu", t->extent[t->rank - 1]);
    snprintf(text + used, size - used, "   # %s%s, scales %g %g, alignment %d", t->in_place ? "but in place" : "",
             t->in_stride[0] || t->out_stride[0] ? ", strided" : "", t->forward_scale, t->inverse_scale, t->alignment);
}

void check_random(suite *s, const char *strategy, uint64_t seed, int count, size_t most) {
    dice d = {seed};
    printf("# random transforms from seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < count; i++) {
        stn_transform t = random_transform(&d, most);
        fft_comparison c;
        stn_fft fft;
        char what[300], command[300], detail[1500];
        uint64_t own = seed + (uint64_t)i;
        random_layout(own, &t);
        fft_name(&t, what, sizeof what);
        bool good = !fails(s, &t, strategy, own, &c);
        if (good && c.bar > 0) s->worst = fmax(s->worst, c.relative_l2 / c.bar);
        good = good || (!c.served && stn_fft_make(&t, &fft, NULL) == STN_OK && fft_may_refuse(strategy, &fft));
        if (!good) {
            stn_transform least = reduced(s, &t, strategy, own);
            print_command(&least, strategy, own, command, sizeof command);
            fails(s, &least, strategy, own, &c);
            fft_explain(&c, detail, sizeof detail);
            printf("# fails as well: %s\n", command);
        }
        suite_report(s, good, what, detail);
    }
}
