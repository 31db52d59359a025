/* One process of a team by MPI, started by test_mpi.py under mpirun, or by NCCL, started by
 * test_nccl.py with STENTOR_TEST_RANK, _COUNT and _ID, the file of the id: all processes draw the
 * same random problems, and each compares its part bitwise with the same rows of one device's
 * result.
 *
 *     ranks SEED COUNT [gpu]   random problems: all sides, uneven and thin parts, types, batches
 *     ranks systems SEED COUNT [gpu]   random systems
 *     ranks unequal            the last rank brings another problem, an invalid one, no pointer
 *     ranks stop RANK          that rank stops in the middle of a run
 *     ranks leave RANK         that rank makes no plan but ends
 *     ranks absent RANK        that rank stops before it makes a team
 *     ranks faults             until a call fails: outputs stay as they were
 *     ranks finalised          MPI is finalised before the team goes */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../strategies/random/problem.h"
#include "random_system.h"
#include "run_alone.h"
#include "team/team.h"

typedef struct rig {
    stn_team *team;
    stn_context *alone;
    int rank, failed;
    const char *strategy;
} rig;

static size_t row_bytes_of(const stn_problem *p, int rank) {
    size_t bytes = stn_dtype_size(p->dtype);
    for (int axis = 1; axis < rank; axis++) bytes *= p->extent[axis];
    return bytes;
}

/* Copies the rows of a part, of all grids of the batch, to contiguous memory. */
static void take_rows(const stn_problem *p, size_t row, size_t first, size_t rows, const unsigned char *whole,
                      unsigned char *part) {
    for (size_t b = 0; b < (p->batch ? p->batch : 1); b++)
        memcpy(part + b * rows * row, whole + (b * p->extent[0] + first) * row, rows * row);
}

/* `twice`: a run from the input and a second one that continues it. */
static stn_status execute(stn_team_plan *plan, const void *in, const void *source, void *out, bool twice,
                          stn_error *error) {
    const void *const *sources = source ? &source : NULL;
    if (!twice) return stn_team_plan_execute(plan, &in, &out, sources, error);
    const stn_status status = stn_team_plan_execute(plan, &in, NULL, sources, error);
    return status == STN_OK ? stn_team_plan_execute(plan, NULL, &out, sources, error) : status;
}

/* Runs this rank's part, with grids in host memory. */
static stn_status run_team(const rig *r, stn_team_plan *plan, const void *in, const void *source, void *out,
                           size_t bytes, bool twice, stn_error *error) {
    stn_context *context = stn_team_context(r->team, r->rank);
    void *at[3] = {NULL};
    stn_status status = STN_OK;
    for (int i = 0; i < 3 && status == STN_OK; i++) status = stn_memory_alloc(context, bytes, &at[i], error);
    if (status == STN_OK) status = stn_memory_upload(context, at[0], in, bytes, error);
    if (status == STN_OK && source) status = stn_memory_upload(context, at[2], source, bytes, error);
    if (status == STN_OK) status = execute(plan, at[0], source ? at[2] : NULL, at[1], twice, error);
    if (status == STN_OK) status = stn_synchronize(context, NULL, error);
    if (status == STN_OK) status = stn_memory_download(context, out, at[1], bytes, error);
    for (int i = 0; i < 3; i++) stn_memory_free(context, at[i]);
    return status;
}

static void report(rig *r, bool good, uint64_t index, const stn_problem *p, int rank, const char *why,
                   const stn_team_plan *plan) {
    char *words = NULL;
    if (good) return;
    r->failed++;
    if (plan) (void)stn_team_plan_describe(plan, &words, NULL);
    printf("problem %" PRIu64 " on rank %d: %dD, %zu rows, %d steps: %s; %s\n", index, r->rank, rank, p->extent[0],
           (int)p->steps, why, words ? words : "no plan");
    stn_text_free(words);
}

/* Kernels of one step and of several, which GPUs choose by the number of rows, add symmetric taps
 * in another order: a few units in the last place. */
static bool is_same(const rig *r, const stn_problem *p, const void *got, const void *want, size_t bytes) {
    double largest = 0, off = 0;
    if (!memcmp(got, want, bytes)) return true;
    for (size_t i = 0; i < bytes / stn_dtype_size(p->dtype); i++) {
        const double x = element(p->dtype, got, (int64_t)i), y = element(p->dtype, want, (int64_t)i);
        largest = fmax(largest, fabs(y)), off = fabs(x - y) <= off ? off : fabs(x - y);
    }
    const double unit = p->dtype == STN_F64 ? 0x1p-53 : 0x1p-24;
    return strcmp(r->strategy, "host") != 0 && p->steps > 1 && off <= 16 * unit * sqrt((double)p->steps) * largest;
}

static void compare(rig *r, const random_problem *drawn, stn_problem *p, bool twice, uint64_t index) {
    const int rank = drawn->rank;
    const size_t row = row_bytes_of(p, rank), batch = p->batch ? p->batch : 1, bytes = batch * p->extent[0] * row;
    const size_t each = (bytes + 255) / 256 * 256;
    unsigned char *memory = aligned_alloc(256, 6 * each), *in = memory, *source = in + each, *want = source + each,
                  *part = want + each, *got = part + each, *expected = got + each;
    memset(memory, 0, 6 * each);
    stn_error error = {0};
    stn_team_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    size_t first = 0, rows = 0;
    dice d = {drawn->data};
    options.strategy = r->strategy;
    for (int64_t i = 0; i < (int64_t)(bytes / stn_dtype_size(p->dtype)); i++) {
        set_element(p->dtype, in, i, dice_real(&d));
        set_element(p->dtype, source, i, 0.1 * dice_real(&d));
    }
    stn_status status = stn_team_plan_create(r->team, p, &options, &plan, &error);
    if (status == STN_OK) status = stn_team_plan_local(plan, r->rank, &first, &rows, &error);
    if (status == STN_OK) {
        take_rows(p, row, first, rows, in, part);
        take_rows(p, row, first, rows, source, expected); /* `expected` is scratch memory here */
        status = run_team(r, plan, part, p->has_source ? expected : NULL, got, batch * rows * row, twice, &error);
    }
    p->steps *= twice ? 2 : 1;
    const stn_status alone =
        run_alone(r->alone, p, r->strategy, in, source, want, bytes, status == STN_OK ? &error : NULL);
    take_rows(p, row, first, rows, want, expected);
    const bool served = status != STN_ERROR_UNSUPPORTED && alone != STN_ERROR_UNSUPPORTED;
    const bool same =
        !served || (status == STN_OK && alone == STN_OK && is_same(r, p, got, expected, batch * rows * row));
    report(r, same, index, p, rank, status != STN_OK || alone != STN_OK ? error.message : "other bits", plan);
    stn_team_plan_destroy(plan);
    free(memory);
}

static void draw(rig *r, uint64_t seed, uint64_t index) {
    random_problem drawn;
    random_problem_draw(seed, index, false, index % 5 == 4, &drawn);
    dice d = {seed * 31 + index};
    stn_stencil *stencil = random_problem_stencil(&drawn);
    stn_problem p = drawn.problem;
    p.stencil = stencil;
    p.every = 0, p.in_place = 0, p.in_batch_stride = p.out_batch_stride = 0, p.alignment = 0, p.tolerance = 0;
    /* Fewer rows than ranks, and parts as thin as halos. */
    if (index % 4 == 1) p.extent[0] = (size_t)dice_int(&d, 1, 12);
    if (drawn.rank == 3 && p.extent[0] < 20 && index % 4 != 1) p.extent[0] = (size_t)dice_int(&d, 1, 40);
    memset(p.in_stride, 0, sizeof p.in_stride), memset(p.out_stride, 0, sizeof p.out_stride);
    if (!strcmp(r->strategy, "direct"))
        p.dtype = p.dtype == STN_F16 ? STN_F32 : p.dtype; /* f16 is rounded once a launch */
    if (stn_problem_validate(&p, NULL) == STN_OK) compare(r, &drawn, &p, index % 3 == 2, index);
    stn_stencil_destroy(stencil);
}

/* Runs this rank's part of a random system, and compares it with one device's result. */
static void draw_system(rig *r, uint64_t seed, uint64_t index) {
    random_system s;
    system_memory want, part, there = {0};
    stn_error error = {0};
    stn_team_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    size_t first = 0, rows = 0;
    options.strategy = r->strategy;
    r->team->steps_per_exchange = index % 3 ? 0 : 1 + index / 3 % 3;
    random_system_draw(seed, index, &s);
    system_memory_make(&s, s.problem.extent[0], &want);
    system_memory_fill(&s, seed + index, &want);
    stn_status status = random_system_run(&s, r->alone, options.strategy, &want, &error);
    if (status == STN_OK) status = stn_team_plan_create_system(r->team, &s.problem, &options, &plan, &error);
    const bool refused = status == STN_ERROR_UNSUPPORTED && !plan && strstr(error.message, "a team divides axis 0");
    if (status == STN_OK) status = stn_team_plan_local(plan, r->rank, &first, &rows, &error);
    system_memory_make(&s, rows, &part);
    system_memory_take(&s, &want, first, &part);
    if (status == STN_OK) status = system_memory_place(&s, stn_team_context(r->team, r->rank), &part, &there, &error);
    void *const records = there.arrays.records;
    there.arrays.amplitudes = part.amplitudes, there.arrays.records = part.records;
    const stn_system_arrays *const arrays = &there.arrays;
    if (status == STN_OK) status = stn_team_plan_execute_system(plan, &arrays, &error);
    if (records) stn_memory_free(stn_team_context(r->team, r->rank), records), there.records = NULL;
    if (plan) (void)system_memory_fetch(&s, stn_team_context(r->team, r->rank), &there, &part, NULL);
    const bool same = status == STN_OK && system_memory_same(&s, &want, first, &part) &&
                      (r->rank || system_records_same(&s, &want, &part, !strcmp(r->strategy, "host")));
    const stn_problem shown = {.extent = {s.problem.extent[0]}, .steps = s.problem.steps};
    report(r, refused || same, index, &shown, s.problem.rank, status != STN_OK ? error.message : "other bits", plan);
    if (!refused && !same) printf("%s", s.text);
    stn_team_plan_destroy(plan);
    system_memory_clear(&s, &want), system_memory_clear(&s, &part);
    random_system_clear(&s);
}

static stn_status plan_heat(rig *r, size_t rows, uint64_t steps, stn_team_plan **plan, stn_error *error) {
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = r->strategy;
    *plan = NULL;
    stn_status status = stn_stencil_parse("heat-2d", &stencil, error);
    p.stencil = stencil, p.extent[0] = rows, p.extent[1] = 64, p.steps = steps;
    if (status == STN_OK) status = stn_team_plan_create(r->team, &p, &options, plan, error);
    stn_stencil_destroy(stencil);
    return status;
}

enum { MARK = 7 };
static void set_mark(const rig *r, void *grid) {
    const double mark = MARK;
    if (stn_memory_upload(stn_team_context(r->team, r->rank), grid, &mark, sizeof mark, NULL) != STN_OK) abort();
}

/* Two grids in the memory of this rank's device: the second begins with MARK, which a failed run
 * must leave there. */
static void make_grids(const rig *r, const void **in, void **out) {
    static const double zeros[64 * 64];
    stn_context *context = stn_team_context(r->team, r->rank);
    void *made[2];
    for (int i = 0; i < 2; i++)
        if (stn_memory_alloc(context, sizeof zeros, &made[i], NULL) != STN_OK ||
            stn_memory_upload(context, made[i], zeros, sizeof zeros, NULL) != STN_OK)
            abort();
    set_mark(r, made[1]);
    *in = made[0], *out = made[1];
}

static bool has_mark(const rig *r, const void *grid) {
    double mark = 0;
    return stn_memory_download(stn_team_context(r->team, r->rank), &mark, grid, sizeof mark, NULL) == STN_OK &&
           mark == MARK;
}

static void free_grids(const rig *r, const void *in, void *out) {
    stn_memory_free(stn_team_context(r->team, r->rank), (void *)(uintptr_t)in);
    stn_memory_free(stn_team_context(r->team, r->rank), out);
}

static void unequal(rig *r) {
    stn_error error = {0};
    stn_team_plan *plan;
    const bool is_last = r->rank == stn_team_size(r->team) - 1;
    stn_status status = plan_heat(r, 64 + is_last, 10, &plan, &error);
    printf("rank %d: %s: %s\n", r->rank, stn_status_string(status), error.message);
    r->failed += status != STN_ERROR_INVALID_ARGUMENT || plan || !strstr(error.message, "differs from rank 0");
    status = plan_heat(r, is_last ? 0 : 64, 10, &plan, &error); /* invalid on one rank only */
    printf("rank %d: %s: %s\n", r->rank, stn_status_string(status), error.message);
    r->failed += status == STN_OK || plan;
    status = plan_heat(r, 64, 10, &plan, &error);
    r->failed += status != STN_OK;
    const void *grid, *in;
    void *out;
    make_grids(r, &grid, &out);
    in = is_last ? NULL : grid;
    if (status == STN_OK) status = stn_team_plan_execute(plan, &in, &out, NULL, &error);
    printf("rank %d: %s: %s\n", r->rank, stn_status_string(status), error.message);
    r->failed += status != STN_ERROR_INVALID_ARGUMENT || !has_mark(r, out);
    in = grid;
    status = plan ? stn_team_plan_execute(plan, &in, &out, NULL, &error) : status;
    r->failed += status != STN_OK;
    stn_team_plan_destroy(plan);
    free_grids(r, grid, out);
}

static void stop(void) {
    printf("stopping %d\n", (int)getpid()), fflush(stdout);
    raise(SIGSTOP);
}

/* One rank stops or exits; the others must end with a message that names this rank (with NCCL and
 * without MPI: a rank that they wait for). lost = -1: any failure is allowed, at any call. */
static void lose(rig *r, int lost, bool leaves) {
    stn_error error = {0};
    stn_team_plan *plan;
    const void *in;
    void *out;
    make_grids(r, &in, &out);
    if (leaves && r->rank == lost) _exit(0);
    stn_status status = plan_heat(r, 64, 4, &plan, &error);
    for (int i = 0; i < (lost < 0 ? 5 : 1000) && status == STN_OK; i++) {
        if (i == 20 && r->rank == lost) stop();
        set_mark(r, out);
        status = stn_team_plan_execute(plan, &in, &out, NULL, &error);
    }
    if (r->rank == lost) return;
    char name[32];
    snprintf(name, sizeof name, "rank %d of", lost);
    bool good = status == STN_ERROR_IO && has_mark(r, out);
    if (lost < 0)
        good = status == STN_OK || (*error.message && has_mark(r, out));
    else if (getenv("STENTOR_TEST_ID"))
        good = good && strstr(error.message, "has not answered rank");
    else
        good = good && strstr(error.message, name) && stn_team_failed_rank(r->team) == lost;
    printf("rank %d ended %s: %s: %s\n", r->rank, good ? "well" : "badly", stn_status_string(status), error.message);
    fflush(stdout);
    if (!getenv("STENTOR_TEST_ID")) sleep(1); /* mpirun kills all ranks when one exits like this */
    r->failed += !good;
    stn_team_plan_destroy(plan);
    free_grids(r, in, out);
}

static int refuse_progress(void *user, uint64_t done, uint64_t total) { return (void)user, done < total; }

/* The progress function of one rank cancels a run that would take hours: all fail. */
static void cancel(rig *r, int rank) {
    stn_error error = {0};
    stn_team_plan *plan;
    const void *in;
    void *out;
    make_grids(r, &in, &out);
    stn_status status = plan_heat(r, 64, UINT64_C(1000000000), &plan, &error);
    if (status == STN_OK && r->rank == rank) status = stn_team_plan_set_progress(plan, refuse_progress, NULL, &error);
    if (status == STN_OK) status = stn_team_plan_execute(plan, &in, &out, NULL, &error);
    const bool good = status == STN_ERROR_CANCELLED && has_mark(r, out) && strstr(error.message, "cancelled");
    printf("rank %d ended %s: %s\n", r->rank, good ? "well" : "badly", error.message), fflush(stdout);
    sleep(1); /* mpirun kills all ranks when one exits like this */
    r->failed += !good;
    stn_team_plan_destroy(plan);
    free_grids(r, in, out);
}

/* The others must not wait forever for a rank that stopped. */
static int absent(int lost) {
    stn_mpi mpi;
    stn_team *team = NULL;
    stn_error error = {0};
    int rank = -1;
    if (stn_mpi_open(&mpi, &error) != STN_OK || mpi.call.comm_rank(mpi.world, &rank)) return 1;
    if (rank == lost) stop();
    const stn_status status = stn_team_create_mpi(NULL, NULL, 0, &team, &error);
    const bool good = status == STN_ERROR_IO && !team;
    printf("rank %d ended %s: %s\n", rank, good ? "well" : "badly", error.message), fflush(stdout);
    sleep(1);
    return !good;
}

/* Rank 0 makes the id, and the others find it in the file. */
static stn_status join(const stn_context_options *options, const char *path, stn_team **team, stn_error *error) {
    const int rank = atoi(getenv("STENTOR_TEST_RANK")), count = atoi(getenv("STENTOR_TEST_COUNT"));
    char id[STN_NCCL_ID_BYTES], whole[512];
    snprintf(whole, sizeof whole, "%s.part", path);
    if (!rank) {
        const stn_status status = stn_nccl_make_id(id, error);
        if (status != STN_OK) return status;
        FILE *file = fopen(whole, "wb");
        if (!file || fwrite(id, sizeof id, 1, file) != 1 || fclose(file) || rename(whole, path)) abort();
    }
    FILE *file = NULL;
    for (int i = 0; i < 1000 && !(file = fopen(path, "rb")); i++) usleep(10000);
    if (!file || fread(id, sizeof id, 1, file) != 1 || fclose(file)) {
        snprintf(error->message, sizeof error->message, "there is no id");
        return STN_ERROR_IO;
    }
    return stn_team_create_nccl(options, id, rank, count, 0, team, error);
}

int main(int argc, char **argv) {
    const char *id = getenv("STENTOR_TEST_ID");
    const bool gpu = id || !strcmp(argv[argc - 1], "gpu"), systems = argc > 3 && !strcmp(argv[1], "systems");
    rig r = {.strategy = !gpu ? "host" : systems ? "step" : "direct"};
    stn_mpi mpi;
    stn_error error = {0};
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = ":memory:", options.device = gpu ? STN_DEVICE_AUTO : STN_DEVICE_HOST, options.threads = 1;
    if (argc < 2) return 2;
    if (argc > 2 && !strcmp(argv[1], "absent")) return absent(atoi(argv[2]));
    stn_status status = stn_context_create(&options, &r.alone, &error);
    /* MPI_COMM_WORLD explicitly, or by default */
    const bool named = argc == 3 && !id;
    if (status == STN_OK && named) status = stn_mpi_open(&mpi, &error);
    if (status == STN_OK)
        status = id ? join(&options, id, &r.team, &error)
                    : stn_team_create_mpi(&options, named ? &mpi.world : NULL, 0, &r.team, &error);
    if (status != STN_OK) {
        printf("no team: %s\n", error.message);
        stn_context_destroy(r.alone);
        return 1;
    }
    r.rank = stn_team_rank(r.team);
    if (!strcmp(argv[1], "unequal"))
        unequal(&r);
    else if (!strcmp(argv[1], "faults"))
        lose(&r, -1, false);
    else if (argc > 2 && !strcmp(argv[1], "cancel"))
        cancel(&r, atoi(argv[2]));
    else if (argc > 2 && (!strcmp(argv[1], "stop") || !strcmp(argv[1], "leave")))
        lose(&r, atoi(argv[2]), !strcmp(argv[1], "leave"));
    else if (systems)
        for (uint64_t i = 0; i < strtoull(argv[3], NULL, 10); i++) draw_system(&r, strtoull(argv[2], NULL, 10), i);
    else if (argc > 2)
        for (uint64_t i = 0; i < strtoull(argv[2], NULL, 10); i++) draw(&r, strtoull(argv[1], NULL, 10), i);
    if (!strcmp(argv[1], "finalised")) r.failed += stn_mpi_open(&mpi, &error) != STN_OK || mpi.call.finalize();
    stn_team_destroy(r.team);
    stn_context_destroy(r.alone);
    return r.failed > 0;
}
