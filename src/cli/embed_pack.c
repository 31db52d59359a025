/* Writes the pack of generic kernels that the library contains, as C source; run while building:
 *
 *     embed_pack OUT.c CACHE sm_80 sm_90 ...
 *
 * CACHE is a folder for compiled kernels, so that a later build compiles nothing. Without NVRTC the
 * pack has only the kernels in CACHE, and it lacks those that NVRTC does not compile. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/generic_kernels.h"

static stn_status write_source(const char *path, const unsigned char *data, size_t size, stn_error *error) {
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file,
                "/* Written by src/cli/embed_pack.c: do not edit. */\n#include \"render/render.h\"\n"
                "const size_t stn_embedded_pack_size = %zu;\nconst unsigned char stn_embedded_pack[] = {",
                size);
        for (size_t i = 0; i < size; i++) fprintf(file, i % 32 ? "%d," : "\n%d,", data[i]);
        fprintf(file, "0};\n");
    }
    const bool bad = !file || ferror(file);
    return (file && fclose(file)) || bad ? stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", path, strerror(errno))
                                         : STN_OK;
}

int main(int argc, char **argv) {
    stn_pack_writer *writer = NULL;
    void *data = NULL;
    size_t size = 0;
    stn_error error = {0};
    stn_status status;
    unsetenv("STENTOR_TEMPLATE_DIR"); /* The kernels are those of the embedded templates. */
    STN_TRY_GOTO(status, stn_pack_writer_create(&writer, &error), done);
    (void)cli_record_embedded_kernels(writer, (const char *const *)argv + 3, (size_t)argc - 3, argv[2], &error);
    if (error.status) printf("the library lacks generic kernels: %s\n", error.message);
    if (stn_pack_writer_count(writer)) STN_TRY_GOTO(status, stn_pack_finish(writer, &data, &size, &error), done);
    status = write_source(argv[1], data, size, &error);
done:
    if (status != STN_OK) fprintf(stderr, "embed_pack: %s\n", error.message);
    free(data);
    stn_pack_writer_destroy(writer);
    return status != STN_OK;
}
