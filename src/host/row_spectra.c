/* One step of a stencil of very many taps: rows are convolved along x by FFTs, and along y by sums
 * of spectra (overlap-save). Taps along one axis alone are convolved by FFTs along that axis.
 *
 * The grid is cut into tiles of columns, which overlap by the taps' reach. A complex line holds the
 * same row of two neighbouring tiles, as real and as imaginary parts. Because the weights are real,
 * the convolution does not mix the two parts. The rows of a tile are divided into strips. Row y of
 * each of LANES strips is transformed at once, one strip a lane, so that sums along y never cross
 * lanes.
 *
 * Errors. All values are float64 with unit roundoff u = 2^-53. A stage of radix 8, 4 or 2 has a
 * relative error below 10 u: six roundings of sums and constants, and less than 3 u by the product
 * with a rounded root. So the error of a transform in the Euclidean norm of a line is below
 * d = 10 u * stages, relative to the line's norm, and at any point relative to the sum of the
 * line's magnitudes. Let N be the Euclidean norm of all input lines of an output line. At one
 * frequency, the spectra of all rows of weights form a vector; A is the largest norm of these
 * vectors. Each row of weights has a sum of magnitudes; B is the norm of the vector of these sums.
 * The error of a result is at most
 *
 *     N (2 d A + d B + 3 (rows + 2) u A)
 *
 * The terms are due to the two transforms of the data, the spectra of the weights, and the sums
 * along y, in this order. The error of the sums of stencil_step.h is at most u N times the norm of
 * all weights, each multiplied by the number of roundings from its term on.
 * Both bounds together give an interval that contains the result of stencil_step.h. Where both ends
 * of it are converted to the same integer or float, that number is stored. Other points are
 * computed by the sums of stencil_step.h.
 *
 * If all data are integers and all weights are multiples of one number, the quantum, then every sum
 * is a multiple of the quantum. The exact sum is the multiple nearest to the result of the
 * transforms. If the sums of stencil_step.h are exact, they give this number. Otherwise, if no
 * value is negative, their relative error is at most (taps + 16) u. The Python package multiplies
 * weights of sum 1 by 1 plus a larger bound (`raised` in _filter.py), so few sums are so close to
 * an integer that they must be computed again, even if all weights are equal. */
#include "host/row_spectra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/fft_line.h"
#include "host/stencil_step.h"

enum { LANES = STN_FFT_LANES, ROWS = STN_SPECTRA_ROWS };
#define MAX_ROWS 513 /* of taps, and so many points along x: their spectra take 72 MB a thread */
#define ITEMS_PER_THREAD 4
#define UNIT 0x1p-53
#define MIN_ERROR 0x1p-200      /* below all floats; if a result is 0, its sign is uncertain */
#define MIN_TAPS 100            /* of a stencil for which this can be faster */
#define BOX_OVERHEAD_POINTS 150 /* fixed cost of a box, in points of a box */
#define SINGLE_POINTS 25        /* cost of a point that is summed alone, in points of a box */
#define FEW_POINTS 6            /* at most so many neighbouring points are summed alone */
/* Taps along one axis: lines that are transformed at once, which fit a core's caches. */
#define AXIS_LANES 4
/* Their cost in taps of stencil_step.h: of a stage of both transforms, and of the rest. */
#define AXIS_STAGE 8.0
#define AXIS_POINT 20.0

struct stn_row_spectra {
    stn_fft_line *line;
    int axis;              /* along which lines are transformed */
    int64_t length, width; /* of a line; points of a tile */
    int64_t rows;          /* rows of taps; 1 if all taps are along `axis` */
    double *weights;       /* spectra: frequency, row, real and imaginary part */
    double error;          /* of a result, relative to N */
    double quantum;        /* sums are multiples of it; or 0 */
    double relative;       /* error of such sums of stencil_step.h */
    bool result_in_second; /* a transform ends in its second buffer */
    bool exact;            /* results have the bits of stencil_step.h */
};

typedef struct spectra_run {
    const stn_row_spectra *spectra;
    const stn_step *step;
    const stn_fft_kernels *fft_kernels;
    int64_t pairs, groups, strip_rows; /* pairs of tiles, groups of strips, rows of a strip */
    int64_t tiles;                     /* of all grids, with taps along one axis */
} spectra_run;

/* A row of a tile that begins at point (x, y). part: which of the two tiles of a complex line;
 * lane: the strip. */
typedef struct spectra_place {
    int64_t x, y;
    int part, lane;
} spectra_place;

/* Points of a row whose taps read one and the same number. */
typedef struct constant_run {
    int64_t x, end, y;
} constant_run;

/* A group of strips of two tiles, and memory for computing it. */
typedef struct spectra_work {
    const spectra_run *run;
    int64_t batch, plane, y, x; /* the first point */
    double *slots[MAX_ROWS + ROWS], *sums[ROWS], *spare, *lines;
    double *window;                       /* the points that the taps of one point read */
    stn_terms terms;                      /* the sum of this point */
    double norms[MAX_ROWS + ROWS][LANES]; /* squares, of the lines of each slot */
    /* stepped: points computed by stn_step_box, plus BOX_OVERHEAD_POINTS for each box and
     * SINGLE_POINTS for each point that is summed alone; all: the number of all points so far. */
    int64_t stepped, all;
    char constant[8], result[8]; /* a number, and the result where taps read it alone */
    bool has_constant;
    constant_run constant_runs[2][LANES]; /* the last such points of each strip */
} spectra_work;

/* ---- tables ---------------------------------------------------------------------------------- */

/* Returns the quantum, or 0 if there is none. *relative is a bound on the relative error of the
 * sums of stencil_step.h. If negative values or weights, or a divisor, make that bound invalid, the
 * result is minus the quantum. */
static double quantum_of(const stn_task *task, double *relative) {
    static const double most[STN_ELEMENTS] = {
        [STN_ELEMENT_I8] = 128,     [STN_ELEMENT_U8] = 255,     [STN_ELEMENT_I16] = 32768, [STN_ELEMENT_U16] = 65535,
        [STN_ELEMENT_I32] = 0x1p31, [STN_ELEMENT_U32] = 0x1p32, [STN_ELEMENT_BOOL] = 1};
    const stn_element from = stn_task_element(task, false);
    double largest = most[from], sum = 0, exact = 1, least = INFINITY;
    bool negative = from == STN_ELEMENT_I8 || from == STN_ELEMENT_I16 || from == STN_ELEMENT_I32, whole = true;
    for (int side = 0; side < 6; side++) {
        const stn_boundary *at = &task->boundary[side / 2][side % 2];
        if (at->kind != STN_CONSTANT) continue;
        if (at->value != floor(at->value)) return 0;
        largest = fmax(largest, fabs(at->value));
        negative = negative || at->value < 0;
    }
    for (size_t k = 0; k < task->ntaps; k++) {
        const double weight = task->taps[k].weight;
        sum += fabs(weight);
        negative = negative || weight < 0;
        if (weight != 0) least = fmin(least, fabs(weight));
        while (exact > 0x1p-20 && weight / exact != nearbyint(weight / exact)) exact /= 2;
    }
    for (size_t k = 0; k < task->ntaps; k++) {
        const double multiple = task->taps[k].weight / least;
        whole = whole && fabs(multiple - nearbyint(multiple)) <= 0x1p-50 * fabs(multiple);
    }
    *relative = 0;
    if (most[from] > 0 && exact > 0x1p-20 && sum * largest / exact < 0x1p45) return exact;
    *relative = ((double)task->ntaps + 16) * UNIT;
    if (!(most[from] > 0) || !whole || !(sum * largest / least < 0x1p45)) return 0;
    return negative || task->divisor != 1 ? -least : least;
}

/* The only axis along which the taps reach, or -1. */
static int only_axis(const stn_task *task) {
    int axis = -1;
    for (int a = 0; a < 3; a++)
        if (task->reach[a][0] || task->reach[a][1]) {
            if (axis >= 0) return -1;
            axis = a;
        }
    return axis;
}

/* The axis of the lines that are transformed. */
static int axis_of(const stn_task *task) { return only_axis(task) < 0 ? 2 : only_axis(task); }

/* Width of a tile: a multiple of 16 points, so that stn_step_box works on whole vectors. 0 if the
 * taps reach too far for lines of this length. */
static int64_t width_of(const stn_task *task, int64_t length) {
    const int axis = axis_of(task);
    return stn_max(length - task->reach[axis][0] - task->reach[axis][1], 0) / 16 * 16;
}

/* Operations for a point with lines of this length, in units of a tap of stencil_step.h; fitted to
 * timed runs of one core. */
static double cost_of(const stn_task *task, int64_t length) {
    const int64_t width = width_of(task, length);
    const double rows = (double)(task->reach[1][0] + task->reach[1][1] + 1);
    const double strip = (double)stn_div_up(task->n[1], LANES), points = (double)task->n[2] * (double)task->n[1];
    const double lines = ceil(strip / ROWS) * ROWS, tiles = 2 * (double)stn_div_up(task->n[2], 2 * width);
    const double transforms = 3.6 * log2((double)length) * (2 * lines + rows - 1), sums = 1.5 * rows * lines;
    return tiles * (double)length * LANES * (transforms + sums) / points + 28;
}

/* Tiles of a grid if the taps are along one axis. */
static int64_t axis_tiles(const stn_task *task, int axis, int64_t width) {
    int64_t tiles = stn_div_up(task->n[axis], width);
    for (int a = 0; a < 3; a++)
        if (a != axis) tiles *= a == 2 ? stn_div_up(task->n[a], 2 * AXIS_LANES) : task->n[a];
    return tiles;
}

/* Tiles that are transformed at once: as real and imaginary parts of AXIS_LANES lines. */
static int64_t tiles_of_group(int axis) { return axis == 2 ? 2 * AXIS_LANES : 1; }

/* As cost_of, for taps along one axis. One more group stands for the last ones, for which some
 * threads wait. */
static double axis_cost(const stn_task *task, int64_t length) {
    const int axis = axis_of(task);
    const int64_t tiles = axis_tiles(task, axis, width_of(task, length)) * task->batch;
    const double groups = (double)stn_div_up(tiles, tiles_of_group(axis)) + 1;
    return groups * AXIS_LANES * (double)length * (AXIS_STAGE * log2((double)length) + AXIS_POINT) /
           (double)stn_task_points(task);
}

static double cost_at(const stn_task *task, int64_t length) {
    return only_axis(task) < 0 ? cost_of(task, length) : axis_cost(task, length);
}

static int64_t length_of(const stn_task *task) {
    const int64_t most = only_axis(task) < 0 ? 1024 : 16384;
    int64_t best = 0;
    for (int64_t length = 64; length <= most; length *= 2)
        if (width_of(task, length) && (!best || cost_at(task, length) < cost_at(task, best))) best = length;
    return best;
}

/* Whether this method supports the task. Results of f64 cannot be exact, because too many would lie
 * close to the boundary between two rounded values; of f32, a few in a thousand do. */
static bool supports(const stn_task *task, bool exact) {
    const int64_t rows = task->reach[1][0] + task->reach[1][1] + 1;
    double relative;
    for (int side = 0; side < 6; side++)
        if (task->boundary[side / 2][side % 2].kind == STN_FIXED) return false;
    for (size_t k = 0; k < task->ntaps; k++)
        if (task->taps[k].weight != 0 &&
            !(fabs(task->taps[k].weight) > 0x1p-300 && fabs(task->taps[k].weight) < 0x1p300))
            return false;
    const bool along_rows = !task->reach[0][0] && !task->reach[0][1] && rows >= STN_SPECTRA_LANES && rows <= MAX_ROWS &&
                            task->reach[2][0] + task->reach[2][1] < MAX_ROWS;
    if ((only_axis(task) >= 0 ? exact : !along_rows) || task->in_stride[2] != 1 || task->out_stride[2] != 1 ||
        task->source || task->in_place || task->normalized || task->steps != 1 || task->snapshots != 1 ||
        (exact ? stn_task_element(task, true) == STN_ELEMENT_F64 : stn_element_is_whole(stn_task_element(task, true))))
        return false;
    if (!stn_element_is_whole(stn_task_element(task, true))) return task->divisor == 1;
    /* With a negative result of quantum_of, each sum that is an integer up to rounding is computed
     * again; if the quantum is large, too many sums are. */
    const double quantum = quantum_of(task, &relative);
    return task->divisor == 1 ? quantum > -1.0 / (2 * BOX_OVERHEAD_POINTS) : quantum > 0;
}

/* Operations, as in cost_of, for the results in f32 that lie so close to the boundary between two
 * rounded values that they are summed alone. Their share is the bound of the error, which is
 * proportional to the number of roundings and to N, over the distance of two floats; fitted to
 * weights and data of random signs. */
static double single_cost(const stn_task *task, int64_t length) {
    const double rows = (double)(task->reach[1][0] + task->reach[1][1] + 1), taps = (double)task->ntaps;
    return SINGLE_POINTS * taps * sqrt(rows * (double)length) * taps * 0x1p-26;
}

double stn_row_spectra_cost(const stn_task *task, bool exact) {
    if (task->ntaps < MIN_TAPS || !supports(task, exact)) return INFINITY;
    const int64_t length = length_of(task);
    const double cost = cost_at(task, length), taps = (double)task->ntaps;
    const bool rounds = exact && stn_task_element(task, true) == STN_ELEMENT_F32;
    if (!(cost < 0.9 * taps)) return INFINITY;
    return fmin(cost + (rounds ? single_cost(task, length) : 0), taps);
}

static int64_t row_of_tap(const stn_task *task, size_t k) {
    return axis_of(task) < 2 ? 0 : task->taps[k].offset[1] + task->reach[1][0];
}

/* The complex conjugates of the weights' spectra, divided by the length of a line. */
static bool make_weights(const stn_task *task, stn_row_spectra *made) {
    const int axis = made->axis;
    const int64_t length = made->length, plane = length * LANES;
    double *planes = malloc((size_t)plane * 4 * sizeof *planes), *norms = calloc((size_t)length, sizeof *norms);
    made->weights = malloc((size_t)(length * made->rows) * 2 * sizeof *made->weights);
    const bool allocated = planes && norms && made->weights;
    double roundings = 0, largest = 0, rows[MAX_ROWS] = {0}, all = 0;
    for (size_t k = 0; k < task->ntaps; k++) rows[row_of_tap(task, k)] += fabs(task->taps[k].weight);
    const int pairing = stn_step_pairing(task);
    const size_t single = pairing ? task->ntaps % 2 : task->ntaps, terms = single + (task->ntaps - single) / 2;
    for (size_t k = 0; k < terms; k++) {
        const double rounded = task->taps[stn_step_tap_of_term(task, pairing, k)].weight * (double)(terms - k + 3);
        roundings += (k < single ? 1 : 2) * rounded * rounded;
    }
    for (int64_t i = 0; i < made->rows; i++) all += rows[i] * rows[i];
    for (int64_t first = 0; allocated && first < made->rows; first += LANES) {
        const int64_t count = stn_min(LANES, made->rows - first);
        memset(planes, 0, (size_t)plane * 4 * sizeof *planes);
        for (size_t k = 0; k < task->ntaps; k++) {
            const int64_t row = row_of_tap(task, k) - first;
            if (row >= 0 && row < count)
                planes[(task->taps[k].offset[axis] + task->reach[axis][0]) * LANES + row] =
                    task->taps[k].weight / (double)length;
        }
        const stn_planes x = {planes, planes + plane}, other = {planes + 2 * plane, planes + 3 * plane};
        const stn_planes result = stn_fft_line_run(made->line, stn_fft_kernels_best(), x, other, LANES);
        made->result_in_second = result.re != x.re;
        for (int64_t k = 0; k < length; k++)
            for (int64_t l = 0; l < count; l++) {
                const double re = result.re[k * LANES + l], im = -result.im[k * LANES + l];
                double *to = made->weights + 2 * (k * made->rows + first + l);
                to[0] = re, to[1] = im;
                norms[k] += re * re + im * im;
            }
    }
    for (int64_t k = 0; allocated && k < length; k++) largest = fmax(largest, sqrt(norms[k]) * (double)length);
    const double transform = 10 * UNIT * ceil(log2((double)length) / 3);
    made->error = 1.05 * (transform * (2 * largest + sqrt(all)) + 3 * ((double)made->rows + 2) * UNIT * largest);
    if (!(made->quantum > 0)) made->error += 1.05 * UNIT * sqrt(roundings);
    free(planes);
    free(norms);
    return allocated;
}

stn_status stn_row_spectra_create(const stn_task *task, bool exact, stn_row_spectra **made, stn_error *error) {
    *made = NULL;
    if (isinf(stn_row_spectra_cost(task, exact))) return STN_OK;
    stn_row_spectra *spectra = calloc(1, sizeof *spectra);
    if (!spectra) return stn_fail_memory(error, "the spectra of weights", sizeof *spectra);
    spectra->exact = exact;
    spectra->axis = axis_of(task);
    spectra->length = length_of(task);
    spectra->width = width_of(task, spectra->length);
    spectra->rows = only_axis(task) < 0 ? task->reach[1][0] + task->reach[1][1] + 1 : 1;
    if (stn_element_is_whole(stn_task_element(task, true))) spectra->quantum = quantum_of(task, &spectra->relative);
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

/* ---- loading --------------------------------------------------------------------------------- */

static char *point_at(const stn_layout *layout, int64_t batch, const int64_t at[3]) {
    return layout->base +
           (batch * layout->batch_stride + at[0] * layout->stride[0] + at[1] * layout->stride[1] + at[2]) *
               layout->size;
}

static char *point_of(const spectra_work *work, const stn_layout *layout, int64_t x, int64_t y) {
    return point_at(layout, work->batch, (int64_t[]){work->plane, y, x});
}

/* Loads `length` points of row y into `to`, from the first one on that the taps of column x read;
 * zeros where there are none. */
static void load_line(const spectra_work *work, int64_t y, int64_t x, int64_t length, double *to) {
    const stn_step *step = work->run->step;
    const stn_task *task = step->task;
    const int64_t j = stn_task_fold(task, 1, y), size = step->from.size;
    const int64_t begin = x - task->reach[2][0], end = stn_min(begin + length, task->n[2] + task->reach[2][1]);
    const bool none = x >= task->n[2];
    if (none || j < 0) {
        const double value = none ? 0 : stn_step_constant(task, 1, j);
        for (int64_t k = 0; k < length; k++) to[k] = value;
        return;
    }
    const char *row = point_of(work, &step->from, 0, j);
    const int64_t inside = stn_max(begin, 0), past = stn_min(end, task->n[2]);
    step->kernels->load[step->from.element](to + (inside - begin), row + inside * size, (size_t)(past - inside));
    for (int64_t at = inside * size; at < past * size; at += 64) /* the row that is loaded next */
        __builtin_prefetch(row + step->from.stride[1] * size + at);
    for (int64_t i = begin < inside ? begin : past; i < end; i = i + 1 == inside ? past : i + 1) {
        const int64_t at = stn_task_fold(task, 2, i);
        if (at < 0)
            to[i - begin] = stn_step_constant(task, 2, at);
        else
            step->kernels->load[step->from.element](to + (i - begin), row + at * size, 1);
    }
    for (int64_t k = end - begin; k < length; k++) to[k] = 0;
}

/* Computes the spectra of input row y of each strip into slot `number`. */
static void load_slot(spectra_work *work, int64_t y, int number) {
    const spectra_run *run = work->run;
    const stn_row_spectra *s = run->spectra;
    const stn_task *task = run->step->task;
    const int64_t plane = s->length * LANES;
    double *slot = work->slots[number], *from = s->result_in_second ? work->spare : slot;
    const stn_planes x = {from, from + plane};
    double *other = s->result_in_second ? slot : work->spare;
    for (int part = 0; part < 2; part++) {
        for (int64_t l = 0; l < LANES; l++)
            load_line(work, stn_min(work->y + l * run->strip_rows, task->n[1]) + y, work->x + part * s->width,
                      s->length, work->lines + l * s->length);
        /* The zeros for imaginary parts are overwritten: for part 0 by part 1, for part 1 by the
         * transform. */
        run->fft_kernels->load_reals((stn_planes){part ? x.im : x.re, part ? other : x.im}, work->lines, s->length,
                                     s->length, LANES);
    }
    double sums[LANES] = {0};
    for (int64_t k = 0; k < 2 * plane; k += LANES)
        for (int64_t l = 0; l < LANES; l++) sums[l] += from[k + l] * from[k + l];
    memcpy(work->norms[number], sums, sizeof sums);
    stn_fft_line_run(s->line, run->fft_kernels, x, (stn_planes){other, other + plane}, LANES);
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void compute_box(spectra_work *work, int64_t x, int64_t y, int64_t width, int64_t height) {
    const stn_box box = {{work->plane, y, x}, {work->plane + 1, y + height, x + width}};
    stn_step_box(work->run->step, work->batch, &box);
}

/* The terms of a point, whose value is at *point in the window. memory: 2 numbers for each tap. */
static void order_terms(spectra_work *work, const double *point, int64_t width, double *memory) {
    const stn_step *step = work->run->step;
    const stn_task *task = step->task;
    const void **line = (const void **)(memory + task->ntaps);
    work->terms = step->terms;
    work->terms.weights = memory, work->terms.lines = line;
    for (size_t k = 0; k < step->terms.single + step->terms.pairs; k++) {
        const stn_tap *tap = &task->taps[stn_step_tap_of_term(task, step->pairing, k)];
        const int64_t distance = tap->offset[1] * width + tap->offset[2];
        memory[k] = tap->weight;
        *line++ = point + distance;
        if (k >= step->terms.single) *line++ = point - distance;
    }
}

/* Computes one point by the sum of stencil_step.h. */
static void compute_point(spectra_work *work, int64_t x, int64_t y) {
    const stn_step *step = work->run->step;
    const stn_task *task = step->task;
    const int64_t width = task->reach[2][0] + task->reach[2][1] + 1;
    double sum;
    for (int64_t i = 0; i < work->run->spectra->rows; i++)
        load_line(work, y - task->reach[1][0] + i, x, width, work->window + i * width);
    step->kernels->sum(&sum, &work->terms, 1);
    sum /= step->divisor;
    step->kernels->store[step->to.element](point_of(work, &step->to, x, y), &sum, 1);
}

/* The points of an axis that the taps of [*begin, *past) read. Returns false if they may read other
 * values as well. */
static bool find_window(const stn_task *task, int axis, int64_t *begin, int64_t *past) {
    const stn_boundary *sides = task->boundary[axis];
    *begin -= task->reach[axis][0];
    *past += task->reach[axis][1];
    for (int side = 0; side < 2; side++)
        if (side ? *past > task->n[axis] : *begin < 0)
            if (sides[side].kind == STN_CONSTANT || sides[side].kind == STN_WRAP ||
                task->reach[axis][0] != task->reach[axis][1])
                return false;
    *begin = stn_max(*begin, 0);
    *past = stn_min(*past, task->n[axis]);
    return true;
}

/* If the taps of points x to end - 1 all read one and the same number, stores the result, which is
 * the same for all these points, and returns true. */
static bool store_constant(spectra_work *work, const spectra_place *at, int64_t x, int64_t end) {
    const stn_step *step = work->run->step;
    const int64_t size = step->from.size, to_size = step->to.size;
    int64_t left = x, past = end, top = at->y, bottom = at->y + 1;
    if (!find_window(step->task, 2, &left, &past) || !find_window(step->task, 1, &top, &bottom)) return false;
    const char *first = point_of(work, &step->from, left, bottom - 1);
    const size_t rest = (size_t)((past - left - 1) * size);
    constant_run *last = &work->constant_runs[at->part][at->lane];
    const bool follows = last->x == x && last->end == end && last->y == at->y - 1;
    for (int64_t i = follows ? bottom - 1 : top; i < bottom; i++) {
        const char *row = point_of(work, &step->from, left, i);
        if (memcmp(row, first, (size_t)size) || memcmp(row, row + size, rest)) return false;
    }
    if (follows && memcmp(first, point_of(work, &step->from, left, top), (size_t)size)) return false;
    *last = (constant_run){x, end, at->y};
    char *to = point_of(work, &step->to, x, at->y);
    if (!work->has_constant || memcmp(work->constant, first, (size_t)size)) {
        compute_box(work, x, at->y, 1, 1);
        memcpy(work->constant, first, (size_t)size);
        memcpy(work->result, to, (size_t)to_size);
        work->has_constant = true;
    }
    for (int64_t k = 0; k < end - x; k++) memcpy(to + k * to_size, work->result, (size_t)to_size);
    return true;
}

/* Stores `count` results; error: the bound of their errors. */
static void store_results(spectra_work *work, const spectra_place *at, double *values, int64_t count, double error) {
    const int64_t x = at->x, y = at->y;
    const stn_row_spectra *s = work->run->spectra;
    const stn_step *step = work->run->step;
    const int64_t size = step->to.size;
    void (*const store)(void *, const double *, size_t) = step->kernels->store[step->to.element];
    char *row = point_of(work, &step->to, x, y);
    double *low = work->spare, *high = low + stn_div_up(count, 8) * 8;
    char *other = (char *)(high + count);
    work->all += count;
    const bool whole = stn_element_is_whole(step->to.element);
    if (!(error < (s->quantum > 0 ? 0.45 * s->quantum : whole ? 0.25 : INFINITY))) {
        compute_box(work, x, y, count, 1);
        work->stepped += count;
        return;
    }
    const double large = 0x1.8p52, quantum = s->quantum, multiples = 1 / quantum, divisor = step->divisor;
    if (quantum > 0)
        for (int64_t k = 0; k < count; k++) values[k] = ((values[k] * multiples + large) - large) * quantum / divisor;
    const bool open = step->kernels->bound(low, high, values, (size_t)count, quantum > 0 ? 0 : error,
                                           quantum > 0 ? s->relative : 0, whole);
    store(row, low, (size_t)count);
    if (!open) return;
    store(other, high, (size_t)count);
    if (!memcmp(row, other, (size_t)(count * size))) return;
    int64_t stepped = 0;
    const int64_t most = count + BOX_OVERHEAD_POINTS;
    for (int64_t k = 0, end; k < count && stepped < most; k = end) {
        for (end = k; end < count && memcmp(row + end * size, other + end * size, (size_t)size);) end++;
        if (end > k && !store_constant(work, at, x + k, x + end)) {
            const bool few = end - k <= FEW_POINTS;
            stepped += few ? (end - k) * SINGLE_POINTS : end - k + BOX_OVERHEAD_POINTS;
            for (int64_t i = k; few && stepped < most && i < end; i++) compute_point(work, x + i, y);
            if (!few && stepped < most) compute_box(work, x + k, y, end - k, 1);
        }
        while (end + 8 <= count && !memcmp(row + end * size, other + end * size, (size_t)(8 * size))) end += 8;
        end += end < count && !memcmp(row + end * size, other + end * size, (size_t)size);
    }
    if (stepped >= most) compute_box(work, x, y, count, 1);
    work->stepped += stepped;
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
        /* An inverse transform. If its result lies in `spare`, store_results overwrites the first
         * 3 * points doubles of it. These are imaginary parts, which have already been read. */
        const stn_planes result = stn_fft_line_run(s->line, run->fft_kernels, x, other, LANES);
        _Static_assert(LANES >= 3, "real parts, from `plane` on, are not overwritten");
        for (int64_t q = 0; q < s->rows; q++)
            for (int l = 0; l < LANES; l++) norms[l] += work->norms[r + q][l];
        for (int part = 0; part < 2; part++) {
            const int64_t at = work->x + part * s->width, points = stn_min(s->width, task->n[2] - at);
            if (points <= 0) break;
            run->fft_kernels->store_reals(work->lines, (stn_planes){part ? result.re : result.im, NULL}, points,
                                          s->length, LANES, 1);
            for (int l = 0; l < LANES; l++) {
                const spectra_place place = {at, work->y + l * run->strip_rows + y + r, part, l};
                if (place.y >= task->n[1]) break;
                if (!s->exact)
                    run->step->kernels->store[run->step->to.element](point_of(work, &run->step->to, place.x, place.y),
                                                                     work->lines + l * s->length, (size_t)points);
                else
                    store_results(work, &place, work->lines + l * s->length, points,
                                  s->error * sqrt(norms[l]) + MIN_ERROR);
            }
        }
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Whether few enough points needed stn_step_box. */
static bool is_worthwhile(const spectra_work *work) { return work->spare && 2 * work->stepped <= work->all; }

/* Computes by stn_step_box, for `pairs` pairs of tiles, all rows of each strip from row y on. */
static void step_rows(spectra_work *work, int64_t y, int64_t pairs) {
    const spectra_run *run = work->run;
    const stn_task *task = run->step->task;
    const int64_t width = stn_min(pairs * 2 * run->spectra->width, task->n[2] - work->x);
    for (int64_t l = 0; l < LANES; l++) {
        const int64_t begin = work->y + l * run->strip_rows + y, end = stn_min(begin - y + run->strip_rows, task->n[1]);
        if (begin < end) compute_box(work, work->x, begin, width, end - begin);
    }
}

static void run_group(spectra_work *work) {
    const spectra_run *run = work->run;
    const stn_row_spectra *s = run->spectra;
    const stn_task *task = run->step->task;
    const int64_t low = -task->reach[1][0];
    const int before = (int)s->rows - 1;
    for (int i = 0; i < before; i++) load_slot(work, low + i, i);
    for (int64_t y = 0; y < run->strip_rows && stn_watch_continues(run->step->watch); y += ROWS) {
        if (!is_worthwhile(work)) {
            step_rows(work, y, 1);
            return;
        }
        for (int r = 0; r < ROWS; r++) load_slot(work, low + y + before + r, before + r);
        run->step->kernels->sum_spectra(work->sums, (const double *const *)work->slots, s->weights, (size_t)s->rows,
                                        (size_t)s->length);
        store_rows(work, y, stn_min(ROWS, run->strip_rows - y));
        for (int i = 0; i < before; i++) {
            double *oldest = work->slots[i];
            work->slots[i] = work->slots[i + ROWS];
            work->slots[i + ROWS] = oldest;
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
    const int64_t width = task->reach[2][0] + task->reach[2][1] + 1;
    /* A window, the weights of its terms, and pointers to their points. */
    const size_t window = (size_t)(s->rows * width), sum = (window + 2 * task->ntaps + 7) / 8 * 8;
    double *memory = aligned_alloc(64, (planes * (plane + 8) + sum) * sizeof *memory);
    if (memory) {
        work.window = memory + planes * (plane + 8);
        order_terms(&work, work.window + task->reach[1][0] * width + task->reach[2][0], width, work.window + window);
    }
    for (size_t i = 0; memory && i < planes; i++) {
        double *at = memory + i * (plane + 8);
        *(i < slots          ? &work.slots[i]
          : i < slots + ROWS ? &work.sums[i - slots]
          : i + 2 == planes  ? &work.spare
                             : &work.lines) = at;
    }
    for (int64_t item = begin, count; item < end; item += count) {
        int64_t rest = item / run->pairs;
        work.x = item % run->pairs * 2 * s->width;
        work.y = rest % run->groups * LANES * run->strip_rows;
        work.plane = (rest /= run->groups) % task->n[0];
        work.batch = rest / task->n[0];
        for (int l = 0; l < LANES; l++) work.constant_runs[0][l].y = work.constant_runs[1][l].y = -2;
        count = is_worthwhile(&work) ? 1 : stn_min(end - item, run->pairs - item % run->pairs);
        if (is_worthwhile(&work))
            run_group(&work);
        else
            step_rows(&work, 0, count);
    }
    free(memory);
}

/* ---- taps along one axis --------------------------------------------------------------------- */

/* A part of one line of points, or, if lines are columns, of 2 * AXIS_LANES neighbouring ones. */
typedef struct axis_tile {
    int64_t batch, at[3], count[3]; /* the first point, and the number of points along each axis */
} axis_tile;

static axis_tile tile_of(const spectra_run *run, int64_t number) {
    const stn_task *task = run->step->task;
    const int axis = run->spectra->axis;
    int64_t size[3] = {1, 1, axis < 2 ? 2 * AXIS_LANES : 1};
    axis_tile tile;
    size[axis] = run->spectra->width;
    for (int a = 2; a >= 0; a--) {
        const int64_t tiles = stn_div_up(task->n[a], size[a]);
        tile.at[a] = number % tiles * size[a];
        tile.count[a] = stn_min(size[a], task->n[a] - tile.at[a]);
        number /= tiles;
    }
    tile.batch = number;
    return tile;
}

/* Loads the points that the taps of a tile of columns read; zeros where there are none. The first
 * AXIS_LANES columns are real parts, the others imaginary parts. */
static void load_columns(const spectra_run *run, const axis_tile *tile, stn_planes x) {
    const stn_step *step = run->step;
    const stn_task *task = step->task;
    const int axis = run->spectra->axis;
    const int64_t first = tile->at[axis] - task->reach[axis][0], past = task->n[axis] + task->reach[axis][1];
    const size_t count = (size_t)tile->count[2];
    for (int64_t k = 0; k < run->spectra->length; k++) {
        double row[2 * AXIS_LANES] = {0};
        int64_t at[3] = {tile->at[0], tile->at[1], tile->at[2]};
        if (first + k < past) {
            at[axis] = stn_task_fold(task, axis, first + k);
            if (at[axis] >= 0)
                step->kernels->load[step->from.element](row, point_at(&step->from, tile->batch, at), count);
            else
                for (size_t l = 0; l < count; l++) row[l] = stn_step_constant(task, axis, at[axis]);
        }
        memcpy(x.re + k * AXIS_LANES, row, AXIS_LANES * sizeof *row);
        memcpy(x.im + k * AXIS_LANES, row + AXIS_LANES, AXIS_LANES * sizeof *row);
    }
}

static void store_columns(const spectra_run *run, const axis_tile *tile, stn_planes x) {
    const stn_step *step = run->step;
    const int axis = run->spectra->axis;
    int64_t at[3] = {tile->at[0], tile->at[1], tile->at[2]};
    for (int64_t k = 0; k < tile->count[axis]; k++, at[axis]++) {
        double row[2 * AXIS_LANES];
        memcpy(row, x.re + k * AXIS_LANES, AXIS_LANES * sizeof *row);
        memcpy(row + AXIS_LANES, x.im + k * AXIS_LANES, AXIS_LANES * sizeof *row);
        step->kernels->store[step->to.element](point_at(&step->to, tile->batch, at), row, (size_t)tile->count[2]);
    }
}

/* The same for tiles of rows; the first AXIS_LANES tiles are real parts. lines: scratch memory. */
static void load_tiles(const spectra_run *run, const axis_tile *tiles, int count, double *lines, stn_planes x,
                       stn_planes other) {
    const int64_t length = run->spectra->length, half = AXIS_LANES * length;
    for (int i = 0; i < count; i++) {
        const spectra_work work = {.run = run, .batch = tiles[i].batch, .plane = tiles[i].at[0]};
        load_line(&work, tiles[i].at[1], tiles[i].at[2], length, lines + i * length);
    }
    for (int64_t k = count * length; k < 2 * half; k++) lines[k] = 0;
    run->fft_kernels->load_reals(x, lines, length, length, AXIS_LANES);
    run->fft_kernels->load_reals((stn_planes){x.im, other.im}, lines + half, length, length, AXIS_LANES);
}

static void store_tiles(const spectra_run *run, const axis_tile *tiles, int count, double *lines, stn_planes x) {
    const int64_t length = run->spectra->length, half = AXIS_LANES * length, width = run->spectra->width;
    const stn_layout *to = &run->step->to;
    run->fft_kernels->store_reals(lines, x, width, length, AXIS_LANES, 1);
    run->fft_kernels->store_reals(lines + half, (stn_planes){x.im, NULL}, width, length, AXIS_LANES, 1);
    for (int i = 0; i < count; i++)
        run->step->kernels->store[to->element](point_at(to, tiles[i].batch, tiles[i].at), lines + i * length,
                                               (size_t)tiles[i].count[2]);
}

static void run_axis_group(const spectra_run *run, const axis_tile *tiles, int count, double *memory) {
    const stn_row_spectra *s = run->spectra;
    const int64_t plane = s->length * AXIS_LANES + 8;
    double *const lines = memory + 4 * plane;
    stn_planes x = {memory, memory + plane}, other = {memory + 2 * plane, memory + 3 * plane};
    if (s->axis < 2)
        load_columns(run, tiles, x);
    else
        load_tiles(run, tiles, count, lines, x, other);
    const stn_planes spectrum = stn_fft_line_run(s->line, run->fft_kernels, x, other, AXIS_LANES);
    if (spectrum.re == x.re) x = other;
    run->fft_kernels->times(spectrum, spectrum, s->weights, s->length, AXIS_LANES);
    /* An inverse transform. */
    const stn_planes result = stn_fft_line_run(s->line, run->fft_kernels, (stn_planes){spectrum.im, spectrum.re},
                                               (stn_planes){x.im, x.re}, AXIS_LANES);
    if (s->axis < 2)
        store_columns(run, tiles, (stn_planes){result.im, result.re});
    else
        store_tiles(run, tiles, count, lines, (stn_planes){result.im, result.re});
}

static void run_axis_groups(void *user, int64_t begin, int64_t end) {
    const spectra_run *run = user;
    const int64_t each = tiles_of_group(run->spectra->axis), plane = run->spectra->length * AXIS_LANES + 8;
    double *memory = aligned_alloc(64, (size_t)(6 * plane) * sizeof *memory);
    for (int64_t group = begin; group < end && stn_watch_continues(run->step->watch); group++) {
        axis_tile tiles[2 * AXIS_LANES];
        const int count = (int)stn_min(each, run->tiles - group * each);
        for (int i = 0; i < count; i++) {
            const axis_tile *t = &tiles[i];
            tiles[i] = tile_of(run, group * each + i);
            const stn_box box = {{t->at[0], t->at[1], t->at[2]},
                                 {t->at[0] + t->count[0], t->at[1] + t->count[1], t->at[2] + t->count[2]}};
            if (!memory) stn_step_box(run->step, t->batch, &box);
        }
        if (memory) run_axis_group(run, tiles, count, memory);
    }
    free(memory);
}

void stn_row_spectra_run(const stn_row_spectra *spectra, const stn_step *step, stn_pool *pool, int64_t grids) {
    const stn_task *task = step->task;
    spectra_run run = {.spectra = spectra, .step = step, .fft_kernels = stn_fft_kernels_best()};
    if (only_axis(task) >= 0) {
        run.tiles = grids * axis_tiles(task, spectra->axis, spectra->width);
        stn_pool_for(pool, stn_div_up(run.tiles, tiles_of_group(spectra->axis)), 1, run_axis_groups, &run);
        return;
    }
    run.pairs = stn_div_up(task->n[2], 2 * spectra->width);
    /* Enough groups for all threads, unless rows would be transformed too often. */
    const int64_t items = grids * task->n[0] * run.pairs, threads = stn_pool_threads(pool);
    run.groups = threads == 1 ? 1 : stn_div_up(ITEMS_PER_THREAD * threads, items);
    run.groups = stn_max(stn_min(run.groups, task->n[1] / (2 * LANES * spectra->rows)), 1);
    run.strip_rows = stn_div_up(task->n[1], run.groups * LANES);
    run.groups = stn_div_up(task->n[1], run.strip_rows * LANES);
    stn_pool_for(pool, items * run.groups, 1, run_groups, &run);
}
