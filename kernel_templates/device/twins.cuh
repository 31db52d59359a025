// What the launcher takes a kernel to be, beside what the kernel is. Both are constants, so a
// difference does not compile.
#pragma once
#include "params.cuh"

// An argument struct of so many bytes, of which the last members take `values`: those in the
// kernel's arithmetic type, after a header whose members fill whole words of 8 bytes.
constexpr bool is_twin(unsigned long long bytes, unsigned long long values = 0) {
    return !EXPECTED_HEADER || bytes == (EXPECTED_HEADER + values + 7) / 8 * 8;
}
// So many bytes of dynamic shared memory; `gaps`: by which the launcher may count more, for
// alignment.
constexpr bool is_given(unsigned long long bytes, unsigned long long gaps = 0) {
    return !EXPECTED_SHARED || (bytes <= EXPECTED_SHARED && EXPECTED_SHARED <= bytes + gaps);
}
