// Packs, unpacks and compiles programs.
#include "build.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "emulator_settings.h"

extern char **environ;

namespace stn_emulator {

static std::string hash_text(const std::string &text) {  // two FNV-1a hashes; not cryptographic
    uint64_t a = 0xcbf29ce484222325ull, b = 0x84222325cbf29ce4ull;
    for (unsigned char c : text) {
        a = (a ^ c) * 0x100000001b3ull;
        b = (b ^ c) * 0x100000001b3ull + (a >> 47);
    }
    char hex[33];
    snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
    return hex;
}

// ---- the image: two lines of text, then sections "KIND LENGTH NAME\n" + LENGTH bytes + "\n"

static const char magic[] = "// stentor emulator image 1";

static void put(std::string *out, const char *kind, const std::string &name, const std::string &text) {
    *out += std::string(kind) + " " + std::to_string(text.size()) + " " + name + "\n" + text + "\n";
}

std::string pack(const Program &p) {
    std::string body;
    put(&body, "target", "-", std::string(p.ptx ? "compute_" : "sm_") + std::to_string(p.sm));
    put(&body, "version", "-", std::to_string(p.ptx_version));
    put(&body, "source", p.name, p.source);
    for (const auto &header : p.headers) put(&body, "header", header.first, header.second);
    for (const auto &define : p.defines) put(&body, "define", "-", define);
    return std::string(magic) + " " + std::to_string(body.size()) + " " + hash_text(body) + "\n" + body;
}

static bool section(const std::string &body, size_t *at, std::string *kind, std::string *name, std::string *text) {
    size_t line = body.find('\n', *at);
    if (line == std::string::npos) return false;
    std::string head = body.substr(*at, line - *at);
    size_t first = head.find(' '), second = head.find(' ', first + 1);
    if (first == std::string::npos || second == std::string::npos) return false;
    size_t size = strtoull(head.c_str() + first + 1, nullptr, 10);
    if (line + 1 + size + 1 > body.size()) return false;
    *kind = head.substr(0, first);
    *name = head.substr(second + 1);
    *text = body.substr(line + 1, size);
    *at = line + 1 + size + 1;
    return true;
}

bool unpack(const void *image, Program *p) {
    const char *text = static_cast<const char *>(image);
    if (strncmp(text, magic, sizeof magic - 1) != 0) return false;
    char *end;
    size_t size = strtoull(text + sizeof magic - 1, &end, 10);
    if (strnlen(end, 34) < 34 || end[33] != '\n') return false;
    const char *start = end + 34;
    // Texts have no NUL, so a NUL inside means truncation.
    if (strnlen(start, size) < size) return false;
    std::string body(start, size);
    if (hash_text(body) != std::string(end + 1, 32)) return false;
    *p = Program();
    std::string kind, name, content;
    for (size_t at = 0; at < body.size();) {
        if (!section(body, &at, &kind, &name, &content)) return false;
        if (kind == "target") {
            p->ptx = content[0] == 'c';
            p->sm = atoi(content.c_str() + content.find('_') + 1);
        } else if (kind == "version")
            p->ptx_version = atoi(content.c_str());
        else if (kind == "source") {
            p->name = name;
            p->source = content;
        } else if (kind == "header")
            p->headers.emplace_back(name, content);
        else if (kind == "define")
            p->defines.push_back(content);
    }
    return p->sm > 0;
}

// ---- CUDA text -> C++ text

// Replaces comments and strings by blanks of the same length, so that positions stay the same.
static std::string blank_comments(const std::string &s) {
    std::string out = s;
    for (size_t i = 0; i < s.size(); i++) {
        size_t end = i;
        if (s.compare(i, 2, "//") == 0)
            end = s.find('\n', i);
        else if (s.compare(i, 2, "/*") == 0)
            end = s.find("*/", i + 2) == std::string::npos ? s.size() : s.find("*/", i + 2) + 2;
        else if (s[i] == '"') {
            for (end = i + 1; end < s.size() && s[end] != '"'; end++)
                if (s[end] == '\\') end++;
            end++;
        } else
            continue;
        if (end > s.size()) end = s.size();
        for (; i < end; i++)
            if (out[i] != '\n') out[i] = ' ';
        i--;
    }
    return out;
}

// Removes "extern __shared__ ... stn_shared[];", because the name is a macro of the shim. Line
// numbers stay.
static std::string without_shared(const std::string &s, std::string *log) {
    std::string bare = blank_comments(s), out = s;
    for (size_t at = 0; (at = bare.find("__shared__", at)) != std::string::npos; at++) {
        size_t start = bare.rfind("extern", at), stop = bare.find(';', at), statement = bare.find_last_of(";{}", at);
        // static
        if (start == std::string::npos || (statement != std::string::npos && start < statement)) continue;
        if (stop == std::string::npos || bare.find("stn_shared", at) > stop) {
            *log +=
                "error: dynamic shared memory must be declared as extern __shared__ __align__(128) unsigned char "
                "stn_shared[];\n";
            return s;
        }
        for (size_t i = start; i <= stop; i++)
            if (out[i] != '\n') out[i] = ' ';
    }
    return out;
}

static size_t skip_parentheses(const std::string &s, size_t open) {
    int depth = 0;
    for (size_t i = open; i < s.size(); i++) {
        if (s[i] == '(') depth++;
        if (s[i] == ')' && --depth == 0) return i + 1;
    }
    return s.size();
}

struct KernelName {
    std::string name, bounds;
};

// Searches preprocessed text, in which the shim's macros made __global__ and __launch_bounds__
// attributes.
static std::vector<KernelName> find_kernels(const std::string &s) {
    std::vector<KernelName> found;
    const std::string mark = "__attribute__((stn_kernel))", bounds = "stn_bounds";
    for (size_t at = 0; (at = s.find(mark, at)) != std::string::npos;) {
        KernelName kernel;
        std::string word;
        for (at += mark.size(); at < s.size(); at++) {
            if (isalnum((unsigned char)s[at]) || s[at] == '_') {
                size_t end = at;
                while (end < s.size() && (isalnum((unsigned char)s[end]) || s[end] == '_')) end++;
                word = s.substr(at, end - at);
                at = end - 1;
            } else if (s[at] == '(' && word == "__attribute__") {
                size_t end = skip_parentheses(s, at), in = s.find(bounds, at);
                if (in < end) {
                    size_t open = s.find('(', in);
                    kernel.bounds = s.substr(open + 1, skip_parentheses(s, open) - open - 2);
                }
                at = end - 1;
            } else if (s[at] == '(' || s[at] == ';')
                break;
        }
        if (at < s.size() && s[at] == '(') {
            kernel.name = word;
            found.push_back(kernel);
        }
    }
    return found;
}

static std::string epilogue(const std::vector<KernelName> &kernels) {
    std::string visible = "extern \"C\" __attribute__((visibility(\"default\"))) ";
    std::string text = "\n# 1 \"emulator\"\nnamespace stn_emulator {\nconst Engine *engine;\n}\n" + visible +
                       "void stn_bind(const stn_emulator::Engine *e) { stn_emulator::engine = e; }\n";
    for (const KernelName &k : kernels)
        text += "static void stn_call_" + k.name + "(void *const *v) { stn_emulator::call(" + k.name + ", v); }\n" +
                "using stn_arguments_" + k.name + " = decltype(stn_emulator::arguments(" + k.name + "));\n";
    text +=
        visible + "const stn_emulator::KernelEntry stn_kernels[];\nconst stn_emulator::KernelEntry stn_kernels[] = {\n";
    for (const KernelName &k : kernels)
        text += "{\"" + k.name + "\", stn_call_" + k.name + ", stn_arguments_" + k.name + "::count, stn_arguments_" +
                k.name + "::sizes, stn_emulator::first(" + k.bounds + ")},\n";
    return text + "{}};\n";
}

// ---- files and the C++ compiler

static bool write_file(const std::string &path, const std::string &text) {
    FILE *file = fopen(path.c_str(), "wb");
    if (!file) return false;
    bool ok = fwrite(text.data(), 1, text.size(), file) == text.size();
    return fclose(file) == 0 && ok;
}

static std::string read_file(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

static void make_folders(const std::string &path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        mkdir(path.substr(0, slash).c_str(), 0700);
    mkdir(path.c_str(), 0700);
}

static std::string cache_folder() {
    std::string folder = environment("STENTOR_EMULATOR_CACHE", "");
    if (folder.empty()) folder = environment("TMPDIR", "/tmp") + "/stentor-emulator-" + std::to_string(getuid());
    make_folders(folder);
    return folder;
}

static int run(const std::vector<std::string> &words, const std::string &log) {
    std::vector<char *> argv;
    for (const auto &word : words) argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    // A sanitizer preloaded into this process must not be loaded into the compiler.
    std::vector<char *> env;
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0) env.push_back(*e);
    env.push_back(nullptr);
    pid_t pid;
    int status = -1, rc = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), env.data());
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static std::vector<std::string> compiler_words() {
    // Most kernels run once, so compiling decides the time of a test. -Og with the passes that
    // loops over local arrays need compiles 10% faster than -O1, and kernels run as fast.
    std::vector<std::string> words = {environment("STENTOR_EMULATOR_CXX", "g++"),
                                      "-std=c++17",
                                      "-Og",
                                      "-ftree-sra",
                                      "-fmove-loop-invariants",
                                      "-fssa-phiopt",
                                      "-w",
                                      "-shared",
                                      "-fPIC",
                                      "-fvisibility=hidden",
                                      "-fno-exceptions",
                                      "-fno-rtti",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fno-stack-protector",
                                      "-fno-strict-aliasing",
                                      "-fsanitize=alignment,bounds",
                                      "-fsanitize-undefined-trap-on-error"};
    // Hardware fma: a GPU contracts products and sums too.
    if (has_avx2_and_fma()) words.insert(words.end(), {"-mavx2", "-mfma", "-ffp-contract=fast"});
    return words;
}

// Writes the sources into a work folder, with the shim's headers in place of the originals.
static bool write_sources(const Program &program, const std::string &work, const std::string &emulated,
                          std::string *log) {
    bool ok =
        write_file(work + "/stn_main.cu", "#line 1 \"" + program.name + "\"\n" + without_shared(program.source, log));
    for (const auto &header : program.headers) {
        if (header.first.find("..") != std::string::npos || header.first[0] == '/') continue;
        size_t slash = header.first.rfind('/');
        if (slash != std::string::npos) make_folders(work + "/" + header.first.substr(0, slash));
        ok = ok && write_file(work + "/" + header.first,
                              header.first == "device/ptx.cuh" ? emulated : without_shared(header.second, log));
    }
    return ok && log->empty();
}

static bool compile(const std::vector<std::string> &compiler, const std::string &work, const std::string &shim,
                    bool watched) {
    std::vector<std::string> first = compiler, second = compiler;
    first.insert(first.end(), {"-E", "-I", work, "-I", shim, "-include", shim + "/cuda.h", "-x", "c++",
                               work + "/stn_main.cu", "-o", work + "/stn_main.ii"});
    if (run(first, work + "/log") != 0) return false;
    std::string text = read_file(work + "/stn_main.ii");
    if (!write_file(work + "/stn_all.cpp", text + epilogue(find_kernels(text)))) return false;
    // Kernels are linked without the sanitizers' libraries: errors trap, accesses call
    // shim/tsan_calls.cpp.
    const std::string object = work + "/stn_all.o";
    if (watched) second.insert(second.end(), {"-g1", "-fsanitize=thread"});
    second.insert(second.end(), {"-c", work + "/stn_all.cpp", "-o", object});
    if (run(second, work + "/log") != 0) return false;
    std::vector<std::string> last = {compiler[0], "-shared", object, "-o", work + "/out.so"};
    if (watched) {
        last = compiler;
        last.insert(last.end(), {"-I", shim, shim + "/tsan_calls.cpp", object, "-o", work + "/out.so", "-lm"});
    } else
        last.insert(last.end(), {"-nostdlib", "-lm", "-lgcc", "-lc"});
    return run(last, work + "/log") == 0;
}

std::string build(const Program &program, std::string *log) {
    const std::string shim = environment("STENTOR_EMULATOR_SHIM", STENTOR_EMULATOR_SHIM);
    std::string emulated = read_file(shim + "/device/ptx.cuh");
    std::vector<std::string> words = compiler_words();
    words.push_back("-D__CUDA_ARCH__=" + std::to_string(program.sm * 10));
    for (const auto &define : program.defines) words.push_back("-D" + define);
    const bool races = environment("STENTOR_EMULATOR_RACES", "0") != "0",
               traffic = !environment("STENTOR_EMULATOR_TRAFFIC", "").empty();
    const bool watched = races || traffic;
    if (races) words.push_back("-DSTENTOR_EMULATOR_RACES");
    Program normal = program;  // PTX and cubin of one source share a library.
    normal.ptx = false;
    std::string key =
        pack(normal) + read_file(shim + "/cuda.h") + read_file(shim + "/engine.h") + emulated + epilogue({});
    if (watched) key += "watched" + read_file(shim + "/tsan_calls.cpp");
    for (const auto &word : words) key += word + "\n";

    log->clear();
    std::string folder = cache_folder(), path = folder + "/" + hash_text(key) + ".so";
    if (access(path.c_str(), R_OK) == 0) return path;
    std::string work = folder + "/build-XXXXXX";
    if (!mkdtemp(&work[0])) {
        *log = "error: " + folder + " is not writable: set STENTOR_EMULATOR_CACHE\n";
        return "";
    }
    bool ok = write_sources(program, work, emulated, log) && compile(words, work, shim, watched);
    if (log->empty()) *log = read_file(work + "/log");
    if (ok && rename((work + "/out.so").c_str(), path.c_str()) == 0) {
        log->clear();
    } else {
        path.clear();
        if (log->empty()) *log = "error: the C++ compiler " + words[0] + " did not run\n";
    }
    if (environment("STENTOR_EMULATOR_KEEP", "").empty()) run({"rm", "-rf", work}, "/dev/null");
    return path;
}

}  // namespace stn_emulator
