/* See cost.h. */
#include "strategies/common/cost.h"

#include <math.h>

#define NORM 6

double stn_cost_beside(double one, double other) {
    const double longer = fmax(one, other), shorter = fmin(one, other);
    return longer > 0 ? longer * pow(1 + pow(shorter / longer, NORM), 1.0 / NORM) : 0;
}
