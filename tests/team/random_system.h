/* Random systems with their arrays, of a whole grid or of some of its rows, for tests of teams. */
#ifndef STN_TESTS_TEAM_RANDOM_SYSTEM_H
#define STN_TESTS_TEAM_RANDOM_SYSTEM_H
#include "../strategies/compare.h"

enum { SYSTEM_ARRAYS = 12, SYSTEM_POINTS = 6 };

typedef struct random_system {
    char text[4000];
    stn_system *system; /* owned */
    stn_system_problem problem;
    stn_system_point sources[SYSTEM_POINTS], receivers[SYSTEM_POINTS];
    int arrays, is_number[SYSTEM_ARRAYS];
    int coefficients;
    double numbers[SYSTEM_ARRAYS];
    size_t row; /* bytes of a row of one grid */
    size_t states, source_channels, receiver_channels;
} random_system;

/* All owned. Rows of host memory, or of a context's. */
typedef struct system_memory {
    size_t rows;
    void *in[SYSTEM_ARRAYS], *out[SYSTEM_ARRAYS], *coefficients[SYSTEM_ARRAYS];
    void *amplitudes, *records; /* of the whole run */
    stn_system_arrays arrays;
} system_memory;

/* Draws problem `index` of `seed`, always a valid one of one device. */
void random_system_draw(uint64_t seed, uint64_t index, random_system *r);
void random_system_clear(random_system *r);

/* Host memory of so many rows; outputs are zero. */
void system_memory_make(const random_system *r, size_t rows, system_memory *memory);
void system_memory_clear(const random_system *r, system_memory *memory);
void system_memory_fill(const random_system *r, uint64_t seed, system_memory *memory);
/* The inputs of rows `first` and following. */
void system_memory_take(const random_system *r, const system_memory *whole, size_t first, system_memory *part);
/* True if the outputs are those rows of the whole grid's. */
bool system_memory_same(const random_system *r, const system_memory *whole, size_t first, const system_memory *part);
/* GPUs may add the points of a channel with fused multiplications, the host of a team does not. */
bool system_records_same(const random_system *r, const system_memory *a, const system_memory *b, bool to_the_bit);

/* Memory of a context with the inputs of host memory. */
stn_status system_memory_place(const random_system *r, stn_context *context, const system_memory *host,
                               system_memory *there, stn_error *error);
/* Its outputs, to host memory; frees it. */
stn_status system_memory_fetch(const random_system *r, stn_context *context, system_memory *there, system_memory *host,
                               stn_error *error);

/* Runs the system on one device, with its arrays in host memory. */
stn_status random_system_run(const random_system *r, stn_context *context, const char *strategy, system_memory *host,
                             stn_error *error);
#endif
