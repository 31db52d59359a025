/* See sanitize.h: replacement of control characters. */
#include "base/sanitize.h"

#include <stdbool.h>

void stn_text_sanitize(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        bool late = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0; /* UTF-8 of U+0080 to U+009F */
        if (late) c[1] = '?';
        if (late || (*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f) *c = '?';
    }
}
