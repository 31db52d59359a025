// Cost of a warp's memory requests, and the table of a kernel's memory traffic.
#include <unistd.h>

#include <cstring>

#include "requests.h"
#include "test_machine.h"

using namespace stn_emulator;

struct Ask {
    uint64_t at[32];
    unsigned bytes[32];
};

static Ask spaced(unsigned step, unsigned bytes) {
    Ask ask;
    for (unsigned l = 0; l < 32; l++) ask.at[l] = 4096 + l * step, ask.bytes[l] = bytes;
    return ask;
}

static void requests() {
    struct {
        unsigned step, bytes, cycles, sectors;
    } cases[] = {{4, 4, 1, 4},    {8, 4, 2, 8},     {128, 4, 32, 32}, {132, 4, 1, 32}, {0, 4, 1, 1},
                 {2, 2, 1, 2},    {8, 8, 2, 8},     {16, 8, 4, 16},   {136, 8, 2, 32}, {16, 16, 4, 16},
                 {32, 16, 8, 32}, {144, 16, 4, 32}, {256, 16, 32, 32}};
    for (const auto &c : cases) {
        const Ask ask = spaced(c.step, c.bytes);
        const unsigned cycles = bank_cycles(ask.at, ask.bytes, 0xffffffffu);
        const unsigned touched = answered_sectors(ask.at, ask.at, ask.bytes, 0xffffffffu);
        if (cycles != c.cycles || touched != c.sectors)
            printf("%u bytes, %u apart: %u cycles, %u sectors\n", c.bytes, c.step, cycles, touched);
        CHECK(cycles == c.cycles);
        CHECK(touched == c.sectors);
    }
    const Ask ask = spaced(128, 4);
    CHECK(bank_cycles(ask.at, ask.bytes, 0x00010001u) == 2);  // two lanes of one bank
    CHECK(distinct_bytes(ask.at, ask.bytes, 0x00010001u) == 8);
    // 16 adjacent bytes per lane, copied to shared memory: at the same offset, shifted by 16 bytes,
    // and with every second lane elsewhere.
    const Ask copied = spaced(16, 16);
    Ask to = copied;
    CHECK(answered_sectors(copied.at, to.at, copied.bytes, 0xffffffffu) == 16);
    for (unsigned l = 0; l < 32; l++) to.at[l] = 96 + 16 * l;
    CHECK(answered_sectors(copied.at, to.at, copied.bytes, 0xffffffffu) == 16);
    for (unsigned l = 0; l < 32; l++) to.at[l] = 16 + 16 * l;
    CHECK(answered_sectors(copied.at, to.at, copied.bytes, 0xffffffffu) == 32);
    for (unsigned l = 0; l < 32; l++) to.at[l] = l % 2 * 1024 + l / 2 * 16;
    CHECK(answered_sectors(copied.at, to.at, copied.bytes, 0xffffffffu) == 32);
}

// Finds the row of the table with both words: requests, cost and minimum.
static bool find_row(const std::string &table, const char *word, const char *other, double (&numbers)[3]) {
    for (size_t at = 0; at < table.size();) {
        const size_t end = table.find('\n', at);
        const std::string line = table.substr(at, end - at);
        const size_t found = line.find(other);
        if (line.find(word) != std::string::npos && found != std::string::npos)
            return sscanf(line.c_str() + found + strlen(other), "%lf %lf %lf", numbers, numbers + 1, numbers + 2) == 3;
        at = end == std::string::npos ? table.size() : end + 1;
    }
    return false;
}

static void table() {
    char path[] = "/tmp/stentor-traffic-XXXXXX";
    const int file = mkstemp(path);
    CHECK(file >= 0);
    setenv("STENTOR_EMULATOR_TRAFFIC", path, 1);
    CHECK(cuInit(0) == CUDA_SUCCESS);
    const Kernels m("asks");
    Buffer<double> in(std::vector<double>(64, 1.0)), out(128);
    WordArguments a = {in.pointer, out.pointer, 2};
    CHECK(launch(m, "asks", {}, {32}, 256, &a) == CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
    stentor_emulator_write_traffic();
    const std::string text = read_text(path);
    struct {
        const char *what;
        double requests, cost, least;
    } rows[] = {{"writes 4", 1, 2, 1}, {"reads 16", 1, 16, 16}, {"writes 8", 1, 32, 8}};
    for (const auto &row : rows) {
        double n[3] = {-1, -1, -1};
        CHECK(find_row(text, "test.cu:", row.what, n));
        CHECK(n[0] == row.requests && n[1] == row.cost && n[2] == row.least);
    }
    CHECK(text.find("asks: 1 blocks") != std::string::npos);
    if (failures) printf("%s", text.c_str());
    unsetenv("STENTOR_EMULATOR_TRAFFIC");
    CHECK(cuInit(0) == CUDA_SUCCESS);
    close(file);
    unlink(path);
}

const std::vector<Test> traffic_tests = {
    {"requests", requests, true},
    {"table", table, false},
};
