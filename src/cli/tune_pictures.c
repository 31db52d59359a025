/* See tune_pictures.h: SVG diagrams with logarithmic axes. */
#include "cli/tune_pictures.h"

#include <math.h>
#include <stdlib.h>

void cli_escape(stn_text *html, const char *text) {
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '<' || c == '>' || c == '&' || c == '"')
            stn_text_printf(html, "&#%d;", c);
        else if (c >= 0x20 && c < 0x7f)
            stn_text_append(html, text, 1);
        else
            stn_text_append(html, "?", 1); /* the page stays ASCII */
    }
}

void cli_name_row(const stn_plan *plan, const stn_ranked *row, stn_text *html) {
    stn_text name = STN_TEXT_EMPTY;
    cli_escape(html, row->strategy->name);
    if (!row->strategy->name_candidate || !row->applies) return;
    row->strategy->name_candidate(&plan->task, &row->candidate, &name);
    stn_text_append(&name, "", 1);
    if (!name.failed) stn_text_append(html, ", ", 2), cli_escape(html, name.data);
    stn_text_clear(&name);
}

enum { WIDTH = 720, HEIGHT = 330, LEFT = 70, RIGHT = 10, TOP = 22, BOTTOM = 40 };

typedef struct axis {
    double low, high; /* range of the values, both above 0 */
    double from, to;  /* in pixels */
} axis;

static double at(const axis *a, double value) {
    const double part = (log(value) - log(a->low)) / (log(a->high) - log(a->low));
    return a->from + (a->to - a->from) * fmin(fmax(part, 0), 1);
}

static void widen(axis *a, double value) {
    if (!(value > 0) || !isfinite(value)) return;
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

/* Adds margins; rounding to whole decades would be too much for a narrow range. */
static void add_margins(axis *a) {
    if (!(a->high > 0) || !(a->low < INFINITY)) a->low = 0.1, a->high = 10;
    a->low /= 1.25;
    a->high *= 1.25;
}

static axis across(void) { return (axis){INFINITY, 0, LEFT, WIDTH - RIGHT}; }
static axis upward(void) { return (axis){INFINITY, 0, HEIGHT - BOTTOM, TOP}; }

static void begin(const char *label, stn_text *html) {
    stn_text_printf(html,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                    "role=\"img\" aria-label=\"%s\">\n",
                    WIDTH, HEIGHT, label);
}
static void end(stn_text *html) { stn_text_printf(html, "</svg>\n"); }

/* Draws grid lines at 1, 2 and 5 of each decade, or only at 1 if the range is wide. */
static void put_ticks(const axis *a, bool vertical, stn_text *html) {
    static const double steps[] = {1, 2, 5};
    const bool narrow = log10(a->high / a->low) < 2.5;
    for (int decade = (int)floor(log10(a->low)); decade <= (int)ceil(log10(a->high)); decade++)
        for (int s = 0; s < (narrow ? 3 : 1); s++) {
            const double value = steps[s] * pow(10, decade), pixel = at(a, value);
            if (value < a->low || value > a->high) continue;
            if (vertical)
                stn_text_printf(
                    html,
                    "<path class=\"line\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                    LEFT, pixel, WIDTH - RIGHT, LEFT - 6, pixel + 4, value);
            else
                stn_text_printf(html,
                                "<path class=\"line\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" "
                                "text-anchor=\"middle\">%g</text>\n",
                                pixel, TOP, HEIGHT - BOTTOM, pixel, HEIGHT - BOTTOM + 16, value);
        }
}

static void put_labels(const char *x, const char *y, stn_text *html) {
    stn_text_printf(html, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><text x=\"%d\" y=\"%d\">%s</text>\n",
                    WIDTH - RIGHT, HEIGHT - 6, x, LEFT, TOP - 8, y);
}

static void put_title(const stn_plan *plan, const stn_ranked *row, stn_text *html) {
    stn_text_printf(html, "<title>");
    cli_name_row(plan, row, html);
    if (row->measured > 0)
        stn_text_printf(html, ": %.4g s, predicted %.4g s</title>", row->measured, row->estimate.seconds);
    else
        stn_text_printf(html, ": predicted %.4g s</title>", row->estimate.seconds);
}

static void put_dot(const stn_plan *plan, size_t i, double x, double y, stn_text *html) {
    stn_text_printf(html, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\">", i == 0 ? "chosen" : "dot", x, y,
                    i == 0 ? 6 : 4);
    put_title(plan, &plan->ranking[i], html);
    stn_text_printf(html, "</circle>\n");
}

/* ---- the search ------------------------------------------------------------------------------ */

typedef struct sorted_row {
    size_t i;
    double predicted;
} sorted_row;

static int by_estimate(const void *a, const void *b) {
    const double x = ((const sorted_row *)a)->predicted, y = ((const sorted_row *)b)->predicted;
    return (x > y) - (x < y);
}

void cli_picture_search(const stn_plan *plan, stn_text *html) {
    sorted_row rows[STN_PLAN_RANKING];
    size_t count = 0;
    axis y = upward();
    for (size_t i = 0; i < plan->ranked; i++) {
        const stn_ranked *row = &plan->ranking[i];
        if (!row->applies) continue;
        rows[count++] = (sorted_row){i, row->estimate.seconds};
        widen(&y, row->estimate.seconds);
        widen(&y, row->measured);
    }
    if (count) qsort(rows, count, sizeof *rows, by_estimate);
    add_margins(&y);
    begin("seconds by candidate", html);
    put_ticks(&y, true, html);
    const double width = (double)(WIDTH - LEFT - RIGHT) / (double)(count ? count : 1);
    for (size_t k = 0; k < count; k++) {
        const stn_ranked *row = &plan->ranking[rows[k].i];
        const double x = LEFT + width * (double)k, shown = row->measured > 0 ? at(&y, row->measured) : HEIGHT - BOTTOM;
        stn_text_printf(html, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                        rows[k].i == 0 ? "chosen" : "bar", x + 0.15 * width, shown, 0.7 * width,
                        HEIGHT - BOTTOM - shown);
        put_title(plan, row, html);
        stn_text_printf(html, "</rect><path class=\"ceiling\" d=\"M%.1f %.1fh%.1f\"/>\n", x,
                        at(&y, row->estimate.seconds), width);
    }
    put_labels("candidates, best estimate first", "seconds", html);
    end(html);
}

/* ---- the roofline ---------------------------------------------------------------------------- */

static double intensity(const stn_ranked *row) { return row->estimate.flops / row->estimate.bytes; }
static double seconds_of(const stn_ranked *row) { return row->measured > 0 ? row->measured : row->estimate.seconds; }
static bool is_drawn(const stn_ranked *row) {
    return row->applies && row->estimate.flops > 0 && row->estimate.bytes > 0 && seconds_of(row) > 0;
}

/* The roofline: GFLOP/s over FLOP/byte, with the peak of the unit that the first candidate uses. */
void cli_picture_roofline(const stn_plan *plan, stn_text *html) {
    const stn_machine *machine = &plan->machine;
    const double peak = plan->ranked ? machine->flops[plan->ranking[0].estimate.unit] : 0;
    axis x = across(), y = upward();
    for (size_t i = 0; i < plan->ranked; i++)
        if (is_drawn(&plan->ranking[i])) {
            widen(&x, intensity(&plan->ranking[i]));
            widen(&y, 1e-9 * plan->ranking[i].estimate.flops / seconds_of(&plan->ranking[i]));
        }
    widen(&x, peak / machine->copy_bandwidth);
    widen(&y, 1e-9 * peak);
    add_margins(&x), add_margins(&y);
    begin("roofline", html);
    put_ticks(&x, false, html);
    put_ticks(&y, true, html);
    const double corner = fmax(peak / machine->copy_bandwidth, x.low);
    if (peak > 0)
        stn_text_printf(html, "<path class=\"ceiling\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\"/>\n", at(&x, x.low),
                        at(&y, fmax(1e-9 * machine->copy_bandwidth * x.low, y.low)), at(&x, corner),
                        at(&y, 1e-9 * peak), at(&x, x.high), at(&y, 1e-9 * peak));
    for (size_t i = plan->ranked; i-- > 0;)
        if (is_drawn(&plan->ranking[i]))
            put_dot(plan, i, at(&x, intensity(&plan->ranking[i])),
                    at(&y, 1e-9 * plan->ranking[i].estimate.flops / seconds_of(&plan->ranking[i])), html);
    put_labels("operations a byte", "GFLOP/s", html);
    end(html);
}

/* ---- the estimate ---------------------------------------------------------------------------- */

void cli_picture_estimate(const stn_plan *plan, stn_text *html) {
    axis x = across(), y = upward();
    for (size_t i = 0; i < plan->ranked; i++)
        if (plan->ranking[i].measured > 0)
            widen(&x, plan->ranking[i].estimate.seconds), widen(&y, plan->ranking[i].measured);
    x.low = y.low = fmin(x.low, y.low);
    x.high = y.high = fmax(x.high, y.high);
    add_margins(&x), add_margins(&y);
    begin("predicted against measured seconds", html);
    put_ticks(&x, false, html);
    put_ticks(&y, true, html);
    stn_text_printf(html, "<path class=\"ceiling\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x.from, y.from, x.to, y.to);
    for (size_t i = plan->ranked; i-- > 0;)
        if (plan->ranking[i].measured > 0)
            put_dot(plan, i, at(&x, plan->ranking[i].estimate.seconds), at(&y, plan->ranking[i].measured), html);
    put_labels("predicted seconds", "measured seconds", html);
    end(html);
}
