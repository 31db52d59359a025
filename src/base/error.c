/* Statuses, and the error message of a failed call. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/sanitize.h"

#undef stn_fail /* error.h defines these macros for the static analyzer only */
#undef stn_fail_memory

const char *stn_status_string(stn_status status) {
    switch (status) {
#define STN_STATUS_CASE(name, exit_code, text)                                                                         \
    case name:                                                                                                         \
        return text;
        STN_STATUS_LIST(STN_STATUS_CASE)
#undef STN_STATUS_CASE
    }
    return "unknown status";
}

int stn_status_exit_code(stn_status status) {
    switch (status) {
#define STN_STATUS_CASE(name, exit_code, text)                                                                         \
    case name:                                                                                                         \
        return exit_code;
        STN_STATUS_LIST(STN_STATUS_CASE)
#undef STN_STATUS_CASE
    }
    return 11;
}

stn_status stn_fail(stn_error *error, stn_status status, const char *format, ...) {
    if (!error) return status;
    /* the arguments may point into the previous message */
    char message[sizeof error->message] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    stn_text_sanitize(message); /* the message may quote bytes of a file */
    error->status = status;
    memcpy(error->message, message, strlen(message) + 1);
    return status;
}

stn_status stn_fail_memory(stn_error *error, const char *what, size_t bytes) {
    return stn_fail(error, STN_ERROR_OUT_OF_MEMORY,
                    "%s needs %zu bytes and there is not that much memory free: use a smaller problem", what, bytes);
}
