/* Prints a problem as a command line; see problem.h. */
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "problem.h"
#include "problem/task.h"

static void print_taps(const random_problem *r) {
    printf("# printf '[");
    for (size_t i = 0; i < r->ntaps; i++) {
        char number[STN_NUMBER_SIZE];
        stn_number_format(r->taps[i].weight, number);
        printf("%s{\"offset\":[", i ? "," : "");
        for (int axis = 0; axis < r->rank; axis++) printf("%s%d", axis ? "," : "", (int)r->taps[i].offset[axis]);
        printf("],\"weight\":%s}", number);
    }
    printf("]' > taps.json\n");
}

static void print_side(const stn_boundary *b) {
    char number[STN_NUMBER_SIZE];
    stn_number_format(b->value, number);
    printf("%s", stn_boundary_name(b->kind));
    if (b->kind == STN_CONSTANT) printf("=%s", number);
}

static void print_strides(const char *name, const ptrdiff_t *stride, ptrdiff_t batch, int rank) {
    if (stride[0] || batch) printf(", %s strides", name);
    for (int axis = 0; axis < rank && stride[0]; axis++) printf(" %td", stride[axis]);
    if (batch) printf(" of grids %td", batch);
}

void random_problem_print(const random_problem *r, const char *strategy, int pick) {
    const stn_problem *p = &r->problem;
    print_taps(r);
    printf("# stentor run --taps taps.json --size ");
    if (p->batch > 1) printf("%zux", p->batch);
    for (int axis = 0; axis < r->rank; axis++) printf("%s%zu", axis ? "x" : "", p->extent[axis]);
    printf(" --random %" PRIu64 " --boundary ", r->data);
    for (int axis = 0; axis < r->rank; axis++) {
        if (axis) printf(",");
        print_side(&p->boundary[axis][0]);
        printf(":");
        print_side(&p->boundary[axis][1]);
    }
    printf(" --steps %" PRIu64 " --dtype %s --strategy %s", p->steps, stn_dtype_name(p->dtype), strategy);
    if (p->tolerance > 0) printf(" --tolerance %g", p->tolerance);
    printf("\n# beyond that: candidate %d%s%s%s", pick, p->in_place ? ", in place" : "",
           r->new_weights ? ", by new weights" : "", r->positive ? "" : ", data in [-1, 1)");
    if (p->every) printf(", a snapshot every %" PRIu64 " steps, %td elements apart", p->every, p->snapshot_stride);
    if (p->has_source) printf(", a constant source");
    if (r->amplitude > 0 && r->amplitude != 1) printf(", data times %g", r->amplitude);
    if (r->times > 1) printf(", %d times", r->times);
    if (r->workspace) printf(", with a workspace");
    print_strides("in", p->in_stride, p->in_batch_stride, r->rank);
    print_strides("out", p->out_stride, p->out_batch_stride, r->rank);
    printf(", alignment %d, grids at element %d of an aligned address\n", p->alignment ? p->alignment : 16, r->offset);
}
