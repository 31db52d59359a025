/* See tune_page.h: the report of a search as HTML. */
#include "cli/tune_page.h"

#include "cli/tune_pictures.h"

static const char style[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 "
    "1rem;color:#1b1b1f;background:#fff}"
    "h1{font-size:1.5rem;margin-bottom:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}svg{width:100%;height:auto}"
    "svg "
    "text{font-size:12px;fill:#55555e}.line{stroke:#c9c9d1;fill:none}.ceiling{stroke:#1b1b1f;fill:none;stroke-width:1."
    "5}"
    ".bar{fill:#9aa7c7}.dot{fill:#9aa7c7}.chosen{fill:#c2410c}.wrong{fill:#b91c1c}table{border-collapse:collapse;width:"
    "100%}"
    "th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #e4e4e9;vertical-align:top}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr.taken td{font-weight:600}"
    "p.note{color:#55555e;margin-top:0}";

static void put_seconds(double seconds, stn_text *html) {
    if (seconds >= 1)
        stn_text_printf(html, "%.4g s", seconds);
    else if (seconds >= 1e-3)
        stn_text_printf(html, "%.4g ms", 1e3 * seconds);
    else
        stn_text_printf(html, "%.4g us", 1e6 * seconds);
}

static void put_row(const stn_plan *plan, size_t i, stn_text *html) {
    const stn_ranked *row = &plan->ranking[i];
    stn_text_printf(html, "<tr%s><td class=\"n\">%zu</td><td>", i == 0 ? " class=\"taken\"" : "", i + 1);
    cli_name_row(plan, row, html);
    if (!row->applies) {
        stn_text_printf(html, ": ");
        cli_escape(html, row->reason);
        stn_text_printf(html, "</td><td class=\"n\"></td><td class=\"n\"></td><td class=\"n\"></td></tr>\n");
        return;
    }
    stn_text_printf(html, "</td><td class=\"n\">");
    put_seconds(row->estimate.seconds, html);
    stn_text_printf(html, "</td><td class=\"n\">");
    if (row->measured > 0) put_seconds(row->measured, html);
    stn_text_printf(html, "</td><td class=\"n\">");
    if (row->measured > 0) stn_text_printf(html, "%+.1f%%", 100 * (row->measured / row->estimate.seconds - 1));
    stn_text_printf(html, "</td></tr>\n");
}

static void put_head(const stn_plan *plan, stn_text *html) {
    stn_text problem = STN_TEXT_EMPTY;
    plan->kind->print(plan, &problem);
    stn_text_append(&problem, "", 1);
    stn_text_printf(html,
                    "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">"
                    "<head><meta charset=\"utf-8\"/>"
                    "<title>Stentor: the search for a plan</title><style>%s</style></head><body>\n<h1>",
                    style);
    cli_escape(html, problem.failed ? "" : problem.data);
    stn_text_printf(html, "</h1>\n<p class=\"note\">");
    cli_escape(html, plan->machine.name);
    stn_text_printf(html, ", copies at %.0f GB/s%s, %.0f MHz assumed; stentor %s</p>\n",
                    plan->machine.copy_bandwidth * 1e-9, plan->machine.measured ? " (measured)" : " (assumed)",
                    plan->machine.clock * 1e-6, stn_version());
    stn_text_clear(&problem);
}

static void put_choice(const stn_plan *plan, stn_text *html) {
    size_t measured = 0, offered = 0;
    for (size_t i = 0; i < plan->ranked; i++) {
        offered += plan->ranking[i].applies;
        measured += plan->ranking[i].measured > 0;
    }
    stn_text_printf(html, "<p>Chosen: <strong>");
    cli_name_row(plan, &plan->ranking[0], html);
    stn_text_printf(html, "</strong>. %zu of %zu candidates were measured.</p>\n", measured, offered);
    for (size_t i = 0; i < plan->ranked; i++) {
        if (plan->ranking[i].applies) continue;
        stn_text_printf(html, "<p>Not %s: ", plan->ranking[i].strategy->name);
        cli_escape(html, plan->ranking[i].reason);
        stn_text_printf(html, "</p>\n");
    }
}

void cli_tune_page(const stn_plan *plan, stn_text *html) {
    put_head(plan, html);
    put_choice(plan, html);
    stn_text_printf(
        html,
        "<h2>The search</h2>\n<p class=\"note\">Seconds of a run by candidate, best estimate first; the line is "
        "the estimate.</p>\n");
    cli_picture_search(plan, html);
    stn_text_printf(
        html,
        "<h2>Roofline</h2>\n<p class=\"note\">What the machine gives for so many operations a byte, and what the "
        "candidates reach.</p>\n");
    cli_picture_roofline(plan, html);
    stn_text_printf(
        html,
        "<h2>Predicted against measured</h2>\n<p class=\"note\">On the line the estimate is right; above it the run "
        "took longer.</p>\n");
    cli_picture_estimate(plan, html);
    stn_text_printf(
        html,
        "<h2>All candidates</h2>\n<table><thead><tr><th class=\"n\">#</th><th>candidate</th>"
        "<th class=\"n\">predicted</th><th class=\"n\">measured</th><th class=\"n\">off by</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < plan->ranked; i++) put_row(plan, i, html);
    stn_text_printf(html, "</tbody></table>\n</body></html>\n");
}
