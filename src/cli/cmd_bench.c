/* stentor bench: runs the Python package, which measures a problem with Stentor and with other
 * libraries. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"

/* The arguments after this text are sys.argv[1:]. */
static const char program[] =
    "import sys\n"
    "sys.path[:] = [folder for folder in sys.path if folder]\n" /* not the current folder */
    "try:\n"
    "    from stentor.__main__ import run\n"
    "except ImportError as error:\n"
    "    print(f'stentor: bench runs in the Python package, which {sys.executable} cannot import ({error}): "
    "pip install stentor', file=sys.stderr)\n"
    "    sys.exit(9)\n" /* as for a python3 that cannot be run */
    "sys.exit(run(['bench', *sys.argv[1:]]))\n";

stn_status cmd_bench(int argc, char **argv, stn_error *error) {
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    if (!arguments) return stn_fail(error, STN_ERROR_OUT_OF_MEMORY, "no memory for %d arguments", argc);
    char python[] = "python3", option[] = "-c", text[sizeof program];
    memcpy(text, program, sizeof program);
    arguments[0] = python, arguments[1] = option, arguments[2] = text;
    for (int i = 1; i < argc; i++) arguments[i + 2] = argv[i];
    fflush(NULL);
    execvp(python, arguments); /* returns only if it fails */
    const int reason = errno;
    free(arguments);
    return stn_fail(error, STN_ERROR_IO, "bench runs in the Python package, and python3 cannot be run: %s",
                    strerror(reason));
}
