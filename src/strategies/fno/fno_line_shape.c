/* Shapes of fno_line and fno_split for a machine, and their cost model; see fno_line_shape.h. */
#include "strategies/fno/fno_line_shape.h"

#include <math.h>
#include <stdio.h>

#include "base/arith.h"

/* LONGEST_LINE: longest line; SECTOR: bytes of a memory transaction. */
enum { LONGEST_LINE = 1024 * 1024, SECTOR = 32 };

/* ---- radices of the shared-memory FFT */

static bool has_butterfly(int radix) { return radix != 11 && radix != 13; }

/* Splits `rest` into `stages` radices, the first as large as possible, the last at most `last`: a
 * small last radix needs few registers. */
static bool split_radices(int rest, int stages, int most, int last, int *radix) {
    static const int radices[] = {16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    if (stages == 1) {
        *radix = rest;
        return rest <= last && has_butterfly(rest);
    }
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++) {
        if (radices[i] > most || rest % radices[i]) continue;
        *radix = radices[i];
        if (split_radices(rest / radices[i], stages - 1, most, last, radix + 1)) return true;
    }
    return false;
}

static int most_of(bool wide) { return wide ? 8 : 16; }

static bool find_radices(int64_t n, bool wide, stn_shared_fft *line) {
    if (!stn_shared_fft_is_smooth(n) || n > LONGEST_LINE) return false;
    for (line->stages = 2; line->stages <= STN_SHARED_FFT_STAGES; line->stages++)
        for (int last = 8; last <= most_of(wide); last += 8)
            if (split_radices((int)n, line->stages, most_of(wide), last, line->radix)) return true;
    return false;
}

/* For short lines: makes the first radix so small that neighbouring threads, which take
 * neighbouring points, read whole sectors of 32 bytes. The number of stages does not change. */
static void shorten_first_radix(int64_t n, bool wide, int point, stn_shared_fft *line) {
    const int stages = line->stages;
    for (int first = line->radix[0]; first >= 2; first--) {
        int radix[STN_SHARED_FFT_STAGES] = {first};
        if (n % first || !has_butterfly(first) || n / first * point < SECTOR) continue;
        if (!split_radices((int)(n / first), stages - 1, most_of(wide), most_of(wide), radix + 1)) continue;
        for (int s = 0; s < stages; s++) line->radix[s] = radix[s];
        return;
    }
}
/* Bytes of a point in memory, for a pass without the product. */
static int point_bytes(const fno_pass *pass, fno_numbers numbers) {
    const bool stored = pass->forward ? pass->in_is_dtype : pass->out_is_dtype;
    return (int)(stored ? stn_dtype_size(numbers.dtype) : fno_complex_bytes(numbers) / 2) * (pass->real ? 1 : 2);
}

/* Neighbouring butterflies of the last stage begin one radix apart, in four interleaved lines. An
 * odd distance has no bank conflicts; an even radix gets one element of padding for this. */
static int pad_of(const stn_shared_fft *line) {
    const int last = line->radix[line->stages - 1];
    return last % 2 ? 0 : last;
}

static int power_from(int64_t n) {
    int power = 1;
    while (power < n) power *= 2;
    return power;
}

/* ---- shared memory; must agree with SHARED_VALUES in fno_line.cu */

static int64_t pitch(int64_t channels) { return stn_round_up(channels, 16); }
static int64_t group_channels(const fno_pass *pass, const fno_line_shape *shape) {
    return (int64_t)shape->line.lines * shape->groups * (pass->real ? 2 : 1);
}
static int64_t columns_of(const fno_line_shape *shape) { return 8 * (int64_t)shape->tiles[1] * shape->warps[1]; }

static int64_t rows_of(const fno_pass *pass, const fno_line_shape *shape) {
    return pass->product ? 16 * (int64_t)shape->tiles[0] * shape->warps[0] : pass->modes;
}

size_t fno_line_shared(const fno_pass *pass, fno_numbers numbers, const fno_line_shape *shape) {
    const int64_t channels = group_channels(pass, shape), columns = columns_of(shape), rows = rows_of(pass, shape);
    const int64_t line = (int64_t)(stn_shared_fft_bytes(&shape->line, fno_wide(numbers)) / fno_complex_bytes(numbers));
    const int64_t fft = pass->forward || pass->back ? line * shape->groups : 0;
    if (shape->whole) {
        const int64_t tile = rows * pitch(stn_max(shape->whole, columns));
        return (size_t)(stn_round_up(fft, 2) + 2 * tile) * fno_complex_bytes(numbers);
    }
    const int64_t group = pass->product && !shape->held ? channels * (columns + 2) : 0;
    const int64_t in = rows * pitch(channels) + group;
    const int64_t out = pass->product && pass->back ? pass->modes * pitch(columns) : 0;
    const int64_t held = pass->product ? shape->held * (columns + 2) : 0;
    return (size_t)(stn_round_up(fft, 2) + held + stn_max(in, out)) * fno_complex_bytes(numbers);
}

/* ---- choosing the shape */

typedef struct search {
    const fno_pass *pass;
    fno_numbers numbers;
    const stn_machine *machine;
    fno_form form;
    fno_line_shape now, best;
    double cost;
} search;

static bool is_split(const search *s) { return s->form == FNO_SPLIT || s->form == FNO_SPLIT_IN_TWO; }

/* Resident blocks per multiprocessor with `shared` bytes each. */
static int64_t fitting(const search *s, size_t shared) {
    return shared > s->machine->shared_per_block ? 0
                                                 : (int64_t)(s->machine->shared_per_multiprocessor / (shared + 1024));
}

/* Estimates the cost of the current shape and keeps the shape if it is the best. Weights stay in
 * shared memory if that does not reduce the number of resident blocks. */
static void consider(search *s, double waste, int by_registers) {
    fno_line_shape *now = &s->now;
    const int64_t channels = group_channels(s->pass, now);
    now->held = now->whole = 0;
    if (is_split(s)) now->whole = (int)stn_round_up(s->pass->channels, channels);
    int64_t blocks = stn_min(by_registers, fitting(s, fno_line_shared(s->pass, s->numbers, now)));
    if (blocks < (s->form == FNO_SPLIT_IN_TWO ? 2 : 1)) return;
    if (s->pass->product && s->form == FNO_BY_GROUPS) {
        now->held = (int)stn_round_up(s->pass->channels, channels);
        if (now->held > 4096 || fitting(s, fno_line_shared(s->pass, s->numbers, now)) < blocks) now->held = 0;
    }
    now->line.blocks = (int)blocks;
    const double resident = (double)(blocks * now->threads), busy = waste * (0.7 + 0.3 * 512 / fmin(resident, 512));
    /* Fewer interleaved lines: longer runs of points, but more bank conflicts. */
    const double sectors = now->line.lines < 4 ? 1.1 : 1;
    if (busy * sectors < s->cost) s->cost = busy * sectors, s->best = *now;
}

/* Tries all divisions of the product among the warps. A lane's sums take 8 registers per tile, and
 * the values added to them as many per row of tiles; with 4 tiles, two blocks of 256 threads
 * fit. */
static void consider_products(search *s) {
    const int wide = fno_wide(s->numbers) ? 2 : 1, warps = (s->now.mixers ? s->now.mixers : s->now.threads) / 32;
    const int64_t rows = stn_div_up(s->pass->modes, 16), columns = stn_div_up(s->pass->outputs, 8);
    for (int m = 1; m <= warps; m *= 2) {
        s->now.warps[0] = m, s->now.warps[1] = warps / m;
        const int64_t down = stn_div_up(rows, m), along = stn_div_up(columns, warps / m);
        if (down * along * wide > 8 || along * wide > 4) continue;
        s->now.tiles[0] = (int)down, s->now.tiles[1] = (int)along;
        const bool many = down * along * wide > 4;
        if (many && s->now.threads > 256 && !s->now.mixers) continue;
        const double ideal = (double)s->pass->modes / 16 * (double)s->pass->outputs / 8;
        const double waste = (double)(down * along * warps) / ideal;
        consider(s, 0.5 + 0.5 * fmin(waste, 16) + 0.05 * (double)(down + along) / (double)(down * along),
                 many && !s->now.mixers ? 1 : 512 / s->now.threads);
    }
}

static void consider_groups(search *s) {
    fno_line_shape *now = &s->now;
    const int64_t channels = group_channels(s->pass, now),
                  all = s->pass->product ? s->pass->channels : stn_max(s->pass->channels, s->pass->outputs);
    if (channels % 2 || (s->pass->product && channels % 8)) return;
    if (s->pass->product)
        consider_products(s);
    else /* waste: lines of the last group that do not exist */
        consider(s, (double)stn_round_up(all, channels) / (double)all, 512 / now->threads > 1 ? 768 / now->threads : 1);
}

/* Tries numbers of threads per line and of lines at once. Warps that only transform have whole
 * lines, so that they need not wait for each other. */
static void consider_lines(search *s) {
    stn_shared_fft *line = &s->now.line;
    s->now.mixers = is_split(s) ? s->now.threads / 2 : 0;
    for (line->lines = 4; line->lines >= 1; line->lines /= 2)
        for (line->threads = power_from(line->points / line->radix[0]); line->threads >= 1; line->threads /= 2) {
            s->now.groups = (s->now.threads - s->now.mixers) / (line->threads * line->lines);
            if (s->now.groups < 1 || line->threads > 256) continue;
            if (is_split(s) && (line->stages != 2 || line->threads * line->lines > 32)) continue;
            consider_groups(s);
            /* more lines at once are not better */
            if (s->cost < INFINITY && line->threads <= 8) break;
        }
}

bool fno_line_shape_for(const fno_pass *pass, fno_numbers numbers, fno_form form, const stn_machine *machine,
                        fno_line_shape *shape, char *reason, size_t size) {
    search s = {.pass = pass, .numbers = numbers, .machine = machine, .form = form, .cost = INFINITY};
    stn_shared_fft *line = &s.now.line;
    if (!find_radices(pass->n, fno_wide(numbers), line)) {
        snprintf(reason, size, "the length of an axis has a prime factor other than 2, 3, 5 and 7, or is too large");
        return false;
    }
    if (!pass->product) shorten_first_radix(pass->n, fno_wide(numbers), point_bytes(pass, numbers), line);
    line->points = (int)pass->n, line->pad = pad_of(line), line->copies = line->shares = 1;
    const int least = form == FNO_SPLIT          ? 512
                      : form == FNO_SPLIT_IN_TWO ? 256
                                                 : 128,
              most = form == FNO_SPLIT_IN_TWO ? 256 : 512;
    for (s.now.threads = least; s.now.threads <= most; s.now.threads *= 2) consider_lines(&s);
    if (s.cost < INFINITY) return *shape = s.best, true;
    snprintf(reason, size, "a block's shared memory or registers do not hold its lines and modes");
    return false;
}

int64_t fno_line_blocks(const fno_pass *pass, const fno_line_shape *shape, const stn_machine *machine, int64_t *each) {
    if (!pass->product) {
        *each = 1;
        int64_t blocks;
        if (stn_mul_overflows(pass->items, stn_div_up(pass->channels, group_channels(pass, shape)), &blocks))
            return INT64_MAX;
        return blocks;
    }
    *each = stn_div_up(pass->items, (int64_t)machine->multiprocessors * shape->line.blocks);
    return stn_div_up(pass->items, *each);
}

/* ---- the cost model */

enum { LONG = 256, TALL = 4096 };
/* Fitted to measurements on an H200, except draw. */
static const struct {
    double instructions, mixing, /* per point and stage, with loads and stores; with a product */
        copy, tensor,            /* fractions of the peak rates */
        hidden,                  /* part of the shorter of memory and computing time */
        again,                   /* bytes per second of weights, loaded for every item */
        overlap,                 /* gain of a further resident block: phases overlap */
        begin,                   /* seconds of the first loads and last stores of a block */
        draw,                    /* bandwidth of one multiprocessor over its share of the GPU's */
        not_hidden,              /* fno_split: part of the shorter work that is not hidden */
        works, paired,           /* fno_split: busy fraction of one block, of two */
        tall, longer,            /* factors for lines longer than TALL, than LONG */
        parted;                  /* cost of each further access to a sector of points */
} rates = {17, 24, 0.9, 0.92, 0.7, 5.5e12, 0.16, 1.5e-6, 3, 0.35, 0.74, 0.82, 2.9, 1.6, 0.8};

/* Accesses per sector of points: neighbouring threads take neighbouring points, as many as there
 * are neighbouring butterflies. */
static double accesses(const fno_pass *pass, fno_numbers numbers, const fno_line_shape *shape) {
    const double side = fmin(shape->line.threads, (double)shape->line.points / shape->line.radix[0]);
    return fmax(1, SECTOR / (side * point_bytes(pass, numbers)));
}

/* Seconds that a pass takes in each unit of the machine. */
typedef struct pass_work {
    double moving, fft, tensor, weights;
} pass_work;

/* Seconds of a launch in which all warps alternate between transform and product, or only
 * transform. */
static double cost_of_alternating(const fno_pass *pass, const fno_line_shape *shape, double blocks,
                                  const pass_work *work, const stn_machine *machine) {
    const double resident = machine->multiprocessors * (double)shape->line.blocks;
    const double waves = blocks / resident, idle = ceil(waves) / waves, idle_share = fmax(1, idle / rates.draw);
    const double moving = work->moving * idle_share, working = (work->fft + work->tensor + work->weights) * idle;
    const double longer = fmax(moving, working), shorter = fmin(moving, working);
    const double held = pass->n > TALL ? rates.tall : pass->n > LONG ? rates.longer : 1;
    if (!pass->product) return (longer + (1 - rates.hidden) * shorter) * held;
    const double others = fmin(shape->line.blocks, ceil(blocks / machine->multiprocessors)) - 1;
    return fmax(longer, (longer + shorter) / (1 + rates.overlap * others));
}

/* Seconds if some warps transform while others multiply. A block takes two iterations more than it
 * has items; both together count as one, since they do only a part of the work. */
static double cost_of_split(const fno_line_shape *shape, double blocks, double each, const pass_work *work,
                            const stn_machine *machine) {
    const double waves = blocks / machine->multiprocessors / shape->line.blocks, idle = ceil(waves) / waves;
    const double working = (fmax(work->fft, work->tensor) + rates.not_hidden * fmin(work->fft, work->tensor)) * idle;
    return (fmax(work->moving, working) + (1 - rates.hidden) * fmin(work->moving, working)) * (each + 1) / each /
           (shape->line.blocks > 1 ? rates.paired : rates.works);
}

double fno_pass_cost(const fno_pass *pass, fno_numbers numbers, const fno_line_shape *shape, const stn_machine *machine,
                     stn_estimate *sum) {
    const double cell = (double)fno_complex_bytes(numbers), items = (double)pass->items;
    const double store = (double)stn_dtype_size(numbers.dtype) * (pass->real ? 1 : 2);
    const double in = pass->forward ? (double)pass->n * (pass->in_is_dtype ? store : cell) : (double)pass->modes * cell;
    const double out = pass->back ? (double)pass->n * (pass->out_is_dtype ? store : cell) : (double)pass->modes * cell;
    const double bytes = items * ((double)pass->channels * in + (double)pass->outputs * (pass->added ? 2 : 1) * out);
    const double again = pass->product ? 0
                                       : rates.parted * (accesses(pass, numbers, shape) - 1) * items *
                                             (double)pass->channels * fmax(in, out);
    const double lines = items *
                         ((pass->forward ? (double)pass->channels : 0) + (pass->back ? (double)pass->outputs : 0)) /
                         (pass->real ? 2 : 1);
    const double fma = fno_wide(numbers) ? machine->wide_lanes : machine->lanes;
    const double fft = lines * (double)pass->n * shape->line.stages *
                       (pass->product ? rates.mixing : rates.instructions) /
                       (fma * machine->multiprocessors * machine->clock);
    const stn_unit unit = fno_wide(numbers) ? STN_UNIT_TENSOR_F64 : STN_UNIT_TENSOR_TF32;
    const double rows = (double)rows_of(pass, shape),
                 flops = pass->product ? items * 8 * rows * (double)columns_of(shape) * (double)pass->channels : 0;
    const double tensor = flops * (numbers.parts == 2 ? 3 : 1) / (rates.tensor * machine->flops[unit]);
    const double weights =
        pass->product && !shape->held ? items * (double)pass->channels * (double)columns_of(shape) * cell : 0;
    const pass_work work = {(bytes + again) / (rates.copy * machine->copy_bandwidth), fft, tensor,
                            weights / rates.again};
    int64_t each;
    const double blocks = (double)fno_line_blocks(pass, shape, machine, &each);
    sum->bytes += bytes, sum->launches += 1;
    sum->flops += flops + lines * 5 * (double)pass->n * log2((double)pass->n + 1);
    if (pass->product) sum->unit = unit;
    const double run = shape->mixers ? cost_of_split(shape, blocks, (double)each, &work, machine)
                                     : cost_of_alternating(pass, shape, blocks, &work, machine);
    return run + rates.begin + machine->launch_seconds;
}
