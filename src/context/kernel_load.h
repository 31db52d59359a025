/* Loading machine code or PTX as a module on the device: at once, or later. */
#ifndef STN_CONTEXT_KERNEL_LOAD_H
#define STN_CONTEXT_KERNEL_LOAD_H
#include "cache/cache.h"
#include "context/kernel_value.h"

/* kernel holds the PTX and the cubin of the entry `from`. Does nothing without a present GPU. */
stn_status stn_kernel_load(stn_context *context, const stn_entry *from, stn_kernel *kernel, stn_error *error);
/* Keeps the parts of an entry that loading it later needs. */
stn_status stn_kernel_defer_load(const stn_entry *entry, stn_kernel *kernel, stn_error *error);
/* Loads a kernel that was put off; any thread may call it. */
stn_status stn_kernel_load_deferred(stn_context *context, stn_kernel *kernel, stn_error *error);
#endif
