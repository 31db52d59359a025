// Emulated device memory. Each allocation: guard page | redzone, data, padding to 256 bytes | guard
// page
#include "memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

namespace stn_emulator {

struct Allocation {
    size_t bytes;
    unsigned char *mapping;  // nullptr: a variable of a module
    size_t mapped;
    int device;
};

static std::mutex mutex;
static std::map<uintptr_t, Allocation> allocations;
static uint64_t limit = 4ull << 30, used;

static size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

void memory_limit(uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    limit = bytes;
}

void memory_info(uint64_t *free, uint64_t *total) {
    std::lock_guard<std::mutex> lock(mutex);
    *total = limit;
    *free = limit > used ? limit - used : 0;
}

void *memory_alloc(size_t bytes, int device) {
    std::lock_guard<std::mutex> lock(mutex);
    if (bytes > limit || used + bytes > limit) return nullptr;
    size_t padded = round_up(bytes, 256), body = round_up(padded + 256, PAGE), mapped = body + 2 * PAGE;
    void *mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return nullptr;
    unsigned char *base = static_cast<unsigned char *>(mapping);
    if (mprotect(base + PAGE, body, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, mapped);
        return nullptr;
    }
    memset(base + PAGE, POISON, body);
    unsigned char *start = base + PAGE + body - padded;
    allocations[reinterpret_cast<uintptr_t>(start)] = {bytes, base, mapped, device};
    used += bytes;
    return start;
}

// True if the bytes around the data still hold POISON.
static bool intact(uintptr_t start, const Allocation &a) {
    if (!a.mapping) return true;
    const unsigned char *data = reinterpret_cast<const unsigned char *>(start);
    for (size_t i = 1; i <= 256; i++)
        if (data[-(ptrdiff_t)i] != POISON) return false;
    for (size_t i = a.bytes; i < round_up(a.bytes, 256); i++)
        if (data[i] != POISON) return false;
    return true;
}

bool memory_free(void *pointer) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = allocations.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == allocations.end() || !found->second.mapping) return false;
    if (!intact(found->first, found->second))
        fprintf(stderr, "stentor emulator: the surroundings of the %zu bytes at %p were written to\n",
                found->second.bytes, pointer);
    used -= found->second.bytes;
    munmap(found->second.mapping, found->second.mapped);
    allocations.erase(found);
    return true;
}

void memory_add_global(void *pointer, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    allocations[reinterpret_cast<uintptr_t>(pointer)] = {bytes, nullptr, 0, 0};
}

void memory_remove_global(void *pointer) {
    std::lock_guard<std::mutex> lock(mutex);
    allocations.erase(reinterpret_cast<uintptr_t>(pointer));
}

bool memory_starts(const void *pointer, void **start, size_t *bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    uintptr_t at = reinterpret_cast<uintptr_t>(pointer);
    auto next = allocations.upper_bound(at);
    if (next == allocations.begin()) return false;
    --next;
    if (at - next->first >= next->second.bytes) return false;
    *start = reinterpret_cast<void *>(next->first);
    *bytes = next->second.bytes;
    return true;
}

int memory_device(const void *start) {
    std::lock_guard<std::mutex> lock(mutex);
    return allocations.at(reinterpret_cast<uintptr_t>(start)).device;
}

bool memory_holds(const void *pointer, size_t bytes) {
    void *start;
    size_t size;
    if (!memory_starts(pointer, &start, &size)) return false;
    return bytes <= size - (static_cast<const char *>(pointer) - static_cast<char *>(start));
}

std::string memory_damage() {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &entry : allocations) {
        if (intact(entry.first, entry.second)) continue;
        unsigned char *data = reinterpret_cast<unsigned char *>(entry.first);
        memset(data - 256, POISON, 256);
        memset(data + entry.second.bytes, POISON, round_up(entry.second.bytes, 256) - entry.second.bytes);
        char text[120];
        snprintf(text, sizeof text, "wrote just outside the %zu bytes at %p", entry.second.bytes,
                 static_cast<void *>(data));
        return text;
    }
    return "";
}

std::string memory_describe(const void *address) {
    std::lock_guard<std::mutex> lock(mutex);
    uintptr_t at = reinterpret_cast<uintptr_t>(address);
    for (const auto &entry : allocations) {
        const Allocation &a = entry.second;
        uintptr_t low = reinterpret_cast<uintptr_t>(a.mapping);
        if (!a.mapping || at < low || at >= low + a.mapped) continue;
        char text[160];
        bool before = at < entry.first;
        snprintf(text, sizeof text, "%zu bytes %s the %zu bytes at %p",
                 static_cast<size_t>(before ? entry.first - at : at - entry.first - a.bytes),
                 before ? "before" : "past the end of", a.bytes, reinterpret_cast<void *>(entry.first));
        return text;
    }
    return "far from any allocation";
}

size_t memory_count() {
    std::lock_guard<std::mutex> lock(mutex);
    size_t n = 0;
    for (const auto &entry : allocations) n += entry.second.mapping != nullptr;
    return n;
}

}  // namespace stn_emulator
