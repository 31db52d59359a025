/* The embedded templates equal their files; lines of params.cuh; templates read from a folder. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../expect.h"
#include "render/render.h"

static char *slurp(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    char *data = malloc(1 << 20);
    *size = fread(data, 1, (1 << 20) - 1, file);
    data[*size] = '\0';
    fclose(file);
    return data;
}

Test(render, embedded_templates_equal_their_files) {
    cr_assert_gt(stn_embedded_template_count, 0u);
    for (size_t i = 0; i < stn_embedded_template_count; i++) {
        const stn_template *item = &stn_embedded_templates[i];
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", TEMPLATE_FOLDER, item->name);
        size_t size;
        char *text = slurp(path, &size);
        cr_expect_eq(size, item->size, "%s", item->name);
        cr_expect(!memcmp(text, item->text, size + 1), "%s differs, or has no NUL behind it", item->name);
        free(text);
    }
}

/* A template missing from meson.build would otherwise be noticed at run time only. */
Test(render, every_template_is_embedded) {
    unsetenv("STENTOR_TEMPLATE_DIR");
    stn_templates embedded, folder;
    OK(stn_templates_load(&embedded, &error));
    setenv("STENTOR_TEMPLATE_DIR", TEMPLATE_FOLDER, 1);
    OK(stn_templates_load(&folder, &error));
    for (size_t i = 0; i < folder.count; i++)
        cr_expect(stn_templates_find(&embedded, folder.list[i].name), "kernel_templates/meson.build does not list %s",
                  folder.list[i].name);
    stn_templates_free(&embedded);
    stn_templates_free(&folder);
}

Test(render, params_are_one_line_each) {
    stn_text text = STN_TEXT_EMPTY;
    const int list[3] = {1, -2, 3};
    stn_params_begin(&text);
    stn_params_int(&text, "RANK", 2);
    stn_params_int(&text, "LOW", -7);
    stn_params_int(&text, "POINTS", 3000000000);
    stn_params_int(&text, "LEAST", INT64_MIN);
    stn_params_type(&text, "element_t", "double");
    stn_params_ints(&text, "REACH", list, 3);
    cr_assert_str_eq(text.data,
                     "#pragma once\nconstexpr int RANK = 2;\nconstexpr int LOW = -7;\n"
                     "constexpr long long POINTS = 3000000000;\n"
                     "constexpr long long LEAST = -9223372036854775807 - 1;\nusing element_t = double;\n"
                     "constexpr int REACH[3] = {1, -2, 3};\n");
    stn_text_clear(&text);
}

static void put(const char *folder, const char *name, const char *text) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    path[strlen(folder) + 1 + strcspn(name, "/")] = '\0';
    if (strchr(name, '/')) mkdir(path, 0700); /* It may exist already. */
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
}

Test(render, values_among_arguments) {
    double wide = 0;
    float narrow = 0;
    unsigned char bytes[8];
    cr_expect_eq(stn_put_real(STN_F64, 0.1, &wide), 8u);
    cr_expect_eq(wide, 0.1);
    for (stn_dtype dtype = STN_F32; dtype <= STN_F16; dtype++) {
        memset(bytes, 0xee, sizeof bytes);
        cr_expect_eq(stn_put_real(dtype, 0.1, bytes), 4u);
        memcpy(&narrow, bytes, 4);
        cr_expect(narrow == 0.1f && bytes[4] == 0xee, "nothing past it");
    }
}

Test(render, templates_from_a_folder) {
    char folder[] = "/tmp/stentor-templates-XXXXXX", path[1024];
    cr_assert(mkdtemp(folder));
    for (size_t i = 0; i < stn_embedded_template_count; i++)
        put(folder, stn_embedded_templates[i].name, "// changed\n");
    put(folder, "device/zz_new.cuh", "// new\n");
    put(folder, "notes.txt", "not a template");
    setenv("STENTOR_TEMPLATE_DIR", folder, 1);
    stn_templates set;
    OK(stn_templates_load(&set, &error));
    cr_expect(set.from_disk);
    cr_expect_eq(set.count, stn_embedded_template_count + 1);
    for (size_t i = 1; i < set.count; i++) cr_expect_lt(strcmp(set.list[i - 1].name, set.list[i].name), 0);
    cr_assert(stn_templates_find(&set, "device/zz_new.cuh"));
    cr_expect_str_eq(stn_templates_find(&set, "device/zz_new.cuh")->text, "// new\n");
    cr_expect_str_eq(stn_templates_find(&set, "device/ptx.cuh")->text, "// changed\n");
    cr_expect_null(stn_templates_find(&set, "notes.txt"));
    stn_templates_free(&set);

    snprintf(path, sizeof path, "%s/device/ptx.cuh", folder);
    cr_assert(!unlink(path));
    FAILS(stn_templates_load(&set, &error), STN_ERROR_IO, "device/ptx.cuh");
    snprintf(path, sizeof path, "rm -r %s", folder);
    cr_expect_eq(system(path), 0);
}

Test(render, a_missing_folder) {
    setenv("STENTOR_TEMPLATE_DIR", "/nowhere/at/all", 1);
    stn_templates set;
    FAILS(stn_templates_load(&set, &error), STN_ERROR_IO, "/nowhere/at/all");
    cr_expect_null(set.list);
}

Test(render, embedded_without_a_folder) {
    unsetenv("STENTOR_TEMPLATE_DIR");
    stn_templates set;
    cr_assert_eq(stn_templates_load(&set, NULL), STN_OK);
    cr_expect_not(set.from_disk);
    cr_expect_eq(set.count, stn_embedded_template_count);
    cr_expect(stn_templates_find(&set, "device/ptx.cuh"));
    cr_expect_null(stn_templates_find(&set, "ptx.cuh"));
    cr_expect_str_eq(stn_templates_kernel(&set, "direct_tile")->name, "direct/direct_tile.cu");
    cr_expect_null(stn_templates_kernel(&set, "direct"));
    stn_templates_free(&set);
}
