// Counts memory traffic per source line and prints the table; see traffic.h.
#include "traffic.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "memory.h"
#include "requests.h"
#include "scheduler.h"
#include "source_lines.h"

namespace stn_emulator {

std::string &Traffic::wanted() {
    static auto *path = new std::string;  // Never destroyed: still needed when the process ends.
    return *path;
}

// ---- the running blocks

void Traffic::close(const Line &line, Open *open, const Request &request) {
    const bool shared = line.memory == MEMORY_SHARED;
    const unsigned unit = shared ? 128 : 32, touched = distinct_bytes(request.at, request.bytes, request.lanes);
    open->tally.requests++;
    open->tally.cost += shared ? bank_cycles(request.at, request.bytes, request.lanes)
                               : answered_sectors(request.at, request.to, request.bytes, request.lanes);
    open->tally.least += (touched + unit - 1) / unit;
}

void Traffic::begin(const unsigned char *const *shared, unsigned shared_bytes, unsigned blocks, unsigned stride) {
    shared_of = shared;
    bytes_of_shared = shared_bytes;
    lanes_of_block = stride;
    blocks_seen += blocks;
    lanes = blocks * stride;
}

bool Traffic::in_shared(unsigned lane, const unsigned char *p, uint64_t *at) const {
    *at = static_cast<uint64_t>(p - shared_of[lane / lanes_of_block]);
    if (*at < bytes_of_shared) return true;
    *at = static_cast<uint64_t>(p - statics);
    if (*at < static_bytes) return true;
    *at = reinterpret_cast<uint64_t>(p);
    return false;
}

void Traffic::access(unsigned lane, const void *from, unsigned bytes, bool writes, Site site, const void *target) {
    const unsigned char *p = static_cast<const unsigned char *>(from);
    uint64_t at;
    const Memory memory = in_shared(lane, p, &at) ? MEMORY_SHARED : MEMORY_GLOBAL;
    if (memory == MEMORY_GLOBAL && !memory_holds(p, bytes)) return;  // on a stack, or an argument
    const Line line = {site, writes, bytes, memory};
    Open &open = lines[line];
    if (open.visits.size() <= lane) open.visits.resize(lanes);
    const uint64_t key = (uint64_t)(lane / WARP) << 32 | open.visits[lane]++;
    Request &request = open.waiting[key];
    request.lanes |= 1u << lane % WARP;
    request.at[lane % WARP] = request.to[lane % WARP] = at;
    if (target) (void)in_shared(lane, static_cast<const unsigned char *>(target), &request.to[lane % WARP]);
    request.bytes[lane % WARP] = bytes;
    if (request.lanes != 0xffffffffu) return;
    close(line, &open, request);
    open.waiting.erase(key);
}

// ---- the table, over all OS threads

struct Row {
    std::string where;
    bool writes;
    unsigned bytes;
    Memory memory;
    bool operator<(const Row &o) const {
        if (memory != o.memory) return memory < o.memory;
        if (where != o.where) return where < o.where;
        return writes != o.writes ? writes < o.writes : bytes < o.bytes;
    }
};
struct Table {
    std::map<Row, Tally> rows;
    uint64_t blocks = 0, happenings[HAPPENINGS] = {};
};
static std::mutex mutex;
static std::map<std::string, Table> *tables;  // by kernel; never destroyed

static void print_row(FILE *file, const Table &table, const std::string &where, const char *what, const Tally &t) {
    const double blocks = (double)table.blocks;
    fprintf(file, "  %-34s %-18s %11.1f %11.1f %11.1f %6.2f\n", where.c_str(), what, (double)t.requests / blocks,
            (double)t.cost / blocks, (double)t.least / blocks, (double)t.cost / (double)std::max<uint64_t>(t.least, 1));
}

static void print_memory(FILE *file, const Table &table, Memory memory) {
    const char *name = memory == MEMORY_SHARED ? "shared" : "global";
    Tally all = {};
    fprintf(file, "  %-34s %-18s %11s %11s %11s %6s\n", name, "", "requests", memory ? "sectors" : "cycles", "least",
            "x");
    for (const auto &row : table.rows) {
        if (row.first.memory != memory) continue;
        char what[32];
        snprintf(what, sizeof what, "%s %u", row.first.writes ? "writes" : "reads", row.first.bytes);
        print_row(file, table, row.first.where, what, row.second);
        all = {all.requests + row.second.requests, all.cost + row.second.cost, all.least + row.second.least};
    }
    if (all.requests) print_row(file, table, "all", "", all);
}

// Appends the table to the file and clears it.
extern "C" __attribute__((visibility("default"), destructor)) void stentor_emulator_write_traffic() {
    std::lock_guard<std::mutex> lock(mutex);
    FILE *file = tables && !tables->empty() ? fopen(Traffic::wanted().c_str(), "a") : nullptr;
    if (!file) return;
    for (const auto &entry : *tables) {
        const Table &s = entry.second;
        const double share = 1.0 / (double)WARP / (double)s.blocks;
        fprintf(file,
                "%s: %llu blocks looked at; a block: %.1f warps at barriers, %.1f at shuffles, %.1f at products\n",
                entry.first.c_str(), (unsigned long long)s.blocks, (double)s.happenings[HAPPENING_BARRIER] * share,
                (double)s.happenings[HAPPENING_SHUFFLE] * share, (double)s.happenings[HAPPENING_PRODUCT] * share);
        print_memory(file, s, MEMORY_SHARED);
        print_memory(file, s, MEMORY_GLOBAL);
    }
    fclose(file);
    tables->clear();
}

void Traffic::end(const Kernel &kernel) {
    for (auto &line : lines)
        for (auto &request : line.second.waiting) close(line.first, &line.second, request.second);
    std::vector<const void *> codes;
    for (const auto &line : lines)
        if (line.first.site.code) codes.push_back(line.first.site.code);
    const std::vector<std::string> names = source_lines(codes);
    std::lock_guard<std::mutex> lock(mutex);
    if (!tables) tables = new std::map<std::string, Table>;
    Table &table = (*tables)[kernel.name];
    size_t n = 0;
    for (const auto &line : lines) {
        const Site &site = line.first.site;
        std::string where = site.code ? names[n++] : std::string(site.file) + ":" + std::to_string(site.line);
        where = where.substr(where.rfind('/') + 1);
        Tally &t = table.rows[{where, line.first.writes, line.first.bytes, line.first.memory}];
        const Tally &more = line.second.tally;
        t = {t.requests + more.requests, t.cost + more.cost, t.least + more.least};
    }
    table.blocks += blocks_seen;
    for (int h = 0; h < HAPPENINGS; h++) table.happenings[h] += lanes_at[h], lanes_at[h] = 0;
    blocks_seen = 0;
    lines.clear();
}

}  // namespace stn_emulator
