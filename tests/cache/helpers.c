/* Helpers of the cache's tests; see helpers.h. */
#include "helpers.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../expect.h"

char *make_temp_folder(void) {
    char *path = strdup("/tmp/stentor-cache-test-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
    return path;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    (void)status, (void)type, (void)where;
    return remove(path);
}

void remove_temp_folder(char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

static uid_t new_owner;
static int give_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    (void)status, (void)type, (void)where;
    return lchown(path, new_owner, (gid_t)-1);
}

void give_folder(const char *path, uid_t owner) {
    new_owner = owner;
    cr_assert_eq(nftw(path, give_one, 16, FTW_PHYS), 0);
}

char *path_in(const char *folder, const char *name) {
    char *path;
    cr_assert(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

stn_key key_of_number(unsigned number) {
    stn_key_builder builder;
    stn_key key;
    stn_key_begin(&builder);
    stn_key_add(&builder, "number", &number, sizeof number);
    stn_key_finish(&builder, &key);
    return key;
}

stn_entry entry_of_number(unsigned number, size_t cubin_size) {
    stn_entry entry = {0};
    cr_assert(asprintf(&entry.metadata, "kernel: test\nnumber: %u\n", number) > 0);
    cr_assert(asprintf(&entry.params, "constexpr int NUMBER = %u;\n", number) > 0);
    cr_assert(asprintf(&entry.ptx, ".version 8.0 // %u\n", number) > 0);
    entry.ptx_size = strlen(entry.ptx);
    entry.cubin = malloc(cubin_size ? cubin_size : 1);
    entry.cubin_size = cubin_size;
    for (size_t i = 0; i < cubin_size; i++) ((unsigned char *)entry.cubin)[i] = (unsigned char)(number + i * 7);
    return entry;
}

bool entry_is_of_number(const stn_entry *entry, unsigned number) {
    stn_entry wanted = entry_of_number(number, entry->cubin_size);
    bool same = entry->metadata && !strcmp(entry->metadata, wanted.metadata) && entry->params &&
                !strcmp(entry->params, wanted.params) && entry->ptx && entry->ptx_size == wanted.ptx_size &&
                !memcmp(entry->ptx, wanted.ptx, wanted.ptx_size + 1) &&
                (!entry->cubin_size || !memcmp(entry->cubin, wanted.cubin, wanted.cubin_size));
    stn_entry_clear(&wanted);
    return same;
}

char *entry_path(const char *folder, const stn_key *key) {
    char hex[65], *path;
    stn_key_hex(key, hex);
    cr_assert(asprintf(&path, "%s/%.2s/%s", folder, hex, hex + 2) > 0);
    return path;
}

void expect_only_whole(unsigned char *bytes, size_t size, bool (*reads)(const unsigned char *, size_t),
                       bool any_other) {
    for (size_t i = 0; i < size; i++)
        for (unsigned flip = 1; flip < 256; flip = any_other ? flip + 1 : flip * 2 + flip % 3) {
            bytes[i] ^= (unsigned char)flip;
            cr_assert_not(reads(bytes, size), "byte %zu changed by %u", i, flip);
            bytes[i] ^= (unsigned char)flip;
        }
    cr_assert(reads(bytes, size));
    for (size_t cut = 0; cut < size; cut++) cr_assert_not(reads(bytes, cut), "cut to %zu", cut);
    unsigned char *longer = calloc(1, size + 70);
    memcpy(longer, bytes, size);
    for (size_t more = 1; more <= 70; more++) cr_assert_not(reads(longer, size + more), "%zu more", more);
    free(longer);
}

unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    unsigned char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

void write_file(const char *path, const void *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert(fd >= 0, "%s", path);
    cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

bool exists(const char *path) {
    struct stat status;
    return !lstat(path, &status);
}

static unsigned counted;
static const char *counted_prefix;

static int count_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    (void)status;
    if (type == FTW_F && (!counted_prefix || !strncmp(path + where->base, counted_prefix, strlen(counted_prefix))))
        counted++;
    return 0;
}

unsigned count_files(const char *folder, const char *prefix_or_null) {
    counted = 0;
    counted_prefix = prefix_or_null;
    nftw(folder, count_one, 16, FTW_PHYS);
    return counted;
}

static int damage_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    if (type != FTW_F || status->st_size < 144 || strlen(path + where->base) != 62) return 0;
    int fd = open(path, O_RDWR);
    char byte;
    cr_assert_eq(pread(fd, &byte, 1, 150), 1);
    byte ^= 4;
    cr_assert_eq(pwrite(fd, &byte, 1, 150), 1);
    close(fd);
    counted++;
    return 0;
}

unsigned damage_entries(const char *folder) {
    counted = 0;
    nftw(folder, damage_one, 16, FTW_PHYS);
    return counted;
}

void set_age(const char *path, long seconds) {
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0, "%s", path);
}

static void count_message(void *user, stn_log_level level, const char *message) {
    counting_log *log = user;
    if (level < STN_LOG_WARNING) return;
    atomic_fetch_add(&log->warnings, 1);
    snprintf(log->last, sizeof log->last, "%s", message);
}

void counting_log_init(counting_log *log) {
    memset(log, 0, sizeof *log);
    log->logger = (stn_logger){count_message, log};
}

char *dir;
counting_log heard;
stn_cache *cache;
static char *paths[400];
static size_t path_count;

void open_folder(void) {
    dir = make_temp_folder();
    counting_log_init(&heard);
}

void close_cache(void) {
    if (cache) stn_cache_close(cache);
    cache = NULL;
}

void close_folder(void) {
    close_cache();
    while (path_count) free(paths[--path_count]);
    remove_temp_folder(dir);
}

void as_nobody(void) {
    close_folder();
    if (geteuid() == 0) cr_assert_eq(setresuid(65534, 65534, 65534), 0);
    open_folder();
}

static char *kept(char *path) {
    cr_assert_lt(path_count, sizeof paths / sizeof *paths);
    return paths[path_count++] = path;
}

char *in_dir(const char *name) { return kept(path_in(dir, name)); }

char *entry_at(unsigned number) {
    const stn_key key = key_of_number(number);
    return kept(entry_path(dir, &key));
}

stn_cache *open_cache(const char *path, counting_log *log) {
    stn_cache *opened;
    stn_cache_options options = {.dir = path, .logger = log ? &log->logger : NULL};
    OK(stn_cache_open(&options, &opened, &error));
    return opened;
}

void store_number(stn_cache *into, unsigned number, size_t cubin) {
    stn_key key = key_of_number(number);
    stn_entry entry = entry_of_number(number, cubin);
    stn_cache_store(into, &key, &entry);
    stn_entry_clear(&entry);
}

bool find_number(stn_cache *in, unsigned number) {
    stn_key key = key_of_number(number);
    stn_entry entry = {0};
    const bool found = stn_cache_find_pack(in, &key, &entry) || stn_cache_find(in, &key, &entry);
    const bool good = found && entry_is_of_number(&entry, number);
    if (found) cr_assert(good, "a wrong entry was given");
    stn_entry_clear(&entry);
    return good;
}

bool mount_small(const char *at, const char *size) {
    if (unshare(CLONE_NEWNS)) return false;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return false;
    return !mount("stentor-test", at, "tmpfs", 0, size);
}

stn_wisdom wisdom_of_number(unsigned number, const char *lines) {
    const stn_wisdom_key key = {key_of_number(number), key_of_number(100 + number)};
    stn_text text = {0};
    stn_wisdom wisdom;
    stn_wisdom_begin(&text);
    stn_wisdom_put_key(&text, &key);
    stn_text_printf(&text, "problem: %u\ndevice: d\n%s", number, lines);
    stn_wisdom_end(&text);
    cr_assert_eq(stn_wisdom_parse(text.data, text.size, &wisdom, NULL), STN_OK);
    stn_text_clear(&text);
    return wisdom;
}
