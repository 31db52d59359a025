/* Reads a kernel's resource usage from a cubin, which is an ELF file, from records of .nv.info
 * sections:
 *
 *     byte format, byte attribute, 16 bits: a value, or the size of a payload (format 4)
 *
 * The common section has registers and stack per kernel symbol; the kernel's own section has its
 * block size. */
#include "compile/cubin.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SIZED = 4 };                                               /* the format with a payload */
enum { MAX_THREADS = 0x05, FRAME_SIZE = 0x11, REGISTERS = 0x2f }; /* attributes */

typedef struct file {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
} file;

/* Bytes [offset, offset + size) of the file; NULL if the file is too short. */
static const unsigned char *range(const file *f, uint64_t offset, uint64_t size) {
    return offset <= f->size && size <= f->size - offset ? f->bytes + offset : NULL;
}

static bool read_section(const file *f, size_t index, Elf64_Shdr *section) {
    if (index >= f->header.e_shnum || f->header.e_shentsize != sizeof *section) return false;
    const unsigned char *at =
        f->header.e_shoff <= f->size ? range(f, f->header.e_shoff + index * sizeof *section, sizeof *section) : NULL;
    if (at) memcpy(section, at, sizeof *section);
    return at != NULL;
}

/* Compares the NUL-terminated string at `offset` of a string section. */
static bool string_is(const file *f, const Elf64_Shdr *strings, uint64_t offset, const char *text) {
    uint64_t size = strlen(text) + 1;
    if (offset > strings->sh_size || size > strings->sh_size - offset) return false;
    const unsigned char *table = range(f, strings->sh_offset, strings->sh_size);
    return table && memcmp(table + offset, text, size) == 0;
}

static bool find_section(const file *f, const char *prefix, const char *kernel, Elf64_Shdr *section) {
    char name[256];
    Elf64_Shdr names;
    if (snprintf(name, sizeof name, "%s%s", prefix, kernel) >= (int)sizeof name) return false;
    if (!read_section(f, f->header.e_shstrndx, &names)) return false;
    for (size_t i = 0; i < f->header.e_shnum; i++)
        if (read_section(f, i, section) && string_is(f, &names, section->sh_name, name)) return true;
    return false;
}

/* The index of the kernel's symbol; 0 (no symbol has it) if there is none. */
static uint32_t find_symbol(const file *f, const char *kernel) {
    Elf64_Shdr symbols, strings;
    if (!find_section(f, ".symtab", "", &symbols) || !read_section(f, symbols.sh_link, &strings)) return 0;
    const unsigned char *at = range(f, symbols.sh_offset, symbols.sh_size);
    for (uint32_t i = 0; at && i < symbols.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, at + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && string_is(f, &strings, symbol.st_name, kernel)) return i;
    }
    return 0;
}

/* Word `index` of the first record of this attribute whose first word is `owner` (0: any); -1 if
 * there is none. */
static int find_record(const file *f, const Elf64_Shdr *info, int attribute, uint32_t owner, size_t index) {
    const unsigned char *at = range(f, info->sh_offset, info->sh_size), *end = at ? at + info->sh_size : NULL;
    while (at && end - at >= 4) {
        size_t payload = at[0] == SIZED ? (size_t)at[2] | (size_t)at[3] << 8 : 0;
        if ((size_t)(end - at - 4) < payload) return -1;
        if (at[0] == SIZED && at[1] == attribute && payload >= 4 * (index + 1)) {
            uint32_t first, value;
            memcpy(&first, at + 4, 4);
            memcpy(&value, at + 4 + 4 * index, 4);
            if ((!owner || first == owner) && value <= INT32_MAX) return (int)value;
        }
        at += 4 + payload;
    }
    return -1;
}

bool stn_cubin_read(const void *cubin, size_t size, const char *kernel, stn_cubin_usage *usage) {
    file f = {.bytes = cubin, .size = size};
    Elf64_Shdr common, own, shared;
    memset(usage, 0, sizeof *usage);
    if (!cubin || size < sizeof f.header) return false;
    memcpy(&f.header, cubin, sizeof f.header);
    if (memcmp(f.header.e_ident, ELFMAG, SELFMAG) != 0 || f.header.e_ident[EI_CLASS] != ELFCLASS64) return false;
    uint32_t symbol = find_symbol(&f, kernel);
    if (!symbol || !find_section(&f, ".nv.info", "", &common)) return false;
    int registers = find_record(&f, &common, REGISTERS, symbol, 1);
    if (registers < 0) return false;
    int local = find_record(&f, &common, FRAME_SIZE, symbol, 1), threads = -1;
    if (find_section(&f, ".nv.info.", kernel, &own))
        for (size_t axis = 0; axis < 3; axis++) {
            int along = find_record(&f, &own, MAX_THREADS, 0, axis);
            if (along < 1 || along > 1024) break;
            threads = axis ? threads * along : along;
        }
    bool has_shared = find_section(&f, ".nv.shared.", kernel, &shared) && shared.sh_size <= INT32_MAX;
    *usage = (stn_cubin_usage){registers, has_shared ? (int)shared.sh_size : 0, local > 0 ? local : 0,
                               threads > 0 && threads <= 1024 ? threads : 0};
    return true;
}
