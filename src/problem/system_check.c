/* Reach of each assignment of a parsed system, by propagating demanded ranges from roots to leaves;
 * copy, destruction and accessors of systems. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "problem/system.h"

#define MAX_ROWS (1 << 16) /* rows of intermediate results of all assignments */

/* The range around a point over which a node's values are needed, if at all. */
typedef struct demand {
    int reach[3][2];
    bool needed;
} demand;

static void widen_demand(demand *to, const demand *from, int more[3][2]) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            const int reach = from->reach[axis][side] + (more ? more[axis][side] : 0);
            if (!to->needed || reach > to->reach[axis][side]) to->reach[axis][side] = reach;
        }
    to->needed = true;
}

/* A reach is negative if all taps lie on the other side of the point. */
static void stencil_reach(const stn_system_stencil *stencil, int reach[3][2]) {
    for (int axis = 0; axis < 3; axis++) reach[axis][0] = reach[axis][1] = -STN_MAX_RADIUS;
    for (size_t k = 0; k < stencil->ntaps; k++)
        for (int axis = 0; axis < 3; axis++) {
            const int o = (int)stencil->taps[k].offset[axis];
            if (-o > reach[axis][0]) reach[axis][0] = -o;
            if (o > reach[axis][1]) reach[axis][1] = o;
        }
}

static stn_status check_size(const stn_system *system, const stn_system_equation *e, const demand *d, int64_t *rows,
                             stn_error *error) {
    const char *name = system->fields[e->field].name;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (d->reach[axis][side] > STN_MAX_RADIUS)
                return stn_fail(
                    error, STN_ERROR_INVALID_ARGUMENT,
                    "line %d, column %d: the stencils of stencils in %s.next reach %d points along %c: at most "
                    "%d; assign a part to a field of its own",
                    e->line, e->column, name, d->reach[axis][side], 'z' - axis, STN_MAX_RADIUS);
    *rows += (int64_t)(d->reach[0][0] + d->reach[0][1] + 1) * (d->reach[1][0] + d->reach[1][1] + 1);
    if (*rows <= MAX_ROWS) return STN_OK;
    return stn_fail(
        error, STN_ERROR_INVALID_ARGUMENT,
        "line %d, column %d: the stencils of stencils in %s.next need more than %d rows of intermediate results: "
        "assign a part to a field of its own",
        e->line, e->column, name, MAX_ROWS);
}

static stn_status check_equation(const stn_system *system, stn_system_equation *e, demand *demands, stn_error *error) {
    int64_t rows = 0;
    memset(demands, 0, ((size_t)e->root + 1) * sizeof *demands);
    demands[e->root].needed = true;
    for (int i = e->root; i >= 0; i--) {
        const stn_system_node *node = &system->nodes[i];
        const demand *d = &demands[i];
        int more[3][2];
        if (!d->needed) continue;
        STN_TRY(check_size(system, e, d, &rows, error));
        if (node->op == STN_SYSTEM_STENCIL) {
            stencil_reach(&system->stencils[node->index], more);
            widen_demand(&demands[node->operand[0]], d, more);
        } else
            for (int k = 0; k < stn_system_ops[node->op].operands; k++)
                widen_demand(&demands[node->operand[k]], d, NULL);
        if (node->op != STN_SYSTEM_FIELD && node->op != STN_SYSTEM_COEFFICIENT) continue;
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2; side++)
                if (d->reach[axis][side] > e->reach[axis][side]) e->reach[axis][side] = d->reach[axis][side];
    }
    return STN_OK;
}

/* Sets the sides of unused axes, so that "reflect" and "reflect, reflect" are equal in 2D. */
static void fill_unused_axes(const stn_system *system, stn_system_variable *v) {
    for (int axis = 0; system->rank && axis < 3 - system->rank; axis++)
        memcpy(v->side[axis], v->side[2], sizeof v->side[2]);
}

stn_status stn_system_check(stn_system *system, stn_error *error) {
    if (!system->least_rank) system->least_rank = 1;
    for (int i = 0; i < system->nfields; i++) fill_unused_axes(system, &system->fields[i]);
    for (int i = 0; i < system->ncoefficients; i++) fill_unused_axes(system, &system->coefficients[i]);
    demand *demands = malloc((size_t)system->nnodes * sizeof *demands);
    if (!demands) return stn_fail_memory(error, "a system", (size_t)system->nnodes * sizeof *demands);
    stn_status status = STN_OK;
    for (int e = 0; e < system->nequations && status == STN_OK; e++)
        status = check_equation(system, &system->equations[e], demands, error);
    free(demands);
    return status;
}

void stn_system_destroy(stn_system *system) {
    if (!system) return;
    for (int i = 0; i < system->nstencils; i++) free(system->stencils[i].taps);
    free(system->stencils);
    free(system->nodes);
    free(system);
}

stn_status stn_system_copy(const stn_system *system, stn_system **result, stn_error *error) {
    const size_t nodes = (size_t)system->nnodes * sizeof *system->nodes;
    *result = NULL;
    stn_system *copy = malloc(sizeof *copy);
    if (!copy) return stn_fail_memory(error, "a system", sizeof *copy);
    *copy = *system;
    copy->nodes = malloc(nodes);
    copy->stencils = calloc((size_t)system->nstencils + 1, sizeof *copy->stencils);
    copy->nstencils = 0;
    if (!copy->nodes || !copy->stencils) goto failed;
    memcpy(copy->nodes, system->nodes, nodes);
    for (int i = 0; i < system->nstencils; i++) {
        const size_t bytes = system->stencils[i].ntaps * sizeof *system->stencils->taps;
        copy->stencils[i] = system->stencils[i];
        copy->stencils[i].taps = malloc(bytes);
        if (!copy->stencils[i].taps) goto failed;
        memcpy(copy->stencils[i].taps, system->stencils[i].taps, bytes);
        copy->nstencils++;
    }
    *result = copy;
    return STN_OK;
failed:
    stn_system_destroy(copy);
    return stn_fail_memory(error, "a system", nodes);
}

/* ---- accessors ------------------------------------------------------------------------------- */

int stn_system_rank(const stn_system *system) { return system ? system->rank : 0; }
int stn_system_least_rank(const stn_system *system) { return system ? system->least_rank : 0; }
size_t stn_system_field_count(const stn_system *system) { return system ? (size_t)system->nfields : 0; }
size_t stn_system_coefficient_count(const stn_system *system) { return system ? (size_t)system->ncoefficients : 0; }

const char *stn_system_field_name(const stn_system *system, size_t field) {
    return field < stn_system_field_count(system) ? system->fields[field].name : "";
}

int stn_system_field_levels(const stn_system *system, size_t field) {
    return field < stn_system_field_count(system) ? system->fields[field].levels : 0;
}

const char *stn_system_coefficient_name(const stn_system *system, size_t coefficient) {
    return coefficient < stn_system_coefficient_count(system) ? system->coefficients[coefficient].name : "";
}

int stn_system_coefficient_value(const stn_system *system, size_t coefficient, double *value) {
    if (coefficient >= stn_system_coefficient_count(system) || !system->coefficients[coefficient].has_value) return 0;
    if (value) *value = system->coefficients[coefficient].value;
    return 1;
}

int stn_system_reach(const stn_system *system, int rank, int axis, int side) {
    int reach = 0;
    if (!system || rank < 1 || rank > 3 || axis < 0 || axis >= rank || side < 0 || side > 1) return 0;
    for (int e = 0; e < system->nequations; e++)
        if (system->equations[e].reach[3 - rank + axis][side] > reach)
            reach = system->equations[e].reach[3 - rank + axis][side];
    return reach;
}
