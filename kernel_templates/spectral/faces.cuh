// The constant source at the two faces of an axis, as the kernels of columns read it.
#pragma once
#include "device/element.cuh"
#include "params.cuh"

struct source_faces {
    const REAL *values;         // at the faces' points or frequencies
    const REAL *unit_response;  // spectrum of a unit value next to each face
    // Strides of `values` in complex numbers: between grids; frequencies, or points; the two faces.
    long long grid, frequency_stride, face_stride;
};
