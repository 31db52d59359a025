/* Renders params.cuh, the only generated source of a kernel; all other templates are constant
 * text. */
#ifndef STN_RENDER_RENDER_H
#define STN_RENDER_RENDER_H
#include "base/text.h"

/* An embedded template: name relative to kernel_templates/ ("direct/direct_tile.cu",
 * "device/ptx.cuh"), text, size. */
typedef struct stn_template {
    const char *name;
    const char *text; /* NUL-terminated */
    size_t size;      /* without the NUL */
} stn_template;

/* Table written by embed.py at build time, with params.cuh (the documented defaults). */
extern const stn_template stn_embedded_templates[];
extern const size_t stn_embedded_template_count;
/* The key over all templates (cache/FORMAT.md), computed at build time. */
extern const unsigned char stn_embedded_templates_key[32];
/* The pack of generic kernels that the library contains (src/cli/embed_pack.c). Its size is 0 where
 * there was no NVRTC while building, and in programs that link the internal library alone. */
extern const unsigned char stn_embedded_pack[];
extern const size_t stn_embedded_pack_size;

/* The set of all templates, owned: the embedded ones, or those in $STENTOR_TEMPLATE_DIR if set
 * (edit and run without a rebuild). Read once per context. */
typedef struct stn_templates {
    stn_template *list;
    size_t count;
    bool from_disk; /* True: names and texts are owned too. */
} stn_templates;
stn_status stn_templates_load(stn_templates *templates, stn_error *error);
/* NULL if there is none */
const stn_template *stn_templates_find(const stn_templates *templates, const char *name);
/* The file of a kernel ("direct_tile") in any folder; NULL if there is none. */
const stn_template *stn_templates_kernel(const stn_templates *templates, const char *kernel);
void stn_templates_free(stn_templates *templates);

/* Building params.cuh: stn_params_begin opens a stn_text, then each call adds a line. */
void stn_params_begin(stn_text *params);
/* The same, and using STORE and REAL = the storage and the arithmetic type of a dtype. */
void stn_params_begin_for(stn_text *params, stn_dtype dtype);
/* constexpr int NAME = value; */
void stn_params_int(stn_text *params, const char *name, int64_t value);
void stn_params_type(stn_text *params, const char *name, const char *type); /* using NAME = type; */
/* using NAME = the storage type of a dtype. */
void stn_params_store(stn_text *params, const char *name, stn_dtype dtype);
/* The same of a number type; device/number.cuh declares those that no dtype has. */
void stn_params_element(stn_text *params, const char *name, stn_element element);
void stn_params_ints(stn_text *params, const char *name, const int *values,
                     size_t n); /* constexpr int NAME[n] = {...}; */

/* The reach of the taps along an axis and the boundary kinds: for axis 0 Z_LOW, Z_SIDE_LOW, Z_HIGH,
 * Z_SIDE_HIGH. */
void stn_params_axis(stn_text *params, int axis, const int reach[2], const stn_boundary sides[2]);

/* Stores a kernel argument as the dtype's REAL; returns its size in bytes. */
size_t stn_put_real(stn_dtype dtype, double value, void *to);
#endif
