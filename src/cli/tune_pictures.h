/* The pictures on the page of a search (tune_page.h), as SVG, and how the page and they name a
 * candidate. */
#ifndef STN_CLI_TUNE_PICTURES_H
#define STN_CLI_TUNE_PICTURES_H
#include "base/text.h"
#include "plan/plan.h"

void cli_picture_search(const stn_plan *plan, stn_text *html);   /* time by candidate, in the order of estimates */
void cli_picture_roofline(const stn_plan *plan, stn_text *html); /* the machine's ceilings, the candidates beneath */
void cli_picture_estimate(const stn_plan *plan, stn_text *html); /* predicted against measured */
/* Text of others within the page. */
void cli_escape(stn_text *html, const char *text);
void cli_name_row(const stn_plan *plan, const stn_ranked *row, stn_text *html);
#endif
