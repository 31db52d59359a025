// Environment settings and failure injection of the emulator.
#include "emulator_settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>

namespace stn_emulator {

std::string environment(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static uint64_t number(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    return value && *value ? strtoull(value, nullptr, 0) : otherwise;
}

bool compiles_late() { return number("STENTOR_EMULATOR_LATE", 0) != 0; }

Settings read_settings() {
    Settings s;
    s.sm = (int)number("STENTOR_EMULATOR_SM", 90);
    s.multiprocessors = (int)number("STENTOR_EMULATOR_MULTIPROCESSORS", 0);
    s.devices = (int)number("STENTOR_EMULATOR_DEVICES", 1);
    s.driver_version = (int)number("STENTOR_EMULATOR_DRIVER_VERSION", 13000);
    s.memory = number("STENTOR_EMULATOR_MEMORY", s.memory);
    s.threads = (int)number("STENTOR_EMULATOR_THREADS", 2);
    s.races = number("STENTOR_EMULATOR_RACES", 0) != 0;
    s.traffic = environment("STENTOR_EMULATOR_TRAFFIC", "");
    if (s.threads < 1) s.threads = 1;
    if (environment("STENTOR_EMULATOR_SEED", "") == "random")
        s.seed = (uint64_t)time(nullptr);
    else
        s.seed = number("STENTOR_EMULATOR_SEED", 1);
    return s;
}

static std::mutex mutex;
static std::map<std::string, uint64_t> counts;
static std::map<std::string, uint64_t> failing;  // number of the call to fail; 0: every call
static std::string failing_text;

// "cuMemAlloc_v2" -> "cuMemAlloc"
static std::string base_name(const std::string &name) {
    size_t n = name.size();
    return n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' ? name.substr(0, n - 3) : name;
}

static void parse_failing(const std::string &text) {
    failing.clear();
    for (size_t at = 0; at < text.size();) {
        size_t end = text.find(',', at);
        if (end == std::string::npos) end = text.size();
        std::string item = text.substr(at, end - at);
        size_t colon = item.find(':');
        std::string which = colon == std::string::npos ? "1" : item.substr(colon + 1);
        failing[base_name(item.substr(0, colon))] = which == "*" ? 0 : strtoull(which.c_str(), nullptr, 10);
        at = end + 1;
    }
}

// Appends "NAME CALLS" for each function to the file that STENTOR_EMULATOR_COUNTS names, at exit.
static struct AtExit {
    ~AtExit() {
        FILE *file = getenv("STENTOR_EMULATOR_COUNTS") ? fopen(getenv("STENTOR_EMULATOR_COUNTS"), "a") : nullptr;
        if (!file) return;
        for (const auto &each : counts) fprintf(file, "%s %llu\n", each.first.c_str(), (unsigned long long)each.second);
        fclose(file);
    }
} at_exit;

bool count_call(const char *name) {
    std::lock_guard<std::mutex> lock(mutex);
    const char *text = getenv("STENTOR_EMULATOR_FAIL");
    if (failing_text != (text ? text : "")) {
        failing_text = text ? text : "";
        parse_failing(failing_text);
        counts.clear();
    }
    std::string base = base_name(name);
    uint64_t count = ++counts[base];
    auto found = failing.find(base);
    return found != failing.end() && (found->second == 0 || found->second == count);
}

uint64_t calls_made(const char *name) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = counts.find(base_name(name));
    return found == counts.end() ? 0 : found->second;
}

void reset_calls() {
    std::lock_guard<std::mutex> lock(mutex);
    counts.clear();
}

bool has_avx2_and_fma() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

}  // namespace stn_emulator
