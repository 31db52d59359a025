/* How a failure travels: a status up the call chain, its story into the caller's stn_error. */
#ifndef STN_BASE_ERROR_H
#define STN_BASE_ERROR_H
#include <stdarg.h>

#include "stentor.h"

/* Writes the story (cut to fit, always terminated, without control characters but line ends and
 * tabs) and gives back the status, so that callers can `return stn_fail(...)`. error may be NULL;
 * arguments may point into error->message, to put one story into another. */
__attribute__((format(printf, 3, 4))) stn_status stn_fail(stn_error *error, stn_status status, const char *format, ...);

/* The sentence for a failed allocation of `bytes` for `what`. */
stn_status stn_fail_memory(stn_error *error, const char *what, size_t bytes);

#ifdef __clang_analyzer__ /* sees one file at a time: show it that a failure is never STN_OK */
#define stn_fail(error, status, ...) ((void)(stn_fail)(error, status, __VA_ARGS__), (status))
#define stn_fail_memory(error, what, bytes) ((void)(stn_fail_memory)(error, what, bytes), STN_ERROR_OUT_OF_MEMORY)
#endif

/* Returns from the calling function with the status of a call that failed. */
#define STN_TRY(call)                                                                                                  \
    do {                                                                                                               \
        stn_status stn_try_status_ = (call);                                                                           \
        if (stn_try_status_ != STN_OK) return stn_try_status_;                                                         \
    } while (0)

/* Jumps to `label` with `status` set when a call failed: for functions with one clean-up exit. */
#define STN_TRY_GOTO(status, call, label)                                                                              \
    do {                                                                                                               \
        (status) = (call);                                                                                             \
        if ((status) != STN_OK) goto label;                                                                            \
    } while (0)
#endif
