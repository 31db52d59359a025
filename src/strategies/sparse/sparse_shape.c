/* Shapes of the sparse kernels and their params.cuh. */
#include "strategies/sparse/sparse_shape.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "render/render.h"
#include "strategies/common/alignment_pad.h"
#include "strategies/common/grid_layout.h"

#define MAX_PRODUCTS 64 /* of 8 rows, with all parts; eight times as many are unrolled */
#define MAX_FUSED_LINE 127
#define MAX_HALVES 32      /* longest window, in units of 8 words */
#define MAX_HALVES_LINE 36 /* the same in 1D, where fewer lengths exist */
#define MAX_ROWS 64        /* reach along y, both sides together */
/* Most registers of a chain's thread for left factors, words between products, and sums. */
#define MAX_CHAIN_REGISTERS 200
/* The same if a multiprocessor holds two blocks; a thread has some 45 further registers. */
#define MAX_REGISTERS_TWO_BLOCKS 80
#define LONG_LINE_ADJACENT 2 /* adjacent columns of a product in long lines */
#define MEMORY_LINE 128      /* bytes */
#define WORD 4               /* bytes of a copy where rows are unaligned */
#define CHUNK 32             /* rows of a chain's ring that arrive together */
#define SIDE_COLUMNS 3       /* columns of a chain's tiles of which some lie past sides, at most */
#define WARP_ROWS 8          /* rows of a warp of sparse_march */
#define FRAGMENTS_HELD 16    /* left factors in registers, 4 each, besides 32 for sums */

/* ---- the rows of fused taps */

/* The lowest and the highest row of taps in each plane. sparse_rows_of computes the hull of f steps
 * from that of f - 1 steps and that of one step. */
typedef struct hull {
    int low[SPARSE_MAX_PLANES], high[SPARSE_MAX_PLANES]; /* low > high: no rows */
} hull;

static void clear_hull(hull *h) {
    for (int d = 0; d < SPARSE_MAX_PLANES; d++) h->low[d] = INT32_MAX / 2, h->high[d] = INT32_MIN / 2;
}

static void add_to_hull(hull *h, int plane, int low, int high) {
    h->low[plane] = (int)stn_min(h->low[plane], low);
    h->high[plane] = (int)stn_max(h->high[plane], high);
}

/* Whether some launches make f - 1 steps, with the same kernel: launches share the steps evenly,
 * but f may not divide them. Without a centre tap, f - 1 steps may reach rows that f steps do not.
 */
static bool has_shorter_launches(const stn_task *task, int fused) {
    return fused > 1 && task->steps % (uint64_t)stn_div_up((int64_t)task->steps, fused) != 0;
}

bool sparse_rows_of(const stn_task *task, int fused, sparse_rows *rows) {
    int more = task->reach[0][0] + task->reach[0][1], low = fused * task->reach[1][0];
    if ((int64_t)fused * more + 1 > SPARSE_MAX_PLANES) return false;
    hull one, all, next, shorter;
    clear_hull(&one);
    clear_hull(&all);
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        add_to_hull(&one, (int)o[0] + task->reach[0][0], (int)o[1], (int)o[1]);
    }
    add_to_hull(&all, 0, 0, 0);
    if (!more) { /* one plane, whose rows grow evenly */
        shorter = all;
        shorter.low[0] = (fused - 1) * one.low[0], shorter.high[0] = (fused - 1) * one.high[0];
        all.low[0] = fused * one.low[0], all.high[0] = fused * one.high[0];
    }
    for (int f = 0; f < fused && more; f++, all = next) {
        shorter = all;
        clear_hull(&next);
        for (int d = 0; d <= f * more; d++)
            for (int e = 0; e <= more; e++)
                if (all.low[d] <= all.high[d] && one.low[e] <= one.high[e])
                    add_to_hull(&next, d + e, all.low[d] + one.low[e], all.high[d] + one.high[e]);
    }
    if (has_shorter_launches(task, fused))
        for (int d = 0; d <= (fused - 1) * more; d++)
            if (shorter.low[d] <= shorter.high[d])
                add_to_hull(&all, d + task->reach[0][0], shorter.low[d], shorter.high[d]);
    *rows = (sparse_rows){.planes = fused * more + 1};
    for (int d = 0; d < rows->planes; d++) {
        bool any = all.low[d] <= all.high[d];
        rows->first[d] = any ? all.low[d] + low : 0;
        rows->count[d] = any ? all.high[d] - all.low[d] + 1 : 0;
        rows->all += rows->count[d];
    }
    return true;
}

/* ---- shapes */

int sparse_reach(const stn_task *task, const sparse_shape *shape, int axis, int side) {
    return shape->fused * task->reach[axis][side];
}

bool sparse_must_split(const stn_task *task) {
    return task->dtype == STN_F32 && task->tolerance < SPARSE_TF32_TOLERANCE;
}
int sparse_products_of_factor(const sparse_shape *shape) {
    return shape->split ? 3 : shape->parts; /* high x high, high x low, low x high */
}

static int slot(const stn_task *task) { return 16 / (int)stn_dtype_size(task->dtype); }
static bool is_adjacent(const sparse_shape *shape) { return shape->adjacent_columns == SPARSE_COLUMNS; }
/* Width and height of a block's tile. */
static int tile_width(const sparse_shape *shape) {
    return SPARSE_OUTPUTS * (shape->adjacent_warps ? SPARSE_COLUMNS * shape->adjacent_warps : shape->warps);
}
static int tile_height(const sparse_shape *shape) {
    return shape->adjacent_warps ? WARP_ROWS * shape->warps / shape->adjacent_warps : SPARSE_TILE_ROWS;
}
int sparse_points(const stn_task *task, const sparse_shape *shape) {
    (void)task;
    return tile_width(shape) * tile_height(shape) / shape->warps;
}
/* Planes that the taps read. */
static int planes_of(const stn_task *task, const sparse_shape *shape) {
    return sparse_reach(task, shape, 0, 0) + sparse_reach(task, shape, 0, 1) + 1;
}

/* ---- windows and shared memory */

sparse_window sparse_window_of(const stn_task *task, const sparse_shape *shape) {
    int low = sparse_reach(task, shape, 2, 0), high = sparse_reach(task, shape, 2, 1);
    return (sparse_window){
        .dtype = task->dtype, .halves = shape->halves, .first = shape->lead - low, .span = low + high, .paired = true};
}

sparse_window sparse_window_y_of(const stn_task *task, const sparse_shape *shape) {
    int span = sparse_reach(task, shape, 1, 0) + sparse_reach(task, shape, 1, 1);
    return (sparse_window){
        .dtype = task->dtype, .halves = shape->halves_y, .span = span, .interleaved = sparse_windows(task, shape) > 1};
}

int sparse_windows(const stn_task *task, const sparse_shape *shape) {
    return shape->terms && shape->vector == 1 && stn_dtype_size(task->dtype) < WORD ? 2 : 1;
}

const char *sparse_kernel_name(const stn_task *task, const sparse_shape *shape) {
    if (shape->terms) return "sparse_chain";
    return task->rank == 1 ? "sparse_line" : shape->adjacent_warps ? "sparse_march" : "sparse_tile";
}

/* Elements that a chain copies from a line's other end, if rows are unaligned and wrap (as in
 * unaligned.cuh). */
static int64_t end_elements(const stn_task *task, const sparse_shape *shape) {
    if (shape->vector > 1 || task->boundary[2][0].kind != STN_WRAP) return 0;
    const int64_t reach = stn_max(sparse_reach(task, shape, 2, 0), sparse_reach(task, shape, 2, 1));
    return task->dtype == STN_F16 ? (reach + 3) / 2 * 2 : reach;
}

/* Bytes of a stage, laid out as in the kernels; adjacent columns need no padding. */
static size_t stage_bytes(const stn_task *task, const sparse_shape *shape) {
    sparse_window w = sparse_window_of(task, shape);
    int64_t size = (int64_t)stn_dtype_size(task->dtype),
            banks = is_adjacent(shape) ? 0 : (shape->halves % 8 == 4 ? 32 : 64) / size;
    int64_t columns = tile_width(shape) - SPARSE_OUTPUTS + sparse_columns(&w);
    if (task->rank == 1) {
        int64_t points = SPARSE_TILE_ROWS * tile_width(shape) - SPARSE_OUTPUTS + sparse_columns(&w);
        points += stn_round_up(shape->lead, MEMORY_LINE / size) - shape->lead;
        return (size_t)(stn_round_up(points, 128) * size);
    }
    if (shape->terms) {
        /* With two windows, neighbouring lanes read every second line. */
        const int64_t period = 128 / sparse_windows(task, shape);
        banks /= sparse_windows(task, shape);
        columns += end_elements(task, shape);
        return (size_t)(CHUNK * (stn_round_up(columns - banks, period / size) + banks) * size);
    }
    int64_t lines = SPARSE_TILE_ROWS + sparse_reach(task, shape, 1, 0) + sparse_reach(task, shape, 1, 1);
    return (size_t)(stn_div_up(lines, 8) * (8 * columns + banks) * size);
}

/* Bytes of sparse_march's ring: the rows of `stages` tiles, and the reach of the taps. */
static size_t ring_bytes(const stn_task *task, const sparse_shape *shape) {
    sparse_window w = sparse_window_of(task, shape);
    int reach = sparse_reach(task, shape, 1, 0) + sparse_reach(task, shape, 1, 1);
    int64_t rows = (int64_t)shape->stages * tile_height(shape) + stn_round_up(reach, 8);
    int64_t row = (tile_width(shape) - SPARSE_OUTPUTS + sparse_columns(&w)) * (int64_t)stn_dtype_size(task->dtype);
    if (task->dtype == STN_F16) row = stn_round_up(row, MEMORY_LINE);
    return (size_t)(rows * row);
}

/* Bytes of shared memory for a chain's outputs, if rows are unaligned: four blocks of 16 rows. */
static size_t leaving_bytes(const stn_task *task, const sparse_shape *shape) {
    if (!shape->terms || shape->vector > 1) return 0;
    return (size_t)(4 * 16 * (tile_width(shape) + 16)) * stn_dtype_size(task->dtype);
}

size_t sparse_shared(const stn_task *task, const sparse_shape *shape) {
    if (shape->adjacent_warps) return ring_bytes(task, shape);
    const size_t pad = task->rank > 1 ? stn_alignment_pad_bytes(shape->lead, stn_dtype_size(task->dtype)) : 0;
    return pad + leaving_bytes(task, shape) + stage_bytes(task, shape) * (size_t)shape->stages;
}

static int words_of(const sparse_window *w, int rows, int parts) {
    return 32 * sparse_registers(w) + rows * sparse_products(w) * parts * SPARSE_FRAGMENT;
}

size_t sparse_table_words(const stn_task *task, const sparse_shape *shape) {
    sparse_window w = sparse_window_of(task, shape), y = sparse_window_y_of(task, shape);
    sparse_rows rows;
    const int windows = sparse_windows(task, shape);
    if (shape->terms)
        return (size_t)(32 * (windows * sparse_registers(&w) + sparse_registers(&y)) +
                        shape->terms * (windows * sparse_products(&w) + sparse_products(&y)) * shape->parts *
                            SPARSE_FRAGMENT);
    return sparse_rows_of(task, shape->fused, &rows) ? (size_t)words_of(&w, rows.all, shape->parts) : 0;
}

sparse_tiles sparse_tiles_of(const stn_task *task, const sparse_shape *shape) {
    sparse_tiles tiles = {.y = 1, .x = stn_div_up(task->n[2], tile_width(shape))};
    if (task->rank == 1) {
        tiles.steps = stn_div_up(task->n[2], SPARSE_TILE_ROWS * tile_width(shape));
        tiles.x = 1;
    } else if (task->rank == 2)
        tiles.steps = stn_div_up(task->n[1], tile_height(shape));
    else {
        tiles.steps = task->n[0];
        tiles.y = stn_div_up(task->n[1], tile_height(shape));
    }
    tiles.march_blocks = stn_div_up(tiles.steps, shape->iterations);
    tiles.blocks = tiles.march_blocks * tiles.y * tiles.x + shape->side_blocks;
    return tiles;
}

/* Whether lanes that read a chain's words have bank conflicts. */
static bool has_bank_conflicts(const sparse_shape *shape) { return shape->halves % 2 || shape->halves % 8 == 0; }

/* Window lengths that sparse_line can take. If all columns are adjacent, each block of outputs has
 * a window of its own, of one length. Otherwise blocks share products of one size, and the window
 * must place adjacent columns in different banks. */
static bool legal_halves(const stn_task *task, const sparse_shape *shape) {
    const bool f16 = task->dtype == STN_F16;
    if (is_adjacent(shape)) return shape->halves == (f16 ? 2 : 4);
    return f16 ? shape->halves % 8 == 4 : shape->halves % 4 == 2;
}

static bool find_halves(const stn_task *task, sparse_shape *shape) {
    const int most = task->rank == 1 ? MAX_HALVES_LINE : MAX_HALVES;
    for (shape->halves = 1; shape->halves <= most; shape->halves++) {
        sparse_window w = sparse_window_of(task, shape);
        if (task->rank == 1 && !legal_halves(task, shape)) continue;
        w.first += sparse_windows(task, shape) - 1; /* the last window, whose taps are furthest */
        if (sparse_legal(&w) && !(shape->terms && has_bank_conflicts(shape))) return true;
    }
    return false;
}

/* The narrowest window that holds the taps. */
static bool fit_window(const stn_task *task, sparse_shape *shape) {
    shape->lead = (int)stn_round_up(sparse_reach(task, shape, 2, 0), slot(task));
    shape->adjacent_columns = task->rank == 1 ? SPARSE_COLUMNS : 0;
    if (!find_halves(task, shape)) {
        shape->adjacent_columns = LONG_LINE_ADJACENT;
        if (task->rank > 1 || !find_halves(task, shape)) return false;
    }
    for (shape->halves_y = 2; shape->terms && shape->halves_y <= MAX_HALVES; shape->halves_y += 2) {
        sparse_window w = sparse_window_y_of(task, shape);
        if (sparse_legal(&w)) break;
    }
    return shape->halves_y <= MAX_HALVES;
}

int sparse_accumulating_blocks(const stn_task *task, const sparse_shape *shape) {
    sparse_window y = sparse_window_y_of(task, shape);
    int sets = task->dtype == STN_F16 ? 1 : 2; /* sets of words for U that 16 rows produce */
    return (sparse_products(&y) + sets - 1) / sets;
}

static int chain_registers(const stn_task *task, const sparse_shape *shape) {
    sparse_window w = sparse_window_of(task, shape), y = sparse_window_y_of(task, shape);
    int factors = (sparse_windows(task, shape) * sparse_products(&w) + sparse_products(&y)) * shape->parts;
    return 4 * shape->terms * factors + 8 * shape->terms + 8 * sparse_accumulating_blocks(task, shape);
}

/* Whether registers hold the left factors, the words between products, and the sums. */
static bool fit_factors(const stn_task *task, sparse_shape *shape) {
    sparse_window w = sparse_window_of(task, shape);
    int each = sparse_products(&w) * shape->parts;
    sparse_rows rows;
    shape->held = 1;
    if (shape->terms) return chain_registers(task, shape) <= MAX_CHAIN_REGISTERS;
    shape->held = (int)stn_max(1, FRAGMENTS_HELD / each);
    return sparse_rows_of(task, shape->fused, &rows) && rows.all * each <= MAX_PRODUCTS;
}

/* Blocks of 8 warps for which a multiprocessor has registers. With elements in two parts a block
 * needs more than half of the registers, because the parts have separate sums. */
static int most_blocks(const stn_task *task, const sparse_shape *shape) {
    sparse_window w = sparse_window_of(task, shape);
    if (shape->terms) return chain_registers(task, shape) > MAX_REGISTERS_TWO_BLOCKS ? 1 : 2;
    if (task->rank == 1) return 4 * sparse_products(&w) * shape->parts > MAX_REGISTERS_TWO_BLOCKS ? 1 : 2;
    return shape->split ? 1 : 2;
}

/* While a block computes one stage of a tile, two further stages arrive, or one if shared memory is
 * too small, as often in 3D. While it computes one window of a chain, up to four chunks arrive.
 * Narrow tiles, which read more past their sides, are tried last. */
static bool fit_stages(const stn_task *task, const stn_machine *machine, sparse_shape *shape) {
    sparse_window y = sparse_window_y_of(task, shape);
    int window = (int)stn_div_up(CHUNK + sparse_columns(&y) / 2, CHUNK); /* chunks computed on */
    /* Each half warp stores one line of unaligned rows in every 2 * warps lines. All its lines must
     * begin at the same element of 16 bytes, so there must be at least `least` warps. */
    const int least = shape->terms && shape->vector == 1 ? 16 / (2 * (int)stn_dtype_size(task->dtype)) : 2;
    for (shape->warps = SPARSE_WARPS; shape->warps >= least; shape->warps /= 2) {
        if (task->rank > 1 && !shape->terms)
            shape->adjacent_columns = shape->warps == SPARSE_COLUMNS ? SPARSE_COLUMNS : 1;
        size_t stage = stage_bytes(task, shape), whole = machine->shared_per_block;
        for (shape->blocks = most_blocks(task, shape) * SPARSE_WARPS / shape->warps; shape->blocks; shape->blocks--)
            for (int ahead = shape->terms ? 4 : 2; ahead; ahead--) {
                shape->stages = (shape->terms ? window : planes_of(task, shape)) + ahead;
                if ((stage * (size_t)shape->stages + leaving_bytes(task, shape) + 1024) * (size_t)shape->blocks <=
                    whole)
                    return true;
            }
    }
    return false;
}

double sparse_halo_tiles(const stn_task *task, const sparse_shape *shape) {
    sparse_window y = sparse_window_y_of(task, shape);
    if (shape->terms && task->rank == 2) return (sparse_columns(&y) - SPARSE_OUTPUTS) / (double)SPARSE_TILE_ROWS;
    return planes_of(task, shape) - 1;
}

#define MAX_MARCH_BLOCKS 4096
/* Long loops leave multiprocessors idle at the end; short ones in 3D read planes twice. */
static void fit_iterations(const stn_task *task, const stn_machine *machine, sparse_shape *shape) {
    double best = INFINITY, slots = (double)machine->multiprocessors * shape->blocks;
    /* start: in units of a tile's time. */
    double halo_tiles = sparse_halo_tiles(task, shape), start = 0.3;
    shape->iterations = 1;
    sparse_tiles tiles = sparse_tiles_of(task, shape);
    int64_t steps = tiles.steps, iterations;
    const double across = (double)(task->batch * tiles.y * tiles.x);
    /* Each number of iterations once, with the fewest blocks. While all blocks run at once, more
     * blocks are cheaper. */
    for (int64_t march_blocks = (int64_t)fmax(1, fmin(floor(slots / across), fmin((double)steps, MAX_MARCH_BLOCKS)));
         march_blocks <= steps && march_blocks <= MAX_MARCH_BLOCKS;
         march_blocks = iterations > 1 ? stn_div_up(steps, iterations - 1) : INT64_MAX) {
        iterations = stn_div_up(steps, march_blocks);
        if (iterations > INT32_MAX) continue;
        double blocks = across * (double)stn_div_up(steps, iterations);
        /* The least possible cost: blocks only become more, and every wave is full. */
        if (0.999 * (across * (double)steps + (halo_tiles + start) * blocks) >= best * slots) break;
        double cost = ((double)iterations + halo_tiles + start) * fmax(1, ceil(blocks / slots));
        if (cost >= best) continue;
        best = cost;
        shape->iterations = (int)iterations;
    }
}

/* On unaligned rows, a chain's blocks with columns past a side take longer than the others, and a
 * launch of few waves as long as they do. If the last wave has room, each column of tiles at a side
 * gets one more block, so that its blocks have fewer tiles. */
static void fit_side_blocks(const stn_task *task, const stn_machine *machine, sparse_shape *shape) {
    const sparse_tiles tiles = sparse_tiles_of(task, shape);
    const int64_t slots = (int64_t)machine->multiprocessors * shape->blocks, blocks = task->batch * tiles.blocks;
    const bool all_have_tiles = stn_div_up(tiles.steps, tiles.march_blocks + 1) * tiles.march_blocks < tiles.steps;
    if (shape->terms && shape->vector == 1 && tiles.x >= SIDE_COLUMNS && all_have_tiles &&
        stn_div_up(blocks + task->batch * SIDE_COLUMNS, slots) == stn_div_up(blocks, slots))
        shape->side_blocks = SIDE_COLUMNS;
}

/* Whether the blocks of a launch, for the whole batch, are counted in 31 bits. */
static bool blocks_fit(const stn_task *task, const sparse_shape *shape) {
    return task->batch <= INT32_MAX / sparse_tiles_of(task, shape).blocks;
}

bool sparse_fit(const stn_task *task, const stn_machine *machine, int fused, int terms, int parts, bool split,
                sparse_shape *shape) {
    memset(shape, 0, sizeof *shape);
    shape->fused = fused;
    shape->launches = (int)stn_div_up((int64_t)task->steps, fused);
    shape->terms = terms;
    shape->parts = parts;
    shape->split = split;
    shape->vector = stn_task_vector(task);
    shape->extended = stn_task_has_extension(task);
    if (fused > (task->rank == 1 ? MAX_FUSED_LINE : SPARSE_MAX_FUSED)) return false;
    if ((int64_t)fused * (task->reach[1][0] + task->reach[1][1]) > MAX_ROWS) return false;
    if (!fit_window(task, shape) || !fit_factors(task, shape) || !fit_stages(task, machine, shape)) return false;
    fit_iterations(task, machine, shape);
    if (!blocks_fit(task, shape)) return false;
    fit_side_blocks(task, machine, shape);
    return blocks_fit(task, shape);
}

/* ---- sparse_march */

/* Registers of a quarter multiprocessor, shared evenly by its warps. */
#define REGISTERS_OF_QUARTER 16384
#define MAX_THREAD_REGISTERS 255 /* registers, allocated in units of 8 */
#define REGISTERS_AT_ONCE 8
#define MAX_WARPS 32 /* on a multiprocessor: more warps are not useful */
/* Registers besides factors and sums, of a block with one tile and with several. */
#define SINGLE_TILE_REGISTERS 18
#define MULTI_TILE_REGISTERS 36
#define SMALL_WARPS 4 /* warps of a block in f16 */
#define SMALL_ADJACENT_WARPS 2
#define SMALL_BLOCK_TILES 6 /* tiles of a block */

/* Blocks of `warps` warps for which a multiprocessor has registers. */
static int blocks_of_registers(int warps, int registers) {
    const int each = 32 * (int)stn_round_up(registers, REGISTERS_AT_ONCE);
    if (registers > MAX_THREAD_REGISTERS) return 0;
    return (int)stn_min(4 * (REGISTERS_OF_QUARTER / each), MAX_WARPS) / warps;
}

/* f16: small blocks of two adjacent columns of warps, as many as registers hold. f32: large blocks,
 * because shared memory holds fewer rows. */
bool sparse_fit_ring(const stn_task *task, const stn_machine *machine, int stages, sparse_shape *shape) {
    const bool small = task->dtype == STN_F16, short_window = shape->halves >= (small ? 2 : 3) && shape->halves <= 4;
    sparse_window w = sparse_window_of(task, shape);
    sparse_rows rows;
    if (task->rank != 2 || shape->terms || shape->split || !is_adjacent(shape) || !short_window) return false;
    if (!sparse_rows_of(task, shape->fused, &rows) || rows.all > shape->held || (stages == 1 && !small)) return false;
    shape->adjacent_warps = small ? SMALL_ADJACENT_WARPS : 1, shape->warps = small ? SMALL_WARPS : SPARSE_WARPS;
    shape->stages = stages;
    const int factors = 4 * rows.all * sparse_products(&w) * shape->parts, sums = 4 * WARP_ROWS;
    shape->blocks =
        small ? blocks_of_registers(SMALL_WARPS,
                                    factors + sums + (stages == 1 ? SINGLE_TILE_REGISTERS : MULTI_TILE_REGISTERS))
              : most_blocks(task, shape);
    const size_t each = sparse_shared(task, shape) + 1024;
    shape->blocks = (int)stn_min(shape->blocks, (int64_t)(machine->shared_per_block / each));
    if (!shape->blocks) return false;
    fit_iterations(task, machine, shape);
    if (small) shape->iterations = (int)stn_min(shape->iterations, stages == 1 ? 1 : SMALL_BLOCK_TILES);
    return blocks_fit(task, shape);
}

/* ---- params.cuh */

void sparse_params(const stn_task *task, const sparse_shape *shape, stn_text *params) {
    sparse_rows rows = {0};
    sparse_rows_of(task, shape->fused, &rows);
    stn_params_begin_for(params, task->dtype);
    stn_params_type(params, "SPARSE_STORE", task->dtype == STN_F16 ? "unsigned short" : "float");
    for (int axis = 0; axis < 3; axis++) {
        int reach[2] = {sparse_reach(task, shape, axis, 0), sparse_reach(task, shape, axis, 1)};
        stn_params_axis(params, axis, reach, task->boundary[axis]);
    }
    if (shape->terms) stn_params_int(params, "SPARSE_HALVES_Y", shape->halves_y);
    if (shape->terms) stn_params_int(params, "SPARSE_TERMS", shape->terms);
    if (shape->terms) stn_params_int(params, "SPARSE_SIDE_BLOCKS", shape->side_blocks);
    stn_params_int(params, "SPARSE_RANK", task->rank);
    stn_params_int(params, "SPARSE_HALVES", shape->halves);
    stn_params_int(params, "SPARSE_LEAD", shape->lead);
    stn_params_int(params, "SPARSE_PARTS", shape->parts);
    stn_params_int(params, "SPARSE_SPLIT", shape->split);
    stn_params_int(params, "SPARSE_ADJACENT_COLUMNS", shape->adjacent_columns);
    stn_params_int(params, "SPARSE_ADJACENT_WARPS", shape->adjacent_warps);
    stn_params_int(params, "SPARSE_HELD", shape->held);
    stn_params_ints(params, "SPARSE_ROW_FIRST", rows.first, (size_t)rows.planes);
    stn_params_ints(params, "SPARSE_ROW_COUNT", rows.count, (size_t)rows.planes);
    stn_params_int(params, "VECTOR", shape->vector);
    stn_params_int(params, "WARPS", shape->warps);
    stn_params_int(params, "STAGES", shape->stages);
    stn_params_int(params, "BLOCKS", shape->blocks);
}
