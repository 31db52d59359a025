/* By how many bytes the stages of a kernel begin late, so that copies into them are answered by
 * whole sectors: late() of kernel_templates/device/element.cuh, for the launcher. */
#ifndef STN_STRATEGIES_COMMON_LATE_H
#define STN_STRATEGIES_COMMON_LATE_H
#include <stddef.h>
#include <stdint.h>

/* lead: elements, of so many bytes, that a line of a stage has before the first whole line of
 * memory. */
static inline size_t stn_late_bytes(int64_t lead, size_t element) { return (size_t)lead * element % 32 ? 16 : 0; }
#endif
