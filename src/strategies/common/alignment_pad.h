/* Leading pad, in bytes, that aligns asynchronous copies into a kernel's stages to sectors: the
 * host's counterpart of late() in kernel_templates/device/element.cuh. */
#ifndef STN_STRATEGIES_COMMON_ALIGNMENT_PAD_H
#define STN_STRATEGIES_COMMON_ALIGNMENT_PAD_H
#include <stddef.h>
#include <stdint.h>

/* lead: the number of elements of a stage's line before its first whole memory line. element: bytes
 * of an element. */
static inline size_t stn_alignment_pad_bytes(int64_t lead, size_t element) {
    return (size_t)lead * element % 32 ? 16 : 0;
}
#endif
