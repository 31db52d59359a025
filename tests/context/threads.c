/* One context used by many threads at once: plans made, executed and given new weights, transforms
 * and systems, progress and cancellation, and on a stand-in of a GPU background compiles, trials in
 * executions, and the cache. Results on the host are compared with those of one thread. A plain
 * program, so that ThreadSanitizer can run it (.ci/run). */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stentor.h"

enum { THREADS = 6, ROUNDS = 12, N = 96, LARGE = 400 };

static stn_context *context;
static atomic_int wrong;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("# line %d: %s: ", __LINE__, #condition);                                                           \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
            atomic_fetch_add(&wrong, 1);                                                                               \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == STN_OK, "%s", error.message)

static void on_threads(void *(*body)(void *user)) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static stn_problem problem_of(const stn_stencil *stencil, size_t n, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.steps = steps;
    p.extent[0] = p.extent[1] = n;
    return p;
}

static stn_plan *make(const stn_problem *p, int mode, int first_result) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_error error = {0};
    options.mode = mode, options.first_result = first_result;
    OK(stn_plan_create(context, p, &options, &plan, &error));
    return plan;
}

/* ---- on the host ----------------------------------------------------------------------------- */

static stn_stencil *heat;
static stn_plan *shared;
static double input[N * N], expected[N * N];

/* The arguments that a progress function got; it is called on the executing thread. */
typedef struct teller {
    pthread_t thread;
    int calls, cancels_at;
} teller;

static int tell(void *user, uint64_t done, uint64_t total) {
    teller *t = user;
    (void)done, (void)total;
    CHECK(pthread_equal(t->thread, pthread_self()), "the progress function is called on another thread");
    return ++t->calls == t->cancels_at;
}

static void run_shared(stn_execution *run, double *out) {
    stn_error error = {0};
    memset(out, 0xff, N * N * sizeof *out);
    run->in = input, run->out = out;
    OK(stn_plan_run(shared, run, &error));
    CHECK(!memcmp(out, expected, sizeof expected), "a shared plan has another result");
}

static void *on_host(void *user) {
    const size_t own = (size_t)user;
    double *out = malloc(sizeof input), *other = calloc(2 * LARGE * LARGE, sizeof *other);
    void *workspace = NULL;
    stn_error error = {0};
    stn_execution run = STN_EXECUTION_INIT;
    OK(stn_memory_alloc(context, stn_plan_workspace_size(shared) + 1, &workspace, &error));
    run.workspace = workspace;
    for (size_t round = 0; round < ROUNDS; round++) {
        teller told = {.thread = pthread_self()};
        run_shared(&run, out);
        stn_execution watched = run;
        watched.progress = tell, watched.progress_user = &told;
        run_shared(&watched, out);
        CHECK(told.calls > 0, "no progress");
        /* A plan of this thread, with weights of its own. */
        const stn_problem p = problem_of(heat, 40 + own % 3, 3 + round % 2);
        stn_plan *plan = make(&p, STN_MODE_AUTO, 0);
        const double weights[5] = {0.1, 0.1, 0.5, 0.1, 0.2};
        OK(stn_plan_set_weights(plan, 5, weights, &error));
        OK(stn_plan_execute(plan, input, out, NULL, &error));
        stn_plan_destroy(plan);
        /* A long run that is cancelled. */
        const stn_problem longer = problem_of(heat, LARGE, 200000 + round);
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = "host";
        plan = NULL;
        if (round % 4) continue;
        OK(stn_plan_create(context, &longer, &options, &plan, &error));
        told.calls = 0, told.cancels_at = 2;
        stn_execution cancelled = STN_EXECUTION_INIT;
        cancelled.in = other, cancelled.out = other + LARGE * LARGE, cancelled.progress = tell;
        cancelled.progress_user = &told;
        CHECK(stn_plan_run(plan, &cancelled, &error) == STN_ERROR_CANCELLED, "%s", error.message);
        stn_plan_destroy(plan);
        stn_transform t = STN_TRANSFORM_INIT;
        t.kind = STN_R2C, t.rank = 1, t.extent[0] = 60, t.batch = 7, t.dtype = STN_F64;
        OK(stn_plan_create_fft(context, &t, NULL, &plan, &error));
        OK(stn_plan_execute(plan, input, other, NULL, &error));
        stn_plan_destroy(plan);
    }
    stn_memory_free(context, workspace);
    free(out), free(other);
    return NULL;
}

static void open_context(int device) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_error error = {0};
    options.device = device, options.threads = 3;
    if (stn_context_create(&options, &context, &error) == STN_OK) return;
    printf("Bail out! %s\n", error.message);
    exit(1);
}

static void check_host(void) {
    stn_error error = {0};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    open_context(STN_DEVICE_HOST);
    for (int i = 0; i < N * N; i++) input[i] = sin(0.37 * i);
    const stn_problem p = problem_of(heat, N, 5);
    options.strategy = "host", options.no_auto_workspace = 1;
    OK(stn_plan_create(context, &p, &options, &shared, &error));
    void *workspace;
    OK(stn_memory_alloc(context, stn_plan_workspace_size(shared) + 1, &workspace, &error));
    OK(stn_plan_execute_with(shared, input, expected, workspace, NULL, &error));
    stn_memory_free(context, workspace);
    on_threads(on_host);
    stn_plan_destroy(shared);
    stn_context_destroy(context);
}

/* ---- on a stand-in of a GPU ------------------------------------------------------------------ */

static void *on_gpu(void *user) {
    const size_t own = (size_t)user;
    static const int modes[] = {STN_MODE_AUTO, STN_MODE_ESTIMATE, STN_MODE_ONLINE};
    stn_error error = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        const stn_problem p = problem_of(heat, 200 + round / 3, 4);
        const size_t bytes = p.extent[0] * p.extent[1] * sizeof(double);
        stn_plan *plan = make(&p, modes[(own + round) % 3], own % 2);
        void *in = NULL, *out = NULL;
        const double weights[5] = {0.1, 0.1, 0.6, 0.1, 0.1};
        OK(stn_memory_alloc(context, bytes, &in, &error));
        OK(stn_memory_alloc(context, bytes, &out, &error));
        for (int i = 0; i < 4; i++) OK(stn_plan_execute(plan, in, out, NULL, &error));
        OK(stn_plan_set_weights(plan, 5, weights, &error));
        OK(stn_plan_execute(plan, in, out, NULL, &error));
        char *text = NULL;
        OK(stn_plan_describe(plan, STN_JSON, &text, &error));
        stn_text_free(text);
        stn_plan_destroy(plan);
        stn_memory_free(context, in), stn_memory_free(context, out);
        stn_cache_stats stats;
        stn_context_cache_stats(context, &stats);
    }
    return NULL;
}

static void check_gpu(void) {
    char folder[] = "/tmp/stentor-threads-XXXXXX", command[64], log[64];
    if (!mkdtemp(folder)) exit(1);
    setenv("STENTOR_CACHE_DIR", folder, 1);
    snprintf(log, sizeof log, "%s/compiles", folder);
    setenv("FAKE_NVRTC_LOG", log, 1);
    setenv("STENTOR_CUDA_PATH", FAKE_DRIVER, 1);
    setenv("STENTOR_NVRTC_PATH", FAKE_NVRTC, 1);
    setenv("STENTOR_CUFFT_PATH", "/nowhere", 1);
    setenv("STENTOR_CUBLAS_PATH", "/nowhere", 1);
    open_context(STN_DEVICE_CUDA(0));
    on_threads(on_gpu);
    stn_context_destroy(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command)) atomic_fetch_add(&wrong, 1);
}

int main(void) {
    stn_error error = {0};
    OK(stn_stencil_parse("heat-2d:alpha=0.2", &heat, &error));
    printf("1..2\n");
    check_host();
    printf("%sok 1 - one context on the host, %d threads\n", wrong ? "not " : "", THREADS);
    const int before = wrong;
    check_gpu();
    printf("%sok 2 - one context of a stand-in of a GPU\n", wrong > before ? "not " : "");
    stn_stencil_destroy(heat);
    return wrong ? 1 : 0;
}
