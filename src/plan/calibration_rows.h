/* The table of calibration.h, written by bench/fit_rates.py from times of an NVIDIA H200. */
#ifndef STN_PLAN_CALIBRATION_ROWS_H
#define STN_PLAN_CALIBRATION_ROWS_H
/* X(strategy, rank, dtype, several steps a launch, scale, seconds of a launch) */
#define STN_CALIBRATION_ROWS(X)                                                                                        \
    X("direct", 1, STN_F16, false, 1.000, 0)                                                                           \
    X("direct", 1, STN_F16, true, 1.100, 0)                                                                            \
    X("direct", 1, STN_F32, false, 1.000, 0)                                                                           \
    X("direct", 1, STN_F32, true, 1.100, 0)                                                                            \
    X("direct", 1, STN_F64, false, 1.000, 0)                                                                           \
    X("direct", 1, STN_F64, true, 0.906, 0)                                                                            \
    X("direct", 2, STN_F16, false, 1.000, 0)                                                                           \
    X("direct", 2, STN_F16, true, 1.000, 0)                                                                            \
    X("direct", 2, STN_F32, false, 1.000, 0)                                                                           \
    X("direct", 2, STN_F32, true, 1.000, 0)                                                                            \
    X("direct", 2, STN_F64, false, 1.000, 0)                                                                           \
    X("direct", 2, STN_F64, true, 1.000, 0)                                                                            \
    X("direct", 3, STN_F16, false, 1.000, 0)                                                                           \
    X("direct", 3, STN_F16, true, 2.226, 0)                                                                            \
    X("direct", 3, STN_F32, false, 1.000, 0)                                                                           \
    X("direct", 3, STN_F32, true, 1.252, 9e-06)                                                                        \
    X("direct", 3, STN_F64, false, 1.000, 0)                                                                           \
    X("direct", 3, STN_F64, true, 1.455, 2.25e-06)                                                                     \
    X("lowrank", 1, STN_F16, false, 1.078, 0)                                                                          \
    X("lowrank", 1, STN_F16, true, 1.025, 0)                                                                           \
    X("lowrank", 1, STN_F32, false, 1.191, 0)                                                                          \
    X("lowrank", 1, STN_F32, true, 1.133, 0)                                                                           \
    X("lowrank", 1, STN_F64, false, 0.905, 0)                                                                          \
    X("lowrank", 1, STN_F64, true, 0.905, 0)                                                                           \
    X("lowrank", 2, STN_F16, true, 1.000, 0)                                                                           \
    X("lowrank", 2, STN_F32, true, 1.133, 0)                                                                           \
    X("lowrank", 2, STN_F64, false, 0.951, 0)                                                                          \
    X("lowrank", 2, STN_F64, true, 1.000, 0)                                                                           \
    X("lowrank", 3, STN_F16, true, 1.000, 0)                                                                           \
    X("lowrank", 3, STN_F32, false, 1.078, 0)                                                                          \
    X("lowrank", 3, STN_F32, true, 1.105, 2.5e-07)                                                                     \
    X("lowrank", 3, STN_F64, false, 1.191, 5.5e-06)                                                                    \
    X("lowrank", 3, STN_F64, true, 1.051, 0)
#endif
