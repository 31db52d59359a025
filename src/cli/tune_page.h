/* The report of a search as one HTML page (valid XML), with inline SVG pictures and no external
 * resources. */
#ifndef STN_CLI_TUNE_PAGE_H
#define STN_CLI_TUNE_PAGE_H
#include "base/text.h"
#include "plan/plan.h"

void cli_tune_page(const stn_plan *plan, stn_text *html);
#endif
