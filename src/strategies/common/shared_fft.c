/* Shared-memory FFT: chooses radices, threads and padding of a line by a cost model, and makes
 * tables of twiddles. */
#include "strategies/common/shared_fft.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "context/kernel.h"
#include "context/search_cache.h"
#include "render/render.h"
#include "strategies/common/twiddles.h"

bool stn_shared_fft_is_smooth(int64_t n) {
    if (n < 1) return false;
    n >>= __builtin_ctzll((unsigned long long)n);
    /* Separate loops, because division by a constant is fast and searches test thousands of
     * lengths. */
    while (n % 3 == 0) n /= 3;
    while (n % 5 == 0) n /= 5;
    while (n % 7 == 0) n /= 7;
    return n == 1;
}

static size_t element_bytes(bool wide) { return wide ? 16 : 8; }

int64_t stn_shared_fft_most_points(bool wide, size_t shared) {
    return (int64_t)(shared / element_bytes(wide)) * 16 / 17 - 1; /* the rest is padding */
}

/* ---- shared-memory indices, same as in device/shared_fft.cuh */

static int padded(int p, int pad) { return pad ? p + p / pad : p; }

typedef struct fft_stage {
    int radix, block, stride, count;
} fft_stage;

static fft_stage stage_of(const stn_shared_fft *line, int stage) {
    int before = 1;
    for (int s = 0; s < stage; s++) before *= line->radix[s];
    int block = line->points / before, radix = line->radix[stage];
    return (fft_stage){radix, block, block / radix, line->points / radix / line->shares};
}

/* The first element of butterfly t of a block in the last stage. stride: of each stage. */
static int last_stage_offset(const stn_shared_fft *line, const int *stride, int t) {
    int at = 0;
    for (int s = 0; s + 1 < line->stages; s++) {
        int digits = s ? line->radix[s] : line->radix[s] / line->shares;
        at += t % digits * stride[s];
        t /= digits;
    }
    return at;
}

size_t stn_shared_fft_bytes(const stn_shared_fft *line, bool wide) {
    return (size_t)(padded(line->points / line->shares - 1, line->pad) + 1) *
           (size_t)(line->lines * line->copies + line->common) * element_bytes(wide);
}

/* ---- cost model */

/* Instructions of a butterfly divided by its radix; 0: no butterfly of this radix. */
static double work_of(int radix) {
    static const double work[17] = {0, 0.1, 2, 5.3, 4, 7.2, 7.3, 9.4, 6.8, 12, 9.2, 0, 9.3, 0, 11.4, 12.5, 10};
    return work[radix];
}

enum { TWIDDLE_WORK = 4 }; /* instructions of a twiddle multiplication between two stages */

/* The least work for the remaining length `rest` in exactly `stages` stages of non-increasing
 * radices, at most `largest`; infinite if there are no such radices. */
static double least_work(int64_t rest, int stages, int largest) {
    if (stages == 1)
        return rest >= 2 && rest <= largest && work_of((int)rest) > 0 ? work_of((int)rest) + TWIDDLE_WORK : INFINITY;
    double least = INFINITY;
    for (int radix = largest; radix >= 2; radix--)
        if (rest % radix == 0 && work_of(radix) > 0)
            least = fmin(least, work_of(radix) + TWIDDLE_WORK + least_work(rest / radix, stages - 1, radix));
    return least;
}

double stn_shared_fft_work(int64_t n) {
    if (n <= 16 && work_of((int)n) > 0) return work_of((int)n);
    for (int stages = 2; stages <= STN_SHARED_FFT_STAGES; stages++) {
        const double least = least_work(n, stages, 16);
        if (least < INFINITY) return least - TWIDDLE_WORK;
    }
    return INFINITY;
}

/* Cycles of a multiprocessor for each point of a stage, for arithmetic on busy units. Large stages
 * compute their twiddle factors from one that is stored. */
static double stage_work(const fft_stage *stage, bool wide) {
    double work = work_of(stage->radix) + (stage->stride > 1 ? TWIDDLE_WORK : 0);
    if (stage->stride * (stage->radix - 1) > STN_SHARED_FFT_TABLE) work += 3;
    return work / (wide ? 64 : 128);
}

/* The cycles of all stages. Warps without a butterfly in a round leave issue slots to others; with
 * few threads the units are partly idle. */
static double work_cost(const stn_shared_fft *line, const stn_shared_fft_needs *needs) {
    double cost = 0, resident = (double)(line->threads * line->lines * line->blocks);
    for (int s = 0; s < line->stages; s++) {
        const fft_stage here = stage_of(line, s);
        const int count = needs->pairs && s == line->stages - 1 ? (int)stn_div_up(here.count, 2) : here.count;
        const double slots_per_butterfly = (double)(stn_div_up(count, line->threads) * line->threads) / count;
        cost += stage_work(&here, needs->wide) * (0.8 + 0.2 * slots_per_butterfly);
    }
    return cost * (1 + 0.3 * (needs->threads / resident - 1));
}

enum { WARP = 32, LANES_LOOKED_AT = 3 * WARP, PADS = 6 };

/* Shared-memory cost of the current radices with one pad and a number of sampled lanes. */
typedef struct known_cost {
    int lanes;   /* 0: not computed yet */
    double cost; /* a lower bound */
    bool whole;  /* the bound is the exact cost */
} known_cost;

/* The lanes of a block that are looked at, with the radices of search.now: their lines, and the
 * first elements of their butterflies in each stage, without padding. */
typedef struct lanes {
    bool filled;
    int column[LANES_LOOKED_AT], base[STN_SHARED_FFT_STAGES][LANES_LOOKED_AT];
} lanes;

typedef struct search {
    const stn_shared_fft_needs *needs;
    stn_shared_fft now, best;
    int least_blocks;
    double cost;
    known_cost shared[LANES_LOOKED_AT / WARP + 1][PADS]; /* by the number of warps in use */
    lanes lanes;
} search;

static void fill_lanes(const stn_shared_fft *line, lanes *to) {
    int stride[STN_SHARED_FFT_STAGES];
    for (int stage = 0; stage < line->stages; stage++) stride[stage] = stage_of(line, stage).stride;
    for (int stage = 0; stage < line->stages; stage++) {
        const fft_stage here = stage_of(line, stage);
        const bool is_last = stage == line->stages - 1;
        for (int j = 0, lane = 0; j < here.count && lane < LANES_LOOKED_AT; j++) {
            const int base =
                is_last ? last_stage_offset(line, stride, j) : j / here.stride * here.block + j % here.stride;
            for (int column = 0; column < line->lines && lane < LANES_LOOKED_AT; column++, lane++)
                to->base[stage][lane] = base, to->column[lane] = column;
        }
    }
    to->filled = true;
}

/* The largest of the counts, one in each byte, none above 16; at least 1. */
static int busiest_of(uint64_t counts) {
    int most = 1;
    for (uint64_t left = counts & UINT64_C(0xfefefefefefefefe) ? counts : 0; left; left >>= 8)
        most = (int)stn_max(most, (int)(left & 0xff));
    return most;
}

/* The mean, over all accesses of a stage by groups of sixteen lanes (f64: eight), of the number of
 * elements that the busiest bank delivers: 1 without conflicts. Lanes without a butterfly make no
 * accesses. Once the mean reaches `most`, a lower bound of it. */
static double conflicts(const stn_shared_fft *line, const lanes *of, int stage, bool wide, double most) {
    /* `units` and the pad are powers of two. */
    const int units = wide ? 8 : 16, shift = line->pad ? __builtin_ctz((unsigned)line->pad) : 31;
    const fft_stage here = stage_of(line, stage);
    const int busy = (int)stn_min(stn_min(line->threads, here.count) * line->lines, LANES_LOOKED_AT);
    /* The first and the last element of each butterfly. */
    const int accesses = 2 * (int)stn_div_up(busy, units);
    int total = accesses;
    for (int begin = 0; begin < busy && total < most * accesses; begin += units) {
        for (int end = 0; end < 2; end++) {
            const int r = end * (here.radix - 1);
            uint64_t low = 0, high = 0; /* a byte for each bank */
            for (int lane = begin; lane < begin + units && lane < busy; lane++) {
                const int at = of->base[stage][lane] + r * here.stride;
                const int cell = (at + (at >> shift)) * line->lines + of->column[lane], bank = cell & (units - 1);
                const uint64_t one = UINT64_C(1) << bank % 8 * 8;
                low += bank < 8 ? one : 0, high += bank < 8 ? 0 : one;
            }
            total += stn_max(busiest_of(low), busiest_of(high)) - 1;
        }
    }
    return (double)total / accesses;
}

/* Cycles of a multiprocessor for each point of a stage without bank conflicts. */
static double access_cost(const stn_shared_fft_needs *needs) { return needs->wide ? 0.25 : 0.125; }

/* The shared-memory cost of all stages, from the last one, which has the most conflicts. Returns
 * false once the cost, with a lower bound for the remaining stages, reaches `most`. */
static bool shared_cost(search *s, const stn_shared_fft *line, double most, double *cost) {
    const double access = access_cost(s->needs);
    if (!s->lanes.filled) fill_lanes(line, &s->lanes);
    *cost = access * line->stages;
    for (int stage = line->stages; stage-- > 0 && *cost < most;)
        *cost += access * (conflicts(line, &s->lanes, stage, s->needs->wide, 1 + (most - *cost) / access) - 1);
    return *cost < most;
}

double stn_shared_fft_cost(const stn_shared_fft *line, const stn_shared_fft_needs *needs) {
    search s = {.needs = needs};
    double cost;
    (void)shared_cost(&s, line, INFINITY, &cost);
    return work_cost(line, needs) + cost;
}

static const int pads[PADS] = {8, 16, 0, 4, 32, 64};

/* The shared-memory cost with pads[p]; INFINITY if it is not below `most`. */
static double shared_cost_of(search *s, size_t p, double most) {
    const int lanes = (int)stn_min(s->now.threads * s->now.lines, LANES_LOOKED_AT);
    known_cost *k = &s->shared[lanes / WARP][p];
    if (k->lanes != lanes) *k = (known_cost){.lanes = lanes};
    if (!k->whole && k->cost < most) k->whole = shared_cost(s, &s->now, most, &k->cost);
    return k->whole ? k->cost : INFINITY;
}

static void offer_pads(search *s) {
    const stn_shared_fft_needs *needs = s->needs;
    stn_shared_fft *now = &s->now;
    double work = work_cost(now, needs), least = access_cost(needs);
    for (size_t p = 0; p < PADS && work + least * now->stages < s->cost; p++) {
        now->pad = pads[p];
        size_t shared = stn_shared_fft_bytes(now, needs->wide) + needs->other_bytes;
        if (shared > needs->shared || (shared + 1024) * (size_t)now->blocks > needs->total) continue;
        /* The margin keeps rounding errors of the bound from rejecting candidates of equal cost. */
        double cost = work + shared_cost_of(s, p, 1.000001 * (s->cost - work));
        if (cost < s->cost) s->cost = cost, s->best = *now;
    }
}

/* A lower bound over all numbers of threads and pads: all units are busy, no bank has conflicts. */
static double least_cost(const search *s) {
    double cost = 0;
    for (int stage = 0; stage < s->now.stages; stage++) {
        const fft_stage here = stage_of(&s->now, stage);
        cost += stage_work(&here, s->needs->wide) + access_cost(s->needs);
    }
    return cost;
}

enum { ROUNDS = 4 };

/* For a fixed number of blocks, tries all numbers of threads that process a stage's butterflies in
 * a few full rounds, each number once. */
static void offer_threads(search *s, int step, int most) {
    stn_shared_fft *now = &s->now;
    int offered[ROUNDS * STN_SHARED_FFT_STAGES], count = 0;
    for (int i = 0; i < now->stages * ROUNDS; i++) {
        const int radix = now->radix[i / ROUNDS], rounds = 1 + i % ROUNDS;
        int64_t needed = stn_div_up(stn_div_up(now->points / now->shares, radix), rounds);
        int64_t threads = stn_round_up(needed, step), capacity = most / now->blocks / step * step;
        bool again = false;
        now->threads = (int)stn_max(step, stn_min(threads, capacity));
        for (int k = 0; k < count; k++) again = again || offered[k] == now->threads;
        offered[count++] = now->threads;
        if (!again && now->threads * now->lines * now->blocks <= s->needs->threads && now->threads * now->lines <= 1024)
            offer_pads(s);
    }
}

static void offer(search *s) {
    stn_shared_fft *now = &s->now;
    const int lines = now->lines, step = lines >= WARP ? 1 : WARP / lines, most = s->needs->threads / lines;
    if (least_cost(s) >= s->cost) return;
    memset(s->shared, 0, sizeof s->shared);
    s->lanes.filled = false;
    for (now->blocks = s->least_blocks; now->blocks <= stn_max(4, s->least_blocks); now->blocks++)
        offer_threads(s, step, most);
    if (!(s->cost < INFINITY)) { /* no shape fits: one thread for each line, at least a warp */
        now->blocks = 1, now->threads = step;
        offer_pads(s);
    }
}

/* Tries all orders of radices for the factor `rest` in exactly `stages` more stages. */
static void divide(search *s, int rest, int stages) {
    if (stages == 0) {
        if (rest == 1) offer(s);
        return;
    }
    for (int radix = 16; radix >= 2; radix--) {
        if (rest % radix || work_of(radix) == 0) continue;
        /* The first stage's results are exchanged between the blocks of a cluster, which also share
         * its butterflies. */
        if (s->now.stages == 0 && (radix % s->now.shares || rest / radix % s->now.shares)) continue;
        if (s->now.stages == 0 && s->needs->first && radix % s->needs->first) continue;
        if (stages == 1 && (radix != rest || radix > s->needs->last)) continue;
        s->now.radix[s->now.stages++] = radix;
        divide(s, rest / radix, stages - 1);
        s->now.stages--;
    }
}

/* Lines of at most 16 points, transformed by one butterfly: in the last stage, or, if the radix is
 * too large for it, in the first stage. The other stage has radix 1. */
static void divide_short(search *s, int points) {
    s->now.stages = 2;
    s->now.radix[0] = points > s->needs->last ? points : 1;
    s->now.radix[1] = points / s->now.radix[0];
    offer(s);
}

/* The requested number of blocks, limited so that each has shared memory and at least two warps. */
static int least_blocks(int points, const stn_shared_fft *line, const stn_shared_fft_needs *needs) {
    const size_t cells =
        (size_t)(points / line->shares) * 17 / 16 * (size_t)(line->lines * line->copies + line->common);
    const int64_t capacity = (int64_t)(needs->total / (cells * element_bytes(needs->wide) + needs->other_bytes + 1024));
    return (int)stn_max(1, stn_min(needs->blocks, stn_min(capacity, needs->threads / 64)));
}

void stn_shared_fft_search(int points, const stn_shared_fft_needs *needs, stn_shared_fft *line) {
    search s = {.needs = needs,
                .now = {.points = points,
                        .lines = needs->lines,
                        .shares = 1,
                        .copies = needs->copies > 1 ? needs->copies : 1,
                        .common = needs->common},
                .cost = INFINITY};
    if (needs->fixed) s.now.shares = needs->fixed;
    const size_t line_bytes = (size_t)(points / s.now.shares) * element_bytes(needs->wide) * 17 / 16;
    while (s.now.lines > 1 && line_bytes * (size_t)(s.now.lines * s.now.copies) > needs->shared) s.now.lines /= 2;
    while (!needs->fixed && s.now.shares < needs->shares &&
           points / s.now.shares > stn_shared_fft_most_points(needs->wide, needs->shared))
        s.now.shares *= 2;
    s.least_blocks = least_blocks(points, &s.now, needs);
    if (points <= 16 && work_of(points) > 0) divide_short(&s, points);
    for (int stages = 2; stages <= STN_SHARED_FFT_STAGES && !(s.cost < INFINITY); stages++) divide(&s, points, stages);
    *line = s.best;
}

/* ---- the cache */

void stn_shared_fft_make(stn_search_cache *cache, int points, const stn_shared_fft_needs *needs, stn_shared_fft *line) {
    const int64_t key[] = {points,
                           needs->wide,
                           needs->last,
                           needs->pairs,
                           needs->lines,
                           needs->shares,
                           needs->fixed,
                           needs->first,
                           needs->copies,
                           needs->common,
                           needs->threads,
                           needs->blocks,
                           (int64_t)needs->shared,
                           (int64_t)needs->total,
                           (int64_t)needs->other_bytes};
    if (stn_search_cache_lookup(cache, STN_SEARCH_CACHE_FFT, key, sizeof key, line, sizeof *line)) return;
    stn_shared_fft_search(points, needs, line);
    stn_search_cache_store(cache, STN_SEARCH_CACHE_FFT, key, sizeof key, line, sizeof *line);
}

/* ---- tables of twiddles */

size_t stn_shared_fft_twiddles(const stn_shared_fft *line, bool wide, void *to) {
    size_t at = 0;
    for (int s = 0; s + 1 < line->stages; s++) {
        fft_stage here = stage_of(line, s);
        bool all = here.stride * (here.radix - 1) <= STN_SHARED_FFT_TABLE;
        for (int r = 1; r < (all ? here.radix : 2); r++)
            for (int q = 0; q < here.stride; q++) stn_store_twiddle(to, at++, wide, (int64_t)q * r, here.block);
    }
    return at * element_bytes(wide);
}

/* exp(-pi i t / N) for half a circle: the second quarter mirrors the first, bit by bit as in
 * twiddles.h. */
size_t stn_shared_fft_half_twiddles(const stn_shared_fft *line, bool wide, void *to) {
    const int points = line->points;
    const size_t real = element_bytes(wide) / 2, bytes = (size_t)(points + 1) * element_bytes(wide);
    if (!to) return bytes;
    for (int t = 0; 2 * t <= points; t++) stn_store_twiddle(to, (size_t)t, wide, t, 2 * (int64_t)points);
    for (int t = points / 2 + 1; t <= points; t++) {
        unsigned char *const at = (unsigned char *)to + (size_t)t * 2 * real;
        memcpy(at, (unsigned char *)to + (size_t)(points - t) * 2 * real, 2 * real);
        at[real - 1] ^= 0x80; /* flips the sign of the real part */
    }
    return bytes;
}

void stn_shared_fft_params(const stn_shared_fft *line, stn_text *params) {
    stn_params_int(params, "LINE_POINTS", line->points);
    stn_params_int(params, "LINE_STAGES", line->stages);
    stn_params_ints(params, "LINE_RADIX", line->radix, (size_t)line->stages);
    stn_params_int(params, "LINE_COUNT", line->lines);
    stn_params_int(params, "THREADS_X", line->threads);
    stn_params_int(params, "BLOCKS", line->blocks);
    stn_params_int(params, "LINE_PAD", line->pad);
    stn_params_int(params, "LINE_SHARES", line->shares);
    stn_params_int(params, "LINE_TABLE", STN_SHARED_FFT_TABLE);
}

stn_status stn_shared_fft_launch(const stn_shared_fft *line, bool wide, const stn_kernel *kernel, int64_t blocks,
                                 void *arguments, void *stream, stn_error *error) {
    stn_launch how = {.grid = {(unsigned)blocks * (unsigned)line->shares, 1, 1}, .stream = stream};
    how.block[0] = (unsigned)(line->threads * line->lines);
    how.block[1] = how.block[2] = 1;
    if (line->shares > 1) how.cluster = (unsigned)line->shares;
    how.shared = stn_shared_fft_bytes(line, wide);
    return stn_module_launch(kernel->module, &how, arguments, error);
}
