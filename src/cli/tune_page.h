/* What a search found, as one page: HTML that is XML too, pictures as SVG within, nothing from
 * outside. */
#ifndef STN_CLI_TUNE_PAGE_H
#define STN_CLI_TUNE_PAGE_H
#include "base/text.h"
#include "plan/plan.h"

void cli_tune_page(const stn_plan *plan, stn_text *html);
#endif
