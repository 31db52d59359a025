// Kernels with one fault each, which the emulator must find; and kernels without a fault, in which
// it must find none.
#include <cmath>

#include "test_machine.h"

struct FaultCase {
    const char *kernel;
    unsigned threads, shared;
    int n;
    CUresult expected;
};

// `in` and `out` hold 64 doubles each.
static const FaultCase cases[] = {
    {"fine", 64, 0, 0, CUDA_SUCCESS},
    {"reads_past_end", 32, 0, 128, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"writes_before", 1, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"writes_before", 1024, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"shared_past_end", 32, 128, 0, CUDA_SUCCESS},
    {"shared_past_end", 32, 128, 1, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"shared_slack", 32, 100, 99, CUDA_SUCCESS},
    {"shared_slack", 32, 100, 100, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"missing_lane", 32, 0, 0, CUDA_ERROR_LAUNCH_FAILED},
    {"absent_lane", 16, 0, 0, CUDA_ERROR_LAUNCH_FAILED},
    {"absent_lane", 32, 0, 0, CUDA_ERROR_LAUNCH_FAILED},
    {"foreign_mask", 32, 0, 0, CUDA_ERROR_LAUNCH_FAILED},
    {"divergent_barrier", 32, 0, 0, CUDA_ERROR_LAUNCH_FAILED},
    {"divergent_barrier", 16, 0, 0, CUDA_SUCCESS},
    {"copies_past_end", 32, 512, 0, CUDA_SUCCESS},
    {"copies_past_end", 32, 512, 1, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"copies_past_end", 32, 256, 0, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"misaligned", 1, 0, 8, CUDA_SUCCESS},
    {"misaligned", 1, 0, 4, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"misaligned_run", 1, 0, 2, CUDA_SUCCESS},
    {"misaligned_run", 1, 0, 1, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"shared_run", 1, 128, 0, CUDA_SUCCESS},
    {"shared_run", 1, 128, 1, CUDA_ERROR_ASSERT},
    {"outside_array", 1, 0, 3, CUDA_SUCCESS},
    {"outside_array", 1, 0, 4, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"fails_assert", 1, 0, 0, CUDA_SUCCESS},
    {"fails_assert", 1, 0, 1, CUDA_ERROR_ASSERT},
};

static void faults_are_found() {
    const Kernels m("faults");
    for (const FaultCase &f : cases) {
        Buffer<double> in(std::vector<double>(64, 1.0)), out(std::vector<double>(64, 2.0));
        WordArguments a = {in.pointer, out.pointer, f.n};
        CHECK(launch(m, f.kernel, {}, {f.threads}, f.shared, &a) == CUDA_SUCCESS);
        CUresult result = cuCtxSynchronize();
        if (result != f.expected) printf("%s(%d): %d, not %d\n", f.kernel, f.n, result, f.expected);
        CHECK(result == f.expected);
        // An error stays until the context ends.
        CHECK(cuMemcpyHtoD_v2(in.pointer, &a, 8) == f.expected);
        if (result) renew_context();
    }
}

static int count_nan(const std::vector<double> &v) {
    int n = 0;
    for (double x : v) n += std::isnan(x);
    return n;
}

static void poison_spreads() {
    const Kernels m("faults");
    Buffer<double> in(std::vector<double>(64, 1.0)), out(64);
    CHECK(count_nan(out.get()) == 64);  // new memory
    WordArguments a = {in.pointer, out.pointer, 0};
    for (const char *kernel : {"reads_poison", "forgets_wait", "waits_for_too_few"}) {
        out.put(std::vector<double>(64, 0.0));
        CHECK(launch(m, kernel, {}, {64}, 512, &a) == CUDA_SUCCESS);
        CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
        CHECK(count_nan(out.get()) == 64);
    }
}

// At least one of 20 launches, each with another order of warps, lanes and blocks, must show the
// race; none if there is no race.
static void races_show() {
    const Kernels m("faults");
    struct {
        const char *kernel;
        unsigned blocks, threads;
        int distance;
        bool racy;
    } races[] = {{"races", 1, 64, 32, true},
                 {"races", 1, 64, -32, true},
                 {"races", 1, 32, 1, true},
                 {"races", 1, 32, -1, true},
                 {"races", 1, 64, 0, false},
                 {"races_between_blocks", 64, 1, 1, true},
                 {"races_between_blocks", 64, 1, -1, true}};
    for (const auto &race : races) {
        int seen = 0;
        for (int attempt = 0; attempt < 20; attempt++) {
            Buffer<double> out(race.blocks * race.threads);
            WordArguments a = {0, out.pointer, race.distance};
            CHECK(launch(m, race.kernel, {race.blocks}, {race.threads}, 512, &a) == CUDA_SUCCESS);
            seen += count_nan(out.get()) > 0;
        }
        if ((seen > 0) != race.racy) printf("%s(%d): seen %d times\n", race.kernel, race.distance, seen);
        CHECK((seen > 0) == race.racy);
    }
}

// With STENTOR_EMULATOR_RACES: also races that shuffles, ballots and matrix products hide.
static void races_in_shared_memory_show() {
    struct {
        int what;
        bool racy;
    } cases[] = {{0, true},       {2, true},        {4, true},       {6, true},       {8, false},
                 {10, false},     {14, false},      {1, true},       {1 + 6, true},   {1 + 8, false},
                 {16 + 8, true},  {16 + 32, false}, {32, false},     {64, true},      {66, true},
                 {64 + 8, false}, {64 + 16, true},  {64 + 24, true}, {64 + 48, false}};
    setenv("STENTOR_EMULATOR_RACES", "1", 1);
    CHECK(cuInit(0) == CUDA_SUCCESS);
    const Kernels m("faults");
    for (const auto &c : cases) {
        Buffer<double> in(std::vector<double>(64, 1.0)), out(64);
        WordArguments a = {in.pointer, out.pointer, c.what};
        CHECK(launch(m, "neighbours", {3}, {64}, 512, &a) == CUDA_SUCCESS);
        const CUresult result = cuCtxSynchronize();
        if ((result != CUDA_SUCCESS) != c.racy) printf("neighbours(%d): %d\n", c.what, result);
        CHECK(result == (c.racy ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS));
        if (result) renew_context();
    }
    unsetenv("STENTOR_EMULATOR_RACES");
    CHECK(cuInit(0) == CUDA_SUCCESS);
}

// In the default stream and in another one; the programmatic dependent launch directly follows the
// launch that it needs.
static void early_launches() {
    const Kernels m("faults");
    // Looked up early: no other call may come between the launches.
    CUfunction copies = get_function(m, "copies_early");
    CUstream other = nullptr;
    CHECK(cuStreamCreate(&other, 0) == CUDA_SUCCESS);
    for (CUstream stream : {CUstream(nullptr), other})
        for (int n = 0; n < 3; n++) {
            Buffer<double> between(64 * 33), out(64 * 33);
            WordArguments first = {0, between.pointer, 0}, second = {between.pointer, out.pointer, n};
            CHECK(launch(m, "fills", {33}, {64}, 0, &first, stream) == CUDA_SUCCESS);
            CHECK(launch_early(copies, {33}, {64}, 0, &second, stream) == CUDA_SUCCESS);
            CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
            int good = 0;
            for (double x : out.get()) good += x == 5.0;
            CHECK((good == 64 * 33) == (n == 0));
            CHECK(good > 64 * 20);  // most blocks come late
        }
    cuStreamDestroy_v2(other);
}

static void cluster_faults() {
    const Kernels m("faults");
    const CUresult expected[] = {CUDA_SUCCESS,
                                 CUDA_ERROR_ILLEGAL_ADDRESS,
                                 CUDA_ERROR_LAUNCH_FAILED,
                                 CUDA_ERROR_ILLEGAL_ADDRESS,
                                 CUDA_ERROR_MISALIGNED_ADDRESS,
                                 CUDA_ERROR_ILLEGAL_ADDRESS,
                                 CUDA_ERROR_ILLEGAL_ADDRESS};
    for (int n = 0; n < 7; n++) {
        const int launches = n == 6 ? 20 : 3;  // The last fault shows only in some launches.
        int seen = 0;
        for (int attempt = 0; attempt < launches; attempt++) {
            Buffer<unsigned> out(128);
            WordArguments a = {0, out.pointer, n};
            CHECK(!launch_clusters(m, "cluster_faults", 2, {2}, {32}, 512, &a));
            CUresult result = cuCtxSynchronize();
            seen += result == expected[n];
            if (result) renew_context();
            if (result && result != expected[n]) printf("cluster_faults(%d): %d\n", n, result);
        }
        CHECK(n == 6 ? seen > 0 : seen == launches);
    }
}

// A barrier of the block where the cluster's barrier is needed: in some launches a block runs
// ahead.
static void clusters_wait() {
    const Kernels m("faults");
    for (int n = 0; n < 2; n++) {
        int wrong = 0;
        for (int attempt = 0; attempt < 40; attempt++) {
            Buffer<unsigned> to(512);
            WordArguments a = {0, to.pointer, n};
            CHECK(!launch_clusters(m, "cluster_hand_over", 2, {2}, {64}, 1024, &a));
            CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
            std::vector<unsigned> out = to.get();
            bool good = true;
            for (unsigned i = 0; i < out.size(); i++) good = good && out[i] == i % 256;
            wrong += !good;
        }
        CHECK(n ? wrong > 0 : wrong == 0);
    }
}

const std::vector<Test> fault_tests = {
    {"faults_are_found", faults_are_found, false},
    {"poison_spreads", poison_spreads, false},
    {"races_show", races_show, false},
    {"races_in_shared_memory_show", races_in_shared_memory_show, false},
    {"early_launches", early_launches, false},
    {"cluster_faults", cluster_faults, false},
    {"clusters_wait", clusters_wait, false},
};
