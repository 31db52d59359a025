/* A program that uses the installed library: prints its version, and one result. */
#include <stdio.h>
#include <stentor.h>

int main(void) {
    stn_stencil *heat;
    stn_error error;
    if (stn_stencil_parse("heat-2d", &heat, &error) != STN_OK) {
        printf("%s\n", error.message);
        return 1;
    }
    printf("stentor %s, %zu taps\n", stn_version(), stn_stencil_tap_count(heat));
    stn_stencil_destroy(heat);
    return 0;
}
