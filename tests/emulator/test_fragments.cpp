// Compares every tensor-core product with a plain matrix product. The maps below are written from
// the text of the PTX ISA, shape by shape; the same test runs on the emulator and on a GPU.
#include <cmath>
#include <cstring>

#include "test_machine.h"

struct At {
    int row, column;
};
using Map = At (*)(int lane, int i);

enum class Element { F64, F16, BF16, TF32, S8, S32 };

struct ProductCase {
    const char *kernel;
    Element element;
    int rows, depth;
    int a_count, b_count, c_count;  // elements per lane
    Map a, b, c;
    int selector;  // -1: dense
    int needs_sm;
};

static int group(int lane) { return lane >> 2; }
static int in_group(int lane) { return lane % 4; }

// c and d of all shapes with 16 rows: row = group for c0, c1, group + 8 for c2, c3
static At c_16x8(int lane, int i) { return {i < 2 ? group(lane) : group(lane) + 8, in_group(lane) * 2 + (i & 1)}; }
static At c_8x8(int lane, int i) { return {group(lane), in_group(lane) * 2 + i}; }

// f64 and tf32
static At a_8x4(int lane, int) { return {group(lane), in_group(lane)}; }
static At b_4x8(int lane, int) { return {in_group(lane), group(lane)}; }
static At a_16x4(int lane, int i) { return {i == 0 ? group(lane) : group(lane) + 8, in_group(lane)}; }
static At a_16x8(int lane, int i) {
    return {i == 0 || i == 2 ? group(lane) : group(lane) + 8, i < 2 ? in_group(lane) : in_group(lane) + 4};
}
static At b_8x8(int lane, int i) { return {i == 0 ? in_group(lane) : in_group(lane) + 4, group(lane)}; }
static At a_16x16(int lane, int i) {
    return {i % 2 == 0 ? group(lane) : group(lane) + 8,
            i % 2 == 0 ? i * 2 + in_group(lane) : i * 2 - 2 + in_group(lane)};
}
static At b_16x8(int lane, int i) { return {in_group(lane) + i * 4, group(lane)}; }

// f16; a of 16 x 8 is as c
static At b_f16_8x8(int lane, int i) { return {in_group(lane) * 2 + i, group(lane)}; }
static At a_f16_16x16(int lane, int i) {
    bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
    return {upper ? group(lane) : group(lane) + 8, in_group(lane) * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
static At b_f16_16x8(int lane, int i) { return {in_group(lane) * 2 + (i & 1) + (i < 2 ? 0 : 8), group(lane)}; }
static At b_f16_32x8(int lane, int i) {
    int block = i < 2 ? 0 : i < 4 ? 8 : i < 6 ? 16 : 24;
    return {in_group(lane) * 2 + (i & 1) + block, group(lane)};
}

// bytes: four columns of a, or rows of b, in each register
static At a_s8_16x32(int lane, int i) {
    bool upper = i < 4 || (8 <= i && i < 12);
    return {upper ? group(lane) : group(lane) + 8, in_group(lane) * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
static At b_s8_32x8(int lane, int i) { return {in_group(lane) * 4 + (i & 3) + (i < 4 ? 0 : 16), group(lane)}; }

static const ProductCase cases[] = {
    {"f64_m8n8k4", Element::F64, 8, 4, 1, 1, 2, a_8x4, b_4x8, c_8x8, -1, 80},
    {"f64_m16n8k4", Element::F64, 16, 4, 2, 1, 4, a_16x4, b_4x8, c_16x8, -1, 90},
    {"f64_m16n8k8", Element::F64, 16, 8, 4, 2, 4, a_16x8, b_8x8, c_16x8, -1, 90},
    {"f64_m16n8k16", Element::F64, 16, 16, 8, 4, 4, a_16x16, b_16x8, c_16x8, -1, 90},
    {"f16_m16n8k8", Element::F16, 16, 8, 4, 2, 4, c_16x8, b_f16_8x8, c_16x8, -1, 80},
    {"f16_m16n8k16", Element::F16, 16, 16, 8, 4, 4, a_f16_16x16, b_f16_16x8, c_16x8, -1, 80},
    {"bf16_m16n8k8", Element::BF16, 16, 8, 4, 2, 4, c_16x8, b_f16_8x8, c_16x8, -1, 80},
    {"tf32_m16n8k4", Element::TF32, 16, 4, 2, 1, 4, a_16x4, b_4x8, c_16x8, -1, 80},
    {"tf32_m16n8k8", Element::TF32, 16, 8, 4, 2, 4, a_16x8, b_8x8, c_16x8, -1, 80},
    {"s8_m16n8k32", Element::S8, 16, 32, 16, 8, 4, a_s8_16x32, b_s8_32x8, c_16x8, -1, 80},
    {"sp_f16_m16n8k16_0", Element::F16, 16, 16, 4, 4, 4, c_16x8, b_f16_16x8, c_16x8, 0, 80},
    {"sp_f16_m16n8k16_1", Element::F16, 16, 16, 4, 4, 4, c_16x8, b_f16_16x8, c_16x8, 1, 80},
    {"sp_f16_m16n8k16_2", Element::F16, 16, 16, 4, 4, 4, c_16x8, b_f16_16x8, c_16x8, 2, 80},
    {"sp_f16_m16n8k16_3", Element::F16, 16, 16, 4, 4, 4, c_16x8, b_f16_16x8, c_16x8, 3, 80},
    {"sp_f16_m16n8k32_0", Element::F16, 16, 32, 8, 8, 4, a_f16_16x16, b_f16_32x8, c_16x8, 0, 80},
    {"sp_f16_m16n8k32_1", Element::F16, 16, 32, 8, 8, 4, a_f16_16x16, b_f16_32x8, c_16x8, 1, 80},
    {"sp_tf32_m16n8k8_0", Element::TF32, 16, 8, 2, 2, 4, a_16x4, b_8x8, c_16x8, 0, 80},
    {"sp_tf32_m16n8k8_1", Element::TF32, 16, 8, 2, 2, 4, a_16x4, b_8x8, c_16x8, 1, 80},
    {"sp_tf32_m16n8k8_2", Element::TF32, 16, 8, 2, 2, 4, a_16x4, b_8x8, c_16x8, 2, 80},
    {"sp_tf32_m16n8k8_3", Element::TF32, 16, 8, 2, 2, 4, a_16x4, b_8x8, c_16x8, 3, 80},
    {"sp_tf32_m16n8k16_0", Element::TF32, 16, 16, 4, 4, 4, a_16x8, b_16x8, c_16x8, 0, 80},
    {"sp_tf32_m16n8k16_1", Element::TF32, 16, 16, 4, 4, 4, a_16x8, b_16x8, c_16x8, 1, 80},
};

static unsigned random_bits(unsigned *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

// Small dyadic numbers: exact in every type and in any order of summation.
static double small_number(unsigned *state) { return (static_cast<int>(random_bits(state) % 33) - 16) / 8.0; }

static unsigned half_bits(double v) {  // for values of small_number
    if (v == 0) return 0;
    int exponent;
    double mantissa = frexp(fabs(v), &exponent);
    return (v < 0 ? 0x8000u : 0) | static_cast<unsigned>(exponent + 14) << 10 |
           (static_cast<unsigned>(mantissa * 2048) & 0x3ffu);
}

// Values are multiples of 1/8, their products and sums of 1/64.
static void store(Element element, std::vector<unsigned char> *bytes, int index, double v) {
    if (element == Element::S8)
        (*bytes)[index] = static_cast<unsigned char>(static_cast<int>(8 * v));
    else if (element == Element::S32) {
        const int whole = static_cast<int>(64 * v);
        memcpy(&(*bytes)[4 * index], &whole, 4);
    } else if (element == Element::F64)
        memcpy(&(*bytes)[8 * index], &v, 8);
    else if (element == Element::F16) {
        unsigned short h = static_cast<unsigned short>(half_bits(v));
        memcpy(&(*bytes)[2 * index], &h, 2);
    } else {
        float f = static_cast<float>(v);
        unsigned char words[4];
        memcpy(words, &f, 4);
        if (element == Element::BF16) /* The upper half holds all bits of these values. */
            memcpy(&(*bytes)[2 * index], words + 2, 2);
        else
            memcpy(&(*bytes)[4 * index], words, 4);
    }
}
static int bytes_of(Element element) {
    return element == Element::F64                               ? 8
           : element == Element::F16 || element == Element::BF16 ? 2
           : element == Element::S8                              ? 1
                                                                 : 4;
}

struct Matrices {
    double a[16][32], stored[16][32], b[32][8], c[16][8];
    unsigned metadata[32];
};

// Every chunk of a sparse row keeps half of its positions; the metadata goes where the PTX ISA's
// figures show.
static void make_sparse(const ProductCase &p, Matrices *m, unsigned *state) {
    const bool half = p.element == Element::F16;
    const int chunk_width = half ? 4 : 2, chunks = p.depth / chunk_width;
    const bool pair = chunks > 4;          // Two lanes of each group have metadata.
    for (int lane = 0; lane < 32; lane++)  // Other lanes hold other bits.
        m->metadata[lane] = half ? 0x99999999u : 0x4e4e4e4eu;
    for (int lane = 0; lane < 32; lane++)
        if (pair ? in_group(lane) / 2 == p.selector : in_group(lane) == p.selector) m->metadata[lane] = 0;
    for (int row = 0; row < 16; row++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            unsigned bits;
            for (int k = 0; k < chunk_width; k++) m->a[row][chunk * chunk_width + k] = 0;
            if (half) {
                static const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
                const int *places = pairs[random_bits(state) % 6];
                for (int k = 0; k < 2; k++)
                    m->a[row][chunk * 4 + places[k]] = m->stored[row][chunk * 2 + k] = small_number(state);
                bits = static_cast<unsigned>(places[0] | places[1] << 2);
            } else {
                int place = static_cast<int>(random_bits(state) % 2);
                m->a[row][chunk * 2 + place] = m->stored[row][chunk] = small_number(state);
                bits = place ? 0xeu : 0x4u;
            }
            int lane = 4 * (row % 8) + (pair ? 2 * p.selector + chunk / 4 : p.selector);
            m->metadata[lane] |= bits << (4 * (chunk % 4) + (row < 8 ? 0 : 16));
        }
}

struct Operands {  // arguments of the kernels
    CUdeviceptr a, b, c, metadata;
};

static void check_product(CUmodule module, const ProductCase &p, unsigned seed) {
    Matrices m = {};
    unsigned state = seed;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < p.depth; k++) m.a[i][k] = m.stored[i][k] = small_number(&state);
    for (int k = 0; k < p.depth; k++)
        for (int j = 0; j < 8; j++) m.b[k][j] = small_number(&state);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) m.c[i][j] = small_number(&state);
    if (p.selector >= 0) make_sparse(p, &m, &state);
    const bool wide = p.element == Element::F64;
    std::vector<unsigned char> a(32 * p.a_count * bytes_of(p.element)), b(32 * p.b_count * bytes_of(p.element)),
        c(32 * p.c_count * (wide ? 8 : 4));
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < p.a_count; i++)
            store(p.element, &a, lane * p.a_count + i, m.stored[p.a(lane, i).row][p.a(lane, i).column]);
        for (int i = 0; i < p.b_count; i++)
            store(p.element, &b, lane * p.b_count + i, m.b[p.b(lane, i).row][p.b(lane, i).column]);
        for (int i = 0; i < p.c_count; i++)
            store(wide                       ? Element::F64
                  : p.element == Element::S8 ? Element::S32
                                             : Element::TF32,
                  &c, lane * p.c_count + i, m.c[p.c(lane, i).row][p.c(lane, i).column]);
    }
    Buffer<unsigned char> da(a), db(b), dc(c);
    Buffer<unsigned> dm(std::vector<unsigned>(m.metadata, m.metadata + 32));
    Operands arguments = {da.pointer, db.pointer, dc.pointer, dm.pointer};
    CHECK(launch(module, p.kernel, {}, {32}, 0, &arguments) == CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
    std::vector<unsigned char> out = dc.get();
    int wrong = 0;
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < p.c_count; i++) {
            At at = p.c(lane, i);
            double want = m.c[at.row][at.column], got;
            for (int k = 0; k < p.depth; k++) want += m.a[at.row][k] * m.b[k][at.column];
            if (wide)
                memcpy(&got, &out[8 * (lane * p.c_count + i)], 8);
            else if (p.element == Element::S8) {
                int whole;
                memcpy(&whole, &out[4 * (lane * p.c_count + i)], 4);
                got = whole / 64.0;
            } else {
                float f;
                memcpy(&f, &out[4 * (lane * p.c_count + i)], 4);
                got = f;
            }
            wrong += !(got == want);
        }
    if (wrong) printf("%s: %d of %d elements are wrong\n", p.kernel, wrong, 32 * p.c_count);
    CHECK(wrong == 0);
}

static void fragments() {
    const Kernels m("fragments");
    for (const ProductCase &p : cases)
        for (unsigned seed = 1; seed <= 5; seed++)
            if (machine_sm >= p.needs_sm) check_product(m, p, seed);
}

static void bad_metadata() {
    const Kernels m("fragments");
    Buffer<unsigned> zeros(std::vector<unsigned>(32 * 4, 0)), metadata(std::vector<unsigned>(32, 0x99999909u));
    Operands arguments = {zeros.pointer, zeros.pointer, zeros.pointer, metadata.pointer};
    CHECK(launch(m, "sp_f16_m16n8k16_0", {}, {32}, 0, &arguments) == CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    renew_context();
}

// Random operands with full mantissas: the result is as close to the exact sum as the accumulator
// allows.
static void fragment_rounding() {
    if (machine_sm < 90) return;
    const Kernels m("fragments");
    std::vector<double> a(32 * 8), b(32 * 4), c(32 * 4);
    unsigned state = 99;
    for (auto *v : {&a, &b, &c})
        for (double &x : *v) x = (random_bits(&state) + random_bits(&state) * 0x1p-24) * 0x1p-24 - 0.5;
    Buffer<double> da(a), db(b), dc(c);
    Buffer<unsigned> dm(32);
    Operands arguments = {da.pointer, db.pointer, dc.pointer, dm.pointer};
    CHECK(launch(m, "f64_m16n8k16", {}, {32}, 0, &arguments) == CUDA_SUCCESS);
    std::vector<double> out = dc.get();
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            At at = c_16x8(lane, i);
            long double want = c[4 * lane + i];
            for (int other = 0; other < 32; other++)
                for (int k = 0; k < 8; k++) {
                    At in_a = a_16x16(other, k);
                    if (in_a.row != at.row) continue;
                    for (int third = 0; third < 32; third++)
                        for (int l = 0; l < 4; l++) {
                            At in_b = b_16x8(third, l);
                            if (in_b.row == in_a.column && in_b.column == at.column)
                                want += static_cast<long double>(a[8 * other + k]) * b[4 * third + l];
                        }
                }
            CHECK(fabsl(out[4 * lane + i] - want) < 1e-14L);
        }
}

const std::vector<Test> fragment_tests = {
    {"fragments", fragments, true},
    {"fragment_rounding", fragment_rounding, true},
    {"bad_metadata", bad_metadata, false},
};
