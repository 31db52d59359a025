/* Transforms that are divided over a team: equal to one device's, bitwise on the host where it
 * computes the same lines in the same order, else within the transforms' error bound. Random
 * kinds, extents (uneven, prime, of 1, fewer than members), types, batches, scales, in place, and
 * numbers of chunks. Members are on the host, emulated GPUs, real ones, or processes under mpirun.
 *
 *     test_team_fft [--gpus N] [--count N] [--seed S] [--mpi 1]
 *
 * By default the seed is the time; it is printed. Prints TAP, or with --mpi failures only. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../strategies/compare.h"
#include "../strategies/suite.h"
#include "all_sizes.h"
#include "base/error.h"
#include "team/team_fft.h"

/* The whole input and output, as bytes and as the plan divides them: outer blocks of rows. */
typedef struct whole {
    size_t outer, rows, in_row, out_row;
    unsigned char *in, *want, *got, *parts;
} whole;

static size_t in_bytes(const whole *w) { return w->outer * w->rows * w->in_row; }
static size_t out_bytes(const whole *w) { return w->outer * w->rows * w->out_row; }

static stn_status run_alone(const rig *r, const stn_transform *t, const whole *w, stn_error *error) {
    stn_plan *plan = NULL;
    void *in = NULL, *out = NULL;
    stn_status status = stn_plan_create_fft(r->alone, t, NULL, &plan, error);
    if (status == STN_OK) status = stn_memory_alloc(r->alone, in_bytes(w), &in, error);
    if (status == STN_OK) status = stn_memory_alloc(r->alone, out_bytes(w), &out, error);
    if (status == STN_OK) status = stn_memory_upload(r->alone, in, w->in, in_bytes(w), error);
    if (status == STN_OK) status = stn_plan_execute(plan, in, t->in_place ? in : out, NULL, error);
    if (status == STN_OK) status = stn_synchronize(r->alone, NULL, error);
    if (status == STN_OK) status = stn_memory_download(r->alone, w->want, t->in_place ? in : out, out_bytes(w), error);
    stn_memory_free(r->alone, in), stn_memory_free(r->alone, out);
    stn_plan_destroy(plan);
    return status;
}

/* Copies a member's rows of the input to its device, or those of its output to `parts`. */
static stn_status move_part(const whole *w, stn_context *context, size_t first, size_t rows, unsigned char *to,
                            const unsigned char *from, stn_error *error) {
    const size_t row = to ? w->in_row : w->out_row;
    for (size_t b = 0; b < w->outer; b++) {
        const size_t own = b * rows * row, theirs = (b * w->rows + first) * row;
        STN_TRY(to ? stn_memory_upload(context, to + own, w->in + theirs, rows * row, error)
                   : stn_memory_download(context, w->parts + theirs, from + own, rows * row, error));
    }
    return STN_OK;
}

static stn_status run_parts(const stn_team *team, stn_team_plan *plan, const stn_transform *t, const whole *w,
                            stn_error *error) {
    void *in[MAX_MEMBERS] = {NULL}, *out[MAX_MEMBERS] = {NULL};
    size_t first, rows;
    const int own = stn_team_rank(team);
    stn_status status = STN_OK;
    for (int m = 0; m < stn_team_size(team) && status == STN_OK; m++) {
        const int at = team->ranks ? 0 : m;
        stn_context *context = stn_team_context(team, m);
        status = stn_team_plan_local(plan, m, &first, &rows, error);
        if (!rows || (team->ranks && m != own)) continue;
        if (status == STN_OK) status = stn_memory_alloc(context, w->outer * rows * w->in_row, &in[at], error);
        if (status == STN_OK) status = stn_memory_alloc(context, w->outer * rows * w->out_row, &out[at], error);
        if (status == STN_OK) status = move_part(w, context, first, rows, in[at], NULL, error);
    }
    if (status == STN_OK)
        status = stn_team_plan_execute(plan, (const void *const *)in, t->in_place ? in : out, NULL, error);
    for (int m = 0; m < stn_team_size(team) && status == STN_OK; m++) {
        const int at = team->ranks ? 0 : m;
        status = stn_team_plan_local(plan, m, &first, &rows, error);
        if (!rows || (team->ranks && m != own)) continue;
        if (status == STN_OK)
            status = move_part(w, stn_team_context(team, m), first, rows, NULL, t->in_place ? in[at] : out[at], error);
    }
    for (int i = 0; i < MAX_MEMBERS; i++) {
        stn_context *context = stn_team_context(team, team->ranks ? own : i < stn_team_size(team) ? i : 0);
        stn_memory_free(context, in[i]), stn_memory_free(context, out[i]);
    }
    return status;
}

/* The relative L2 difference of the rows [first, first + rows) of two outputs, without padding. */
static double difference_of(const stn_transform *t, const whole *w, size_t first, size_t rows, const void *a,
                            const void *b) {
    const size_t item = stn_dtype_size(t->dtype), last = t->extent[t->rank - 1];
    const size_t line = t->in_place && t->kind == STN_C2R ? 2 * (last / 2 + 1) : 0;
    double sum = 0, all = 0;
    for (size_t block = 0; block < w->outer; block++)
        for (size_t i = 0; i < rows * w->out_row / item; i++) {
            if (line && i % line >= last) continue;
            const int64_t at = (int64_t)((block * w->rows + first) * w->out_row / item + i);
            const double x = element(t->dtype, a, at), y = element(t->dtype, b, at);
            sum += (x - y) * (x - y), all += y * y;
        }
    return all > 0 ? sqrt(sum / all) : sqrt(sum);
}

static double bar_of(const rig *r, const stn_transform *t, bool by_batch) {
    double points = 2;
    size_t longest = 1;
    for (int i = 0; i < t->rank; i++)
        points *= (double)t->extent[i], longest = t->extent[i] > longest ? t->extent[i] : longest;
    /* Between the stages f16 is stored. */
    if (t->dtype == STN_F16 && !by_batch) return 1e-3;
    /* On the host real lines of odd lengths are transformed in pairs (host/fft_odd.c), and a member
     * may have another line beside the same one. */
    const bool paired = t->kind != STN_C2C && t->extent[t->rank - 1] % 2;
    if (!r->gpus && !paired && (by_batch || longest < 1024)) return 0;
    return 2 * (t->dtype == STN_F64 ? 1e-15 * log2(points) : 1e-6);
}

static void compare(rig *r, const stn_transform *t, int members, uint64_t seed, uint64_t index) {
    stn_team *team = r->team[r->mpi ? 0 : members];
    stn_team_plan *plan = NULL;
    stn_error error = {0};
    char what[240], detail[900];
    snprintf(what, sizeof what, "transform %" PRIu64 ": %d members, %d chunks, %dD %zu x %zu x %zu %s, batch %zu, %s%s",
             index, stn_team_size(team), team->fft_chunks, t->rank, t->extent[0], t->extent[1], t->extent[2],
             stn_transform_kind_name(t->kind), t->batch, stn_dtype_name(t->dtype), t->in_place ? ", in place" : "");
    stn_status status = stn_team_plan_create_fft(team, t, NULL, &plan, &error);
    if (status != STN_OK) {
        stn_plan *lone = NULL; /* without cuFFT GPUs do not serve all lengths */
        const bool refused = r->gpus && status == STN_ERROR_UNSUPPORTED &&
                             stn_plan_create_fft(r->alone, t, NULL, &lone, NULL) == STN_ERROR_UNSUPPORTED;
        stn_plan_destroy(lone);
        report(r, refused, what, error.message);
        return;
    }
    const team_fft *fft = plan->fft;
    whole w = {.outer = (size_t)plan->batch,
               .rows = (size_t)fft->rows,
               .in_row = (size_t)fft->in_row,
               .out_row = (size_t)fft->out_row};
    const size_t each = (in_bytes(&w) + out_bytes(&w) + 255) / 256 * 256;
    unsigned char *memory = aligned_alloc(256, 4 * each);
    w.in = memory, w.want = memory + each, w.got = memory + 2 * each, w.parts = memory + 3 * each;
    memset(w.want, 0xff, 3 * each);
    dice d = {seed + 77 * index};
    const size_t item = stn_dtype_size(t->dtype);
    for (size_t i = 0; i < in_bytes(&w) / item; i++) set_element(t->dtype, w.in, (int64_t)i, dice_real(&d));
    size_t first = 0, rows = w.rows;
    status = run_alone(r, t, &w, &error);
    /* twice */
    for (int i = 0; i < 2 && status == STN_OK; i++) status = run_parts(team, plan, t, &w, &error);
    if (r->mpi && status == STN_OK) status = stn_team_plan_local(plan, stn_team_rank(team), &first, &rows, &error);
    double off = 0;
    if (!r->mpi && status == STN_OK) {
        if (t->in_place) memcpy(w.got, w.in, in_bytes(&w));
        status = stn_team_plan_execute_host(plan, t->in_place ? w.got : w.in, w.got, NULL, &error);
        off = difference_of(t, &w, 0, w.rows, w.got, w.want);
    }
    const double parts = difference_of(t, &w, first, rows, w.parts, w.want), bar = bar_of(r, t, fft->by_batch);
    char *words = NULL;
    (void)stn_team_plan_describe(plan, &words, NULL);
    snprintf(detail, sizeof detail, "seed %" PRIu64 ": %.200s; off by %.3g, parts by %.3g, allowed %.3g; %.400s", seed,
             error.message, off, parts, bar, words ? words : "");
    for (char *c = detail; *c; c++) *c = *c == '\n' ? ' ' : *c;
    report(r, status == STN_OK && off <= bar && parts <= bar, what, detail);
    stn_text_free(words);
    stn_team_plan_destroy(plan);
    free(memory);
}

static void draw(rig *r, uint64_t seed, uint64_t index) {
    dice d = {seed * 31 + index};
    stn_transform t = STN_TRANSFORM_INIT;
    const int most = r->gpus ? 24 : 60, members = dice_int(&d, 1, MAX_MEMBERS);
    t.rank = dice_int(&d, index % 4 ? 2 : 1, 3);
    static const int smooth[] = {6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21, 24, 27};
    for (int i = 0; i < t.rank; i++) {
        t.extent[i] = (size_t)dice_int(&d, 1, dice_int(&d, 0, 3) ? most : 5);
        if (r->gpus && t.extent[i] > 5) t.extent[i] = (size_t)smooth[t.extent[i] % (sizeof smooth / sizeof *smooth)];
    }
    if (!r->gpus && index % 16 == 7) t.extent[dice_int(&d, 0, t.rank - 1)] = (size_t)dice_int(&d, 1000, 3000);
    t.batch = dice_int(&d, 0, 2) ? 1 : (size_t)dice_int(&d, 1, 9);
    t.kind = (stn_transform_kind)dice_int(&d, 0, 2);
    if (r->gpus && t.kind != STN_C2C) t.extent[t.rank - 1] += t.extent[t.rank - 1] % 2;
    t.direction = (stn_direction)dice_int(&d, 0, 1);
    t.dtype = (stn_dtype)dice_int(&d, 0, 2);
    t.in_place = dice_int(&d, 0, 2) == 0;
    if (dice_int(&d, 0, 1)) {
        double points = 1;
        for (int i = 0; i < t.rank; i++) points *= (double)t.extent[i];
        t.forward_scale = t.inverse_scale = dice_int(&d, 0, 1) ? 1 / points : 1 / sqrt(points);
    }
    stn_team *team = r->team[r->mpi ? 0 : members];
    team->fft_chunks = dice_int(&d, 0, 4);
    compare(r, &t, members, seed, index);
    team->fft_chunks = 0;
}

static void refuse(rig *r, const stn_transform *t, stn_status expected, const char *words, const char *what) {
    stn_error error = {0};
    stn_team_plan *plan = NULL;
    const stn_status status = stn_team_plan_create_fft(r->team[2], t, NULL, &plan, &error);
    report(r, status == expected && !plan && strstr(error.message, words), what, error.message);
    stn_team_plan_destroy(plan);
}

static void refusals(rig *r) {
    stn_error error = {0};
    stn_team_plan *plan = NULL;
    stn_transform t = STN_TRANSFORM_INIT;
    refuse(r, &t, STN_ERROR_INVALID_ARGUMENT, "rank is 0", "a transform of no axes");
    t.rank = 2, t.extent[0] = t.extent[1] = 8;
    t.dtype = STN_F32, t.in_stride[0] = 9, t.in_stride[1] = 1;
    refuse(r, &t, STN_ERROR_UNSUPPORTED, "has strides", "strides");
    t.in_stride[0] = 8; /* dense */
    float grid[128] = {0}, other[128] = {0};
    const bool made = stn_team_plan_create_fft(r->team[2], &t, NULL, &plan, &error) == STN_OK;
    report(r, made && stn_team_plan_execute_host(plan, grid, grid, NULL, &error) == STN_ERROR_INVALID_ARGUMENT,
           "in place, unasked", error.message);
    report(r, made && stn_team_plan_execute_host(plan, NULL, other, NULL, &error) == STN_ERROR_INVALID_ARGUMENT,
           "no input", error.message);
    report(r, made && stn_team_plan_execute_host(plan, grid, other, grid, &error) == STN_ERROR_INVALID_ARGUMENT,
           "a source", error.message);
    const double weight = 1;
    report(r, made && stn_team_plan_set_weights(plan, 1, &weight, &error) == STN_ERROR_INVALID_ARGUMENT, "weights",
           error.message);
    report(r, made && stn_team_plan_execute_host(plan, grid, other, NULL, &error) == STN_OK, "a transform after errors",
           error.message);
    stn_team_plan_destroy(plan);
}

int main(int argc, char **argv) {
    rig r = {.count = 100};
    stn_error error = {0};
    const bool good = open_rig(&r, argc, argv, &error);
    if (good && !r.mpi) refusals(&r);
    for (uint64_t i = 0; i < r.count && good; i++) draw(&r, r.seed, i);
    return close_rig(&r, &error);
}
