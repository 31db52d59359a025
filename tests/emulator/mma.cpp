// Matrix products of a warp (mma and mma.sp). The layout of each register's elements is from the
// PTX ISA's matrix fragments, with g = lane / 4 and t = lane % 4. Element i of a lane counts bytes
// or 16-bit halves from the low one, or whole registers:
//
//   16-bit a   row g + 8 (i / 2 % 2)   column 2t + i % 2 + 8 (i / 4)
//          b   row 2t + i % 2 + 8 (i / 2)                column g
//   8-bit  a   row g + 8 (i / 4 % 2)   column 4t + i % 4 + 16 (i / 8)
//          b   row 4t + i % 4 + 16 (i / 4)               column g
//   others a   row g + 8 (i % 2)       column t + 4 (i / 2)
//          b   row t + 4 i                               column g
//   c          row g + 8 (i / 2)       column 2t + i % 2
//   m8n8k4     a (g, t)   b (t, g)   c (g, 2t + i)
//
// Sparse a has the layout of a dense one of half the width. Its column j is, for 16 bits, non-zero
// number j % 2 of the four columns from 4 (j / 2) on; for tf32 the non-zero of the two columns 2j
// and 2j + 1. The metadata of a row are 16 bits for each 16 (tf32: 8) columns, 4 bits per chunk,
// lowest first: two 2-bit positions for 16 bits; 0b0100 (first) or 0b1110 (second) for tf32. Lane
// 4g + selector has the metadata of rows g (low half) and g + 8 (high half). In the shapes of twice
// the width, lane 4g + 2 selector has the first 16 (8) columns and lane 4g + 2 selector + 1 the
// others.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "emulator_settings.h"
#include "scheduler.h"

// Marks functions whose loops are compiled twice: for CPUs with AVX2 and FMA, and for others.
#if defined(__x86_64__)
#define TWICE __attribute__((always_inline)) static inline
#define WIDE __attribute__((target("avx2,fma"))) static
#else
#define TWICE static inline
#define WIDE static
#endif

namespace stn_emulator {

enum class Type { F64, F16, BF16, TF32, S8 };
constexpr bool is_16_bit(Type type) { return type == Type::F16 || type == Type::BF16; }

struct Shape {
    const char *name;
    Type type;
    int rows, depth;  // columns: 8
    bool sparse;
};

static const Shape shapes[MMA_COUNT] = {
    {"mma_m8n8k4", Type::F64, 8, 4, false},           {"mma_m16n8k4", Type::F64, 16, 4, false},
    {"mma_m16n8k8", Type::F64, 16, 8, false},         {"mma_m16n8k16", Type::F64, 16, 16, false},
    {"mma_f16_m16n8k8", Type::F16, 16, 8, false},     {"mma_f16_m16n8k16", Type::F16, 16, 16, false},
    {"mma_bf16_m16n8k8", Type::BF16, 16, 8, false},   {"mma_tf32_m16n8k4", Type::TF32, 16, 4, false},
    {"mma_tf32_m16n8k8", Type::TF32, 16, 8, false},   {"mma_s8_m16n8k32", Type::S8, 16, 32, false},
    {"mma_sp_f16_m16n8k16", Type::F16, 16, 16, true}, {"mma_sp_f16_m16n8k32", Type::F16, 16, 32, true},
    {"mma_sp_tf32_m16n8k8", Type::TF32, 16, 8, true}, {"mma_sp_tf32_m16n8k16", Type::TF32, 16, 16, true},
};

constexpr int MAX_DEPTH = 32, COLUMNS = 8;

struct Operands {
    double a[16][MAX_DEPTH];  // as stored: half the width if sparse
    int k[16][MAX_DEPTH];     // the row of b for each element of a
    double b[MAX_DEPTH][COLUMNS];
    double c[16][COLUMNS];
};

static double half_value(uint16_t h) {
    static const std::vector<double> values = [] {
        std::vector<double> table(65536);
        for (int bits = 0; bits < 65536; bits++) {
            const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
            const double value = exponent == 31  ? (mantissa ? NAN : INFINITY)
                                 : exponent == 0 ? ldexp(mantissa, -24)
                                                 : ldexp(1024 + mantissa, exponent - 25);
            table[bits] = bits & 0x8000 ? -value : value;
        }
        return table;
    }();
    return values[h];
}

static double tf32_value(uint32_t bits) {  // The hardware ignores the low 13 bits.
    bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    bits &= ~0x1fffu;
    float f;
    memcpy(&f, &bits, 4);
    return nan ? NAN : static_cast<double>(f);
}

static double bf16_value(uint16_t upper) {
    const uint32_t bits = static_cast<uint32_t>(upper) << 16;
    float f;
    memcpy(&f, &bits, 4);
    return static_cast<double>(f);
}

template <Type type>
static double element(const void *registers, int i) {
    if (type == Type::F64) return static_cast<const double *>(registers)[i];
    if (type == Type::F16) return half_value(static_cast<const uint16_t *>(registers)[i]);
    if (type == Type::S8) return static_cast<const int8_t *>(registers)[i];
    if (type == Type::BF16) return bf16_value(static_cast<const uint16_t *>(registers)[i]);
    return tf32_value(static_cast<const uint32_t *>(registers)[i]);
}

template <Type type>
static void gather(const Shape &s, const Lane *lanes, Operands *o) {
    const int stored = s.sparse ? s.depth / 2 : s.depth;
    const int a_count = s.rows * stored / 32, b_count = s.depth * COLUMNS / 32, c_count = s.rows * COLUMNS / 32;
    for (int lane = 0; lane < 32; lane++) {
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < a_count; i++) {
            const int row = g + 8 * (type == Type::S8 ? i / 4 % 2 : is_16_bit(type) ? i / 2 % 2 : i % 2);
            const int column = type == Type::S8  ? 4 * t + i % 4 + 16 * (i / 8)
                               : is_16_bit(type) ? 2 * t + i % 2 + 8 * (i / 4)
                                                 : t + 4 * (i / 2);
            o->a[row][column] = element<type>(lanes[lane].a, i);
            o->k[row][column] = column;
        }
        for (int i = 0; i < b_count; i++) {
            const int row = type == Type::S8  ? 4 * t + i % 4 + 16 * (i / 4)
                            : is_16_bit(type) ? 2 * t + i % 2 + 8 * (i / 2)
                                              : t + 4 * i;
            o->b[row][g] = element<type>(lanes[lane].b, i);
        }
        for (int i = 0; i < c_count; i++)
            o->c[g + 8 * (i / 2)][2 * t + i % 2] = type == Type::F64  ? static_cast<const double *>(lanes[lane].c)[i]
                                                   : type == Type::S8 ? static_cast<const int *>(lanes[lane].c)[i]
                                                                      : static_cast<const float *>(lanes[lane].c)[i];
    }
}

// Computes the columns of the stored elements of a sparse a.
static bool spread(const Shape &s, const Lane *lanes, Operands *o, std::string *message) {
    const bool wide = s.depth == (s.type == Type::F16 ? 32 : 16);
    const int selector = lanes[0].argument, chunks = s.type == Type::F16 ? s.depth / 4 : s.depth / 2;
    for (int lane = 0; lane < 32; lane++)
        if (lanes[lane].argument != selector || selector < 0 || selector >= (wide ? 2 : 4)) {
            *message = std::string(s.name) + ": the selector must be 0 to " + (wide ? "1" : "3");
            return false;
        }
    for (int row = 0; row < 16; row++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            int lane = 4 * (row % 8) + (wide ? 2 * selector + chunk / 4 : selector);
            unsigned bits = static_cast<unsigned>(lanes[lane].value) >> (16 * (row / 8) + 4 * (chunk % 4)) & 15u;
            int first = bits & 3, second = static_cast<int>(bits >> 2);
            bool good = s.type == Type::F16 ? first < second : bits == 0x4 || bits == 0xe;
            if (!good) {
                *message = std::string(s.name) + ": metadata " + std::to_string(bits) + " of row " +
                           std::to_string(row) + ", chunk " + std::to_string(chunk) + " (lane " + std::to_string(lane) +
                           ") is not an ordered pair";
                return false;
            }
            if (s.type == Type::F16) {
                o->k[row][2 * chunk] = 4 * chunk + first;
                o->k[row][2 * chunk + 1] = 4 * chunk + second;
            } else
                o->k[row][chunk] = 2 * chunk + (bits == 0xe);
        }
    return true;
}

// f32 sums as in tensor cores: addends are shifted to the largest exponent among them (a product's
// exponent is the sum of its factors'), bits below the first KEPT are cut off, and the sum is
// truncated to f32. Nothing is rounded, so sums are too small on average. KEPT was fitted to the
// rounding error of lowrank in f32 on an H200 before device/band.cuh took middles: 3e-5 in 1000
// steps of a separable 7 x 7 stencil.
constexpr int KEPT = 22;
constexpr double SMALLEST = 0x1p-600,
                 // Bounds of non-zero finite products, which lie between 2^-298 and 2^256.
    LARGEST = 0x1p600;

// The f32 next to a value towards zero has the next smaller bit pattern.
static inline float towards_zero(double value) {
    float nearest = static_cast<float>(value);
    if (!(fabs(static_cast<double>(nearest)) > fabs(value))) return nearest;
    uint32_t bits;
    memcpy(&bits, &nearest, 4);
    bits--;
    memcpy(&nearest, &bits, 4);
    return nearest;
}

// 2^floor(log2 |value|), or 0 for 0. Subnormal numbers of f32 are normal here.
TWICE double power_below(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    bits &= uint64_t{0x7ff} << 52;
    memcpy(&value, &bits, 8);
    return value;
}

// One row of c: adds a[j] times row k[j] of b for all j and columns. The compiler vectorises the
// loops over columns.
TWICE void sum_row(const Operands &o, int row, int count, double *c) {
    double largest[COLUMNS], unit[COLUMNS], scale[COLUMNS];
    for (int x = 0; x < COLUMNS; x++) largest[x] = power_below(c[x]);
    for (int j = 0; j < count; j++) {
        const double a = power_below(o.a[row][j]), *b = o.b[o.k[row][j]];
        for (int x = 0; x < COLUMNS; x++) {
            const double product = a * power_below(b[x]);
            largest[x] = largest[x] < product ? product : largest[x];
        }
    }
    for (int x = 0; x < COLUMNS; x++) {
        const double bounded = largest[x] < SMALLEST ? SMALLEST : largest[x] > LARGEST ? LARGEST : largest[x];
        unit[x] = bounded / (1 << KEPT), scale[x] = 1 / unit[x];
        c[x] = trunc(c[x] * scale[x]) * unit[x];
    }
    for (int j = 0; j < count; j++) {
        const double a = o.a[row][j], *b = o.b[o.k[row][j]];
        for (int x = 0; x < COLUMNS; x++) c[x] += trunc(a * b[x] * scale[x]) * unit[x];
    }
}

TWICE void fuse_row(const Operands &o, int row, int count, double *c) {
    for (int j = 0; j < count; j++) {
        const double a = o.a[row][j], *b = o.b[o.k[row][j]];
        for (int x = 0; x < COLUMNS; x++) c[x] = fma(a, b[x], c[x]);
    }
}

TWICE void multiply_rows_any(const Shape &s, int stored, Operands &o) {
    for (int row = 0; row < s.rows; row++)
        if (s.type == Type::F64 || s.type == Type::S8)
            fuse_row(o, row, stored, o.c[row]);
        else
            sum_row(o, row, stored, o.c[row]);
}

WIDE void multiply_rows_wide(const Shape &s, int stored, Operands &o) { multiply_rows_any(s, stored, o); }
static void multiply_rows(const Shape &s, int stored, Operands &o) { multiply_rows_any(s, stored, o); }

bool multiply(Mma which, Lane *lanes, std::string *message) {
    static const bool wide = has_avx2_and_fma();
    const Shape &s = shapes[which];
    const int stored = s.sparse ? s.depth / 2 : s.depth;
    Operands o;
    (s.type == Type::F64    ? gather<Type::F64>
     : s.type == Type::F16  ? gather<Type::F16>
     : s.type == Type::BF16 ? gather<Type::BF16>
     : s.type == Type::S8   ? gather<Type::S8>
                            : gather<Type::TF32>)(s, lanes, &o);
    if (s.sparse && !spread(s, lanes, &o, message)) return false;
    (wide ? multiply_rows_wide : multiply_rows)(s, stored, o);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < s.rows * COLUMNS / 32; i++) {
            const double c = o.c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
            if (s.type == Type::F64)
                static_cast<double *>(lanes[lane].c)[i] = c;
            else if (s.type == Type::S8)
                static_cast<int *>(lanes[lane].c)[i] = static_cast<int>(c);
            else
                static_cast<float *>(lanes[lane].c)[i] = towards_zero(c);
        }
    return true;
}

}  // namespace stn_emulator
