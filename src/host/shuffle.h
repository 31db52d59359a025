/* A vector of numbers of two vectors at the given indices, in GCC's and in clang's language. */
#ifndef STN_HOST_SHUFFLE_H
#define STN_HOST_SHUFFLE_H

/* indices: a vector type of integers of the numbers' size; clang needs none. */
#ifdef __clang__
#define STN_SHUFFLE(indices, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define STN_SHUFFLE(indices, a, b, ...) __builtin_shuffle(a, b, (indices){__VA_ARGS__})
#endif
#endif
