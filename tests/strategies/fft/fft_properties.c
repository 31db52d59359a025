/* Properties of transforms: impulse, linearity, shift, Parseval, round trip. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare_fft.h"

static const char *strategy;

static bool may_refuse(const stn_transform *t, const stn_error *error) {
    stn_fft fft;
    return error->status == STN_ERROR_UNSUPPORTED && stn_fft_make(t, &fft, NULL) == STN_OK &&
           fft_may_refuse(strategy, &fft);
}

static void expect_near(suite *s, const stn_transform *t, const char *property, const double *got,
                        const double *expected, bool ran, double slack, const stn_error *error) {
    char what[300], detail[1200];
    size_t count = 2 * t->extent[0] * (t->rank > 1 ? t->extent[1] : 1);
    double found = ran ? relative_l2(got, expected, count) : INFINITY;
    double bar = slack * fft_bar(t->dtype, false, (double)count / 2);
    fft_name(t, what, 200);
    snprintf(what + strlen(what), 100, ", %s", property);
    if (!ran && may_refuse(t, error)) {
        snprintf(what + strlen(what), sizeof what - strlen(what), " # SKIP not served");
        suite_report(s, true, what, NULL);
        return;
    }
    snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g; %s", found, bar, ran ? "" : error->message);
    suite_report(s, found <= bar, what, detail);
}

enum { POINTS = 4096 };
static double a[2 * POINTS], b[2 * POINTS], fa[2 * POINTS], fb[2 * POINTS], want[2 * POINTS];

/* A random line and its transform. */
static bool random_line(suite *s, const stn_transform *t, uint64_t seed, double *x, double *fx, stn_error *error) {
    dice d = {seed};
    size_t n = t->extent[0];
    /* exact in f16, sums too */
    for (size_t i = 0; i < 2 * n; i++) x[i] = floor(dice_real(&d) * 256) / 256;
    return run_dense(s, t, strategy, x, fx, error);
}

static void impulse(suite *s, const stn_transform *t) {
    stn_error error = {0};
    size_t n = t->extent[0], place = n / 3;
    memset(a, 0, sizeof a);
    a[2 * place] = 1;
    bool ran = run_dense(s, t, strategy, a, fa, &error);
    for (size_t k = 0; k < n; k++) {
        double turn = -2 * acos(-1) * (double)(place * k % n) / (double)n;
        want[2 * k] = cos(turn), want[2 * k + 1] = sin(turn);
    }
    expect_near(s, t, "impulse", fa, want, ran, 1, &error);
}

static void linear(suite *s, const stn_transform *t) {
    stn_error error = {0};
    static double sum[2 * POINTS], fsum[2 * POINTS];
    size_t n = t->extent[0];
    bool ran = random_line(s, t, 1, a, fa, &error) && random_line(s, t, 2, b, fb, &error);
    for (size_t i = 0; i < 2 * n; i++) sum[i] = a[i] + 2 * b[i], want[i] = fa[i] + 2 * fb[i];
    ran = ran && run_dense(s, t, strategy, sum, fsum, &error);
    expect_near(s, t, "linearity", fsum, want, ran, 2, &error);
}

static void shift(suite *s, const stn_transform *t) {
    stn_error error = {0};
    size_t n = t->extent[0], by = n / 5 + 1;
    bool ran = random_line(s, t, 3, a, fa, &error);
    for (size_t i = 0; i < n; i++) memcpy(b + 2 * ((i + by) % n), a + 2 * i, 2 * sizeof *b);
    ran = ran && run_dense(s, t, strategy, b, fb, &error);
    for (size_t k = 0; k < n; k++) {
        double turn = -2 * acos(-1) * (double)(by * k % n) / (double)n, re = cos(turn), im = sin(turn);
        want[2 * k] = fa[2 * k] * re - fa[2 * k + 1] * im;
        want[2 * k + 1] = fa[2 * k] * im + fa[2 * k + 1] * re;
    }
    expect_near(s, t, "shift", fb, want, ran, 2, &error);
}

static void parseval(suite *s, const stn_transform *t) {
    stn_error error = {0};
    char what[300], detail[1200];
    size_t n = t->extent[0];
    double before = 0, after = 0;
    bool ran = random_line(s, t, 4, a, fa, &error);
    for (size_t i = 0; i < 2 * n; i++) before += a[i] * a[i], after += fa[i] * fa[i] / (double)n;
    fft_name(t, what, sizeof what - 50);
    strcat(what, ran || !may_refuse(t, &error) ? ", Parseval" : ", Parseval # SKIP not served");
    snprintf(detail, sizeof detail, "%g of %g; %s", after, before, ran ? "" : error.message);
    suite_report(s, ran ? fabs(after / before - 1) <= 2 * fft_bar(t->dtype, false, (double)n) : may_refuse(t, &error),
                 what, detail);
}

static void there_and_back(suite *s, const stn_transform *t) {
    stn_error error = {0};
    stn_transform back = *t;
    back.direction = STN_INVERSE;
    back.inverse_scale = 1 / (double)t->extent[0];
    bool ran = random_line(s, t, 5, a, fa, &error) && run_dense(s, &back, strategy, fa, b, &error);
    expect_near(s, t, "there and back", b, a, ran, 2, &error);
}

void check_properties(suite *s, const char *by) {
    strategy = by;
    static const size_t sizes[] = {2, 16, 30, 64, 97, 256, 360, 512, 1024, 4096};
    for (int d = STN_F64; d <= STN_F16; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if (!s->full && (i + (size_t)d) % 2) continue;
            stn_transform t = fft_line((stn_dtype)d, sizes[i], 1);
            impulse(s, &t), linear(s, &t), shift(s, &t), parseval(s, &t), there_and_back(s, &t);
        }
}
