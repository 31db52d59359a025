/* A fake libnvrtc with all functions and the version FAKE_MAJOR. It compiles nothing and reports
 * missing builtins. But if FAKE_NVRTC_LOG names a file, it appends the line of the rendered
 * parameter to that file and returns made-up PTX and cubin, after FAKE_NVRTC_WAIT milliseconds. For
 * tests of everything around a compile; the emulator's NVRTC makes code that runs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/nvrtc_functions.h"

#define PTX "PTX made up"
#define CUBIN "cubin made up"
#define NOTHING "no params.cuh\n"

#define FAKE __attribute__((visibility("default"))) stn_nvrtc_result
FAKE nvrtcVersion(int *major, int *minor) { return *major = FAKE_MAJOR, *minor = 3, 0; }
#if FAKE_MAJOR >= 11
FAKE nvrtcGetNumSupportedArchs(int *count) { return *count = 3, 0; }
FAKE nvrtcGetSupportedArchs(int *archs) { return archs[0] = 90, archs[1] = 75, archs[2] = 80, 0; }
FAKE nvrtcGetCUBINSize(stn_nvrtc_program program, size_t *size) { return (void)program, *size = strlen(CUBIN), 0; }
FAKE nvrtcGetCUBIN(stn_nvrtc_program program, char *data) {
    (void)program;
    return memcpy(data, CUBIN, strlen(CUBIN)), 0;
}
#endif
FAKE nvrtcCreateProgram(stn_nvrtc_program *program, const char *source, const char *name, int count,
                        const char *const *headers, const char *const *names) {
    (void)source, (void)name;
    char *params = NULL; /* A program is only the text of its params.cuh. */
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], "params.cuh") && !params) params = strdup(headers[i]);
    *program = (stn_nvrtc_program)(params ? params : strdup(NOTHING));
    return 0;
}
/* Per thread: tests have one program at a time on each thread. */
static _Thread_local int (*may_stop)(void *payload, void *unused);
static _Thread_local void *stop_payload;
FAKE nvrtcSetFlowCallback(stn_nvrtc_program program, int (*callback)(void *, void *), void *payload) {
    (void)program;
    return may_stop = callback, stop_payload = payload, 0;
}
FAKE nvrtcDestroyProgram(stn_nvrtc_program *program) {
    free(*program);
    may_stop = NULL;
    return *program = NULL, 0;
}
FAKE nvrtcCompileProgram(stn_nvrtc_program program, int count, const char *const *options) {
    const char *log = getenv("FAKE_NVRTC_LOG"), *params = (const char *)program, *line = strchr(params, '\n') + 1;
    if (!log || !*log) return STN_NVRTC_BUILTIN_FAILURE;
    if (!strcmp(params, NOTHING)) return 0; /* a warm-up compile */
    const char *wait = getenv("FAKE_NVRTC_WAIT");
    for (int i = 0; wait && i < atoi(wait); i++) {
        usleep(1000);
        if (may_stop && may_stop(stop_payload, NULL)) return 16;
    }
    int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dprintf(file, "%s %.*s\n", count ? options[0] : "", (int)strcspn(line, "\n"), line);
    return close(file) ? 11 : 0;
}
FAKE nvrtcGetPTXSize(stn_nvrtc_program program, size_t *size) { return (void)program, *size = sizeof PTX, 0; }
FAKE nvrtcGetPTX(stn_nvrtc_program program, char *data) { return (void)program, memcpy(data, PTX, sizeof PTX), 0; }
FAKE nvrtcGetProgramLogSize(stn_nvrtc_program program, size_t *size) { return (void)program, *size = 0, 0; }
FAKE nvrtcGetProgramLog(stn_nvrtc_program program, char *data) { return (void)program, (void)data, 0; }
__attribute__((visibility("default"))) const char *nvrtcGetErrorString(stn_nvrtc_result result) {
    return result ? "NVRTC_ERROR" : "NVRTC_SUCCESS";
}
