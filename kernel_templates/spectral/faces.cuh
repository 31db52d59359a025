// A constant source beside faces, as the columns of `spectral` read it: of the two faces j of an
// axis, numbers of their points or of their frequencies, and the frequencies of a single one beside
// each.
#pragma once
#include "device/element.cuh"
#include "params.cuh"

struct source_faces {
    const REAL *values, *place;
    long long grid, step,
        next;  // of values: complex numbers from grid to grid, frequency (or point) to frequency, face to face
};
