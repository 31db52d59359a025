/* See output.h: atomic file output by a temporary file, fsync and rename. */
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "io/output_path.h"

/* Temporary files that a signal handler must remove. Only the command's one thread opens outputs;
 * pointers are written atomically. */
#define SLOTS 1024 /* enough for the pictures of a run's snapshots */
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
        /* ignored signals stay ignored (nohup) */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* past a file size limit, write fails and is reported */
}

static void clear_output(stn_output *output) {
    if (output->slot >= 0 && output->slot < SLOTS && unfinished[output->slot] == output->temp)
        unfinished[output->slot] = NULL;
    free(output->temp);
    free(output->path);
    free(output->name);
    memset(output, 0, sizeof *output);
}

/* Creates the temporary file in the output's folder, under a short name, from the start with the
 * permissions of the file that it replaces. */
static stn_status open_temp(stn_output *output, int *fd, stn_error *error) {
    int folder = (int)(strrchr(output->path, '/') - output->path);
    size_t size = (size_t)folder + 32;
    output->temp = malloc(size);
    if (!output->temp) return stn_fail_memory(error, "a file name", size);
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random) random = (unsigned)getpid() + (unsigned)attempt;
        snprintf(output->temp, size, "%.*s/.stentor.%08x.tmp", folder, output->path, random);
        *fd =
            open(output->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, output->replaces ? output->mode & 0777 : 0666);
        if (*fd >= 0) return STN_OK;
        if (errno != EEXIST) break;
    }
    free(output->temp);
    output->temp = NULL;
    return stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s in folder '%.*s'; name a place that can be written",
                    output->name, strerror(errno), folder ? folder : 1, output->path);
}

/* Duplicates the stream's descriptor, which shares its file position. */
static stn_status open_stream(const char *name, int stream, int *fd, stn_error *error) {
    int flags = fcntl(stream, F_GETFL);
    bool readable_only = flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
    *fd = flags < 0 || readable_only ? -1 : fcntl(stream, F_DUPFD_CLOEXEC, 0);
    if (*fd >= 0) return STN_OK;
    return stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", name,
                    readable_only ? "it is open for reading only" : strerror(errno));
}

/* Checks whether an existing file may be written or replaced. Devices and pipes are opened, never
 * replaced. */
static stn_status open_existing(stn_output *output, const struct stat *existing, int *fd, stn_error *error) {
    const char *name = output->name;
    if (S_ISDIR(existing->st_mode))
        return stn_fail(error, STN_ERROR_IO, "cannot write '%s': it is a folder; name a file in it", name);
    if (access(output->path, W_OK) != 0)
        return stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s; name another file", name, strerror(errno));
    output->replaces = true;
    output->mode = existing->st_mode & 07777;
    if (S_ISREG(existing->st_mode)) {
        const char *obstacle = stn_output_path_obstacle(output->path, existing);
        return !obstacle ? STN_OK
                         : stn_fail(error, STN_ERROR_IO,
                                    "cannot write '%s': a whole file cannot take its place, since %s; name another",
                                    name, obstacle);
    }
    *fd = open(output->path, O_WRONLY | O_CLOEXEC);
    return *fd >= 0 ? STN_OK : stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", name, strerror(errno));
}

static int standard_output = STDOUT_FILENO; /* changed by stn_output_reserve_stdout */

stn_status stn_output_reserve_stdout(stn_error *error) {
    if (isatty(STDOUT_FILENO))
        return stn_fail(error, STN_ERROR_IO,
                        "'-' is the standard output, which is a terminal here: pipe it on, or name a file");
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        int why = errno;
        if (kept >= 0) close(kept);
        return stn_fail(error, STN_ERROR_IO, "cannot write to the standard output: %s", strerror(why));
    }
    standard_output = kept;
    return STN_OK;
}

static stn_status open_file(stn_output *output, int *fd, stn_error *error) {
    struct stat existing;
    stn_output_path place;
    if (!strcmp(output->name, "-")) return open_stream("-", standard_output, fd, error);
    STN_TRY(stn_output_path_resolve(output->name, &place, error));
    output->path = place.path;
    if (place.stream >= 0) return open_stream(output->name, place.stream, fd, error);
    if (stat(output->path, &existing) == 0) STN_TRY(open_existing(output, &existing, fd, error));
    return *fd >= 0 ? STN_OK : open_temp(output, fd, error);
}

static void list_unfinished(stn_output *output) {
    for (int slot = 0; output->temp && slot < SLOTS && output->slot < 0; slot++)
        if (!unfinished[slot]) unfinished[output->slot = slot] = output->temp;
}

stn_status stn_output_join(const char *temp, stn_output *output, stn_error *error) {
    *output = (stn_output){.name = strdup(temp), .temp = strdup(temp), .slot = -1};
    if (!output->name || !output->temp) {
        clear_output(output);
        return stn_fail_memory(error, "a file name", strlen(temp));
    }
    list_unfinished(output);
    return STN_OK;
}

void stn_output_leave(stn_output *output) { clear_output(output); }

stn_status stn_output_open(const char *path, stn_output *output, stn_error *error) {
    int fd = -1;
    stn_status status;
    memset(output, 0, sizeof *output);
    output->slot = -1;
    if (!path) path = "";
    output->name = strdup(path);
    if (!output->name) return stn_fail_memory(error, "a file name", strlen(path));
    STN_TRY_GOTO(status, open_file(output, &fd, error), fail);
    list_unfinished(output);
    output->file = fdopen(fd, "wb");
    if (!output->file) {
        status = stn_fail_memory(error, "a file buffer", BUFSIZ);
        goto fail;
    }
    return STN_OK;
fail:
    if (fd >= 0) close(fd);
    if (output->temp) unlink(output->temp);
    clear_output(output);
    return status;
}

/* Syncs the folder, which makes the rename durable; failures are ignored. */
static void sync_folder(const char *path) {
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

stn_status stn_output_fail(stn_output *output, int why, stn_error *error) {
    stn_status status = stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s%s", output->name, strerror(why),
                                 output->temp ? "; what was there before is untouched" : "");
    stn_output_abandon(output);
    return status;
}

stn_status stn_output_finish(stn_output *output, stn_error *error) {
    FILE *file = output->file;
    bool bad = fflush(file) != 0 || ferror(file);
    if (output->temp && !bad) {
        if (output->replaces) (void)!fchmod(fileno(file), output->mode);
        bad = fsync(fileno(file)) != 0;
    }
    int why = errno;
    output->file = NULL;
    if (fclose(file) != 0 && !bad) {
        bad = true;
        why = errno;
    }
    return bad ? stn_output_fail(output, why, error) : STN_OK;
}

stn_status stn_output_commit(stn_output *output, stn_error *error) {
    if (!output->name) return STN_OK;
    if (output->file) STN_TRY(stn_output_finish(output, error));
    if (output->temp && rename(output->temp, output->path) != 0) return stn_output_fail(output, errno, error);
    if (output->temp) sync_folder(output->path);
    clear_output(output);
    return STN_OK;
}

void stn_output_abandon(stn_output *output) {
    if (!output->name) return;
    if (output->file) fclose(output->file);
    if (output->temp) unlink(output->temp);
    clear_output(output);
}

stn_status stn_output_probe(const char *path, stn_error *error) {
    struct stat existing;
    /* opening it would wait for a reader */
    if (path && stat(path, &existing) == 0 && S_ISFIFO(existing.st_mode)) return STN_OK;
    stn_output output;
    STN_TRY(stn_output_open(path, &output, error));
    stn_output_abandon(&output);
    return STN_OK;
}

stn_status stn_output_write(const char *path, const void *bytes, size_t size, stn_error *error) {
    stn_output output;
    STN_TRY(stn_output_open(path, &output, error));
    if (size) fwrite(bytes, 1, size, output.file); /* commit checks the stream's error flag */
    return stn_output_commit(&output, error);
}
