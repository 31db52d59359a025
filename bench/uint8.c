/* Gaussian of a uint8 image of 2160 x 3840 points, as from Python: a pass along each
 * axis, each truncated to uint8. Prints the time beside that of a copy of the image and beside the
 * time of its bytes at the copy bandwidth, for noise, a smooth picture and a flat one; the results
 * are compared with the host's. Exit status 77 without a GPU.
 *
 *     stentor-uint8 [--rows N] [--columns N] [--sigma N] [--repeat N] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "context/context.h"
#include "plan/plan.h"
#include "stentor.h"

enum { MOST_SIGMA = 16, RUNS = 7 };

typedef struct image {
    stn_context *gpu, *host;
    size_t rows, columns, bytes;
    int sigma, repeat;
    unsigned char *in, *want, *between, *got;
    void *at[3]; /* device memory: input, after one pass, result */
    stn_plan *pass[2], *host_pass[2];
} image;

static const char *const kinds[] = {"noise", "smooth", "flat"};

static void paint(image *m, int kind) {
    uint64_t state = 1;
    for (size_t i = 0; i < m->bytes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t row = i / m->columns;
        const double x = (double)(i - row * m->columns), y = (double)row;
        m->in[i] = (unsigned char)(kind == 0   ? state >> 56
                                   : kind == 1 ? 127.5 + 100 * sin(x / 200) * cos(y / 170) + (double)(state >> 62)
                                               : 255);
    }
}

static stn_status make_pass(stn_context *context, const image *m, int axis, stn_plan **plan, stn_error *error) {
    stn_tap taps[8 * MOST_SIGMA + 1];
    const int radius = 4 * m->sigma;
    const double scale = -0.5 / (m->sigma * m->sigma);
    double sum = 0;
    stn_stencil *stencil = NULL;
    for (int i = -radius; i <= radius; i++) sum += exp(scale * i * i);
    for (int i = -radius; i <= radius; i++) {
        taps[i + radius] = (stn_tap){{0}, exp(scale * i * i) / sum};
        taps[i + radius].offset[axis] = i;
    }
    stn_problem p = STN_PROBLEM_INIT;
    p.extent[0] = m->rows, p.extent[1] = m->columns, p.in_element = p.out_element = STN_ELEMENT_U8;
    for (int a = 0; a < 2; a++)
        for (int side = 0; side < 2; side++) p.boundary[a][side].kind = STN_REFLECT;
    stn_status status = stn_stencil_create(2, (size_t)(2 * radius + 1), taps, &stencil, error);
    p.stencil = stencil;
    if (status == STN_OK) status = stn_plan_create(context, &p, NULL, plan, error);
    stn_stencil_destroy(stencil);
    return status;
}

static stn_status filter(image *m, stn_error *error) {
    stn_status status = stn_plan_execute(m->pass[0], m->at[0], m->at[1], NULL, error);
    return status == STN_OK ? stn_plan_execute(m->pass[1], m->at[1], m->at[2], NULL, error) : status;
}

static stn_status copy_image(image *m, stn_error *error) {
    return stn_device_copy(m->gpu->device, m->at[2], m->at[0], m->bytes, NULL, error);
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of RUNS times of `repeat` calls, in seconds a call. */
static stn_status time_of(image *m, stn_status (*work)(image *, stn_error *), double *seconds, stn_error *error) {
    double each[RUNS];
    stn_status status = STN_OK;
    for (int run = 0; run < RUNS && status == STN_OK; run++) {
        status = stn_synchronize(m->gpu, NULL, error);
        const double begin = stn_clock_seconds();
        for (int i = 0; i < m->repeat && status == STN_OK; i++) status = work(m, error);
        if (status == STN_OK) status = stn_synchronize(m->gpu, NULL, error);
        each[run] = (stn_clock_seconds() - begin) / m->repeat;
    }
    qsort(each, RUNS, sizeof *each, compare_doubles);
    *seconds = each[RUNS / 2];
    return status;
}

static stn_status measure(image *m, int kind, bool *right, stn_error *error) {
    double filtered = 0, copied = 0;
    paint(m, kind);
    stn_status status = stn_memory_upload(m->gpu, m->at[0], m->in, m->bytes, error);
    if (status == STN_OK) status = filter(m, error);
    if (status == STN_OK) status = stn_synchronize(m->gpu, NULL, error);
    if (status == STN_OK) status = stn_memory_download(m->gpu, m->got, m->at[2], m->bytes, error);
    if (status == STN_OK) status = stn_plan_execute(m->host_pass[0], m->in, m->between, NULL, error);
    if (status == STN_OK) status = stn_plan_execute(m->host_pass[1], m->between, m->want, NULL, error);
    if (status == STN_OK) status = time_of(m, filter, &filtered, error);
    if (status == STN_OK) status = time_of(m, copy_image, &copied, error);
    if (status != STN_OK) return status;
    *right = !memcmp(m->got, m->want, m->bytes);
    const double bytes = 2 * (double)m->bytes / m->gpu->machine.copy_bandwidth;
    printf("%-6s  %8.2f us, copy of the image %.2f us (%.0f%%), its bytes at the copy bandwidth %.2f us (%.0f%%): %s\n",
           kinds[kind], filtered * 1e6, copied * 1e6, 100 * copied / filtered, bytes * 1e6, 100 * bytes / filtered,
           *right ? "the host's bytes" : "WRONG");
    return STN_OK;
}

static stn_status open_image(image *m, stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_CUDA(0);
    stn_status status = stn_context_create(&options, &m->gpu, error);
    if (status != STN_OK) return status;
    options.device = STN_DEVICE_HOST;
    status = stn_context_create(&options, &m->host, error);
    m->bytes = m->rows * m->columns;
    for (int i = 0; i < 3 && status == STN_OK; i++) status = stn_memory_alloc(m->gpu, m->bytes, &m->at[i], error);
    for (int axis = 0; axis < 2 && status == STN_OK; axis++) {
        status = make_pass(m->gpu, m, axis, &m->pass[axis], error);
        if (status == STN_OK) status = make_pass(m->host, m, axis, &m->host_pass[axis], error);
    }
    m->in = malloc(m->bytes), m->want = malloc(m->bytes), m->between = malloc(m->bytes), m->got = malloc(m->bytes);
    return status;
}

static void close_image(image *m) {
    for (int axis = 0; axis < 2; axis++) stn_plan_destroy(m->pass[axis]), stn_plan_destroy(m->host_pass[axis]);
    for (int i = 0; i < 3 && m->gpu; i++) stn_memory_free(m->gpu, m->at[i]);
    stn_context_destroy(m->gpu), stn_context_destroy(m->host);
    free(m->in), free(m->want), free(m->between), free(m->got);
}

static size_t option(int argc, char **argv, const char *name, size_t otherwise) {
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name)) return (size_t)strtoull(argv[i + 1], NULL, 10);
    return otherwise;
}

int main(int argc, char **argv) {
    image m = {.rows = option(argc, argv, "--rows", 2160), .columns = option(argc, argv, "--columns", 3840)};
    m.repeat = (int)option(argc, argv, "--repeat", 200);
    m.sigma = (int)option(argc, argv, "--sigma", 3);
    if (m.sigma < 1 || m.sigma > MOST_SIGMA) {
        fprintf(stderr, "--sigma is %d: give 1 to %d\n", m.sigma, MOST_SIGMA);
        return 1;
    }
    stn_error error = {STN_OK, ""};
    bool all = true;
    stn_status status = open_image(&m, &error);
    if (status == STN_OK) {
        printf("%s, %.0f GB/s copy bandwidth; %zu x %zu uint8, sigma %d\n", m.gpu->machine.name,
               m.gpu->machine.copy_bandwidth / 1e9, m.rows, m.columns, m.sigma);
        for (int axis = 0; axis < 2; axis++) {
            char *text = NULL;
            if (stn_plan_describe(m.pass[axis], STN_TEXT, &text, NULL) == STN_OK && strstr(text, "kernel typed"))
                printf("axis %d: %.80s\n", axis, strtok(strstr(text, "kernel typed"), "\n"));
            stn_text_free(text);
        }
    }
    for (int kind = 0; kind < 3 && status == STN_OK; kind++) {
        bool right = false;
        status = measure(&m, kind, &right, &error);
        all = all && right;
    }
    close_image(&m);
    if (status == STN_OK) return all ? 0 : 1;
    fprintf(stderr, "%s\n", error.message);
    return status == STN_ERROR_NO_DEVICE ? 77 : 1;
}
