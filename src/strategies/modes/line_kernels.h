/* Kernels of the strategy modes on a GPU for passes along lines of one axis each (modes_lines.cu,
 * modes_plane.cu), whose blocks hold lines in shared memory. lines.c and plane.c choose the lines
 * of a block and launch the kernels. */
#ifndef STN_STRATEGIES_MODES_LINE_KERNELS_H
#define STN_STRATEGIES_MODES_LINE_KERNELS_H
#include "strategies/common/shared_fft.h"
#include "strategies/modes/power_kernel.h"

/* Transforms along x and, in 3D, y; along the slowest axis, the power, and back; back along y and
 * x. */
enum { MODES_ALONG_X, MODES_ALONG_Y, MODES_POWER, MODES_BACK_Y, MODES_BACK_X, MODES_LINES_PASSES };

enum {
    MODES_NUMBERS = 2,       /* numbers of the state */
    MODES_COLUMN_BYTES = 64, /* bytes of neighbouring columns of a block */
    MODES_MIN_POINTS = 16,   /* of a line: an FFT has two stages */
    MODES_TERM_BYTES = 4096  /* bytes of shared memory of a block's terms at most */
};

typedef struct modes_lines {
    modes_power power;                       /* without a kernel */
    stn_shared_fft line[MODES_LINES_PASSES]; /* zero where there is no pass */
    stn_kernel *kernel[MODES_LINES_PASSES];
    void *tables;                                       /* device memory, owned: twiddle factors */
    size_t twiddles[MODES_LINES_PASSES], half_twiddles; /* byte offsets */
    int columns;                                        /* of a block or cluster of MODES_POWER */
} modes_lines;

/* How modes_lines.cu and modes_plane.cu differ when their kernels are made. */
typedef struct modes_line_kernels {
    const char *name;
    size_t arguments; /* bytes of the kernel's arguments before the values */
    int term_axis;    /* the axis of the lines of frequencies that have the same terms */
    int half;         /* the pass whose lines have half twiddles */
} modes_line_kernels;

static inline bool modes_is_f64(const modes_linear *l) { return l->task->dtype == STN_F64; }
static inline int64_t modes_complex_bytes(const modes_linear *l) { return modes_is_f64(l) ? 16 : 8; }
/* Bytes of shared memory of a block. */
size_t modes_line_shared(const modes_lines *made, const modes_linear *linear, int pass);
/* Makes the tables, and the kernel of each pass whose line is set. */
stn_status modes_line_kernels_make(stn_plan *plan, const modes_linear *linear, const modes_line_kernels *kernels,
                                   modes_lines *made, stn_error *error);
stn_status modes_line_no_room(stn_error *error); /* reports that a block cannot hold its lines */
void modes_lines_clear(const stn_plan *plan, modes_lines *made);
#endif
