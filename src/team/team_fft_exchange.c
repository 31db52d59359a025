/* The exchange of a divided transform: blocks from the rows of all members to the columns of all
 * members, and back.
 *
 *     rows, and who gets their columns:    member 1's columns, and whose rows they are:
 *
 *     member 0:   | 0 | 1 | 2 |                | 0 |
 *     member 1:   | 0 | 1 | 2 |                | 1 |
 *     member 2:   | 0 | 1 | 2 |                | 2 |
 *
 * In one process the member that receives a block copies it. Between processes blocks are packed,
 * sent and unpacked. */
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "team/team_fft.h"

/* A block: the elements of some rows of member m that lie in some columns of member q, of all
 * transforms of the batch. */
typedef struct block {
    int m, q; /* the member of the rows; the member of the columns */
    int64_t row, rows, column, columns;
} block;

/* The part of a range that lies within `all` indices. */
static team_fft_range within(team_fft_range range, int64_t all) {
    return (team_fft_range){range.first, stn_max(0, stn_min(range.count, all - range.first))};
}

static block block_of(const team_fft *fft, int m, int q, team_fft_range rows, team_fft_range columns) {
    const team_fft_range i = within(rows, fft->part[m].rows), j = within(columns, fft->part[q].columns);
    return (block){m, q, i.first, i.count, j.first, j.count};
}

static int64_t width_of(const team_fft *fft, const block *b) { return b->columns * fft->inner * fft->element; }

static int64_t bytes_of(const team_fft *fft, const block *b) { return fft->fft.batch * b->rows * width_of(fft, b); }

/* Where a block of grid number `one` begins in the rows, and in the columns. */
static unsigned char *in_rows(const team_fft *fft, const block *b, void *grid, int64_t one) {
    const team_fft_part *part = &fft->part[b->m];
    return (unsigned char *)grid + (one * part->rows + b->row) * fft->row +
           (fft->part[b->q].column + b->column) * fft->inner * fft->element;
}

static int64_t pitch_of(const team_fft *fft, int q) { return fft->part[q].columns * fft->inner * fft->element; }

static unsigned char *in_columns(const team_fft *fft, const block *b, int64_t one) {
    const team_fft_part *part = &fft->part[b->q];
    const int64_t row = one * fft->rows + fft->part[b->m].first + b->row;
    return (unsigned char *)part->transposed + row * pitch_of(fft, b->q) + b->column * fft->inner * fft->element;
}

static const stn_lane *lane_of(const team_member *member) {
    return member->copy_lane ? member->copy_lane : member->lane;
}

static stn_status copy_rows(const team_member *own, void *to, int64_t to_pitch, const team_member *other,
                            const void *from, int64_t from_pitch, int64_t width, int64_t rows, stn_error *error) {
    if (own->lane)
        return stn_lane_copy_rows(lane_of(own), to, to_pitch, lane_of(other), from, from_pitch, width, rows, error);
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, (size_t)width);
    return STN_OK;
}

static void *spectrum_of(const team_fft *fft, const team_fft_grids *grids, int m, bool back) {
    return back || fft->local_first ? grids[m].spectrum : grids[m].in;
}

/* ---- members of this process ----------------------------------------------------------------- */

static stn_status copy_block(const stn_team_plan *plan, const block *b, const team_fft_grids *grids, bool back,
                             stn_error *error) {
    const team_fft *fft = plan->fft;
    const team_member *rows = &plan->team->member[b->m], *columns = &plan->team->member[b->q];
    void *const grid = spectrum_of(fft, grids, b->m, back);
    for (int64_t one = 0; one < fft->fft.batch; one++) {
        unsigned char *const left = in_rows(fft, b, grid, one), *const right = in_columns(fft, b, one);
        STN_TRY(back ? copy_rows(rows, left, fft->row, columns, right, pitch_of(fft, b->q), width_of(fft, b), b->rows,
                                 error)
                     : copy_rows(columns, right, pitch_of(fft, b->q), rows, left, fft->row, width_of(fft, b), b->rows,
                                 error));
    }
    return STN_OK;
}

/* Each member receives from itself first, then from the members after it, so that not all receive
 * from the same one at once. */
static stn_status exchange_here(const stn_team_plan *plan, const team_fft_grids *grids, bool back, team_fft_range rows,
                                team_fft_range columns, stn_error *error) {
    for (int to = 0; to < plan->members; to++)
        for (int i = 0; i < plan->members; i++) {
            const int from = (to + i) % plan->members;
            const block b = block_of(plan->fft, back ? to : from, back ? from : to, rows, columns);
            if (!bytes_of(plan->fft, &b)) continue;
            if (!plan->team->on_host)
                STN_TRY(stn_lane_await(lane_of(&plan->team->member[to]), plan->team->member[from].lane, error));
            STN_TRY(copy_block(plan, &b, grids, back, error));
        }
    return STN_OK;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Copies a block from the grid to the packed memory, or from there to the grid. */
static stn_status pack(const stn_team_plan *plan, const block *b, const team_fft_grids *grids, bool of_rows, bool packs,
                       unsigned char *packed, stn_error *error) {
    const team_fft *fft = plan->fft;
    const team_member *own = &plan->team->member[plan->team->own];
    const int64_t width = width_of(fft, b), pitch = of_rows ? fft->row : pitch_of(fft, b->q);
    for (int64_t one = 0; one < fft->fft.batch; one++) {
        unsigned char *const at =
            of_rows ? in_rows(fft, b, spectrum_of(fft, grids, b->m, !packs), one) : in_columns(fft, b, one);
        unsigned char *const here = packed + one * b->rows * width;
        STN_TRY(packs ? copy_rows(own, here, width, own, at, pitch, width, b->rows, error)
                      : copy_rows(own, at, pitch, own, here, width, width, b->rows, error));
    }
    return STN_OK;
}

/* Packs the blocks for the other members, or unpacks the blocks from them, and lists the messages.
 * *all: the bytes of all blocks. */
static stn_status pack_all(const stn_team_plan *plan, const team_fft_grids *grids, bool back, bool packs,
                           team_fft_range rows, team_fft_range columns, team_message *messages, int *count,
                           int64_t *all, stn_error *error) {
    const team_fft *fft = plan->fft;
    const int own = plan->team->own;
    const team_fft_part *part = &fft->part[own];
    const bool of_rows = packs != back; /* this process copies from or to its rows, not columns */
    *all = 0;
    for (int peer = 0; peer < plan->members; peer++) {
        const block b = block_of(fft, of_rows ? own : peer, of_rows ? peer : own, rows, columns);
        const int64_t bytes = bytes_of(fft, &b);
        if (peer == own || !bytes) continue;
        if (messages)
            messages[(*count)++] = (team_message){.peer = peer,
                                                  .is_sent = packs,
                                                  .bytes = (unsigned char *)part->message[!packs] + *all,
                                                  .size = (size_t)bytes};
        if (packs || !messages)
            STN_TRY(pack(plan, &b, grids, of_rows, packs, (unsigned char *)part->packed[!packs] + *all, error));
        *all += bytes;
    }
    return STN_OK;
}

static stn_status wait_for_own(const stn_team_plan *plan, stn_error *error) {
    const team_member *own = &plan->team->member[plan->team->own];
    return own->lane ? stn_device_synchronize(own->context->device, stn_lane_stream(own->lane), error) : STN_OK;
}

static stn_status exchange_with_processes(const stn_team_plan *plan, const team_fft_grids *grids, bool back,
                                          team_fft_range rows, team_fft_range columns, team_message *messages,
                                          stn_error *error) {
    const int own = plan->team->own;
    const team_fft_part *part = &plan->fft->part[own];
    stn_context *const context = plan->team->member[own].context;
    const block mine = block_of(plan->fft, own, own, rows, columns);
    int64_t sent, received;
    int count = 0;
    if (bytes_of(plan->fft, &mine)) STN_TRY(copy_block(plan, &mine, grids, back, error));
    STN_TRY(pack_all(plan, grids, back, true, rows, columns, messages, &count, &sent, error));
    STN_TRY(pack_all(plan, grids, back, false, rows, columns, messages, &count, &received, error));
    STN_TRY(wait_for_own(plan, error));
    if (part->message[0] != part->packed[0])
        STN_TRY(stn_memory_download(context, part->message[0], part->packed[0], (size_t)sent, error));
    STN_TRY(team_ranks_transfer(plan->team->ranks, messages, count, error));
    if (part->message[1] != part->packed[1])
        STN_TRY(stn_memory_upload(context, part->packed[1], part->message[1], (size_t)received, error));
    STN_TRY(pack_all(plan, grids, back, false, rows, columns, NULL, &count, &received, error));
    return STN_OK;
}

stn_status team_fft_exchange(const stn_team_plan *plan, const team_fft_grids *grids, bool back, team_fft_range rows,
                             team_fft_range columns, stn_error *error) {
    if (!plan->team->ranks) return exchange_here(plan, grids, back, rows, columns, error);
    if (plan->team->own >= plan->members) return STN_OK;
    return exchange_with_processes(plan, grids, back, rows, columns, plan->fft->messages, error);
}
