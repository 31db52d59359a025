/* Named constraints that a pass must satisfy: see strategies/common/constraint.h. */
#include "strategies/common/constraint.h"
#include "strategies/segment/segment_shape.h"

#define MOST_WORK_ITEMS ((int64_t)1 << 30)

typedef struct one_pass {
    const segment_shape *shape;
    const segment_pass *pass;
} one_pass;

static bool unit_holds(const stn_task *task, const stn_machine *machine, void *of) {
    const one_pass *p = of;
    return p->pass->first >= 0 || machine->flops[segment_unit(task, p->shape, p->pass)] > 0;
}
static bool shared_holds(const stn_task *task, const stn_machine *machine, void *of) {
    const one_pass *p = of;
    return segment_shared(task, p->shape, p->pass) <= machine->shared_per_block;
}
static bool threads_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const one_pass *p = of;
    (void)task, (void)machine;
    return segment_threads(p->shape, p->pass) <= 1024;
}
static bool work_items_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const one_pass *p = of;
    (void)machine;
    return segment_work_items(task, p->shape, p->pass) < MOST_WORK_ITEMS;
}

static stn_constraint *const constraints[] = {
    unit_holds,      /* dense DFTs have tensor cores of their type */
    shared_holds,    /* a segment and its symbol fit a block's shared memory */
    threads_hold,    /* a block has at most 1024 threads */
    work_items_hold, /* segments are counted in 31 bits */
};

bool segment_pass_holds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                        const segment_pass *pass) {
    return STN_CONSTRAINTS_HOLD(constraints, task, machine, &((one_pass){shape, pass}));
}
