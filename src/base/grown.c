/* Structs that may grow. */
#include "base/grown.h"

#include <string.h>

#include "base/error.h"

stn_status stn_read_grown(const char *name, const void *given, void *into, size_t size, stn_error *error) {
    size_t given_size = 0;
    memset(into, 0, size);
    if (given) memcpy(&given_size, given, sizeof given_size);
    if (given_size > size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s.struct_size is %zu but this library knows only %zu bytes: use a library as new as the "
                        "header, or the struct's _INIT",
                        name, given_size, size);
    if (given_size % sizeof(size_t)) /* it would end inside of a pointer */
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s.struct_size is %zu, which is the size of no version of it: use the struct's _INIT, or 0",
                        name, given_size);
    if (given) memcpy(into, given, given_size ? given_size : size);
    return STN_OK;
}
