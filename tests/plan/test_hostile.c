/* Random invalid requests: every call gives a result or one clear message, and leaks nothing.
 *
 *     test_hostile [--count N] [--seed S] [--first I] [--gpu]
 *
 * Case I of seed S is the same on every machine. A valid problem, transform or layer is changed in
 * a few members; if the result is still valid, and small, it is run. Prints TAP. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad.h"

#define MAX_POINTS 20000 /* largest problem that is run */
#define MAX_STEPS 50

static stn_context *context;
static uint64_t seed = 1, at;
static int failed;

static void complain(const char *what, const stn_error *error) {
    printf("not ok - seed %" PRIu64 " number %" PRIu64 ": %s: %d '%.300s'\n", seed, at, what, (int)error->status,
           error->message);
    failed++;
}

/* True on success. A failure must have the status it returns and a message of one sentence. */
static bool told(const char *call, stn_status status, const stn_error *error) {
    if (status == STN_OK) return true;
    const size_t length = strnlen(error->message, sizeof error->message);
    if (error->status != status) complain(call, error);
    if (status == STN_ERROR_INTERNAL || status == STN_ERROR_DRIVER) complain(call, error);
    if (length < 10 || length >= sizeof error->message || strchr(error->message, '\n')) complain(call, error);
    return false;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *memory(size_t bytes, size_t offset) {
    void *device = NULL;
    unsigned char *zeros = calloc(1, bytes + offset + 1);
    if (zeros && stn_memory_alloc(context, bytes + offset, &device, NULL) == STN_OK)
        stn_memory_upload(context, device, zeros, bytes + offset, NULL);
    free(zeros);
    return device;
}

static stn_plan_options some_options(dice *d, bool run) {
    stn_plan_options o = STN_PLAN_OPTIONS_INIT;
    if (chance(d, 50)) o.strategy = bad_name(d);
    if (chance(d, 10)) o.mode = bad_int(d);
    /* These modes take seconds. */
    if (o.mode == STN_MODE_MEASURE || o.mode == STN_MODE_PATIENT) o.mode = STN_MODE_ESTIMATE;
    if (chance(d, 5)) o.struct_size = bad_struct_size(d, sizeof o);
    if (chance(d, 10)) o.tune_seconds = bad_real(d);
    if (chance(d, 20)) o.deterministic = bad_int(d);
    if (chance(d, 20)) o.no_auto_workspace = 1;
    if (chance(d, 10)) o.executions = bad_count(d);
    o.estimate_only = !run;
    return o;
}

static void look_at_plan(dice *d, stn_plan *plan) {
    stn_error error = {0};
    char *text = NULL;
    if (told("describe",
             stn_plan_describe(plan, (stn_format)(chance(d, 90) ? dice_int(d, 0, 1) : bad_int(d)), &text, &error),
             &error) != (text != NULL))
        complain("describe's text", &error);
    stn_text_free(text);
    stn_kernel_info info;
    const size_t index = bad_size(d);
    told("kernel", stn_plan_kernel(plan, index, &info, &error), &error);
    (void)stn_plan_predicted_seconds(plan), (void)stn_plan_strategy(plan);
}

/* ---- stencils -------------------------------------------------------------------------------- */

static stn_stencil *some_stencil(dice *d) {
    stn_tap taps[8];
    const int rank = chance(d, 90) ? dice_int(d, 1, 3) : bad_int(d), count = dice_int(d, 1, 8);
    for (int i = 0; i < count; i++) {
        taps[i] = (stn_tap){{0, 0, 0}, dice_real(d) / 4};
        for (int axis = 0; axis < 3 && axis < rank; axis++) taps[i].offset[axis] = dice_int(d, -2, 2);
        if (chance(d, 2)) taps[i].offset[dice_int(d, 0, 2)] = (int64_t)bad_count(d);
        if (chance(d, 3)) taps[i].weight = bad_real(d);
    }
    stn_stencil *stencil = NULL;
    stn_error error = {0};
    const size_t given = chance(d, 98) ? (size_t)count : 0;
    if (told("stencil", stn_stencil_create(rank, given, chance(d, 99) ? taps : NULL, &stencil, &error), &error) !=
        (stencil != NULL))
        complain("the stencil", &error);
    if (stencil && !(stn_stencil_max_symbol(stencil) >= 0)) complain("the symbol", &error);
    return stencil;
}

/* Characters that the parsers read, in any order. */
static void some_text(dice *d, const char *const *words, int count, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (int i = dice_int(d, 0, 6); i > 0; i--) {
        if (chance(d, 10))
            used += (size_t)snprintf(text + used, size - used, "%c", dice_int(d, 32, 255));
        else
            used += (size_t)snprintf(text + used, size - used, "%s", words[dice_int(d, 0, count - 1)]);
    }
}

static void parse(dice *d) {
    static const char *const words[] = {"heat-2d", "gaussian", "laplace-3d", ":",        "=",
                                        ",",       "alpha",    "sigma",      "order",    "truncate",
                                        "1e999",   "nan",      "-1",         "0.25",     "inf",
                                        "4",       "1e-320",   "wrap",       "constant", "fixed",
                                        "mirror",  "64",       "reflect",    "f32",      "18446744073709551616",
                                        "0x1p3",   " ",        "%s"};
    char text[300];
    stn_error error = {0};
    stn_stencil *stencil = NULL;
    stn_boundary sides[2];
    stn_dtype dtype;
    some_text(d, words, 28, text, sizeof text);
    if (told("parse", stn_stencil_parse(text, &stencil, &error), &error) != (stencil != NULL))
        complain("a stencil parsed", &error);
    stn_stencil_destroy(stencil);
    told("boundary", stn_boundary_parse(text, sides, &error), &error);
    told("dtype", stn_dtype_parse(text, &dtype, &error), &error);
    size_t extent[3] = {(size_t)dice_int(d, 0, 5), (size_t)dice_int(d, 0, 5), (size_t)dice_int(d, 0, 5)};
    double weights[125];
    for (int i = 0; i < 125; i++) weights[i] = chance(d, 98) ? dice_real(d) : bad_real(d);
    const int rank = chance(d, 90) ? dice_int(d, 1, 3) : bad_int(d);
    if (chance(d, 5)) extent[dice_int(d, 0, 2)] = bad_size(d) | 1;
    bool small = true; /* Otherwise the array is shorter than its extents say. */
    for (int axis = 0; axis < 3; axis++)
        small = small && (extent[axis] <= 5 || extent[axis] > 2 * STN_MAX_HOST_RADIUS + 1);
    stencil = NULL;
    if (small &&
        told("dense", stn_stencil_create_dense(rank, extent, weights, &stencil, &error), &error) != (stencil != NULL))
        complain("a dense stencil", &error);
    stn_stencil_destroy(stencil);
}

/* ---- problems -------------------------------------------------------------------------------- */

static stn_problem some_problem(dice *d, const stn_stencil *stencil) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    for (int axis = 0; axis < 3; axis++) {
        p.extent[axis] = (size_t)dice_int(d, 2, 12);
        const int kind = dice_int(d, 0, 5);
        p.boundary[axis][0].kind = (stn_boundary_kind)kind;
        p.boundary[axis][1].kind = (stn_boundary_kind)(kind ? dice_int(d, 1, 5) : 0);
    }
    p.steps = (uint64_t)dice_int(d, 0, 9);
    p.dtype = (stn_dtype)dice_int(d, 0, 2);
    p.has_source = chance(d, 20);
    p.batch = (size_t)dice_int(d, 0, 3);
    stn_boundary(*b)[2] = p.boundary;
    const slots places = {
        .size = {&p.extent[0], &p.extent[1], &p.extent[2], &p.batch},
        .stride = {&p.in_stride[0], &p.in_stride[1], &p.in_stride[2], &p.out_stride[0], &p.out_stride[1],
                   &p.out_stride[2], &p.in_batch_stride, &p.out_batch_stride, &p.snapshot_stride},
        .integer = {(int *)&b[0][0].kind, (int *)&b[1][1].kind, (int *)&b[2][0].kind, (int *)&p.dtype, &p.in_place,
                    &p.alignment},
        .real = {&b[0][0].value, &b[1][0].value, &b[2][1].value, &p.tolerance},
        .count = {&p.steps, &p.every},
        .struct_size = &p.struct_size,
        .right = sizeof p};
    for (int i = chance(d, 30) ? 0 : dice_int(d, 1, 3); i > 0; i--) spoil(d, &places);
    return p;
}

static bool is_small(const stn_task *task) {
    const double in = (double)stn_task_span(task, false),
                 out =
                     (double)(task->snapshots - 1) * (double)task->snapshot_stride + (double)stn_task_span(task, true);
    return in > 0 && out > 0 && in < MAX_POINTS && out < MAX_POINTS && task->alignment <= 256 &&
           (double)task->steps * (double)task->snapshots < MAX_STEPS;
}

/* Valid and invalid pointers; only such that the checks must detect. */
static void execute(dice *d, stn_plan *plan, const stn_task *task) {
    const size_t size = stn_dtype_size(task->dtype), in_bytes = (size_t)stn_task_span(task, false) * size,
                 out_bytes =
                     (size_t)((int64_t)(task->snapshots - 1) * task->snapshot_stride + stn_task_span(task, true)) *
                     size,
                 need = stn_plan_workspace_size(plan);
    char *in = memory(in_bytes, 0), *out = task->in_place ? in : memory(out_bytes, 0), *source = memory(in_bytes, 0),
         *workspace = memory(need, 256);
    stn_error error = {0};
    stn_execution e = STN_EXECUTION_INIT;
    e.in = in, e.out = out, e.workspace = workspace;
    if (task->source) e.source = source;
    const bool good = chance(d, 50);
    if (!good) switch (dice_int(d, 0, 9)) {
            case 0:
                e.in = NULL;
                break;
            case 1:
                e.out = NULL;
                break;
            case 2:
                e.source = task->source ? NULL : source;
                break;
            case 3:
                e.workspace = need ? workspace + dice_int(d, 1, 255) : NULL;
                break;
            case 4:
                e.out = task->in_place ? out + in_bytes : in;
                break;
            case 5:
                e.in = in + 1;
                break;
            case 6:
                e.weights = in;
                break;
            case 7:
                e.bias_gradient = in;
                break;
            case 8:
                e.struct_size = bad_struct_size(d, sizeof e);
                break;
            default:
                e.source = task->source ? out : in;
        }
    const stn_status status = stn_plan_run(plan, &e, &error);
    if (!told("run", status, &error) && good) complain("a good execution", &error);
    if (stn_synchronize(context, NULL, &error) != STN_OK) complain("synchronize", &error);
    stn_memory_free(context, in);
    if (!task->in_place) stn_memory_free(context, out);
    stn_memory_free(context, source);
    stn_memory_free(context, workspace);
}

static void reweigh(dice *d, stn_plan *plan, const stn_task *task) {
    double weights[8];
    for (int i = 0; i < 8; i++) weights[i] = chance(d, 95) ? dice_real(d) : bad_real(d);
    stn_error error = {0};
    told("weights",
         stn_plan_set_weights(plan, chance(d, 90) ? task->ntaps : bad_size(d), chance(d, 95) ? weights : NULL, &error),
         &error);
}

/* There is a plan only with STN_OK, and only of a valid request. */
static void look_at_made(dice *d, const char *call, stn_status got, stn_plan *plan, bool valid, const stn_error *why) {
    if (told(call, got, why) != (plan != NULL)) complain(call, why);
    if (plan && !valid) complain("a plan of what is not valid", why);
    if (plan) look_at_plan(d, plan);
}

static void stencil_work(dice *d) {
    stn_stencil *stencil = some_stencil(d);
    stn_problem p = some_problem(d, chance(d, 99) ? stencil : NULL);
    stn_error error = {0};
    stn_task task = {0};
    stn_plan *plan = NULL;
    const bool valid = told("validate", stn_problem_validate(&p, &error), &error);
    if (valid && stn_task_make(&p, &task, &error) != STN_OK) complain("a valid problem", &error);
    const bool run = valid && is_small(&task);
    const stn_plan_options options = some_options(d, run);
    const stn_status status = stn_plan_create(context, &p, &options, &plan, &error);
    look_at_made(d, "plan", status, plan, valid, &error);
    if (plan && chance(d, 30)) reweigh(d, plan, &task);
    if (plan && run) execute(d, plan, &task);
    stn_plan_destroy(plan);
    stn_task_clear(&task);
    stn_stencil_destroy(stencil);
}

static void transform_work(dice *d) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = dice_int(d, 1, 3);
    for (int axis = 0; axis < 3; axis++) t.extent[axis] = (size_t)dice_int(d, 1, 9);
    t.kind = (stn_transform_kind)dice_int(d, 0, 2), t.dtype = (stn_dtype)dice_int(d, 0, 2);
    const slots places = {.size = {&t.extent[0], &t.extent[1], &t.extent[2], &t.batch},
                          .stride = {&t.in_stride[0], &t.in_stride[1], &t.in_stride[2], &t.out_stride[0],
                                     &t.out_stride[1], &t.out_stride[2], &t.in_batch_stride, &t.out_batch_stride},
                          .integer = {&t.rank, (int *)&t.kind, (int *)&t.direction, (int *)&t.dtype, &t.f16_sums,
                                      &t.in_place, &t.alignment},
                          .real = {&t.forward_scale, &t.inverse_scale},
                          .struct_size = &t.struct_size,
                          .right = sizeof t};
    for (int i = dice_int(d, 0, 3); i > 0; i--) spoil(d, &places);
    stn_error error = {0};
    stn_plan *plan = NULL;
    double points = (double)(t.batch ? t.batch : 1);
    const bool valid = told("validate", stn_transform_validate(&t, &error), &error);
    for (int axis = 0; valid && axis < t.rank; axis++) points *= (double)t.extent[axis];
    const stn_plan_options options = some_options(d, valid && points < MAX_POINTS);
    const stn_status status = stn_plan_create_fft(context, &t, &options, &plan, &error);
    look_at_made(d, "fft plan", status, plan, valid, &error);
    if (plan && told("weights", stn_plan_set_weights(plan, 1, &(double){1}, &error), &error))
        complain("weights", &error);
    if (plan && told("run", stn_plan_execute(plan, NULL, NULL, NULL, &error), &error)) complain("run", &error);
    stn_plan_destroy(plan);
}

static void layer_work(dice *d) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    c.rank = dice_int(d, 1, 3);
    for (int axis = 0; axis < 3; axis++) c.extent[axis] = (size_t)dice_int(d, 1, 9);
    c.in_channels = (size_t)dice_int(d, 1, 4), c.out_channels = (size_t)dice_int(d, 1, 4);
    c.dtype = (stn_dtype)dice_int(d, 0, 2), c.complex_data = dice_int(d, 0, 1),
    c.pass = (stn_layer_pass)dice_int(d, 0, 2);
    c.has_bias = dice_int(d, 0, 1), c.has_skip = dice_int(d, 0, 1);
    const slots places = {.size = {&c.extent[0], &c.extent[1], &c.extent[2], &c.batch, &c.in_channels, &c.out_channels,
                                   &c.modes[0], &c.modes[1]},
                          .integer = {&c.rank, (int *)&c.mode_choice, (int *)&c.activation, (int *)&c.pass,
                                      (int *)&c.dtype, &c.alignment, &c.has_bias, &c.complex_data, &c.shared_weights},
                          .real = {&c.tolerance},
                          .struct_size = &c.struct_size,
                          .right = sizeof c};
    for (int i = dice_int(d, 0, 3); i > 0; i--) spoil(d, &places);
    stn_error error = {0};
    stn_plan *plan = NULL;
    const bool valid = told("validate", stn_spectral_conv_validate(&c, &error), &error);
    double points = (double)(c.batch ? c.batch : 1) * (double)c.in_channels * (double)c.out_channels;
    for (int axis = 0; valid && axis < c.rank; axis++) points *= (double)c.extent[axis];
    const stn_plan_options options = some_options(d, valid && points < MAX_POINTS);
    const stn_status status = stn_plan_create_spectral_conv(context, &c, &options, &plan, &error);
    look_at_made(d, "layer plan", status, plan, valid, &error);
    if (plan && told("run", stn_plan_execute(plan, NULL, NULL, NULL, &error), &error)) complain("run", &error);
    stn_plan_destroy(plan);
}

static void rest(dice *d) {
    stn_error error = {0};
    void *pointer = NULL;
    const size_t bytes = bad_size(d); /* malloc debuggers may fill the memory, which takes long. */
    told("alloc", stn_memory_alloc(context, bytes >> 20 && !(bytes >> 40) ? 1 : bytes, &pointer, &error), &error);
    stn_memory_free(context, pointer);
    char junk[64], *text = NULL;
    for (size_t i = 0; i < sizeof junk; i++) junk[i] = (char)dice_int(d, 0, 255);
    told("import", stn_wisdom_import(context, chance(d, 90) ? junk : NULL, (size_t)dice_int(d, 0, 64), &text, &error),
         &error);
    stn_text_free(text), text = NULL;
    told("merge", stn_wisdom_merge(junk, 64, chance(d, 90) ? junk : NULL, 64, &text, &error), &error);
    stn_text_free(text), text = NULL;
    junk[63] = 0;
    told("forget", stn_wisdom_forget(context, chance(d, 90) ? junk : NULL, &error), &error);
    (void)stn_status_string((stn_status)bad_int(d)), (void)stn_status_exit_code((stn_status)bad_int(d));
    (void)stn_dtype_size((stn_dtype)bad_int(d)), (void)stn_dtype_name((stn_dtype)bad_int(d));
    stn_plan *plan = NULL;
    told("no plan", stn_plan_create(chance(d, 50) ? context : NULL, NULL, NULL, chance(d, 50) ? &plan : NULL, &error),
         &error);
    told("no plan", stn_plan_execute(NULL, junk, junk, NULL, &error), &error);
    told("no plan", stn_plan_describe(NULL, STN_TEXT, &text, &error), &error);
    told("no plan", stn_plan_set_weights(NULL, 1, &(double){1}, &error), &error);
    (void)stn_plan_workspace_size(NULL), (void)stn_plan_kernel_count(NULL), (void)stn_plan_strategy(NULL);
    (void)stn_stencil_tap_count(NULL), (void)stn_stencil_taps(NULL);
    stn_context *other = NULL;
    stn_context_options o = STN_CONTEXT_OPTIONS_INIT;
    o.device = chance(d, 50) ? STN_DEVICE_HOST : chance(d, 50) ? bad_int(d) % 1000 : 500;
    o.threads = chance(d, 50) ? 1 : bad_int(d) % 5;
    o.cache_dir = ":memory:";
    o.arch = chance(d, 80) ? NULL : bad_name(d);
    if (told("context", stn_context_create(&o, &other, &error), &error) != (other != NULL))
        complain("a context", &error);
    stn_context_destroy(other);
}

int main(int argc, char **argv) {
    uint64_t first = 0, count = 500;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST, options.cache_dir = ":memory:", options.threads = 1;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (!strcmp(argv[i], "--gpu")) {
            options.device = STN_DEVICE_CUDA(0);
            continue;
        }
        *(!strcmp(argv[i], "--seed")    ? &seed
          : !strcmp(argv[i], "--first") ? &first
                                        : &count) = strtoull(value, NULL, 10);
        i++;
    }
    stn_error error = {0};
    if (stn_context_create(&options, &context, &error) != STN_OK) {
        printf("1..0 # SKIP %s\n", error.message);
        return 0;
    }
    for (at = first; at < first + count; at++) {
        dice first_of = {seed}, d = {dice_next(&first_of) + at};
        d.state = dice_next(&d);
        const int kind = dice_int(&d, 0, 9);
        if (getenv("HOSTILE_VERBOSE")) printf("# %" PRIu64 " kind %d\n", at, kind), fflush(stdout);
        if (kind < 5)
            stencil_work(&d);
        else if (kind == 5)
            parse(&d);
        else if (kind < 8)
            transform_work(&d);
        else if (kind == 8)
            layer_work(&d);
        else
            rest(&d);
    }
    stn_context_destroy(context);
    printf("%s 1 - %" PRIu64 " calls that nobody should make\n1..1\n", failed ? "not ok" : "ok", count);
    return failed != 0;
}
