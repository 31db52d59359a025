/* Numbers of 79 bits as the sum of two doubles: `top` has 26 leading bits, so that products of tops
 * are exact, and `rest` has 53 more. Included once for each type of element, with
 *   REAL       double, or a vector of doubles,
 *   TOP(x)     x with all but its 26 leading bits cleared,
 *   NAME(name) the names of this type,
 *   TARGET     the attribute that its functions have. */
#define WIDE TARGET static inline __attribute__((always_inline, unused))

typedef struct NAME(wide) {
    REAL top, rest;
} NAME(wide);

typedef struct NAME(pair) { /* a complex number */
    NAME(wide) re, im;
} NAME(pair);

/* sum + error as a number, where |sum| >= |error|. */
WIDE NAME(wide) NAME(renormalise)(REAL sum, REAL error) {
    const REAL both = sum + error, lost = error - (both - sum), top = TOP(both);
    return (NAME(wide)){top, (both - top) + lost};
}

WIDE NAME(wide) NAME(add)(NAME(wide) a, NAME(wide) b) {
    const REAL sum = a.top + b.top, from_b = sum - a.top;
    const REAL error = (a.top - (sum - from_b)) + (b.top - from_b);
    return NAME(renormalise)(sum, error + (a.rest + b.rest));
}

WIDE NAME(wide) NAME(negate)(NAME(wide) a) { return (NAME(wide)){-a.top, -a.rest}; }

WIDE NAME(wide) NAME(times)(NAME(wide) a, NAME(wide) b) {
    return NAME(renormalise)(a.top * b.top, a.top * b.rest + a.rest * (b.top + b.rest));
}

WIDE NAME(pair) NAME(pair_add)(NAME(pair) a, NAME(pair) b) {
    return (NAME(pair)){NAME(add)(a.re, b.re), NAME(add)(a.im, b.im)};
}

WIDE NAME(pair) NAME(pair_negate)(NAME(pair) a) { return (NAME(pair)){NAME(negate)(a.re), NAME(negate)(a.im)}; }

WIDE NAME(pair) NAME(pair_scale)(NAME(pair) a, NAME(wide) by) {
    return (NAME(pair)){NAME(times)(a.re, by), NAME(times)(a.im, by)};
}

/* A sum of products, which is renormalised once, by `end`. */
typedef struct NAME(sum) {
    REAL sum, error;
} NAME(sum);

WIDE void NAME(add_product)(NAME(sum) * s, NAME(wide) a, NAME(wide) b) {
    const REAL product = a.top * b.top, sum = s->sum + product, added = sum - s->sum;
    const REAL lost = (s->sum - (sum - added)) + (product - added);
    s->error += lost + (a.top * b.rest + a.rest * (b.top + b.rest));
    s->sum = sum;
}

WIDE NAME(wide) NAME(end)(NAME(sum) s) { return NAME(renormalise)(s.sum, s.error); }

WIDE NAME(pair) NAME(pair_times)(NAME(pair) a, NAME(pair) b) {
    NAME(sum) re = {a.re.top - a.re.top, a.re.top - a.re.top}, im = re;
    NAME(add_product)(&re, a.re, b.re);
    NAME(add_product)(&re, NAME(negate)(a.im), b.im);
    NAME(add_product)(&im, a.re, b.im);
    NAME(add_product)(&im, a.im, b.re);
    return (NAME(pair)){NAME(end)(re), NAME(end)(im)};
}

#undef WIDE
