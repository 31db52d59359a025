/* Stencils by name, and the parser of "NAME:key=value,...".
 *
 * heat-1d, -2d, -3d     u + alpha * sum of (neighbour - u) over the 2 * rank neighbours: one
 *                       explicit step of the heat equation. alpha defaults to 0.125 (PolyBench's
 *                       heat-3d); max |symbol| is 1 for 0 <= alpha <= 1 / (2 rank).
 * 1d5p, 1d7p            Weighted averages over all offsets up to radius 2, and 3.
 * box-2d9p, box-2d49p   The same over all offsets in a square of radius 1, and 3.
 * box-3d27p             The same over all offsets in a cube of radius 1.
 * star-2d13p            The same over the offsets on the two axes up to radius 3. The weights of
 *                       these six are 1 / (1 + |offset|^2) divided by their sum: positive, with sum
 *                       1 (max |symbol| is 1), and not separable.
 * laplace-1d, -2d, -3d  Second derivatives by central differences on a unit grid, summed over the
 *                       axes, exact to order = 2, 4 ... 16 (default 2); the radius is order / 2.
 *                       "laplace" is laplace-2d.
 * gaussian-1d, -2d, -3d Weights of scipy.ndimage.gaussian_filter: exp(-x^2 / (2 sigma^2)) up to the
 *                       radius floor(truncate * sigma + 0.5), normalised to sum 1; sigma defaults
 *                       to 1 and truncate to 4. "gaussian" is gaussian-2d. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "problem/stencil.h"

#define MAX_PARAMETERS 2
#define STAR_RADIUS 8 /* of the widest named star, laplace of order 16 */

typedef struct named named;
struct named {
    const char *name;
    stn_status (*build)(const named *entry, const double *parameters, stn_stencil **stencil, stn_error *error);
    int rank, radius; /* radius 0: it follows from the parameters */
    const char *keys[MAX_PARAMETERS];
    double defaults[MAX_PARAMETERS];
};

/* weight[d] is the weight of the taps at distance d from the centre along an axis. */
static stn_status build_star(int rank, int radius, const double *weight, stn_stencil **stencil, stn_error *error) {
    stn_tap taps[1 + 2 * STN_MAX_RANK * STAR_RADIUS] = {{{0}, weight[0]}};
    size_t count = 1;
    for (int axis = 0; axis < rank; axis++)
        for (int distance = 1; distance <= radius; distance++)
            for (int side = -1; side <= 1; side += 2) {
                taps[count].offset[axis] = side * distance;
                taps[count++].weight = weight[distance];
            }
    return stn_stencil_create(rank, count, taps, stencil, error);
}

/* All offsets o of a box: the weight is line[|o0|] * line[|o1|] * line[|o2|], or without `line` 1 /
 * (1 + |o|^2) normalised to sum 1. */
static stn_status build_box(int rank, int radius, const double *line, stn_stencil **stencil, stn_error *error) {
    int side = 2 * radius + 1;
    size_t count = 1;
    double sum = 0;
    for (int axis = 0; axis < rank; axis++) count *= (size_t)side;
    stn_tap *taps = calloc(count, sizeof *taps);
    if (!taps) return stn_fail_memory(error, "a stencil", count * sizeof *taps);
    for (size_t i = 0; i < count; i++) {
        double product = 1, square = 0;
        size_t rest = i;
        for (int axis = rank - 1; axis >= 0; axis--, rest /= (size_t)side) {
            int o = (int)(rest % (size_t)side) - radius;
            taps[i].offset[axis] = o;
            square += o * o;
            if (line) product *= line[abs(o)];
        }
        taps[i].weight = line ? product : 1 / (1 + square);
        sum += taps[i].weight;
    }
    if (!line)
        for (size_t i = 0; i < count; i++) taps[i].weight /= sum;
    stn_status status = stn_stencil_create(rank, count, taps, stencil, error);
    free(taps);
    return status;
}

static stn_status build_heat(const named *entry, const double *parameters, stn_stencil **stencil, stn_error *error) {
    double alpha = parameters[0], weight[2] = {1 - 2 * entry->rank * alpha, alpha};
    return build_star(entry->rank, 1, weight, stencil, error);
}

static stn_status build_average_box(const named *entry, const double *parameters, stn_stencil **stencil,
                                    stn_error *error) {
    (void)parameters;
    return build_box(entry->rank, entry->radius, NULL, stencil, error);
}

static stn_status build_average_star(const named *entry, const double *parameters, stn_stencil **stencil,
                                     stn_error *error) {
    (void)parameters;
    double weight[STAR_RADIUS + 1], sum = 1;
    for (int d = 1; d <= entry->radius; d++) sum += 2.0 * entry->rank / (1 + d * d);
    for (int d = 0; d <= entry->radius; d++) weight[d] = 1 / (1 + (double)(d * d)) / sum;
    return build_star(entry->rank, entry->radius, weight, stencil, error);
}

/* The weight at distance d is 2 (-1)^(d+1) (m!)^2 / (d^2 (m-d)! (m+d)!) for radius m; all taps of
 * an axis add up to 0. */
static stn_status build_laplace(const named *entry, const double *parameters, stn_stencil **stencil, stn_error *error) {
    double order = parameters[0], weight[STAR_RADIUS + 1] = {0}, ratio = 1;
    if (!(order >= 2 && order <= 2 * STAR_RADIUS && fmod(order, 2) == 0))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s has the order %g: use 2, 4, 6, 8, 10, 12, 14 or 16",
                        entry->name, order);
    int m = (int)order / 2;
    for (int d = 1; d <= m; d++) {
        ratio *= (double)(m - d + 1) / (m + d); /* (m!)^2 / ((m-d)! (m+d)!) */
        weight[d] = (d % 2 ? 2 : -2) * ratio / (d * d);
        weight[0] -= 2 * entry->rank * weight[d];
    }
    return build_star(entry->rank, m, weight, stencil, error);
}

static stn_status build_gaussian(const named *entry, const double *parameters, stn_stencil **stencil,
                                 stn_error *error) {
    double sigma = parameters[0], truncate = parameters[1], line[STN_MAX_HOST_RADIUS + 1], sum = 0;
    if (!(sigma > 0))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s has the sigma %g: it must be above 0", entry->name,
                        sigma);
    if (!(truncate >= 0))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s has the truncate %g: it must not be below 0",
                        entry->name, truncate);
    double reach = floor(truncate * sigma + 0.5), most = STN_MAX_HOST_RADIUS;
    while (pow(2 * most + 1, entry->rank) > STN_MAX_TAPS) most--;
    if (!(reach <= most))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s with sigma=%g and truncate=%g has the radius %g, but the largest is %g: "
                        "lower sigma or truncate, or use Python's stentor.gaussian_filter, which has no such limit",
                        entry->name, sigma, truncate, reach, most);
    int radius = (int)reach;
    for (int d = 0; d <= radius; d++) {
        line[d] = exp(-0.5 * (d / sigma) * (d / sigma));
        sum += d ? 2 * line[d] : line[d];
    }
    for (int d = 0; d <= radius; d++) line[d] /= sum;
    return build_box(entry->rank, radius, line, stencil, error);
}

static const named table[] = {
    {"heat-1d", build_heat, 1, 1, {"alpha"}, {0.125}},
    {"heat-2d", build_heat, 2, 1, {"alpha"}, {0.125}},
    {"heat-3d", build_heat, 3, 1, {"alpha"}, {0.125}},
    {"1d5p", build_average_box, 1, 2, {NULL}, {0}},
    {"1d7p", build_average_box, 1, 3, {NULL}, {0}},
    {"box-2d9p", build_average_box, 2, 1, {NULL}, {0}},
    {"box-2d49p", build_average_box, 2, 3, {NULL}, {0}},
    {"box-3d27p", build_average_box, 3, 1, {NULL}, {0}},
    {"star-2d13p", build_average_star, 2, 3, {NULL}, {0}},
    {"laplace", build_laplace, 2, 0, {"order"}, {2}},
    {"laplace-1d", build_laplace, 1, 0, {"order"}, {2}},
    {"laplace-2d", build_laplace, 2, 0, {"order"}, {2}},
    {"laplace-3d", build_laplace, 3, 0, {"order"}, {2}},
    {"gaussian", build_gaussian, 2, 0, {"sigma", "truncate"}, {1, 4}},
    {"gaussian-1d", build_gaussian, 1, 0, {"sigma", "truncate"}, {1, 4}},
    {"gaussian-2d", build_gaussian, 2, 0, {"sigma", "truncate"}, {1, 4}},
    {"gaussian-3d", build_gaussian, 3, 0, {"sigma", "truncate"}, {1, 4}},
};
#define NAMES (sizeof table / sizeof table[0])

static stn_status unknown_name(const char *name, size_t size, stn_error *error) {
    stn_text known = STN_TEXT_EMPTY;
    for (size_t i = 0; i < NAMES; i++) stn_text_printf(&known, "%s%s", i ? ", " : "", table[i].name);
    stn_status status =
        stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the stencil \"%.*s\" is unknown: known are %s",
                 (int)(size < 60 ? size : 60), name, known.failed || !known.data ? "those in stentor.h" : known.data);
    stn_text_clear(&known);
    return status;
}

static stn_status bad_parameter(const named *entry, const char *item, size_t size, const char *what, stn_error *error) {
    const char *first = entry->keys[0], *second = entry->keys[1];
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the parameter \"%.*s\" of the stencil %s %s: %s%s%s%s%s",
                    (int)(size < 60 ? size : 60), item, entry->name, what, first ? "it takes " : "it takes none",
                    first ? first : "", second ? "= and " : "", second ? second : "", first ? "=" : "");
}

/* Parses one key=value of `size` bytes into values[]; bit i of *given says that key i was seen
 * before. */
static stn_status parse_parameter(const named *entry, const char *item, size_t size, double *values, unsigned *given,
                                  stn_error *error) {
    const char *equals = memchr(item, '=', size);
    if (!equals) return bad_parameter(entry, item, size, "is not of the form key=value", error);
    size_t key_size = (size_t)(equals - item);
    for (unsigned i = 0; i < MAX_PARAMETERS && entry->keys[i]; i++) {
        const char *key = entry->keys[i];
        if (strlen(key) != key_size || memcmp(key, item, key_size) != 0) continue;
        if (*given >> i & 1) return bad_parameter(entry, item, size, "is given twice", error);
        *given |= 1u << i;
        if (!stn_number_parse(equals + 1, size - key_size - 1, &values[i]))
            return bad_parameter(entry, item, size, "has no finite number after the equals sign", error);
        return STN_OK;
    }
    return bad_parameter(entry, item, size, "is unknown", error);
}

stn_status stn_stencil_parse(const char *spec, stn_stencil **stencil, stn_error *error) {
    if (!spec || !stencil)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the stencil's %s is NULL: pass %s", spec ? "place" : "name",
                        spec ? "a stn_stencil **" : "one such as heat-2d:alpha=0.2");
    *stencil = NULL;
    size_t size = strcspn(spec, ":"), i = 0;
    while (i < NAMES && !(strlen(table[i].name) == size && memcmp(table[i].name, spec, size) == 0)) i++;
    if (i == NAMES) return unknown_name(spec, size, error);

    double values[MAX_PARAMETERS];
    unsigned given = 0;
    memcpy(values, table[i].defaults, sizeof values);
    for (const char *item = spec + size; *item;) {
        item++; /* skips the colon or comma */
        size_t item_size = strcspn(item, ",");
        STN_TRY(parse_parameter(&table[i], item, item_size, values, &given, error));
        item += item_size;
    }
    return table[i].build(&table[i], values, stencil, error);
}
