/* Rounding error accumulated over many launches on few points.
 *
 * One launch on few points, n, is an n x n matrix A, scaled by its largest eigenvalue. The rounding
 * errors of a launch are random. After i further launches, their mean square relative to that of
 * the data is P(i) = |A^i|^2 / n times the original one (|.|: the Frobenius norm). P decreases, so
 * its sum over 2^j <= i < 2^(j+1) is at most 2^j P(2^j), which j squarings of the matrix give.
 *
 * Two equal rows of A^i, or a row and its negative, belong to points that hold the same number, up
 * to the sign, from then on, and have the same rounding errors. */
#include "strategies/common/rounding_on_few_points.h"

#include <math.h>
#include <string.h>

#define FEW 32 /* largest number of points of a matrix */
/* Doublings of the number of launches; afterwards only the dominant eigenvector remains. */
#define DOUBLINGS 16
#define UNIT 0x1p-11           /* largest relative rounding error */
#define ROUNDING (0.58 * UNIT) /* typical relative rounding error: stn_error_rounding */
/* Error of a launch on stationary values: the first of two products rounds too. */
#define STATIONARY_ERROR (1.3 * UNIT)
/* A factor this close to a power of two changes values by few units. */
#define STATIONARY_FACTOR 0x1p-8

typedef struct matrix {
    int n;
    double at[FEW][FEW];
} matrix;

typedef struct history {
    double share[DOUBLINGS + 1]; /* P(2^j) */
    int values[DOUBLINGS + 1];   /* distinct values among the points after 2^j launches */
    double factor;               /* dominant eigenvalue of a launch */
} history;

/* Weights of 0 count as reach, but do not mix points. */
static bool mixes(const stn_task *task, int axis) {
    for (size_t i = 0; i < task->ntaps; i++)
        if (task->taps[i].weight != 0 && task->taps[i].offset[axis] != 0) return true;
    return false;
}

double stn_mixed_points(const stn_task *task) {
    double points = 1;
    for (int axis = 0; axis < 3; axis++)
        if (mixes(task, axis)) points *= (double)task->n[axis];
    return points;
}

/* ---- matrices */

/* The point that a tap reads, among the mixed ones; -1: past a side with a value of its own. */
static int64_t seen_by(const stn_task *task, const bool mixed[3], const int64_t index[3], const stn_tap *tap) {
    int64_t seen = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (!mixed[axis]) continue;
        const int64_t at = stn_fold(index[axis] + tap->offset[axis], task->n[axis], task->boundary[axis]);
        if (at < 0) return -1;
        seen = seen * task->n[axis] + at;
    }
    return seen;
}

/* The matrix of a step at the centre of all other axes. Frozen points have no rounding errors. */
static void write_step(const stn_task *task, matrix *step) {
    const bool mixed[3] = {mixes(task, 0), mixes(task, 1), mixes(task, 2)};
    memset(step, 0, sizeof *step);
    step->n = (int)stn_mixed_points(task);
    for (int p = 0; p < step->n; p++) {
        int64_t index[3] = {task->n[0] / 2, task->n[1] / 2, task->n[2] / 2}, rest = p;
        for (int axis = 2; axis >= 0; axis--)
            if (mixed[axis]) index[axis] = rest % task->n[axis], rest /= task->n[axis];
        if (stn_task_is_frozen(task, index)) continue;
        for (size_t i = 0; i < task->ntaps; i++) {
            const int64_t seen = seen_by(task, mixed, index, &task->taps[i]);
            if (seen >= 0) step->at[p][seen] += task->taps[i].weight;
        }
    }
}

static void multiply(const matrix *a, const matrix *b, matrix *to) {
    memset(to, 0, sizeof *to);
    to->n = a->n;
    for (int p = 0; p < a->n; p++)
        for (int k = 0; k < a->n; k++)
            for (int q = 0; q < a->n; q++) to->at[p][q] += a->at[p][k] * b->at[k][q];
}

static double square_of_row(const matrix *m, int p) {
    double square = 0;
    for (int q = 0; q < m->n; q++) square += m->at[p][q] * m->at[p][q];
    return square;
}

static double size_of(const matrix *m) {
    double square = 0;
    for (int p = 0; p < m->n; p++) square += square_of_row(m, p);
    return sqrt(square);
}

/* Divides the matrix by its norm and returns the norm; a zero matrix stays as it is. */
static double scale_down(matrix *m) {
    const double size = size_of(m);
    for (int p = 0; p < m->n && size > 0; p++)
        for (int q = 0; q < m->n; q++) m->at[p][q] /= size;
    return size;
}

/* Computes m^power, scaled; returns the logarithm of the scale. */
static double raise(const matrix *m, int power, matrix *to) {
    matrix next;
    *to = *m;
    double size = log(scale_down(to));
    for (int bit = 30; bit >= 0; bit--) {
        if (power >> bit < 2) continue; /* skips down to the highest set bit */
        multiply(to, to, &next);
        *to = next;
        size = 2 * size + log(scale_down(to));
        if (!(power >> bit & 1)) continue;
        multiply(to, m, &next);
        *to = next;
        size += log(scale_down(to));
    }
    return size;
}

/* ---- accumulated errors */

/* Whether points p and q hold the same value, up to the sign and rounding. */
static bool same_rows(const matrix *m, int p, int q) {
    double plus = 0, minus = 0;
    for (int k = 0; k < m->n; k++) {
        const double a = m->at[p][k], b = m->at[q][k];
        plus += (a - b) * (a - b), minus += (a + b) * (a + b);
    }
    return fmin(plus, minus) <= UNIT * UNIT * square_of_row(m, p);
}

/* The number of distinct values; points that depend on no data do not count. */
static int count_values(const matrix *m) {
    int first[FEW], count = 0;
    for (int p = 0; p < m->n; p++) {
        int known = 0;
        if (square_of_row(m, p) == 0) continue;
        while (known < count && !same_rows(m, p, first[known])) known++;
        if (known == count) first[count++] = p;
    }
    return count;
}

/* Whether a source or a side adds values, so that the result persists even if the data decay. */
static bool has_sources(const stn_task *task) {
    bool found = task->source;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            const stn_boundary *b = &task->boundary[axis][side];
            const bool holds = b->kind == STN_FIXED || (b->kind == STN_CONSTANT && b->value != 0);
            found = found || (holds && task->reach[axis][side]);
        }
    return found;
}

/* False if nothing persists because all data leave the grid. */
static bool make_history(const stn_task *task, int fused, history *h) {
    matrix step, launch, power, next;
    double size[DOUBLINGS + 1];
    write_step(task, &step);
    const double launch_size = raise(&step, fused, &launch);
    size[0] = launch_size;
    power = launch;
    for (int j = 0; j <= DOUBLINGS; j++) {
        h->values[j] = count_values(&power);
        multiply(&power, j < DOUBLINGS ? &power : &launch, &next);
        const double factor = scale_down(&next);
        if (!isfinite(size[j]) || !(factor > 0)) return false;
        if (j < DOUBLINGS)
            size[j + 1] = 2 * size[j] + log(factor), power = next;
        else
            h->factor = exp(log(factor) + launch_size);
    }
    const double lasting = has_sources(task) ? fmax(0, log(h->factor)) : log(h->factor);
    for (int j = 0; j <= DOUBLINGS; j++) h->share[j] = exp(2 * (size[j] - ldexp(lasting, j))) / step.n;
    return true;
}

/* Relative distance of a factor from the nearest power of two. */
static double off_from_two(double factor) {
    int exponent;
    const double part = frexp(fabs(factor), &exponent);
    return part < 0.75 ? 2 * part - 1 : 1 - part;
}

/* Points that hold the same number v get s v in each launch. If s is a power of two, that is exact;
 * near one, v stays constant and its error is the same in all launches. Further off, v changes in
 * each launch by a whole number of units plus a fraction, which drifts from -1/2 to 1/2 in some 2
 * UNIT / off^2 launches and then repeats: the accumulated error is at most an eighth of that number
 * of units. */
static double error_of_equal_points(double factor, double launches) {
    const double off = off_from_two(factor);
    if (!(off > 0)) return 0;
    const double drifts = 0.57 * UNIT / (off * off), stays = fmin(1, off / ROUNDING);
    return fmin(launches * launches, launches + drifts * drifts) * stays * stays;
}

/* The number of launches after which all points that become equal are equal. */
static double launches_until_equal(const history *h, int points, double launches) {
    const int last = h->values[DOUBLINGS];
    int j = 0;
    if (last == points && points > 1) return launches;
    while (h->values[j] != last) j++;
    return fmin(launches, ldexp(1, j));
}

/* The sum over the launches i < `end` of P(i), or of the root of its decaying part. */
static double sum_of_shares(const history *h, double end, bool roots) {
    const double lasts = roots ? h->share[DOUBLINGS] : 0;
    double total = 1;
    for (int j = 0; j <= DOUBLINGS && ldexp(1, j) < end; j++) {
        const double count = (j < DOUBLINGS ? fmin(ldexp(2, j), end) : end) - ldexp(1, j);
        total += count * (roots ? sqrt(fmax(0, h->share[j] - lasts)) : h->share[j]);
    }
    return total;
}

/* Points become stationary if sides or a source determine their final values, or if a launch
 * multiplies their mean by a power of two. Changes of less than half a unit are then lost in
 * rounding, and all launches have the same error, up to that size. Otherwise errors are random. */
static double error_of_few_points(const stn_task *task, int fused, double launches) {
    history h;
    const int points = (int)stn_mixed_points(task);
    if (!make_history(task, fused, &h)) return 1;
    const bool settles = has_sources(task) && fabs(h.factor) < 1,
               rests = settles || off_from_two(h.factor) < STATIONARY_FACTOR;
    const double apart = settles ? launches : launches_until_equal(&h, points, launches);
    const double shared = fmin(1, h.share[DOUBLINGS] * points / fmax(1, h.values[DOUBLINGS]));
    const double chance = sum_of_shares(&h, apart, false) + shared * error_of_equal_points(h.factor, launches - apart);
    const double rest = rests ? STATIONARY_ERROR / ROUNDING * sum_of_shares(&h, launches, true) : 0;
    return fmax(chance, rest * rest);
}

double stn_rounding_accumulated(const stn_task *task, double launches, double many) {
    const double points = stn_mixed_points(task), steps = (double)task->steps;
    if (!(launches > 1)) return many;
    /* Only errors of the mean do not decay. The mean is one of `points` frequencies, so it has this
     * part of each launch's squared error. */
    if (points > FEW) return many + launches / points;
    const int fused = (int)fmin(fmax(1, rint(steps / launches)), 1 << 30);
    const double runs = fmax(1, steps / fused); /* a step may be a launch for each axis */
    return fmax(many, error_of_few_points(task, fused, runs) * launches / runs);
}
