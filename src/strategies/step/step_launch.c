/* Groups assignments into launches, decides what blocks hold, renders kernels, and packs their
 * arguments, as system_step.cu declares them. The arguments, in order: array pointers; output
 * pointers; pointers to the values that frozen points keep; extents and number of points; each
 * assignment's box of updated points; blocks along the axes, and planes of a block; values. */
#include "strategies/step/step_launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"

#define MAX_QUEUE 96      /* registers of an array's queue */
#define MAX_REGISTERS 176 /* of a thread with several assignments */
/* Planes that are copied while one is computed: AHEAD, or DEEP_AHEAD if a block loads DEEP_QUEUES
 * planes or more into its queues before a march. Their registers leave room for fewer resident
 * blocks, and then three planes are 2 to 3% faster than two; otherwise they are as much slower
 * (measured on an H200). */
#define AHEAD 2
#define DEEP_AHEAD 3
#define DEEP_QUEUES 8
#define DRIFT 0.0012 /* relative slowdown for each plane of a march, as blocks drift apart */
#define REFILL 1.2   /* time of loading a plane of a queue before a march, in planes of the march */
#define SHORTEST 8   /* planes of a march */
#define LONGEST 1024 /* planes; at this length drift adds 1.2 times the time of the planes */

/* Byte offsets of the parts of the arguments. */
typedef struct argument_offsets {
    size_t out, fixed, updated, tiles, values, end;
} argument_offsets;

static argument_offsets argument_offsets_of(const stn_system_reads *reads, int outputs, stn_dtype dtype) {
    const size_t arrays = (size_t)reads->narrays, real = dtype == STN_F64 ? 8 : 4, count = (size_t)outputs;
    argument_offsets p;
    p.out = 8 * arrays;
    p.fixed = p.out + 16 * count;
    p.updated = p.fixed + 4 * 8;
    p.tiles = p.updated + 6 * 8 * count;
    p.values = p.tiles + 4 * 4;
    p.end = p.values + (size_t)stn_round_up((int64_t)((size_t)reads->nvalues * real), 8);
    return p;
}

/* ---- storage */

/* Slots of the halo that a block copies for each plane. */
static int halo_slots(const stn_system_array *array, const step_block *block, const int halo[4]) {
    const int sides = halo[2] + halo[3];
    return (halo[0] + halo[1]) * (block->x + (array->corners ? sides : 0)) + block->y * sides;
}

double step_halo_share(const step_group *group, int array, const step_block *block) {
    const int slots = halo_slots(&group->reads.arrays[array], block, group->storage.arrays[array].halo);
    return (double)slots / (block->x * block->y);
}

static step_array hold(const stn_system_array *array, const step_block *block, int words) {
    const int v = block->vector;
    step_array held = {.low = -array->own[0], .high = array->own[1], .made = -1};
    if ((held.low + 1 + held.high) * words > MAX_QUEUE) held.low = held.high = 0;
    if (array->others) {
        held.before = -array->other[0];
        held.high = (int)stn_max(held.high, array->other[1]);
        held.halo[0] = -array->rows[0], held.halo[1] = array->rows[1];
        held.halo[2] = (int)stn_div_up(-array->points[0], v);
        held.halo[3] = (int)stn_div_up(array->points[1], v);
    } else
        held.before = -held.high;
    return held;
}

static size_t ring_bytes(const step_array *held, const step_block *block, size_t slot) {
    const int64_t sector = slot == 16 ? 2 : 1, left = stn_round_up(held->halo[2], sector);
    const size_t rows = (size_t)(block->y + held->halo[0] + held->halo[1]),
                 width = (size_t)stn_round_up(left + block->x + held->halo[3], sector);
    return (size_t)held->ring * rows * width * slot;
}

/* Gives arrays rings in their order. An array that exceeds what is left of `most` bytes gets none;
 * a later, smaller one still may. */
static void place_rings(const stn_system_reads *reads, const step_block *block, size_t slot, size_t most,
                        step_storage *storage) {
    storage->shared = 0;
    storage->complete = true;
    for (int i = 0; i < reads->narrays; i++) {
        step_array *held = &storage->arrays[i];
        held->ring = held->before + held->high + 1 + (held->made < 0 ? storage->ahead : 0);
        const size_t bytes = ring_bytes(held, block, slot);
        if (storage->shared + bytes > most) {
            held->ring = 0;
            storage->complete = false;
        } else
            storage->shared += bytes;
    }
}

/* Decides what a block holds of each array, and counts the registers and planes for this. */
static void hold_arrays(const stn_system_task *task, const stn_system_reads *reads, const step_block *block,
                        step_storage *storage) {
    const int words = (int)stn_div_up((int64_t)block->vector * (int64_t)stn_dtype_size(task->dtype), 4);
    /* Addresses and loop counters; values that an evaluation needs at the same time. */
    *storage = (step_storage){.registers = 36 + 4 * words, .copied = reads->narrays};
    for (int i = 0; i < reads->narrays; i++) {
        const step_array *held = &storage->arrays[i];
        storage->arrays[i] = hold(&reads->arrays[i], block, words);
        storage->registers += words * (held->low + 1 + held->high);
        storage->refill += held->low + held->high;
        storage->copies += 1 + (double)halo_slots(&reads->arrays[i], block, held->halo) / (block->x * block->y);
    }
}

/* Tries the most resident blocks that registers allow, each with the most planes ahead, then fewer
 * planes, then fewer blocks, until all rings fit. Otherwise one block remains, with one plane
 * ahead, and some arrays may have no ring. */
static void fit_storage(const stn_system_task *task, const stn_machine *machine, const stn_system_reads *reads,
                        const step_block *block, step_storage *storage) {
    const size_t slot = (size_t)block->vector * stn_dtype_size(task->dtype);
    const int threads = block->x * block->y;
    /* + 0.25: a kernel may keep fewer values in registers than are counted. */
    const double by_registers = (double)machine->registers_per_multiprocessor / storage->registers / threads + 0.25;
    storage->blocks = (int)stn_max(1, stn_min((int)by_registers, machine->threads / threads));
    for (; storage->blocks; storage->blocks--) {
        const int64_t share = stn_max(0, (int64_t)machine->shared_per_multiprocessor / storage->blocks - 1024);
        for (storage->ahead = storage->refill < DEEP_QUEUES ? AHEAD : DEEP_AHEAD; storage->ahead > 1;
             storage->ahead--) {
            place_rings(reads, block, slot, (size_t)stn_min(share, (int64_t)machine->shared_per_block), storage);
            if (storage->complete) return;
        }
    }
    storage->blocks = 1;
    place_rings(reads, block, slot, machine->shared_per_block, storage);
}

int64_t step_planes(const stn_system_task *task, const step_block *block, const step_group *group, int64_t resident) {
    const int march = stn_system_march(task);
    const int64_t n = task->n[march], tiles = stn_div_up(task->n[2], block->x * block->vector) *
                                              stn_div_up(task->n[1 - march], block->y) * task->batch;
    int64_t best = stn_min(n, SHORTEST);
    double least = INFINITY;
    for (int64_t planes = stn_min(n, LONGEST); planes >= stn_min(n, SHORTEST); planes--) {
        const int64_t chunks = stn_div_up(n, planes);
        if (stn_div_up(n, chunks) != planes) continue;
        const double rounds = ceil((double)(tiles * chunks) / (double)resident);
        const double loaded = (double)(planes + group->lag + group->back) + 1 + REFILL * group->storage.refill;
        const double cost = rounds * loaded * (1 + DRIFT * (double)planes);
        if (cost < least) least = cost, best = planes;
    }
    return best;
}

/* ---- groups */

/* The equation of assignment k of a launch; the assignments of its second step come last. */
static const stn_system_equation *equation_of(const stn_system_task *task, int k) {
    return &task->system->equations[k % task->system->nequations];
}

static int step_of(const stn_system_task *task, int k) { return k / task->system->nequations; }

static stn_status make_program(const stn_system_task *task, int k, stn_system_program *program, stn_error *error) {
    const stn_status status = stn_system_code_program(task, equation_of(task, k), program, error);
    program->step = step_of(task, k);
    return status;
}

bool step_group_stores(const stn_system_task *task, const step_group *group, int k) {
    const int later = group->steps - 1 - step_of(task, group->first + k);
    return later < task->system->fields[equation_of(task, group->first + k)->field].levels;
}

/* Lists what one more assignment reads; false if that is too much for a kernel's arguments. */
static bool add_reads(const stn_system_task *task, const stn_system_equation *equation,
                      const stn_system_program *program, int outputs, stn_system_reads *reads) {
    if (!stn_system_reads_add(task, program, reads)) return false;
    /* C++ has no empty arrays, so a kernel that reads no array lists its own field. */
    if (!reads->narrays) (void)stn_system_reads_array(reads, true, equation->field, 0);
    stn_system_reads_end(task, reads);
    return argument_offsets_of(reads, outputs, task->dtype).end <= STN_SYSTEM_MAX_ARGUMENTS;
}

/* True if equation `e` may share an unchained launch with the group before it; `reads` lists all
 * reads. Such a launch must not read a next state that it assigns, nor, at an offset, an oldest
 * level that it overwrites: another thread may have stored there. Launches of two steps overwrite
 * no level that they read (step_group_spares). */
static bool joins(const stn_system_task *task, const step_group *group, int e, const stn_system_reads *reads) {
    for (int i = 0; i < reads->narrays; i++) {
        const stn_system_array *array = &reads->arrays[i];
        if (!array->is_field) continue;
        for (int k = group->first; k <= e; k++) {
            const int field = equation_of(task, k)->field;
            if (array->index != field) continue;
            const bool oldest =
                group->steps == 1 && !task->spare[field] && array->level == task->system->fields[field].levels - 1;
            if (array->level == STN_SYSTEM_NEXT || (oldest && (array->others || array->own[0] || array->own[1])))
                return false;
        }
    }
    return true;
}

static bool freezes(const stn_system_task *task, const stn_system_equation *equation) {
    int64_t begin[3], end[3];
    stn_system_updated_range(task, equation, begin, end);
    bool all = true;
    for (int axis = 0; axis < 3; axis++) all = all && begin[axis] == 0 && end[axis] == task->n[axis];
    return !all;
}

/* ---- chained groups */

/* Returns which assignment of the group, counted from 0, computes this array; -1: none. */
static int maker_of(const stn_system_task *task, const step_group *group, const stn_system_array *array) {
    for (int k = 0; k < group->count && array->is_field; k++)
        if (equation_of(task, group->first + k)->field == array->index &&
            array->level == STN_SYSTEM_NEXT - step_of(task, group->first + k))
            return k;
    return -1;
}

static bool reads_made(const stn_system_task *task, const step_group *group, const stn_system_reads *reads) {
    for (int i = 0; i < reads->narrays; i++)
        if (maker_of(task, group, &reads->arrays[i]) >= 0) return true;
    return false;
}

int step_group_spares(const stn_system_task *task, const step_group *group, int index) {
    bool assigned = false;
    int oldest = -1;
    for (int k = 0; k < group->count; k++) assigned |= equation_of(task, group->first + k)->field == index;
    for (int i = 0; i < group->reads.narrays; i++) {
        const stn_system_array *array = &group->reads.arrays[i];
        if (array->is_field && array->index == index) oldest = (int)stn_max(oldest, array->level);
    }
    return group->later && assigned ? (int)stn_max(0, oldest + 1 + group->steps - task->system->fields[index].levels)
                                    : 0;
}

/* How far an array is read along the march, across it and along x, by side. */
static void reach_of(const stn_system_array *array, int reach[3][2]) {
    reach[0][0] = -(int)stn_min(array->own[0], array->other[0]);
    reach[0][1] = (int)stn_max(array->own[1], array->other[1]);
    reach[1][0] = -array->rows[0], reach[1][1] = array->rows[1];
    reach[2][0] = -array->points[0], reach[2][1] = array->points[1];
}

/* True if, along each axis on which a block computes neighbours' points, every array read at an
 * offset wraps and no index is folded twice. Marks all arrays as wrapping there. */
static bool wraps_where_computed(const stn_system_task *task, step_group *group, int computed[3][2]) {
    const int march = stn_system_march(task), axes[3] = {march, 1 - march, 2};
    for (int i = 0; i < group->reads.narrays; i++) {
        stn_system_array *array = &group->reads.arrays[i];
        int reach[3][2];
        reach_of(array, reach);
        for (int k = 0; k < 3; k++) {
            const int64_t most = stn_max(reach[k][0], reach[k][1]), beyond = stn_max(computed[k][0], computed[k][1]);
            if (!beyond) continue;
            if (most + beyond > task->n[axes[k]]) return false;
            if (most && stn_system_array_variable(task, array)->side[axes[k]][0].kind != STN_WRAP) return false;
            array->wraps[axes[k]] = true;
        }
    }
    return true;
}

static const stn_system_array *find_array(const stn_system_reads *reads, const stn_system_array *array) {
    for (int i = 0; i < reads->narrays; i++) {
        const stn_system_array *each = &reads->arrays[i];
        if (each->is_field == array->is_field && each->index == array->index && each->level == array->level)
            return each;
    }
    return NULL;
}

/* Extends `held` to all that one part of a chained group reads. When the march is at plane m, this
 * part computes plane m - behind, on the tile and on `computed` points around it. The points around
 * it have no queues, so that the ring holds all that they read. */
static void hold_more(const stn_system_array *read, const step_block *block, int behind, int computed[3][2],
                      step_array *held) {
    int reach[3][2];
    reach_of(read, reach);
    held->low = (int)stn_max(held->low, behind - read->own[0]);
    held->high = (int)stn_max(held->high, held->made < 0 ? reach[0][1] - behind : 0);
    if (!behind || read->others)
        held->before = (int)stn_max(held->before, behind + (behind ? -read->other[0] : reach[0][0]));
    held->before = (int)stn_max(held->before, -held->high);
    for (int side = 0; side < 2; side++) {
        const int slots =
            (int)(stn_div_up(computed[2][side], block->vector) + stn_div_up(reach[2][side], block->vector));
        held->halo[side] = (int)stn_max(held->halo[side], computed[1][side] + reach[1][side]);
        held->halo[2 + side] = (int)stn_max(held->halo[2 + side], slots);
    }
}

/* Decides what a block of a chained launch holds; every array is in a ring. parts[0], parts[1]: the
 * reads of the assignments before group->later, and from it on. False if the launch cannot be
 * chained. */
static bool hold_chain(const stn_system_task *task, const stn_system_reads parts[2], const step_block *block,
                       step_group *group) {
    int none[3][2] = {{0}};
    step_storage *storage = &group->storage;
    int computed[3][2] = {{0}};
    const int words = (int)stn_div_up((int64_t)block->vector * (int64_t)stn_dtype_size(task->dtype), 4);
    *storage = (step_storage){.registers = 64}; /* without queues and addresses */
    for (int i = 0; i < group->reads.narrays; i++) {
        int reach[3][2];
        storage->arrays[i] = (step_array){.low = -STN_SYSTEM_MAX_OPERATIONS,
                                          .high = -STN_SYSTEM_MAX_OPERATIONS,
                                          .before = -STN_SYSTEM_MAX_OPERATIONS};
        storage->arrays[i].made = maker_of(task, group, &group->reads.arrays[i]);
        if (storage->arrays[i].made >= group->later) return false;
        if (storage->arrays[i].made < 0) continue;
        reach_of(&group->reads.arrays[i], reach);
        for (int k = 0; k < 6; k++) computed[k / 2][k % 2] = (int)stn_max(computed[k / 2][k % 2], reach[k / 2][k % 2]);
    }
    for (int k = 0; k < group->count; k++)
        if (freezes(task, equation_of(task, group->first + k))) return false;
    if (task->nsources || !wraps_where_computed(task, group, computed)) return false;
    group->back = computed[0][0], group->lag = computed[0][1], group->waits = false;
    for (int i = 0; i < group->reads.narrays; i++) {
        stn_system_array *array = &group->reads.arrays[i];
        step_array *held = &storage->arrays[i];
        const stn_system_array *early = find_array(&parts[0], array), *later = find_array(&parts[1], array);
        if (early) hold_more(early, block, 0, computed, held);
        if (later) hold_more(later, block, group->lag, none, held);
        if (later && later->others && held->made >= 0) group->waits |= later->other[1] >= group->lag;
        array->corners = array->corners || early;
        if ((held->low + 1 + held->high) * words > MAX_QUEUE) return false;
        storage->registers += words * (held->low + 1 + held->high);
        if (held->made >= 0) continue;
        storage->registers += 4; /* addresses */
        storage->copied++;
        storage->copies += 1 + (double)halo_slots(array, block, held->halo) / (block->x * block->y);
        storage->refill += held->low + held->high;
    }
    return true;
}

/* Adds equation first + count to the group, and its reads to its part. Returns false if the larger
 * group cannot be one launch. */
static bool extend(const stn_system_task *task, const stn_machine *machine, const step_block *block,
                   const stn_system_program *program, stn_system_reads parts[2], step_group *group) {
    const int e = group->first + group->count;
    if (block->chained && !group->later && reads_made(task, group, &group->reads)) group->later = group->count;
    (void)stn_system_reads_add(task, program, &parts[group->later > 0]);
    group->operands[group->count++] = program->noperands;
    if (group->later && !hold_chain(task, parts, block, group)) return false;
    if (!group->later) hold_arrays(task, &group->reads, block, &group->storage);
    fit_storage(task, machine, &group->reads, block, &group->storage);
    return group->count == 1 || ((group->later || joins(task, group, e, &group->reads)) && group->storage.complete &&
                                 group->storage.registers <= MAX_REGISTERS);
}

bool step_group_from(const stn_system_task *task, const stn_machine *machine, const step_block *block, int first,
                     step_group *group, char *reason, size_t size) {
    int operations = 0;
    stn_system_reads parts[2];
    *group = (step_group){.first = first, .steps = block->steps};
    stn_system_reads_begin(&group->reads);
    for (int part = 0; part < 2; part++) stn_system_reads_begin(&parts[part]);
    for (int e = first; e < task->system->nequations * block->steps; e++) {
        stn_system_program program;
        step_group more = *group;
        stn_error why = {STN_OK, ""};
        bool fits = make_program(task, e, &program, &why) == STN_OK;
        if (!fits)
            snprintf(reason, size, "%.150s", why.message);
        else if (!add_reads(task, equation_of(task, e), &program, group->count + 1, &more.reads)) {
            snprintf(reason, size, "an assignment reads more arrays than a kernel has arguments for");
            fits = false;
        }
        operations += program.count;
        fits = fits && (!group->count || operations <= STN_SYSTEM_MAX_OPERATIONS) &&
               extend(task, machine, block, &program, parts, &more);
        stn_system_program_clear(&program);
        if (!fits) break;
        *group = more;
    }
    if (block->steps > 1 &&
        !(group->count == task->system->nequations * block->steps && group->later == task->system->nequations)) {
        snprintf(reason, size, "its steps do not fit one launch");
        return false;
    }
    return group->count > 0;
}

/* ---- kernel text */

static void render_storage(const step_group *g, stn_text *text) {
    int shared[STN_SYSTEM_MAX_READ_ARRAYS], low[STN_SYSTEM_MAX_READ_ARRAYS], high[STN_SYSTEM_MAX_READ_ARRAYS];
    int ring[STN_SYSTEM_MAX_READ_ARRAYS], before[STN_SYSTEM_MAX_READ_ARRAYS], corners[STN_SYSTEM_MAX_READ_ARRAYS];
    int made[STN_SYSTEM_MAX_READ_ARRAYS];
    const size_t count = (size_t)g->reads.narrays;
    stn_text_printf(text, "constexpr int SYSTEM_HALO[%zu][4] = {", count);
    for (size_t i = 0; i < count; i++) {
        const step_array *held = &g->storage.arrays[i];
        shared[i] = !g->reads.arrays[i].is_field, corners[i] = g->reads.arrays[i].corners;
        low[i] = held->low, high[i] = held->high, before[i] = held->before, ring[i] = held->ring;
        made[i] = held->made;
        stn_text_printf(text, "%s{%d, %d, %d, %d}", i ? ", " : "", held->halo[0], held->halo[1], held->halo[2],
                        held->halo[3]);
    }
    stn_text_printf(text, "};\n");
    stn_params_ints(text, "SYSTEM_SHARED", shared, count);
    stn_params_ints(text, "SYSTEM_LOW", low, count);
    stn_params_ints(text, "SYSTEM_HIGH", high, count);
    stn_params_ints(text, "SYSTEM_BEFORE", before, count);
    stn_params_ints(text, "SYSTEM_RING", ring, count);
    stn_params_ints(text, "SYSTEM_CORNERS", corners, count);
    stn_params_ints(text, "SYSTEM_MADE", made, count);
    stn_params_int(text, "SYSTEM_LATER", g->later ? g->later : g->count);
    stn_params_int(text, "SYSTEM_LAG", g->lag);
    stn_params_int(text, "SYSTEM_BACK", g->back);
    stn_params_int(text, "SYSTEM_AHEAD", g->storage.ahead);
    stn_params_int(text, "SYSTEM_WAITS", g->waits);
}

static stn_status render(const stn_system_task *task, const step_launch *launch, stn_text *text, stn_error *error) {
    const step_group *g = &launch->group;
    int keeps[STEP_MAX_ASSIGNMENTS], stores[STEP_MAX_ASSIGNMENTS];
    stn_system_reads reads = g->reads;
    stn_status status = STN_OK;
    for (int i = 0; i < g->count; i++) {
        keeps[i] = freezes(task, equation_of(task, g->first + i));
        stores[i] = step_group_stores(task, g, i);
    }
    stn_params_begin_for(text, task->dtype);
    stn_system_render_sides(task, &g->reads, text);
    stn_params_int(text, "SYSTEM_OUTPUTS", g->count);
    stn_params_ints(text, "SYSTEM_FREEZES", keeps, (size_t)g->count);
    stn_params_ints(text, "SYSTEM_STORES", stores, (size_t)g->count);
    stn_params_int(text, "SYSTEM_MARCH", stn_system_march(task));
    render_storage(g, text);
    stn_params_int(text, "VECTOR", launch->block.vector);
    stn_params_int(text, "THREADS_X", launch->block.x);
    stn_params_int(text, "THREADS_Y", launch->block.y);
    stn_params_int(text, "BLOCKS", g->storage.blocks);
    stn_params_int(text, "EXPECTED_HEADER", (int64_t)argument_offsets_of(&g->reads, g->count, task->dtype).values);
    stn_text_printf(text, "template <int I>\nstruct assigned {};\n");
    for (int i = 0; i < g->count && status == STN_OK; i++) {
        stn_system_program program;
        status = make_program(task, g->first + i, &program, error);
        stn_text_printf(text,
                        "template <class AROUND>\n__device__ __forceinline__ REAL system_value(const AROUND &around, "
                        "assigned<%d>) {\n",
                        i);
        if (status == STN_OK) stn_system_render_program(task, &reads, &program, text);
        stn_text_printf(text, "}\n");
        stn_system_program_clear(&program);
    }
    return status;
}

/* ---- arguments */

/* Fills all arguments but pointers and numbers. */
static void fill_header(const stn_system_task *task, step_launch *made, int64_t planes) {
    const step_group *g = &made->group;
    const int march = stn_system_march(task);
    const argument_offsets p = argument_offsets_of(&g->reads, g->count, task->dtype);
    const int64_t fixed[4] = {task->n[0], task->n[1], task->n[2], stn_system_task_points(task)};
    const uint32_t tiles[4] = {(uint32_t)stn_div_up(task->n[2], made->block.x * made->block.vector),
                               (uint32_t)stn_div_up(task->n[1 - march], made->block.y),
                               (uint32_t)stn_div_up(task->n[march], planes), (uint32_t)planes};
    memcpy(made->header + p.fixed, fixed, sizeof fixed);
    for (int i = 0; i < g->count; i++) {
        int64_t updated[6];
        stn_system_updated_range(task, equation_of(task, g->first + i), updated, updated + 3);
        memcpy(made->header + p.updated + (size_t)i * sizeof updated, updated, sizeof updated);
    }
    memcpy(made->header + p.tiles, tiles, sizeof tiles);
    stn_system_put_constants(task, &g->reads, made->header + p.values);
    made->blocks = (int64_t)tiles[0] * tiles[1] * tiles[2] * task->batch;
}

stn_status step_launch_make(stn_plan *plan, int first, const step_block *block, step_launch *made, stn_error *error) {
    const stn_system_task *task = &plan->system;
    const step_storage *storage = &made->group.storage;
    char reason[200];
    stn_text params = STN_TEXT_EMPTY;
    made->block = *block;
    if (!step_group_from(task, &plan->machine, block, first, &made->group, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%s", reason);
    const stn_status status = render(task, made, &params, error);
    if (status != STN_OK) {
        stn_text_clear(&params);
        return status;
    }
    STN_TRY(stn_kernel_make(plan->kernels, "system_step", &params, storage->shared, &made->kernel, error));
    made->arguments = argument_offsets_of(&made->group.reads, made->group.count, task->dtype).end;
    fill_header(task, made,
                step_planes(task, block, &made->group, (int64_t)storage->blocks * plan->machine.multiprocessors));
    return STN_OK;
}

stn_status step_launch_run(const step_launch *l, const stn_system_state *state, int64_t number, void *stream,
                           stn_error *error) {
    const stn_system_task *task = state->task;
    const step_group *g = &l->group;
    const argument_offsets p = argument_offsets_of(&g->reads, g->count, task->dtype);
    _Alignas(16) unsigned char arguments[STN_SYSTEM_MAX_ARGUMENTS];
    const void *array;
    memcpy(arguments, l->header, l->arguments);
    for (int i = 0; i < g->reads.narrays; i++) {
        const stn_system_array *each = &g->reads.arrays[i];
        array = !each->is_field   ? state->arrays->coefficients[each->index]
                : each->level < 0 ? stn_system_state_next(state, each->index, number - 1 - each->level)
                                  : stn_system_state_of(state, each->index, number - 1 - each->level);
        memcpy(arguments + 8 * (size_t)i, &array, sizeof array);
    }
    for (int i = 0; i < g->count; i++) {
        const int field = equation_of(task, g->first + i)->field;
        const void *const next = stn_system_state_next(state, field, number + step_of(task, g->first + i));
        const void *const present = stn_system_state_of(state, field, number - 1);
        memcpy(arguments + p.out + 8 * (size_t)i, &next, sizeof next);
        memcpy(arguments + p.out + 8 * (size_t)(g->count + i), &present, sizeof present);
    }
    stn_system_put_numbers(task, &g->reads, state->arrays->numbers, arguments + p.values);
    const stn_launch launch = {.grid = {(unsigned)l->blocks, 1, 1},
                               .block = {(unsigned)l->block.x, (unsigned)l->block.y, 1},
                               .shared = g->storage.shared,
                               .stream = stream};
    return stn_module_launch(l->kernel->module, &launch, arguments, error);
}
