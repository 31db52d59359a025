/* Error handling: a failed call returns a status and writes a message into the caller's
 * stn_error. */
#ifndef STN_BASE_ERROR_H
#define STN_BASE_ERROR_H
#include <stdarg.h>

#include "stentor.h"

/* Writes the message (truncated to fit, always terminated, control characters other than line ends
 * and tabs replaced) and returns `status`, so that callers can write `return stn_fail(...)`. error
 * may be NULL. The arguments may point into error->message, to quote one message in another. */
__attribute__((format(printf, 3, 4))) stn_status stn_fail(stn_error *error, stn_status status, const char *format, ...);

/* The same for a failed allocation of `bytes` bytes for `what`. */
stn_status stn_fail_memory(stn_error *error, const char *what, size_t bytes);

/* The analyzer sees one file at a time. These macros show it that stn_fail never returns STN_OK. */
#ifdef __clang_analyzer__
#define stn_fail(error, status, ...) ((void)(stn_fail)(error, status, __VA_ARGS__), (status))
#define stn_fail_memory(error, what, bytes) ((void)(stn_fail_memory)(error, what, bytes), STN_ERROR_OUT_OF_MEMORY)
#endif

/* Returns the status of `call` from the calling function if the call failed. */
#define STN_TRY(call)                                                                                                  \
    do {                                                                                                               \
        stn_status stn_try_status_ = (call);                                                                           \
        if (stn_try_status_ != STN_OK) return stn_try_status_;                                                         \
    } while (0)

/* Jumps to `label` with `status` set if the call failed: for functions with one clean-up exit. */
#define STN_TRY_GOTO(status, call, label)                                                                              \
    do {                                                                                                               \
        (status) = (call);                                                                                             \
        if ((status) != STN_OK) goto label;                                                                            \
    } while (0)
#endif
