/* plan -> the text of params.cuh, the only rendered file. Every other template is constant text. */
#ifndef STN_RENDER_RENDER_H
#define STN_RENDER_RENDER_H
#include "base/text.h"

/* One embedded template: kernel_templates/ relative name ("direct/direct_tile.cu",
 * "device/ptx.cuh"), text, bytes. */
typedef struct stn_template {
    const char *name;
    const char *text; /* NUL-terminated */
    size_t size;      /* without the NUL */
} stn_template;

/* The table that embed.py wrote at build time, params.cuh (the documented defaults) included. */
extern const stn_template stn_embedded_templates[];
extern const size_t stn_embedded_template_count;
/* A key of cache/FORMAT.md over all of them, made with them. */
extern const unsigned char stn_embedded_templates_key[32];

/* All templates as one owned set: the embedded ones, or those read from $STENTOR_TEMPLATE_DIR when
 * it is set (edit and rerun without a rebuild). Read once per context. */
typedef struct stn_templates {
    stn_template *list;
    size_t count;
    bool from_disk; /* then texts are owned too */
} stn_templates;
stn_status stn_templates_load(stn_templates *templates, stn_error *error);
const stn_template *stn_templates_find(const stn_templates *templates, const char *name); /* NULL if there is none */
/* The file of a kernel ("direct_tile"), in whatever folder; NULL if there is none. */
const stn_template *stn_templates_kernel(const stn_templates *templates, const char *kernel);
void stn_templates_free(stn_templates *templates);

/* Building params.cuh: a stn_text, opened by stn_params_begin, then one line a parameter. */
void stn_params_begin(stn_text *params);
void stn_params_int(stn_text *params, const char *name, int64_t value);     /* constexpr int NAME = value; */
void stn_params_type(stn_text *params, const char *name, const char *type); /* using NAME = type; */
/* using NAME: what grids of a dtype are kept in. */
void stn_params_store(stn_text *params, const char *name, stn_dtype dtype);
/* using STORE and REAL: what grids of a dtype are kept in, and what is computed with. */
void stn_params_elements(stn_text *params, stn_dtype dtype);
void stn_params_ints(stn_text *params, const char *name, const int *values,
                     size_t n); /* constexpr int NAME[n] = {...}; */

/* What taps reach along an axis, and what lies past its sides: of axis 0 Z_LOW, Z_SIDE_LOW, Z_HIGH,
 * Z_SIDE_HIGH. */
void stn_params_axis(stn_text *params, int axis, const int reach[2], const stn_boundary sides[2]);

/* A value among a kernel's arguments, as its REAL for this dtype; returns how many bytes that
 * is. */
size_t stn_put_real(stn_dtype dtype, double value, void *to);
#endif
