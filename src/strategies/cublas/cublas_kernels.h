/* Our own kernels around cuFFT's transforms and cuBLAS's products: kernel_templates/layer. */
#ifndef STN_STRATEGIES_CUBLAS_CUBLAS_KERNELS_H
#define STN_STRATEGIES_CUBLAS_CUBLAS_KERNELS_H
#include "context/kernel.h"
#include "plan/plan.h"

/* Parameters of a kernel; each template documents which of them it reads. */
typedef struct cublas_words {
    stn_dtype from, to;
    /* half: of layer_scatter, layer_pad; the others: of layer_gather */
    bool half, doubled, conjugate;
    int parts;      /* numbers per element */
    bool add, bias; /* of layer_finish */
    stn_activation activation;
} cublas_words;

/* layer_axes of modes.cuh. */
typedef struct cublas_axes {
    int n[3], modes[3], first[3], length, spectrum, kept;
} cublas_axes;
cublas_axes cublas_axes_of(const stn_layer *layer);
cublas_axes cublas_axes_whole(int64_t modes); /* for weights: rows of `modes` modes, all retained */

typedef enum cublas_template { CUBLAS_GATHER, CUBLAS_SCATTER, CUBLAS_PAD, CUBLAS_FINISH, CUBLAS_SUMS } cublas_template;
stn_status cublas_kernel(stn_plan *plan, cublas_template of, const cublas_words *words, stn_kernel **kernel,
                         stn_error *error);

stn_status cublas_gather(const stn_kernel *kernel, const void *from, void *to, int64_t rows, const cublas_axes *axes,
                         void *stream, stn_error *error);
stn_status cublas_scatter(const stn_kernel *kernel, const void *from, void *to, int64_t rows, const cublas_axes *axes,
                          void *stream, stn_error *error);
stn_status cublas_pad(const stn_kernel *kernel, void *data, int64_t rows, const cublas_axes *axes, void *stream,
                      stn_error *error);

/* The arguments that layer_finish.cu declares. */
typedef struct cublas_finish_arguments {
    const void *from, *add, *bias;
    void *to;
    int64_t all, lines, channels, length, pitch;
} cublas_finish_arguments;
stn_status cublas_finish(const stn_kernel *kernel, const cublas_finish_arguments *what, void *stream, stn_error *error);
/* Only converts types, by the same kernel. */
stn_status cublas_move(const stn_kernel *kernel, const void *from, void *to, int64_t lines, int64_t length,
                       void *stream, stn_error *error);

/* The arguments that layer_sums.cu declares. */
typedef struct cublas_sums_arguments {
    const void *from;
    void *to;
    int64_t outputs, width, count, stride, step_i, step_o;
} cublas_sums_arguments;
stn_status cublas_sums(const stn_kernel *kernel, const cublas_sums_arguments *what, void *stream, stn_error *error);
#endif
