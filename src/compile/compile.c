/* Compiles one CUDA C++ text to PTX and cubin with NVRTC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/compile_internal.h"

const char *const stn_compile_options[] = {
    "-std=c++17", "-default-device", /* a function without a qualifier runs on the device */
    "--modify-stack-limit=false",    /* NVRTC would change the stack limit of the whole process. */
};
const size_t stn_compile_option_count = sizeof stn_compile_options / sizeof *stn_compile_options;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Chooses "--gpu-architecture=": sm_NN (machine code) if this NVRTC knows the chip. Otherwise logs
 * once that it does not, and chooses PTX for the newest older chip, which the driver compiles. */
static stn_status choose_arch(stn_compiler *compiler, int sm, char option[48], stn_error *error) {
    if (stn_compiler_knows(compiler, sm)) {
        snprintf(option, 48, "--gpu-architecture=sm_%d", sm);
        return STN_OK;
    }
    for (int i = compiler->arch_count; i-- > 0;)
        if (compiler->archs[i] < sm) {
            snprintf(option, 48, "--gpu-architecture=compute_%d", compiler->archs[i]);
            if (atomic_exchange(&compiler->logged_sm, sm) != sm)
                stn_log(compiler->logger, STN_LOG_WARNING,
                        "NVRTC %s knows no sm_%d: it makes PTX for sm_%d, which the driver of a newer GPU turns into "
                        "machine code",
                        compiler->version, sm, compiler->archs[i]);
            return STN_OK;
        }
    return stn_fail(
        error, STN_ERROR_NO_COMPILER,
        "NVRTC %s (%s) compiles for sm_%d and newer, not for sm_%d: point STENTOR_NVRTC_PATH at an older one",
        compiler->version, compiler->path, compiler->archs[0], sm);
}

static stn_status create(const stn_compiler *compiler, const stn_compile_request *request, stn_nvrtc_program *program,
                         stn_error *error) {
    size_t count = request->header_count;
    const char **lists = calloc(2 * count + 1, sizeof *lists);
    if (!lists) return stn_fail_memory(error, "a list of headers", (2 * count + 1) * sizeof *lists);
    for (size_t i = 0; i < count; i++) {
        lists[i] = request->headers[i].text;
        lists[count + i] = request->headers[i].name;
    }
    stn_nvrtc_result result =
        compiler->call.nvrtcCreateProgram(program, request->source, request->name, (int)count, lists, lists + count);
    free(lists);
    if (!result) return STN_OK;
    return stn_fail(error, result == STN_NVRTC_OUT_OF_MEMORY ? STN_ERROR_OUT_OF_MEMORY : STN_ERROR_COMPILE,
                    "nvrtcCreateProgram failed for %s: %s", request->name, compiler->call.nvrtcGetErrorString(result));
}

/* Logs the program's log line by line. Returns its first line with "error", else its first line;
 * owned by the caller. NULL: no log. */
static char *log_program(const stn_compiler *compiler, stn_nvrtc_program program, stn_log_level level) {
    size_t size = 0;
    char *first = NULL, *log = NULL;
    if (compiler->call.nvrtcGetProgramLogSize(program, &size) || size < 2 || !(log = calloc(1, size + 1))) return NULL;
    bool is_error = false;
    char *rest = NULL;
    if (!compiler->call.nvrtcGetProgramLog(program, log))
        for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            stn_log(compiler->logger, level, "%s", line);
            bool better = !is_error && strstr(line, "error");
            if (first && !better) continue;
            free(first);
            first = strdup(line);
            is_error = better;
        }
    free(log);
    return first;
}

static int asks_to_stop(void *payload, void *unused) {
    (void)unused;
    return atomic_load((const atomic_bool *)payload);
}

/* ptxas: "Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)". */
static bool exceeds_shared_memory(const char *line) { return line && strstr(line, "too much shared data"); }

static stn_status run(const stn_compiler *compiler, const stn_compile_request *request, stn_nvrtc_program program,
                      const char *arch, stn_error *error) {
    const size_t capacity = request->option_count + 3;
    const char **options = calloc(capacity, sizeof *options);
    if (!options) return stn_fail_memory(error, "a list of options", capacity * sizeof *options);
    int count = 0;
    options[count++] = arch;
    for (size_t i = 0; i < request->option_count; i++) options[count++] = request->options[i];
    /* NVRTC's own cache, from 12.9 on, is not used: cache/ stores the outputs. */
    if (compiler->major > 12 || compiler->minor >= 9) options[count++] = "--no-cache";
    /* Omits declarations of the CUDA runtime from every compile; the output is bitwise the same. */
    if (compiler->major > 12 || compiler->minor >= 4) options[count++] = "--minimal";
    if (request->cancel && compiler->call.nvrtcSetFlowCallback)
        (void)compiler->call.nvrtcSetFlowCallback(program, asks_to_stop, (void *)request->cancel);
    stn_nvrtc_result result = compiler->call.nvrtcCompileProgram(program, count, options);
    free(options);
    const bool stopped = result && request->cancel && atomic_load(request->cancel);
    char *line = log_program(compiler, program, result && !stopped ? STN_LOG_ERROR : STN_LOG_DEBUG);
    stn_status status = STN_OK;
    if (result == STN_NVRTC_OUT_OF_MEMORY)
        status =
            stn_fail(error, STN_ERROR_OUT_OF_MEMORY, "NVRTC ran out of memory while it compiled %s", request->name);
    else if (result == STN_NVRTC_BUILTIN_FAILURE)
        status =
            stn_fail(error, STN_ERROR_NO_COMPILER,
                     "NVRTC %s (%s) did not find its libnvrtc-builtins.so.%s: put it into its folder or install NVRTC "
                     "again (%s)",
                     compiler->version, compiler->path, compiler->version, line ? line : "no log");
    else if (result)
        status = stn_fail(error, exceeds_shared_memory(line) ? STN_ERROR_UNSUPPORTED : STN_ERROR_COMPILE,
                          "%s did not compile for %s (%s): %.700s", request->name, strchr(arch, '=') + 1,
                          compiler->call.nvrtcGetErrorString(result), line ? line : "no log");
    free(line);
    return status;
}

typedef stn_nvrtc_result (*size_fn)(stn_nvrtc_program program, size_t *size);
typedef stn_nvrtc_result (*data_fn)(stn_nvrtc_program program, char *data);

/* Takes one of the program's outputs; a NUL follows its `size` bytes. */
static stn_status take(const stn_compiler *compiler, stn_nvrtc_program program, const char *what, size_fn get_size,
                       data_fn get_data, char **data, size_t *size, stn_error *error) {
    stn_nvrtc_result result = get_size(program, size);
    if (!result && !*size) return STN_OK; /* there is no such output */
    if (!result) {
        if (!(*data = calloc(1, *size + 1))) return stn_fail_memory(error, what, *size + 1);
        result = get_data(program, *data);
    }
    if (!result) return STN_OK;
    return stn_fail(error, STN_ERROR_COMPILE, "NVRTC did not return the %s: %s", what,
                    compiler->call.nvrtcGetErrorString(result));
}

stn_status stn_compile(stn_compiler *compiler, const stn_compile_request *request, stn_compile_output *output,
                       stn_error *error) {
    const stn_nvrtc_functions *call = &compiler->call;
    stn_nvrtc_program program = NULL;
    char arch[48], *cubin = NULL;
    double begin = now();
    stn_status status;
    *output = (stn_compile_output){0};
    STN_TRY_GOTO(status, choose_arch(compiler, request->sm, arch, error), done);
    STN_TRY_GOTO(status, create(compiler, request, &program, error), done);
    STN_TRY_GOTO(status, run(compiler, request, program, arch, error), done);
    STN_TRY_GOTO(status,
                 take(compiler, program, "PTX", call->nvrtcGetPTXSize, call->nvrtcGetPTX, &output->ptx,
                      &output->ptx_size, error),
                 done);
    STN_TRY_GOTO(status,
                 take(compiler, program, "cubin", call->nvrtcGetCUBINSize, call->nvrtcGetCUBIN, &cubin,
                      &output->cubin_size, error),
                 done);
    output->cubin = cubin;
    cubin = NULL;
    output->ptx_size = output->ptx ? strlen(output->ptx) : 0; /* NVRTC counts the NUL too */
    output->seconds = now() - begin;
done:
    free(cubin);
    if (program) call->nvrtcDestroyProgram(&program);
    if (status != STN_OK) stn_compile_output_free(output);
    return status;
}

void stn_compiler_warm(stn_compiler *compiler) {
    const stn_compile_request nothing = {.name = "nothing.cu",
                                         .source = "extern \"C\" __global__ void nothing() {}",
                                         .options = stn_compile_options,
                                         .option_count = stn_compile_option_count,
                                         .sm = stn_compiler_newest_sm(compiler)};
    stn_compile_output output;
    (void)stn_compile(compiler, &nothing, &output, NULL);
    stn_compile_output_free(&output);
}

void stn_compile_output_free(stn_compile_output *output) {
    free(output->ptx);
    free(output->cubin);
    *output = (stn_compile_output){0};
}
