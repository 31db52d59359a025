/* The version as text, from the numbers in stentor.h. */
#include "stentor.h"

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *stn_version(void) { return VERSION_TEXT(STN_VERSION_MAJOR, STN_VERSION_MINOR, STN_VERSION_PATCH); }
