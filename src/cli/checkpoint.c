/* See checkpoint.h. */
#include "cli/checkpoint.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "io/output_path.h"

#define MARK "stentor checkpoint: step "

const char *cli_by_rows(void) { return stn_mpi_launched(NULL) ? "by several processes" : "with --checkpoint"; }

stn_status cli_checkpoint_check_options(const char *path, uint64_t every, stn_error *error) {
    if (path && !every)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--checkpoint needs --every K, the steps between two checkpoints");
    return STN_OK;
}

stn_status cli_checkpoint_check_file(const char *path, size_t count, const char *const *others, stn_error *error) {
    for (size_t i = 0; i < count; i++)
        if (others[i] && stn_output_path_same(path, others[i]))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "--checkpoint '%s' would overwrite '%s': give it a file of its own", path, others[i]);
    return stn_output_probe(path, error);
}

void cli_checkpoint_add(cli_checkpoint *checkpoint, uint64_t bits) {
    checkpoint->hash = (checkpoint->hash ^ bits) * 0x9e3779b97f4a7c15u;
}

void cli_checkpoint_add_file(cli_checkpoint *checkpoint, const char *path) {
    struct stat about;
    if (!path || stat(path, &about)) return;
    cli_checkpoint_add(checkpoint, (uint64_t)about.st_size);
    cli_checkpoint_add(checkpoint, (uint64_t)about.st_mtim.tv_sec);
    cli_checkpoint_add(checkpoint, (uint64_t)about.st_mtim.tv_nsec);
}

stn_status cli_checkpoint_find(cli_checkpoint *checkpoint, stn_error *error) {
    char start[1024] = "";
    unsigned long long steps = 0, hash = 0;
    FILE *file = checkpoint->path ? fopen(checkpoint->path, "rbe") : NULL;
    checkpoint->begun = 0;
    if (!file) return STN_OK;
    const size_t size = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    const char *mark = memmem(start, size, MARK, strlen(MARK));
    if (!mark || sscanf(mark + strlen(MARK), "%llu of problem %llx", &steps, &hash) != 2)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "--checkpoint '%s' exists and is not a checkpoint: name another file, or remove it",
                        checkpoint->path);
    if (hash != checkpoint->hash || steps > checkpoint->steps || steps % checkpoint->every)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the checkpoint '%s' is of another problem, or of other files: name another file, or remove it",
                        checkpoint->path);
    checkpoint->begun = steps;
    return STN_OK;
}

stn_status cli_checkpoint_write(const cli_checkpoint *checkpoint, uint64_t steps, const cli_rows *rows,
                                const stn_array *state, stn_error *error) {
    char comment[120];
    snprintf(comment, sizeof comment, MARK "%llu of problem %016llx", (unsigned long long)steps,
             (unsigned long long)checkpoint->hash);
    return cli_rows_write(rows, checkpoint->path, comment, state, error);
}

void cli_checkpoint_remove(const cli_checkpoint *checkpoint, const stn_team *team, bool has_output) {
    if (checkpoint->path && has_output && !stn_team_rank(team)) (void)unlink(checkpoint->path);
}
