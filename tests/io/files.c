/* See files.h. */
#include "files.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

void files_enter(void) {
    strcpy(folder, "/tmp/stentor-io-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static int each(int remove_them) {
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        count++;
        if (remove_them && unlink(entry->d_name) != 0) rmdir(entry->d_name);
    }
    if (dir) closedir(dir);
    return count;
}

int files_count(void) { return each(0); }

void files_leave(void) {
    each(1);
    cr_assert_eq(chdir("/"), 0);
    rmdir(folder);
}

void file_put(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(name, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

unsigned char *file_get(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    if (!file) return NULL;
    unsigned char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}
