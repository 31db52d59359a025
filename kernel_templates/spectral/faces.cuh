// The constant source next to the two faces j of an axis, as the columns of `spectral` read it:
// values at the faces' points or frequencies, and the frequencies of a unit value next to each
// face.
#pragma once
#include "device/element.cuh"
#include "params.cuh"

struct source_faces {
    const REAL *values, *unit_response;
    // Strides of values, in complex numbers: between grids, between frequencies (or points), and
    // between the two faces.
    long long grid, step, next;
};
