/* Lines too long to be held together, 1D: each lies as a sheet of rows and is transformed down its
 * columns, then along its rows, in three passes (kernel_templates/spectral/spectral_sheet.cu); or
 * as several, windows that overlap by what the taps reach. */
#ifndef STN_STRATEGIES_SPECTRAL_SHEET_H
#define STN_STRATEGIES_SPECTRAL_SHEET_H
#include "strategies/spectral/passes.h"

/* A candidate's values. */
typedef struct spectral_sheet_choice {
    int mark;                        /* SPECTRAL_SHEET, where a spectral_choice has a length */
    int rows, width;                 /* of a sheet: points down a column and along a row */
    int before;                      /* points of a window before those that it is there for */
    int useful;                      /* those; all of a line that is one window */
    int pairs;                       /* of columns that a block has */
    int turn;                        /* windows that go through all passes together; 0: all */
    int column_threads, row_threads; /* that a multiprocessor has registers for; 0: as usual */
} spectral_sheet_choice;
#define SPECTRAL_SHEET (-1)

typedef struct spectral_sheet {
    spectral_sheet_choice choice;
    stn_extension axis;
    int64_t length;        /* points of a sheet */
    int64_t windows, turn; /* of a grid; of all grids, that go together */
    int64_t spectrum;      /* complex numbers of a window */
    stn_ladder down, along;
    stn_symbol symbol;
    int fine; /* log2 of the first table of roots between the two transforms */
} spectral_sheet;

typedef struct spectral_sheet_state {
    spectral_sheet shape;
    bool has_source;
    struct stn_kernel *forward, *rows, *back, *source;
    /* On the device, in bytes from there: roots of the ladders, of the line, half angles of rows
     * and along them, the symbol's parts; images of the points beside sides, what rows see of them,
     * where windows' begin, the taps */
    void *tables;
    size_t down, along, fine, coarse, turns, angles, parts, image, image_row, images, taps, size;
    size_t values; /* in the workspace: the source beside either side, of each grid */
    double largest, dead;
} spectral_sheet_state;

/* ---- sheet.c: whether a task's lines are for sheets, and can be; else why not. */
bool spectral_sheet_for(const stn_task *task, const stn_machine *machine);
bool spectral_sheet_choose(const stn_task *task, const stn_machine *machine, spectral_sheet_choice *choice,
                           char *reason, size_t reason_size);
/* Other ways to lay out the same, worth measuring; returns how many. */
size_t spectral_sheet_variants(const stn_task *task, const stn_machine *machine, const spectral_sheet_choice *choice,
                               spectral_sheet_choice *list, size_t most);
void spectral_sheet_make(const stn_task *task, const stn_machine *machine, const spectral_sheet_choice *choice,
                         bool lines, spectral_sheet *shape);
/* Bytes, but for what the sides' source takes. */
size_t spectral_sheet_workspace(const stn_task *task, const spectral_sheet *shape);
void spectral_sheet_estimate(const stn_task *task, const stn_machine *machine, const spectral_sheet *shape,
                             stn_estimate *estimate);

/* ---- sheet_tables.c: places the tables, and fills them where there is a device. */
stn_status spectral_sheet_tables(stn_plan *plan, spectral_sheet_state *state, stn_error *error);

/* ---- sheet_run.c: of plans of such a candidate. */
stn_status spectral_sheet_prepare(stn_plan *plan, const spectral_sheet_choice *choice, stn_error *error);
stn_status spectral_sheet_set_weights(stn_plan *plan, stn_error *error);
stn_status spectral_sheet_execute(stn_plan *plan, const stn_execution *run, stn_error *error);
void spectral_sheet_describe(const stn_plan *plan, stn_format format, stn_text *text);
void spectral_sheet_release(stn_plan *plan);
#endif
