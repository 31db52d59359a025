/* Shared-memory FFT (device/ladder.cuh): radices, threads and padding of the lines that a block
 * transforms. */
#ifndef STN_STRATEGIES_COMMON_LADDER_H
#define STN_STRATEGIES_COMMON_LADDER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct stn_found; /* found.h */

#define STN_LADDER_STAGES 10
#define STN_LADDER_TABLE 1024 /* stages with at most so many roots store all of them */

typedef struct stn_ladder {
    int points; /* complex points */
    int stages, radix[STN_LADDER_STAGES];
    int threads; /* threads of a line */
    int lines;   /* lines of a block, adjacent */
    int pad;
    int copies; /* copies of a line in shared memory: the second holds its multipliers */
    int common; /* further lines in shared memory, with multipliers common to all lines */
    int shares; /* blocks of a cluster that hold a line together */
    int blocks; /* blocks that must fit on a multiprocessor */
} stn_ladder;

/* Requirements of the kernel and limits of the machine. */
typedef struct stn_ladder_needs {
    bool wide; /* f64 instead of f32 */
    int last;  /* largest radix of the last stage */
    int lines; /* requested adjacent lines */
    /* Maximum blocks for a line; 0: one; more than one only for lines that do not fit one block. */
    int shares;
    int fixed;   /* exact number of blocks for a line of any length; 0: free */
    int copies;  /* copies of each line in shared memory; 0: one */
    int common;  /* lines besides those of a block */
    int threads; /* threads for which a multiprocessor has registers */
    /* Blocks on a multiprocessor, at least, if shared memory allows; 0: one. */
    int blocks;
    size_t shared, total; /* bytes of shared memory for a block and on a multiprocessor */
    size_t beside;        /* bytes of shared memory of a block besides its lines */
} stn_ladder_needs;

/* Whether n is 2^a 3^b 5^c 7^d. */
bool stn_ladder_good(int64_t n);
/* Approximate arithmetic instructions for each point of a line of a good length with its best
 * radices. */
double stn_ladder_work(int64_t n);
/* The largest number of points of a line that fits one block. */
int64_t stn_ladder_most_points(bool wide, size_t shared);
/* Chooses everything; fewer lines than requested if shared memory is short. points: good and at
 * most the maximum. The last results are cached, because a search takes milliseconds and a plan's
 * estimates repeat the same requests. */
void stn_ladder_make(struct stn_found *found, int points, const stn_ladder_needs *needs, stn_ladder *line);
/* Without cache. */
void stn_ladder_search(int points, const stn_ladder_needs *needs, stn_ladder *line);
size_t stn_ladder_shared(const stn_ladder *line, bool wide);
/* Writes the tables of roots of all stages; returns their bytes. to may be NULL. */
size_t stn_ladder_roots(const stn_ladder *line, bool wide, void *to);
/* Writes exp(-pi i t / points), t = 0 .. points; returns the bytes. to may be NULL. */
size_t stn_ladder_half_roots(const stn_ladder *line, bool wide, void *to);
void stn_ladder_params(const stn_ladder *line, stn_text *params);

#endif
