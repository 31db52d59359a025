/* Notes: what was measured (DIR/tuned/KEY), as small texts beside the entries. FORMAT.md says what is in the files. */
#ifndef STN_CACHE_NOTES_H
#define STN_CACHE_NOTES_H
#include "cache/folder.h"
#include "cache/listing.h"

#define STN_NOTE_MAX ((size_t)1 << 16) /* bytes of a file */

/* One sort of notes. */
typedef struct stn_notes {
    const char *folder, *head, *what; /* what: in messages */
    size_t most;                      /* files; more, and those used longest ago go */
    bool sync;                        /* worth waiting for the disk: what is lost takes measuring again */
} stn_notes;
extern const stn_notes stn_notes_tuned;

/* Is there a folder of them? */
bool stn_notes_any(const stn_folder *folder, const stn_notes *of);
/* *text is freed with free(). A damaged note is removed. */
bool stn_notes_find(stn_folder *folder, const stn_notes *of, const stn_key *key, char **text);
/* Best effort: trouble is one warning. */
void stn_notes_store(stn_folder *folder, const stn_notes *of, const stn_key *key, const char *text);
bool stn_notes_remove(stn_folder *folder, const stn_notes *of, const stn_key *key);

typedef bool (*stn_notes_visit)(void *user, const stn_note_item *item);
/* In the order of keys; changes nothing. */
stn_status stn_notes_each(stn_folder *folder, const stn_notes *of, stn_notes_visit visit, void *user, stn_error *error);
typedef enum stn_notes_purge { STN_NOTES_DAMAGED, STN_NOTES_OLD, STN_NOTES_ALL } stn_notes_purge;
/* Removes the ones proven to be damaged, those beyond `most` (but none used in the last spare_seconds) and old temporaries, or all;
 * adds what it did to *sweep. */
stn_status stn_notes_sweep(stn_folder *folder, const stn_notes *of, stn_notes_purge what, size_t most,
                           int64_t spare_seconds, stn_cache_sweep *sweep, stn_error *error);
#endif
