/* Assigns separable terms to the slots of a compiled pattern. */
#include "strategies/lowrank/plane/term_pattern.h"

#include <limits.h>
#include <math.h>

#include "base/arith.h"

/* The smallest middle weight along y by which a term is divided, relative to the term's largest
 * weight along y. A smaller divisor would make the other weights too large. */
#define SMALLEST_UNIT 0.01

static int width(const lowrank_span *s) { return s->y[0] + s->y[1] + s->x[0] + s->x[1]; }

static lowrank_span wider(lowrank_span a, const lowrank_span *b) {
    for (int side = 0; side < 2; side++) {
        a.y[side] = (int)stn_max(a.y[side], b->y[side]);
        a.x[side] = (int)stn_max(a.x[side], b->x[side]);
    }
    a.central = a.central && b->central;
    return a;
}

static int is_central(const lowrank_terms *terms, int q) {
    const double *u = terms->u + q * terms->rows;
    double largest = 0;
    for (int i = 0; i < terms->rows; i++) largest = fmax(largest, fabs(u[i]));
    return largest > 0 && fabs(u[terms->low[0]]) >= SMALLEST_UNIT * largest;
}

/* The free slot that holds this term with the least widening, and among those the narrowest; -1 if
 * none is free. */
static int best_slot(const lowrank_pattern *pattern, const bool *taken, const lowrank_span *term) {
    int best = -1, best_cost = INT_MAX;
    for (int i = 0; i < pattern->count; i++) {
        if (taken[i]) continue;
        lowrank_span both = wider(pattern->term[i], term);
        int cost = (width(&both) - width(&pattern->term[i])) * 10000 + width(&both);
        if (cost < best_cost) best = i, best_cost = cost;
    }
    return best;
}

/* The widest term without a slot. */
static int widest_left(const lowrank_terms *terms, const bool *placed, lowrank_span *span) {
    int widest = -1;
    for (int q = 0; q < terms->count; q++) {
        lowrank_span own;
        lowrank_terms_reach(terms, q, 0, own.y);
        lowrank_terms_reach(terms, q, 1, own.x);
        own.central = is_central(terms, q);
        if (placed[q] || (widest >= 0 && width(&own) <= width(span))) continue;
        widest = q;
        *span = own;
    }
    return widest;
}

bool lowrank_pattern_cover(lowrank_pattern *pattern, const lowrank_terms *terms, int slot[LOWRANK_MAX_TERMS],
                           bool *changed) {
    bool taken[LOWRANK_MAX_TERMS] = {0}, placed[LOWRANK_MAX_TERMS] = {0};
    if (terms->count > LOWRANK_MAX_TERMS) return false;
    for (int k = 0; k < terms->count; k++) {
        lowrank_span span = {{0}, {0}, 0};
        int q = widest_left(terms, placed, &span), to = best_slot(pattern, taken, &span);
        if (to < 0) {
            to = pattern->count++;
            pattern->term[to] = span;
            *changed = true;
        }
        lowrank_span before = pattern->term[to], *now = &pattern->term[to];
        *now = wider(before, &span);
        if (width(now) != width(&before) || now->central != before.central) *changed = true;
        slot[q] = to;
        placed[q] = taken[to] = true;
    }
    return true;
}

bool lowrank_pattern_unit(const lowrank_span *slot) { return slot->central && (slot->x[0] || slot->x[1]); }

void lowrank_pattern_scale(const lowrank_span *slot, double *u, int rows, int y, double *v, int columns, int x) {
    bool along_x = slot->x[0] || slot->x[1];
    double from_v = along_x ? 1 : v[x], from_u = lowrank_pattern_unit(slot) ? u[y] : 1;
    for (int i = 0; i < rows; i++) u[i] = u[i] * from_v / from_u;
    for (int i = 0; i < columns && along_x; i++) v[i] *= from_u;
}

int lowrank_pattern_blocks(const lowrank_pattern *pattern) {
    int blocks = 0;
    for (int i = 0; i < pattern->count; i++) {
        const int *x = pattern->term[i].x;
        if (x[0] || x[1]) blocks += (x[0] + 3) / 4 + (7 + x[1]) / 4 + 1;
    }
    return blocks;
}

int lowrank_pattern_sums(const lowrank_pattern *pattern, bool even) {
    int sums = 0, pairs = 0;
    for (int i = 0; i < pattern->count; i++) {
        const int *y = pattern->term[i].y, *x = pattern->term[i].x;
        bool along_x = x[0] || x[1];
        sums += y[0] + (even ? 0 : y[1]) + !lowrank_pattern_unit(&pattern->term[i]) + !along_x;
        pairs = (int)stn_max(pairs, even ? y[0] : 0);
    }
    return sums + pairs;
}
