// The emulator matches kernel_templates: it has every function of device/ptx.cuh, and every
// template compiles.
#include <filesystem>

#include "test_machine.h"

// The names of the functions that a header defines: the word before "(" after __forceinline__.
static std::vector<std::string> words_of(const std::string &text) {
    std::vector<std::string> words;
    const std::string mark = "__forceinline__";
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += mark.size()) {
        size_t open = text.find('(', at), start = text.find_last_of(" *", open);
        words.push_back(text.substr(start + 1, open - start - 1));
    }
    return words;
}

static void every_function_is_emulated() {
    std::string emulated = read_text(kernel_folder() + "/../shim/device/ptx.cuh");
    std::vector<std::string> words = words_of(read_text(template_folder() + "/device/ptx.cuh"));
    CHECK(words.size() > 20);
    for (const std::string &word : words) {
        bool found =
            emulated.find(word + "(") != std::string::npos || emulated.find("(" + word + ",") != std::string::npos;
        if (!found) printf("device/ptx.cuh has %s, tests/emulator/shim/device/ptx.cuh has not\n", word.c_str());
        CHECK(found);
    }
}

static void every_template_compiles() {
    int count = 0;
    for (const auto &file : std::filesystem::recursive_directory_iterator(template_folder())) {
        if (file.path().extension() != ".cu") continue;
        int result;
        std::string log, image = compile_text(read_text(file.path().string()), machine_sm, false, &result, &log);
        if (result) printf("%s: %s\n", file.path().c_str(), log.c_str());
        CHECK(result == 0);
        CUmodule m;
        CUfunction f;
        CHECK(!cuModuleLoadDataEx(&m, image.data(), 0, nullptr, nullptr));
        CHECK(!cuModuleGetFunction(&f, m, file.path().stem().c_str()) && !cuModuleUnload(m));
        count++;
    }
    CHECK(count > 0);
}

const std::vector<Test> template_tests = {
    {"every_function_is_emulated", every_function_is_emulated, false},
    {"every_template_compiles", every_template_compiles, false},
};
