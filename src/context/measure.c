/* The copy bandwidth, measured once per GPU and driver and remembered in the cache folder:
 * machines/GPU-0123...-driver-13000.txt, one line "copy_bandwidth 4.26e12". */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "context/context.h"

static const char label[] = "copy_bandwidth ";

/* The file's name; false where nothing can be remembered. */
static bool file_name(const stn_context *context, char path[PATH_MAX]) {
    const char *folder = stn_cache_dir(context->cache);
    return context->device && folder &&
           snprintf(path, PATH_MAX, "%s/machines/%s-driver-%d.txt", folder, stn_device_uuid(context->device),
                    stn_driver_version(context->driver)) < PATH_MAX;
}

void stn_context_recall_measured(stn_context *context) {
    char path[PATH_MAX], line[128];
    if (!file_name(context, path)) return;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return;
    ssize_t size = read(file, line, sizeof line - 1);
    close(file);
    if (size < (ssize_t)sizeof label) return;
    line[size] = '\0';
    double value;
    const char *number = line + sizeof label - 1;
    if (strncmp(line, label, sizeof label - 1) || !stn_number_parse(number, strcspn(number, "\n"), &value)) return;
    if (value < 1e9 || value > 1e15) return; /* not a GPU's memory: measure again */
    context->machine.copy_bandwidth = value;
    context->machine.measured = true;
}

/* Temporary file and rename, as everything in the cache folder. */
static bool write_line(const char *path, const char *line) {
    char temporary[PATH_MAX + 16];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int file = mkstemp(temporary);
    if (file < 0) return false;
    bool written = write(file, line, strlen(line)) == (ssize_t)strlen(line);
    written = !close(file) && written && !rename(temporary, path);
    if (!written) unlink(temporary);
    return written;
}

/* Best effort: without it the next process that asks measures again. */
static void remember(const stn_context *context) {
    char path[PATH_MAX], line[128], digits[STN_NUMBER_SIZE];
    if (!file_name(context, path)) return;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool there = !mkdir(path, 0700) || errno == EEXIST;
        *slash = '/';
        if (!there) break; /* opening the file will say why */
    }
    stn_number_format(context->machine.copy_bandwidth, digits);
    snprintf(line, sizeof line, "%s%s\n", label, digits);
    if (!write_line(path, line))
        stn_log(&context->logger, STN_LOG_WARNING, "the measured copy bandwidth could not be written to %s: %s", path,
                strerror(errno));
}

stn_status stn_context_measure(stn_context *context, stn_error *error) {
    stn_status status = STN_OK;
    pthread_mutex_lock(&context->lock);
    if (context->device && !context->machine.measured) {
        double bandwidth;
        status = stn_device_measure_copy(context->device, &bandwidth, error);
        if (status == STN_OK) {
            context->machine.copy_bandwidth = bandwidth;
            context->machine.measured = true;
            remember(context);
        }
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}
