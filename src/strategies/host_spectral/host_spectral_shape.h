/* The periodic domain on which a run is computed, and the tables of its transforms. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_HOST_SPECTRAL_SHAPE_H
#define STN_STRATEGIES_HOST_SPECTRAL_HOST_SPECTRAL_SHAPE_H
#include "host/fft_line.h"
#include "plan/strategy.h"
#include "strategies/common/extension.h"
#include "strategies/common/stencil_symbol.h"

/* A candidate: the length of the periodic line along each axis (common/extension.h), the grid's
 * position in it, and the number of frequencies retained through all steps. */
typedef struct domain_axis {
    int64_t length, before;
} domain_axis;
typedef struct periodic_domain {
    domain_axis axis[3];
    int64_t kept; /* Out of the half spectrum along x. */
} periodic_domain;

/* Chooses a domain. False: no periodic extension serves these boundaries and taps; `reason` is one
 * phrase. Cheap except for the search for the reach. */
bool host_spectral_domain_choose(const stn_task *task, periodic_domain *chosen, char *reason, size_t reason_size);
/* Whether a domain chosen for other weights serves these. The result is then as accurate, although
 * another domain may be cheaper. */
bool host_spectral_domain_serves(const stn_task *task, const periodic_domain *chosen);
/* Whether fixed or constant boundaries, or the problem's source, add a term at each step. */
bool host_spectral_task_has_source(const stn_task *task);
/* Taps of more terms than this along the last axis have their polynomials evaluated by FFT. */
#define SHAPE_MANY_TERMS 24
#define SHAPE_DOUBLINGS 16
#define SHAPE_KEPT_BITS 64 /* Factors below the largest by 2^-64 are treated as 0. */
/* Estimated operations of a transform of n points. */
double host_spectral_fft_line_cost(int64_t n);

typedef struct shape {
    periodic_domain domain;
    stn_extension axis[3];
    int last;          /* The axis that is transformed last; the symbol is applied there. */
    bool packed_pairs; /* Rows of even length are transformed as half as many complex numbers. */
    bool source;
    int64_t rows;          /* Rows in a plane of the spectrum. */
    int64_t pitch;         /* Stride between rows, in complex numbers. */
    int64_t plane, grid;   /* Strides between planes and grids, in complex numbers. */
    int64_t batch_grids;   /* Grids of a batch that run together. */
    int64_t updated[3][2]; /* Points outside [0], [1] are frozen by fixed boundaries. */
    stn_symbol symbol;
    /* The polynomials of the symbol are long and are evaluated by FFT. */
    bool transforms_polynomials;
    double largest; /* Largest |K| over all frequencies. */
    /* Like domain.kept, for the steps of 1, 2, 4, .. snapshots; the last entry also holds for
     * more. */
    int64_t kept[SHAPE_DOUBLINGS];
    int lanes[3];
    int64_t capacity;      /* Doubles in one scratch plane of a thread. */
    stn_fft_line *line[3]; /* Owned; axes of equal length share one. */
    double *half_twiddles; /* exp(-2 pi i k / length), for halved rows. */
    /* Image: for each point of the periodic line, the grid point of which it is an image */
    int64_t *image[3];
    double *sign[3];        /* sign: the factor of that image, 1, -1 or 0 */
    double *parts, *angles; /* Coefficients and angles of common/stencil_symbol.h. */
} shape;

stn_status host_spectral_shape_make(const stn_task *task, const periodic_domain *chosen, shape *made, stn_error *error);
/* Recomputes the tables that depend on the weights. */
stn_status host_spectral_shape_set_weights(const stn_task *task, shape *made, stn_error *error);
void host_spectral_shape_clear(shape *made);
enum { SHAPE_PAIRS = 7 };
/* Doubles of a thread's scratch planes, and of everything stored between passes. */
int64_t host_spectral_shape_planes(const shape *s);
int64_t host_spectral_shape_between(const stn_task *task, const shape *s);
/* Doubles to store the frequencies of one group of columns along the last axis, and of all
 * groups. */
int64_t host_spectral_shape_stored(const shape *s);
int64_t host_spectral_shape_all_stored(const stn_task *task, const shape *s);
#endif
