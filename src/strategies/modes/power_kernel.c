/* See power_kernel.h. */
#include "strategies/modes/power_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/modes/passes.h"
#include "strategies/modes/symmetry.h"

enum {
    THREADS = 128,
    ROWS_A_THREAD = 8, /* rows for which a thread uses the same cosines and sines */
    SHARED = 32 << 10, /* bytes of the terms of a block's rows */
    MAX_SLOTS = SHARED / 16,
    MAX_NUMBERS = 400, /* the most that numbers_of may return */
    MAX_NODES = 1024,
    MAX_REAL = 8, /* rows of a matrix that a thread has in local memory */
    MAX_COMPLEX = 6,
    /* The number of the last squarings, which are in float64. Each squaring at most quadruples an
     * earlier rounding error. So the error is at most 16 roundings of float64 for f64 data, and at
     * most 4^12 roundings, 2e-9, for other types. */
    SQUARINGS_IN_F64 = 2,
    SQUARINGS_IN_F64_NARROW = 12
};

typedef struct device_tap {
    double weight;
    int64_t z, y;
} device_tap;

/* Mirrors the struct of modes_power.cu; the values follow. */
typedef struct power_arguments {
    void *spectrum, *to;
    modes_symbol_tables tables;
    int64_t rows[2], pitch, grids, grid, chunks;
    uint64_t steps;
    double scale;
    int32_t keeps, levels;
} power_arguments;

/* A term of a stencil's symbol, or its real or imaginary part: all taps with the same offset along
 * the rows. */
typedef struct slot {
    int stencil, part, offset;
} slot;

/* ---- terms ---------------------------------------------------------------------------------- */

/* How kernels sum a symbol along lines of frequencies: as a real (0) or imaginary (1) sum of
 * cosines, as a real (2) or imaginary (3) sum of sines, or as a complex sum (4). */
static int kind_of(const stn_system_stencil *taps, int axis) {
    const modes_parity along = modes_stencil_parity(taps, axis), all = modes_stencil_parity(taps, 3);
    if (along == MODES_NEITHER || all == MODES_NEITHER) return 4;
    return (all == MODES_ODD ? 1 : 0) + (along == MODES_ODD ? 2 : 0);
}

static bool has_offset(const stn_system_stencil *s, int axis, int offset) {
    for (size_t k = 0; k < s->ntaps; k++)
        if (s->taps[k].offset[axis] == offset) return true;
    return false;
}

/* Lists the terms; those of x and -x are merged unless the symbol is complex. list: NULL to count
 * only. */
static int list_slots(const modes_linear *l, int axis, slot *list) {
    int count = 0;
    for (int i = 0; i < l->nstencils; i++) {
        const stn_system_stencil *taps = l->stencils[i].taps;
        const int kind = kind_of(taps, axis), reach = l->reach[axis];
        for (int offset = kind == 4 ? -reach : kind >= 2; offset <= reach; offset++) {
            if (!has_offset(taps, axis, offset)) continue;
            for (int part = kind == 4 ? 0 : kind == 1 || kind == 2;
                 part < (kind == 4 || kind == 1 || kind == 2 ? 2 : 1); part++, count++)
                if (list) list[count] = (slot){i, part, offset};
        }
    }
    return count;
}

static int64_t residue(int64_t offset, int64_t length) { return (offset % length + length) % length; }

/* Lists the taps of a term; to: NULL to count only. */
static int list_taps(const modes_linear *l, int axis, const slot *slot, device_tap *to) {
    const stn_system_stencil *s = l->stencils[slot->stencil].taps;
    const int kind = kind_of(s, axis), row = axis == 0, column = axis == 2 ? 1 : 2;
    int count = 0;
    for (size_t k = 0; k < s->ntaps; k++) {
        const stn_tap *tap = &s->taps[k];
        if ((int)tap->offset[axis] != slot->offset) continue;
        /* kind 2: an imaginary term i t times i sin(x theta) is -t sin(x theta) */
        const double merged = kind < 4 && slot->offset > 0 ? 2 : 1, sign = kind == 2 ? -1 : 1;
        if (to)
            to[count] = (device_tap){sign * merged * modes_rounded(l, tap->weight),
                                     residue(tap->offset[row], l->axis[row].length),
                                     residue(tap->offset[column], l->axis[column].length)};
        count++;
    }
    return count;
}

/* ---- shape ---------------------------------------------------------------------------------- */

static int size_of(const modes_linear *l) { return l->width + l->affine; }

static int power_of_two(int64_t n, int most) {
    int power = 1;
    while (power < most && power < n) power *= 2;
    return power;
}

static modes_power_shape shape_of(const modes_linear *l, const stn_machine *machine) {
    modes_power_shape s = {.axis = 2, .slots = list_slots(l, 2, NULL)};
    const int64_t pitch = l->axis[2].length / 2 + 1;
    for (int i = 0; i < 2; i++) s.differ[i] = l->even[i] ? l->axis[i].length / 2 + 1 : l->axis[i].length;
    const int64_t rows = s.differ[0] * s.differ[1];
    s.threads_y = power_of_two(rows, THREADS / power_of_two(pitch, 32));
    s.threads_x = THREADS / s.threads_y;
    s.chunks = stn_div_up(pitch, s.threads_x);
    s.rows = ROWS_A_THREAD * s.threads_y;
    while (s.rows > 1 && ((int64_t)s.rows * s.slots * 16 > SHARED ||
                          (s.rows > s.threads_y && stn_div_up(rows, s.rows) * s.chunks < 4 * machine->multiprocessors)))
        s.rows /= 2;
    s.blocks = stn_div_up(rows, s.rows) * s.chunks;
    return s;
}

/* The number of multiplications of a matrix product. */
static int products_of(const modes_linear *l) {
    const int n = size_of(l);
    return n * n * n * (l->real ? 1 : 4);
}
bool modes_power_unrolls(const modes_linear *l) { return products_of(l) <= 128; }

/* Whether the matrix is that of two levels of one field, whose power follows from its trace. */
static bool by_trace(const modes_linear *l) {
    return l->width == 2 && l->task->system->nfields == 1 && l->real && !l->affine;
}
static int squarings(uint64_t steps) { return 63 - __builtin_clzll(steps); }
/* Have numbers 106 bits? */
static bool is_wide(const modes_linear *l) {
    return l->task->dtype == STN_F64 || squarings(modes_steps_per_state(l->task)) > SQUARINGS_IN_F64_NARROW;
}

/* Pairs of an operation and a number of the state that it depends on. */
static int numbers_of(const modes_linear *l) {
    int numbers = 0;
    for (int i = 0; i < l->count; i++) numbers += __builtin_popcountll(l->operations[i].columns);
    return numbers;
}

/* The values in the order in which the rendered text reads them. */
static int list_values(const modes_linear *l, modes_power *to) {
    int count = 0;
    for (int i = 0; i < l->count; i++)
        if (l->operations[i].kind == MODES_SCALE || l->operations[i].kind == MODES_DIVIDE) {
            if (to)
                to->value[count] = l->operations[i].node, to->divides[count] = l->operations[i].kind == MODES_DIVIDE;
            count++;
        }
    for (int f = 0; f < l->task->system->nfields && l->affine; f++, count++)
        if (to) to->value[count] = l->root_node[f];
    return count;
}

bool modes_power_fits(const modes_linear *l, const stn_machine *machine, char *reason, size_t size) {
    const int most = l->real ? MAX_REAL : MAX_COMPLEX, slots = list_slots(l, 2, NULL);
    const int numbers = numbers_of(l);
    if (size_of(l) > most)
        snprintf(reason, size, "a step's %s matrix has %d rows, and a GPU's thread holds at most %d",
                 l->real ? "real" : "complex", size_of(l), most);
    else if (slots > MAX_SLOTS)
        snprintf(reason, size, "its stencils have more taps along x than a GPU's thread holds");
    else if (numbers > MAX_NUMBERS || list_values(l, NULL) > MODES_MAX_VALUES || l->task->system->nnodes > MAX_NODES)
        snprintf(reason, size, "its matrix has more terms than a kernel is made for");
    else if (shape_of(l, machine).blocks > INT32_MAX)
        snprintf(reason, size, "a launch has fewer blocks than these grids need");
    else
        return true;
    return false;
}

double modes_power_flops(const modes_linear *l) {
    const modes_power_shape s = shape_of(l, &(stn_machine){.multiprocessors = 1});
    const int64_t half = l->axis[2].length / 2 + 1;
    const double bits = squarings(modes_steps_per_state(l->task));
    const double wide = is_wide(l) ? 13 : 2;
    const double frequencies = (double)(s.differ[0] * s.differ[1]) * (double)half;
    const bool narrow = l->task->dtype != STN_F64;
    const double exact = fmax(0, bits - (narrow ? by_trace(l) ? SQUARINGS_IN_F64_NARROW : 64 : SQUARINGS_IN_F64));
    /* 1.5: a squaring for each bit, and a product with the matrix for half of the bits. A
     * multiplication takes 13 operations in 106 bits, and 2 in float64. */
    double power = 1.5 * products_of(l) * (13 * exact + 2 * (bits - exact));
    if (by_trace(l)) power = (l->determinant_one ? 16 : 28) * exact + 4 * (bits - exact) + 4 * bits;
    /* `wide` is the operations of a symbol's term and of a factor. */
    return frequencies * (power + wide * (s.slots + numbers_of(l)));
}

/* ---- the kernel's text ---------------------------------------------------------------------- */

void modes_render_fields(const modes_linear *l, stn_text *text) {
    const int fields = l->task->system->nfields;
    int first[STN_SYSTEM_MAX_FIELDS + 1];
    memcpy(first, l->first, (size_t)fields * sizeof *first);
    first[fields] = l->width;
    stn_params_int(text, "MODES_WIDTH", l->width);
    stn_params_int(text, "MODES_FIELDS", fields);
    stn_params_ints(text, "MODES_FIELD", first, (size_t)fields + 1);
}

static void render_operation(const modes_linear *l, int i, int column, int value, stn_text *text) {
    const modes_operation *o = &l->operations[i];
    const bool has_a = o->kind == MODES_LEVEL || l->operations[o->a].columns >> column & 1;
    const bool has_b = l->operations[o->b].columns >> column & 1;
    if (o->kind == MODES_LEVEL) {
        int binomial = 1;
        for (int j = 0; j < column - l->first[o->field]; j++) binomial = -binomial * (o->level - j) / (j + 1);
        stn_text_printf(text, "    const whole<%d> o%d_%d = {};\n", binomial, i, column);
        return;
    }
    stn_text_printf(text, "    const auto o%d_%d = ", i, column);
    switch (o->kind) {
        case MODES_STENCIL:
            stn_text_printf(text, "times(o%d_%d, s%d);\n", o->a, column, o->stencil);
            break;
        case MODES_NEGATE:
            stn_text_printf(text, "negated(o%d_%d);\n", o->a, column);
            break;
        case MODES_ADD:
        case MODES_SUBTRACT: {
            const char *const sign = o->kind == MODES_SUBTRACT ? "negated" : "";
            if (has_a && has_b)
                stn_text_printf(text, "plus(o%d_%d, %s(o%d_%d));\n", o->a, column, sign, o->b, column);
            else if (has_a)
                stn_text_printf(text, "o%d_%d;\n", o->a, column);
            else
                stn_text_printf(text, "%s(o%d_%d);\n", sign, o->b, column);
            break;
        }
        default:
            stn_text_printf(text, "times(o%d_%d, f.values[%d]);\n", o->a, column, value);
    }
}

/* The function that fills the matrix at a frequency f. */
static void render_matrix(const modes_linear *l, stn_text *text) {
    const stn_system *system = l->task->system;
    int value = 0;
    stn_text_printf(text,
                    "#include \"modes/wide.cuh\"\n"
                    "template <class FREQUENCY, class MATRIX>\n"
                    "__device__ __forceinline__ void modes_matrix(const FREQUENCY &f, MATRIX &m) {\n");
    for (int i = 0; i < l->nstencils; i++)
        stn_text_printf(text, "    const auto s%d = f.template symbol<%d>();\n", i, i);
    for (int i = 0; i < l->count; i++) {
        const modes_kind kind = l->operations[i].kind;
        for (int column = 0; column < l->width; column++)
            if (l->operations[i].columns >> column & 1) render_operation(l, i, column, value, text);
        value += kind == MODES_SCALE || kind == MODES_DIVIDE;
    }
    for (int f = 0; f < system->nfields; f++) {
        const int row = l->first[f], root = l->root[f];
        for (int column = 0; column < l->width && root >= 0; column++)
            if (l->operations[root].columns >> column & 1)
                stn_text_printf(text, "    m.set(%d, %d, o%d_%d);\n", row, column, root, column);
        if (l->affine) stn_text_printf(text, "    if (f.first) m.set(%d, %d, f.values[%d]);\n", row, l->width, value++);
        for (int j = 1; j < system->fields[f].levels; j++) stn_text_printf(text, "    m.difference(%d);\n", row + j);
    }
    if (l->affine) stn_text_printf(text, "    m.set(%d, %d, whole<1>());\n", l->width, l->width);
    stn_text_printf(text, "}\n");
}

static void render_symbols(const modes_linear *l, const modes_power *power, const slot *slots, int *numbers,
                           stn_text *text) {
    const modes_power_shape *s = &power->shape;
    const bool narrow = l->task->dtype != STN_F64;
    int *part = numbers, *offset = part + s->slots, *first = offset + s->slots, *kind = first + s->slots + 1,
        *slot_of = kind + l->nstencils + 1;
    first[0] = 0, part[0] = offset[0] = kind[0] = slot_of[0] = slot_of[l->nstencils] = 0;
    for (int i = 0; i < s->slots; i++) {
        part[i] = slots[i].part, offset[i] = slots[i].offset;
        first[i + 1] = first[i] + list_taps(l, s->axis, &slots[i], NULL);
    }
    for (int i = 0, at = 0; i < l->nstencils; i++) {
        kind[i] = kind_of(l->stencils[i].taps, s->axis), slot_of[i] = at;
        while (at < s->slots && slots[at].stencil == i) at++;
        slot_of[i + 1] = at;
    }
    const size_t count = (size_t)stn_max(s->slots, 1), stencils = (size_t)stn_max(l->nstencils, 1);
    stn_params_int(text, "MODES_AFFINE", l->affine);
    stn_params_int(text, "MODES_REAL", l->real);
    stn_params_int(text, "MODES_WIDE", is_wide(l));
    stn_params_int(text, "MODES_PLAIN", narrow ? by_trace(l) ? SQUARINGS_IN_F64_NARROW : 64 : SQUARINGS_IN_F64);
    stn_params_int(text, "MODES_TRACE", by_trace(l));
    stn_params_int(text, "MODES_UNIT", l->determinant_one);
    stn_params_int(text, "MODES_REACH", l->reach[s->axis]);
    stn_params_int(text, "MODES_TERMS", s->slots);
    stn_params_ints(text, "MODES_PART", part, count);
    stn_params_ints(text, "MODES_OFFSET", offset, count);
    stn_params_ints(text, "MODES_FIRST", first, count + 1);
    stn_params_ints(text, "MODES_KIND", kind, stencils);
    stn_params_ints(text, "MODES_SLOT", slot_of, stencils + 1);
    stn_params_int(text, "MODES_VALUES", stn_max(power->nvalues, 1));
    render_matrix(l, text);
}

static void render(const modes_linear *l, const modes_power *power, stn_text *text) {
    const modes_power_shape *s = &power->shape;
    const int even[2] = {l->even[0], l->even[1]};
    stn_params_begin(text);
    stn_params_type(text, "REAL", l->task->dtype == STN_F64 ? "double" : "float");
    modes_render_fields(l, text);
    stn_params_ints(text, "MODES_EVEN", even, 2);
    stn_params_int(text, "MODES_ROWS", s->rows);
    stn_params_int(text, "THREADS_X", s->threads_x);
    stn_params_int(text, "THREADS_Y", s->threads_y);
    stn_params_int(text, "EXPECTED_HEADER",
                   (int64_t)(sizeof(power_arguments) + (size_t)stn_max(power->nvalues, 1) * sizeof(modes_value)));
}

/* ---- tables --------------------------------------------------------------------------------- */

static modes_value pair_from(modes_wide x) {
    const double top = x.top + x.rest;
    return (modes_value){top, (x.top - top) + x.rest};
}

static void put_root(modes_pair root, char *to) {
    const modes_value both[2] = {pair_from(root.re), pair_from(root.im)};
    memcpy(to, both, sizeof both);
}
/* Root k is the product of root k >> low of `coarse` and of one of 1 << low numbers of `fine`. */
static void put_roots(const modes_roots *from, int64_t count, int low, char *coarse, char *fine) {
    const size_t each = 2 * sizeof(modes_value);
    for (int64_t i = 0; i < count; i++) put_root(modes_root(from, i << low), coarse + (size_t)i * each);
    for (int64_t i = 0; i < INT64_C(1) << low; i++)
        put_root(modes_root(from, i < from->n ? i : 0), fine + (size_t)i * each);
}

/* The axis of table i: of rows, of columns, and of lines. */
static int axis_of(const modes_power_shape *s, int i) { return i == 2 ? s->axis : i + (i >= s->axis); }

static stn_status make_tables(const stn_plan *plan, const modes_linear *l, const slot *slots, modes_power *power,
                              stn_error *error) {
    const modes_power_shape *s = &power->shape;
    const size_t taps = (size_t)s->taps * sizeof(device_tap), each = 2 * sizeof(modes_value);
    size_t bytes = (size_t)stn_round_up((int64_t)taps, 16), count[3];
    modes_roots roots[3] = {{0}};
    stn_status status = STN_OK;
    char *tables = NULL;
    for (int i = 0; i < 3 && status == STN_OK; i++) {
        const int64_t length = l->axis[axis_of(s, i)].length;
        status = modes_roots_make(length, &roots[i], error);
        power->low[i] = roots[i].low;
        count[i] = (size_t)((length - 1) >> power->low[i]) + 1;
        power->coarse[i] = bytes, power->fine[i] = bytes + count[i] * each;
        bytes = power->fine[i] + ((size_t)1 << power->low[i]) * each;
    }
    if (status == STN_OK && !(tables = malloc(bytes))) status = stn_fail_memory(error, "the tables of a plan", bytes);
    if (status == STN_OK) {
        device_tap *to = (device_tap *)(void *)tables;
        for (int i = 0; i < s->slots; i++) to += list_taps(l, s->axis, &slots[i], to);
        for (int i = 0; i < 3; i++)
            put_roots(&roots[i], (int64_t)count[i], power->low[i], tables + power->coarse[i], tables + power->fine[i]);
        status = stn_device_alloc(plan->context->device, bytes, &power->tables, error);
    }
    if (status == STN_OK) status = stn_device_upload(plan->context->device, power->tables, tables, bytes, error);
    for (int i = 0; i < 3; i++) modes_roots_clear(&roots[i]);
    free(tables);
    return status;
}

stn_status modes_power_symbols(stn_plan *plan, const modes_linear *l, int axis, modes_power *power, stn_text *text,
                               stn_error *error) {
    power->shape.axis = axis, power->shape.slots = list_slots(l, axis, NULL);
    power->nvalues = list_values(l, power);
    const size_t count = (size_t)power->shape.slots + 1, numbers = 3 * count + 2 * (size_t)l->nstencils + 4;
    slot *slots = calloc(count, sizeof *slots);
    int *scratch = calloc(numbers, sizeof *scratch);
    stn_status status = STN_OK;
    if (slots && scratch) {
        (void)list_slots(l, axis, slots);
        for (int i = 0; i < power->shape.slots; i++) power->shape.taps += list_taps(l, axis, &slots[i], NULL);
        render_symbols(l, power, slots, scratch, text);
    } else
        status = stn_fail_memory(error, "a kernel's parameters", count * sizeof *slots);
    if (status == STN_OK && plan->machine.present) status = make_tables(plan, l, slots, power, error);
    free(slots);
    free(scratch);
    return status;
}

stn_status modes_power_make(stn_plan *plan, const modes_linear *l, modes_power *power, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    power->shape = shape_of(l, &plan->machine);
    power->nvalues = list_values(l, NULL);
    render(l, power, &params);
    const stn_status status = modes_power_symbols(plan, l, 2, power, &params, error);
    if (status == STN_OK) return stn_kernel_make(plan->kernels, "modes_power", &params, 0, &power->kernel, error);
    stn_text_clear(&params);
    return status;
}

void modes_power_clear(const stn_plan *plan, modes_power *power) {
    stn_device_free(plan->context->device, power->tables);
    power->tables = NULL;
}

/* ---- the launch ----------------------------------------------------------------------------- */

void modes_power_values(const modes_power *power, const modes_linear *l, const double *numbers, modes_value *to) {
    double constants[MAX_NODES];
    modes_constants(l, numbers, constants);
    for (int i = 0; i < power->nvalues; i++) {
        const double value = constants[power->value[i]];
        to[i] = power->divides[i] ? pair_from(modes_reciprocal(value)) : (modes_value){value, 0};
    }
}

modes_symbol_tables modes_power_tables(const modes_power *power, const modes_linear *l) {
    const char *tables = power->tables;
    modes_symbol_tables symbols = {.taps = tables};
    for (int i = 0; i < 3; i++)
        symbols.axis[i] = (modes_device_roots){tables + power->coarse[i], tables + power->fine[i],
                                               l->axis[axis_of(&power->shape, i)].length, power->low[i]};
    return symbols;
}

stn_status modes_power_run(const modes_power *power, const modes_linear *l, const double *numbers,
                           const modes_power_pass *pass, void *stream, stn_error *error) {
    const modes_power_shape *s = &power->shape;
    const int64_t pitch = l->axis[2].length / 2 + 1;
    struct {
        power_arguments a;
        modes_value values[MODES_MAX_VALUES];
    } all = {.a = {.spectrum = pass->spectrum,
                   .to = pass->to,
                   .tables = modes_power_tables(power, l),
                   .rows = {s->differ[0], s->differ[1]},
                   .pitch = pitch,
                   .grids = l->task->batch,
                   .grid = modes_grid(l),
                   .chunks = s->chunks,
                   .steps = pass->steps,
                   .scale = pass->scale,
                   .keeps = pass->keeps,
                   .levels = pass->levels}};
    modes_power_values(power, l, numbers, all.values);
    return stn_kernel_launch(power->kernel, s->blocks, s->threads_x * s->threads_y, 0, &all, stream, error);
}
