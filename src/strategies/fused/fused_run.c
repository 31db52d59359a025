/* Renders a fused launch and packs its arguments, as system_fused.cu declares them:
 *
 *     pointers to inputs and outputs
 *     extents, points, the boxes that are not frozen     blocks, chunk     values */
#include "strategies/fused/fused_run.h"

#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"

/* Byte offsets of the parts of the arguments. */
typedef struct argument_offsets {
    size_t outputs, extents, updated, blocks, values, end;
} argument_offsets;

static argument_offsets argument_offsets_of(const stn_system_task *task, const fused_reads *reads,
                                            const fused_schedule *s) {
    const size_t real = task->dtype == STN_F64 ? 8 : 4;
    argument_offsets p;
    p.outputs = 8 * (size_t)s->ninputs;
    p.extents = p.outputs + 8 * (size_t)s->noutputs;
    p.updated = p.extents + 4 * 8;
    p.blocks = p.updated + 6 * 8 * (size_t)task->system->nequations;
    p.values = p.blocks + 4 * 4;
    p.end = p.values + (size_t)stn_round_up((int64_t)((size_t)reads->reads.nvalues * real), 8);
    return p;
}

size_t fused_argument_bytes(const stn_system_task *task, const fused_reads *reads, const fused_schedule *schedule) {
    return argument_offsets_of(task, reads, schedule).end;
}

/* ---- kernel text */

static void render_nodes(const stn_system_task *task, const fused_reads *reads, const fused_schedule *s,
                         const fused_shape *shape, stn_text *text) {
    int lag[FUSED_MAX_NODES] = {0}, ring[FUSED_MAX_NODES], at[FUSED_MAX_NODES], begin[FUSED_MAX_NODES],
        end[FUSED_MAX_NODES], start[FUSED_MAX_NODES], shared[FUSED_MAX_INPUTS], rule[FUSED_MAX_NODES];
    const int count = s->ninputs + s->npasses;
    for (int n = 0; n < count; n++) {
        const fused_node *node = &s->nodes[n];
        lag[n] = node->lag, ring[n] = node->ring, at[n] = node->at, start[n] = node->start;
        begin[n] = node->begin, end[n] = node->end;
        if (n < s->ninputs) shared[n] = !s->inputs[n].is_field;
    }
    stn_params_ints(text, "NODE_LAG", lag, (size_t)count);
    stn_params_ints(text, "NODE_RING", ring, (size_t)count);
    stn_params_ints(text, "NODE_AT", at, (size_t)count);
    stn_params_ints(text, "NODE_BEGIN", begin, (size_t)count);
    stn_params_ints(text, "NODE_END", end, (size_t)count);
    stn_params_ints(text, "NODE_START", start, (size_t)count);
    stn_params_ints(text, "NODE_SHARED", shared, (size_t)s->ninputs);
    for (int n = 0; n < count; n++) {
        const bool is_field = n >= s->ninputs || s->inputs[n].is_field;
        const int index =
            n < s->ninputs ? s->inputs[n].index : task->system->equations[s->equation[n - s->ninputs]].field;
        rule[n] = 0; /* a node that nothing reads has no points past sides */
        for (int a = 0; a < reads->reads.narrays; a++)
            if (reads->reads.arrays[a].is_field == is_field && reads->reads.arrays[a].index == index) rule[n] = a;
    }
    stn_params_ints(text, "NODE_RULE", rule, (size_t)count);
    stn_text_printf(text, "constexpr int NODE_X[%d][2] = {", count);
    for (int n = 0; n < count; n++)
        stn_text_printf(text, "%s{%d, %d}", n ? ", " : "", s->margin[0] - s->nodes[n].columns[0],
                        shape->x - (s->margin[1] - s->nodes[n].columns[1]));
    stn_text_printf(text, "};\n");
}

static void render_passes(const fused_schedule *s, int arrays, stn_text *text) {
    const size_t count = (size_t)s->npasses;
    stn_params_ints(text, "PASS_EQUATION", s->equation, count);
    stn_params_ints(text, "PASS_OUT", s->out, count);
    stn_params_ints(text, "PASS_PRESENT", s->present, count);
    stn_params_ints(text, "PASS_WAITS", s->waits, count);
    stn_text_printf(text, "constexpr int PASS_NODE[%d][%d] = {", s->npasses, arrays);
    for (int j = 0; j < s->npasses; j++) {
        stn_text_printf(text, "%s{", j ? ",\n    " : "");
        for (int a = 0; a < arrays; a++) stn_text_printf(text, "%s%d", a ? ", " : "", s->node_of[j][a]);
        stn_text_printf(text, "}");
    }
    stn_text_printf(text, "};\n");
}

static stn_status render_equations(const stn_system_task *task, fused_reads *reads, stn_text *text, stn_error *error) {
    stn_text_printf(text, "template <int E>\nstruct equation;\n");
    for (int e = 0; e < task->system->nequations; e++) {
        stn_system_program program;
        stn_status status = stn_system_code_program(task, &task->system->equations[e], &program, error);
        if (status == STN_OK) {
            stn_text_printf(text,
                            "template <>\nstruct equation<%d> {\n    template <class AROUND>\n    __device__ "
                            "__forceinline__ static REAL value(const AROUND &around) {\n",
                            e);
            stn_system_render_program(task, &reads->reads, &program, text);
            stn_text_printf(text, "    }\n};\n");
        }
        stn_system_program_clear(&program);
        STN_TRY(status);
    }
    return STN_OK;
}

static stn_status render(const stn_system_task *task, fused_reads *reads, const fused_kernel *k, stn_text *text,
                         stn_error *error) {
    const fused_schedule *s = &k->schedule;
    int reach[6] = {0}, freezes[STN_SYSTEM_MAX_FIELDS], continues[3], whole[3];
    for (int e = 0; e < task->system->nequations; e++) {
        freezes[e] = reads->freezes[e];
        for (int i = 0; i < 6; i++) reach[i] = (int)stn_max(reach[i], task->system->equations[e].reach[i / 2][i % 2]);
    }
    for (int axis = 0; axis < 3; axis++) continues[axis] = reads->continues[axis], whole[axis] = reads->whole[axis];
    stn_params_begin_for(text, task->dtype);
    stn_system_render_sides(task, &reads->reads, text);
    stn_params_int(text, "FUSED_INPUTS", s->ninputs);
    stn_params_int(text, "FUSED_PASSES", s->npasses);
    stn_params_int(text, "FUSED_OUTPUTS", s->noutputs);
    stn_params_int(text, "FUSED_EQUATIONS", task->system->nequations);
    stn_params_int(text, "FUSED_SLOTS", s->slots);
    stn_params_int(text, "FUSED_BEGIN", s->begin);
    stn_params_int(text, "FUSED_END", s->end);
    stn_params_int(text, "FUSED_ROWS", k->shape.rows);
    stn_params_int(text, "FUSED_VECTOR", k->shape.vector);
    stn_params_ints(text, "FUSED_MARGIN", s->margin, 2);
    stn_params_ints(text, "FUSED_REACH", reach, 6);
    stn_params_ints(text, "FUSED_CONTINUES", continues, 3);
    stn_params_ints(text, "FUSED_WHOLE", whole, 3);
    stn_params_ints(text, "FUSED_FREEZES", freezes, (size_t)task->system->nequations);
    render_nodes(task, reads, s, &k->shape, text);
    render_passes(s, reads->reads.narrays, text);
    stn_params_int(text, "THREADS_X", k->shape.x / k->shape.vector);
    stn_params_int(text, "BLOCKS", k->shape.blocks);
    stn_params_int(text, "EXPECTED_HEADER", (int64_t)argument_offsets_of(task, reads, s).values);
    return render_equations(task, reads, text, error);
}

/* ---- arguments */

static void fill_header(const stn_system_task *task, const fused_reads *reads, fused_kernel *k) {
    const argument_offsets p = argument_offsets_of(task, reads, &k->schedule);
    const fused_shape *shape = &k->shape;
    const int64_t extents[4] = {task->n[0], task->n[1], task->n[2], stn_system_task_points(task)};
    const int32_t blocks[4] = {
        (int32_t)stn_div_up(task->n[2], shape->x - k->schedule.margin[0] - k->schedule.margin[1]),
        (int32_t)stn_div_up(task->n[1], shape->chunk), (int32_t)shape->chunk, 0};
    k->blocks = (int64_t)blocks[0] * blocks[1] * task->batch;
    memcpy(k->header + p.extents, extents, sizeof extents);
    memcpy(k->header + p.blocks, blocks, sizeof blocks);
    for (int e = 0; e < task->system->nequations; e++) {
        int64_t begin[3], end[3];
        stn_system_updated_range(task, &task->system->equations[e], begin, end);
        memcpy(k->header + p.updated + sizeof begin * (size_t)e, begin, sizeof begin);
        memcpy(k->header + p.updated + sizeof begin * (size_t)(task->system->nequations + e), end, sizeof end);
    }
    stn_system_put_constants(task, &reads->reads, k->header + p.values);
}

stn_status fused_kernel_make(stn_plan *plan, fused_reads *reads, const fused_shape *shape, fused_kernel *k,
                             stn_error *error) {
    const stn_system_task *task = &plan->system;
    stn_text params = STN_TEXT_EMPTY;
    k->shape = *shape;
    if (!fused_schedule_make(task, reads, shape, &k->schedule))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "a tile of %d points is too small for %d steps", shape->x,
                        shape->depth);
    k->arguments = fused_argument_bytes(task, reads, &k->schedule);
    if (k->arguments > STN_SYSTEM_MAX_ARGUMENTS)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%d steps need more arguments than a kernel has", shape->depth);
    k->shared = (size_t)k->schedule.slots * (size_t)shape->x * stn_dtype_size(task->dtype);
    stn_status status = render(task, reads, k, &params, error);
    if (status != STN_OK) {
        stn_text_clear(&params);
        return status;
    }
    fill_header(task, reads, k);
    return stn_kernel_make(plan->kernels, "system_fused", &params, k->shared, &k->kernel, error);
}

stn_status fused_kernel_run(const fused_kernel *k, const stn_system_task *task, const fused_reads *reads,
                            const stn_system_arrays *arrays, const void *const *from, void *const *to, void *stream,
                            stn_error *error) {
    const fused_schedule *s = &k->schedule;
    const argument_offsets p = argument_offsets_of(task, reads, s);
    _Alignas(16) unsigned char arguments[STN_SYSTEM_MAX_ARGUMENTS];
    memcpy(arguments, k->header, k->arguments);
    for (int i = 0; i < s->ninputs; i++) {
        const stn_system_array *each = &s->inputs[i];
        const void *array =
            each->is_field ? from[task->first[each->index] + each->level] : arrays->coefficients[each->index];
        memcpy(arguments + 8 * (size_t)i, &array, sizeof array);
    }
    for (int i = 0; i < s->noutputs; i++) {
        void *array = to[task->first[s->outputs[i].field] + s->outputs[i].level];
        memcpy(arguments + p.outputs + 8 * (size_t)i, &array, sizeof array);
    }
    stn_system_put_numbers(task, &reads->reads, arrays->numbers, arguments + p.values);
    return stn_kernel_launch(k->kernel, k->blocks, k->shape.x / k->shape.vector, k->shared, arguments, stream, error);
}
