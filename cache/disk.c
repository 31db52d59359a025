/* Entries as files in the cache folder. A failure here never ends the run: at worst a kernel is
 * compiled again. */
#include "cache/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cache/atomic_file.h"

void stn_disk_name(const stn_key *key, char sub[3], char name[STN_DISK_NAME]) {
    char hex[65];
    stn_key_hex(key, hex);
    memcpy(sub, hex, 2);
    sub[2] = '\0';
    memcpy(name, hex + 2, STN_DISK_NAME);
}

stn_status stn_disk_read(const stn_disk *disk, int sub, const char *name, const stn_key *key, stn_entry *entry,
                         struct stat *status, stn_error *error, bool use) {
    char *image;
    stn_key own;
    STN_TRY(stn_file_read(&disk->folder, sub, name, STN_ENTRY_HEADER, STN_ENTRY_MAX, use, &image, status, error));
    stn_status result = stn_entry_decode((const unsigned char *)image, (size_t)status->st_size, &own, entry, error);
    free(image);
    if (result != STN_OK || !memcmp(&own, key, sizeof own)) return result;
    stn_entry_clear(entry);
    return stn_fail(error, STN_ERROR_FORMAT, "it is the entry of another key");
}

bool stn_disk_find(stn_disk *disk, const stn_key *key, stn_entry *entry) {
    char sub_name[3], name[STN_DISK_NAME];
    stn_disk_name(key, sub_name, name);
    const int sub = stn_folder_open_at(&disk->folder, sub_name, false);
    stn_status result = STN_ERROR_IO;
    if (sub >= 0) {
        struct stat status;
        stn_error why = {0};
        result = stn_disk_read(disk, sub, name, key, entry, &status, &why, true);
        if (result == STN_OK)
            atomic_fetch_add(&disk->bytes_read, (unsigned long long)status.st_size);
        else if (result == STN_ERROR_FORMAT) {
            stn_log(disk->folder.logger, STN_LOG_INFO, "the stored kernel %s/%s/%s is removed and compiled again: %s",
                    disk->folder.path, sub_name, name, why.message);
            atomic_fetch_add(&disk->rejected, 1);
            (void)stn_file_remove_seen(sub, name, &status);
        }
        close(sub);
    }
    return result == STN_OK;
}

/* Does this file's header name the source key? Only the entry's checksum, when it is read, says
 * whether that is true. */
static bool is_of_source(int sub, const char *name, const stn_key *source, struct stat *status) {
    unsigned char header[STN_ENTRY_HEADER];
    const int file = openat(sub, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const bool read = !fstat(file, status) && pread(file, header, sizeof header, 0) == (ssize_t)sizeof header;
    close(file);
    return read && !memcmp(header + STN_ENTRY_AT_SOURCE, source, sizeof *source);
}

bool stn_disk_find_source(stn_disk *disk, const stn_key *source, stn_key *key, stn_entry *entry) {
    char sub_name[3], name[STN_DISK_NAME], hex[65];
    int64_t newest = INT64_MIN;
    stn_disk_name(source, sub_name, name);
    const int sub = stn_folder_open_at(&disk->folder, sub_name, false);
    DIR *items = sub < 0 ? NULL : fdopendir(sub);
    if (sub >= 0 && !items) close(sub);
    for (const struct dirent *item; items && (item = readdir(items));) {
        struct stat status;
        stn_key own;
        snprintf(hex, sizeof hex, "%s%.62s", sub_name, item->d_name);
        if (strlen(item->d_name) != STN_DISK_NAME - 1 || !stn_key_parse(hex, &own) ||
            !is_of_source(sub, item->d_name, source, &status) || status.st_mtime < newest)
            continue;
        newest = status.st_mtime;
        *key = own;
    }
    if (items) closedir(items);
    return newest > INT64_MIN && stn_disk_find(disk, key, entry);
}

static void warn_not_stored(stn_disk *disk, const stn_key *key, int why) {
    char sub_name[3], name[STN_DISK_NAME];
    stn_disk_name(key, sub_name, name);
    if (why == EISDIR)
        stn_folder_warn(&disk->folder,
                        "a kernel is kept in memory only, as a folder that is not empty lies in its place: remove "
                        "%s/%s/%s",
                        disk->folder.path, sub_name, name);
    else
        stn_folder_warn(&disk->folder,
                        "kernels are kept in memory only, as the cache folder %s cannot be written: %s; make room or "
                        "name another with STENTOR_CACHE_DIR",
                        disk->folder.path, strerror(why));
}

bool stn_disk_store(stn_disk *disk, const stn_key *key, const stn_entry *entry) {
    if (!disk->folder.path) return false;
    unsigned char *image = NULL;
    size_t size = 0;
    stn_error why = {0};
    if (stn_entry_encode(key, entry, &image, &size, &why) != STN_OK) {
        stn_folder_warn(&disk->folder, "a kernel is kept in memory only: %s", why.message);
        return false;
    }
    char sub_name[3], name[STN_DISK_NAME];
    stn_disk_name(key, sub_name, name);
    const bool good = stn_file_store(&disk->folder, sub_name, name, image, size, true);
    if (good)
        atomic_fetch_add(&disk->bytes_written, size);
    else
        warn_not_stored(disk, key, errno);
    free(image);
    return good;
}

bool stn_disk_remove(stn_disk *disk, const stn_key *key) {
    char sub_name[3], name[STN_DISK_NAME];
    stn_disk_name(key, sub_name, name);
    const int sub = stn_folder_open_at(&disk->folder, sub_name, false);
    bool gone = sub >= 0 && stn_file_remove(sub, name);
    if (gone) atomic_fetch_add(&disk->rejected, 1);
    if (sub >= 0) close(sub);
    return gone;
}
