/* Fourier transforms of grids that are divided over a team (slab decomposition).
 *
 *     a member's rows: part of axis 0, all of the other axes     [batch][own rows][columns][inner]
 *     a member's columns: part of axis 1, all of axis 0          [batch][rows][own columns][inner]
 *
 * The local axes are transformed in rows, axis 0 in columns, and between the two all members
 * exchange blocks: `out` from rows to columns, `back` from columns to rows. In 2D axis 1 is the
 * last one and `inner` is 1. A transform that begins with its local axes runs
 *
 *     local axes, out, axis 0, back        and else        out, axis 0, back, local axes
 *
 * in chunks: while chunks are exchanged on the lanes of copies, the next ones are transformed on
 * the main lanes. */
#ifndef STN_TEAM_TEAM_FFT_H
#define STN_TEAM_TEAM_FFT_H
#include "problem/transform.h"
#include "team/team.h"

/* Transforms of `count` indices of rows or columns, in chunks of `each` indices. */
typedef struct team_stage {
    int64_t count, each;
    stn_plan *plan[2]; /* owned; of a whole chunk, and of a smaller last one (else NULL) */
} team_stage;

typedef struct team_fft_part {
    int64_t first, rows;     /* own indices of axis 0, or transforms if the batch is divided */
    int64_t column, columns; /* own indices of axis 1 */
    team_stage local, across;
    /* On the member's device, owned: grids of rows, allocated when they are needed; columns. */
    void *grid[2], *transposed;
    /* Owned, of a process's own part: blocks to and from other processes, on the device and in host
     * memory (the same on the host). */
    void *packed[2], *message[2];
} team_fft_part;

typedef struct team_fft {
    stn_fft fft; /* of the whole grid */
    bool by_batch, local_first;
    bool in_place;       /* the caller's input and output are the same */
    bool local_in_place; /* the transforms of local axes are in place */
    int64_t rows, columns, inner;
    int64_t row_chunk, column_chunk; /* number of indices in a chunk, equal for all members */
    int64_t in_row, out_row, row;    /* bytes of a row of the input, the output, the spectrum */
    int64_t element;                 /* bytes of a complex number */
    double exchange_seconds;         /* predicted, of one exchange */
    team_fft_part *part;             /* owned; one per member */
    team_message *messages;          /* owned; for exchanges between processes: two per member */
} team_fft;

/* Pointers of one execution, on the member's device. */
typedef struct team_fft_grids {
    void *in, *spectrum, *out;
} team_fft_grids;

/* ---- team_fft_plan.c
 * A plan without an agreement of processes. With options.estimate_only it has no memory, and
 * cannot be executed. */
stn_status team_fft_make(stn_team *team, const stn_fft *whole, const stn_plan_options *options, stn_team_plan **plan,
                         stn_error *error);
void team_fft_destroy(stn_team_plan *plan); /* also half built; NULL has no effect */
void team_fft_describe(const stn_team_plan *plan, stn_text *words);
stn_status team_fft_local(const stn_team_plan *plan, int member, size_t *first, size_t *rows);
const char *team_fft_strategy(const stn_team_plan *plan, int m); /* for the local axes */
/* Grid number i of a member's rows, allocated on first use. */
stn_status team_fft_grid(const stn_team_plan *plan, int m, int i, void **grid, stn_error *error);

/* ---- team_fft_run.c: as stn_team_plan_execute and stn_team_plan_execute_host. */
stn_status team_fft_execute(stn_team_plan *plan, const void *const *in, void *const *out, stn_error *error);
stn_status team_fft_execute_host(stn_team_plan *plan, const void *in, void *out, stn_error *error);

/* The halves of a transform that begins, or ends, with its local axes: from rows to the transformed
 * columns, and from columns to rows. */
stn_status team_fft_forth(const stn_team_plan *plan, const team_fft_grids *grids, stn_error *error);
stn_status team_fft_back(const stn_team_plan *plan, const team_fft_grids *grids, stn_error *error);

/* ---- team_fft_exchange.c */
/* A range of the indices of every member's rows or columns, relative to its first one; it ends
 * early in members with fewer. */
typedef struct team_fft_range {
    int64_t first, count;
} team_fft_range;
/* Copies all blocks of these rows and columns between members. With `back` false they are copied
 * from grids[m].in, or from grids[m].spectrum if local axes are transformed first, to the columns;
 * with `back` true, from the columns to grids[m].spectrum. Copies wait for the main lanes'
 * marks. */
stn_status team_fft_exchange(const stn_team_plan *plan, const team_fft_grids *grids, bool back, team_fft_range rows,
                             team_fft_range columns, stn_error *error);
#endif
