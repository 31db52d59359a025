/* Lines that a kernel transforms in shared memory (device/ladder.cuh): their radices, threads and
 * padding. */
#ifndef STN_STRATEGIES_COMMON_LADDER_H
#define STN_STRATEGIES_COMMON_LADDER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct stn_found; /* found.h */

#define STN_LADDER_STAGES 10
#define STN_LADDER_TABLE 1024 /* roots of a rung that are all stored */

typedef struct stn_ladder {
    int points; /* complex */
    int stages, radix[STN_LADDER_STAGES];
    int threads; /* of a line */
    int lines;   /* of a block, side by side */
    int pad;
    int copies; /* of a line in shared memory: the second holds what it is multiplied by */
    int common; /* lines there beside those, which hold what all are multiplied by */
    int shares; /* blocks of a cluster that hold a line together */
    int blocks; /* that fit on a multiprocessor */
} stn_ladder;

/* What the kernel and the machine ask of its lines. */
typedef struct stn_ladder_needs {
    bool wide;            /* f64 */
    int last;             /* the largest radix of the last rung */
    int lines;            /* wanted side by side */
    int shares;           /* at most; 0: one; more only for lines that one block does not hold */
    int fixed;            /* shares to be had, however short the lines; 0: any */
    int copies;           /* of each line in shared memory; 0: one */
    int common;           /* lines beside those of a block */
    int threads;          /* that a multiprocessor has registers for */
    int blocks;           /* that it holds at least, as far as there is room for them; 0: one */
    size_t shared, total; /* bytes a block and a multiprocessor have */
    size_t beside;        /* that a block takes beside its lines */
} stn_ladder_needs;

/* 2^a 3^b 5^c 7^d */
bool stn_ladder_good(int64_t n);
/* Instructions of arithmetic for each point of a line of a good length, about: by its best radices,
 * which the lengths' primes decide. */
double stn_ladder_work(int64_t n);
/* The most points of a line that one block holds. */
int64_t stn_ladder_most_points(bool wide, size_t shared);
/* Chooses all; fewer lines than wanted where shared memory is short of them. points: good and at
 * most the most. Kept, where there is a place, for the last few that were asked for: a search takes
 * milliseconds, and a plan's estimates ask for the same lines again and again. */
void stn_ladder_make(struct stn_found *found, int points, const stn_ladder_needs *needs, stn_ladder *line);
void stn_ladder_search(int points, const stn_ladder_needs *needs, stn_ladder *line); /* not kept */
size_t stn_ladder_shared(const stn_ladder *line, bool wide);
/* The ladder's roots; returns how many bytes. to: NULL: only that. */
size_t stn_ladder_roots(const stn_ladder *line, bool wide, void *to);
/* exp(-pi i t / points), t = 0 .. points, likewise */
size_t stn_ladder_half_roots(const stn_ladder *line, bool wide, void *to);
void stn_ladder_params(const stn_ladder *line, stn_text *params);

/* What was asked for, and the line that was found. */
typedef struct stn_ladder_answer {
    int points;
    stn_ladder_needs needs;
    stn_ladder line;
} stn_ladder_answer;
#endif
