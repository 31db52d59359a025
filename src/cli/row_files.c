/* See row_files.h. */
#include "cli/row_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* Bytes that are read or written between two calls of poll_ranks */
#define PIECE ((size_t)64 << 20)

static void poll_ranks(const cli_rows *rows) {
    if (rows->team->ranks) (void)team_ranks_poll(rows->team->ranks);
}

/* The product of the extents of axis `from` and all later ones; twice that for complex values. */
static size_t inner_of(const cli_rows *rows, int from) {
    size_t count = rows->whole.is_complex ? 2 : 1;
    for (int axis = from; axis < rows->whole.rank; axis++) count *= rows->whole.extent[axis];
    return count;
}

/* The product of the extents of the axes before the one that is cut. */
static size_t outer_of(const cli_rows *rows) {
    size_t count = 1;
    for (int axis = 0; axis < rows->axis; axis++) count *= rows->whole.extent[axis];
    return count;
}

stn_status cli_rows_of_plan(cli_rows *rows, const stn_team_plan *plan, stn_error *error) {
    rows->first = 0, rows->rows = rows->whole.extent[rows->axis];
    return rows->team->ranks ? stn_team_plan_local(plan, stn_team_rank(rows->team), &rows->first, &rows->rows, error)
                             : STN_OK;
}

stn_status cli_rows_make(const cli_rows *rows, stn_array *array, stn_error *error) {
    const stn_array *whole = &rows->whole;
    size_t extent[STN_ARRAY_RANK];
    memcpy(extent, whole->extent, sizeof extent);
    extent[rows->axis] = rows->rows;
    return whole->is_complex ? stn_array_make_complex(whole->rank, extent, whole->dtype, array, error)
                             : stn_array_make(whole->rank, extent, whole->dtype, array, error);
}

static stn_status draw(const cli_rows *rows, uint64_t seed, stn_array *array, stn_error *error) {
    const size_t outer = outer_of(rows), inner = inner_of(rows, rows->axis + 1), each = rows->rows * inner;
    STN_TRY(cli_rows_make(rows, array, error));
    for (size_t b = 0; b < outer; b++)
        for (size_t i = 0; i < each; i++)
            stn_array_set(array, b * each + i,
                          cli_random_unit(seed, (b * rows->whole.extent[rows->axis] + rows->first) * inner + i));
    return STN_OK;
}

/* Reads `count` of this process's rows, from the one with index `at` on. */
static stn_status read_piece(const cli_rows *rows, const char *path, const stn_raw *raw, size_t at, size_t count,
                             stn_array *array, stn_error *error) {
    stn_array piece = {0};
    STN_TRY(stn_input_read_rows(path, raw, array->is_complex, array->dtype, rows->axis, rows->first + at, count, &piece,
                                error));
    const size_t outer = outer_of(rows), row = inner_of(rows, rows->axis + 1) * stn_dtype_size(array->dtype);
    const bool fits = stn_array_numbers(&piece) * stn_dtype_size(array->dtype) == outer * count * row;
    for (size_t b = 0; b < outer && fits; b++)
        memcpy((char *)array->data + (b * rows->rows + at) * row, (char *)piece.data + b * count * row, count * row);
    array->rounded += piece.rounded;
    stn_array_clear(&piece);
    return fits ? STN_OK
                : stn_fail(error, STN_ERROR_IO, "'%s' changed while it was read: is another program writing it?", path);
}

/* Works in pieces, and sends heartbeats to the other processes in between. */
stn_status cli_rows_read(const cli_rows *rows, const char *path, const stn_raw *raw, uint64_t seed, stn_array *array,
                         stn_error *error) {
    if (!path) return draw(rows, seed, array, error);
    STN_TRY(cli_rows_make(rows, array, error));
    const size_t bytes = stn_array_numbers(array) * stn_dtype_size(array->dtype), pieces = bytes / PIECE + 1,
                 each = (rows->rows + pieces - 1) / pieces;
    for (size_t at = 0; at < rows->rows; at += each) {
        STN_TRY(read_piece(rows, path, raw, at, each < rows->rows - at ? each : rows->rows - at, array, error));
        poll_ranks(rows);
    }
    return STN_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What rank 0 tells the others. */
typedef struct target {
    size_t offset; /* bytes before the values */
    char path[TEAM_SHARED - sizeof(size_t)];
} target;

/* Rank 0 creates the file, writes its header and gives it its final length. */
static stn_status begin(const cli_rows *rows, const char *path, const char *comment, stn_output *output, target *shared,
                        stn_error *error) {
    const size_t bytes = inner_of(rows, 0) * stn_dtype_size(rows->whole.dtype);
    unsigned char preamble[512];
    STN_TRY(stn_output_open(path, output, error));
    if (!output->temp || strlen(output->temp) >= sizeof shared->path) {
        stn_output_abandon(output);
        return stn_fail(error, STN_ERROR_IO, "cannot write '%s' by rows: name a file on a disk", path);
    }
    shared->offset = stn_npy_preamble(&rows->whole, comment, preamble, sizeof preamble);
    const off_t size = (off_t)(shared->offset + bytes);
    if (fwrite(preamble, 1, shared->offset, output->file) != shared->offset || fflush(output->file) ||
        ftruncate(fileno(output->file), size))
        return stn_output_fail(output, errno, error);
    memcpy(shared->path, output->temp, strlen(output->temp) + 1);
    return STN_OK;
}

static stn_status put(const cli_rows *rows, int fd, const char *path, const void *bytes, size_t size, size_t at,
                      stn_error *error) {
    for (const char *from = bytes; size; poll_ranks(rows)) {
        const ssize_t done = pwrite(fd, from, size < PIECE ? size : PIECE, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", path, strerror(errno));
        from += done, at += (size_t)done, size -= (size_t)done;
    }
    return STN_OK;
}

static stn_status write_part(const cli_rows *rows, const char *path, const target *shared, const stn_array *array,
                             stn_error *error) {
    const size_t outer = outer_of(rows), row = inner_of(rows, rows->axis + 1) * stn_dtype_size(array->dtype),
                 each = rows->rows * row;
    if (!rows->rows) return STN_OK;
    const int fd = open(shared->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return stn_fail(error, STN_ERROR_IO,
                        "cannot write rows of '%s', which rank 0 began: %s; name a folder that "
                        "all hosts share",
                        path, strerror(errno));
    stn_status status = STN_OK;
    for (size_t b = 0; b < outer && status == STN_OK; b++)
        status = put(rows, fd, path, (const char *)array->data + b * each, each,
                     shared->offset + (b * rows->whole.extent[rows->axis] + rows->first) * row, error);
    if (status == STN_OK && fsync(fd))
        status = stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", path, strerror(errno));
    close(fd);
    return status;
}

stn_status cli_rows_write(const cli_rows *rows, const char *path, const char *comment, const stn_array *array,
                          stn_error *error) {
    const stn_team *team = rows->team;
    const bool is_first = stn_team_rank(team) == 0;
    stn_output output = {0};
    target shared = {0};
    stn_status status = is_first ? begin(rows, path, comment, &output, &shared, error) : STN_OK;
    status = team_agree(team, status, 1, "a file that begins", &shared, sizeof shared, error);
    if (status == STN_OK) {
        status = is_first ? STN_OK : stn_output_join(shared.path, &output, error);
        if (status == STN_OK) status = write_part(rows, path, &shared, array, error);
        status = team_agree(team, status, 2, "a file that ends", NULL, 0, error);
    }
    if (status == STN_OK) {
        if (is_first)
            status = stn_output_commit(&output, error);
        else
            stn_output_leave(&output);
        status = team_agree(team, status, 3, "a file in its place", NULL, 0, error);
    }
    stn_output_abandon(&output);
    return status;
}
