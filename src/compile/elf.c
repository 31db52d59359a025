/* Reads the build id of a shared object from its ELF file. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/library.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

enum { MAX_HEADERS = 64, MAX_NOTES = 4096 };

static bool read_at(int file, void *to, size_t size, uint64_t at) {
    return at <= INT64_MAX && pread(file, to, size, (off_t)at) == (ssize_t)size;
}

/* Writes the build id in a segment of ELF notes as hexadecimal digits. */
static bool id_of_notes(const unsigned char *notes, size_t size, char *digits, size_t capacity) {
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3, body = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size - at || body > size - at - name) return false;
        const unsigned char *id = notes + at + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) && note.n_descsz &&
            2 * (size_t)note.n_descsz < capacity) {
            for (size_t i = 0; i < note.n_descsz; i++) sprintf(digits + 2 * i, "%02x", id[i]);
            return true;
        }
        at += name + body;
    }
    return false;
}

static bool id_of_file(int file, const Elf64_Ehdr *header, char *digits, size_t capacity) {
    if (header->e_phentsize != sizeof(Elf64_Phdr)) return false;
    for (unsigned i = 0; i < header->e_phnum && i < MAX_HEADERS; i++) {
        Elf64_Phdr segment;
        unsigned char notes[MAX_NOTES];
        if (!read_at(file, &segment, sizeof segment, header->e_phoff + i * sizeof segment)) return false;
        if (segment.p_type != PT_NOTE || segment.p_filesz > sizeof notes) continue;
        if (read_at(file, notes, segment.p_filesz, segment.p_offset) &&
            id_of_notes(notes, segment.p_filesz, digits, capacity))
            return true;
    }
    return false;
}

bool stn_library_build(const char *path, char *identity, size_t size) {
    char digits[2 * 32 + 1];
    struct stat info;
    Elf64_Ehdr header;
    /* O_NONBLOCK: opening a FIFO would wait for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    bool ours = !fstat(file, &info) && S_ISREG(info.st_mode) && read_at(file, &header, sizeof header, 0) &&
                !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                header.e_type == ET_DYN && (OUR_MACHINE == EM_NONE || header.e_machine == OUR_MACHINE);
    if (ours) {
        const char *slash = strrchr(path, '/');
        if (id_of_file(file, &header, digits, sizeof digits))
            snprintf(identity, size, "build %s", digits);
        else
            snprintf(identity, size, "file %s of %lld bytes", slash ? slash + 1 : path, (long long)info.st_size);
    }
    close(file);
    return ours;
}
