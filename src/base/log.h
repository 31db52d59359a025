/* Logging: the library's only output is the log callback of the context. */
#ifndef STN_BASE_LOG_H
#define STN_BASE_LOG_H
#include "stentor.h"

typedef struct stn_logger {
    stn_log_fn fn; /* NULL: silence */
    void *user;
} stn_logger;

__attribute__((format(printf, 3, 4))) void stn_log(const stn_logger *logger, stn_log_level level, const char *format,
                                                   ...);
#endif
