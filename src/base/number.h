/* Numbers as text, the same in every locale: a comma for the decimal point would break JSON and our
 * own syntax. */
#ifndef STN_BASE_NUMBER_H
#define STN_BASE_NUMBER_H
#include <stdbool.h>
#include <stddef.h>

#define STN_NUMBER_SIZE 40 /* bytes that any formatted double fits in, the NUL included */

/* The whole of text[0..size) as one finite decimal number. False, with *value untouched, for
 * anything else: spaces, hexadecimal, inf, nan, a value past the range of double, more than 63
 * characters. */
bool stn_number_parse(const char *text, size_t size, double *value);

/* The shortest decimal form that reads back equal; inf and nan as printf writes them. */
void stn_number_format(double value, char digits[STN_NUMBER_SIZE]);
#endif
