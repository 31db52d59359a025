/* Named constraints of each form of the spectrum: see plan/constraint.h. */
#include "plan/constraint.h"
#include "strategies/spectral/four_step.h"
#include "strategies/spectral/spectral_shape.h"

static bool length_holds(const stn_task *task, const stn_machine *machine, void *unused) {
    spectral_choice choice;
    char reason[160];
    (void)unused;
    return spectral_choose(task, machine, &choice, reason, sizeof reason);
}

static bool tiles_hold(const stn_task *task, const stn_machine *machine, void *unused) {
    spectral_choice choice;
    (void)unused;
    return spectral_choose_tiles(task, machine, NULL, (int[2]){1, 1}, &choice);
}

static bool four_step_holds(const stn_task *task, const stn_machine *machine, void *unused) {
    spectral_four_step_choice choice;
    char reason[160];
    (void)unused;
    return spectral_four_step_choose(task, machine, &choice, reason, sizeof reason);
}

/* The forms: a 2D or 3D grid as a whole, a 2D grid in tiles, a long line by a four-step FFT. */
static const stn_constraint whole[] = {
    {"length", "each axis plus the reach of its taps over all steps fits the shared memory of a block or a cluster",
     length_holds}};
static const stn_constraint tiles[] = {
    {"tiles", "sides only mirror or wrap, and a block's shared memory holds a tile of a 2D grid with its halo",
     tiles_hold}};
static const stn_constraint four_steps[] = {
    {"four-step FFT",
     "the matrix of a line plus the reach of its taps over all steps has rows and columns that fit shared memory",
     four_step_holds}};

void spectral_left_out(const stn_plan *plan, stn_tally *tally) {
    const stn_task *task = &plan->task;
    const stn_machine *machine = &plan->machine;
    if (spectral_four_step_for(task, machine)) {
        (void)STN_CONSTRAINTS_HOLD(four_steps, task, machine, NULL, tally);
        return;
    }
    (void)STN_CONSTRAINTS_HOLD(whole, task, machine, NULL, tally);
    if (task->rank == 2 && task->snapshots == 1) (void)STN_CONSTRAINTS_HOLD(tiles, task, machine, NULL, tally);
}
