/* Packs: entries come out as they went in; every change of a byte and every truncation is detected;
 * merging; the cache searches packs first. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../expect.h"
#include "cache/pack.h"
#include "cache/signature.h"
#include "helpers.h"

TestSuite(pack, .init = open_folder, .fini = close_folder);

static void add_number(stn_pack_writer *writer, unsigned number, size_t cubin) {
    stn_key key = key_of_number(number);
    stn_entry entry = entry_of_number(number, cubin);
    entry.source = key_of_number(number + 1000);
    cr_assert_eq(stn_pack_add(writer, &key, &entry, NULL), STN_OK);
    stn_entry_clear(&entry);
}

static unsigned char *pack_of(unsigned first, unsigned count, size_t cubin, size_t *size) {
    stn_pack_writer *writer;
    void *data;
    cr_assert_eq(stn_pack_writer_create(&writer, NULL), STN_OK);
    for (unsigned i = 0; i < count; i++) add_number(writer, first + i, cubin);
    cr_assert_eq(stn_pack_writer_count(writer), count);
    cr_assert_eq(stn_pack_finish(writer, &data, size, NULL), STN_OK);
    stn_pack_writer_destroy(writer);
    return data;
}

static bool pack_has(const stn_pack *pack, unsigned number) {
    stn_key source = key_of_number(number + 1000), key, wanted = key_of_number(number);
    stn_entry entry;
    size_t index;
    if (!stn_pack_find(pack, &source, &index)) return false;
    OK(stn_pack_read(pack, index, &key, &entry, &error));
    cr_assert(!memcmp(&key, &wanted, sizeof key) && entry_is_of_number(&entry, number));
    stn_entry_clear(&entry);
    return true;
}

Test(pack, round_trips) {
    for (unsigned count = 0; count < 12; count++) {
        size_t size;
        unsigned char *data = pack_of(0, count, 50, &size);
        stn_pack *pack;
        cr_assert_eq(stn_pack_open_memory(data, size, &pack, NULL), STN_OK);
        cr_assert_eq(stn_pack_count(pack), count);
        for (unsigned i = 0; i < 20; i++) cr_assert_eq(pack_has(pack, i), i < count);
        cr_assert_eq(stn_pack_verify(pack, NULL), STN_OK);
        stn_pack_close(pack);
        free(data);
    }
}

Test(pack, bytes_do_not_depend_on_the_order) {
    size_t size, other_size;
    unsigned char *data = pack_of(0, 9, 20, &size);
    stn_pack_writer *writer;
    void *other;
    cr_assert_eq(stn_pack_writer_create(&writer, NULL), STN_OK);
    for (unsigned i = 0; i < 9; i++) add_number(writer, i * 4 % 9, 20);
    add_number(writer, 3, 777); /* The first entry of a key stays. */
    cr_assert_eq(stn_pack_finish(writer, &other, &other_size, NULL), STN_OK);
    cr_assert_eq(size, other_size);
    cr_assert(!memcmp(data, other, size));
    stn_pack_writer_destroy(writer);
    free(data);
    free(other);
}

static bool opens(const unsigned char *data, size_t size) {
    stn_pack *pack = NULL;
    bool good = stn_pack_open_memory(data, size, &pack, NULL) == STN_OK;
    stn_pack_close(pack);
    return good;
}

static bool all_well(const unsigned char *data, size_t size) {
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    stn_pack *pack = NULL;
    stn_status status = stn_pack_open_memory(exact, size, &pack, &error);
    if (status == STN_OK) status = stn_pack_verify(pack, &error);
    if (status != STN_OK) cr_assert(status == STN_ERROR_FORMAT && strstr(error.message, "in memory"));
    stn_pack_close(pack);
    free(exact);
    return status == STN_OK;
}

Test(pack, detects_every_changed_byte_truncation_and_growth) {
    size_t size;
    unsigned char *data = pack_of(0, 3, 10, &size);
    expect_only_whole(data, size, all_well, false);
    free(data);
}

/* Malicious indexes with right checksums. */
Test(pack, hostile_indexes_are_refused) {
    size_t size;
    unsigned char *data = pack_of(0, 3, 10, &size);
    const uint64_t lies[] = {0,         1,          STN_PACK_HEADER, size, size - 1, UINT32_MAX,
                             INT64_MAX, UINT64_MAX, UINT64_MAX - 200};
    const size_t fields[] = {STN_PACK_AT_COUNT,
                             STN_PACK_AT_SIZE,
                             STN_PACK_HEADER + 32,
                             STN_PACK_HEADER + 40,
                             STN_PACK_HEADER + 2 * STN_PACK_ROW + 32,
                             STN_PACK_HEADER + 2 * STN_PACK_ROW + 40};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            uint64_t kept = stn_get64(data + fields[f]);
            if (kept == lies[i]) continue;
            stn_put64(data + fields[f], lies[i]);
            uint64_t count = stn_get64(data + STN_PACK_AT_COUNT);
            if (count <= 3)
                stn_pack_checksum(data, data + STN_PACK_HEADER, count * STN_PACK_ROW, data + STN_PACK_AT_SUM);
            cr_assert_not(opens(data, size), "field %zu as %llu", fields[f], (unsigned long long)lies[i]);
            stn_put64(data + fields[f], kept);
        }
    unsigned char row[STN_PACK_ROW]; /* two keys swapped: out of order */
    const size_t index_size = (size_t)3 * STN_PACK_ROW;
    memcpy(row, data + STN_PACK_HEADER, sizeof row);
    memcpy(data + STN_PACK_HEADER, data + STN_PACK_HEADER + STN_PACK_ROW, 32);
    memcpy(data + STN_PACK_HEADER + STN_PACK_ROW, row, 32);
    stn_pack_checksum(data, data + STN_PACK_HEADER, index_size, data + STN_PACK_AT_SUM);
    cr_assert_not(opens(data, size));
    unsigned char second[32];
    memcpy(second, data + STN_PACK_HEADER, sizeof second);
    memcpy(data + STN_PACK_HEADER, row, 32); /* one key twice */
    stn_pack_checksum(data, data + STN_PACK_HEADER, index_size, data + STN_PACK_AT_SUM);
    cr_assert_not(opens(data, size));
    memcpy(data + STN_PACK_HEADER + STN_PACK_ROW, second, 32);
    /* a key that its entry does not have */
    data[STN_PACK_HEADER + 31] ^= 1;
    stn_pack_checksum(data, data + STN_PACK_HEADER, index_size, data + STN_PACK_AT_SUM);
    cr_assert(opens(data, size));
    cr_assert_not(all_well(data, size));
    free(data);
}

Test(pack, a_future_version_is_named) {
    size_t size;
    unsigned char *data = pack_of(0, 1, 10, &size);
    stn_put32(data + STN_PACK_AT_VERSION, 9);
    stn_pack *pack;
    FAILS(stn_pack_open_memory(data, size, &pack, &error), STN_ERROR_FORMAT, "version 9");
    cr_assert_not_null(strstr(error.message, "stentor pack build"), "%s", error.message);
    free(data);
}

static void put_pack(stn_pack_writer *writer, const char *path) {
    void *data;
    size_t size;
    cr_assert_eq(stn_pack_finish(writer, &data, &size, NULL), STN_OK);
    write_file(path, data, size);
    free(data);
}

Test(pack, files_are_read_and_merged) {
    char *path[3];
    stn_pack *pack[3];
    stn_pack_writer *writer;
    for (unsigned i = 0; i < 3; i++) path[i] = in_dir(i == 0 ? "a.stnpack" : i == 1 ? "b.stnpack" : "c.stnpack");
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(stn_pack_writer_create(&writer, NULL), STN_OK);
        for (unsigned k = 0; k < 4; k++) add_number(writer, 3 * i + k, 30);
        put_pack(writer, path[i]);
        stn_pack_writer_destroy(writer);
        OK(stn_pack_open(path[i], &pack[i], &error));
        cr_assert_str_eq(stn_pack_name(pack[i]), path[i]);
    }
    cr_assert_eq(stn_pack_writer_create(&writer, NULL), STN_OK);
    for (unsigned i = 0; i < 2; i++) OK(stn_pack_add_pack(writer, pack[i], &error));
    put_pack(writer, path[2]);
    OK(stn_pack_open(path[2], &pack[2], &error));
    cr_assert_eq(stn_pack_count(pack[2]), 7);
    for (unsigned i = 0; i < 8; i++) cr_assert_eq(pack_has(pack[2], i), i < 7);
    char *nowhere = in_dir("absent/d.stnpack");
    FAILS(stn_pack_open(nowhere, &pack[0], &error), STN_ERROR_IO, nowhere);
    cr_assert_eq(stn_pack_open(dir, &pack[0], &error), STN_ERROR_IO);
    for (unsigned i = 0; i < 3; i++) stn_pack_close(pack[i]);
    stn_pack_writer_destroy(writer);
}

/* A pack that lacks a kernel, because of its size or for lack of memory, must not be finished. */
Test(pack, is_not_finished_if_a_kernel_could_not_be_added) {
    stn_pack_writer *writer;
    void *data = NULL;
    size_t size;
    cr_assert_eq(stn_pack_writer_create(&writer, NULL), STN_OK);
    add_number(writer, 1, 50);
    stn_key key = key_of_number(2);
    stn_entry entry = entry_of_number(2, 50), too_large = entry;
    too_large.cubin_size = STN_ENTRY_MAX; /* refused before it is read */
    cr_assert_eq(stn_pack_add(writer, &key, &too_large, NULL), STN_ERROR_FORMAT);
    stn_entry_clear(&entry);
    add_number(writer, 3, 50);
    FAILS(stn_pack_finish(writer, &data, &size, &error), STN_ERROR_FORMAT, "lacks a kernel");
    cr_assert_null(data);
    stn_pack_writer_destroy(writer);
}

Test(pack, survives_truncation_while_open) {
    char *path = in_dir("a.stnpack");
    size_t size;
    unsigned char *data = pack_of(0, 4, 3000, &size);
    write_file(path, data, size);
    stn_pack *pack;
    cr_assert_eq(stn_pack_open(path, &pack, NULL), STN_OK);
    memset(data, 0xaa, size);
    write_file(path, data, size);
    cr_assert_eq(stn_pack_verify(pack, &error), STN_ERROR_FORMAT);
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert_eq(stn_pack_verify(pack, &error), STN_ERROR_FORMAT);
    stn_pack_close(pack);
    free(data);
}

/* ---- packs in a cache ------------------------------------------------------------------------ */

typedef enum place { NOWHERE, IN_PACK, ON_DISK } place;

static place find_source(stn_cache *cache, unsigned number) {
    stn_key source = key_of_number(number + 1000), key;
    stn_entry entry;
    place from = NOWHERE;
    if (stn_cache_find_pack(cache, &source, &entry))
        from = IN_PACK;
    else if (stn_cache_find_source(cache, &source, &key, &entry))
        from = ON_DISK;
    else
        return from;
    cr_assert(entry_is_of_number(&entry, number));
    stn_entry_clear(&entry);
    return from;
}

Test(pack, is_searched_before_the_disk) {
    char *path = in_dir("a.stnpack"), *folder = in_dir("cache");
    size_t size, memory_size;
    unsigned char *data = pack_of(0, 2, 10, &size), *memory = pack_of(2, 2, 10, &memory_size);
    write_file(path, data, size);
    const char *packs[] = {path, NULL};
    stn_cache_options options = {
        .dir = folder, .packs = packs, .pack_data = memory, .pack_size = memory_size, .logger = &heard.logger};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    for (unsigned i = 0; i < 4; i++) cr_assert_eq(find_source(cache, i), IN_PACK);
    cr_assert_eq(find_source(cache, 4), NOWHERE);
    stn_key key = key_of_number(1), source = key_of_number(1001);
    key.bytes[0] = source.bytes[0]; /* as kernels' keys have */
    stn_entry entry = entry_of_number(1, 10);
    entry.source = source;
    stn_cache_store(cache, &key, &entry);
    stn_entry_clear(&entry);
    cr_assert_eq(find_source(cache, 1), IN_PACK);
    stn_cache_reject(cache, &source); /* as if it could not be loaded */
    cr_assert_eq(find_source(cache, 1), ON_DISK);
    cr_assert(!stn_cache_find_pack(cache, &source, &entry));
    stn_cache_stats stats;
    stn_cache_stats_get(cache, &stats);
    cr_assert(stats.pack_hits == 5 && stats.disk_hits == 1 && stats.rejected == 1 && stats.bytes_read > 0);
    cr_assert_eq(heard.warnings, 0);
    free(data), free(memory);
}

Test(pack, skips_a_damaged_entry_with_one_warning) {
    char *path = in_dir("a.stnpack");
    size_t size;
    unsigned char *data = pack_of(0, 2, 10, &size);
    data[size - 1] ^= 1; /* the last entry in the file */
    write_file(path, data, size);
    const char *packs[] = {path, NULL};
    stn_cache_options options = {.dir = ":memory:", .packs = packs, .logger = &heard.logger};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    int found = 0;
    for (unsigned i = 0; i < 6; i++) found += find_source(cache, i % 2) == IN_PACK;
    cr_assert_eq(found, 3);
    cr_assert_eq(heard.warnings, 1);
    cr_assert_not_null(strstr(heard.last, path));
    free(data);
}

Test(pack, an_unusable_pack_is_an_error) {
    stn_cache *cache;
    const char *packs[] = {"/nowhere/kernels.stnpack", NULL};
    stn_cache_options options = {.dir = ":memory:", .packs = packs};
    FAILS(stn_cache_open(&options, &cache, &error), STN_ERROR_IO, packs[0]);
    options = (stn_cache_options){.dir = ":memory:", .pack_data = "nonsense", .pack_size = 8};
    cr_assert_eq(stn_cache_open(&options, &cache, &error), STN_ERROR_FORMAT);
}

/* Signs the file with a new key; returns the public one. */
static const char *sign_file(const char *path) {
    static char public_key[STN_PUBLIC_KEY_TEXT];
    stn_text secret = STN_TEXT_EMPTY, text = STN_TEXT_EMPTY;
    char *key = in_dir("key"), *name, *bytes;
    size_t size;
    cr_assert_eq(stn_signature_make_keys(&secret, public_key, NULL), STN_OK);
    write_file(key, secret.data, secret.size);
    cr_assert_eq(stn_signature_read_file(path, &bytes, &size, NULL), STN_OK);
    cr_assert_eq(stn_signature_make(key, bytes, size, &text, NULL), STN_OK);
    cr_assert(asprintf(&name, "%s.sig", path) > 0);
    write_file(name, text.data, text.size);
    stn_text_clear(&secret), stn_text_clear(&text);
    free(name), free(bytes);
    return public_key;
}

/* Every changed byte of the pack or of its signature is detected when the pack is opened, also in
 * the entries, and a change after that has no effect. */
Test(pack, of_a_trusted_key_is_used_as_it_was_signed) {
    char *path = in_dir("a.stnpack"), *name = in_dir("a.stnpack.sig");
    size_t size, signature_size;
    unsigned char *data = pack_of(0, 2, 10, &size);
    write_file(path, data, size);
    const char *key = sign_file(path);
    unsigned char *signature = read_file(name, &signature_size);
    stn_pack *pack;
    for (size_t i = 0; i < size + signature_size; i++) {
        unsigned char *const changed = i < size ? &data[i] : &signature[i - size];
        *changed ^= 1;
        write_file(i < size ? path : name, i < size ? data : signature, i < size ? size : signature_size);
        cr_expect_eq(stn_pack_open_signed(path, key, &pack, &error), STN_ERROR_FORMAT, "byte %zu: %s", i,
                     error.message);
        *changed ^= 1;
        if (i == size - 1) write_file(path, data, size);
    }
    write_file(name, signature, signature_size);
    const char *packs[] = {path, NULL};
    stn_cache_options options = {.dir = ":memory:", .packs = packs, .trust = key};
    OK(stn_cache_open(&options, &cache, &error));
    memset(data, 0, size);
    write_file(path, data, size);
    cr_expect_eq(find_source(cache, 1), IN_PACK, "it is held in memory");
    close_cache();
    cr_expect_eq(stn_cache_open(&options, &cache, &error), STN_ERROR_FORMAT);
    unlink(name);
    FAILS(stn_cache_open(&options, &cache, &error), STN_ERROR_FORMAT, "is not signed");
    free(data), free(signature);
}

Test(pack, a_cache_records_what_it_finds_and_stores) {
    size_t size;
    unsigned char *memory = pack_of(5, 1, 10, &size);
    stn_cache_options options = {.dir = dir, .pack_data = memory, .pack_size = size};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    store_number(cache, 1, 8);
    store_number(cache, 9, 8);
    stn_pack_writer *writer;
    cr_assert_eq(stn_pack_writer_create(&writer, NULL), STN_OK);
    stn_cache_record(cache, writer);
    cr_assert(find_number(cache, 1));
    store_number(cache, 2, 8);
    cr_assert_eq(find_source(cache, 5), IN_PACK);
    stn_cache_record(cache, NULL);
    cr_assert(find_number(cache, 9));
    cr_assert_eq(stn_pack_writer_count(writer), 3);
    stn_pack_writer_destroy(writer);
    free(memory);
}
