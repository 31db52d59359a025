/* What a search found, as one page: HTML that is XML too, pictures as SVG within, nothing from outside. */
#ifndef STN_CLI_TUNE_PAGE_H
#define STN_CLI_TUNE_PAGE_H
#include "base/text.h"
#include "plan/plan.h"

void cli_tune_page(const stn_plan *plan, stn_text *html);

/* tune_pictures.c */
void cli_picture_search(const stn_plan *plan, stn_text *html);   /* time by candidate, in the order of estimates */
void cli_picture_roofline(const stn_plan *plan, stn_text *html); /* the machine's ceilings, the candidates beneath */
void cli_picture_estimate(const stn_plan *plan, stn_text *html); /* predicted against measured */
/* Text of others within the page. */
void cli_escape(stn_text *html, const char *text);
void cli_name_row(const stn_plan *plan, const stn_ranked *row, stn_text *html);
#endif
