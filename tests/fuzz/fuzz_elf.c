/* Fuzzes readers of ELF files: a kernel's resource usage in a cubin, and the build id of a shared
 * object. Any bytes are refused, or give numbers within their limits. */
#include <elf.h>
#include <unistd.h>

#include "compile/cubin.h"
#include "compile/library.h"
#include "fuzz.h"

/* A cubin of one kernel, as small as one can be: names, a symbol, and records of .nv.info. */
static size_t make_cubin(unsigned char *bytes) {
    static const char names[] = "\0.shstrtab\0.symtab\0.nv.info\0.nv.info.kernel\0.nv.shared.kernel\0kernel";
    static const unsigned char common[] = {4, 0x2f, 8, 0, 1, 0, 0, 0, 32, 0, 0, 0,
                                           4, 0x11, 8, 0, 1, 0, 0, 0, 8,  0, 0, 0},
                               own[] = {4, 0x05, 12, 0, 128, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                         .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Sym symbols[2] = {{0}, {.st_name = 62, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}};
    size_t at = sizeof header;
    Elf64_Shdr sections[6] = {{0}};
    const struct {
        const void *bytes;
        size_t size;
        unsigned name;
    } parts[] = {
        {names, sizeof names, 1}, {symbols, sizeof symbols, 11}, {common, sizeof common, 19}, {own, sizeof own, 28}};
    for (int i = 0; i < 4; i++) {
        memcpy(bytes + at, parts[i].bytes, parts[i].size);
        sections[i + 1] =
            (Elf64_Shdr){.sh_name = parts[i].name, .sh_offset = at, .sh_size = parts[i].size, .sh_link = 1};
        at += parts[i].size;
    }
    sections[5] = (Elf64_Shdr){.sh_name = 44, .sh_size = 4096};
    header.e_shnum = 6, header.e_shstrndx = 1, header.e_shoff = at;
    memcpy(bytes + at, sections, sizeof sections);
    memcpy(bytes, &header, sizeof header);
    return at + sizeof sections;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static unsigned char bytes[4096];
    (void)argc, (void)argv;
    const size_t size = make_cubin(bytes);
    stn_cubin_usage usage;
    FUZZ_CHECK(stn_cubin_read(bytes, size, "kernel", &usage));
    FUZZ_CHECK(usage.registers == 32 && usage.local_bytes == 8 && usage.max_threads == 128 &&
               usage.shared_bytes == 4096);
    fuzz_seed("cubin", bytes, size);
    const struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        Elf64_Nhdr note;
        char name[4];
        unsigned char id[8];
    } library = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_phoff = sizeof library.header,
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
        .segment = {.p_type = PT_NOTE, .p_offset = sizeof library.header + sizeof library.segment, .p_filesz = 24},
        .note = {4, 8, NT_GNU_BUILD_ID},
        .name = "GNU",
        .id = {1, 2, 3, 4, 5, 6, 7, 8},
    };
    fuzz_seed("library", &library, sizeof library);
    return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static char path[64];
    stn_cubin_usage usage;
    char identity[160];
    if (stn_cubin_read(data, size, "kernel", &usage))
        FUZZ_CHECK(usage.registers >= 0 && usage.shared_bytes >= 0 && usage.local_bytes >= 0 &&
                   usage.max_threads >= 0 && usage.max_threads <= 1024);
    if (!*path) snprintf(path, sizeof path, "/tmp/stentor-fuzz-elf-%d", (int)getpid());
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(data, 1, size, file) == size && !fclose(file));
    if (stn_library_build(path, identity, sizeof identity)) FUZZ_CHECK(*identity && strlen(identity) < sizeof identity);
    unlink(path);
    return 0;
}
