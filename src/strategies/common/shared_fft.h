/* Shared-memory FFT (device/shared_fft.cuh): radices, threads and padding of the lines that a block
 * transforms. */
#ifndef STN_STRATEGIES_COMMON_SHARED_FFT_H
#define STN_STRATEGIES_COMMON_SHARED_FFT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "stentor.h"

struct stn_kernel;
struct stn_search_cache; /* search_cache.h */

#define STN_SHARED_FFT_STAGES 10
#define STN_SHARED_FFT_TABLE 1024 /* most twiddles of a stage of which all are stored */

typedef struct stn_shared_fft {
    int points; /* complex points */
    int stages, radix[STN_SHARED_FFT_STAGES];
    int threads; /* threads of a line */
    int lines;   /* lines of a block, adjacent */
    int pad;
    int copies; /* copies of a line in shared memory: the second holds its multipliers */
    int common; /* further lines in shared memory, with multipliers common to all lines */
    int shares; /* blocks of a cluster that hold a line together */
    int blocks; /* blocks that must fit on a multiprocessor */
} stn_shared_fft;

/* Requirements of the kernel and limits of the machine. */
typedef struct stn_shared_fft_needs {
    bool wide;  /* f64 instead of f32 */
    int last;   /* largest radix of the last stage */
    bool pairs; /* a thread computes two butterflies of the last stage at once */
    int lines;  /* requested adjacent lines */
    /* Maximum blocks for a line; 0: one; more than one only for lines that do not fit one block. */
    int shares;
    int fixed;   /* exact number of blocks for a line of any length; 0: free */
    int first;   /* divides the first radix; 0: any */
    int copies;  /* copies of each line in shared memory; 0: one */
    int common;  /* lines besides those of a block */
    int threads; /* threads for which a multiprocessor has registers */
    /* Least number of blocks on a multiprocessor, if shared memory allows; 0: one. */
    int blocks;
    size_t shared, total; /* bytes of shared memory for a block and on a multiprocessor */
    size_t other_bytes;   /* bytes of a block's shared memory that hold no lines */
} stn_shared_fft_needs;

/* Whether n is 2^a 3^b 5^c 7^d. */
bool stn_shared_fft_is_smooth(int64_t n);
/* Approximate arithmetic instructions for each point of a line of n points (smooth), with the best
 * radices of the fewest stages. */
double stn_shared_fft_work(int64_t n);
/* The largest number of points of a line that fits one block. */
int64_t stn_shared_fft_most_points(bool wide, size_t shared);
/* Fills *line, with fewer lines than requested if shared memory is short. `points` must be smooth
 * and at most stn_shared_fft_most_points. The last results are cached, because a search takes
 * milliseconds and a plan's estimates repeat the same requests. */
void stn_shared_fft_make(struct stn_search_cache *cache, int points, const stn_shared_fft_needs *needs,
                         stn_shared_fft *line);
/* The same without the cache. */
void stn_shared_fft_search(int points, const stn_shared_fft_needs *needs, stn_shared_fft *line);
/* The cost that a search minimises: cycles of a multiprocessor for each point. */
double stn_shared_fft_cost(const stn_shared_fft *line, const stn_shared_fft_needs *needs);
size_t stn_shared_fft_bytes(const stn_shared_fft *line, bool wide);
/* Writes the tables of twiddles of all stages; returns their bytes. to may be NULL. */
size_t stn_shared_fft_twiddles(const stn_shared_fft *line, bool wide, void *to);
/* Writes exp(-pi i t / points), t = 0 .. points; returns the bytes. to may be NULL. */
size_t stn_shared_fft_half_twiddles(const stn_shared_fft *line, bool wide, void *to);
void stn_shared_fft_params(const stn_shared_fft *line, stn_text *params);
/* Launches a kernel that transforms such lines with `blocks` blocks, or clusters of blocks. */
stn_status stn_shared_fft_launch(const stn_shared_fft *line, bool wide, const struct stn_kernel *kernel, int64_t blocks,
                                 void *arguments, void *stream, stn_error *error);

#endif
