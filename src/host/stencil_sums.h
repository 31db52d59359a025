/* The kernels of stencil_kernels.h for one instruction set. Included once for each, with
 *   SET     its name,
 *   TARGET  the attribute of its functions,
 *   BYTES   the size of its vectors,
 *   WIDEN, NARROW  a vector of BYTES / 8 floats as doubles, and the reverse. GCC's own conversion
 *           of vectors takes up to five instructions where the CPU has one.
 *   IS_ANY  whether any integer of a vector is not 0,
 *   MULTIPLY_HIGH  the upper halves of products of integers of 16 bits,
 *   MULTIPLY_ADD, MULTIPLY_ADD_DOUBLES  a * b + c, rounded once or twice. */
#define NAME_OF(name, set) name##_##set
#define NAME_IN(name, set) NAME_OF(name, set)
#define NAME(name) NAME_IN(name, SET)
#define LANES (BYTES / sizeof(double))
#define BLOCKS 8 /* vectors that are summed side by side in registers */
#define FEW_PAIRS STN_KERNEL_FEW_PAIRS
#define FEW_BLOCKS 4 /* vectors that NAME_few sums side by side */

typedef double NAME(vector) __attribute__((vector_size(BYTES)));
typedef double NAME(unaligned) __attribute__((vector_size(BYTES), aligned(8), may_alias));

#define AT(pointer) (*(const NAME(unaligned) *)(pointer))

typedef float NAME(floats) __attribute__((vector_size(BYTES / 2), aligned(4), may_alias));

/* Vector b of a line, as doubles. */
#define SEEN_double(line, b) AT((const double *)(line) + x + (b)*LANES)
#define SEEN_float(line, b) ((NAME(vector))WIDEN(*(const NAME(floats) *)((const float *)(line) + x + (b)*LANES)))
/* a + b. Units that add also convert floats, so floats are added by the units that multiply. */
#define PLUS_double(a, b) ((a) + (b))
#define PLUS_float(a, b) MULTIPLY_ADD_DOUBLES(a, (1 - (NAME(vector)){0}), b)
#define PUT_double(to, u) (*(NAME(unaligned) *)(to) = (u))
#define PUT_rounded(to, u) PUT_double(to, (NAME(vector))WIDEN(NARROW(u)))
#define PUT_float(to, u) (*(NAME(floats) *)(to) = (NAME(floats))NARROW(u))

/* NAME_block sums `blocks` vectors from point x on. Sums start from -0, since -0 plus a number is
 * that number, including zeros of both signs. NAME_few sums one line and some pairs, whose
 * addresses and weights stay in registers; after its first FEW_BLOCKS vectors, the others begin at
 * multiples of their size in memory, so that whole cache lines are stored. A remainder of less than
 * a vector is summed as a full vector that overlaps the previous one. */
#define DEFINE_SUM(name, real, out, put)                                                                               \
    TARGET INLINE void NAME(name##_block)(out * sum, const stn_terms *terms, size_t x, const int blocks) {             \
        NAME(vector) u[BLOCKS];                                                                                        \
        const void *const *line = terms->lines;                                                                        \
        const double *weight = terms->weights;                                                                         \
        for (int b = 0; b < blocks; b++) u[b] = -(NAME(vector)){0};                                                    \
        for (size_t k = 0; k < terms->single; k++, line++, weight++)                                                   \
            for (int b = 0; b < blocks; b++) u[b] += SEEN_##real(line[0], b) * *weight;                                \
        if (terms->odd)                                                                                                \
            for (size_t k = 0; k < terms->pairs; k++, line += 2, weight++)                                             \
                for (int b = 0; b < blocks; b++)                                                                       \
                    u[b] += (SEEN_##real(line[0], b) - SEEN_##real(line[1], b)) * *weight;                             \
        else                                                                                                           \
            for (size_t k = 0; k < terms->pairs; k++, line += 2, weight++)                                             \
                for (int b = 0; b < blocks; b++)                                                                       \
                    u[b] = PLUS_##real(PLUS_##real(SEEN_##real(line[0], b), SEEN_##real(line[1], b)) * *weight, u[b]); \
        for (int b = 0; b < blocks; b++) PUT_##put(sum + x + b * LANES, u[b]);                                         \
    }                                                                                                                  \
    TARGET INLINE void NAME(name##_few)(out * sum, const stn_terms *terms, size_t count, const int pairs) {            \
        const real *line[1 + 2 * FEW_PAIRS];                                                                           \
        NAME(vector) weight[1 + FEW_PAIRS];                                                                            \
        for (int k = 0; k <= pairs; k++) weight[k] = terms->weights[k] - (NAME(vector)){0};                            \
        for (int k = 0; k <= 2 * pairs; k++) line[k] = terms->lines[k];                                                \
        for (size_t end = FEW_BLOCKS * LANES;; end += FEW_BLOCKS * LANES) {                                            \
            const size_t x = (end < count ? end : count) - FEW_BLOCKS * LANES;                                         \
            NAME(vector) u[FEW_BLOCKS], v[FEW_BLOCKS];                                                                 \
            for (int b = 0; b < FEW_BLOCKS; b++) u[b] = SEEN_##real(line[0], b) * weight[0];                           \
            _Pragma("GCC unroll 4") for (int k = 1; k <= pairs; k++) {                                                 \
                for (int b = 0; b < FEW_BLOCKS; b++)                                                                   \
                    v[b] = PLUS_##real(SEEN_##real(line[2 * k - 1], b), SEEN_##real(line[2 * k], b));                  \
                for (int b = 0; b < FEW_BLOCKS; b++) u[b] = PLUS_##real(v[b] * weight[k], u[b]);                       \
            }                                                                                                          \
            for (int b = 0; b < FEW_BLOCKS; b++) PUT_##put(sum + x + b * LANES, u[b]);                                 \
            if (end >= count) return;                                                                                  \
            if (end == FEW_BLOCKS * LANES) end -= (uintptr_t)sum / sizeof *sum % end;                                  \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void NAME(name)(out * sum, const stn_terms *terms, size_t count) {                                   \
        size_t x = 0;                                                                                                  \
        if (count < LANES) {                                                                                           \
            name##_points(sum, terms, count);                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        if (terms->single == 1 && !terms->odd && terms->pairs && terms->pairs <= FEW_PAIRS &&                          \
            count >= FEW_BLOCKS * LANES) {                                                                             \
            if (terms->pairs == 1) NAME(name##_few)(sum, terms, count, 1);                                             \
            if (terms->pairs == 2) NAME(name##_few)(sum, terms, count, 2);                                             \
            if (terms->pairs == 3) NAME(name##_few)(sum, terms, count, 3);                                             \
            if (terms->pairs == 4) NAME(name##_few)(sum, terms, count, 4);                                             \
            return;                                                                                                    \
        }                                                                                                              \
        for (; x + BLOCKS * LANES <= count; x += BLOCKS * LANES) NAME(name##_block)(sum, terms, x, BLOCKS);            \
        if (x + 4 * LANES <= count) NAME(name##_block)(sum, terms, x, 4), x += 4 * LANES;                              \
        if (x + 2 * LANES <= count) NAME(name##_block)(sum, terms, x, 2), x += 2 * LANES;                              \
        if (x + LANES <= count) NAME(name##_block)(sum, terms, x, 1), x += LANES;                                      \
        if (x < count) NAME(name##_block)(sum, terms, count - LANES, 1);                                               \
    }
DEFINE_SUM(sum, double, double, double)
DEFINE_SUM(sum_float, float, float, float)
DEFINE_SUM(sum_rounded, double, double, rounded)
DEFINE_SUM(sum_float_rounded, float, double, rounded)
DEFINE_SUM(sum_to_float, double, float, float)

/* Symmetric filters of few pairs down columns: numbers of each line are converted once for all
 * rows. */
TARGET INLINE void NAME(columns_few)(double *const *sums, const void *const *lines, const double *weights, size_t count,
                                     const int pairs) {
    const float *line[STN_KERNEL_COLUMN_ROWS + 2 * FEW_PAIRS];
    double *to[STN_KERNEL_COLUMN_ROWS];
    NAME(vector) weight[1 + FEW_PAIRS], v[STN_KERNEL_COLUMN_ROWS + 2 * FEW_PAIRS];
    for (int k = 0; k <= pairs; k++) weight[k] = weights[k] - (NAME(vector)){0};
    for (int k = 0; k < STN_KERNEL_COLUMN_ROWS + 2 * pairs; k++) line[k] = lines[k];
    for (int r = 0; r < STN_KERNEL_COLUMN_ROWS; r++) to[r] = sums[r];
    for (size_t end = LANES; end < count + LANES; end += LANES) {
        const size_t x = (end < count ? end : count) - LANES;
        _Pragma("GCC unroll 8") for (int k = 0; k < 2 * pairs; k++) v[k] = SEEN_float(line[k], 0);
        _Pragma("GCC unroll 4") for (int r = 0; r < STN_KERNEL_COLUMN_ROWS; r++) {
            v[r + 2 * pairs] = SEEN_float(line[r + 2 * pairs], 0);
            NAME(vector) u = v[r + pairs] * weight[0];
            _Pragma("GCC unroll 4") for (int k = 1; k <= pairs; k++) {
                u += PLUS_float(v[r + k - 1], v[r + 2 * pairs + 1 - k]) * weight[k];
            }
            PUT_rounded(to[r] + x, u);
        }
    }
}
TARGET static void NAME(sum_columns)(double *const *sums, const void *const *lines, const double *weights, size_t pairs,
                                     size_t count) {
    if (pairs == 1) NAME(columns_few)(sums, lines, weights, count, 1);
    if (pairs == 2) NAME(columns_few)(sums, lines, weights, count, 2);
    if (pairs == 3) NAME(columns_few)(sums, lines, weights, count, 3);
    if (pairs == 4) NAME(columns_few)(sums, lines, weights, count, 4);
}

/* A vector of a row from `shift` numbers after `row`, joined from two vectors. */
#if BYTES == 64
#define FROM(k) k, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7
#elif BYTES == 32
#define FROM(k) k, k + 1, k + 2, k + 3
#else
#define FROM(k) k, 2
#endif
TARGET INLINE NAME(vector) NAME(joined)(const double *row, const size_t shift) {
    typedef int64_t index __attribute__((vector_size(BYTES), unused));
    const NAME(vector) low = AT(row + shift / LANES * LANES), high = AT(row + shift / LANES * LANES + LANES);
    return shift % LANES == 0   ? low
           : shift % LANES == 1 ? STN_SHUFFLE(index, low, high, FROM(1))
           : shift % LANES == 2 ? STN_SHUFFLE(index, low, high, FROM(2))
                                : STN_SHUFFLE(index, low, high, FROM(3));
}
#undef FROM

/* The same filters along a row. Most loads at shifts of a few numbers cross cache lines, which
 * takes twice as long, while the units that shuffle are idle: half of the shifts are loads, the
 * others shuffles. */
#define DEFINE_ROW(name, out, put)                                                                                     \
    TARGET INLINE void NAME(name##_few)(out * sum, const double *row, const double *weights, size_t count,             \
                                        const int pairs) {                                                             \
        NAME(vector) weight[1 + FEW_PAIRS];                                                                            \
        for (int k = 0; k <= pairs; k++) weight[k] = weights[k] - (NAME(vector)){0};                                   \
        for (size_t end = LANES; end < count + LANES; end += LANES) {                                                  \
            const size_t x = (end < count ? end : count) - LANES;                                                      \
            NAME(vector) u = AT(row + x + pairs) * weight[0];                                                          \
            _Pragma("GCC unroll 4") for (int k = 1; k <= pairs; k++) {                                                 \
                u += (NAME(joined)(row + x, (size_t)k - 1) + AT(row + x + 2 * pairs + 1 - k)) * weight[k];             \
            }                                                                                                          \
            PUT_##put(sum + x, u);                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void NAME(name)(out * sum, const double *row, const double *weights, size_t pairs, size_t count) {   \
        if (pairs == 1) NAME(name##_few)(sum, row, weights, count, 1);                                                 \
        if (pairs == 2) NAME(name##_few)(sum, row, weights, count, 2);                                                 \
        if (pairs == 3) NAME(name##_few)(sum, row, weights, count, 3);                                                 \
        if (pairs == 4) NAME(name##_few)(sum, row, weights, count, 4);                                                 \
    }
DEFINE_ROW(sum_row, double, double)
DEFINE_ROW(sum_row_to_float, float, float)
#undef DEFINE_ROW

/* Vectors per row: with two rows, this leaves registers for a vector of a line and two weights. */
#define ROW_BLOCKS (BYTES == 32 ? 6 : BYTES / 8)

/* NAME_line adds the taps of one line to rows r0 to r1. weights: those for row r1; those for row
 * r1 - 1 follow `width` numbers later. NAME_block sums `blocks` vectors of each row. If all
 * products are exact, fused additions have the same results and take fewer instructions. */
#define DEFINE_ROWS(name, real, out, put)                                                                              \
    TARGET INLINE void NAME(name##_line)(NAME(vector)(*u)[ROW_BLOCKS], const void *line, size_t x,                     \
                                         const double *weights, size_t width, const int r0, const int r1,              \
                                         const int blocks, const bool exact) {                                         \
        for (size_t m = 0; m < width; m++, x++)                                                                        \
            for (int b = 0; b < blocks; b++) {                                                                         \
                const NAME(vector) v = SEEN_##real(line, b);                                                           \
                for (int r = r0; r <= r1; r++) {                                                                       \
                    const NAME(vector) w = weights[m + (size_t)(r1 - r) * width] - (NAME(vector)){0};                  \
                    u[r][b] = exact ? MULTIPLY_ADD_DOUBLES(v, w, u[r][b]) : u[r][b] + v * w;                           \
                }                                                                                                      \
            }                                                                                                          \
    }                                                                                                                  \
    TARGET INLINE void NAME(name##_block)(out *const *sums, const stn_dense *dense, size_t x, const int blocks,        \
                                          const bool exact) {                                                          \
        NAME(vector) u[STN_KERNEL_ROWS][ROW_BLOCKS];                                                                   \
        const size_t height = dense->height, width = dense->width;                                                     \
        const double *weights = dense->weights;                                                                        \
        const void *const *row = dense->rows;                                                                          \
        for (int r = 0; r < STN_KERNEL_ROWS; r++)                                                                      \
            for (int b = 0; b < blocks; b++) u[r][b] = -(NAME(vector)){0};                                             \
        for (size_t p = 0; p < dense->planes; p++, weights += width) {                                                 \
            NAME(name##_line)(u, *row++, x, weights, width, 0, 0, blocks, exact);                                      \
            for (size_t q = 1; q < height; q++, weights += width)                                                      \
                NAME(name##_line)(u, *row++, x, weights, width, 0, 1, blocks, exact);                                  \
            NAME(name##_line)(u, *row++, x, weights, width, 1, 1, blocks, exact);                                      \
        }                                                                                                              \
        for (int r = 0; r < STN_KERNEL_ROWS; r++)                                                                      \
            for (int b = 0; b < blocks; b++) PUT_##put(sums[r] + x + b * LANES, u[r][b]);                              \
    }                                                                                                                  \
    TARGET static void NAME(name)(out *const *sums, const stn_dense *dense, size_t count) {                            \
        size_t x = 0;                                                                                                  \
        if (dense->exact)                                                                                              \
            for (; x + ROW_BLOCKS * LANES <= count; x += ROW_BLOCKS * LANES)                                           \
                NAME(name##_block)(sums, dense, x, ROW_BLOCKS, true);                                                  \
        else                                                                                                           \
            for (; x + ROW_BLOCKS * LANES <= count; x += ROW_BLOCKS * LANES)                                           \
                NAME(name##_block)(sums, dense, x, ROW_BLOCKS, false);                                                 \
        for (; x + LANES <= count; x += LANES) NAME(name##_block)(sums, dense, x, 1, false);                           \
        if (x < count) NAME(name##_block)(sums, dense, count - LANES, 1, false);                                       \
    }
DEFINE_ROWS(sum_rows, double, double, double)
DEFINE_ROWS(sum_rows_to_float, double, float, float)
DEFINE_ROWS(sum_rows_float, float, float, float)
#undef DEFINE_ROWS
#undef ROW_BLOCKS

#define AVERAGE_BLOCKS (STN_AVERAGE_COLUMNS / (int)LANES)

/* divide: text that divides what is before it: `/ divisor`, or `* factor`, where factor is
 * 1 / divisor. check becomes NaN if any double is not finite. */
#define DEFINE_AVERAGES(real, divide)                                                                                  \
    TARGET static void NAME(add_row_##real)(double *sum, const double *before, const void *from, size_t count) {       \
        const real *const row = from;                                                                                  \
        size_t x = 0;                                                                                                  \
        for (; x + LANES <= count; x += LANES) PUT_double(sum + x, AT(before + x) + SEEN_##real(row, 0));              \
        for (; x < count; x++) sum[x] = before[x] + (double)row[x];                                                    \
    }                                                                                                                  \
    TARGET INLINE void NAME(put_mean_##real)(real * to, NAME(vector) mean, NAME(vector) * check) {                     \
        PUT_##real(to, mean);                                                                                          \
        if (sizeof(real) == sizeof(double)) *check += mean * 0;                                                        \
    }                                                                                                                  \
    TARGET INLINE bool NAME(is_zero_##real)(NAME(vector) check) {                                                      \
        double all = 0;                                                                                                \
        for (size_t k = 0; k < LANES; k++) all += check[k];                                                            \
        return all == 0;                                                                                               \
    }                                                                                                                  \
    TARGET static bool NAME(mean_row_##real)(void *means, const double *suffix, double *prefix, const void *from,      \
                                             size_t count, double divisor) {                                           \
        const real *const row = from;                                                                                  \
        real *const to = means;                                                                                        \
        const double factor = 1 / divisor;                                                                             \
        NAME(vector) check = {0};                                                                                      \
        size_t x = 0;                                                                                                  \
        (void)factor;                                                                                                  \
        for (; x + LANES <= count; x += LANES) {                                                                       \
            const NAME(vector) sum = AT(prefix + x) + SEEN_##real(row, 0);                                             \
            PUT_double(prefix + x, sum);                                                                               \
            NAME(put_mean_##real)(to + x, (AT(suffix + x) + sum) divide, &check);                                      \
        }                                                                                                              \
        for (; x < count; x++) {                                                                                       \
            prefix[x] += (double)row[x];                                                                               \
            const double mean = (suffix[x] + prefix[x]) divide;                                                        \
            to[x] = (real)mean;                                                                                        \
            if (sizeof(real) == sizeof(double)) check[0] += mean * 0;                                                  \
        }                                                                                                              \
        return NAME(is_zero_##real)(check);                                                                            \
    }                                                                                                                  \
    TARGET static bool NAME(average_##real)(void *means, const void *rows, const void *next, size_t size,              \
                                            size_t count, double divisor, double *restrict suffix) {                   \
        const size_t x = 0;                                                                                            \
        const double factor = 1 / divisor;                                                                             \
        const real *const row = rows, *const later = next;                                                             \
        real *restrict to = means;                                                                                     \
        NAME(vector) u[AVERAGE_BLOCKS], check = {0};                                                                   \
        (void)factor;                                                                                                  \
        for (int b = 0; b < AVERAGE_BLOCKS; b++) u[b] = (NAME(vector)){0};                                             \
        for (size_t i = size; i-- > 0;)                                                                                \
            for (int b = 0; b < AVERAGE_BLOCKS; b++) {                                                                 \
                u[b] += SEEN_##real(row + i * STN_AVERAGE_COLUMNS, b);                                                 \
                PUT_double(suffix + i * STN_AVERAGE_COLUMNS + b * LANES, u[b]);                                        \
            }                                                                                                          \
        for (int b = 0; b < AVERAGE_BLOCKS; b++) u[b] = (NAME(vector)){0};                                             \
        for (size_t i = 0; i < count; i++, to += STN_AVERAGE_COLUMNS)                                                  \
            for (int b = 0; b < AVERAGE_BLOCKS; b++) {                                                                 \
                if (i) u[b] += SEEN_##real(later + (i - 1) * STN_AVERAGE_COLUMNS, b);                                  \
                const NAME(vector) end = AT(suffix + i * STN_AVERAGE_COLUMNS + b * LANES);                             \
                NAME(put_mean_##real)(to + b * LANES, (end + u[b]) divide, &check);                                    \
            }                                                                                                          \
        return NAME(is_zero_##real)(check);                                                                            \
    }
/* NAME_tile: to[j][i] = from[i][j] for 4 x 4 numbers; strides are from one row to the next; the
 * first shuffles are those that are one instruction for vectors of 16 and of 32 bytes. Rows
 * with the larger stride may all be in the same few sets of the cache: four of them are completed
 * before the next four. Tiles at the end overlap others. */
#define DEFINE_TRANSPOSE(real, integer)                                                                                \
    TARGET INLINE void NAME(tile_##real)(const real *from, int64_t from_stride, real *to, int64_t to_stride) {         \
        typedef real row __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));             \
        typedef integer index __attribute__((vector_size(4 * sizeof(real)), unused));                                  \
        const bool wide = sizeof(real) == sizeof(double);                                                              \
        row a[4], b[4];                                                                                                \
        for (int i = 0; i < 4; i++) a[i] = *(const row *)(from + i * from_stride);                                     \
        for (int i = 0; i < 4; i += 2) {                                                                               \
            b[i] = wide ? STN_SHUFFLE(index, a[i], a[i + 1], 0, 4, 2, 6)                                               \
                        : STN_SHUFFLE(index, a[i], a[i + 1], 0, 4, 1, 5);                                              \
            b[i + 1] = wide ? STN_SHUFFLE(index, a[i], a[i + 1], 1, 5, 3, 7)                                           \
                            : STN_SHUFFLE(index, a[i], a[i + 1], 2, 6, 3, 7);                                          \
        }                                                                                                              \
        for (int i = 0; i < 2; i++) {                                                                                  \
            *(row *)(to + (wide ? i : 2 * i) * to_stride) = STN_SHUFFLE(index, b[i], b[i + 2], 0, 1, 4, 5);            \
            *(row *)(to + (wide ? i + 2 : 2 * i + 1) * to_stride) = STN_SHUFFLE(index, b[i], b[i + 2], 2, 3, 6, 7);    \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void NAME(transpose_##real)(const void *source, int64_t from_stride, int64_t rows, int64_t columns,  \
                                              void *target, int64_t to_stride) {                                       \
        const real *const from = source;                                                                               \
        real *const to = target;                                                                                       \
        if (rows < 4 || columns < 4) {                                                                                 \
            for (int64_t i = 0; i < rows; i++)                                                                         \
                for (int64_t j = 0; j < columns; j++) to[j * to_stride + i] = from[i * from_stride + j];               \
            return;                                                                                                    \
        }                                                                                                              \
        const bool by_rows = from_stride > to_stride;                                                                  \
        const int64_t outer = by_rows ? rows : columns, inner = by_rows ? columns : rows;                              \
        for (int64_t k = 0; k < outer; k += 4)                                                                         \
            for (int64_t l = 0; l < inner; l += 4) {                                                                   \
                const int64_t m = k + 4 <= outer ? k : outer - 4, n = l + 4 <= inner ? l : inner - 4;                  \
                const int64_t i = by_rows ? m : n, j = by_rows ? n : m;                                                \
                NAME(tile_##real)(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);         \
            }                                                                                                          \
    }
DEFINE_TRANSPOSE(float, int32_t)
DEFINE_TRANSPOSE(double, int64_t)
#undef DEFINE_TRANSPOSE

DEFINE_AVERAGES(float, *factor)
DEFINE_AVERAGES(double, / divisor)
#undef DEFINE_AVERAGES
#undef AVERAGE_BLOCKS

/* As many rows as leave registers for a number and its weight. */
#define SPECTRA (int)LANES

/* One number of input row q, for output rows r0 to r1. */
TARGET INLINE void NAME(add_spectrum)(NAME(vector) (*u)[2], const double *row, size_t imaginary, const double *weight,
                                      const int r0, const int r1) {
    const NAME(vector) re = AT(row), im = AT(row + imaginary), minus = -im;
    for (int r = r0; r <= r1; r++) {
        const NAME(vector) wr = weight[-2 * r] - (NAME(vector)){0}, wi = weight[1 - 2 * r] - (NAME(vector)){0};
        u[r][0] = MULTIPLY_ADD_DOUBLES(re, wr, u[r][0]);
        u[r][1] = MULTIPLY_ADD_DOUBLES(re, wi, u[r][1]);
        u[r][0] = MULTIPLY_ADD_DOUBLES(minus, wi, u[r][0]);
        u[r][1] = MULTIPLY_ADD_DOUBLES(im, wr, u[r][1]);
    }
}

TARGET static void NAME(sum_spectra)(double *const *sums, const double *const *rows, const double *weights,
                                     size_t count, size_t points) {
    const size_t imaginary = points * STN_SPECTRA_LANES;
    for (size_t x = 0; x < imaginary; x += LANES) {
        const double *weight = weights + x / STN_SPECTRA_LANES * 2 * count;
        for (int first = 0; first < STN_SPECTRA_ROWS; first += SPECTRA) {
            const double *const *row = rows + first;
            NAME(vector) u[LANES][2] = {{{0}}};
            int q = 0;
#pragma GCC unroll 8
            for (; q < SPECTRA - 1; q++) NAME(add_spectrum)(u, row[q] + x, imaginary, weight + 2 * q, 0, q);
            for (; q < (int)count; q++) {
                const double *at = weight + 2 * q;
                /* Hides from GCC that the next row shares weights: it would keep them in registers,
                 * of which there are too few. */
                __asm__("" : "+r"(at));
                if (!first) /* hardware prefetchers do not follow so many rows */
                    __builtin_prefetch(row[q] + x + 16), __builtin_prefetch(row[q] + x + 16 + imaginary);
                NAME(add_spectrum)(u, row[q] + x, imaginary, at, 0, SPECTRA - 1);
            }
#pragma GCC unroll 8
            for (int r = 1; r < SPECTRA; r++, q++)
                NAME(add_spectrum)(u, row[q] + x, imaginary, weight + 2 * q, r, SPECTRA - 1);
            for (int r = 0; r < SPECTRA; r++) {
                *(NAME(unaligned) *)(sums[first + r] + x) = u[r][0];
                *(NAME(unaligned) *)(sums[first + r] + imaginary + x) = u[r][1];
            }
        }
    }
}
#undef SPECTRA

/* A remainder of less than a vector is converted as a full vector that overlaps the previous
 * one. */
TARGET static void NAME(load_f32)(double *restrict to, const void *from, size_t count) {
    const float *restrict at = from;
    size_t x = 0;
    if (count < LANES)
        for (; x < count; x++) to[x] = at[x];
    for (; x + LANES <= count; x += LANES)
        *(NAME(unaligned) *)(to + x) = (NAME(unaligned))WIDEN(*(const NAME(floats) *)(at + x));
    if (x < count)
        *(NAME(unaligned) *)(to + count - LANES) = (NAME(unaligned))WIDEN(*(const NAME(floats) *)(at + count - LANES));
}
TARGET static void NAME(store_f32)(void *to, const double *restrict from, size_t count) {
    float *restrict at = to;
    size_t x = 0;
    if (count < LANES)
        for (; x < count; x++) at[x] = (float)from[x];
    for (; x + LANES <= count; x += LANES) *(NAME(floats) *)(at + x) = (NAME(floats))NARROW(AT(from + x));
    if (x < count) *(NAME(floats) *)(at + count - LANES) = (NAME(floats))NARROW(AT(from + count - LANES));
}
TARGET static void NAME(load_f64)(double *restrict to, const void *from, size_t count) {
    memcpy(to, from, count * sizeof *to);
}

#define DEFINE_LOAD(name, type, convert)                                                                               \
    TARGET static void NAME(load_##name)(double *restrict to, const void *from, size_t count) {                        \
        const type *restrict at = from;                                                                                \
        for (size_t x = 0; x < count; x++) to[x] = convert(at[x]);                                                     \
    }
EACH_NUMBER(DEFINE_LOAD)

/* If all numbers fit into 32 bits, they are truncated by instructions that every vector unit
 * has. */
#define DEFINE_STORE_WHOLE(name, type, convert)                                                                        \
    TARGET static void NAME(store_##name)(void *to, const double *restrict from, size_t count) {                       \
        type *restrict at = to;                                                                                        \
        int large = 0;                                                                                                 \
        for (size_t x = 0; x < count; x++) large |= !(fabs(from[x]) < 0x1p31);                                         \
        if (large)                                                                                                     \
            for (size_t x = 0; x < count; x++) at[x] = (type)whole_##name(from[x]);                                    \
        else                                                                                                           \
            for (size_t x = 0; x < count; x++) at[x] = (type)convert((int32_t)from[x]);                                \
    }
EACH_WHOLE(DEFINE_STORE_WHOLE)

TARGET static void NAME(store_f64)(void *to, const double *from, size_t count) {
    memcpy(to, from, count * sizeof *from);
}
TARGET static void NAME(store_f16)(void *to, const double *restrict from, size_t count) {
    uint16_t *restrict at = to;
    for (size_t x = 0; x < count; x++) at[x] = stn_float_to_half((float)from[x]);
}
TARGET static void NAME(store_bf16)(void *to, const double *restrict from, size_t count) {
    uint16_t *restrict at = to;
    for (size_t x = 0; x < count; x++) at[x] = stn_float_to_bfloat((float)from[x]);
}

/* Sums of bytes, truncated to bytes. Sums are computed in floats, with errors below terms->error,
 * so the truncated result is right unless the sum is closer than this to an integer. A vector with
 * such a point is computed again: if all lines have the same bytes, as in constant areas, from
 * terms->constants, else in doubles. */
#define BYTE_LANES (BYTES / 4) /* points of a vector of floats */
#define BYTE_BLOCKS 2          /* vectors of bytes that are summed side by side */

typedef float NAME(real) __attribute__((vector_size(BYTES)));
typedef int32_t NAME(whole) __attribute__((vector_size(BYTES)));
typedef int64_t NAME(words) __attribute__((vector_size(BYTES)));
typedef uint16_t NAME(shorts) __attribute__((vector_size(BYTES)));
typedef uint16_t NAME(bytes) __attribute__((vector_size(BYTES), aligned(1), may_alias));

/* Floats are compared by their bits, since the signs of zeros matter too. An integer counts as
 * included if it is slightly outside, since the ends of an interval are rounded. */
TARGET static bool NAME(bound)(double *low, double *high, const double *values, size_t count, double absolute,
                               double relative, bool whole) {
    NAME(words) open = {0};
    for (size_t x = 0; x < count; x += LANES) {
        const NAME(vector) v = AT(values + x), margin = absolute + relative * v, least = v - margin, most = v + margin;
        const NAME(vector) off = v - ((v + 0x1.8p52) - 0x1.8p52);
        *(NAME(unaligned) *)(low + x) = least;
        *(NAME(unaligned) *)(high + x) = most;
        if (whole)
            open |= off * off < 1.1 * (margin * margin);
        else
            open |= (NAME(words))WIDEN(NARROW(least)) != (NAME(words))WIDEN(NARROW(most));
    }
    return IS_ANY(open);
}

/* BYTE_LANES points from x on. */
TARGET __attribute__((noinline)) static void NAME(sum_byte_exactly)(uint8_t *sum, const stn_terms *terms, size_t x) {
    double u[BYTE_LANES], line[2 * STN_KERNEL_BYTE_TERMS][BYTE_LANES];
    const void *lines[2 * STN_KERNEL_BYTE_TERMS];
    const uint8_t *first = (const uint8_t *)terms->lines[0] + x;
    int differ = 0;
    for (size_t k = 0; k < terms->single + 2 * terms->pairs; k++) {
        lines[k] = (const uint8_t *)terms->lines[k] + x;
        differ |= memcmp(lines[k], first, BYTE_LANES);
    }
    if (!differ) {
        for (size_t k = 0; k < BYTE_LANES; k++) sum[x + k] = terms->constants[first[k]];
        return;
    }
    for (size_t k = 0; k < terms->single + 2 * terms->pairs; k++) {
        NAME(load_u8)(line[k], lines[k], BYTE_LANES);
        lines[k] = line[k];
    }
    stn_terms of_doubles = *terms;
    of_doubles.lines = lines;
    NAME(sum)(u, &of_doubles, BYTE_LANES);
    NAME(store_u8)(sum + x, u, BYTE_LANES);
}

/* The vectors of bytes from point x on. Masks and shifts split a vector of bytes into four of
 * integers: the first one has each fourth byte from byte 0 on, the next ones from bytes 2, 1 and
 * 3 on. */
TARGET INLINE void NAME(sum_byte_block)(uint8_t *sum, const stn_terms *terms, const float *weight, size_t x,
                                        const int blocks, const bool odd) {
    const void *const *line = terms->lines;
    NAME(real) u[BYTE_BLOCKS][4] = {{{0}}};
    const NAME(shorts) low = (uint16_t)0xff - (NAME(shorts)){0};
#define SEEN_BYTES(line, b) (*(const NAME(bytes) *)((const uint8_t *)(line) + x + (b)*BYTES))
/* `*weight - (vector){0}` makes a vector of copies of *weight; subtracting 0 changes no value. */
#define ADD_WHOLE(u, value)                                                                                            \
    u = (NAME(real))MULTIPLY_ADD(__builtin_convertvector(value, NAME(real)), (*weight - (NAME(real)){0}), u)
#define ADD_SHORTS(u, value)                                                                                           \
    do {                                                                                                               \
        const NAME(whole) v = (NAME(whole))(value);                                                                    \
        ADD_WHOLE((u)[0], odd ? v << 16 >> 16 : v & 0xffff);                                                           \
        ADD_WHOLE((u)[1], v >> 16);                                                                                    \
    } while (0)
    for (size_t k = 0; k < terms->single; k++, line++, weight++)
        for (int b = 0; b < blocks; b++) {
            const NAME(shorts) from = SEEN_BYTES(line[0], b);
            ADD_SHORTS(u[b], from & low);
            ADD_SHORTS(u[b] + 2, from >> 8);
        }
    for (size_t k = 0; k < terms->pairs; k++, line += 2, weight++)
        for (int b = 0; b < blocks; b++) {
            const NAME(shorts) one = SEEN_BYTES(line[0], b), two = SEEN_BYTES(line[1], b);
            ADD_SHORTS(u[b], odd ? (one & low) - (two & low) : (one & low) + (two & low));
            ADD_SHORTS(u[b] + 2, odd ? (one >> 8) - (two >> 8) : (one >> 8) + (two >> 8));
        }
#undef ADD_SHORTS
#undef ADD_WHOLE
#undef SEEN_BYTES
    const float least = terms->error * terms->error;
    NAME(whole) close[BYTE_BLOCKS], any = {0};
    for (int b = 0; b < blocks; b++) {
        NAME(whole) narrow[4];
        close[b] = (NAME(whole)){0};
        for (int i = 0; i < 4; i++) {
            const NAME(real) off = u[b][i] - ((u[b][i] + 0x1.8p23F) - 0x1.8p23F);
            close[b] |= off * off < least;
            narrow[i] = __builtin_convertvector(u[b][i], NAME(whole)) & 0xff;
        }
        any |= close[b];
        *(NAME(bytes) *)(sum + x + b * BYTES) =
            (NAME(bytes))(narrow[0] | narrow[1] << 16 | narrow[2] << 8 | narrow[3] << 24);
    }
    if (IS_ANY(any))
        for (int b = 0; b < blocks; b++)
            for (size_t k = 0; k < 4; k++) {
                int32_t near = 0;
                for (size_t l = 0; l < BYTE_LANES / 4; l++) near |= close[b][k * BYTE_LANES / 4 + l];
                if (near) NAME(sum_byte_exactly)(sum, terms, x + b * BYTES + k * BYTE_LANES);
            }
}

TARGET static void NAME(sum_byte)(uint8_t *sum, const stn_terms *terms, size_t count) {
    if (count < BYTES) {
        sum_byte_points(sum, terms, count);
        return;
    }
    float weights[STN_KERNEL_BYTE_TERMS];
    for (size_t k = 0; k < terms->single + terms->pairs; k++) weights[k] = (float)terms->weights[k];
    size_t x = 0;
    if (!terms->odd)
        for (; x + BYTE_BLOCKS * BYTES <= count; x += BYTE_BLOCKS * BYTES)
            NAME(sum_byte_block)(sum, terms, weights, x, BYTE_BLOCKS, false);
    for (; x < count; x += BYTES) {
        const size_t at = x + BYTES <= count ? x : count - BYTES;
        if (terms->odd)
            NAME(sum_byte_block)(sum, terms, weights, at, 1, true);
        else
            NAME(sum_byte_block)(sum, terms, weights, at, 1, false);
    }
}

/* ACCUMULATE: the prefix sums of a vector of 16 bytes, in place. LAST: its last number in all
 * lanes. */
#define ACCUMULATE_uint32_t(u, zero)                                                                                   \
    u += STN_SHUFFLE(sums, zero, u, 0, 4, 5, 6), u += STN_SHUFFLE(sums, zero, u, 0, 1, 4, 5)
#define ACCUMULATE_uint16_t(u, zero)                                                                                   \
    u += STN_SHUFFLE(sums, zero, u, 0, 8, 9, 10, 11, 12, 13, 14),                                                      \
        u += STN_SHUFFLE(sums, zero, u, 0, 1, 8, 9, 10, 11, 12, 13),                                                   \
        u += STN_SHUFFLE(sums, zero, u, 0, 1, 2, 3, 8, 9, 10, 11)
#define LAST_uint32_t(u) STN_SHUFFLE(sums, u, u, 3, 3, 3, 3)
#define LAST_uint16_t(u) STN_SHUFFLE(sums, u, u, 7, 7, 7, 7, 7, 7, 7, 7)

#define DEFINE_INTEGERS(name, type, wide)                                                                              \
    typedef wide NAME(wide_##name) __attribute__((vector_size(BYTES), aligned(sizeof(wide)), may_alias));              \
    typedef type NAME(narrow_##name)                                                                                   \
        __attribute__((vector_size(BYTES / sizeof(wide) * sizeof(type)), aligned(sizeof(type)), may_alias));           \
    TARGET static void NAME(slide_##name)(void *to, const void *enter, const void *leave, size_t count) {              \
        const type *restrict in = enter, *restrict past = leave;                                                       \
        wide *restrict sum = to;                                                                                       \
        for (size_t x = 0; x < count; x++) sum[x] = (wide)(sum[x] + in[x] - past[x]);                                  \
    }                                                                                                                  \
    TARGET static void NAME(accumulate_##name)(void *to, const void *from, size_t count) {                             \
        typedef type numbers __attribute__((vector_size(16 / sizeof(wide) * sizeof(type)), aligned(1), may_alias));    \
        typedef wide sums __attribute__((vector_size(16), aligned(sizeof(wide)), may_alias));                          \
        const size_t lanes = 16 / sizeof(wide);                                                                        \
        const type *at = from;                                                                                         \
        wide *sum = to;                                                                                                \
        const sums zero = {0};                                                                                         \
        sums before = sum[0] - zero;                                                                                   \
        size_t x = 0;                                                                                                  \
        for (; x + lanes <= count; x += lanes) {                                                                       \
            sums u = __builtin_convertvector(*(const numbers *)(at + x), sums);                                        \
            ACCUMULATE_##wide(u, zero);                                                                                \
            u += before;                                                                                               \
            *(sums *)(sum + x + 1) = u;                                                                                \
            before = LAST_##wide(u);                                                                                   \
        }                                                                                                              \
        for (; x < count; x++) sum[x + 1] = (wide)(sum[x] + at[x]);                                                    \
    }
/* Stores the quotients of whole vectors of sums, minus those at `leave` unless it is NULL; returns
 * their number of points. */
#define DEFINE_QUOTIENTS(name, type, wide, divide)                                                                     \
    TARGET INLINE size_t NAME(blocks_##name##_##divide)(type * to, const wide *sums, const wide *leave, size_t count,  \
                                                        double divisor) {                                              \
        const size_t lanes = BYTES / sizeof(wide);                                                                     \
        const NAME(divisor_##divide) by = NAME(begin_##divide)(divisor);                                               \
        size_t x = 0;                                                                                                  \
        for (; x + lanes <= count; x += lanes) {                                                                       \
            NAME(wide_##name) u = *(const NAME(wide_##name) *)(sums + x);                                              \
            if (leave) u -= *(const NAME(wide_##name) *)(leave + x);                                                   \
            *(NAME(narrow_##name) *)(to + x) = __builtin_convertvector(NAME(divide)(u, &by), NAME(narrow_##name));     \
        }                                                                                                              \
        return x;                                                                                                      \
    }
DEFINE_INTEGERS(small, uint8_t, uint16_t)
DEFINE_INTEGERS(u8, uint8_t, uint32_t)
DEFINE_INTEGERS(u16, uint16_t, uint32_t)

/* by_float: quotients of sums below 2^21. Adding 0.5 to the sum adds 0.5 / divisor to the quotient.
 * This exceeds the rounding error of the quotient, so that an exact integer is not rounded down,
 * and it is less than 1 / divisor, the smallest distance from a quotient to the next integer. */
typedef float NAME(divisor_by_float);
TARGET INLINE float NAME(begin_by_float)(double divisor) { return (float)(1 / divisor); }
TARGET INLINE NAME(whole) NAME(by_float)(NAME(wide_u16) sum, const float *factor) {
    const NAME(real) u = (__builtin_convertvector((NAME(whole))sum, NAME(real)) + 0.5F) * *factor;
    return __builtin_convertvector(u, NAME(whole));
}

/* corrected: quotients of any sums. Half the sum times slightly less than 2 / divisor, truncated,
 * is the quotient or one less; the remainder decides which. */
typedef struct NAME(divisor_corrected) {
    int32_t divisor;
    float factor;
} NAME(divisor_corrected);
TARGET INLINE NAME(divisor_corrected) NAME(begin_corrected)(double divisor) {
    return (NAME(divisor_corrected)){(int32_t)divisor, (float)(2 / divisor * (1 - 0x1p-20))};
}
TARGET INLINE NAME(whole) NAME(corrected)(NAME(wide_u16) sum, const NAME(divisor_corrected) * by) {
    const NAME(real) half = __builtin_convertvector((NAME(whole))(sum >> 1), NAME(real));
    const NAME(whole) quotient = __builtin_convertvector(half * by->factor, NAME(whole));
    const NAME(wide_u16) rest = sum - (NAME(wide_u16))quotient * (uint32_t)by->divisor;
    return quotient - ((NAME(whole))rest >= by->divisor);
}

/* by_integer: quotients of sums of 16 bits. The upper half of the product with a factor of 16 bits
 * is shifted right by `bits`. The factor is 2^(16 + bits) / divisor, rounded up if all quotients
 * are then exact (Granlund and Montgomery, 1994); else it is rounded down, and 1 is added to each
 * sum. */
typedef struct NAME(divisor_by_integer) {
    uint16_t factor, more;
    int bits;
} NAME(divisor_by_integer);
TARGET INLINE NAME(divisor_by_integer) NAME(begin_by_integer)(double divisor) {
    const uint32_t d = (uint32_t)divisor;
    int bits = 0;
    while ((d - 1) >> (bits + 1)) bits++;
    const uint32_t one = UINT32_C(1) << (16 + bits), up = (one + d - 1) / d;
    const bool is_exact = (uint64_t)UINT8_MAX * d * (up * d - one) < one;
    return (NAME(divisor_by_integer)){(uint16_t)(is_exact ? up : up - 1), !is_exact, bits};
}
TARGET INLINE NAME(wide_small) NAME(by_integer)(NAME(wide_small) sum, const NAME(divisor_by_integer) * by) {
    return (NAME(wide_small))MULTIPLY_HIGH(sum + by->more, by->factor - (NAME(wide_small)){0}) >> by->bits;
}
DEFINE_QUOTIENTS(small, uint8_t, uint16_t, by_integer)
DEFINE_QUOTIENTS(u8, uint8_t, uint32_t, corrected)
DEFINE_QUOTIENTS(u16, uint16_t, uint32_t, by_float)
DEFINE_QUOTIENTS(u16, uint16_t, uint32_t, corrected)
#define QUOTIENTS(name, type, wide, divide)                                                                            \
    const wide *const all = sums, *const less = leave;                                                                 \
    size_t x = divisor > 1 ? NAME(blocks_##name##_##divide)(to, all, less, count, divisor) : 0;                        \
    for (; x < count; x++) ((type *)to)[x] = (type)((wide)(all[x] - (less ? less[x] : 0)) / (uint32_t)divisor)
TARGET static void NAME(quotients_small)(void *to, const void *sums, const void *leave, size_t count, double divisor) {
    QUOTIENTS(small, uint8_t, uint16_t, by_integer);
}
TARGET static void NAME(quotients_u8)(void *to, const void *sums, const void *leave, size_t count, double divisor) {
    QUOTIENTS(u8, uint8_t, uint32_t, corrected);
}
TARGET static void NAME(quotients_u16)(void *to, const void *sums, const void *leave, size_t count, double divisor) {
    if (UINT16_MAX * divisor < 0x1p21) {
        QUOTIENTS(u16, uint16_t, uint32_t, by_float);
    } else {
        QUOTIENTS(u16, uint16_t, uint32_t, corrected);
    }
}
#undef QUOTIENTS

/* Masks and shifts split each pair of neighbouring numbers, which is read as one wide number. */
#define DEFINE_MEANS(name, type, wide, divide)                                                                         \
    TARGET INLINE void NAME(means_of_##name)(type * to, const void *const *lines, const size_t used, size_t count) {   \
        typedef wide pairs __attribute__((vector_size(BYTES), aligned(1), may_alias));                                 \
        const int bits = 8 * sizeof(type);                                                                             \
        const NAME(divisor_##divide) by = NAME(begin_##divide)((double)used);                                          \
        const NAME(wide_##name) mask = (wide)((1U << bits) - 1) - (NAME(wide_##name)){0};                              \
        const type *line[STN_KERNEL_MEANS];                                                                            \
        size_t x = 0;                                                                                                  \
        for (size_t k = 0; k < used; k++) line[k] = lines[k];                                                          \
        for (; used > 1 && x + BYTES / sizeof(type) <= count; x += BYTES / sizeof(type)) {                             \
            NAME(wide_##name) low = {0}, high = {0};                                                                   \
            _Pragma("GCC unroll 7") for (size_t k = 0; k < used; k++) {                                                \
                const NAME(wide_##name) v = *(const pairs *)(line[k] + x);                                             \
                low += v & mask, high += v >> bits;                                                                    \
            }                                                                                                          \
            low = (NAME(wide_##name))NAME(divide)(low, &by), high = (NAME(wide_##name))NAME(divide)(high, &by);        \
            *(pairs *)(to + x) = low | high << bits;                                                                   \
        }                                                                                                              \
        for (; x < count; x++) {                                                                                       \
            uint32_t sum = 0;                                                                                          \
            for (size_t k = 0; k < used; k++) sum += line[k][x];                                                       \
            to[x] = (type)(sum / (uint32_t)used);                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void NAME(means_##name)(void *to, const void *const *lines, size_t used, size_t count) {             \
        if (used == 3)                                                                                                 \
            NAME(means_of_##name)(to, lines, 3, count);                                                                \
        else if (used == 5)                                                                                            \
            NAME(means_of_##name)(to, lines, 5, count);                                                                \
        else if (used == 7)                                                                                            \
            NAME(means_of_##name)(to, lines, 7, count);                                                                \
        else                                                                                                           \
            NAME(means_of_##name)(to, lines, used, count);                                                             \
    }
DEFINE_MEANS(small, uint8_t, uint16_t, by_integer)
DEFINE_MEANS(u16, uint16_t, uint32_t, by_float)
#undef DEFINE_MEANS
#undef DEFINE_INTEGERS
#undef ACCUMULATE_uint32_t
#undef ACCUMULATE_uint16_t
#undef LAST_uint32_t
#undef LAST_uint16_t
#undef DEFINE_QUOTIENTS

static const stn_kernels NAME(kernels) = {
    .means = {[STN_SMALL_BYTES] = NAME(means_small), [STN_SHORTS] = NAME(means_u16)},
    .slide = {NAME(slide_small), NAME(slide_u8), NAME(slide_u16)},
    .quotients = {NAME(quotients_small), NAME(quotients_u8), NAME(quotients_u16)},
    .accumulate = {NAME(accumulate_small), NAME(accumulate_u8), NAME(accumulate_u16)},
    .sum = NAME(sum),
    .add_row = {NAME(add_row_float), NAME(add_row_double)},
    .mean_row = {NAME(mean_row_float), NAME(mean_row_double)},
    .transpose = {NAME(transpose_float), NAME(transpose_double)},
    .average = {NAME(average_float), NAME(average_double)},
    .sum_float = NAME(sum_float),
    .sum_byte = NAME(sum_byte),
    .sum_rounded = NAME(sum_rounded),
    .sum_float_rounded = NAME(sum_float_rounded),
    .sum_columns = NAME(sum_columns),
    .sum_row = NAME(sum_row),
    .sum_row_to_float = NAME(sum_row_to_float),
    .sum_to_float = NAME(sum_to_float),
    .sum_rows = NAME(sum_rows),
    .sum_spectra = NAME(sum_spectra),
    .bound = NAME(bound),
    .sum_rows_float = NAME(sum_rows_float),
    .sum_rows_to_float = NAME(sum_rows_to_float),
    .load = {NULL, NAME(load_f64), NAME(load_f32), NAME(load_f16), NAME(load_bf16), NAME(load_i8), NAME(load_u8),
             NAME(load_i16), NAME(load_u16), NAME(load_i32), NAME(load_u32), NAME(load_i64), NAME(load_u64),
             NAME(load_bool)},
    .store = {NULL, NAME(store_f64), NAME(store_f32), NAME(store_f16), NAME(store_bf16), NAME(store_i8), NAME(store_u8),
              NAME(store_i16), NAME(store_u16), NAME(store_i32), NAME(store_u32), NAME(store_i64), NAME(store_u64),
              NAME(store_bool)},
};

#undef DEFINE_SUM
#undef DEFINE_LOAD
#undef DEFINE_STORE_WHOLE
#undef SET
#undef TARGET
#undef BYTES
#undef BYTE_LANES
#undef WIDEN
#undef NARROW
#undef IS_ANY
#undef MULTIPLY_HIGH
#undef MULTIPLY_ADD
#undef MULTIPLY_ADD_DOUBLES
