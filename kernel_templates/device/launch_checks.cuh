// Compile-time checks that a kernel agrees with its launcher on the sizes of the argument struct
// and of shared memory.
#pragma once
#include "params.cuh"

// Whether the argument struct has the launcher's size: a header padded to words of 8 bytes, and
// `values` bytes of members in the kernel's arithmetic type.
constexpr bool layout_matches(unsigned long long bytes, unsigned long long values = 0) {
    return !EXPECTED_HEADER || bytes == (EXPECTED_HEADER + values + 7) / 8 * 8;
}
// Whether the kernel's dynamic shared memory matches the launcher's size. The launcher may count up
// to `gaps` bytes more, for alignment.
constexpr bool shared_bytes_match(unsigned long long bytes, unsigned long long gaps = 0) {
    return !EXPECTED_SHARED || (bytes <= EXPECTED_SHARED && EXPECTED_SHARED <= bytes + gaps);
}
