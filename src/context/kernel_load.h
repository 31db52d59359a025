/* From machine code, or PTX, to a module on the device: at once, or later. */
#ifndef STN_CONTEXT_KERNEL_LOAD_H
#define STN_CONTEXT_KERNEL_LOAD_H
#include "cache/cache.h"
#include "context/kernel_value.h"

/* kernel has the entry's PTX and cubin; `from` the rest. Nothing on an absent GPU. */
stn_status stn_kernel_load(stn_context *context, const stn_entry *from, stn_kernel *kernel, stn_error *error);
/* Keeps of an entry what loading later needs. */
stn_status stn_kernel_put_off(const stn_entry *entry, stn_kernel *kernel, stn_error *error);
/* Loads what was put off, if it was. From any thread. */
stn_status stn_kernel_load_later(stn_context *context, stn_kernel *kernel, stn_error *error);
#endif
