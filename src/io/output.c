/* Temp file, fsync, rename. */
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* What a signal must remove. Only the command's one thread opens outputs; a slot's pointer is written whole. */
#define SLOTS 16
static char *volatile unfinished[SLOTS];

static void remove_unfinished(int number) {
    for (int slot = 0; slot < SLOTS; slot++)
        if (unfinished[slot]) unlink(unfinished[slot]);
    signal(number, SIG_DFL);
    raise(number);
}

void stn_output_catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old, action = {.sa_handler = remove_unfinished};
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* past a limit on file sizes writing fails, and says so */
}

static void forget(stn_output *output) {
    if (output->slot >= 0 && output->slot < SLOTS && unfinished[output->slot] == output->temp)
        unfinished[output->slot] = NULL;
    free(output->temp);
    free(output->path);
    memset(output, 0, sizeof *output);
}

/* The path itself, or what its symbolic links lead to; the file need not exist. */
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

static stn_status open_temp(stn_output *output, int *fd, stn_error *error) {
    size_t size = strlen(output->path) + 32;
    char *folder = strdup(output->path), *name = strdup(output->path), *temp = malloc(size);
    stn_status status = STN_OK;
    if (!folder || !name || !temp) {
        status = stn_fail_memory(error, "a file name", size);
        goto done;
    }
    const char *in = dirname(folder), *file = basename(name);
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random) random = (unsigned)getpid() + (unsigned)attempt;
        snprintf(temp, size, "%s/.%s.%08x.tmp", in, file, random);
        *fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*fd >= 0 || errno != EEXIST) break;
    }
    if (*fd < 0) {
        status = stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s in folder '%s'; name a place that can be written",
                          output->path, strerror(errno), in);
        goto done;
    }
    output->temp = temp;
    temp = NULL;
done:
    free(folder);
    free(name);
    free(temp);
    return status;
}

stn_status stn_output_open(const char *path, stn_output *output, stn_error *error) {
    memset(output, 0, sizeof *output);
    output->slot = -1;
    if (!path || !*path) return stn_fail(error, STN_ERROR_IO, "an output needs a file name: this one is empty");
    output->path = resolve(path);
    if (!output->path) return stn_fail_memory(error, "a file name", strlen(path));
    int fd = -1;
    stn_status status = STN_OK;
    struct stat there;
    if (stat(output->path, &there) == 0) {
        if (S_ISDIR(there.st_mode)) {
            status = stn_fail(error, STN_ERROR_IO, "cannot write '%s': it is a folder; name a file in it", path);
            goto fail;
        }
        if (access(output->path, W_OK) != 0) {
            status = stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s; name another file", path, strerror(errno));
            goto fail;
        }
        output->mode = there.st_mode & 07777;
        if (!S_ISREG(there.st_mode)) { /* /dev/null and pipes are never renamed over */
            fd = open(output->path, O_WRONLY | O_CLOEXEC);
            if (fd < 0) {
                status = stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", path, strerror(errno));
                goto fail;
            }
        }
    }
    if (fd < 0) STN_TRY_GOTO(status, open_temp(output, &fd, error), fail);
    for (int slot = 0; output->temp && slot < SLOTS && output->slot < 0; slot++)
        if (!unfinished[slot]) unfinished[output->slot = slot] = output->temp;
    output->file = fdopen(fd, "wb");
    if (!output->file) {
        status = stn_fail_memory(error, "a file buffer", BUFSIZ);
        goto fail;
    }
    return STN_OK;
fail:
    if (fd >= 0) close(fd);
    if (output->temp) unlink(output->temp);
    forget(output);
    return status;
}

/* The rename is durable once its folder is synced; file systems that refuse that are left alone. */
static void sync_folder(const char *path) {
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

static stn_status fail_write(stn_output *output, int why, stn_error *error) {
    stn_status status = stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s; what was there before is untouched",
                                 output->path, strerror(why));
    stn_output_abandon(output);
    return status;
}

stn_status stn_output_finish(stn_output *output, stn_error *error) {
    FILE *file = output->file;
    bool bad = fflush(file) != 0 || ferror(file);
    if (output->temp && !bad) {
        if (output->mode) (void)!fchmod(fileno(file), output->mode);
        bad = fsync(fileno(file)) != 0;
    }
    int why = errno;
    output->file = NULL;
    if (fclose(file) != 0 && !bad) {
        bad = true;
        why = errno;
    }
    return bad ? fail_write(output, why, error) : STN_OK;
}

stn_status stn_output_commit(stn_output *output, stn_error *error) {
    if (!output->path) return STN_OK;
    if (output->file) STN_TRY(stn_output_finish(output, error));
    if (output->temp && rename(output->temp, output->path) != 0) return fail_write(output, errno, error);
    if (output->temp) sync_folder(output->path);
    forget(output);
    return STN_OK;
}

void stn_output_abandon(stn_output *output) {
    if (!output->path) return;
    if (output->file) fclose(output->file);
    if (output->temp) unlink(output->temp);
    forget(output);
}

stn_status stn_output_probe(const char *path, stn_error *error) {
    struct stat there;
    if (path && stat(path, &there) == 0 && S_ISFIFO(there.st_mode)) return STN_OK; /* opening would wait for a reader */
    stn_output output;
    STN_TRY(stn_output_open(path, &output, error));
    stn_output_abandon(&output);
    return STN_OK;
}

stn_status stn_output_write(const char *path, const void *bytes, size_t size, stn_error *error) {
    stn_output output;
    STN_TRY(stn_output_open(path, &output, error));
    if (size) fwrite(bytes, 1, size, output.file); /* commit looks at the stream's error */
    return stn_output_commit(&output, error);
}
