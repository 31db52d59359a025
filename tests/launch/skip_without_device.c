/* Linked into tests that need a device and NVRTC: where there is none, the program ends as skipped,
 * and says why; beside the emulator, where STENTOR_TESTS_MUST_RUN is set, as failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compiler.h"
#include "launch/driver.h"

/* Before Criterion starts: it has no way to end with "skipped". */
__attribute__((constructor)) static void skip_without_device(void) {
    stn_error why = {0};
    stn_driver *there;
    stn_compiler_place place;
    if (stn_driver_open(NULL, &there, &why) == STN_OK) {
        stn_driver_close(there);
        if (stn_compiler_locate(&place)) return;
        strcpy(why.message, "there is no NVRTC");
    }
    printf("skipped: %s\n", why.message);
    fflush(stdout);
    _exit(getenv("STENTOR_TESTS_MUST_RUN") ? 1 : 77);
}
