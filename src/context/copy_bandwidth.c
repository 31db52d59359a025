/* The copy bandwidth, measured once per GPU and driver and stored in the cache folder:
 * machines/GPU-0123...-driver-13000.txt, one line "copy_bandwidth 4.26e12". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cache/atomic_file.h"
#include "context/context.h"

static const char folder_name[] = "machines", label[] = "copy_bandwidth ";
enum { NAME = 128 };

/* The file's name; false where nothing can be stored. */
static bool file_name(const stn_context *context, char name[NAME]) {
    return context->device && context->cache->folder.path &&
           snprintf(name, NAME, "%s-driver-%d.txt", stn_device_uuid(context->device),
                    stn_driver_version(context->driver)) < NAME;
}

void stn_context_recall_bandwidth(stn_context *context) {
    stn_folder *folder = &context->cache->folder;
    char name[NAME], *line = NULL;
    struct stat seen;
    if (!file_name(context, name)) return;
    const int dir = stn_folder_open_at(folder, folder_name, false);
    if (dir < 0) return;
    const stn_status status = stn_file_read(folder, dir, name, sizeof label, NAME, false, &line, &seen, NULL);
    close(dir);
    if (status != STN_OK) return;
    double value;
    const char *number = line + sizeof label - 1;
    const bool known =
        !strncmp(line, label, sizeof label - 1) && stn_number_parse(number, strcspn(number, "\n"), &value);
    free(line);
    if (!known || value < 1e9 || value > 1e15) return; /* no GPU's bandwidth: measure again */
    context->machine.copy_bandwidth = value;
    context->machine.measured = true;
}

/* Best effort: without the file, the next process measures again. */
static void remember(const stn_context *context) {
    char name[NAME], line[NAME], digits[STN_NUMBER_SIZE];
    if (!file_name(context, name)) return;
    stn_number_format(context->machine.copy_bandwidth, digits);
    snprintf(line, sizeof line, "%s%s\n", label, digits);
    if (!stn_file_store(&context->cache->folder, folder_name, name, line, strlen(line), false))
        stn_log(&context->logger, STN_LOG_WARNING, "the measured copy bandwidth could not be written to %s/%s/%s: %s",
                context->cache->folder.path, folder_name, name, strerror(errno));
}

stn_status stn_context_measure_bandwidth(stn_context *context, stn_error *error) {
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
