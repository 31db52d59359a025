/* Von Neumann stability analysis of a linear system: at one frequency a step is a small
 * amplification matrix, which maps all levels of all fields to the next ones. The growth of a step
 * is the largest spectral radius over frequencies. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "problem/system_task.h"

enum {
    /* squarings of the matrix: the norm of its 2^30-th power gives the spectral radius to 1e-5 */
    SQUARINGS = 30,
    MAX_CORNERS = 8, /* coefficients for which all combinations of bounds are tried */
    PEAKS = 8        /* samples from which a maximum is searched for */
};
/* Multiply-adds of all samples, about 0.1 seconds; as many again are spent on the search. */
#define BUDGET 4e7

typedef double complex cplx;

/* At one frequency each node is an affine form: a constant plus a linear combination of the `width`
 * present levels. The first coefficient of the combination is NaN if the node is not linear. */
typedef struct symbol {
    const stn_system *system;
    double values[STN_SYSTEM_MAX_COEFFICIENTS];
    int width, first[STN_SYSTEM_MAX_FIELDS];
    double theta[3];
    /* forms and constants of the nodes; `next`: forms of the fields' next states */
    cplx *forms, *constants, *next;
    cplx *matrix, *square;
    bool linear;
} symbol;

static bool is_constant(const symbol *s, int node) {
    for (int i = 0; i < s->width; i++)
        if (s->forms[(size_t)node * (size_t)s->width + (size_t)i] != 0) return false;
    return true;
}

static double apply(stn_system_op op, double a, double b, double c) {
    switch (op) {
        case STN_SYSTEM_LESS:
            return a < b;
        case STN_SYSTEM_LESS_EQUAL:
            return a <= b;
        case STN_SYSTEM_GREATER:
            return a > b;
        case STN_SYSTEM_GREATER_EQUAL:
            return a >= b;
        case STN_SYSTEM_EQUAL:
            return a == b;
        case STN_SYSTEM_NOT_EQUAL:
            return a != b;
        case STN_SYSTEM_MIN:
            return fmin(a, b);
        case STN_SYSTEM_MAX:
            return fmax(a, b);
        case STN_SYSTEM_POW:
            return pow(a, b);
        case STN_SYSTEM_ABS:
            return fabs(a);
        case STN_SYSTEM_SQRT:
            return sqrt(a);
        case STN_SYSTEM_EXP:
            return exp(a);
        case STN_SYSTEM_LOG:
            return log(a);
        case STN_SYSTEM_SIN:
            return sin(a);
        case STN_SYSTEM_COS:
            return cos(a);
        case STN_SYSTEM_TANH:
            return tanh(a);
        default:
            return a != 0 ? b : c;
    }
}

static void scale(cplx *form, const cplx *of, int width, cplx by) {
    for (int i = 0; i < width; i++) form[i] = of[i] * by;
}

static void stencil_form(const symbol *s, const stn_system_node *node, cplx *form, cplx *constant) {
    const stn_system_stencil *stencil = &s->system->stencils[node->index];
    cplx at = 0;
    double sum = 0;
    for (size_t k = 0; k < stencil->ntaps; k++) {
        double phase = 0;
        for (int axis = 0; axis < 3; axis++) phase += s->theta[axis] * (double)stencil->taps[k].offset[axis];
        at += stencil->taps[k].weight * (cos(phase) + I * sin(phase));
        sum += stencil->taps[k].weight;
    }
    scale(form, s->forms + (size_t)node->operand[0] * (size_t)s->width, s->width, at);
    *constant = sum * s->constants[node->operand[0]];
}

/* Products and ratios are linear only if one factor or the divisor is constant; other operations
 * only if all operands are constant. */
static void other_form(symbol *s, const stn_system_node *node, cplx *form, cplx *constant) {
    const size_t width = (size_t)s->width;
    const int *x = node->operand, count = stn_system_ops[node->op].operands;
    bool fixed[3] = {true, true, true};
    for (int k = 0; k < count; k++) fixed[k] = is_constant(s, x[k]);
    const cplx a = s->constants[x[0]], b = s->constants[x[1]];
    if (node->op == STN_SYSTEM_MULTIPLY && (fixed[0] || fixed[1])) {
        scale(form, s->forms + (size_t)x[fixed[0]] * width, s->width, fixed[0] ? a : b);
        *constant = a * b;
    } else if (node->op == STN_SYSTEM_DIVIDE && fixed[1]) {
        scale(form, s->forms + (size_t)x[0] * width, s->width, 1 / b);
        *constant = a / b;
    } else if (node->op == STN_SYSTEM_WHERE && fixed[0]) {
        const int chosen = creal(a) != 0 ? x[1] : x[2];
        scale(form, s->forms + (size_t)chosen * width, s->width, 1);
        *constant = s->constants[chosen];
    } else {
        if (node->op == STN_SYSTEM_MULTIPLY || node->op == STN_SYSTEM_DIVIDE || !(fixed[0] && fixed[1] && fixed[2]))
            form[0] = NAN;
        *constant = apply(node->op, creal(a), creal(b), creal(s->constants[x[2]]));
    }
}

static void node_form(symbol *s, int number) {
    const stn_system_node *node = &s->system->nodes[number];
    const size_t width = (size_t)s->width;
    cplx *form = s->forms + (size_t)number * width, *constant = &s->constants[number];
    const cplx *a = s->forms + (size_t)node->operand[0] * width, *b = s->forms + (size_t)node->operand[1] * width;
    const cplx ca = s->constants[node->operand[0]], cb = s->constants[node->operand[1]];
    memset(form, 0, width * sizeof *form);
    *constant = 0;
    switch (node->op) {
        case STN_SYSTEM_NUMBER:
            *constant = node->number;
            break;
        case STN_SYSTEM_COEFFICIENT:
            *constant = s->values[node->index];
            break;
        case STN_SYSTEM_FIELD:
            if (node->level == STN_SYSTEM_NEXT)
                memcpy(form, s->next + (size_t)node->index * width, width * sizeof *form);
            else
                form[s->first[node->index] + node->level] = 1;
            break;
        case STN_SYSTEM_STENCIL:
            stencil_form(s, node, form, constant);
            break;
        case STN_SYSTEM_NEGATE:
            scale(form, a, s->width, -1);
            *constant = -ca;
            break;
        case STN_SYSTEM_ADD:
        case STN_SYSTEM_SUBTRACT: {
            const double sign = node->op == STN_SYSTEM_ADD ? 1 : -1;
            for (size_t i = 0; i < width; i++) form[i] = a[i] + sign * b[i];
            *constant = ca + sign * cb;
            break;
        }
        default:
            other_form(s, node, form, constant);
    }
}

/* Fills the amplification matrix. An assignment may use next states of earlier ones, so all nodes
 * are evaluated again for each assignment. */
static void fill_matrix(symbol *s) {
    const stn_system *system = s->system;
    const size_t width = (size_t)s->width;
    memset(s->matrix, 0, width * width * sizeof *s->matrix);
    memset(s->next, 0, (size_t)system->nfields * width * sizeof *s->next);
    for (int e = 0; e < system->nequations && s->linear; e++) {
        const stn_system_equation *equation = &system->equations[e];
        for (int i = 0; i <= equation->root; i++) node_form(s, i);
        s->linear = !isnan(creal(s->forms[(size_t)equation->root * width]));
        memcpy(s->next + (size_t)equation->field * width, s->forms + (size_t)equation->root * width,
               width * sizeof *s->next);
    }
    for (int f = 0; f < system->nfields; f++) {
        const size_t row = (size_t)s->first[f];
        memcpy(s->matrix + row * width, s->next + (size_t)f * width, width * sizeof *s->matrix);
        for (size_t l = 1; l < (size_t)system->fields[f].levels; l++) s->matrix[(row + l) * width + row + l - 1] = 1;
    }
}

/* The spectral radius, by repeated squaring: the 2^k-th root of the norm of the 2^k-th power. */
static double radius(symbol *s) {
    const size_t width = (size_t)s->width;
    double logarithm = 0, part = 1;
    for (int k = 0;; k++, part /= 2) {
        double size = 0;
        for (size_t i = 0; i < width * width; i++) size = fmax(size, cabs(s->matrix[i]));
        if (!(size > 0) || !isfinite(size)) return size > 0 ? INFINITY : isnan(size) ? NAN : 0;
        logarithm += part * log(size);
        for (size_t i = 0; i < width * width; i++) s->matrix[i] /= size;
        if (k == SQUARINGS) return exp(logarithm);
        for (size_t i = 0; i < width; i++)
            for (size_t j = 0; j < width; j++) {
                cplx sum = 0;
                for (size_t m = 0; m < width; m++) sum += s->matrix[i * width + m] * s->matrix[m * width + j];
                s->square[i * width + j] = sum;
            }
        cplx *swap = s->matrix;
        s->matrix = s->square, s->square = swap;
    }
}

typedef struct peak {
    double theta[3], value;
} peak;

/* The spectral radius at a frequency; NaN if the system is not linear. */
static double radius_at(symbol *s, const double theta[3]) {
    memcpy(s->theta, theta, sizeof s->theta);
    fill_matrix(s);
    return s->linear ? radius(s) : NAN;
}

static bool are_adjacent(const double a[3], const double b[3], double apart) {
    for (int axis = 0; axis < 3; axis++)
        if (fabs(remainder(a[axis] - b[axis], 2 * M_PI)) > 1.5 * apart) return false;
    return true;
}

/* Keeps the largest samples; of adjacent ones (at distance `apart`), which lead to the same
 * maximum, only the largest. */
static void keep_if_larger(peak peaks[PEAKS], peak sample, double apart) {
    int lowest = 0;
    for (int i = 0; i < PEAKS; i++) {
        if (peaks[i].value >= 0 && are_adjacent(peaks[i].theta, sample.theta, apart)) {
            if (sample.value > peaks[i].value) peaks[i] = sample;
            return;
        }
        if (peaks[i].value < peaks[lowest].value) lowest = i;
    }
    if (sample.value > peaks[lowest].value) peaks[lowest] = sample;
}

/* Compass search: takes a step along an axis if it increases the radius, and halves the step if
 * none does. */
static void climb(symbol *s, int rank, peak *top, double step, double finest, double *evaluations) {
    while (step > finest && *evaluations > 0) {
        bool moved = false;
        for (int way = 0; way < 2 * rank; way++, --*evaluations) {
            peak next = *top;
            next.theta[2 - way / 2] += way % 2 ? -step : step;
            next.value = radius_at(s, next.theta);
            if (!(next.value > top->value)) continue;
            *top = next;
            moved = true;
        }
        if (!moved) step /= 2;
    }
}

/* Climbs from all peaks with a coarse final step, then from those that can still be the largest. */
static double climb_all(symbol *s, int rank, peak peaks[PEAKS], double apart, double evaluations) {
    double largest = 0;
    for (int fine = 0; fine < 2; fine++)
        for (int i = 0; i < PEAKS && isfinite(largest); i++) {
            if (peaks[i].value < (fine ? 0.95 * largest : 0)) continue;
            climb(s, rank, &peaks[i], fine ? apart / 4 : apart / 2, fine ? 0x1p-16 * apart : apart / 5, &evaluations);
            largest = fmax(largest, peaks[i].value);
        }
    return largest;
}

static double over_frequencies(symbol *s, int rank, double corners) {
    double each = SQUARINGS * pow(s->width, 3) + (double)s->system->nnodes * s->width * s->system->nequations;
    for (int i = 0; i < s->system->nnodes; i++)
        if (s->system->nodes[i].op == STN_SYSTEM_STENCIL)
            each += 40.0 * (double)s->system->stencils[s->system->nodes[i].index].ntaps * s->system->nequations;
    each *= corners;
    int most = rank == 1 ? 256 : rank == 2 ? 32 : 12, count[3] = {1, 1, 1};
    for (int axis = 0; axis < rank; axis++) {
        const int width = 1 + stn_system_reach(s->system, rank, axis, 0) + stn_system_reach(s->system, rank, axis, 1);
        most = most < 2 * width ? 2 * width : most;
    }
    int samples = 2 * (int)(pow(2 * BUDGET / each, 1.0 / rank) / 2);
    samples = samples < 4 ? 4 : samples > most ? most : samples;
    const double apart = 2 * M_PI / samples;
    peak peaks[PEAKS];
    for (int i = 0; i < PEAKS; i++) peaks[i].value = -1;
    for (int axis = 3 - rank; axis < 3; axis++) count[axis] = samples;
    count[3 - rank] = samples / 2 + 1; /* the other frequencies give complex conjugates */
    for (int i = 0; i < count[0]; i++)
        for (int j = 0; j < count[1]; j++)
            for (int k = 0; k < count[2]; k++) {
                peak sample = {.theta = {2 * M_PI * i / samples, 2 * M_PI * j / samples, 2 * M_PI * k / samples}};
                sample.value = radius_at(s, sample.theta);
                if (isnan(sample.value)) return NAN;
                keep_if_larger(peaks, sample, apart);
            }
    return climb_all(s, rank, peaks, apart, BUDGET / each);
}

/* Sets the coefficients to corner `number` of the box of their bounds. */
static void corner(const stn_system *system, const double *low, const double *high, unsigned number, double *values) {
    unsigned bit = 0;
    for (int i = 0; i < system->ncoefficients; i++) {
        values[i] = low[i];
        if (low[i] == high[i]) continue;
        if (number >> (bit < MAX_CORNERS - 1 ? bit : MAX_CORNERS - 1) & 1) values[i] = high[i];
        bit++;
    }
}

static bool allocate(symbol *s) {
    const size_t nodes = (size_t)s->system->nnodes, width = (size_t)s->width;
    s->forms = malloc(nodes * width * sizeof *s->forms);
    s->constants = malloc(nodes * sizeof *s->constants);
    s->next = malloc((size_t)s->system->nfields * width * sizeof *s->next);
    s->matrix = malloc(width * width * sizeof *s->matrix);
    s->square = malloc(width * width * sizeof *s->square);
    return s->forms && s->constants && s->next && s->matrix && s->square;
}

static double growth_between(symbol *s, int rank, const double *low, const double *high) {
    double largest = 0;
    int differ = 0;
    for (int i = 0; i < s->system->ncoefficients; i++) differ += low[i] != high[i];
    const unsigned corners = 1u << (differ < MAX_CORNERS ? differ : MAX_CORNERS);
    for (unsigned c = 0; c < corners; c++) {
        corner(s->system, low, high, c, s->values);
        const double at = over_frequencies(s, rank, corners);
        if (isnan(at)) return NAN;
        largest = fmax(largest, at);
    }
    return largest;
}

stn_status stn_system_growth(const stn_system *system, int rank, const double *low, const double *high, double *growth,
                             stn_error *error) {
    double own[STN_SYSTEM_MAX_COEFFICIENTS];
    if (!system || !growth)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_growth needs a system and a place for the growth");
    if (rank < system->least_rank || rank > STN_MAX_RANK || (system->rank && rank != system->rank))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the rank is %d, and the system's stencils need another",
                        rank);
    if (!low != !high)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the coefficients have one bound: give low and high, or none");
    *growth = NAN;
    for (int i = 0; i < system->ncoefficients; i++) {
        own[i] = system->coefficients[i].value;
        if (!low && !system->coefficients[i].has_value) return STN_OK;
        if (low && !(low[i] <= high[i])) return STN_OK;
    }
    symbol s = {.system = system, .linear = true};
    for (int f = 0; f < system->nfields; f++) { /* a system has at least one field */
        s.first[f] = s.width;
        s.width += system->fields[f].levels;
    }
    stn_status status = STN_OK;
    if (s.width && allocate(&s))
        *growth = growth_between(&s, rank, low ? low : own, high ? high : own);
    else
        status =
            stn_fail_memory(error, "a system's growth", (size_t)system->nnodes * (size_t)s.width * sizeof *s.forms);
    free(s.forms);
    free(s.constants);
    free(s.next);
    free(s.matrix);
    free(s.square);
    return status;
}
