/* See plane.h. */
#include "strategies/modes/plane.h"

#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"

enum {
    WIDTH = 2,         /* numbers of the state */
    COLUMN_BYTES = 64, /* of a row of the spectrum: the columns of a block or cluster */
    MEMORY_LINE = 128, /* bytes */
    LEAST_POINTS = 16, /* of a line: an FFT has two stages */
    MOST_SHARES = 8,   /* blocks of a cluster */
    TERM_BYTES = 4096, /* most bytes of shared memory for a block's terms of stencils */
    /* Most bytes of a block's lines if three, or two, blocks fit on a multiprocessor. */
    BLOCK_BYTES_OF_THREE = 72 << 10,
    BLOCK_BYTES_OF_TWO = 112 << 10
};
static const int passes[] = {MODES_ALONG_X, MODES_POWER, MODES_BACK_X};
enum { PASSES = sizeof passes / sizeof *passes };

/* Mirrors the struct of modes_plane.cu, where its members are documented; the values follow. */
typedef struct plane_arguments {
    const void *in[WIDTH];
    void *out[WIDTH], *spectrum;
    const void *twiddles, *half_twiddles;
    int64_t grids, across, pitch, width, tiles;
    modes_symbol_tables tables;
    uint64_t steps;
    double scale;
} plane_arguments;

static bool is_wide(const modes_linear *l) { return l->task->dtype == STN_F64; }
static int64_t complex_bytes(const modes_linear *l) { return is_wide(l) ? 16 : 8; }
/* Frequencies of a row of the spectrum, without and with padding. */
static int64_t row_frequencies(const modes_linear *l) { return l->axis[2].length / 2 + 1; }
static int64_t pitch_of(const modes_linear *l) {
    return stn_round_up(row_frequencies(l), MEMORY_LINE / (WIDTH * complex_bytes(l)));
}
static int64_t rows_of(const modes_linear *l) { return l->task->batch * l->axis[1].length; }

size_t modes_plane_bytes(const modes_linear *l) {
    return (size_t)(rows_of(l) * pitch_of(l) * WIDTH * complex_bytes(l));
}

/* Complex points of a line. */
static int64_t points_of(const modes_linear *l, int pass) {
    return pass == MODES_POWER ? l->axis[1].length : l->axis[2].length / 2;
}

/* The number of lines of a block; in MODES_POWER the blocks of a cluster share them. */
static int lines_of(const modes_linear *l, int pass) {
    if (pass == MODES_POWER) return COLUMN_BYTES / (int)complex_bytes(l);
    return WIDTH * points_of(l, pass) * complex_bytes(l) <= BLOCK_BYTES_OF_THREE / 2 ? WIDTH : 1;
}

/* The number of blocks that share a column. Padding is at most an index every 16 points. */
static int shares_of(const modes_linear *l, int pass) {
    const int64_t bytes = (points_of(l, pass) * 17 / 16 + 1) * lines_of(l, pass) * complex_bytes(l);
    int shares = 1;
    while (pass == MODES_POWER && shares < MOST_SHARES && shares * (int64_t)BLOCK_BYTES_OF_THREE < bytes) shares *= 2;
    return shares;
}

bool modes_plane_fits(const modes_linear *l, const stn_machine *machine) {
    if (l->width != WIDTH || l->affine || !l->real || !l->even[1] || l->axis[2].length % 2) return false;
    for (int i = 0; i < PASSES; i++) {
        const int64_t points = points_of(l, passes[i]), shares = shares_of(l, passes[i]);
        const int64_t bytes = (points / shares * 17 / 16 + 1) * lines_of(l, passes[i]) * complex_bytes(l);
        if (points < LEAST_POINTS || !stn_shared_fft_is_smooth(points) ||
            bytes > stn_min(BLOCK_BYTES_OF_TWO, (int64_t)machine->shared_per_block - TERM_BYTES))
            return false;
        /* The last stage of MODES_POWER has radix 2, 3 or 4. In a cluster each block has an even
         * number of results of a butterfly of the first stage, each of which goes to an even number
         * of butterflies of the last stage. */
        if (passes[i] == MODES_POWER && points % 2 && points % 3) return false;
        if (shares > 1 && (points % 128 || machine->sm < 90)) return false;
    }
    /* Each stencil has at most two terms for each offset along y. */
    const int64_t terms = COLUMN_BYTES / complex_bytes(l) / WIDTH * l->nstencils * (4 * l->reach[1] + 2);
    return terms * (int64_t)sizeof(modes_value) <= TERM_BYTES;
}

/* ---- building ------------------------------------------------------------------------------- */

static size_t shared_bytes(const modes_linear *l, const modes_lines *made, int pass) {
    const stn_shared_fft *line = &made->line[pass];
    const size_t fft = stn_shared_fft_bytes(line, is_wide(l));
    if (pass != MODES_POWER) return fft;
    return fft + (size_t)(line->lines / WIDTH * (int)stn_max(1, made->power.shape.slots)) * sizeof(modes_value);
}

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
    /* In a cluster each block has an even number of a butterfly's results. In long rows each thread
     * loads eight points, or sixteen, at a time. */
    const int first = shares > 1 ? 2 * shares : !is_power && points_of(l, pass) % 64 == 0 ? 8 : 0;
    const stn_shared_fft_needs needs = {.wide = is_wide(l),
                                        .last = !is_power                                   ? 8
                                                : is_wide(l) && points_of(l, pass) % 2 == 0 ? 2
                                                                                            : 4,
                                        .pairs = true,
                                        .lines = lines_of(l, pass),
                                        .fixed = shares > 1 ? shares : 0,
                                        .first = first,
                                        .threads = is_wide(l) ? is_power ? 384 : 512
                                                   : is_power ? 512
                                                              : 768,
                                        .blocks = !is_power && is_wide(l) && lines_of(l, pass) == 1 ? 2 : 3,
                                        .shared = machine->shared_per_block - TERM_BYTES,
                                        .total = machine->shared_per_multiprocessor,
                                        .other_bytes = is_power ? TERM_BYTES : 0};
    stn_shared_fft_search((int)points_of(l, pass), &needs, line);
    if (line->lines != needs.lines || !line->threads) return false;
    if (is_power) set_pad(line);
    return true;
}

static stn_status make_kernel(stn_plan *plan, const modes_linear *l, int pass, const stn_text *symbols,
                              modes_lines *made, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_type(&params, "REAL", is_wide(l) ? "double" : "float");
    modes_render_fields(l, &params);
    stn_params_int(&params, "MODES_PASS", pass);
    stn_shared_fft_params(&made->line[pass], &params);
    stn_params_int(&params, "EXPECTED_HEADER",
                   (int64_t)(sizeof(plane_arguments) + (size_t)stn_max(made->power.nvalues, 1) * sizeof(modes_value)));
    stn_text_append(&params, symbols->data, symbols->size);
    return stn_kernel_make(plan->kernels, "modes_plane", &params, shared_bytes(l, made, pass), &made->kernel[pass],
                           error);
}

stn_status modes_plane_make(stn_plan *plan, const modes_linear *l, modes_lines *made, stn_error *error) {
    stn_text symbols = STN_TEXT_EMPTY;
    bool fits = modes_plane_fits(l, &plan->machine);
    for (int i = 0; i < PASSES && fits; i++) fits = make_line(l, &plan->machine, passes[i], made);
    if (!fits) return stn_fail(error, STN_ERROR_UNSUPPORTED, "a block has no room for lines of these grids");
    stn_status status = modes_power_symbols(plan, l, 1, &made->power, &symbols, error);
    for (int i = 0; i < PASSES && status == STN_OK; i++)
        status = make_kernel(plan, l, passes[i], &symbols, made, error);
    if (status == STN_OK && plan->machine.present)
        status = modes_lines_make_tables(plan, is_wide(l), MODES_ALONG_X, made, error);
    stn_text_clear(&symbols);
    return status;
}

/* ---- a run ---------------------------------------------------------------------------------- */

stn_status modes_plane_run(const modes_lines *plane, const modes_linear *l, const double *numbers, uint64_t steps,
                           const stn_execution *run, stn_error *error) {
    struct {
        plane_arguments a;
        modes_value values[MODES_MOST_VALUES];
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
    for (int i = 0; i < WIDTH; i++) a->in[i] = run->system->in[i], a->out[i] = run->system->out[i];
    modes_power_values(&plane->power, l, numbers, all.values);
    for (int i = 0; i < PASSES; i++) {
        const int pass = passes[i];
        const stn_shared_fft *line = &plane->line[pass];
        a->tiles = stn_div_up(WIDTH * (pass == MODES_POWER ? a->width : rows_of(l)), line->lines);
        a->twiddles = (const char *)plane->tables + plane->twiddles[pass];
        const stn_launch how = {
            .grid = {(unsigned)(a->tiles * (pass == MODES_POWER ? a->grids : 1) * line->shares), 1, 1},
            .block = {(unsigned)(line->threads * line->lines), 1, 1},
            .shared = shared_bytes(l, plane, pass),
            .cluster = (unsigned)line->shares,
            .stream = run->stream};
        STN_TRY(stn_module_launch(plane->kernel[pass]->module, &how, &all, error));
    }
    return STN_OK;
}
