/* Candidates of the fno strategy: which kernels compute the passes of a layer. */
#ifndef STN_STRATEGIES_FNO_FNO_CANDIDATES_H
#define STN_STRATEGIES_FNO_FNO_CANDIDATES_H
#include "plan/strategy.h"
#include "strategies/fno/fno_dense.h"
#include "strategies/fno/fno_few_modes.h"
#include "strategies/fno/fno_route.h"

struct stn_kernel;

enum { FUSION, WAY }; /* a candidate's values */
/* Values of WAY. DEFAULT_WAY: the default; DENSE: passes as dense products with a DFT matrix
 * where possible; SPLIT, SPLIT_IN_TWO: as in fno_form; FEW_MODES: fno_few_modes where it is
 * faster. Wisdom holds the numbers; 2 is no longer used. */
enum { DEFAULT_WAY, DENSE, SPLIT = 3, SPLIT_IN_TWO, FEW_MODES };

typedef struct stage_state {
    /* fno_line or fno_split; fno_dense; fno_few_modes */
    enum { BY_FFT, BY_DENSE_PRODUCT, BY_DIRECT_SUMS } by;
    fno_line_shape shape;
    fno_dense_shape dense_shape;
    fno_few_shape few_shape;
    fno_mode_product_shape mode_product_shape; /* of a product per mode */
    struct stn_kernel *kernel;
    size_t twiddles; /* byte offset of the stage's table in fno_state.twiddles */
} stage_state;

typedef struct fno_state {
    fno_route route;
    fno_numbers numbers;
    stage_state stage[FNO_STAGES];
    size_t place[FNO_PLACES]; /* offsets in the workspace, in bytes */
    void *twiddles;
} fno_state;

/* Finds the launches and their shapes; false, with the reason, if there are none. */
bool fno_find(const stn_layer *layer, const stn_candidate *candidate, const stn_machine *machine, fno_state *state,
              char *reason, size_t size);
/* Number of passes that are computed in one way (a value of stage_state.by). */
int fno_passes_by(const fno_state *state, int way);
/* Estimated seconds; adds bytes, operations and launches to *sum. */
double fno_stage_pass_cost(const fno_pass *pass, const stage_state *at, fno_numbers numbers, const stn_machine *machine,
                           stn_estimate *sum);
/* The strategy's functions `applies` and `candidates`. */
bool fno_applies(const stn_layer *layer, const stn_machine *machine, char *reason, size_t reason_size);
size_t fno_candidates(const stn_layer *layer, const stn_machine *machine, stn_candidate *list, size_t most);
#endif
