/* fno_few_modes: passes of few modes by direct sums; see fno_few_modes.h. */
#include "strategies/fno/fno_few_modes.h"

#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "render/render.h"

/* MAX_FREQUENCIES: the most that a thread sums in registers. MIN_ACROSS: the least number of
 * neighbouring butterflies, so that neighbouring threads read whole sectors. */
enum { MAX_FREQUENCIES = 33, MIN_ACROSS = 16, THREADS = 128 };

static int64_t per_line(const fno_pass *pass, const fno_few_shape *shape) { /* channels */
    return pass->real && !shape->single_channel ? 2 : 1;
}
/* Frequencies of a line; two real channels need the negative ones too. */
static int frequencies_of(const fno_pass *pass, const fno_few_shape *shape) {
    return (int)(per_line(pass, shape) == 2 ? 2 * pass->modes - 1 : pass->modes);
}
static int values_of(const fno_pass *pass, const fno_few_shape *shape) {
    return 2 * frequencies_of(pass, shape) * shape->lines;
}
static int64_t lines_of(const fno_pass *pass, const fno_few_shape *shape) { /* per item */
    return stn_div_up(pass->channels, per_line(pass, shape));
}
/* Points of a butterfly; butterflies of a line. */
static int width_of(const fno_few_shape *shape) { return shape->single_channel ? 2 * shape->radix : shape->radix; }
static int64_t across(const fno_pass *pass, const fno_few_shape *shape) { return pass->n / width_of(shape); }

/* Bytes of shared memory; must agree with ROOM in fno_few_modes.cu. */
static size_t shared_of(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape) {
    const int64_t values = values_of(pass, shape), numbers_of_line = 2 * frequencies_of(pass, shape);
    const int64_t pitch = (int64_t)shape->threads * shape->lines + shape->parts;
    return (size_t)(pass->forward ? values * shape->parts + numbers_of_line * pitch : values) *
           fno_complex_bytes(numbers) / 2;
}

int64_t fno_few_blocks(const fno_pass *pass, const fno_few_shape *shape) {
    int64_t blocks;
    if (stn_mul_overflows(pass->items, stn_div_up(lines_of(pass, shape), shape->lines), &blocks)) return INT64_MAX;
    return blocks;
}

/* Number of powers of two up to the highest frequency, at least 1. */
static int levels_of(const fno_pass *pass) {
    const int64_t highest = pass->real ? pass->modes - 1 : stn_max(pass->low, pass->modes - 1 - pass->low);
    int levels = 0;
    while (((int64_t)1 << levels) <= highest) levels++;
    return levels > 0 ? levels : 1;
}

size_t fno_few_twiddles(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape, void *to) {
    const int64_t count = across(pass, shape), all = count * levels_of(pass);
    for (int64_t i = 0; to && i < all; i++) {
        const int64_t power = (i % count << i / count) % pass->n;
        const double angle = -6.283185307179586476925 * (double)power / (double)pass->n,
                     z[2] = {cos(angle), sin(angle)};
        for (int part = 0; part < 2; part++)
            if (fno_wide(numbers))
                ((double *)to)[2 * i + part] = z[part];
            else
                ((float *)to)[2 * i + part] = (float)z[part];
    }
    return (size_t)all * fno_complex_bytes(numbers);
}

/* ---- building and launching */

stn_status fno_few_prepare(stn_kernel_set *kernels, const fno_pass *pass, fno_numbers numbers,
                           const fno_few_shape *shape, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    fno_pass_params(pass, numbers, &params);
    stn_params_int(&params, "BLOCKS", shape->blocks);
    stn_params_int(&params, "THREADS_X", shape->threads);
    stn_params_int(&params, "FEW_POINTS", pass->n);
    stn_params_int(&params, "FEW_RADIX", shape->radix);
    stn_params_int(&params, "FEW_SINGLE_CHANNEL", shape->single_channel);
    stn_params_int(&params, "FEW_LINES", shape->lines);
    stn_params_int(&params, "FEW_PARTS", shape->parts);
    return stn_kernel_make(kernels, "fno_few_modes", &params, shared_of(pass, numbers, shape), kernel, error);
}

stn_status fno_few_launch(const stn_kernel *kernel, const fno_pass *pass, fno_numbers numbers,
                          const fno_few_shape *shape, const fno_pointers *at, void *stream, stn_error *error) {
    const fno_blocks blocks = {fno_few_blocks(pass, shape), 1, shape->threads * shape->lines,
                               shared_of(pass, numbers, shape)};
    return fno_pass_launch_as(kernel, pass, numbers, blocks, at, stream, error);
}

/* ---- the cost model, and the choice by it */

/* copy_fraction and launch_start_seconds are measured on an H200, the others counted or guessed. */
enum { READY = 48 * 1024 }; /* bytes per multiprocessor */
static const struct {
    double copy_fraction;    /* of the copy bandwidth, with READY bytes in flight */
    double exposed_fraction; /* of the shorter of memory and instruction time: it is not hidden */
    double butterfly_instructions, thread_instructions; /* besides the arithmetic */
    double launch_start_seconds;                        /* of the first loads and last stores */
    double butterfly_wait_seconds;                      /* until the points of a butterfly arrive */
} rates = {0.75, 0.3, 16, 120, 1.5e-6, 0.4e-6};

/* Instructions of a butterfly: a complex product for each frequency and one for its power of the
 * root, loads or stores with their addresses, and for real points (single_channel) separating two
 * transforms of half the length. */
static double butterfly_of(const fno_pass *pass, const fno_few_shape *shape) {
    const double own = shape->single_channel ? 8 : 0, points = 2.0 * (double)per_line(pass, shape) * width_of(shape);
    return shape->radix * (stn_shared_fft_work(shape->radix) + own) + points + 6.0 * frequencies_of(pass, shape) +
           rates.butterfly_instructions;
}

double fno_few_cost(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape, const stn_machine *machine,
                    stn_estimate *sum) {
    const double store = (double)stn_dtype_size(numbers.dtype) * (pass->real ? 1 : 2),
                 cell = (double)fno_complex_bytes(numbers);
    const double point = (pass->forward ? pass->in_is_dtype : pass->out_is_dtype) ? store : cell;
    const double channels = (double)pass->items * (double)pass->channels, f = frequencies_of(pass, shape);
    const double bytes = channels * ((double)pass->n * point * (pass->added ? 2 : 1) + (double)pass->modes * cell);
    const double blocks = (double)fno_few_blocks(pass, shape), each = (double)shape->threads * shape->lines;
    const double waves = (double)stn_div_up(across(pass, shape), shape->threads);
    const double adding = pass->forward ? 6 * f : 2 * f; /* sums over threads; loads of modes */
    const double per_sm = blocks / machine->multiprocessors, idle = ceil(per_sm) / per_sm;
    const double lanes = fno_wide(numbers) ? machine->wide_lanes : machine->lanes;
    const double working = blocks * each * (waves * butterfly_of(pass, shape) + adding + rates.thread_instructions) *
                           idle / (lanes * machine->multiprocessors * machine->clock);
    const double asked = each * shape->blocks * width_of(shape) * (double)per_line(pass, shape) * point;
    const double moving =
        bytes / (rates.copy_fraction * fmin(1, asked / READY) * machine->copy_bandwidth) * fmax(1, idle / 3);
    const double waiting = ceil(per_sm / shape->blocks) * waves * rates.butterfly_wait_seconds;
    sum->bytes += bytes, sum->launches += 1;
    sum->flops += 2 * blocks * each * waves * butterfly_of(pass, shape);
    return fmax(fmax(moving, working) + rates.exposed_fraction * fmin(moving, working), waiting) +
           rates.launch_start_seconds + machine->launch_seconds;
}

/* Registers of a thread: a butterfly, half of the powers of a root, and in a forward pass all
 * sums. */
static int registers_of(const fno_pass *pass, fno_numbers numbers, const fno_few_shape *shape) {
    const int f = frequencies_of(pass, shape), held = 2 * shape->radix + (pass->forward ? 2 * f : 0) + f / 2;
    return 40 + held * (fno_wide(numbers) ? 2 : 1);
}

/* Whether the shape fits; if so, sets the blocks per multiprocessor and the parts of the sums. */
static bool fits(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_few_shape *shape) {
    if (frequencies_of(pass, shape) > MAX_FREQUENCIES || pass->n % width_of(shape) ||
        across(pass, shape) < MIN_ACROSS || across(pass, shape) > INT32_MAX)
        return false;
    const int threads = shape->threads * shape->lines, values = values_of(pass, shape);
    shape->parts = 1;
    while (2 * shape->parts * values <= threads && 2 * shape->parts <= shape->threads) shape->parts *= 2;
    const size_t shared = shared_of(pass, numbers, shape);
    const int registers = registers_of(pass, numbers, shape);
    if (shared > machine->shared_per_block || registers > 250) return false;
    const int64_t by_shared = (int64_t)(machine->shared_per_multiprocessor / (shared + 1024)),
                  by_registers = 65536 / (registers * threads);
    shape->blocks = (int)stn_min(stn_min(by_shared, by_registers), 16);
    return shape->blocks > 0;
}

/* Whether fno_few_modes can run the pass: retained frequencies must be distinct, and 0 the only one
 * of a real line that is its own negative. */
static bool few(const fno_pass *pass) {
    return !pass->product && pass->forward != pass->back && (pass->real ? 2 * pass->modes - 1 : pass->modes) <= pass->n;
}

bool fno_few_shape_for(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, fno_few_shape *shape,
                       char *reason, size_t size) {
    static const int radices[] = {16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4};
    const size_t many = sizeof radices / sizeof *radices;
    double best = INFINITY;
    for (size_t i = 0; i < 2 * many && few(pass); i++) {
        fno_few_shape now = {.radix = radices[i % many], .single_channel = i >= many};
        if (now.single_channel && (!pass->real || 32 % now.radix)) continue;
        for (now.threads = MIN_ACROSS; now.threads <= THREADS; now.threads *= 2) {
            now.lines = THREADS / now.threads;
            if (!fits(pass, numbers, machine, &now)) continue;
            stn_estimate unused = {0};
            const double cost = fno_few_cost(pass, numbers, &now, machine, &unused);
            if (cost < best) best = cost, *shape = now;
        }
    }
    if (best < INFINITY) return true;
    snprintf(reason, size, "an axis has too many retained modes, or is too short, for direct sums of each mode");
    return false;
}
