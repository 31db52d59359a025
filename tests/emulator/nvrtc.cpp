// Emulates NVRTC 13.0. Its "binary" is the program's text, but it also compiles it with the C++
// compiler, so that errors are reported by NVRTC and the driver finds the library ready.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "build.h"
#include "emulator_settings.h"

using namespace stn_emulator;

enum nvrtcResult : int {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
    NVRTC_ERROR_CANCELLED = 18
};

struct _nvrtcProgram {
    Program program;
    std::string log, ptx, cubin;
    int (*callback)(void *, void *) = nullptr;
    void *payload = nullptr;
};
using nvrtcProgram = _nvrtcProgram *;

#define EXPORT extern "C" __attribute__((visibility("default")))
#define ENTER(error)                                                                                                   \
    if (count_call(__func__)) return error

static const int known_archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
static const int known_count = sizeof known_archs / sizeof *known_archs;

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor) {
    ENTER(NVRTC_ERROR_INTERNAL_ERROR);
    if (!major || !minor) return NVRTC_ERROR_INVALID_INPUT;
    *major = 13, *minor = 0;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    ENTER(NVRTC_ERROR_INTERNAL_ERROR);
    if (!count) return NVRTC_ERROR_INVALID_INPUT;
    *count = known_count;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *archs) {
    ENTER(NVRTC_ERROR_INTERNAL_ERROR);
    if (!archs) return NVRTC_ERROR_INVALID_INPUT;
    std::copy(known_archs, known_archs + known_count, archs);
    return NVRTC_SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(nvrtcResult result) {
    static const char *const names[] = {"NVRTC_SUCCESS",
                                        "NVRTC_ERROR_OUT_OF_MEMORY",
                                        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                        "NVRTC_ERROR_INVALID_INPUT",
                                        "NVRTC_ERROR_INVALID_PROGRAM",
                                        "NVRTC_ERROR_INVALID_OPTION",
                                        "NVRTC_ERROR_COMPILATION",
                                        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                        "NVRTC_ERROR_INTERNAL_ERROR"};
    return result >= 0 && result < 12 ? names[result] : "NVRTC_ERROR unknown";
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int header_count,
                                      const char *const *headers, const char *const *header_names) {
    ENTER(NVRTC_ERROR_OUT_OF_MEMORY);
    if (!out || !source || header_count < 0 || (header_count > 0 && (!headers || !header_names)))
        return NVRTC_ERROR_INVALID_INPUT;
    nvrtcProgram p = new _nvrtcProgram;
    p->program.name = name && *name ? name : "default_program";
    p->program.source = source;
    for (int i = 0; i < header_count; i++) p->program.headers.emplace_back(header_names[i], headers[i]);
    *out = p;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    ENTER(NVRTC_ERROR_INVALID_PROGRAM);
    if (!program || !*program) return NVRTC_ERROR_INVALID_PROGRAM;
    delete *program;
    *program = nullptr;
    return NVRTC_SUCCESS;
}

static bool starts(const std::string &s, const char *prefix) { return s.compare(0, strlen(prefix), prefix) == 0; }

// Accepts the NVRTC options in common use; only the architecture and macros have an effect.
static bool known_option(const std::string &option) {
    static const char *const names[] = {"--std=",
                                        "-std=",
                                        "--use_fast_math",
                                        "-use_fast_math",
                                        "--fmad=",
                                        "-fmad=",
                                        "--ftz=",
                                        "-ftz=",
                                        "--prec-div=",
                                        "--prec-sqrt=",
                                        "--extra-device-vectorization",
                                        "--maxrregcount=",
                                        "--device-debug",
                                        "-G",
                                        "--generate-line-info",
                                        "-lineinfo",
                                        "--no-cache",
                                        "-no-cache",
                                        "--restrict",
                                        "--disable-warnings",
                                        "-w",
                                        "--diag-",
                                        "-diag-",
                                        "--Ofast-compile=",
                                        "--modify-stack-limit=",
                                        "-modify-stack-limit=",
                                        "--no-source-include",
                                        "--device-as-default-execution-space",
                                        "-default-device",
                                        "--dopt",
                                        "--split-compile",
                                        "-split-compile",
                                        "--ptxas-options=",
                                        "--minimal",
                                        "--relocatable-device-code=",
                                        "--builtin-",
                                        "--include-path=",
                                        "-I"};
    return std::any_of(std::begin(names), std::end(names), [&](const char *n) { return starts(option, n); });
}

static bool take_arch(const std::string &value, Program *program) {
    bool ptx = starts(value, "compute_");
    if (!ptx && !starts(value, "sm_")) return false;
    program->sm = atoi(value.c_str() + value.find('_') + 1);
    program->ptx = ptx;
    return std::find(known_archs, known_archs + known_count, program->sm) != known_archs + known_count;
}

static bool take_option(std::string option, const char *next, Program *program, int *used) {
    for (const char *name : {"--gpu-architecture", "-arch"}) {
        if (starts(option, (std::string(name) + "=").c_str()))
            return take_arch(option.substr(strlen(name) + 1), program);
        if (option == name && next) {
            ++*used;
            return take_arch(next, program);
        }
    }
    if (starts(option, "--define-macro=")) option = "-D" + option.substr(15);
    if (starts(option, "-D")) {
        program->defines.push_back(option.substr(2));
        return true;
    }
    return known_option(option);
}

EXPORT nvrtcResult nvrtcSetFlowCallback(nvrtcProgram p, int (*callback)(void *, void *), void *payload) {
    ENTER(NVRTC_ERROR_INVALID_PROGRAM);
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    p->callback = callback, p->payload = payload;
    return NVRTC_SUCCESS;
}

// STENTOR_EMULATOR_COMPILE_SECONDS: simulated duration of a compile; a tenth of it for direct_any
// and sourced_add. False: cancelled meanwhile.
static bool play_time(const _nvrtcProgram &p, const std::string &name) {
    double left = atof(environment("STENTOR_EMULATOR_COMPILE_SECONDS", "0").c_str());
    const auto is = [&name](const char *kernel) { return name.find(kernel) != std::string::npos; };
    if (is("direct_any") || is("sourced_add")) left /= 10;
    for (; left > 0; left -= 1e-3) {
        if (p.callback && p.callback(p.payload, nullptr)) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int count, const char *const *options) {
    // The warm-up compile, which tests ignore.
    if (p && p->program.name == "nothing.cu") return NVRTC_SUCCESS;
    ENTER(NVRTC_ERROR_COMPILATION);
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (count < 0 || (count > 0 && !options)) return NVRTC_ERROR_INVALID_INPUT;
    Program program = p->program;
    program.sm = 75;
    program.ptx = true;
    program.ptx_version = 13000;
    p->log.clear();
    for (int i = 0; i < count; i++)
        if (!take_option(options[i], i + 1 < count ? options[i + 1] : nullptr, &program, &i)) {
            p->log = std::string("nvrtc: error: invalid value or unknown option: ") + options[i] + "\n";
            return NVRTC_ERROR_INVALID_OPTION;
        }
    if (!play_time(*p, program.name)) return NVRTC_ERROR_CANCELLED;
    const bool virtual_only = program.ptx;
    program.ptx = false;  // One library serves PTX and cubin.
    if (!compiles_late() && build(program, &p->log).empty()) return NVRTC_ERROR_COMPILATION;
    p->cubin = virtual_only ? "" : pack(program);
    program.ptx = true;
    p->ptx = pack(program);
    return NVRTC_SUCCESS;
}

static nvrtcResult give_size(const std::string &text, bool terminated, size_t *size) {
    if (!size) return NVRTC_ERROR_INVALID_INPUT;
    *size = text.empty() ? 0 : text.size() + terminated;
    return NVRTC_SUCCESS;
}
static nvrtcResult give(const std::string &text, bool terminated, char *out) {
    if (!out) return NVRTC_ERROR_INVALID_INPUT;
    memcpy(out, text.c_str(), text.size() + terminated);
    return NVRTC_SUCCESS;
}

#define GETTERS(Name, field)                                                                                           \
    EXPORT nvrtcResult nvrtcGet##Name##Size(nvrtcProgram p, size_t *size) {                                            \
        ENTER(NVRTC_ERROR_INVALID_PROGRAM);                                                                            \
        return p ? give_size(p->field, true, size) : NVRTC_ERROR_INVALID_PROGRAM;                                      \
    }                                                                                                                  \
    EXPORT nvrtcResult nvrtcGet##Name(nvrtcProgram p, char *out) {                                                     \
        ENTER(NVRTC_ERROR_INVALID_PROGRAM);                                                                            \
        return p ? give(p->field, true, out) : NVRTC_ERROR_INVALID_PROGRAM;                                            \
    }
GETTERS(PTX, ptx)
GETTERS(CUBIN, cubin)
EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *size) {
    ENTER(NVRTC_ERROR_INVALID_PROGRAM);
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!size) return NVRTC_ERROR_INVALID_INPUT;
    *size = p->log.size() + 1;
    return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *out) {
    ENTER(NVRTC_ERROR_INVALID_PROGRAM);
    return p ? give(p->log, true, out) : NVRTC_ERROR_INVALID_PROGRAM;
}

EXPORT uint64_t stentor_emulator_calls(const char *name) { return calls_made(name); }
EXPORT void stentor_emulator_reset() { reset_calls(); }
