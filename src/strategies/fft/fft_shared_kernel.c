/* fft_shared and fft_cosine, lines that fill shared memory; see fft_shared_kernel.h and the kernel
 * templates. */
#include "strategies/fft/fft_shared_kernel.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/common/twiddles.h"
#include "strategies/fft/fft_line_kernel.h"

/* Lengths in points. fft_line is faster below SHORTEST and, for powers of two, for rows up to
 * LONG_ROW and columns up to LONG_COLUMN. */
enum { SHORTEST = 48, LONG_ROW = 4096, LONG_COLUMN = 1024 };
/* The most blocks that share a line: SHARES if it is too long for one block, MAX_SHARES for tiles
 * of columns in a cluster. */
enum { SHARES = 4, MAX_SHARES = 8 };

static bool is_wide(stn_dtype dtype) { return dtype == STN_F64; }
static bool is_real(const fft_pass *pass) { return pass->load_real || pass->store_real || pass->rows; }
static bool across(const fft_pass *pass) { return fft_fast_in(pass) || fft_fast_out(pass); }

int64_t fft_shared_longest(stn_dtype dtype, const stn_machine *machine) {
    int64_t one = stn_shared_fft_most_points(is_wide(dtype), machine->shared_per_block);
    return dtype == STN_F16 ? 0 : machine->sm >= 90 ? SHARES * one : one;
}

/* The lines of a block. Of strided lines, as many neighbours as fill a cache line, or fewer if they
 * are long, so that a block with several lines has at most 128 KiB of points. */
static int lines_for(const fft_pass *pass, bool wide) {
    int point_size = wide ? 16 : 8, length = (int)pass->length;
    if (!across(pass)) return length <= 256 ? 4 : length <= 1024 ? 2 : 1;
    if (length <= 1024) return 128 / point_size;
    if (length <= 2048) return 64 / point_size;
    return length <= 4096 ? 32 / point_size : length <= 8192 ? 16 / point_size : 1;
}

bool fft_shared_shape_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, stn_shared_fft *shape) {
    int64_t n = pass->length, most = fft_shared_longest(dtype, machine);
    bool power = !(n & (n - 1));
    if (n > most || n < SHORTEST || !stn_shared_fft_is_smooth(n) || pass->outer || pass->only_real) return false;
    if (power && n <= (across(pass) ? LONG_COLUMN : LONG_ROW)) return false;
    stn_shared_fft_needs needs = {
        .wide = is_wide(dtype), .last = is_real(pass) ? 8 : 16, .lines = lines_for(pass, is_wide(dtype))};
    needs.threads = needs.wide ? 512 : 1024;
    needs.copies = 1;
    needs.shares = machine->sm >= 90 && !is_real(pass) ? SHARES : 1;
    needs.shared = machine->shared_per_block;
    needs.total = machine->shared_per_multiprocessor;
    if (n > needs.shares * stn_shared_fft_most_points(needs.wide, needs.shared)) return false;
    stn_shared_fft_make(machine->searches, (int)n, &needs, shape);
    return shape->stages >= 2;
}

enum { CACHE_LINE = 128, SHORTEST_SHARED = 1024 };

int64_t fft_shared_longest_in_cluster(stn_dtype dtype, const stn_machine *machine) {
    if (dtype == STN_F16 || machine->sm < 90) return 0;
    /* A tile has at least half a cache line of columns. */
    return MAX_SHARES * stn_shared_fft_most_points(is_wide(dtype), machine->shared_per_block) /
           (is_wide(dtype) ? 4 : 8);
}

bool fft_shared_shape_in_cluster(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine,
                                 stn_shared_fft *shape) {
    int64_t n = pass->length;
    if (n > fft_shared_longest_in_cluster(dtype, machine) || n < SHORTEST_SHARED || !stn_shared_fft_is_smooth(n))
        return false;
    if (!fft_fast_in(pass) || !fft_fast_out(pass) || pass->outer || pass->only_real || is_real(pass)) return false;
    const int point_size = is_wide(dtype) ? 16 : 8;
    stn_shared_fft_needs needs = {.wide = is_wide(dtype),
                                  .last = pass->cosine == 2 ? 8 : 16,
                                  .copies = 1,
                                  .total = machine->shared_per_multiprocessor};
    needs.threads = needs.wide ? 512 : 1024;
    needs.shared = machine->shared_per_block;
    for (int resident = 3; resident >= 1; resident--) /* blocks per multiprocessor */
        for (needs.lines = CACHE_LINE / point_size; needs.lines >= CACHE_LINE / point_size / 2; needs.lines /= 2)
            for (needs.fixed = 1; needs.fixed <= MAX_SHARES; needs.fixed *= 2) {
                if (n % (needs.fixed * needs.fixed)) continue;
                /* In type II a block holds each frequency and its mirror image, so that twice the
                 * number of blocks must divide the first radix. */
                needs.first = pass->cosine == 2 && needs.fixed > 1 ? 2 * needs.fixed : 0;
                /* Bytes with padding, and 1024 that the GPU reserves for each block. */
                size_t bytes = (size_t)(n / needs.fixed * point_size * needs.lines) * 17 / 16 + 1024;
                if (bytes > needs.shared || bytes * (size_t)resident > needs.total) continue;
                stn_shared_fft_make(machine->searches, (int)n, &needs, shape);
                if (shape->stages >= 2) return true;
            }
    return false;
}

/* Halves the threads of a line while half of them still suffice for all butterflies of a stage at
 * once, so that more blocks fit. */
static void halve_threads(const stn_shared_fft_needs *needs, stn_shared_fft *shape) {
    const int each = needs->pairs ? 2 : 1;
    int most = shape->points / shape->radix[shape->stages - 1] / each;
    for (int s = 0; s + 1 < shape->stages; s++) most = (int)stn_max(most, shape->points / shape->radix[s]);
    const size_t bytes = stn_shared_fft_bytes(shape, needs->wide) + 1024;
    while (shape->threads / 2 >= most && shape->threads * shape->lines % 64 == 0 &&
           2 * bytes * (size_t)shape->blocks <= needs->total)
        shape->threads /= 2, shape->blocks *= 2;
}

bool fft_cosine_shape_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, bool cluster,
                          stn_shared_fft *shape) {
    const bool wide = is_wide(dtype);
    if (dtype == STN_F16 || !stn_shared_fft_is_smooth(pass->length)) return false;
    if (cluster && fft_shared_shape_in_cluster(pass, dtype, machine, shape)) return true;
    if (pass->length > stn_shared_fft_most_points(wide, machine->shared_per_block)) return false;
    const stn_shared_fft_needs needs = {.wide = wide,
                                        .last = 8,
                                        .pairs = pass->rows || pass->cosine == 2,
                                        .lines = lines_for(pass, wide),
                                        .copies = 1,
                                        .threads = wide ? 512 : 1024,
                                        .shared = machine->shared_per_block,
                                        .total = machine->shared_per_multiprocessor};
    stn_shared_fft_make(machine->searches, (int)pass->length, &needs, shape);
    halve_threads(&needs, shape);
    return shape->stages >= 2;
}

int64_t fft_shared_blocks(const fft_pass *pass, const stn_shared_fft *shape) {
    return fft_times_loops(pass, shape->shares * stn_div_up(pass->loop[0].n, shape->lines), 1, 3);
}

size_t fft_shared_bytes(const stn_shared_fft *shape, stn_dtype dtype) {
    return stn_shared_fft_bytes(shape, is_wide(dtype));
}

static size_t pair_bytes(stn_dtype dtype) { return is_wide(dtype) ? 16 : 8; }

/* Stores scale * exp(-pi i k / 2n), k = 0 .. length; n is `length`, or 2 * length for rows. If the
 * transform is orthogonal, entry 0 has a factor of its own. */
static void store_cosines(const fft_pass *pass, bool wide, void *to) {
    const int64_t circle = 4 * pass->length * (pass->rows ? 2 : 1);
    const double first = !pass->orthogonal ? 1 : pass->cosine == 2 ? sqrt(0.5) : sqrt(2);
    for (int64_t k = 0; k <= pass->length; k++) {
        double c[2];
        stn_root_pair(k, circle, c);
        for (int i = 0; i < 2; i++) {
            const double value = c[i] * pass->scale * (k ? 1 : first);
            if (wide)
                ((double *)to)[2 * k + i] = value;
            else
                ((float *)to)[2 * k + i] = (float)value;
        }
    }
}

size_t fft_shared_twiddles(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype, void *to) {
    const bool wide = is_wide(dtype);
    size_t bytes = stn_shared_fft_twiddles(shape, wide, to);
    if (pass->cosine) {
        const size_t points = (size_t)pass->length + 1;
        if (to) store_cosines(pass, wide, (char *)to + bytes);
        bytes += points * pair_bytes(dtype);
    }
    if (is_real(pass)) bytes += stn_shared_fft_half_twiddles(shape, wide, to ? (char *)to + bytes : NULL);
    return bytes / pair_bytes(dtype);
}

/* The arguments of fft_shared.cu; the scale follows in its arithmetic type. fft_cosine.cu has no
 * scale, and its table of cosines takes the place of `half`. */
typedef struct shared_arguments {
    const void *in;
    void *out;
    const void *twiddles, *half;
    int64_t in_stride, out_stride, in_line[3], out_line[3], lines;
    uint32_t tiles, rows;
} shared_arguments;

void fft_shared_params(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype, stn_text *params) {
    stn_params_begin_for(params, dtype);
    stn_shared_fft_params(shape, params);
    stn_params_int(params, "FFT_LOOPS", pass->loops);
    stn_params_int(params, "EXPECTED_HEADER", sizeof(shared_arguments));
    if (pass->cosine) {
        stn_params_int(params, "COSINE_TYPE", pass->cosine);
        stn_params_int(params, "COSINE_SINE", pass->sine);
        stn_params_int(params, "COSINE_ROWS", pass->rows);
        return;
    }
    stn_params_int(params, "FFT_INVERSE", pass->inverse);
    stn_params_int(params, "FFT_SCALE", pass->scale != 1);
    stn_params_int(params, "FFT_LOAD_REAL", pass->load_real);
    stn_params_int(params, "FFT_STORE_REAL", pass->store_real);
}

/* Fractions of the copy bandwidth, measured on an H200. row_short, row: rows of up to 1024 points,
 * and longer ones. row_real: rows of real data in f64 and f32. column[i]: columns with 8, 16, 32,
 * 64, and 128 or more contiguous bytes; it is multiplied by moved[i] if the columns are written to
 * another array. */
static const struct {
    double row_short, row, row_real[2];
    double column[5], moved[5];
    /* factor for tiles narrower than a cache line if the stride between points is no multiple of a
     * sector: f64, f32 */
    double uneven[2];
    /* factor if whole cache lines are spread over a large grid */
    double far;
    double cluster;    /* factor if a cluster shares a line, below 64 contiguous bytes */
    double shared;     /* factor if a cluster shares a line, with 64 or more */
    double tall;       /* in place of `shared`, for TALL to TALLEST points in whole tiles */
    double wait, wave; /* seconds until the first blocks compute; seconds of a wave */
} rates = {.row_short = 0.72,
           .row = 0.65,
           .row_real = {0.62, 0.52},
           .column = {0.18, 0.3, 0.425, 0.6, 0.85},
           .moved = {0.7, 0.65, 0.8, 0.7, 0.96},
           .uneven = {0.92, 0.84},
           .far = 0.86,
           .cluster = 0.95,
           .shared = 0.43,
           .tall = 0.8,
           .wait = 3e-6,
           .wave = 2e-6};
#define TALL 4096
#define TALLEST 10240

/* Factor for lines that several blocks share, relative to lines in one block. */
static double cluster_factor(const fft_pass *pass, const stn_shared_fft *shape, int at) {
    if (shape->shares == 1) return 1;
    if (at < 3) return rates.cluster;
    const bool timed = pass->length >= TALL && pass->length <= TALLEST && pass->loop[0].n % shape->lines == 0;
    return timed ? rates.tall : rates.shared;
}

/* The fraction of the copy bandwidth that a large pass reaches. */
static double bandwidth(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype) {
    int64_t pair = (int64_t)pair_bytes(dtype), side = shape->lines * pair;
    int at = side >= 128 ? 4 : side >= 64 ? 3 : side >= 32 ? 2 : side >= 16;
    double part = is_real(pass) ? rates.row_real[dtype != STN_F64] : pass->length <= 1024 ? rates.row_short : rates.row;
    if (across(pass)) part = rates.column[at] * (pass->from == pass->to ? 1 : rates.moved[at]);
    if (across(pass) && at == 4 && fft_is_spread(pass, dtype)) part *= rates.far;
    if (across(pass) && at < 4 && shape->lines > 1 && pass->in_stride * pair % 32)
        part *= rates.uneven[dtype != STN_F64];
    return part * cluster_factor(pass, shape, at);
}

double fft_shared_seconds(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype,
                          const stn_machine *machine) {
    double waves = ceil((double)fft_shared_blocks(pass, shape) / machine->multiprocessors / shape->blocks);
    double moving = fft_pass_bytes(pass, dtype) / (machine->copy_bandwidth * bandwidth(pass, shape, dtype));
    return fmax(rates.wait + rates.wave * waves, moving) + machine->launch_seconds;
}

stn_status fft_shared_launch(const struct stn_kernel *kernel, const fft_pass *pass, const stn_shared_fft *shape,
                             stn_dtype dtype, const void *from, void *to, const void *twiddles, void *stream,
                             stn_error *error) {
    shared_arguments a = {.in = from, .out = to, .twiddles = twiddles, .lines = pass->loop[0].n};
    a.half = (const char *)twiddles + stn_shared_fft_twiddles(shape, is_wide(dtype), NULL);
    a.in_stride = pass->in_stride, a.out_stride = pass->out_stride;
    for (int k = 0; k < 3; k++) a.in_line[k] = pass->loop[k].in, a.out_line[k] = pass->loop[k].out;
    a.tiles = (uint32_t)stn_div_up(a.lines, shape->lines);
    a.rows = (uint32_t)pass->loop[1].n;
    _Alignas(16) unsigned char arguments[sizeof a + sizeof(double)];
    memcpy(arguments, &a, sizeof a);
    stn_put_real(dtype, pass->scale, arguments + sizeof a);
    stn_launch how = {.grid = {(unsigned)fft_shared_blocks(pass, shape), 1, 1}, .stream = stream};
    how.cluster = (unsigned)(shape->shares > 1 ? shape->shares : 0);
    how.block[0] = (unsigned)(shape->threads * shape->lines), how.block[1] = how.block[2] = 1;
    how.shared = fft_shared_bytes(shape, dtype);
    return stn_module_launch(kernel->module, &how, arguments, error);
}
