/* Declarations shared by the files of compile/. */
#ifndef STN_COMPILE_COMPILE_INTERNAL_H
#define STN_COMPILE_COMPILE_INTERNAL_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "compile/compiler.h"
#include "compile/library.h"
#include "compile/nvrtc_functions.h"

struct stn_compiler {
    stn_nvrtc_functions call;
    const stn_logger *logger; /* borrowed for the compiler's life */
    int major, minor;
    int *archs; /* ascending: 75, 80, ... */
    int arch_count;
    atomic_int logged_sm; /* The sm number for which the lack of machine code was logged last. */
    char *path;
    char identity[160], version[32];
};
#endif
