/* See plane.h. */
#include "strategies/modes/plane.h"

#include "base/arith.h"
#include "base/error.h"
#include "context/kernel.h"

enum {
    MEMORY_LINE = 128, /* bytes */
    MAX_SHARES = 8,    /* blocks of a cluster */
    /* Most bytes of a block's lines if three, or two, blocks fit on a multiprocessor. */
    BLOCK_BYTES_OF_THREE = 72 << 10,
    BLOCK_BYTES_OF_TWO = 112 << 10
};
static const int passes[] = {MODES_ALONG_X, MODES_POWER, MODES_BACK_X};
enum { PASSES = sizeof passes / sizeof *passes };

/* Mirrors the struct of modes_plane.cu, where its members are documented; the values follow. */
typedef struct plane_arguments {
    const void *in[MODES_NUMBERS];
    void *out[MODES_NUMBERS], *spectrum;
    const void *twiddles, *half_twiddles;
    int64_t grids, across, pitch, width, tiles;
    modes_symbol_tables tables;
    uint64_t steps;
    double scale;
} plane_arguments;

/* Frequencies of a row of the spectrum, without and with padding. */
static int64_t row_frequencies(const modes_linear *l) { return l->axis[2].length / 2 + 1; }
static int64_t pitch_of(const modes_linear *l) {
    return stn_round_up(row_frequencies(l), MEMORY_LINE / (MODES_NUMBERS * modes_complex_bytes(l)));
}
static int64_t rows_of(const modes_linear *l) { return l->task->batch * l->axis[1].length; }

size_t modes_plane_bytes(const modes_linear *l) {
    return (size_t)(rows_of(l) * pitch_of(l) * MODES_NUMBERS * modes_complex_bytes(l));
}

/* Complex points of a line. */
static int64_t points_of(const modes_linear *l, int pass) {
    return pass == MODES_POWER ? l->axis[1].length : l->axis[2].length / 2;
}

/* The number of lines of a block; in MODES_POWER the blocks of a cluster share them. */
static int lines_of(const modes_linear *l, int pass) {
    if (pass == MODES_POWER) return MODES_COLUMN_BYTES / (int)modes_complex_bytes(l);
    return MODES_NUMBERS * points_of(l, pass) * modes_complex_bytes(l) <= BLOCK_BYTES_OF_THREE / 2 ? MODES_NUMBERS : 1;
}

/* The number of blocks that share a column. Padding is at most an index every 16 points. */
static int shares_of(const modes_linear *l, int pass) {
    const int64_t bytes = (points_of(l, pass) * 17 / 16 + 1) * lines_of(l, pass) * modes_complex_bytes(l);
    int shares = 1;
    while (pass == MODES_POWER && shares < MAX_SHARES && shares * (int64_t)BLOCK_BYTES_OF_THREE < bytes) shares *= 2;
    return shares;
}

bool modes_plane_fits(const modes_linear *l, const stn_machine *machine) {
    if (l->width != MODES_NUMBERS || l->affine || !l->real || !l->even[1] || l->axis[2].length % 2) return false;
    for (int i = 0; i < PASSES; i++) {
        const int64_t points = points_of(l, passes[i]), shares = shares_of(l, passes[i]);
        const int64_t bytes = (points / shares * 17 / 16 + 1) * lines_of(l, passes[i]) * modes_complex_bytes(l);
        if (points < MODES_MIN_POINTS || !stn_shared_fft_is_smooth(points) ||
            bytes > stn_min(BLOCK_BYTES_OF_TWO, (int64_t)machine->shared_per_block - MODES_TERM_BYTES))
            return false;
        /* The last stage of MODES_POWER has radix 2, 3 or 4. In a cluster each block has an even
         * number of results of a butterfly of the first stage, each of which goes to an even number
         * of butterflies of the last stage. */
        if (passes[i] == MODES_POWER && points % 2 && points % 3) return false;
        if (shares > 1 && (points % 128 || machine->sm < 90)) return false;
    }
    /* At most two numbers for each offset along y, in each stencil. */
    const int64_t terms =
        MODES_COLUMN_BYTES / modes_complex_bytes(l) / MODES_NUMBERS * l->nstencils * (4 * l->reach[1] + 2);
    return terms * (int64_t)sizeof(modes_value) <= MODES_TERM_BYTES;
}

/* ---- lines of a block ----------------------------------------------------------------------- */

/* In the last stage of MODES_POWER neighbouring threads have neighbouring frequencies, whose points
 * are the stride of an earlier stage apart. If this is a power of 2, the pad makes it odd, so that
 * the points are in different banks. */
static void set_pad(stn_shared_fft *line) {
    int stride = line->points;
    for (int i = 0; i < (line->shares > 1 ? 2 : 1); i++) stride /= line->radix[i];
    if (stride >= 16 && !(stride & (stride - 1))) line->pad = stride;
}

static bool make_line(const modes_linear *l, const stn_machine *machine, int pass, modes_lines *made) {
    const bool is_power = pass == MODES_POWER;
    const int shares = shares_of(l, pass);
    stn_shared_fft *line = &made->line[pass];
    /* A divisor of the first radix. In a cluster: 2 * shares, so that each block has an even number
     * of results. For long rows: 8, so that a thread loads eight or sixteen points at a time. */
    const int first = shares > 1 ? 2 * shares : !is_power && points_of(l, pass) % 64 == 0 ? 8 : 0;
    const stn_shared_fft_needs needs = {.wide = modes_is_f64(l),
                                        .last = !is_power                                        ? 8
                                                : modes_is_f64(l) && points_of(l, pass) % 2 == 0 ? 2
                                                                                                 : 4,
                                        .pairs = true,
                                        .lines = lines_of(l, pass),
                                        .fixed = shares > 1 ? shares : 0,
                                        .first = first,
                                        .threads = modes_is_f64(l) ? is_power ? 384 : 512
                                                   : is_power      ? 512
                                                                   : 768,
                                        .blocks = !is_power && modes_is_f64(l) && lines_of(l, pass) == 1 ? 2 : 3,
                                        .shared = machine->shared_per_block - MODES_TERM_BYTES,
                                        .total = machine->shared_per_multiprocessor,
                                        .other_bytes = is_power ? MODES_TERM_BYTES : 0};
    stn_shared_fft_search((int)points_of(l, pass), &needs, line);
    if (line->lines != needs.lines || !line->threads) return false;
    if (is_power) set_pad(line), made->columns = line->lines / MODES_NUMBERS;
    return true;
}

stn_status modes_plane_make(stn_plan *plan, const modes_linear *l, modes_lines *made, stn_error *error) {
    const modes_line_kernels kernels = {"modes_plane", sizeof(plane_arguments), 1, MODES_ALONG_X};
    bool fits = modes_plane_fits(l, &plan->machine);
    for (int i = 0; i < PASSES && fits; i++) fits = make_line(l, &plan->machine, passes[i], made);
    return fits ? modes_line_kernels_make(plan, l, &kernels, made, error) : modes_line_no_room(error);
}

/* ---- a run ---------------------------------------------------------------------------------- */

stn_status modes_plane_run(const modes_lines *plane, const modes_linear *l, const double *numbers, uint64_t steps,
                           const stn_execution *run, stn_error *error) {
    struct {
        plane_arguments a;
        modes_value values[MODES_MAX_VALUES];
    } all = {.a = {.spectrum = run->workspace,
                   .grids = l->task->batch,
                   .across = l->axis[1].length,
                   .pitch = pitch_of(l),
                   .width = row_frequencies(l),
                   .tables = modes_power_tables(&plane->power, l),
                   .half_twiddles = (const char *)plane->tables + plane->half_twiddles,
                   .steps = steps,
                   .scale = 0.5 / (double)(l->axis[1].length * l->axis[2].length)}};
    plane_arguments *a = &all.a;
    for (int i = 0; i < MODES_NUMBERS; i++) a->in[i] = run->system->in[i], a->out[i] = run->system->out[i];
    modes_power_values(&plane->power, l, numbers, all.values);
    for (int i = 0; i < PASSES; i++) {
        const int pass = passes[i];
        const stn_shared_fft *line = &plane->line[pass];
        a->tiles = stn_div_up(MODES_NUMBERS * (pass == MODES_POWER ? a->width : rows_of(l)), line->lines);
        a->twiddles = (const char *)plane->tables + plane->twiddles[pass];
        const stn_launch how = {
            .grid = {(unsigned)(a->tiles * (pass == MODES_POWER ? a->grids : 1) * line->shares), 1, 1},
            .block = {(unsigned)(line->threads * line->lines), 1, 1},
            .shared = modes_line_shared(plane, l, pass),
            .cluster = (unsigned)line->shares,
            .stream = run->stream};
        STN_TRY(stn_module_launch(plane->kernel[pass]->module, &how, &all, error));
    }
    return STN_OK;
}
