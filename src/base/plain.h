/* Text of others, made safe to print. */
#ifndef STN_BASE_PLAIN_H
#define STN_BASE_PLAIN_H

/* Control characters other than line ends and tabs, which could move a terminal's cursor or
 * recolour it, become '?'. */
void stn_plain(char *text);
#endif
