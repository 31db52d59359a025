/* Multidimensional FFTs, axis by axis: groups of lines are loaded into planes, transformed, and
 * stored; intermediate results have the arithmetic type, and are stored in the output where that is
 * possible, else in the workspace. A line of n real numbers, n even, is transformed as n/2 complex
 * ones. */
#include "host/fft_axes.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/fft_cosine.h"
#include "host/fft_group.h"
#include "host/fft_line.h"
#include "host/fft_long.h"
#include "host/fft_odd.h"

/* Small transforms of a batch run axis by axis together, about this many points at once. */
#define CHUNK_POINTS (1 << 20)
/* Numbers added to the distance of planes: planes at distances of a power of two would share cache
 * sets. */
#define PLANE_PADDING 136
/* Complex points up to which each thread transforms lines of a batch by itself, as all its data
 * stay in a cache; longer lines are divided among the threads. */
#define WHOLE_LINE 40000
/* The next group is prefetched if a group has at most so many numbers, and the batch more than a
 * core's caches hold. Threads then claim several groups at once, as each prefetches its own. */
#define SHORT_GROUP 1024
#define CACHED_NUMBERS (1 << 17)
#define GROUPS_OF_CLAIM 16
/* Least numbers of a thread in the steps before and after the inner transform of a long cosine or
 * sine transform. */
#define POINTS_PER_TASK 4096

struct stn_fft_axes {
    stn_fft fft;
    const stn_fft_kernels *kernels;
    int passes, axes[3];    /* number of passes, and the axis of each */
    stn_fft_line *lines[3]; /* by axis; axes of equal length share one */
    /* The same for cosine and sine transforms, which have no `lines`. */
    stn_fft_cosine *cosines[3];
    int64_t lanes[3]; /* lines of a group, by axis */
    /* exp(-2 pi i k / n[2]), k <= n[2] / 4, for paired real data; or NULL */
    stn_fft_number *half_turns;
    /* For a single long line, or the inner transform of a cosine or sine transform, instead of
     * `lines`: `odd` if it has an odd number of real numbers; otherwise NULL. */
    stn_fft_long *grid;
    stn_fft_odd *odd;
    int whole;        /* of a batch of such lines: threads that transform one line each; or 0 */
    int64_t chunk;    /* transforms of the batch that run together */
    int64_t capacity; /* numbers in each of a task's four planes */
    int tasks;        /* each takes one group after the other, and has its own planes */
    /* Whether the output holds the intermediate results: all passes but the first then read and
     * write the same lines of it. */
    bool in_output;
};

/* A batch of lines that each take two passes. */
typedef struct long_lines {
    const stn_fft_axes *host;
    const void *in;
    void *out;
    stn_fft_number *workspace;
    stn_watch *watch;
    _Atomic int64_t next; /* next unclaimed line */
} long_lines;

/* The step of a long cosine or sine transform before or after its inner transform. */
typedef struct cosine_step {
    const stn_fft_axes *host;
    const stn_fft_number *in;
    stn_fft_number *out, *inner;
    bool after;
} cosine_step;

typedef struct pass {
    const stn_fft_axes *host;
    int axis;
    stn_fft_view from, to;
    stn_fft_number scale;
    int64_t lines;
    stn_fft_number *planes;
    stn_watch *watch;
    int64_t claim;        /* groups that a task claims at once */
    bool prefetches;      /* see stn_fft_group */
    _Atomic int64_t next; /* next unclaimed group */
} pass;

/* ---- lines */

static stn_planes swapped(stn_planes a) { return (stn_planes){a.im, a.re}; }

/* Whether the lines of this axis are real on one side and transformed as pairs. */
static bool is_halved(const stn_fft *fft, int axis) {
    return fft->in.real != fft->out.real && axis == 2 && fft->n[2] % 2 == 0;
}
static int64_t length_of(const stn_fft *fft, int axis) { return is_halved(fft, axis) ? fft->n[2] / 2 : fft->n[axis]; }

/* Fills in the missing half of a spectrum: conjugates of the points that are known. */
static void complete(stn_planes x, int64_t known, int64_t n, int64_t lanes) {
    for (int64_t k = known; k < n; k++)
        for (int64_t l = 0; l < lanes; l++) {
            x.re[k * lanes + l] = x.re[(n - k) * lanes + l];
            x.im[k * lanes + l] = -x.im[(n - k) * lanes + l];
        }
}

static void run_cosine_group(const pass *p, const stn_fft_group *g, stn_planes x, stn_planes other) {
    const stn_fft_axes *host = p->host;
    const stn_fft_cosine *c = host->cosines[p->axis];
    const int64_t lanes = host->lanes[p->axis];
    stn_fft_number restoring[STN_FFT_LANES], factor = p->scale;
    stn_fft_group_load(&p->from, g, host->kernels, x, lanes);
    const bool scaled_down = stn_fft_group_scale_down(host->kernels, x, c->n, 2 * c->length, lanes, restoring);
    x = stn_fft_cosine_run(c, host->kernels, x, other, lanes);
    if (scaled_down) {
        stn_fft_group_scale_up(x, c->n, lanes, restoring, factor);
        factor = 1;
    }
    stn_fft_group_store(&p->to, g, host->kernels, x, lanes, factor);
}

static void run_group(const pass *p, const stn_fft_group *g, stn_fft_number *planes) {
    const stn_fft_axes *host = p->host;
    const stn_fft *fft = &host->fft;
    int64_t lanes = host->lanes[p->axis], known = p->from.side.n[p->axis], n = fft->n[p->axis];
    stn_planes x = {planes, planes + host->capacity},
               other = {planes + 2 * host->capacity, planes + 3 * host->capacity};
    if (host->cosines[p->axis]) {
        run_cosine_group(p, g, x, other);
        return;
    }
    bool in_halves = is_halved(fft, p->axis);
    stn_fft_group_load(&p->from, g, host->kernels, x, lanes);
    stn_fft_number restoring[STN_FFT_LANES], factor = p->scale;
    const int64_t read = in_halves && p->from.side.real ? n / 2 : known;
    const bool scaled_down = stn_fft_group_scale_down(host->kernels, x, read, n, lanes, restoring);
    if (in_halves && !p->from.side.real)
        host->kernels->from_half(x, n / 2, host->half_turns, lanes);
    else if (!p->from.side.real)
        complete(x, known, n, lanes);
    if (fft->inverse) x = swapped(x), other = swapped(other);
    const bool real = p->from.side.real && !in_halves;
    x = (real ? stn_fft_line_run_real : stn_fft_line_run)(host->lines[p->axis], host->kernels, x, other, lanes);
    if (fft->inverse) x = swapped(x);
    if (in_halves && p->from.side.real) host->kernels->to_half(x, n / 2, host->half_turns, lanes);
    if (scaled_down) {
        const int64_t made = in_halves && p->from.side.real ? n / 2 + 1 : length_of(fft, p->axis);
        stn_fft_group_scale_up(x, made, lanes, restoring, factor);
        factor = 1;
    }
    stn_fft_group_store(&p->to, g, host->kernels, x, lanes, factor);
}

/* Each task claims groups until none is left, since threads may differ in speed. */
static void run_tasks(void *user, int64_t begin, int64_t end) {
    pass *p = user;
    const stn_fft_axes *host = p->host;
    const int64_t lanes = host->lanes[p->axis], claimed = p->claim * lanes;
    for (int64_t task = begin; task < end; task++)
        for (int64_t first;
             (first = atomic_fetch_add(&p->next, p->claim) * lanes) < p->lines && stn_watch_continues(p->watch);)
            for (int64_t line = first; line < stn_min(first + claimed, p->lines); line += lanes) {
                stn_fft_group g = {p->axis, line, stn_min(lanes, p->lines - line), is_halved(&host->fft, p->axis),
                                   p->prefetches};
                run_group(p, &g, p->planes + 4 * host->capacity * task);
            }
}

/* ---- passes */

/* Layout between two passes: the elements of the complex side, or of either side of cosine and sine
 * transforms, dense except for padding where rows or planes would share cache sets. */
static stn_fft_side middle_side(const stn_fft *fft) {
    const stn_fft_side *complex_side = fft->in.real ? &fft->out : &fft->in;
    stn_fft_side side = {.real = complex_side->real};
    const int64_t size = (side.real ? 1 : 2) * (int64_t)sizeof(stn_fft_number);
    int64_t next = 1;
    for (int axis = 2; axis >= 0; axis--) {
        side.n[axis] = complex_side->n[axis];
        side.stride[axis] = next;
        next *= side.n[axis];
        if (next * size % 2048 == 0) next += 64 / (int64_t)sizeof(stn_fft_number);
    }
    side.batch_stride = next;
    return side;
}

/* Whether intermediate results may be stored in the output: its numbers have the arithmetic type,
 * and it is laid out as the workspace would be. This holds in place too, where each line of the
 * first pass has the same address in the input and in the output. */
static bool fits_output(const stn_fft *fft) {
    const stn_fft_side side = middle_side(fft);
    if (fft->out.real != side.real || fft->dtype != STN_FFT_DTYPE) return false;
    for (int axis = 0; axis < 3; axis++)
        if (fft->n[axis] > 1 && fft->out.stride[axis] != side.stride[axis]) return false;
    return true;
}

static void *moved(const stn_fft *fft, const stn_fft_side *side, const void *base, int64_t transform) {
    return (char *)base + transform * side->batch_stride * (int64_t)stn_fft_element(fft, side);
}

/* Numbers of the intermediate results in the workspace. */
static int64_t middle_numbers(const stn_fft_axes *host) {
    const stn_fft_side side = middle_side(&host->fft);
    return host->passes > 1 && !host->in_output ? (side.real ? 1 : 2) * host->chunk * side.batch_stride : 0;
}

static void run_chunk(const stn_fft_axes *host, stn_pool *pool, const void *in, void *out, void *workspace,
                      int64_t count) {
    const stn_fft *fft = &host->fft;
    stn_fft_number *work = workspace;
    const stn_fft_view first = {(void *)in, fft->in, fft->dtype}, last = {out, fft->out, fft->dtype};
    const stn_fft_view middle = host->in_output ? last : (stn_fft_view){work, middle_side(fft), STN_FFT_DTYPE};
    const int64_t held = middle_numbers(host);
    double left = fft->scale;
    for (int i = 0; i < host->passes; i++) {
        bool ends = i == host->passes - 1;
        pass p = {.host = host, .axis = host->axes[i], .from = i ? middle : first, .to = ends ? last : middle};
        const double share = ends ? left : stn_fft_share(left, fft->n[p.axis]);
        p.scale = (stn_fft_number)share;
        left /= share;
        p.planes = work + held;
        p.watch = stn_pool_watched(pool);
        p.lines = count;
        for (int a = 0; a < 3; a++)
            if (a != p.axis) p.lines *= p.from.side.n[a];
        const int64_t numbers = 2 * fft->n[p.axis], lanes = host->lanes[p.axis];
        p.prefetches = numbers * lanes <= SHORT_GROUP && numbers * p.lines > CACHED_NUMBERS;
        p.claim = p.prefetches ? stn_max(stn_min(p.lines / (8 * lanes * host->tasks), GROUPS_OF_CLAIM), 1) : 1;
        stn_pool_for(pool, host->tasks, 1, run_tasks, &p);
    }
}

static void run_cosine_step(void *user, int64_t begin, int64_t end) {
    const cosine_step *s = user;
    const stn_fft_cosine *c = s->host->cosines[2];
    const bool complex_side = c->is_complex || (c->type == 3) != s->after;
    const stn_fft_inner inner = {.z = {s->inner, s->inner + 1}, .step = complex_side ? 2 : 1};
    if (s->after)
        stn_fft_cosine_after(c, s->host->kernels, &inner, s->out, s->host->fft.out.stride[2], begin, end, 1);
    else
        stn_fft_cosine_before(c, s->host->kernels, s->in, s->host->fft.in.stride[2], &inner, begin, end, 1);
}

/* Numbers in the workspace that hold the input and the result of the inner transform of a cosine or
 * sine transform. */
static int64_t inner_numbers(const stn_fft_axes *host) {
    const stn_fft_cosine *c = host->cosines[2];
    return c ? stn_round_up((c->is_complex ? 2 : 1) * c->length + 2, 64) : 0;
}

/* pool: NULL if the calling thread transforms the line alone. */
static void run_long_line(const long_lines *lines, stn_pool *pool, int64_t one, stn_fft_number *workspace) {
    const stn_fft_axes *host = lines->host;
    const stn_fft *fft = &host->fft;
    const stn_fft_cosine *c = host->cosines[2];
    const void *in = moved(fft, &fft->in, lines->in, one);
    void *out = moved(fft, &fft->out, lines->out, one);
    cosine_step s = {.host = host, .in = in, .out = out, .inner = workspace};
    if (c) {
        stn_pool_for(pool, c->before, POINTS_PER_TASK, run_cosine_step, &s);
        in = out = workspace;
        workspace += inner_numbers(host);
    }
    if (host->grid)
        stn_fft_long_run(host->grid, pool, in, out, c ? c->half_turns : host->half_turns, workspace);
    else
        stn_fft_odd_run(host->odd, pool, in, out, workspace);
    s.after = true;
    if (c) stn_pool_for(pool, c->after, POINTS_PER_TASK, run_cosine_step, &s);
}

/* Numbers in the workspace of such a line. */
static int64_t long_line_workspace(const stn_fft_axes *host) {
    return inner_numbers(host) + (host->grid ? stn_fft_long_workspace(host->grid) : stn_fft_odd_workspace(host->odd));
}

static void run_whole_lines(void *user, int64_t begin, int64_t end) {
    long_lines *lines = user;
    for (int64_t task = begin; task < end; task++)
        for (int64_t one;
             (one = atomic_fetch_add(&lines->next, 1)) < lines->host->fft.batch && stn_watch_continues(lines->watch);)
            run_long_line(lines, NULL, one, lines->workspace + task * long_line_workspace(lines->host));
}

void stn_fft_axes_run(const stn_fft_axes *host, stn_pool *pool, const void *in, void *out, void *workspace) {
    const stn_fft *fft = &host->fft;
    if (host->grid || host->odd) {
        long_lines lines = {
            .host = host, .in = in, .out = out, .workspace = workspace, .watch = stn_pool_watched(pool)};
        if (host->whole)
            stn_pool_for(pool, host->whole, 1, run_whole_lines, &lines);
        else
            for (int64_t one = 0; one < fft->batch; one++) run_long_line(&lines, pool, one, workspace);
        return;
    }
    for (int64_t first = 0; first < fft->batch; first += host->chunk)
        run_chunk(host, pool, moved(fft, &fft->in, in, first), moved(fft, &fft->out, out, first), workspace,
                  stn_min(host->chunk, fft->batch - first));
}

size_t stn_fft_axes_workspace(const stn_fft_axes *host) {
    if (host->grid || host->odd)
        return (size_t)(long_line_workspace(host) * stn_max(host->whole, 1)) * sizeof(stn_fft_number);
    return (size_t)(middle_numbers(host) + 4 * host->capacity * host->tasks) * sizeof(stn_fft_number);
}

/* ---- tables */

/* Fourier transforms do not change lines of one point, but cosine transforms do. */
static bool is_transformed(const stn_fft *fft, int axis) {
    return axis == 2 || fft->n[axis] > 1 || (stn_fft_is_real_to_real(fft) && axis >= 3 - fft->rank);
}

/* Axis 2, whose lines are real in the input or output, is transformed first for R2C and last for
 * C2R. For complex data it is transformed last, since threads then write memory in order. */
static void order_axes(stn_fft_axes *host) {
    bool ascending = host->fft.kind != STN_R2C;
    for (int i = 0; i < 3; i++) {
        int axis = ascending ? i : 2 - i;
        if (is_transformed(&host->fft, axis)) host->axes[host->passes++] = axis;
    }
}

/* Lines per group, tuned so that a group's planes fit in a core's caches. */
static int64_t lanes_for(int64_t capacity, int64_t lines) {
    if (lines < 3 || capacity > 40000) return 1;
    return capacity <= 1100 && lines >= STN_FFT_LANES ? STN_FFT_LANES : STN_FFT_LANES / 2;
}

/* The tables of an axis, and the points of a line in each plane. */
static stn_status make_tables(stn_fft_axes *host, int axis, int64_t *capacity, stn_error *error) {
    const stn_fft *fft = &host->fft;
    if (stn_fft_is_real_to_real(fft)) {
        for (int before = 0; before < axis; before++)
            if (host->cosines[before] && fft->n[before] == fft->n[axis]) host->cosines[axis] = host->cosines[before];
        if (!host->cosines[axis]) STN_TRY(stn_fft_cosine_create(fft, fft->n[axis], true, &host->cosines[axis], error));
        *capacity = stn_fft_cosine_capacity(host->cosines[axis]);
        return STN_OK;
    }
    for (int before = 0; before < axis; before++)
        if (host->lines[before] && length_of(fft, before) == length_of(fft, axis))
            host->lines[axis] = host->lines[before];
    if (!host->lines[axis]) STN_TRY(stn_fft_line_create(length_of(fft, axis), &host->lines[axis], error));
    *capacity = stn_max(stn_fft_line_capacity(host->lines[axis]), fft->n[axis] / 2 + 1);
    return STN_OK;
}

static stn_status make_line(stn_fft_axes *host, int axis, stn_error *error) {
    const stn_fft *fft = &host->fft;
    int64_t points = host->chunk * fft->n[0] * fft->n[1] * fft->n[2], lines = points / fft->n[axis], capacity;
    STN_TRY(make_tables(host, axis, &capacity, error));
    host->lanes[axis] = lanes_for(capacity, lines);
    host->capacity = stn_max(host->capacity, capacity * host->lanes[axis]);
    host->tasks = (int)stn_min(host->tasks, stn_div_up(lines, host->lanes[axis]));
    return STN_OK;
}

stn_status stn_fft_axes_create(const stn_fft *fft, int threads, stn_fft_axes **made, stn_error *error) {
    *made = NULL;
    stn_fft_axes *host = calloc(1, sizeof *host);
    if (!host) return stn_fail_memory(error, "a transform", sizeof *host);
    stn_status status = STN_OK;
    host->fft = *fft;
    host->kernels = stn_fft_kernels_best();
    host->tasks = threads;
    order_axes(host);
    host->in_output = fits_output(fft);
    int64_t points = fft->n[0] * fft->n[1] * fft->n[2];
    host->chunk = host->passes == 1 ? fft->batch : stn_min(fft->batch, stn_max(1, CHUNK_POINTS / points));
    const bool cosine = stn_fft_is_real_to_real(fft);
    const stn_fft line = cosine ? stn_fft_cosine_inner(fft, fft->n[2]) : *fft;
    const bool whole = fft->batch > 2 && line.n[2] <= (line.kind == STN_C2C ? WHOLE_LINE : 2 * WHOLE_LINE);
    host->whole = whole ? (int)stn_min(threads, fft->batch) : 0;
    const int sharing = whole ? 1 : threads; /* threads that share a line */
    /* Axes of one point have a cosine transform too. */
    const bool alone = !cosine || fft->rank == 1;
    if (alone && stn_fft_long_serves(&line))
        status = stn_fft_long_create(&line, sharing, lanes_for, &host->grid, error);
    if (alone && stn_fft_odd_serves(&line)) status = stn_fft_odd_create(&line, sharing, lanes_for, &host->odd, error);
    if (cosine && status == STN_OK && (host->grid || host->odd))
        status = stn_fft_cosine_create(fft, fft->n[2], false, &host->cosines[2], error);
    for (int axis = 0; axis < 3 && status == STN_OK && !host->grid && !host->odd; axis++)
        if (is_transformed(fft, axis)) status = make_line(host, axis, error);
    if (status == STN_OK && is_halved(fft, 2) && !(host->half_turns = stn_fft_twiddles(fft->n[2] / 4 + 1, fft->n[2])))
        status = stn_fail_memory(error, "the tables of a transform", (size_t)fft->n[2] * 4);
    host->capacity = stn_round_up(host->capacity, 512) + PLANE_PADDING;
    if (status == STN_OK)
        *made = host;
    else
        stn_fft_axes_destroy(host);
    return status;
}

void stn_fft_axes_destroy(stn_fft_axes *host) {
    if (!host) return;
    for (int axis = 0; axis < 3; axis++) {
        bool shared = false;
        for (int before = 0; before < axis; before++)
            shared =
                shared || (host->lines[before] == host->lines[axis] && host->cosines[before] == host->cosines[axis]);
        if (shared) continue;
        stn_fft_line_destroy(host->lines[axis]);
        stn_fft_cosine_destroy(host->cosines[axis]);
    }
    stn_fft_long_destroy(host->grid);
    stn_fft_odd_destroy(host->odd);
    free(host->half_turns);
    free(host);
}
