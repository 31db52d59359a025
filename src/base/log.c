/* Formats a log message and passes it to the context's callback. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/sanitize.h"

void stn_log(const stn_logger *logger, stn_log_level level, const char *format, ...) {
    if (!logger || !logger->fn) return;
    char message[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    stn_text_sanitize(message); /* the message may quote bytes of a file */
    logger->fn(logger->user, level, message);
}
