/* Times a hit: key, disk (open, read, verify) and memory. Run by hand: cache_speed [folder]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"

enum { ROUNDS = 300 };

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void report(const char *what, double *us) {
    qsort(us, ROUNDS, sizeof *us, by_value);
    printf("%-44s median %8.2f us   99%% %8.2f us\n", what, us[ROUNDS / 2], us[ROUNDS - 4]);
}

static char *filler(size_t size) {
    char *text = malloc(size + 1);
    if (!text) exit(1);
    for (size_t i = 0; i < size; i++) text[i] = "0123456789abcdef"[(i * 2654435761u >> 13) & 15];
    text[size] = '\0';
    return text;
}

static void time_key(size_t size) {
    double us[ROUNDS];
    char *text = filler(size), what[64];
    for (int i = 0; i < ROUNDS; i++) {
        stn_key_builder *builder;
        stn_key key;
        double start = now_us();
        if (stn_key_begin(&builder, NULL) != STN_OK) exit(1);
        stn_key_add(builder, "templates", text, size);
        stn_key_finish(builder, &key);
        us[i] = now_us() - start;
    }
    snprintf(what, sizeof what, "key over %zu KB of text", size >> 10);
    report(what, us);
    free(text);
}

static void time_disk(stn_cache *cache, size_t ptx, size_t cubin) {
    double us[ROUNDS];
    stn_key key = {{(unsigned char)(ptx >> 10), (unsigned char)(cubin >> 10)}};
    stn_entry entry = {.metadata = strdup("kernel: speed\n"),
                       .params = strdup(""),
                       .ptx = filler(ptx),
                       .ptx_size = ptx,
                       .cubin = filler(cubin),
                       .cubin_size = cubin};
    stn_cache_store(cache, &key, &entry);
    stn_entry_clear(&entry);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_us();
        if (stn_cache_find(cache, &key, &entry) != STN_CACHE_DISK) exit(1);
        us[i] = now_us() - start;
        stn_entry_clear(&entry);
    }
    char what[64];
    snprintf(what, sizeof what, "disk hit, %zu KB PTX and %zu KB cubin", ptx >> 10, cubin >> 10);
    report(what, us);
}

static stn_status make_nothing(void *user, const stn_key *key, void **value, stn_error *error) {
    (void)key, (void)error;
    *value = user;
    return STN_OK;
}

static void time_memory(void) {
    double us[ROUNDS];
    stn_memo *memo;
    if (stn_memo_create(NULL, NULL, &memo, NULL) != STN_OK) exit(1);
    for (int i = 0; i < 1000 + ROUNDS; i++) {
        stn_key key = {{0}};
        void *value;
        int which = i % 1000;
        memcpy(key.bytes, &which, sizeof which);
        double start = now_us();
        if (stn_memo_get(memo, &key, make_nothing, memo, &value, NULL, NULL) != STN_OK) exit(1);
        if (i >= 1000) us[i - 1000] = now_us() - start;
    }
    report("memory hit among 1000", us);
    stn_memo_destroy(memo);
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/stentor-cache-speed-XXXXXX";
    stn_cache_options options = {.dir = argc > 1 ? argv[1] : mkdtemp(folder)};
    stn_cache *cache;
    stn_error error;
    if (stn_cache_open(&options, &cache, &error) != STN_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    time_key(2 << 10);
    time_key(64 << 10);
    time_disk(cache, 12 << 10, 8 << 10);
    time_disk(cache, 40 << 10, 28 << 10);
    time_disk(cache, 120 << 10, 72 << 10);
    time_memory();
    stn_cache_collection counts;
    (void)stn_cache_clear(cache, &counts, &error);
    stn_cache_close(cache);
    return 0;
}
