/* Random problems whose plan is made with options.first_result: once the background compile has
 * ended, the plan is the same as one that compiles first. It has the same strategy, candidate,
 * kernels and workspace; an execution has the same launches and the same bits, and allocates and
 * compiles nothing. Half of the problems have a source. Prints TAP.
 *
 *     random_first_results [--seed S] [--planned N] [--executed M]
 *
 * N problems of sizes for a GPU are only planned; M small ones are also executed. Problems for
 * which the generic kernel is not used are drawn again. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/drawn_problem.h"
#include "cli/generic_kernels.h"
#include "context/context.h"
#include "plan/plan.h"

void set_embedded_pack(const void *pack, size_t size); /* embedded_pack.c */

static stn_error error;
static int number, failures;
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != STN_OK) {                                                                                        \
            printf("Bail out! line %d: %s\n", __LINE__, error.message);                                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static stn_context *open_context(void) {
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:"};
    stn_context *context;
    OK(stn_context_create(&options, &context, &error));
    return context;
}

/* From now on the library contains the generic kernels. */
static void embed_generic_kernels(void) {
    stn_context *context = open_context();
    stn_pack_writer *writer;
    void *pack;
    size_t size;
    OK(stn_pack_writer_create(&writer, &error));
    stn_cache_record(context->cache, writer);
    OK(cli_make_generic_kernels(context, true, &error));
    OK(stn_pack_finish(writer, &pack, &size, &error));
    set_embedded_pack(pack, size);
    free(pack);
    stn_cache_record(context->cache, NULL);
    stn_pack_writer_destroy(writer);
    stn_context_destroy(context);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static stn_plan *make(stn_context *context, const drawn_problem *p, bool first_result) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    options.first_result = first_result, options.no_auto_workspace = 1;
    OK(stn_plan_create(context, &p->r.problem, &options, &plan, &error));
    return plan;
}

static char *described(const stn_plan *plan) {
    char *text;
    OK(stn_plan_describe(plan, STN_TEXT, &text, &error));
    return text;
}

/* The kernels of a plan in the order in which it asked for them. */
static bool same_kernels(const stn_plan *a, const stn_plan *b) {
    bool same = a->kernels->count == b->kernels->count;
    for (size_t i = 0; same && i < a->kernels->count; i++)
        same = !strcmp(a->kernels->list[i]->name, b->kernels->list[i]->name) &&
               !strcmp(a->kernels->list[i]->params, b->kernels->list[i]->params);
    return same;
}

/* What differs between a plan whose background compile has ended and one that compiled first; NULL:
 * nothing. */
static const char *difference(const stn_plan *soon, const stn_plan *compiled) {
    if (stn_first_result_now(soon) != soon) return soon->first->failed.message;
    if (soon->strategy != compiled->strategy) return "another strategy";
    if (memcmp(&soon->candidate, &compiled->candidate, sizeof soon->candidate)) return "another candidate";
    if (!same_kernels(soon, compiled)) return "other kernels";
    if (soon->workspace_size != compiled->workspace_size) return "another workspace";
    if (stn_plan_workspace_size(soon) < compiled->workspace_size) return "too little workspace";
    return NULL;
}

static void report(const drawn_problem *p, const stn_plan *soon, const char *why) {
    printf("%s %d - %s: %s\n", why ? "not ok" : "ok", ++number, soon->strategy->name, p->label);
    if (why) {
        char *text = described(soon);
        printf("# %s\n", why);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) printf("# %s\n", line);
        stn_text_free(text);
        failures++;
    }
    fflush(stdout);
}

/* ---- executions ------------------------------------------------------------------------------ */

typedef struct grids {
    void *in, *out, *source, *workspace, *result; /* result: on the host */
} grids;

static uint64_t calls_of(const char *const *names) {
    static uint64_t (*calls)(const char *);
    uint64_t count = 0;
    if (!calls) {
        void *driver = dlopen(getenv("STENTOR_CUDA_PATH"), RTLD_NOW);
        void *found = driver ? dlsym(driver, "stentor_emulator_calls") : NULL;
        if (!found) printf("Bail out! this is not the emulator\n"), exit(1);
        memcpy(&calls, &found, sizeof calls);
    }
    while (*names) count += calls(*names++);
    return count;
}

static void *new_grid(stn_context *context, const drawn_problem *p, dice *d) {
    void *grid, *host = malloc(p->bytes);
    if (!host) exit(1);
    for (size_t i = 0; i < p->bytes / stn_dtype_size(p->r.problem.dtype); i++)
        set_element(p->r.problem.dtype, host, (int64_t)i, dice_real(d));
    OK(stn_memory_alloc(context, p->bytes, &grid, &error));
    OK(stn_memory_upload(context, grid, host, p->bytes, &error));
    free(host);
    return grid;
}

/* Executes the plan once from the same data. */
static void execute(stn_plan *plan, const drawn_problem *p, const grids *g, uint64_t *launches, uint64_t *makes) {
    static const char *const launch_names[] = {"cuLaunchKernel", "cuLaunchKernelEx", "cuMemcpyDtoDAsync_v2",
                                               "cuMemsetD32Async", NULL};
    static const char *const make_names[] = {"cuMemAlloc_v2", "cuModuleLoadDataEx", "cuMemcpyHtoD_v2", NULL};
    stn_execution run = STN_EXECUTION_INIT;
    run.in = g->in, run.out = g->out, run.source = g->source, run.workspace = g->workspace;
    if (p->r.problem.in_place) {
        OK(stn_device_copy(plan->context->device, g->out, g->in, p->bytes, NULL, &error));
        run.in = g->out;
    }
    *launches = calls_of(launch_names), *makes = calls_of(make_names);
    OK(stn_plan_run(plan, &run, &error));
    OK(stn_synchronize(plan->context, NULL, &error));
    *launches = calls_of(launch_names) - *launches, *makes = calls_of(make_names) - *makes;
    OK(stn_memory_download(plan->context, g->result, g->out, p->bytes, &error));
}

static const char *execute_both(stn_plan *soon, stn_plan *compiled, const drawn_problem *p) {
    dice d = {number + 1};
    uint64_t launches, makes, expected_launches;
    grids g = {.result = malloc(p->bytes)};
    void *expected = malloc(p->bytes);
    if (!expected || !g.result) exit(1);
    g.in = new_grid(soon->context, p, &d), g.out = new_grid(soon->context, p, &d);
    if (p->r.problem.has_source) g.source = new_grid(soon->context, p, &d);
    const size_t workspace = stn_plan_workspace_size(soon);
    if (workspace) OK(stn_memory_alloc(soon->context, workspace, &g.workspace, &error));
    for (int i = 0; i < 2; i++) execute(compiled, p, &g, &expected_launches, &makes);
    memcpy(expected, g.result, p->bytes);
    for (int i = 0; i < 3; i++) execute(soon, p, &g, &launches, &makes);
    const char *why = difference(soon, compiled);
    if (!why && launches != expected_launches) why = "another number of launches";
    if (!why && makes) why = "the third execution allocates or loads";
    if (!why && memcmp(g.result, expected, p->bytes) != 0) why = "another result";
    stn_memory_free(soon->context, g.in), stn_memory_free(soon->context, g.out);
    stn_memory_free(soon->context, g.source), stn_memory_free(soon->context, g.workspace);
    free(g.result), free(expected);
    return why;
}

/* False: the generic kernel is not used for this problem. */
static bool test(const drawn_problem *p, bool executed) {
    stn_context *context = open_context();
    stn_plan *soon = make(context, p, true);
    const bool begun = stn_first_result_now(soon) != soon;
    if (begun && executed) {
        stn_context *other = open_context(); /* on the same device, so that grids are shared */
        stn_plan *compiled = make(other, p, false);
        report(p, soon, execute_both(soon, compiled, p));
        stn_plan_destroy(compiled);
        stn_context_destroy(other);
    } else if (begun) {
        (void)stn_first_result_end(soon);
        stn_plan *compiled = make(context, p, false); /* its kernels are in memory */
        report(p, soon, difference(soon, compiled));
        stn_plan_destroy(compiled);
    }
    stn_plan_destroy(soon);
    stn_context_destroy(context);
    return begun;
}

/* Plans of longer runs than the generic kernel is used for need not be made. */
static bool is_short(stn_context *context, const drawn_problem *p) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    stn_ranked row;
    options.estimate_only = 1;
    OK(stn_plan_create(context, &p->r.problem, &options, &plan, &error));
    const bool is = stn_plan_generic(plan, &row) && row.estimate.seconds < 1;
    stn_plan_destroy(plan);
    return is;
}

static void test_problems(uint64_t seed, int count, bool executed) {
    drawn_problem *p = malloc(sizeof *p);
    stn_context *context = open_context();
    if (!p) exit(1);
    for (uint64_t i = 0; count > 0 && i < 1000; i++) {
        if (!drawn_problem_make(seed, i, executed, p)) continue;
        if (i % 2) p->r.problem.has_source = 1, strncat(p->label, " (source)", sizeof p->label - strlen(p->label) - 1);
        if (is_short(context, p) && test(p, executed)) count--;
        drawn_problem_clear(p);
    }
    if (count > 0) printf("not ok %d - too few problems use the generic kernel\n", ++number), failures++;
    free(p);
    stn_context_destroy(context);
}

int main(int argc, char **argv) {
    uint64_t seed = 0;
    int planned = 24, executed = 4;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed")) seed = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--planned")) planned = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--executed")) executed = atoi(argv[i + 1]);
    }
    if (!seed) seed = dice_seed();
    setenv("STENTOR_EMULATOR_LATE", "1", 1); /* kernels that are not launched are not compiled */
    embed_generic_kernels();
    test_problems(seed, planned, false);
    test_problems(seed, executed, true);
    printf("1..%d\n", number);
    return failures != 0;
}
