// Emulated driver: memory, and copies in streams.
#include "emulated_driver.h"

using namespace stn_emulator;

// ---- memory

static void *host(CUdeviceptr p) { return reinterpret_cast<void *>(p); }

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    IN_CONTEXT(CUDA_ERROR_OUT_OF_MEMORY);
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult r = check_not_capturing()) return r;
    void *p = memory_alloc(bytes, current_context()->device);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = reinterpret_cast<CUdeviceptr>(p);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
    INITIALIZED(CUDA_ERROR_INVALID_VALUE);
    CUresult context = check_context();  // A context with a sticky error still frees memory.
    if (context == CUDA_ERROR_INVALID_CONTEXT) return context;
    if (CUresult r = check_not_capturing()) return r;
    finish_all();
    if (pointer == 0) return context;
    return memory_free(host(pointer)) ? context : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    IN_CONTEXT(CUDA_ERROR_UNKNOWN);
    uint64_t f, t;
    memory_info(&f, &t);
    if (free) *free = f;
    if (total) *total = t;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr pointer) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    void *start;
    size_t bytes;
    if (!data || !memory_starts(host(pointer), &start, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case 2:
            *static_cast<unsigned *>(data) = 2;  // device memory
            return CUDA_SUCCESS;
        case 3:
            *static_cast<CUdeviceptr *>(data) = pointer;
            return CUDA_SUCCESS;
        case 8:  // not managed memory
            *static_cast<int *>(data) = 0;
            return CUDA_SUCCESS;
        case 9:
            *static_cast<int *>(data) = memory_device(start);
            return CUDA_SUCCESS;
        case 11:
            *static_cast<void **>(data) = start;
            return CUDA_SUCCESS;
        case 12:
            *static_cast<size_t *>(data) = bytes;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

// ---- copies

static CUresult copy(CUstream stream, void *to, const void *from, size_t bytes, bool to_device, bool from_device) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
    if ((to_device && !memory_holds(to, bytes)) || (from_device && !memory_holds(from, bytes)))
        return CUDA_ERROR_INVALID_VALUE;
    Operation o = {};
    o.kind = Operation::COPY;
    o.to = to;
    o.from = from;
    o.bytes = bytes;
    return submit(stream, o);
}

// A synchronous copy: runs in the legacy stream, and is refused during any capture.
static CUresult copy_now(void *to, const void *from, size_t bytes, bool to_device, bool from_device) {
    if (CUresult r = check_not_capturing()) return r;
    return copy(nullptr, to, from, bytes, to_device, from_device);
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    return copy_now(host(to), from, bytes, true, false);
}
EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    return copy_now(to, host(from), bytes, false, true);
}
EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    return copy_now(host(to), host(from), bytes, true, true);
}
EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    return copy(stream, host(to), from, bytes, true, false);
}
EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    return copy(stream, to, host(from), bytes, false, true);
}
EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    return copy(stream, host(to), host(from), bytes, true, true);
}
EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                  size_t bytes, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    if (!to_context || !from_context) return CUDA_ERROR_INVALID_CONTEXT;
    return copy(stream, host(to), host(from), bytes, true, true);
}
struct CopySide {  // as in CUDA_MEMCPY3D_PEER
    size_t x, y, z, level;
    unsigned memory_type;
    const void *host;
    CUdeviceptr device;
    void *array;
    CUcontext context;
    size_t pitch, height;
};
struct PeerCopy {
    CopySide from, to;
    size_t width, height, depth;
};
// Rows in device memory; offsets, arrays and planes are not emulated.
EXPORT CUresult cuMemcpy3DPeerAsync(const PeerCopy *c, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    for (const CopySide *side : {&c->from, &c->to}) {
        if (!side->context) return CUDA_ERROR_INVALID_CONTEXT;
        if (side->memory_type != 2 || side->x || side->y || side->z || side->level || side->array ||
            side->pitch < c->width || side->pitch > 0x7fffffff || side->height < c->height)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (c->depth != 1) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < c->height; i++)
        if (CUresult r = copy(stream, host(c->to.device + i * c->to.pitch), host(c->from.device + i * c->from.pitch),
                              c->width, true, true))
            return r;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    // Either side may be host memory; a range that begins in device memory must be inside one
    // allocation.
    return copy(stream, host(to), host(from), bytes, memory_holds(host(to), 1), memory_holds(host(from), 1));
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    if (bytes == 0) return CUDA_SUCCESS;
    if (!memory_holds(host(to), bytes)) return CUDA_ERROR_INVALID_VALUE;
    Operation o = {};
    o.kind = Operation::FILL;
    o.to = host(to);
    o.bytes = bytes;
    o.value = value;
    return submit(stream, o);
}
