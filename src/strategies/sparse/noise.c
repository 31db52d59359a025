/* See noise.h.
 *
 * A launch's rounding errors e are white: the n launches after it leave P(n f) of their square, P(m) = mean over frequencies |K|^2m, as
 * they do of data by chance. Of such data all launches together leave, beside what they leave of the data,
 *
 *     e^2 (1 + sum over 0 < i < L of  P(i f) P((L - i) f) / P(L f)),         of data with a mean  e^2 (1 + sum of P(i f))
 *
 * Both sums have most of their weight at their ends. */
#include "strategies/sparse/noise.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "plan/accuracy.h"

/* Angles of an axis, closer to each other near 0, where all that long runs leave is. */
static const int angles_of_rank[] = {0, 64, 24, 10};

/* pi u^2 for u evenly in 0 .. 1, and what each stands for; of another axis than the last both signs. */
static int make_angles(const stn_task *task, int axis, double *angle, double *share) {
    const int each = angles_of_rank[task->rank];
    if (axis < 3 - task->rank) return angle[0] = 0, share[0] = 1, 1;
    int count = 0;
    for (int sign = 1; sign >= (axis == 2 ? 1 : -1); sign -= 2)
        for (int i = 0; i < each; i++, count++) {
            double u = (i + 0.5) / each;
            angle[count] = sign * acos(-1) * u * u;
            share[count] = 2 * u / each / (axis == 2 ? 1 : 2);
        }
    return count;
}

#define MOST_ANGLES 64

static double symbol_square(const stn_task *task, const double angle[3]) {
    double complex sum = 0;
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        double at = angle[0] * (double)o[0] + angle[1] * (double)o[1] + angle[2] * (double)o[2];
        sum += task->taps[k].weight * (cos(at) + I * sin(at));
    }
    return creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
}

bool sparse_spectrum_make(const stn_task *task, sparse_spectrum *spectrum) {
    double angle[3][MOST_ANGLES], share[3][MOST_ANGLES], largest = symbol_square(task, (const double[3]){0, 0, 0});
    int count[3];
    for (int axis = 0; axis < 3; axis++) count[axis] = make_angles(task, axis, angle[axis], share[axis]);
    *spectrum = (sparse_spectrum){.count = (size_t)count[0] * (size_t)count[1] * (size_t)count[2]};
    spectrum->log_square = malloc(2 * spectrum->count * sizeof(double));
    if (!spectrum->log_square) return spectrum->count = 0, false;
    spectrum->share = spectrum->log_square + spectrum->count;
    size_t at = 0;
    for (int z = 0; z < count[0]; z++)
        for (int y = 0; y < count[1]; y++)
            for (int x = 0; x < count[2]; x++, at++) {
                spectrum->log_square[at] =
                    symbol_square(task, (const double[3]){angle[0][z], angle[1][y], angle[2][x]});
                spectrum->share[at] = share[0][z] * share[1][y] * share[2][x];
                largest = fmax(largest, spectrum->log_square[at]);
            }
    for (size_t i = 0; i < at; i++)
        spectrum->log_square[i] = spectrum->log_square[i] > 0 ? log(spectrum->log_square[i] / largest) : -INFINITY;
    spectrum->log_largest = 0.5 * log(largest);
    return true;
}

void sparse_spectrum_clear(sparse_spectrum *spectrum) {
    free(spectrum->log_square);
    *spectrum = (sparse_spectrum){0};
}

/* |K|^2 to a power from its logarithm, many times as fast as pow where it underflows; what is below e^-80 adds nothing to a sum of which
 * one part is 1. */
static double raised(double log_square, double steps) {
    const double at = steps > 0 ? log_square * steps : 0;
    return at < -80 ? 0 : exp(at);
}

double sparse_spectrum_left(const sparse_spectrum *s, double steps) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) sum += s->share[i] * raised(s->log_square[i], steps);
    return sum;
}

/* The sum over 0 < i < launches of P(i f), the geometric ones added up by their formula. */
static double sum_left(const sparse_spectrum *s, double fused, double launches) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        const double one = raised(s->log_square[i], fused), last = raised(s->log_square[i], fused * (launches - 1));
        sum += s->share[i] * (one < 1 - 1e-9 ? one * (1 - last) / (1 - one) : launches - 1);
    }
    return sum;
}

/* How much larger than one launch's all launches' errors are, squared. */
static double growth(const sparse_spectrum *s, double points, double fused, double launches) {
    if (launches < 2) return 1;
    const double half = ceil(launches / 2), left = sparse_spectrum_left(s, fused * launches);
    const double beside = left > 0 ? fmin(4, sparse_spectrum_left(s, fused * half) / left) : 4;
    const double ends = 2 * beside * sum_left(s, fused, half + (launches > 2));
    return 1 + fmin(ends, 4 * launches) + launches / points; /* of few points the mean is one frequency */
}

/* ---- words between the products of a chain ------------------------------------------------------------------------ */

typedef struct moments {
    double sum, sizes, squares;
} moments;
static moments moments_of(const stn_power *factor) {
    moments m = {0, 0, 0};
    for (int i = 0; i < factor->size[2]; i++) {
        double weight = (double)factor->weight[i];
        m.sum += weight, m.sizes += fabs(weight), m.squares += weight * weight;
    }
    return m;
}

static double dot(const stn_power *a, const stn_power *b) {
    double sum = 0;
    for (int i = 0; i < a->size[2]; i++) sum += (double)a->weight[i] * (double)b->weight[i];
    return sum;
}

/* What they err by in one launch beside what it writes, squared, in squares of an element's rounding: of data by chance, whose mean is
 * 0 or its square three times their variance, and of data that earlier launches have smoothed. */
typedef struct between_errors {
    double first, later;
} between_errors;
static between_errors between_of(const sparse_spectrum *s, const sparse_terms *terms, double fused) {
    double white = 0, mean = 0, smooth = 0, all_white = 0, sum = 0, largest = exp(2 * fused * s->log_largest);
    for (int q = 0; q < terms->count; q++) {
        const stn_power *y = &terms->factor[q][0], *x = &terms->factor[q][1];
        moments u = moments_of(y), v = moments_of(x);
        white += u.squares * v.squares;
        mean += u.squares * v.sum * v.sum;
        smooth += u.squares * v.sizes * v.sizes;
        sum += u.sum * v.sum;
        for (int p = 0; p < terms->count; p++) all_white += dot(y, &terms->factor[p][0]) * dot(x, &terms->factor[p][1]);
    }
    if (!(all_white > 0) || !(largest > 0)) return (between_errors){INFINITY, INFINITY};
    return (between_errors){fmax(white / all_white, (white + 3 * mean) / (all_white + 3 * sum * sum)),
                            smooth / largest};
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* Where launches change data by less than a unit, points stay as they are that should move a little, and waves die late: read off runs of
 * random numbers around 0 by heat-1d, heat-2d, box-2d9p and box-3d27p, of 100 to 2000 launches of 1 to 15 steps
 * (bench/results/2026-11-22-sparse-2.md), of which this is 0.95 to 2 times. */
static double freezes(const sparse_spectrum *s, double fused, double launches) {
    return launches < 2 ? 0 : 0.028 * pow(sparse_spectrum_left(s, fused), 1.3) * pow(launches / 334, 1.5);
}

/* What a product's sums lose at most, which tensor cores cut off and do not round: off box-2d49p in 3 steps a launch, 38 products, whose
 * other errors are known (the same file); where the middle rows have most of the weight it is a third. */
#define CUT_OFF 6e-8

/* Products that are added up to one number, one after the other. */
static double products_of_sum(const stn_task *task, const sparse_shape *shape) {
    sparse_rows rows = {.all = 1};
    if (!shape->terms && task->rank > 1) sparse_rows_of(task, shape->fused, &rows);
    double along = shape->parts * shape->halves / 2.0;
    if (!shape->terms) return along * rows.all;
    return along + shape->parts * shape->terms * sparse_planes(task, shape) * shape->halves_y / 2.0;
}

/* Of elements in two parts. A product's sum is its own and loses about a unit of its largest number's last place that tensor cores keep,
 * 22 bits below it, as tests/emulator/mma.cpp has them (which was fitted to an H200's losses in long runs of lowrank); all launches lose
 * alike. Sums of products are rounded, by chance. */
#define CUT_OFF_ONE 2e-7
static double split_noise(const stn_task *task, const sparse_shape *shape) {
    sparse_rows rows = {.all = 1};
    sparse_rows_of(task, shape->fused, &rows);
    double chance = stn_error_rounding(STN_F32) * sqrt(rows.all * shape->halves / 2.0);
    return stn_error_of(CUT_OFF_ONE, chance, shape->launches) * stn_error_cancelling(task);
}

/* How far chance goes from its mean where it has few points to choose: over 110 grids of random numbers the most were 2.2 times it of 64
 * points, 1.35 of 256, 1.2 of 576 and 1.07 of 4096 (on the emulator, bench/results/2026-11-23-sparse-5.md). */
#define FEW 10.0

double sparse_noise(const stn_task *task, const sparse_spectrum *s, const sparse_shape *shape,
                    const sparse_terms *terms) {
    const double launches = shape->launches, fused = shape->fused, points = (double)stn_task_points(task);
    if (sparse_splits(task)) return split_noise(task, shape);
    if (!s->count) return INFINITY;
    double grown = growth(s, points, fused, launches), between = 0;
    if (terms) {
        between_errors b = between_of(s, terms, fused);
        between = b.first;
        if (launches > 1) {
            double one = sparse_spectrum_left(s, fused), last = sparse_spectrum_left(s, fused * (launches - 1));
            double left = sparse_spectrum_left(s, fused * launches), beside = left > 0 ? fmin(4, last / left) : 4;
            between = beside * (b.first * fmin(1, one) + b.later * grown);
        }
    }
    const double few = 1 + FEW / sqrt(points);
    double chance = few * stn_error_rounding(STN_F16) * sqrt(grown + between) * stn_error_cancelling(task);
    const double cut = launches * CUT_OFF * products_of_sum(task, shape);
    return hypot(chance, fmax(cut, freezes(s, fused, launches) - cut / 3)); /* one makes it larger, the other smaller */
}
