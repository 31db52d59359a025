/* How a layer's passes are made: a candidate's meaning, and the candidates. */
#ifndef STN_STRATEGIES_FNO_CHOOSE_H
#define STN_STRATEGIES_FNO_CHOOSE_H
#include "plan/strategy.h"
#include "strategies/fno/dense.h"
#include "strategies/fno/few.h"
#include "strategies/fno/route.h"

struct stn_kernel;

enum { FUSION, WAY }; /* a candidate's values */
enum {
    AS_EVER,
    AS_PRODUCTS,
    WHOLE,
    SPLIT,
    TWINS,
    SINGLY
}; /* passes as products with tables of roots where they can be; fno_form's others; each frequency by itself where that is cheaper */

typedef struct stage_state {
    enum { BY_LADDER, BY_TABLE, BY_FREQUENCY } by; /* how a pass transforms */
    fno_shape shape;
    fno_dense_shape dense_shape;
    fno_few_shape few_shape;
    fno_modes_shape modes_shape; /* of a product of modes */
    struct stn_kernel *kernel;
    size_t roots; /* where its roots or its table begin, in bytes */
} stage_state;

typedef struct fno_state {
    fno_route route;
    fno_numbers numbers;
    stage_state stage[FNO_STAGES];
    size_t place[FNO_PLACES]; /* bytes into the workspace */
    void *roots;
} fno_state;

/* The route and the shape of each of its launches; false, and why, where there are none. */
bool fno_find(const stn_layer *layer, const stn_candidate *candidate, const stn_machine *machine, fno_state *state,
              char *reason, size_t size);
/* Passes that are made in one of the ways of stage_state. */
int fno_passes_by(const fno_state *state, int way);
/* Seconds; *sum gets what else an estimate has. */
double fno_stage_pass_cost(const fno_pass *pass, const stage_state *at, fno_numbers numbers, const stn_machine *machine,
                           stn_estimate *sum);
/* The strategy's operations of these names. */
bool fno_applies(const stn_layer *layer, const stn_machine *machine, char *reason, size_t reason_size);
size_t fno_candidates(const stn_layer *layer, const stn_machine *machine, stn_candidate *list, size_t most);
void fno_left_out(const stn_plan *plan, stn_tally *tally);
#endif
