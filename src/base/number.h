/* Parsing and formatting of doubles, the same in every locale: a decimal comma would break JSON and
 * the library's own syntax. */
#ifndef STN_BASE_NUMBER_H
#define STN_BASE_NUMBER_H
#include <stdbool.h>
#include <stddef.h>

#define STN_NUMBER_SIZE 40 /* bytes of the longest formatted double, NUL included */

/* Parses the whole of text[0..size) as one finite decimal number. Returns false and leaves *value
 * untouched for anything else: spaces, hexadecimal, inf, nan, a value past the range of double,
 * more than 63 characters. */
bool stn_number_parse(const char *text, size_t size, double *value);

/* Writes the shortest decimal form that reads back equal; inf and nan as printf writes them. */
void stn_number_format(double value, char digits[STN_NUMBER_SIZE]);
#endif
