/* Periodic extensions of an axis: mirrors equivalent to a boundary, and the choice of line length.
 */
#include "strategies/common/extension.h"

#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "render/render.h"

static bool refuse(char *reason, size_t size, const char *side, const char *why, int axis) {
    snprintf(reason, size, "past the %s side of axis %d, %s", side, axis, why);
    return false;
}

/* Expresses one side as a mirror. The test whether many taps are symmetric comes last because it is
 * the slowest. */
static bool mirror_of(const stn_task *task, int axis, int side, stn_extension *extension, char *reason, size_t size) {
    stn_boundary_kind kind = task->boundary[axis][side].kind;
    const char *name = side ? "high" : "low";
    int shown = axis - (3 - task->rank), reach = stn_task_reach(task, axis);
    bool odd = kind == STN_CONSTANT || kind == STN_FIXED;
    /* One step reads values past the side but does not compute them, so taps may be asymmetric. */
    bool once = task->steps == 1 && (kind == STN_REFLECT || kind == STN_MIRROR);
    if (reach > 1 && odd) return refuse(reason, size, name, "a fixed or constant side needs taps of reach 1", shown);
    if (reach > 1 && kind == STN_NEAREST) return refuse(reason, size, name, "nearest needs taps of reach 1", shown);
    if (reach && !once && !stn_task_is_symmetric(task, axis))
        return refuse(reason, size, name, "taps that are not symmetric along it have no symmetric extension", shown);
    extension->sign[side] = odd ? -1 : 1;
    extension->beyond[side] = kind == STN_CONSTANT ? 2 : kind == STN_FIXED || kind == STN_MIRROR ? 0 : 1;
    /* This boundary then repeats the only point. */
    if (kind == STN_MIRROR && task->n[axis] == 1) extension->beyond[side] = 1;
    /* This side freezes no point, and no tap reads past it. */
    if (kind == STN_FIXED && reach == 0) extension->sign[side] = 1, extension->beyond[side] = 1;
    return true;
}

bool stn_extension_sides(const stn_task *task, int axis, stn_extension *extension, char *reason, size_t reason_size) {
    *extension = (stn_extension){.n = task->n[axis], .beyond = {1, 1}, .sign = {1, 1}};
    extension->repeats = task->boundary[axis][0].kind == STN_WRAP || stn_task_reach(task, axis) == 0;
    if (extension->repeats) return true;
    return mirror_of(task, axis, 0, extension, reason, reason_size) &&
           mirror_of(task, axis, 1, extension, reason, reason_size);
}

int64_t stn_extension_period(const stn_extension *e) {
    if (e->repeats) return e->n;
    int64_t period = 2 * (e->n - 1) + e->beyond[0] + e->beyond[1];
    if (period == 0) period = 1; /* one frozen point */
    return e->sign[0] == e->sign[1] ? period : 2 * period;
}

bool stn_extension_odd(const stn_extension *e) { return !e->repeats && (e->sign[0] < 0 || e->sign[1] < 0); }

int64_t stn_extension_image(const stn_extension *e, int64_t i, int *sign) {
    *sign = 1;
    if (e->repeats) return (i % e->n + e->n) % e->n;
    while (i < 0 || i >= e->n) {
        int side = i >= e->n;
        if (e->sign[side] < 0 && e->beyond[side] == 2 && i == (side ? e->n : -1)) *sign = 0;
        if (*sign == 0) return 0;
        *sign *= e->sign[side];
        i = (side ? 2 * (e->n - 1) + e->beyond[1] : -e->beyond[0]) - i;
    }
    if (e->sign[0] < 0 && e->beyond[0] == 0 && i == 0) *sign = 0;
    if (e->sign[1] < 0 && e->beyond[1] == 0 && i == e->n - 1) *sign = 0;
    return i;
}

int64_t stn_extension_neighbour(const stn_extension *e, int side) {
    int64_t at[2] = {-1, -1};
    for (int s = 0; s < 2; s++) {
        if (e->repeats || e->sign[s] > 0) continue;
        int64_t in = e->beyond[s] == 0, place = s ? e->n - 1 - in : in;
        if (place >= 0 && place < e->n) at[s] = place;
    }
    return side == 1 && at[1] == at[0] ? -1 : at[side];
}

/* A period that has no transform, such as a row of odd length, may be repeated this many times: 49
 * points that wrap are equivalent to 98 points that wrap. */
enum { MAX_PERIODS = 4 };

/* The search covers lines up to 1/16 longer than the shortest. */
static int64_t some_longer(int64_t length) { return length + length / 16; }

bool stn_extension_fit(stn_extension *e, const stn_reach *reach, double (*cost)(int64_t length), int64_t most) {
    int64_t period = stn_extension_period(e), least;
    double lowest = INFINITY;
    e->length = 0;
    if (stn_add_overflows(e->n, reach->side[0], &least) || stn_add_overflows(least, reach->side[1], &least))
        least = INT64_MAX;
    for (int64_t times = 1; times <= MAX_PERIODS && period <= most / times && !e->length; times *= 2)
        if (cost(times * period) < INFINITY) e->length = times * period, lowest = cost(times * period);
    const bool whole = e->length == e->n; /* no line is shorter, so the reach is not needed */
    for (int64_t length = least, last = whole ? 0 : most; length <= last; length++) {
        const double here = cost(length);
        if (here == INFINITY) continue;
        last = stn_min(last, some_longer(length)); /* relative to the first valid length */
        if (here < lowest) e->length = length, lowest = here;
    }
    if (!e->length) return false;
    e->exact = period > 0 && e->length % period == 0;
    e->whole = e->length == e->n;
    e->before = e->exact || e->whole ? 0 : reach->side[0];
    return true;
}

void stn_extension_params(const stn_extension *e, stn_text *params) {
    stn_params_int(params, "EXTEND_REPEATS", e->repeats);
    stn_params_int(params, "EXTEND_LOW", e->beyond[0]);
    stn_params_int(params, "EXTEND_LOW_SIGN", e->sign[0]);
    stn_params_int(params, "EXTEND_HIGH", e->beyond[1]);
    stn_params_int(params, "EXTEND_HIGH_SIGN", e->sign[1]);
    stn_params_int(params, "LINE_WHOLE", e->whole);
}
