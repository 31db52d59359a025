/* Resource usage from a handmade cubin; and bytes that are no cubin. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "compile/cubin.h"

/* Sections: 0 none, 1 strings (of sections and symbols), 2 symbols, 3 .nv.info, 4 .nv.info.k, 5
 * .nv.shared.k */
enum { SECTIONS = 6, SIZE = 4096 };
static const char names[] = "\0k\0.symtab\0.nv.info\0.nv.info.k\0.nv.shared.k";

static size_t put(unsigned char *file, size_t at, Elf64_Shdr *section, const char *name, const void *bytes,
                  size_t size) {
    const char *found = name ? memmem(names + 3, sizeof names - 3, name, strlen(name) + 1) : names;
    cr_assert_not_null(found);
    *section = (Elf64_Shdr){.sh_name = (uint32_t)(found - names), .sh_offset = at, .sh_size = size};
    if (bytes) memcpy(file + at, bytes, size);
    return at + (bytes ? (size + 7) / 8 * 8 : 0);
}

/* 40 registers, 800 bytes of stack, blocks of 32 x 6, 4132 bytes of shared memory */
static unsigned char *make_cubin(void) {
    unsigned char *file = calloc(1, SIZE);
    Elf64_Ehdr header = {
        .e_shoff = sizeof header, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTIONS, .e_shstrndx = 1};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    Elf64_Shdr sections[SECTIONS] = {{0}};
    Elf64_Sym symbols[2] = {{0}, {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}};
    /* another kernel's */
    static const unsigned char common[] = {4, 0x2f, 8,  0, 9, 0, 0, 0,    255, 0, 0, 0, 4, 0x2f, 8,  0, 1, 0,
                                           0, 0,    40, 0, 0, 0, 4, 0x11, 8,   0, 1, 0, 0, 0,    32, 3, 0, 0};
    static const unsigned char own[] = {3, 0x1b, 255, 0, 4, 0x05, 12, 0, 32, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0};
    size_t at = sizeof header + sizeof sections;
    at = put(file, at, &sections[1], NULL, names, sizeof names);
    at = put(file, at, &sections[2], ".symtab", symbols, sizeof symbols);
    sections[2].sh_link = 1;
    at = put(file, at, &sections[3], ".nv.info", common, sizeof common);
    at = put(file, at, &sections[4], ".nv.info.k", own, sizeof own);
    put(file, at, &sections[5], ".nv.shared.k", NULL, 4132);
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, sections, sizeof sections);
    return file;
}

Test(cubin, usage_is_read) {
    unsigned char *file = make_cubin();
    stn_cubin_usage usage;
    cr_assert(stn_cubin_read(file, SIZE, "k", &usage));
    cr_assert_eq(usage.registers, 40);
    cr_assert_eq(usage.local_bytes, 800);
    cr_assert_eq(usage.max_threads, 192);
    cr_assert_eq(usage.shared_bytes, 4132);
    cr_assert_not(stn_cubin_read(file, SIZE, "other", &usage));
    cr_assert_eq(usage.registers, 0);
    free(file);
}

Test(cubin, truncated_or_changed_bytes_are_safe) {
    unsigned char *file = make_cubin();
    stn_cubin_usage usage;
    uint32_t state = 1;
    int refused = 0;
    for (size_t cut = 0; cut < 1200; cut++) {
        /* An exact allocation, so that ASan sees a read past the end. */
        unsigned char *copy = malloc(cut ? cut : 1);
        memcpy(copy, file, cut);
        refused += !stn_cubin_read(copy, cut, "k", &usage);
        free(copy);
    }
    cr_assert_gt(refused, 400);
    for (int trial = 0; trial < 50000; trial++) {
        unsigned char *copy = malloc(1024);
        memcpy(copy, file, 1024);
        for (int flips = 0; flips < 1 + trial % 3; flips++) {
            state = state * 1664525u + 1013904223u;
            copy[(state >> 8) % 1024] = (unsigned char)(state >> 24);
        }
        stn_cubin_read(copy, 1024, "k", &usage);
        free(copy);
    }
    cr_assert_not(stn_cubin_read(NULL, 0, "k", &usage));
    free(file);
}
