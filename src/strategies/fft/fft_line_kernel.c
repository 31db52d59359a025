/* The shape of an fft_line launch except for its radices (fft_radices.c); its twiddle factors. */
#include "strategies/fft/fft_line_kernel.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/common/twiddles.h"
#include "strategies/fft/fft_radices.h"

/* ---- shared memory */

static int point_bytes(const fft_line_shape *shape, stn_dtype dtype) {
    return shape->half_exchange ? 4 : dtype == STN_F64 ? 16 : 8;
}

/* The position of a thread, as in the kernel. */
static void position_of(const fft_line_shape *shape, bool lines_fast, int thread, int *t, int *line) {
    *t = lines_fast ? thread / shape->lines : thread % shape->line_threads;
    *line = lines_fast ? thread % shape->lines : thread / shape->line_threads;
}

static int padded(const fft_line_shape *shape, int a) { return a + a / shape->pad; }

/* Shared-memory transactions of the first warp's access; index[i] is the element that thread i
 * accesses. */
static int transactions(const int index[32], int threads, int bytes) {
    int group = 128 / bytes, sum = 0; /* indices per transaction, one in each bank */
    for (int first = 0; first < threads; first += group) {
        int worst = 0;
        for (int bank = 0; bank < group; bank++) {
            int different = 0;
            for (int i = first; i < first + group && i < threads; i++) {
                bool seen = index[i] % group != bank;
                for (int j = first; j < i && !seen; j++) seen = index[j] == index[i];
                different += !seen;
            }
            if (different > worst) worst = different;
        }
        sum += worst;
    }
    return sum;
}

/* Shared-memory transactions of all exchanges. */
static int transactions_of_exchanges(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype) {
    int sum = 0, before = 1, threads = (int)stn_min(shape->threads, 32), index[32], t, line;
    for (int s = 0; s + 1 < shape->stages; s++) {
        int radix = shape->radix[s];
        for (int i = 0; i < threads; i++) {
            position_of(shape, s == 0 ? fft_fast_in(pass) : fft_fast_out(pass), i, &t, &line);
            index[i] = line * shape->pitch + padded(shape, t / before * before * radix + t % before);
        }
        sum += transactions(index, threads, point_bytes(shape, dtype));
        for (int i = 0; i < threads; i++) {
            position_of(shape, fft_fast_out(pass), i, &t, &line);
            index[i] = line * shape->pitch + padded(shape, t);
        }
        sum += transactions(index, threads, point_bytes(shape, dtype));
        before *= radix;
    }
    return sum;
}

#define NO_PAD (1 << 20)

/* Chooses the padding and the pitch with the fewest bank conflicts. The kernel assumes
 * padded(a + b) = padded(a) + padded(b). With padding this holds only if all sizes are powers of
 * two (`additive`). */
static void choose_padding(const fft_pass *pass, stn_dtype dtype, bool additive, fft_line_shape *shape) {
    static const int pads[] = {NO_PAD, 8, 16, 32, 64};
    fft_line_shape best = *shape;
    int fewest = INT32_MAX;
    for (int i = 0; i < (additive ? 5 : 1); i++) {
        fft_line_shape tried = *shape;
        tried.pad = pads[i];
        int least = padded(&tried, shape->length) + 1;
        for (int extra = 0; extra < 17; extra++) {
            tried.pitch = least + extra;
            int count = transactions_of_exchanges(pass, &tried, dtype);
            if (count < fewest || (count == fewest && tried.pitch < best.pitch)) fewest = count, best = tried;
        }
    }
    *shape = best;
}

size_t fft_line_shared(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype) {
    if (shape->stages == 1 && !pass->load_real && !pass->store_real) return 0;
    return (size_t)shape->pitch * (size_t)shape->lines * (size_t)point_bytes(shape, dtype);
}

/* ---- the shape */

/* Registers per thread, tuned on an H200. In a real transform a thread holds its points twice. */
static int registers(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype) {
    int words = fft_points_per_thread(shape) * (dtype == STN_F64 ? 4 : 2);
    bool real = pass->load_real || pass->store_real;
    if (shape->even) return dtype == STN_F64 ? (words > 80 ? 168 : 128) : 80;
    if (dtype == STN_F64) return words > 32 ? 128 : 80;
    if (words > 32) return real ? 128 : shape->half_exchange ? 80 : 96;
    if (words > 16) return dtype == STN_F16 && !real ? 56 : 80;
    return 64;
}

/* Contiguous bytes in a tile of strided lines. */
static int tile_bytes(const fft_pass *pass, stn_dtype dtype) {
    if (dtype == STN_F16) return pass->length >= 1024 ? 32 : 64;
    return pass->length >= 1024 ? 64 : 128;
}

/* Lines per block: enough to fill it and, for strided lines, to make accesses long. If that leaves
 * multiprocessors without a block, blocks have fewer lines. */
static int lines_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, int line_threads, int threads) {
    bool columns = fft_fast_in(pass) || fft_fast_out(pass);
    int pair = 2 * (int)stn_dtype_size(dtype), least = columns ? (int)stn_max(1, 32 / pair) : 1;
    int64_t rows = pass->loop[1].n * pass->loop[2].n;
    int lines = (int)stn_max(columns ? tile_bytes(pass, dtype) / pair : 1, threads / line_threads);
    while (lines > 1 && lines * line_threads > 1024) lines /= 2;
    while (lines / 2 >= least && lines / 2 * line_threads >= 32 &&
           stn_div_up(pass->loop[0].n, lines / 2) * rows <= machine->multiprocessors)
        lines /= 2;
    /* whole warps, so that __syncwarp suffices */
    while (32 % line_threads == 0 && lines * line_threads % 32) lines++;
    return lines;
}

/* Minimum number of threads per block. A real transform has two more barriers and is faster in
 * smaller blocks. */
static int threads_for(const fft_pass *pass, int least) {
    return pass->load_real || pass->store_real ? (int)stn_min(least, 128) : least;
}

/* Returns the elements of a cache line if tiles begin earlier, so as to write whole cache lines;
 * otherwise 0. This requires that all points of an output column have the same offset from a cache
 * line. Rows of a half spectrum have an odd number of elements, so that the points of a column must
 * be a multiple of 16 (f64: 8) rows apart. */
static int shift_of(const fft_pass *pass, stn_dtype dtype) {
    const int unit = 128 / 2 / (int)stn_dtype_size(dtype);
    const fft_loop *l = pass->loop;
    bool columns = fft_fast_in(pass) && fft_fast_out(pass) && l[0].out == 1 && l[1].out >= 0 && l[2].out >= 0;
    bool same = pass->out_stride % unit == 0, uneven = l[1].out % unit || l[2].out % unit;
    return columns && same && uneven && dtype != STN_F16 ? unit : 0;
}

/* Whether tiles continue in the next row: with few columns per row, such as a half spectrum's, a
 * part of the last tile of each row would be idle (65 columns take 5 tiles of 16). */
static bool is_merged(const fft_pass *pass, int lines) {
    enum { MANY = 64 };
    const fft_loop *l = pass->loop;
    return fft_fast_in(pass) && fft_fast_out(pass) && !pass->outer && l[1].n > 1 && l[0].n % lines &&
           l[0].n < MANY * (int64_t)lines && l[1].n <= INT32_MAX / l[0].n;
}

bool fft_line_shape_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, int width,
                        fft_line_shape *shape) {
    *shape = (fft_line_shape){.length = (int)pass->length};
    bool columns = fft_fast_in(pass) || fft_fast_out(pass);
    int least = fft_radices_for(pass->length, dtype, columns, pass->load_real || pass->store_real, shape);
    if (!least) return false;
    int lines = lines_for(pass, dtype, machine, shape->line_threads, threads_for(pass, least));
    shape->lines = width > 0 ? 2 * lines : width < 0 ? lines / 2 : lines;
    if (shape->lines < 1 || (32 % shape->line_threads == 0 && shape->lines * shape->line_threads % 32)) return false;
    shape->threads = shape->line_threads * shape->lines;
    if (shape->threads > 1024) return false;
    if (shape->stages == 1 && fft_fast_in(pass) != fft_fast_out(pass)) return false;
    if (pass->scale != 1 || pass->load_real || pass->store_real)
        shape->half_exchange = false; /* unscaled values may overflow in f16 */
    shape->table = dtype == STN_F16 && shape->length > 1024 && shape->length <= 8192 ? 8192 : 1024;
    const int64_t registers_of = (int64_t)machine->registers_per_multiprocessor;
    int each = (int)stn_min(registers(pass, shape, dtype), registers_of / shape->threads);
    shape->blocks = (int)stn_min(16, stn_max(1, registers_of / (each * shape->threads)));
    choose_padding(pass, dtype, shape->measured, shape);
    shape->shift = shift_of(pass, dtype);
    shape->merged = !shape->shift && is_merged(pass, shape->lines);
    return fft_line_shared(pass, shape, dtype) <= machine->shared_per_block;
}

/* Grids of more bytes are large. */
#define LARGE_GRID 64e6
/* Factors for columns whose points are spread over a large grid, by the number of sides (input and
 * output) on which rows do not begin at whole sectors: 0, 1, 2. Measured on an H200. */
static const double spread_rates[2][3] = {{0.9, 0.77, 0.6}, {0.93, 0.8, 0.6}}; /* f64, f32 */
/* Factor if output rows of a large grid begin inside sectors; a low guess. */
static const double unaligned_rows = 0.97;

bool fft_is_spread(const fft_pass *pass, stn_dtype dtype) {
    double stride = (double)stn_max(pass->in_stride, pass->out_stride);
    return (double)pass->length * stride * 2 * (double)stn_dtype_size(dtype) > LARGE_GRID;
}

static bool is_large(const fft_pass *pass, stn_dtype dtype) {
    const fft_loop *l = pass->loop;
    return dtype != STN_F16 && (double)(pass->length * 2 * (int64_t)stn_dtype_size(dtype)) * (double)l[0].n *
                                       (double)l[1].n * (double)l[2].n >
                                   LARGE_GRID;
}

static bool uneven(int64_t point, int64_t row1, int64_t row2, int64_t unit) {
    return point % unit || row1 % unit || row2 % unit;
}

/* On how many sides (reading, writing) rows begin inside sectors. With shifted tiles writes are
 * aligned, and reads are if both sides have the same offsets. */
static int unaligned_sides(const fft_pass *pass, const fft_line_shape *shape, int64_t sector) {
    const fft_loop *l = pass->loop;
    if (shape->shift) return uneven(pass->in_stride, l[1].in - l[1].out, l[2].in - l[2].out, sector);
    return uneven(pass->in_stride, l[1].in, l[2].in, sector) + uneven(pass->out_stride, l[1].out, l[2].out, sector);
}

/* The fraction of the copy bandwidth that a large pass reaches. Measured on an H200: transposing
 * from input to output is 6% faster; in f16, twiddle factors between launches take 13% of the
 * bandwidth. */
static double bandwidth(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype) {
    double part = shape->part;
    int64_t sector = 32 / 2 / (int64_t)stn_dtype_size(dtype);
    if (dtype != STN_F16 && fft_is_spread(pass, dtype))
        part *= spread_rates[dtype != STN_F64][unaligned_sides(pass, shape, sector)];
    if (is_large(pass, dtype) && pass->out_stride == 1 && pass->loop[0].out % sector) part *= unaligned_rows;
    if (fft_fast_in(pass) != fft_fast_out(pass)) part = fmin(0.95, part * 1.06);
    if (pass->outer && dtype == STN_F16) part *= 0.87;
    if (pass->load_real || pass->store_real) part *= dtype == STN_F16 ? 0.78 : 0.96;
    return part;
}

/* Tiles of the first loop; if merged, of the first two. */
static int64_t tiles_of(const fft_pass *pass, const fft_line_shape *shape) {
    if (shape->merged) return stn_div_up(pass->loop[0].n * pass->loop[1].n, shape->lines);
    return stn_div_up(pass->loop[0].n + (shape->shift ? shape->shift - 1 : 0), shape->lines);
}

int64_t fft_line_blocks(const fft_pass *pass, const fft_line_shape *shape) {
    return fft_times_loops(pass, tiles_of(pass, shape), shape->merged ? 2 : 1, 3);
}

#define FIRST_WAIT 1.5e-6     /* seconds until the first blocks compute */
#define POINT_INSTRUCTIONS 40 /* per point; both are measured on an H200 */

/* The first blocks wait for memory; then all blocks compute, in as many waves as needed. */
double fft_line_seconds(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype,
                        const stn_machine *machine) {
    double blocks = (double)fft_line_blocks(pass, shape), each = ceil(blocks / machine->multiprocessors);
    double resident = fmin(each, shape->blocks), waves = ceil(each / resident);
    double points = resident * shape->lines * shape->length; /* on a multiprocessor */
    double waiting = FIRST_WAIT + waves * points * POINT_INSTRUCTIONS / machine->lanes / machine->clock;
    double moving = fft_pass_bytes(pass, dtype) / (machine->copy_bandwidth * bandwidth(pass, shape, dtype));
    return fmax(waiting, moving) + machine->launch_seconds;
}

/* ---- tables */

/* Stored twiddles of a real transform: one per thread if its points are equally spaced (the thread
 * derives the others), otherwise all. */
static int real_twiddles(const fft_line_shape *shape) {
    int points = fft_points_per_thread(shape);
    bool even = points > 0 && points * shape->line_threads == shape->length && 32 % points == 0;
    return even ? shape->line_threads : shape->length;
}

fft_tables fft_line_tables(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype, void *to) {
    fft_tables t = {0, 0, 0};
    bool wide = dtype == STN_F64;
    size_t at = 0;
    int before = shape->radix[0];
    for (int s = 1; s < shape->stages; s++) {
        int radix = shape->radix[s], rows = before * (radix - 1) <= shape->table ? radix - 1 : 1;
        for (int r = 1; r <= rows; r++)
            for (int k = 0; k < before; k++) stn_store_twiddle(to, at++, wide, (int64_t)r * k, (int64_t)before * radix);
        before *= radix;
    }
    t.stages = at;
    if (pass->outer) {
        void *next = to ? (unsigned char *)to + at * (wide ? 16 : 8) : NULL;
        at += stn_twiddle_tables(pass->outer, pass->outer, dtype, next);
    }
    t.outer = at - t.stages;
    if (pass->load_real || pass->store_real)
        for (int i = 0; i < real_twiddles(shape); i++) stn_store_twiddle(to, at++, wide, i, 2 * pass->length);
    t.real = at - t.stages - t.outer;
    return t;
}

/* ---- the launch */

/* The arguments that fft_line.cu declares; the scale follows in its arithmetic type. */
typedef struct line_arguments {
    const void *in;
    void *out;
    const void *twiddle, *outer, *real;
    int64_t in_stride, out_stride, in_line[3], out_line[3], lines;
    uint32_t tiles, rows;
} line_arguments;

stn_status fft_line_launch(const struct stn_kernel *kernel, const fft_pass *pass, const fft_line_shape *shape,
                           stn_dtype dtype, const void *from, void *to, const void *twiddles, const fft_tables *tables,
                           void *stream, stn_error *error) {
    const size_t element = dtype == STN_F64 ? 16 : 8;
    const unsigned char *outer = (const unsigned char *)twiddles + tables->stages * element;
    line_arguments h = {
        .in = from, .out = to, .twiddle = twiddles, .outer = outer, .real = outer + tables->outer * element};
    h.in_stride = pass->in_stride, h.out_stride = pass->out_stride;
    for (int k = 0; k < 3; k++) h.in_line[k] = pass->loop[k].in, h.out_line[k] = pass->loop[k].out;
    h.lines = pass->loop[0].n;
    h.tiles = (uint32_t)tiles_of(pass, shape);
    h.rows = (uint32_t)pass->loop[1].n;

    _Alignas(16) unsigned char arguments[sizeof h + sizeof(double)];
    memcpy(arguments, &h, sizeof h);
    stn_put_real(dtype, pass->scale, arguments + sizeof h);
    return stn_kernel_launch(kernel, fft_line_blocks(pass, shape), shape->threads, fft_line_shared(pass, shape, dtype),
                             arguments, stream, error);
}

/* ---- params.cuh */

void fft_line_params(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype, stn_text *params) {
    const char *exchanged = shape->half_exchange ? "unsigned short" : dtype == STN_F64 ? "double" : "float";
    stn_params_begin_for(params, dtype);
    stn_params_type(params, "FFT_CELL", exchanged);
    stn_params_int(params, "BLOCKS", shape->blocks);
    stn_params_int(params, "FFT_LENGTH", shape->length);
    stn_params_int(params, "FFT_STAGES", shape->stages);
    stn_params_ints(params, "FFT_RADIX", shape->radix, (size_t)shape->stages);
    stn_params_int(params, "FFT_THREADS", shape->line_threads);
    stn_params_int(params, "FFT_LINES", shape->lines);
    stn_params_int(params, "FFT_LOOPS", pass->loops);
    stn_params_int(params, "FFT_LINES_FAST_IN", fft_fast_in(pass));
    stn_params_int(params, "FFT_LINES_FAST_OUT", fft_fast_out(pass));
    stn_params_int(params, "FFT_IN_STRIDE", pass->in_stride == 1);
    stn_params_int(params, "FFT_OUT_STRIDE", pass->out_stride == 1);
    stn_params_int(params, "FFT_PAD", shape->pad);
    stn_params_int(params, "FFT_PITCH", shape->pitch);
    stn_params_int(params, "FFT_TABLE", shape->table);
    stn_params_int(params, "FFT_SHIFT", shape->shift);
    stn_params_int(params, "FFT_MERGED", shape->merged);
    stn_params_int(params, "FFT_INVERSE", pass->inverse);
    stn_params_int(params, "FFT_SCALE", pass->scale != 1);
    stn_params_int(params, "FFT_OUTER", pass->outer ? pass->outer_loop + 1 : 0);
    stn_params_int(params, "FFT_OUTER_LOW", pass->outer ? stn_twiddle_low(pass->outer) : 0);
    stn_params_int(params, "FFT_LOAD_REAL", pass->load_real);
    stn_params_int(params, "FFT_STORE_REAL", pass->store_real);
    stn_params_int(params, "EXPECTED_HEADER", sizeof(line_arguments));
}
