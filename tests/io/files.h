/* A temporary folder for each test, and files in it. */
#ifndef STN_TESTS_IO_FILES_H
#define STN_TESTS_IO_FILES_H
#include <stddef.h>

/* Makes the folder and changes into it; files_leave removes it with its content. */
void files_enter(void);
void files_leave(void);
void file_put(const char *name, const void *bytes, size_t size);
/* The bytes of a file, freed by the caller; NULL if it does not exist. */
unsigned char *file_get(const char *name, size_t *size);
int files_count(void); /* in the folder, hidden files included */
#endif
