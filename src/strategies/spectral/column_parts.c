/* One step of many taps: a column is divided into parts, which a block holds side by side. Each is
 * convolved on a periodic line of its own (overlap-save); see spectral_shape.h.
 *
 * A column of 4320 points takes four FFT stages for the forward, the inverse and the taps'
 * transform: 3 x 4320 points. Four parts of 1152 points take three stages, and share the taps'
 * transform: 9 x 1152 points, of which only two thirds of the accesses to shared memory remain.
 * Global memory traffic is the same. */
#include <math.h>

#include "base/arith.h"
#include "strategies/spectral/spectral_shape.h"

enum { MIN_STEP = 64 };
#define CLEARLY 0.9 /* Parts must take at most this fraction of a whole column's time. */

/* Factor of the time if few blocks fit on a multiprocessor, so that loads of one do not overlap
 * with arithmetic of another. */
static double occupancy_factor(const stn_machine *machine, size_t bytes) {
    const size_t blocks = machine->shared_per_multiprocessor / (bytes + 1024);
    return blocks >= 3 ? 1 : blocks == 2 ? 1.1 : 1.5;
}

static size_t shared_by(const stn_task *task, int64_t length, int lines) {
    return (size_t)(length * 17 / 16 * lines) * (spectral_wide(task) ? 16 : 8);
}

double spectral_parts_work(const spectral_choice *choice) {
    const double lines = spectral_in_parts(choice) ? 2.0 * choice->parts + 1 : 3;
    return lines * choice->length[1] * stn_shared_fft_work(choice->length[1]);
}

/* Chooses the cheapest length for choice->parts parts, each with the points around it that its
 * results depend on. Returns the cost; it is infinite if there is no such length. */
static double choose_length(const stn_task *task, const stn_machine *machine, const stn_reach *reach,
                            spectral_choice *choice) {
    const int64_t step = spectral_parts_step(task, choice), least = step + reach->side[0] + reach->side[1];
    spectral_choice now = *choice;
    double lowest = INFINITY;
    for (int64_t length = least; step >= MIN_STEP && length <= least + least / 16; length++) {
        const size_t bytes = shared_by(task, length, choice->parts + 1);
        if (!stn_shared_fft_is_smooth(length) || bytes > machine->shared_per_block) continue;
        now.length[1] = (int)length;
        const int64_t domain[3] = {1, length, choice->length[2]};
        if (!spectral_symbol_form(task, machine, domain).taps) continue;
        const double cost = spectral_parts_work(&now) * occupancy_factor(machine, bytes);
        if (cost < lowest) lowest = cost, choice->length[1] = (int)length;
    }
    return lowest;
}

/* Whether columns may be divided: one step of one grid, one column per block, sides that only wrap
 * or mirror. */
static bool for_parts(const stn_task *task, const spectral_choice *whole) {
    return task->rank == 2 && task->steps == 1 && task->snapshots == 1 && !task->sum && whole->column_lines == 1 &&
           whole->group >= 2 && spectral_sides_are_even(task);
}

bool spectral_choose_parts(const stn_task *task, const stn_machine *machine, const spectral_choice *whole, int count,
                           spectral_choice *choice) {
    const size_t lines = shared_by(task, whole->length[1], 2);
    if (!for_parts(task, whole)) return false;
    const stn_reach reach = spectral_reach(task, 1);
    double best = CLEARLY * spectral_parts_work(whole) * occupancy_factor(machine, lines);
    /* If a block cannot hold a column and its line of taps, the symbol of whole columns would be
     * summed tap by tap, which is slower than any parts. */
    if (count || lines > machine->shared_per_block) best = INFINITY;
    bool found = false;
    for (int parts = count ? count : 2; parts <= (count ? count : SPECTRAL_PARTS); parts *= 2) {
        spectral_choice now = *whole;
        now.parts = (uint8_t)parts, now.exact = (uint8_t)(whole->exact & ~2), now.before[1] = (int)reach.side[0];
        now.row_blocks = (int16_t)stn_max(now.row_blocks, 2), now.column_blocks = 3;
        const double cost = choose_length(task, machine, &reach, &now);
        now.kept[1] = now.with_points[1] = now.length[1];
        if (cost < best) best = cost, *choice = now, found = true;
    }
    return found;
}

bool spectral_parts_serve(const stn_task *task, const spectral_choice *choice) {
    const stn_reach reach = spectral_reach(task, 1);
    const int64_t after = choice->length[1] - choice->before[1] - spectral_parts_step(task, choice);
    return task->steps == 1 && reach.side[0] <= choice->before[1] && reach.side[1] <= after;
}
