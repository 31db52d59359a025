// The functions that g++ -fsanitize=thread calls at each access of a kernel; they pass it to the
// engine. Linked to the kernel, and compiled without that option.
#include <link.h>

#include "engine.h"

namespace stn_emulator {
extern const Engine *engine;
}
using stn_emulator::engine;

// Static shared memory is the library's thread-local storage: its location is reported to the
// engine in each thread.
static thread_local char anchor;
struct Own {
    const unsigned char *from;
    unsigned bytes;
};
static int find_own(dl_phdr_info *info, size_t, void *data) {
    Own *own = static_cast<Own *>(data);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto *at = static_cast<const char *>(info->dlpi_tls_data);
        const size_t bytes = info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_TLS || !at || &anchor < at || &anchor >= at + bytes) continue;
        *own = {reinterpret_cast<const unsigned char *>(at), static_cast<unsigned>(bytes)};
        return 1;
    }
    return 0;
}

extern "C" {
void __tsan_init() {}
void __tsan_func_exit() {}
void __tsan_func_entry(void *) {
    static thread_local Own own;
    if (!engine) return;  // The library is being opened.
    if (!own.bytes) {
        anchor = 1;
        dl_iterate_phdr(find_own, &own);
    }
    engine->statics(own.from, own.bytes);
}
#define ACCESS(name, bytes, writes)                                                                                    \
    void __tsan_##name(void *p) {                                                                                      \
        if (engine) engine->touch(p, bytes, writes, __builtin_return_address(0));                                      \
    }
#define SIZE(bytes)                                                                                                    \
    ACCESS(read##bytes, bytes, 0)                                                                                      \
    ACCESS(write##bytes, bytes, 1)                                                                                     \
    ACCESS(unaligned_read##bytes, bytes, 0)                                                                            \
    ACCESS(unaligned_write##bytes, bytes, 1)                                                                           \
    ACCESS(volatile_read##bytes, bytes, 0)                                                                             \
    ACCESS(volatile_write##bytes, bytes, 1)
SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
void __tsan_read_range(void *p, unsigned long bytes) {
    engine->touch(p, static_cast<unsigned>(bytes), 0, __builtin_return_address(0));
}
void __tsan_write_range(void *p, unsigned long bytes) {
    engine->touch(p, static_cast<unsigned>(bytes), 1, __builtin_return_address(0));
}
// Atomics do not race with each other, and impose no order here.
#define FETCH(bits, T, name)                                                                                           \
    T __tsan_atomic##bits##_fetch_##name(volatile void *p, T v, int) {                                                 \
        return __atomic_fetch_##name(static_cast<volatile T *>(p), v, __ATOMIC_SEQ_CST);                               \
    }
#define ATOMICS(bits, T)                                                                                               \
    FETCH(bits, T, add)                                                                                                \
    FETCH(bits, T, sub)                                                                                                \
    FETCH(bits, T, or)                                                                                                 \
    FETCH(bits, T, and)                                                                                                \
    FETCH(bits, T, xor)                                                                                                \
    T __tsan_atomic##bits##_load(const volatile void *p, int) {                                                        \
        return __atomic_load_n(static_cast<const volatile T *>(p), __ATOMIC_SEQ_CST);                                  \
    }                                                                                                                  \
    T __tsan_atomic##bits##_exchange(volatile void *p, T v, int) {                                                     \
        return __atomic_exchange_n(static_cast<volatile T *>(p), v, __ATOMIC_SEQ_CST);                                 \
    }                                                                                                                  \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile void *p, void *seen, T v, int, int) {                  \
        return __atomic_compare_exchange_n(static_cast<volatile T *>(p), static_cast<T *>(seen), v, false,             \
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                        \
    }
ATOMICS(32, unsigned)
ATOMICS(64, unsigned long long)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
}
