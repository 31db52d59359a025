/* Sanitises text that comes from files, so that it is safe to print. */
#ifndef STN_BASE_SANITIZE_H
#define STN_BASE_SANITIZE_H

/* Replaces control characters other than line ends and tabs by '?': they could move a terminal's
 * cursor or change its colours. */
void stn_text_sanitize(char *text);
#endif
