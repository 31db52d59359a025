/* SVG diagrams of a search, for tune_page.h, and the names of candidates on the page. */
#ifndef STN_CLI_TUNE_PICTURES_H
#define STN_CLI_TUNE_PICTURES_H
#include "base/text.h"
#include "plan/plan.h"

/* time by candidate, in order of the estimates */
void cli_picture_search(const stn_plan *plan, stn_text *html);
/* the machine's limits and the candidates below them */
void cli_picture_roofline(const stn_plan *plan, stn_text *html);
/* predicted against measured seconds */
void cli_picture_estimate(const stn_plan *plan, stn_text *html);
/* Escapes text for the page. */
void cli_escape(stn_text *html, const char *text);
void cli_name_row(const stn_plan *plan, const stn_ranked *row, stn_text *html);
#endif
