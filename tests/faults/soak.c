/* Many executions of one plan, then many plans of changing problems: memory, open files and threads
 * must not grow. soak.py has calls of all kinds, forks and workers. Results of executions are
 * compared with the first one.
 *
 *     soak [EXECUTIONS PLANS [host|cuda]]     10^6 and 10^5 on the host by default */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stentor.h"

enum { ROWS = 20, COLUMNS = 24, LARGEST = 40, SLACK = 4 << 20 /* bytes */ };

typedef struct amounts {
    long long memory, files, threads, device; /* device: bytes used on the GPU */
} amounts;

static long count_items(const char *folder) {
    DIR *items = opendir(folder);
    long count = -2; /* . and .. */
    while (items && readdir(items)) count++;
    if (items) closedir(items);
    return count;
}

/* Calls the driver that the library uses; 0 without one. */
static long long used_on_device(void) {
    const char *path = getenv("STENTOR_CUDA_PATH");
    void *driver = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    int (*retain)(void **, int), (*push)(void *), (*pop)(void **), (*info)(size_t *, size_t *), (*let_go)(int);
    *(void **)&retain = driver ? dlsym(driver, "cuDevicePrimaryCtxRetain") : NULL;
    *(void **)&push = driver ? dlsym(driver, "cuCtxPushCurrent_v2") : NULL;
    *(void **)&pop = driver ? dlsym(driver, "cuCtxPopCurrent_v2") : NULL;
    *(void **)&info = driver ? dlsym(driver, "cuMemGetInfo_v2") : NULL;
    *(void **)&let_go = driver ? dlsym(driver, "cuDevicePrimaryCtxRelease_v2") : NULL;
    size_t left = 0, all = 0;
    void *context;
    if (!retain || !push || !pop || !info || !let_go || retain(&context, 0)) return 0;
    push(context);
    info(&left, &all);
    pop(&context);
    let_go(0);
    return (long long)(all - left);
}

static amounts measure(int device) {
    amounts now = {0};
    long long pages = 0;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*s %lld", &pages) == 1) now.memory = pages * sysconf(_SC_PAGESIZE);
    if (file) fclose(file);
    now.files = count_items("/proc/self/fd");
    now.threads = count_items("/proc/self/task");
    if (device != STN_DEVICE_HOST) now.device = used_on_device();
    return now;
}

static int grew(const char *what, amounts before, amounts after) {
    printf(
        "%s: memory %.1f then %.1f MiB, of the GPU %.1f then %.1f MiB, open files %lld then %lld, threads %lld then "
        "%lld\n",
        what, (double)before.memory / 0x1p20, (double)after.memory / 0x1p20, (double)before.device / 0x1p20,
        (double)after.device / 0x1p20, before.files, after.files, before.threads, after.threads);
    return after.memory > before.memory + SLACK || after.device > before.device + SLACK || after.files > before.files ||
           after.threads > before.threads;
}

static int fail(const char *what, const stn_error *error) {
    printf("%s: %s\n", what, error->message);
    return 1;
}

static unsigned random_below(unsigned long long *state, unsigned most) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % most;
}

/* The second half of the executions must not need more than the first. */
static int execute_often(stn_context *context, int device, long count) {
    static double given[ROWS * COLUMNS], first[ROWS * COLUMNS], now[ROWS * COLUMNS];
    stn_error error = {0};
    stn_stencil *heat = NULL;
    stn_plan *plan = NULL;
    void *in = NULL, *out = NULL;
    stn_problem problem = STN_PROBLEM_INIT;
    amounts half = {0};
    if (stn_stencil_parse("heat-2d:alpha=0.2", &heat, &error)) return fail("the stencil", &error);
    problem.stencil = heat, problem.extent[0] = ROWS, problem.extent[1] = COLUMNS, problem.steps = 2;
    for (int i = 0; i < ROWS * COLUMNS; i++) given[i] = i * i % 17;
    int bad = stn_plan_create(context, &problem, NULL, &plan, &error) ||
              stn_memory_alloc(context, sizeof given, &in, &error) ||
              stn_memory_alloc(context, sizeof given, &out, &error) ||
              stn_memory_upload(context, in, given, sizeof given, &error);
    for (long i = 0; i < count && !bad; i++) {
        bad = stn_plan_execute(plan, in, out, NULL, &error) != STN_OK;
        if (i % 10000 && i != count - 1) continue;
        bad = bad || stn_memory_download(context, i ? now : first, out, sizeof now, &error);
        if (i && memcmp(now, first, sizeof now)) bad = 1, printf("execution %ld has another result\n", i);
        if (i <= count / 2) half = measure(device);
    }
    if (bad) fail("executions", &error);
    bad = bad || grew("executions", half, measure(device));
    stn_memory_free(context, in);
    stn_memory_free(context, out);
    stn_plan_destroy(plan);
    stn_stencil_destroy(heat);
    return bad;
}

static int plan_often(stn_context *context, int device, long count, unsigned long long seed) {
    static const char *const stencils[] = {"heat-2d:alpha=0.2", "box-2d9p", "star-2d13p", "laplace-2d:order=4"};
    static const stn_boundary_kind kinds[] = {STN_WRAP, STN_REFLECT, STN_MIRROR, STN_NEAREST, STN_CONSTANT, STN_FIXED};
    unsigned long long state = seed;
    stn_error error = {0};
    amounts half = {0};
    void *in = NULL, *out = NULL;
    const size_t bytes = LARGEST * LARGEST * sizeof(double);
    int bad = stn_memory_alloc(context, bytes, &in, &error) || stn_memory_alloc(context, bytes, &out, &error);
    double zeros[LARGEST * LARGEST] = {0};
    bad = bad || stn_memory_upload(context, in, zeros, bytes, &error);
    for (long i = 0; i < count && !bad; i++) {
        stn_stencil *stencil = NULL;
        stn_plan *plan = NULL;
        stn_problem problem = STN_PROBLEM_INIT;
        bad = stn_stencil_parse(stencils[random_below(&state, 4)], &stencil, &error);
        problem.stencil = stencil, problem.dtype = random_below(&state, 2) ? STN_F64 : STN_F32;
        problem.steps = 1 + random_below(&state, 9);
        for (int axis = 0; axis < 2; axis++) {
            problem.extent[axis] = 8 + random_below(&state, LARGEST - 8);
            const stn_boundary side = {kinds[random_below(&state, 6)], 0};
            problem.boundary[axis][0] = problem.boundary[axis][1] = side;
        }
        bad = bad || stn_plan_create(context, &problem, NULL, &plan, &error) ||
              (i % 16 == 0 && stn_plan_execute(plan, in, out, NULL, &error));
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil);
        if (i <= count / 2 && (i % 1000 == 0 || i == count / 2)) half = measure(device);
    }
    if (bad) fail("plans", &error);
    bad = bad || grew("plans", half, measure(device));
    stn_memory_free(context, in);
    stn_memory_free(context, out);
    return bad;
}

int main(int argc, char **argv) {
    const long executions = argc > 2 ? atol(argv[1]) : 1000000, plans = argc > 2 ? atol(argv[2]) : 100000;
    const char *seed = getenv("STENTOR_TEST_SEED");
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context = NULL;
    stn_error error = {0};
    options.device = argc > 3 && !strcmp(argv[3], "cuda") ? STN_DEVICE_CUDA(0) : STN_DEVICE_HOST;
    options.cache_dir = ":memory:";
    if (stn_context_create(&options, &context, &error)) {
        fail("no such device here", &error);
        return 77;
    }
    const int bad = execute_often(context, options.device, executions) ||
                    plan_often(context, options.device, plans, seed ? strtoull(seed, NULL, 10) : 1);
    stn_context_destroy(context);
    printf("%ld executions, %ld plans\n", executions, plans);
    return bad;
}
