// CUDA's built-in functions in kernels against their documentation.
#include <cmath>
#include <cstring>

#include "test_machine.h"

// The `count` elements that a kernel writes from the input and n.
template <class Out, class In>
static std::vector<Out> results(CUmodule m, const char *name, Size grid, Size block, unsigned shared, size_t count,
                                const std::vector<In> &in, int n) {
    Buffer<In> from(in);
    Buffer<Out> to(count);
    WordArguments a = {from.pointer, to.pointer, n};
    CHECK(launch(m, name, grid, block, shared, &a) == CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
    return to.get();
}

// The same without an input.
template <class Out>
static std::vector<Out> results(CUmodule m, const char *name, Size grid, Size block, unsigned shared, size_t count,
                                int n = 0) {
    return results<Out>(m, name, grid, block, shared, count, std::vector<int>(1), n);
}

static void barrier() {
    const Kernels m("words");
    std::vector<double> in(256);
    for (int i = 0; i < 256; i++) in[i] = i * 1.5;
    for (Size block : {Size{256}, Size{16, 16}, Size{8, 32}}) {
        const auto out = results<double>(m, "reverse", {}, block, 256 * 8, 256, in, 256);
        for (int i = 0; i < 256; i++) CHECK(out[i] == in[255 - i]);
    }
    int threads = 0;
    CHECK(cuFuncGetAttribute(&threads, 0, get_function(m, "reverse")) == CUDA_SUCCESS && threads == 256);
    WordArguments a = {};
    CHECK(launch(m, "reverse", {}, {512}, 512 * 8, &a) != CUDA_SUCCESS);  // above its launch bounds
}

static void scan() {
    const Kernels m("words");
    std::vector<double> in(1024);
    for (int i = 0; i < 1024; i++) in[i] = i % 7 - 2;
    const auto out = results<double>(m, "block_scan", {}, {1024}, 32 * 8, 1024, in, 1024);
    double sum = 0;
    for (int i = 0; i < 1024; i++) CHECK(out[i] == (sum += in[i]));
}

static void shuffle_and_vote() {
    const Kernels m("words");
    CUdeviceptr table;
    size_t bytes;
    std::vector<int> values = {100, 200, 300, 400, 500, 600, 700, 800};
    CHECK(cuModuleGetGlobal_v2(&table, &bytes, m, "table") == CUDA_SUCCESS && bytes == 32);
    CHECK(cuMemcpyHtoD_v2(table, values.data(), 32) == CUDA_SUCCESS);
    const auto out = results<int>(m, "shuffles", {}, {32}, 0, 12 * 32);
    for (int lane = 0; lane < 32; lane++) {
        const int *o = &out[12 * lane];
        int in_half = lane % 16, partner = lane ^ 12;
        CHECK(o[0] == ((lane + 5) & 31) * 3);
        CHECK(o[1] == (lane / 8 * 8 + 1) * 3);
        CHECK(o[2] == (in_half >= 3 ? lane - 3 : lane));
        CHECK(o[3] == (lane + 7 < 32 ? lane + 7 : lane));
        CHECK(o[4] == (lane ^ 19));
        CHECK(o[5] == (partner < lane / 8 * 8 + 8 ? partner : lane));
        CHECK(o[6] == 0x49249249);
        CHECK(o[7] == 5);
        CHECK(o[8] == (lane % 2 == 0 ? 30 : -1));
        CHECK(o[9] == 31 - lane);
        CHECK(o[10] == (lane < 31 ? lane + 1 : 31));
        CHECK(o[11] == (lane & 3) + 1 + values[lane & 7]);
    }
}

static void votes_and_atomics() {
    const Kernels m("words");
    Buffer<int> to(std::vector<int>(14, 0));
    WordArguments a = {0, to.pointer, 0};
    CHECK(launch(m, "votes", {50}, {64}, 0, &a) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS);
    std::vector<int> o = to.get();
    double d;
    float f;
    unsigned long long u;
    memcpy(&d, &o[6], 8);
    memcpy(&f, &o[8], 4);
    memcpy(&u, &o[10], 8);
    CHECK(o[0] == 1 && o[1] == 16);
    CHECK(o[2] == 50 * 2016 && o[3] == 49 && o[4] == -63 && o[5] == 0xff);
    CHECK(d == 1600 && f == 800 && u == 3200ull << 32);
    CHECK(o[12] >= 1 && o[12] <= 64 && o[13] == 7);
}

static double half_value(unsigned h) {
    int exponent = static_cast<int>(h >> 10 & 31), mantissa = static_cast<int>(h & 1023);
    double v = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) v = mantissa ? NAN : INFINITY;
    return h & 0x8000 ? -v : v;
}

static void half_to_float() {
    const Kernels m("words");
    const auto out = results<float>(m, "halves", {256}, {256}, 0, 65536);
    int wrong = 0;
    for (unsigned h = 0; h < 65536; h++) {
        double want = half_value(h);
        bool good =
            std::isnan(want) ? std::isnan(out[h]) : out[h] == want && std::signbit(out[h]) == std::signbit(want);
        wrong += !good;
    }
    CHECK(wrong == 0);
}

// By bisection: the nearer of the two halves around f, the even one on a tie.
static unsigned nearest_half(float f) {
    double magnitude = fabs(static_cast<double>(f));
    unsigned sign = std::signbit(f) ? 0x8000u : 0, low = 0, high = 0x7c00u;
    if (magnitude >= 65520) return sign | 0x7c00u;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        (half_value(middle) <= magnitude ? low : high) = middle;
    }
    double upper = high == 0x7c00u ? 65536 : half_value(high), down = magnitude - half_value(low),
           up = upper - magnitude;
    return sign | (down < up || (down == up && low % 2 == 0) ? low : high);
}

static void float_to_narrow() {
    const Kernels m("words");
    std::vector<float> in;
    unsigned random = 12345;
    for (int i = 0; i < 20000; i++) {  // every exponent, with many exact ties
        random = random * 1664525u + 1013904223u;
        unsigned bits = random & (i % 3 ? 0xfffff000u : 0xffffffffu);
        float f;
        if ((bits >> 23 & 255) == 255) bits ^= 0x40000000u;
        // around the range of half
        if (i % 2) bits = (bits & 0x807fffffu) | (100 + bits % 45) << 23;
        memcpy(&f, &bits, 4);
        in.push_back(f);
    }
    for (float f : {0.0f, -0.0f, 65504.0f, 65519.996f, 65520.0f, 5.9604645e-8f, 2.9802322e-8f, 2.9802326e-8f,
                    static_cast<float>(INFINITY), static_cast<float>(-INFINITY)})
        in.push_back(f);
    const int n = static_cast<int>(in.size());
    const auto out = results<unsigned>(m, "roundings", {unsigned(n / 128 + 1)}, {128}, 0, 2 * in.size(), in, n);
    int wrong_half = 0, wrong_tf32 = 0;
    for (size_t i = 0; i < in.size(); i++) {
        wrong_half += out[2 * i] != nearest_half(in[i]);
        double want = in[i];
        // 11 significant bits (fewer below 2^-126), ties away from zero
        if (std::isfinite(in[i]) && in[i] != 0) {
            int exponent;
            frexp(want, &exponent);
            double unit = ldexp(1, (exponent < -125 ? -125 : exponent) - 11);
            want = round(want / unit) * unit;
        }
        float got;
        memcpy(&got, &out[2 * i + 1], 4);
        wrong_tf32 += !(got == static_cast<float>(want));
    }
    CHECK(wrong_half == 0);
    CHECK(wrong_tf32 == 0);
}

static void sine_and_cosine() {
    const Kernels m("words");
    std::vector<float> in;
    for (int i = -1000; i <= 1000; i++) in.push_back(static_cast<float>(i * (3.14159265358979 / 1000)));
    const int n = static_cast<int>(in.size());
    const auto out = results<float>(m, "waves", {unsigned(n / 128 + 1)}, {128}, 0, 2 * in.size(), in, n);
    double worst = 0;
    for (size_t i = 0; i < in.size(); i++) {
        worst = fmax(worst, fabs(out[2 * i] - sin(static_cast<double>(in[i]))));
        worst = fmax(worst, fabs(out[2 * i + 1] - cos(static_cast<double>(in[i]))));
    }
    CHECK(worst < 1e-6 && worst > 0);
}

static void transpose() {
    const Kernels m("words");
    std::vector<unsigned> in(4 * 32);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 4; i++) {
            const unsigned number = 1000 * i + 8 * (lane / 4) + 2 * (lane % 4);
            in[4 * lane + i] = number | (number + 1) << 16;
        }
    const auto out = results<unsigned>(m, "transpose", {}, {32}, 0, 4 * 32, in, 0);
    for (unsigned at = 0; at < out.size(); at++) {
        const unsigned i = at / 32, row = at % 32 / 4, column = 2 * (at % 4);
        const unsigned first = 1000 * i + 8 * column + row;
        CHECK(out[at] == (first | (first + 8) << 16));
    }
}

static void copy_pipeline() {
    const Kernels m("words");
    std::vector<double> in(64 * 5);
    for (size_t i = 0; i < in.size(); i++) in[i] = sin(static_cast<double>(i));
    const auto out = results<double>(m, "pipeline", {}, {64}, 2 * 64 * 8, 64, in, 5);
    for (int i = 0; i < 64; i++) {
        double sum = 0;
        for (int k = 0; k < 5; k++) sum += in[64 * k + 63 - i];
        CHECK(out[i] == sum);
    }
}

static void block_and_thread_places() {
    const Kernels m("words");
    const auto out = results<unsigned>(m, "places", {3, 5, 7}, {4, 2, 3}, 0, 3 * 5 * 7 * 4 * 2 * 3);
    for (unsigned i = 0; i < out.size(); i++) CHECK(out[i] == i / 24 * 1000 + i % 24);
}

static void early_leavers() {
    const Kernels m("words");
    const auto out = results<int>(m, "early", {}, {160}, 400, 100, 100);
    for (int i = 0; i < 100; i++) CHECK(out[i] == 99 - i);
}

static void clusters() {
    if (machine_sm < 90) return;
    const Kernels m("words");
    for (unsigned size : {1, 2, 4, 8})
        for (unsigned threads : {32, 96, 17}) {
            const unsigned blocks = 24, count = 4 * threads;
            Buffer<unsigned> to(blocks * count);
            WordArguments a = {0, to.pointer, static_cast<int>(size)};
            CHECK(!launch_clusters(m, "cluster_turn", size, {blocks}, {threads}, 4 * count, &a));
            CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
            std::vector<unsigned> out = to.get();
            for (unsigned i = 0; i < out.size(); i++) {
                const unsigned block = i / count, next = block / size * size + (block + 1) % size;
                const unsigned thread = threads - 1 - i % count / 4;
                CHECK(out[i] == next * count + 4 * thread + i % 4);
            }
        }
    WordArguments a = {};
    CHECK(launch_clusters(m, "cluster_turn", 4, {6}, {32}, 512, &a) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

const std::vector<Test> word_tests = {
    {"barrier", barrier, true},
    {"scan", scan, true},
    {"shuffle_and_vote", shuffle_and_vote, true},
    {"votes_and_atomics", votes_and_atomics, true},
    {"half_to_float", half_to_float, true},
    {"float_to_narrow", float_to_narrow, true},
    {"sine_and_cosine", sine_and_cosine, true},
    {"transpose", transpose, true},
    {"copy_pipeline", copy_pipeline, true},
    {"block_and_thread_places", block_and_thread_places, true},
    {"early_leavers", early_leavers, true},
    {"clusters", clusters, true},
};
