/* Linked into tests that need a device and NVRTC: without them the program ends as skipped and says
 * why; with STENTOR_TESTS_MUST_RUN set (the emulator) it fails. Tests that have cases for the host
 * too are compiled with HAS_HOST_CASES, and skipped only if STENTOR_TEST_ON_GPU is set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compiler.h"
#include "launch/driver.h"

/* Runs before Criterion starts, which cannot end with "skipped". */
__attribute__((constructor)) static void skip_without_device(void) {
    stn_error why = {0};
    stn_driver *there;
    stn_compiler_location place;
#ifdef HAS_HOST_CASES
    if (!getenv("STENTOR_TEST_ON_GPU")) return;
#endif
    if (stn_driver_open(NULL, &there, &why) == STN_OK) {
        stn_driver_close(there);
        if (stn_compiler_locate(&place)) return;
        strcpy(why.message, "there is no NVRTC");
    }
    printf("skipped: %s\n", why.message);
    fflush(stdout);
    _exit(getenv("STENTOR_TESTS_MUST_RUN") ? 1 : 77);
}
