/* Words of cost models. */
#ifndef STN_STRATEGIES_COMMON_COST_H
#define STN_STRATEGIES_COMMON_COST_H

/* Seconds of two kinds of work that run beside each other on the same warps. The longer of them alone where they differ; where
 * both take the same each waits for the other now and then: 12% more. A smooth maximum (their 6-norm), whose exponent was read
 * off lowrank_mixed on an H200: bench/results/2026-11-21-lowrank-mixed.md. */
double stn_cost_beside(double one, double other);
#endif
