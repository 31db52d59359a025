/* One step of a stencil of very many taps: rows are convolved along x by FFTs, and along y by sums
 * of spectra (overlap-save).
 *
 * The grid is cut into tiles of columns, which overlap by the taps' reach. A complex line holds the
 * same row of two neighbouring tiles, as real and as imaginary parts: weights are real, so both
 * stay apart. LANES rows are transformed at once, each in a strip of rows of its own, so that sums
 * along y never cross lanes.
 *
 * Errors. All values are float64 with unit roundoff u = 2^-53. In the Euclidean norm of a line, a
 * stage of radix 2, 3, 4 or 8 has a relative error below 16 u (sums, constants and the product with
 * a rounded root), and a transform d = 16 u * stages. Let N be the norm of all input lines of an
 * output line, A the largest norm of the spectra of the weights at one frequency, and |w| the norm
 * of the weights. The error of a result is at most
 *
 *     N (2 d A + sqrt(length) d |w| + 3 (rows + 2) u A)
 *
 * by both transforms, the spectra of the weights and the sums along y. That of the sums of
 * stencil_step.h is at most (taps + 2) u |w| N. Where both ends of the interval in which their
 * result must be become the same number of the output's type, that number is the result;
 * stn_step_box computes the other points.
 *
 * If integers and weights are such that the sums of stencil_step.h are exact, their result is the
 * multiple of `quantum` nearest to that of the transforms. */
#include "host/row_spectra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/fft_line.h"
#include "host/stencil_step.h"

enum { LANES = STN_FFT_LANES, ROWS = STN_SPECTRA_ROWS, MOST_ROWS = 2 * STN_MAX_RADIUS + 1 };
#define UNIT 0x1p-53

struct stn_row_spectra {
    stn_fft_line *line;
    int64_t length, width; /* of a line; points of a tile */
    int64_t rows;          /* rows of taps */
    double *weights;       /* spectra: frequency, row, real and imaginary part */
    double error;          /* of a result, relative to N */
    double quantum;        /* exact sums are multiples of it; 0: sums are not exact */
    bool odd;              /* a transform ends in its second buffer */
};

typedef struct spectra_run {
    const stn_row_spectra *spectra;
    const stn_step *step;
    const stn_fft_kernels *words;
    int64_t pairs, groups, strip; /* pairs of tiles, groups of strips, rows of a strip */
} spectra_run;

/* A group of strips of two tiles, and the memory of a thread. */
typedef struct spectra_work {
    const spectra_run *run;
    int64_t batch, plane, y, x; /* the first point */
    double *slots[MOST_ROWS + ROWS], *sums[ROWS], *spare, *lines;
    double norms[MOST_ROWS + ROWS][LANES]; /* squares, of the lines of each slot */
    int64_t stepped, all;                  /* points computed by stn_step_box, and all so far */
} spectra_work;

/* ---- tables */

/* The shortest time for a point: a line's transforms cost its stages, for length - reach points. */
static int64_t length_of(const stn_task *task) {
    const int64_t reach = task->reach[2][0] + task->reach[2][1];
    if (getenv("STN_L")) return atoi(getenv("STN_L"));
    int64_t length = 64;
    while (length < 4 * (reach + 1)) length *= 2;
    return length;
}

double stn_row_spectra_cost(const stn_task *task) {
    const int64_t reach = task->reach[2][0] + task->reach[2][1], rows = task->reach[1][0] + task->reach[1][1] + 1;
    bool serves = !task->reach[0][0] && !task->reach[0][1] && rows >= ROWS && rows <= MOST_ROWS && !task->source &&
                  reach <= 2 * STN_MAX_RADIUS && task->in_stride[2] == 1 && task->out_stride[2] == 1 &&
                  !task->normalized && !task->sum && !(stn_task_converts(task) && task->steps > 1) &&
                  stn_task_element(task, true) != STN_ELEMENT_F64;
    for (int side = 0; side < 6; side++) serves = serves && task->boundary[side / 2][side % 2].kind != STN_FIXED;
    if (!serves) return INFINITY;
    const double length = (double)length_of(task), overlap = length / (length - (double)reach);
    const double strip = (double)stn_div_up(task->n[1], LANES), again = 1 + (double)(rows - 1) / strip;
    return overlap * (8 * log2(length) * (again + 1) / 2 + 2.5 * (double)rows) + 30;
}

/* The largest power of two of which all sums are multiples, if they are exact; otherwise 0. */
static double quantum_of(const stn_task *task) {
    static const double most[STN_ELEMENTS] = {
        [STN_ELEMENT_I8] = 128,     [STN_ELEMENT_U8] = 255,     [STN_ELEMENT_I16] = 32768, [STN_ELEMENT_U16] = 65535,
        [STN_ELEMENT_I32] = 0x1p31, [STN_ELEMENT_U32] = 0x1p32, [STN_ELEMENT_BOOL] = 1};
    double largest = most[stn_task_element(task, false)], sum = 0, quantum = 1;
    if (!largest || !stn_element_is_whole(stn_task_element(task, true))) return 0;
    for (int side = 0; side < 6; side++) {
        const stn_boundary *at = &task->boundary[side / 2][side % 2];
        if (at->kind != STN_CONSTANT) continue;
        if (at->value != floor(at->value)) return 0;
        largest = fmax(largest, fabs(at->value));
    }
    for (size_t k = 0; k < task->ntaps; k++) {
        const double weight = task->taps[k].weight;
        sum += fabs(weight);
        while (quantum > 0x1p-40 && weight / quantum != nearbyint(weight / quantum)) quantum /= 2;
    }
    return quantum > 0x1p-40 && sum * largest / quantum < 0x1p50 ? quantum : 0;
}

/* The spectra of the weights, conjugated, over the length. */
static bool make_weights(const stn_task *task, stn_row_spectra *made) {
    const int64_t length = made->length, plane = length * LANES;
    double *planes = malloc((size_t)plane * 4 * sizeof *planes), *norms = calloc((size_t)length, sizeof *norms);
    made->weights = malloc((size_t)(length * made->rows) * 2 * sizeof *made->weights);
    const bool good = planes && norms && made->weights;
    double norm = 0, largest = 0;
    for (size_t k = 0; k < task->ntaps; k++) norm += task->taps[k].weight * task->taps[k].weight;
    for (int64_t first = 0; good && first < made->rows; first += LANES) {
        const int64_t count = stn_min(LANES, made->rows - first);
        memset(planes, 0, (size_t)plane * 4 * sizeof *planes);
        for (size_t k = 0; k < task->ntaps; k++) {
            const int64_t row = task->taps[k].offset[1] + task->reach[1][0] - first;
            if (row >= 0 && row < count)
                planes[(task->taps[k].offset[2] + task->reach[2][0]) * LANES + row] =
                    task->taps[k].weight / (double)length;
        }
        const stn_planes x = {planes, planes + plane}, other = {planes + 2 * plane, planes + 3 * plane};
        const stn_planes result = stn_fft_line_run(made->line, stn_fft_kernels_best(), x, other, LANES);
        made->odd = result.re != x.re;
        for (int64_t k = 0; k < length; k++)
            for (int64_t l = 0; l < count; l++) {
                const double re = result.re[k * LANES + l], im = -result.im[k * LANES + l];
                double *to = made->weights + 2 * (k * made->rows + first + l);
                to[0] = re, to[1] = im;
                norms[k] += re * re + im * im;
            }
    }
    for (int64_t k = 0; good && k < length; k++) largest = fmax(largest, sqrt(norms[k]) * (double)length);
    const double stages = ceil(log2((double)length) / 2), transform = 16 * UNIT * stages;
    made->error = 1.01 * (2 * transform * largest + sqrt((double)length) * transform * sqrt(norm) +
                          3 * ((double)made->rows + 2) * UNIT * largest);
    if (!made->quantum) made->error += 1.01 * ((double)task->ntaps + 2) * UNIT * sqrt(norm);
    free(planes);
    free(norms);
    return good && isfinite(made->error);
}

stn_status stn_row_spectra_create(const stn_task *task, stn_row_spectra **made, stn_error *error) {
    *made = NULL;
    if (!(stn_row_spectra_cost(task) < (double)task->ntaps)) return STN_OK;
    stn_row_spectra *spectra = calloc(1, sizeof *spectra);
    if (!spectra) return stn_fail_memory(error, "the spectra of weights", sizeof *spectra);
    spectra->length = length_of(task);
    spectra->width = spectra->length - task->reach[2][0] - task->reach[2][1];
    spectra->rows = task->reach[1][0] + task->reach[1][1] + 1;
    spectra->quantum = quantum_of(task);
    if (task->divisor != 1 && !spectra->quantum) return free(spectra), STN_OK;
    stn_status status = stn_fft_line_create(spectra->length, &spectra->line, error);
    if (status == STN_OK && !make_weights(task, spectra))
        status = stn_fail_memory(error, "the spectra of weights", (size_t)(spectra->length * spectra->rows) * 16);
    if (status == STN_OK)
        *made = spectra;
    else
        stn_row_spectra_destroy(spectra);
    return status;
}

void stn_row_spectra_destroy(stn_row_spectra *spectra) {
    if (!spectra) return;
    stn_fft_line_destroy(spectra->line);
    free(spectra->weights);
    free(spectra);
}

/* ---- running */

static int64_t fold(const stn_task *task, int axis, int64_t i) {
    return i >= 0 && i < task->n[axis] ? i : stn_fold(i, task->n[axis], task->boundary[axis]);
}

/* to = the points of row y that the tile from column x on reads, as far as there are any. */
static void load_line(const spectra_work *work, int64_t y, int64_t x, double *to) {
    const stn_step *step = work->run->step;
    const stn_task *task = step->task;
    const int64_t length = work->run->spectra->length, j = fold(task, 1, y), size = step->from.size;
    const int64_t begin = x - task->reach[2][0], end = stn_min(begin + length, task->n[2] + task->reach[2][1]);
    const bool none = x >= task->n[2];
    if (none || j < 0) {
        const double value = none ? 0 : stn_step_constant(task, 1, j);
        for (int64_t k = 0; k < length; k++) to[k] = value;
        return;
    }
    const char *row =
        step->from.base +
        (work->batch * step->from.batch_stride + work->plane * step->from.stride[0] + j * step->from.stride[1]) * size;
    const int64_t inside = stn_max(begin, 0), past = stn_min(end, task->n[2]);
    step->kernels->load[step->from.element](to + (inside - begin), row + inside * size, (size_t)(past - inside));
    for (int64_t i = begin < inside ? begin : past; i < end; i = i + 1 == inside ? past : i + 1) {
        const int64_t at = fold(task, 2, i);
        if (at < 0)
            to[i - begin] = stn_step_constant(task, 2, at);
        else
            step->kernels->load[step->from.element](to + (i - begin), row + at * size, 1);
    }
    for (int64_t k = end - begin; k < length; k++) to[k] = 0;
}

/* slot = the spectra of input row y of each strip. */
static void load_slot(spectra_work *work, int64_t y, int number) {
    const spectra_run *run = work->run;
    const stn_row_spectra *s = run->spectra;
    const stn_task *task = run->step->task;
    const int64_t plane = s->length * LANES;
    double *slot = work->slots[number], *norms = work->norms[number], *from = s->odd ? work->spare : slot;
    const stn_planes x = {from, from + plane};
    double *other = s->odd ? slot : work->spare;
    for (int part = 0; part < 2; part++) {
        for (int64_t l = 0; l < LANES; l++)
            load_line(work, stn_min(work->y + l * run->strip, task->n[1]) + y, work->x + part * s->width,
                      work->lines + l * s->length);
        /* This also writes zeros: to the imaginary parts, then past them. */
        run->words->load_reals((stn_planes){part ? x.im : x.re, part ? other : x.im}, work->lines, s->length, s->length,
                               LANES);
    }
    memset(norms, 0, LANES * sizeof *norms);
    for (int64_t k = 0; k < 2 * plane; k += LANES)
        for (int64_t l = 0; l < LANES; l++) norms[l] += from[k + l] * from[k + l];
    stn_fft_line_run(s->line, run->words, x, (stn_planes){other, other + plane}, LANES);
}

/* ---- deciding */

static void compute_box(spectra_work *work, int64_t x, int64_t y, int64_t width, int64_t height) {
    const stn_box box = {{work->plane, y, x}, {work->plane + 1, y + height, x + width}};
    stn_step_box(work->run->step, work->batch, &box);
    work->stepped += width * height;
}

/* Stores `count` results from x on; error: their bound. */
static void store_results(spectra_work *work, double *values, int64_t x, int64_t y, int64_t count, double error) {
    const stn_row_spectra *s = work->run->spectra;
    const stn_step *step = work->run->step;
    const int64_t size = step->to.size;
    char *row =
        step->to.base +
        (work->batch * step->to.batch_stride + work->plane * step->to.stride[0] + y * step->to.stride[1] + x) * size;
    work->all += count;
    if (!(error < (s->quantum ? s->quantum / 2 : 0x1p1000))) {
        compute_box(work, x, y, count, 1);
        return;
    }
    if (s->quantum) {
        const double large = 0x1.8p52 * s->quantum;
        for (int64_t k = 0; k < count; k++) values[k] = ((values[k] + large) - large) / step->divisor;
        step->kernels->store[step->to.element](row, values, (size_t)count);
        return;
    }
    double *low = work->spare, *high = low + count;
    char *other = (char *)(high + count);
    for (int64_t k = 0; k < count; k++) low[k] = values[k] - error, high[k] = values[k] + error;
    step->kernels->store[step->to.element](row, low, (size_t)count);
    step->kernels->store[step->to.element](other, high, (size_t)count);
    for (int64_t k = 0; k < count;) {
        if (k + 8 <= count && !memcmp(row + k * size, other + k * size, (size_t)(8 * size))) {
            k += 8;
            continue;
        }
        int64_t end = k;
        while (end < count && memcmp(row + end * size, other + end * size, (size_t)size)) end++;
        if (end > k) compute_box(work, x + k, y, end - k, 1);
        k = end + 1;
    }
}

/* Output rows y to y + count - 1 of each strip. */
static void store_rows(spectra_work *work, int64_t y, int64_t count) {
    const spectra_run *run = work->run;
    const stn_row_spectra *s = run->spectra;
    const stn_task *task = run->step->task;
    const int64_t plane = s->length * LANES;
    for (int64_t r = 0; r < count; r++) {
        double *sum = work->sums[r], norms[LANES] = {0};
        const stn_planes x = {sum + plane, sum}, other = {work->spare + plane, work->spare};
        const stn_planes result = stn_fft_line_run(s->line, run->words, x, other, LANES);
        for (int64_t q = 0; q < s->rows; q++)
            for (int l = 0; l < LANES; l++) norms[l] += work->norms[r + q][l];
        for (int part = 0; part < 2; part++) {
            const int64_t at = work->x + part * s->width, points = stn_min(s->width, task->n[2] - at);
            if (points <= 0) break;
            run->words->store_reals(work->lines, (stn_planes){part ? result.re : result.im, NULL}, points, s->length,
                                    LANES, 1);
            for (int64_t l = 0; l < LANES; l++) {
                const int64_t to = work->y + l * run->strip + y + r;
                if (to < task->n[1])
                    store_results(work, work->lines + l * s->length, at, to, points, s->error * sqrt(norms[l]));
            }
        }
    }
}

/* ---- the loop */

static void run_group(spectra_work *work) {
    const spectra_run *run = work->run;
    const stn_row_spectra *s = run->spectra;
    const stn_task *task = run->step->task;
    const int64_t low = -task->reach[1][0];
    const int before = (int)s->rows - 1;
    for (int i = 0; i < before; i++) load_slot(work, low + i, i);
    for (int64_t y = 0; y < run->strip && stn_watch_goes_on(run->step->watch); y += ROWS) {
        for (int r = 0; r < ROWS; r++) load_slot(work, low + y + before + r, before + r);
        run->step->kernels->sum_spectra(work->sums, (const double *const *)work->slots, s->weights, (size_t)s->rows,
                                        (size_t)s->length);
        store_rows(work, y, stn_min(ROWS, run->strip - y));
        for (int i = 0; i < before; i++) {
            double *free_one = work->slots[i];
            work->slots[i] = work->slots[i + ROWS];
            work->slots[i + ROWS] = free_one;
            memcpy(work->norms[i], work->norms[i + ROWS], sizeof work->norms[i]);
        }
    }
}

static void run_groups(void *user, int64_t begin, int64_t end) {
    const spectra_run *run = user;
    const stn_row_spectra *s = run->spectra;
    const stn_task *task = run->step->task;
    const size_t plane = (size_t)(2 * s->length * LANES);
    const size_t slots = (size_t)s->rows - 1 + ROWS, planes = slots + ROWS + 2;
    spectra_work work = {.run = run};
    double *memory = aligned_alloc(64, planes * (plane + 8) * sizeof *memory);
    for (size_t i = 0; memory && i < planes; i++) {
        double *at = memory + i * (plane + 8);
        *(i < slots          ? &work.slots[i]
          : i < slots + ROWS ? &work.sums[i - slots]
          : i + 2 == planes  ? &work.spare
                             : &work.lines) = at;
    }
    for (int64_t item = begin; item < end; item++) {
        int64_t rest = item;
        work.y = rest % run->groups * LANES * run->strip;
        work.x = (rest /= run->groups) % run->pairs * 2 * s->width;
        work.plane = (rest /= run->pairs) % task->n[0];
        work.batch = rest / task->n[0];
        if (memory)
            run_group(&work);
        else
            compute_box(&work, work.x, work.y, stn_min(2 * s->width, task->n[2] - work.x),
                        stn_min(LANES * run->strip, task->n[1] - work.y));
    }
    free(memory);
}

void stn_row_spectra_run(const stn_row_spectra *spectra, const stn_step *step, stn_pool *pool, int64_t grids) {
    const stn_task *task = step->task;
    spectra_run run = {.spectra = spectra, .step = step, .words = stn_fft_kernels_best()};
    run.pairs = stn_div_up(task->n[2], 2 * spectra->width);
    run.groups = 1;
    run.strip = stn_div_up(task->n[1], LANES);
    stn_pool_for(pool, grids * task->n[0] * run.pairs * run.groups, 1, run_groups, &run);
}
