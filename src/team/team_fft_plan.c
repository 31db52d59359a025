/* Plans of divided transforms: the parts, the chunks, and the members' plans. See team_fft.h.
 *
 * A batch of at least as many transforms as members is divided into whole transforms, without
 * exchanges, and so are transforms of one axis. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/text.h"
#include "base/versioned_struct.h"
#include "host/fft_line.h"
#include "plan/plan.h"
#include "team/team_fft.h"

/* Least bytes of a chunk: a link takes several times as long for them as the host's calls take. */
#define CHUNK_BYTES ((int64_t)16 << 20)
enum { MAX_CHUNKS = 8, ALIGNMENT = 256 };

/* ---- parts ----------------------------------------------------------------------------------- */

/* Range number m of `members` ranges that cover `all` indices, with lengths that differ by at most
 * one. */
static void cut(int64_t all, int members, int m, int64_t *first, int64_t *count) {
    const int64_t each = all / members, more = all % members;
    *first = m * each + stn_min(m, more), *count = each + (m < more);
}

static const stn_fft_side *spectrum_side(const stn_fft *fft) { return fft->in.real ? &fft->out : &fft->in; }

/* Bytes of all elements of a side along the axes from `axis` on; rows of the real side of an
 * in-place transform are as long as those of its spectrum. */
static int64_t side_bytes(const stn_fft *fft, const stn_fft_side *side, int axis) {
    const stn_fft_side *like = fft->in_place ? spectrum_side(fft) : side;
    int64_t bytes = (int64_t)stn_fft_element(fft, like);
    for (; axis < 3; axis++) bytes *= like->n[axis];
    return bytes;
}

/* The number of indices in a chunk, equal for all members; `largest` is the largest number of
 * indices of a member. Chunks of rows of real numbers begin at even rows, since transforms begin at
 * complex numbers. */
static int64_t each_of(const stn_team *team, int64_t largest, int64_t bytes, bool even) {
    int64_t chunks = team->fft_chunks;
    if (!chunks) chunks = team->on_host || team->ranks ? 1 : stn_min(MAX_CHUNKS, largest * bytes / CHUNK_BYTES);
    const int64_t each = stn_max(1, stn_div_up(largest, stn_max(1, chunks)));
    return even ? each + each % 2 : each;
}

static void divide(const stn_team *team, stn_team_plan *plan) {
    team_fft *fft = plan->fft;
    const stn_fft *whole = &fft->fft;
    const int axis = 3 - whole->rank, row_axis = fft->by_batch ? axis : axis + 1;
    fft->in_place = whole->in_place;
    fft->local_first = whole->kind == STN_R2C || (whole->kind == STN_C2C && !team->on_host);
    fft->local_in_place = whole->in_place || (whole->kind == STN_C2C && !fft->local_first);
    fft->element = (int64_t)stn_fft_element(whole, spectrum_side(whole));
    fft->rows = fft->by_batch ? whole->batch : whole->n[axis];
    fft->columns = fft->by_batch ? 1 : spectrum_side(whole)->n[axis + 1];
    fft->inner = axis + 2 < 3 ? spectrum_side(whole)->n[2] : 1;
    fft->in_row = side_bytes(whole, &whole->in, row_axis);
    fft->out_row = side_bytes(whole, &whole->out, row_axis);
    fft->row = side_bytes(whole, spectrum_side(whole), row_axis);
    plan->members = (int)stn_min(team->count, fft->rows);
    plan->rows = fft->rows, plan->batch = fft->by_batch ? 1 : whole->batch;
    for (int m = 0; m < plan->members; m++) {
        team_fft_part *part = &fft->part[m];
        cut(fft->rows, plan->members, m, &part->first, &part->rows);
        cut(fft->columns, plan->members, m, &part->column, &part->columns);
    }
    fft->row_chunk = plan->batch > 1 || fft->by_batch
                         ? fft->part[0].rows
                         : each_of(team, fft->part[0].rows, stn_max(fft->in_row, fft->out_row), whole->kind != STN_C2C);
    fft->column_chunk = each_of(team, fft->part[0].columns, fft->rows * fft->inner * fft->element * plan->batch, false);
}

/* ---- the members' plans ---------------------------------------------------------------------- */

/* The largest power of two that divides both offsets, `most` at most. */
static int common_alignment(int64_t a, int64_t b, int most) {
    const int64_t bits = a | b | most;
    return (int)(bits & -bits);
}

/* The scale of the first stage: the passes of one device each apply a share of it. */
static double first_scale(const team_fft *fft) {
    const stn_fft *whole = &fft->fft;
    double left = whole->scale;
    if (!fft->local_first) return stn_fft_share(left, whole->n[3 - whole->rank]);
    for (int axis = 2; axis > 3 - whole->rank; axis--) left /= stn_fft_share(left, whole->n[axis]);
    return whole->scale / left;
}

static stn_transform transform_of(const team_fft *fft, stn_transform_kind kind, double scale) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.kind = kind;
    t.direction = fft->fft.inverse ? STN_INVERSE : STN_FORWARD;
    t.dtype = fft->fft.dtype, t.f16_sums = fft->fft.f16_sums;
    t.forward_scale = t.inverse_scale = scale;
    return t;
}

/* The transforms of the local axes of `rows` rows, or of whole transforms. */
static stn_transform local_transform(const team_fft *fft, int64_t rows, int64_t each) {
    const stn_fft *whole = &fft->fft;
    const double first = first_scale(fft);
    const double scale = fft->by_batch ? whole->scale : fft->local_first ? first : whole->scale / first;
    stn_transform t = transform_of(fft, whole->kind, scale);
    t.rank = whole->rank - !fft->by_batch;
    for (int i = 0; i < t.rank; i++) t.extent[i] = (size_t)whole->n[3 - t.rank + i];
    t.batch = (size_t)rows;
    t.in_place = fft->by_batch ? whole->in_place : fft->local_in_place;
    t.alignment = common_alignment(each * fft->in_row, each * fft->out_row, whole->alignment);
    return t;
}

/* The transforms along axis 0 of `count` of a member's columns, of one transform of the batch. */
static stn_transform across_transform(const team_fft *fft, int64_t columns, int64_t count, int64_t each) {
    const double first = first_scale(fft);
    stn_transform t = transform_of(fft, STN_C2C, fft->local_first ? fft->fft.scale / first : first);
    t.rank = 1, t.extent[0] = (size_t)fft->rows;
    t.in_stride[0] = t.out_stride[0] = (ptrdiff_t)(columns * fft->inner);
    t.batch = (size_t)(count * fft->inner);
    t.in_batch_stride = t.out_batch_stride = 1;
    t.in_place = 1;
    t.alignment =
        common_alignment(each * fft->inner * fft->element, columns * fft->inner * fft->element * fft->rows, ALIGNMENT);
    return t;
}

static stn_status make_part(stn_team_plan *plan, const stn_plan_options *options, int m, stn_error *error) {
    const team_fft *fft = plan->fft;
    team_fft_part *part = &fft->part[m];
    stn_context *const context = plan->team->member[m].context;
    part->local.count = part->rows * plan->batch, part->across.count = part->columns;
    part->local.each = plan->batch > 1 ? part->local.count : fft->row_chunk;
    part->across.each = fft->column_chunk;
    for (int i = 0; i < 2; i++) {
        const int64_t each = stn_max(1, part->local.each);
        const int64_t rows = i ? part->local.count % each : each;
        if (!rows || (!i && part->local.count < each)) continue;
        const stn_transform local = local_transform(fft, rows, part->local.count > each ? each : 0);
        STN_TRY(stn_plan_create_fft(context, &local, options, &part->local.plan[i], error));
    }
    for (int i = 0; i < 2 && !fft->by_batch; i++) {
        const int64_t each = stn_max(1, part->across.each);
        const int64_t columns = i ? part->across.count % each : each;
        if (!columns || (!i && part->across.count < each)) continue;
        const stn_transform across = across_transform(fft, part->columns, columns, each);
        STN_TRY(stn_plan_create_fft(context, &across, options, &part->across.plan[i], error));
    }
    const size_t bytes = (size_t)(plan->batch * fft->rows * part->columns * fft->inner * fft->element);
    if (fft->by_batch || !bytes || options->estimate_only) return STN_OK;
    return stn_memory_alloc(context, bytes, &part->transposed, error);
}

/* Memory for the blocks to and from other processes. */
static stn_status make_packed(stn_team_plan *plan, const stn_plan_options *options, stn_error *error) {
    team_fft *fft = plan->fft;
    const stn_team *team = plan->team;
    if (!team->ranks || fft->by_batch || team->own >= plan->members || options->estimate_only) return STN_OK;
    team_fft_part *part = &fft->part[team->own];
    const size_t bytes =
        (size_t)(plan->batch * stn_max(part->rows * fft->row, fft->rows * part->columns * fft->inner * fft->element));
    fft->messages = calloc(2 * (size_t)plan->members, sizeof *fft->messages);
    if (!fft->messages) return stn_fail_memory(error, "messages", 2 * (size_t)plan->members * sizeof *fft->messages);
    for (int i = 0; i < 2; i++) {
        STN_TRY(stn_memory_alloc(team->member[team->own].context, bytes, &part->packed[i], error));
        part->message[i] = team->on_host ? part->packed[i] : malloc(bytes);
        if (!part->message[i]) return stn_fail_memory(error, "the blocks of a transform", bytes);
    }
    return STN_OK;
}

stn_status team_fft_grid(const stn_team_plan *plan, int m, int i, void **grid, stn_error *error) {
    const team_fft *fft = plan->fft;
    team_fft_part *part = &fft->part[m];
    const int64_t row = stn_max(fft->row, stn_max(fft->in_row, fft->out_row));
    if (!part->grid[i])
        STN_TRY(stn_memory_alloc(plan->team->member[m].context, (size_t)(plan->batch * part->rows * row),
                                 &part->grid[i], error));
    *grid = part->grid[i];
    return STN_OK;
}

/* ---- prediction ------------------------------------------------------------------------------ */

static double stage_seconds(const team_stage *stage, int64_t times) {
    const int64_t whole = stage->plan[0] ? stage->count / stage->each : 0;
    double seconds = 0;
    if (stage->plan[0]) seconds += (double)whole * stn_plan_predicted_seconds(stage->plan[0]);
    if (stage->plan[1]) seconds += stn_plan_predicted_seconds(stage->plan[1]);
    return (double)times * seconds;
}

/* Assumes that no exchange overlaps with transforms, because transforms take less time than an
 * exchange. */
static double predict(const stn_team_plan *plan) {
    team_fft *fft = plan->fft;
    const int own = plan->team->own < plan->members ? plan->team->own : 0;
    const team_fft_part *part = &fft->part[own];
    const double local = stage_seconds(&part->local, 1), across = stage_seconds(&part->across, plan->batch);
    if (fft->by_batch) return local;
    const double bytes = (double)(plan->batch * part->rows * fft->row) * (plan->members - 1) / plan->members;
    fft->exchange_seconds = team_exchange_seconds(plan->team, bytes);
    return local + across + 2 * fft->exchange_seconds;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool same_strides(const stn_fft_side *a, const stn_fft_side *b) {
    return !memcmp(a->stride, b->stride, sizeof a->stride) && a->batch_stride == b->batch_stride;
}

/* Reads and checks the caller's structs; the transform must be dense. */
static stn_status read_given(const stn_transform *given, const stn_plan_options *given_options, stn_fft *fft,
                             stn_plan_options *options, stn_error *error) {
    stn_transform t;
    stn_fft dense;
    STN_TRY(stn_fft_make(given, fft, error));
    if (stn_fft_is_real_to_real(fft))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "a team has no cosine and sine transforms: run them on one GPU with stn_plan_create_fft");
    STN_TRY(stn_read_versioned_struct(&stn_layout_plan_options, given_options, options, error));
    options->struct_size = sizeof *options;
    STN_TRY(stn_read_versioned_struct(&stn_layout_transform, given, &t, error));
    t.struct_size = sizeof t, t.in_batch_stride = t.out_batch_stride = 0;
    memset(t.in_stride, 0, sizeof t.in_stride), memset(t.out_stride, 0, sizeof t.out_stride);
    STN_TRY(stn_fft_make(&t, &dense, error));
    if (!same_strides(&fft->in, &dense.in) || !same_strides(&fft->out, &dense.out))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "a team's arrays are dense, and the transform has strides: leave them 0 and give dense parts");
    return STN_OK;
}

static stn_status begin_plan(stn_team *team, const stn_fft *whole, stn_team_plan **plan, stn_error *error) {
    stn_team_plan *made = calloc(1, sizeof *made);
    team_fft *fft = calloc(1, sizeof *fft);
    team_fft_part *part = calloc((size_t)team->count, sizeof *part);
    if (!made || !fft || !part) {
        free(made), free(fft), free(part);
        return stn_fail_memory(error, "a team's plan", sizeof *made + (size_t)team->count * sizeof *part);
    }
    made->team = team, made->fft = fft, made->rank = whole->rank;
    fft->fft = *whole, fft->part = part;
    fft->by_batch = whole->rank == 1 || whole->batch >= team->count;
    divide(team, made);
    *plan = made;
    return STN_OK;
}

stn_status team_fft_make(stn_team *team, const stn_fft *whole, const stn_plan_options *options, stn_team_plan **plan,
                         stn_error *error) {
    stn_team_plan *made = NULL;
    *plan = NULL;
    stn_status status = begin_plan(team, whole, &made, error);
    for (int m = 0; status == STN_OK && m < made->members && status == STN_OK; m++)
        if (team_is_here(team, m)) status = make_part(made, options, m, error);
    if (status == STN_OK) status = make_packed(made, options, error);
    if (status == STN_OK && made) {
        made->predicted = predict(made);
        *plan = made;
    } else
        team_fft_destroy(made);
    return status;
}

stn_status stn_team_plan_create_fft(stn_team *team, const stn_transform *given, const stn_plan_options *given_options,
                                    stn_team_plan **plan, stn_error *error) {
    stn_fft whole;
    stn_plan_options options;
    stn_team_plan *made = NULL;
    stn_error spare = {0}; /* for the other processes if the caller passes no error */
    char words[256] = "";
    uint64_t hash = 0;
    if (!error) error = &spare;
    if (!team || !given || !plan)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_team_plan_create_fft needs a team, a transform and a place");
    *plan = NULL;
    stn_status status = read_given(given, given_options, &whole, &options, error);
    if (status == STN_OK && team->ranks) hash = team_digest_fft(&whole, &options, words, sizeof words);
    STN_TRY(team_agree(team, status, hash, words, NULL, 0, error));
    status = team_fft_make(team, &whole, &options, &made, error);
    status = team_agree(team, status, 0, "the plans of a transform", NULL, 0, error);
    if (status == STN_OK)
        *plan = made;
    else
        team_fft_destroy(made);
    return status;
}

void team_fft_destroy(stn_team_plan *plan) {
    if (!plan) return;
    team_fft *fft = plan->fft;
    for (int m = 0; m < plan->members; m++) {
        team_fft_part *part = &fft->part[m];
        stn_context *const context = plan->team->member[m].context;
        for (int i = 0; i < 2; i++) {
            stn_plan_destroy(part->local.plan[i]), stn_plan_destroy(part->across.plan[i]);
            if (part->message[i] != part->packed[i]) free(part->message[i]);
            stn_memory_free(context, part->grid[i]), stn_memory_free(context, part->packed[i]);
        }
        stn_memory_free(context, part->transposed);
    }
    free(fft->messages), free(fft->part), free(fft), free(plan);
}

stn_status team_fft_local(const stn_team_plan *plan, int member, size_t *first, size_t *rows) {
    const bool has = member < plan->members;
    *first = (size_t)(has ? plan->fft->part[member].first : plan->fft->rows);
    *rows = (size_t)(has ? plan->fft->part[member].rows : 0);
    return STN_OK;
}

const char *team_fft_strategy(const stn_team_plan *plan, int m) {
    const team_stage *stage = &plan->fft->part[m].local;
    return stn_plan_strategy(stage->plan[0] ? stage->plan[0] : stage->plan[1]);
}

void team_fft_describe(const stn_team_plan *plan, stn_text *words) {
    const team_fft *fft = plan->fft;
    const team_fft_part *part = &fft->part[plan->team->own < plan->members ? plan->team->own : 0];
    stn_text_printf(words, "team:       %d of %d members, ", plan->members, plan->team->count);
    stn_fft_print(&fft->fft, words);
    if (fft->by_batch)
        stn_text_printf(words, ": whole transforms each, without exchanges");
    else
        stn_text_printf(
            words, ": %s, in %lld and %lld chunks",
            fft->local_first ? "local axes, exchange, axis 0, exchange" : "exchange, axis 0, exchange, local axes",
            (long long)(part->local.each ? stn_div_up(part->local.count, part->local.each) : 0),
            (long long)(part->across.each ? stn_div_up(part->across.count, part->across.each) : 0));
}
