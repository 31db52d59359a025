/* stentor fno: reads an array and a Fourier layer's weights, applies the layer, writes the
 * result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/command_output.h"
#include "cli/forecast.h"
#include "cli/option_values.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "io/input.h"
#include "io/result.h"
#include "problem/fourier_layer.h"

typedef struct fno_settings { /* as given; NULL or false: not given */
    const char *in, *weights, *bias, *skip, *out, *modes, *activation, *dtype, *tolerance;
    bool low, backward, explain;
    cli_device_settings device;
    cli_report_settings report;
} fno_settings;

#define AT(member) offsetof(fno_settings, member)
static const cli_option fno_options[] = {
    {"--in", "FILE.npy", CLI_TEXT, AT(in),
     "x, real or complex: [batch, channels, points...], or one item without\nthe batch axis"},
    {"--weights", "FILE.npy", CLI_TEXT, AT(weights),
     "complex: [in, out] for all modes, [in, out, modes...] for each mode, or\nwith all modes in one axis (then "
     "--modes gives their shape)"},
    {"--out", "FILE", CLI_TEXT, AT(out), "the result: .npy, .raw, or - for the standard output"},
    {"--modes", "MxM", CLI_TEXT, AT(modes), "frequencies kept along each axis (default: the weights', or all)"},
    {"--low", NULL, CLI_FLAG, AT(low), "keep frequencies 0 to M - 1 along every axis, not those of both signs"},
    {"--bias", "FILE.npy", CLI_TEXT, AT(bias), "[out], real or complex like x"},
    {"--skip", "FILE.npy", CLI_TEXT, AT(skip), "[in, out], real or complex like x: pointwise weights of x in y"},
    {"--activation", "NAME", CLI_TEXT, AT(activation), "none (the default), gelu, relu"},
    {"--backward", NULL, CLI_FLAG, AT(backward), "--in is the gradient of y, the result that of x"},
    {"--dtype", "f64|f32|f16", CLI_TEXT, AT(dtype), "dtype of the computation and the output (default: x's)"},
    {"--tolerance", "X", CLI_TEXT, AT(tolerance),
     "allowed relative error (default: rounding; from 5e-4 on TF32, from\n5e-3 on bf16)"},
    {"--explain", NULL, CLI_FLAG, AT(explain),
     "only list the strategies that apply, their costs, and why others do not\napply"},
};
#undef AT

/* arrays that are read, then the one that is written */
enum { X, WEIGHTS, BIAS, SKIP, READ, OUT = READ, ARRAYS };

typedef struct fno_run {
    stn_spectral_conv layer;
    stn_array array[ARRAYS];
    stn_context *context;
    stn_plan *plan;
    void *memory[ARRAYS];
    double seconds;
} fno_run;

/* ---- the layer */

static stn_status parse_activation(const char *name, stn_activation *activation, stn_error *error) {
    static const char *const names[] = {"none", "gelu", "relu"};
    *activation = STN_ACTIVATION_NONE;
    for (int i = 0; name && i < 3; i++)
        if (!strcmp(name, names[i])) *activation = (stn_activation)i, name = NULL;
    if (!name) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--activation %s: give none, gelu or relu", name);
}

static stn_status parse_tolerance(const char *text, double *tolerance, stn_error *error) {
    char *end = NULL;
    if (!text) return STN_OK;
    *tolerance = strtod(text, &end);
    if (end != text && !*end) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--tolerance %s is no number", text);
}

static size_t product(const size_t *extent, int count) {
    size_t all = 1;
    for (int i = 0; i < count; i++) all *= extent[i];
    return all;
}

/* Finds the number of axes and the modes, from --modes or from the weights. */
static stn_status find_modes(const fno_settings *settings, const stn_array *w, const stn_array *x,
                             stn_spectral_conv *layer, stn_error *error) {
    layer->shared_weights = w->rank == 2;
    size_t given[STN_ARRAY_RANK] = {0};
    if (settings->modes)
        STN_TRY(cli_parse_size("--modes", settings->modes, given, &layer->rank, error));
    else if (layer->shared_weights)
        layer->rank = x->rank > 2 ? x->rank - 2 : 1;
    else
        layer->rank = w->rank - 2;
    if (layer->rank > STN_MAX_RANK)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a layer has up to %d axes: --modes names %d", STN_MAX_RANK,
                        layer->rank);
    memcpy(layer->modes, given, sizeof layer->modes);
    if (layer->shared_weights) return STN_OK;
    const bool as_axes = w->rank == layer->rank + 2;
    if (as_axes && !settings->modes) memcpy(layer->modes, w->extent + 2, (size_t)layer->rank * sizeof *layer->modes);
    bool same = w->rank == 3 || as_axes;
    same = same && product(layer->modes, layer->rank) == product(w->extent + 2, w->rank - 2);
    for (int i = 0; as_axes && i < layer->rank; i++) same = same && layer->modes[i] == w->extent[2 + i];
    if (same) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "--modes %s are not those of the weights in '%s': leave it out, or give as many as they have",
                    settings->modes ? settings->modes : "", settings->weights);
}

static stn_status find_layer(const fno_settings *settings, fno_run *run, stn_error *error) {
    const stn_array *x = &run->array[X], *w = &run->array[WEIGHTS];
    stn_spectral_conv *layer = &run->layer;
    *layer = (stn_spectral_conv)STN_SPECTRAL_CONV_INIT;
    if (w->rank < 2)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the weights in '%s' have %d axes: give [in, out, modes...]",
                        settings->weights, w->rank);
    STN_TRY(find_modes(settings, w, x, layer, error));
    const int channels = x->rank - layer->rank - 1; /* index of the channel axis */
    if (channels < 0 || channels > 1)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "'%s' has %d axes but a layer of %d takes [batch, channels, points...] or [channels, points...]",
            settings->in, x->rank, layer->rank);
    layer->in_channels = w->extent[0], layer->out_channels = w->extent[1];
    const size_t expected = settings->backward ? layer->out_channels : layer->in_channels;
    if (x->extent[channels] != expected)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' has %zu channels but the weights in '%s' take %zu",
                        settings->in, x->extent[channels], settings->weights, expected);
    if (!product(x->extent, x->rank))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' has no points", settings->in);
    layer->batch = channels ? x->extent[0] : 1;
    memcpy(layer->extent, x->extent + channels + 1, (size_t)layer->rank * sizeof *layer->extent);
    layer->complex_data = x->is_complex;
    layer->mode_choice = settings->low ? STN_MODES_LOW : STN_MODES_BOTH_SIGNS;
    layer->has_bias = settings->bias != NULL, layer->has_skip = settings->skip != NULL;
    layer->pass = settings->backward ? STN_PASS_BACKWARD_X : STN_PASS_FORWARD;
    layer->dtype = x->dtype;
    STN_TRY(parse_activation(settings->activation, &layer->activation, error));
    STN_TRY(parse_tolerance(settings->tolerance, &layer->tolerance, error));
    return stn_spectral_conv_validate(layer, error);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static stn_status make_array(bool is_complex, int rank, const size_t *extent, stn_dtype dtype, stn_array *array,
                             stn_error *error) {
    return is_complex ? stn_array_make_complex(rank, extent, dtype, array, error)
                      : stn_array_make(rank, extent, dtype, array, error);
}

/* Converts a real array to a complex one. */
static stn_status to_complex(stn_array *array, stn_error *error) {
    stn_array made;
    STN_TRY(stn_array_make_complex(array->rank, array->extent, array->dtype, &made, error));
    for (size_t i = 0; i < array->count; i++) stn_array_set(&made, 2 * i, stn_array_get(array, i));
    stn_array_clear(array);
    *array = made;
    return STN_OK;
}

static stn_status read_numbers(const char *path, const stn_dtype *dtype, bool complex, stn_array *array,
                               stn_error *error) {
    STN_TRY(stn_input_read(path, NULL, true, dtype, array, error));
    if (complex && !array->is_complex) return to_complex(array, error);
    if (array->is_complex && !complex)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' holds complex numbers but x is real", path);
    return STN_OK;
}

/* Reads the bias [out] and the skip weights [in, out]. */
static stn_status read_bias_and_skip(const fno_settings *settings, fno_run *run, stn_error *error) {
    const stn_spectral_conv *layer = &run->layer;
    const struct {
        const char *path;
        int which, rank;
        size_t extent[2];
    } rows[] = {{settings->bias, BIAS, 1, {layer->out_channels, 1}},
                {settings->skip, SKIP, 2, {layer->in_channels, layer->out_channels}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stn_array *array = &run->array[rows[i].which];
        if (!rows[i].path) continue;
        STN_TRY(read_numbers(rows[i].path, &layer->dtype, layer->complex_data, array, error));
        bool same = array->rank == rows[i].rank;
        for (int axis = 0; same && axis < array->rank; axis++) same = array->extent[axis] == rows[i].extent[axis];
        if (!same)
            return rows[i].rank == 1 ? stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' must have shape [%zu]",
                                                rows[i].path, rows[i].extent[0])
                                     : stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' must have shape [%zu, %zu]",
                                                rows[i].path, rows[i].extent[0], rows[i].extent[1]);
    }
    return STN_OK;
}

static stn_status read_all(const fno_settings *settings, fno_run *run, stn_error *error) {
    stn_dtype dtype = STN_F32;
    if (!settings->in || !settings->weights)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s is missing: give a file.npy",
                        settings->in ? "--weights" : "--in");
    if (settings->dtype) STN_TRY(cli_parse_dtype(settings->dtype, &dtype, error));
    stn_array *x = &run->array[X];
    STN_TRY(stn_input_read(settings->in, NULL, true, settings->dtype ? &dtype : NULL, x, error));
    STN_TRY(read_numbers(settings->weights, &x->dtype, true, &run->array[WEIGHTS], error));
    STN_TRY(find_layer(settings, run, error));
    STN_TRY(read_bias_and_skip(settings, run, error));
    size_t extent[STN_ARRAY_RANK];
    memcpy(extent, x->extent, sizeof extent);
    extent[x->rank - run->layer.rank - 1] = settings->backward ? run->layer.in_channels : run->layer.out_channels;
    return make_array(x->is_complex, x->rank, extent, x->dtype, &run->array[OUT], error);
}

/* ---- running --------------------------------------------------------------------------------- */

static size_t bytes_of(const stn_array *array) { return stn_array_numbers(array) * stn_dtype_size(array->dtype); }

static stn_status execute(fno_run *run, stn_error *error) {
    for (int i = 0; i < ARRAYS; i++) {
        if (!run->array[i].data) continue;
        STN_TRY(stn_memory_alloc(run->context, bytes_of(&run->array[i]), &run->memory[i], error));
        if (i != OUT)
            STN_TRY(
                stn_memory_upload(run->context, run->memory[i], run->array[i].data, bytes_of(&run->array[i]), error));
    }
    stn_execution at = STN_EXECUTION_INIT;
    const bool forward = run->layer.pass == STN_PASS_FORWARD;
    at.in = run->memory[X], at.weights = run->memory[WEIGHTS], at.skip = run->memory[SKIP], at.out = run->memory[OUT];
    at.bias = forward ? run->memory[BIAS] : NULL;
    const double start = stn_clock_seconds();
    STN_TRY(stn_plan_run(run->plan, &at, error));
    STN_TRY(stn_synchronize(run->context, NULL, error));
    run->seconds = stn_clock_seconds() - start;
    return stn_memory_download(run->context, run->array[OUT].data, run->memory[OUT], bytes_of(&run->array[OUT]), error);
}

static void clear(fno_run *run) {
    stn_plan_destroy(run->plan);
    for (int i = 0; i < ARRAYS; i++) {
        if (run->memory[i]) stn_memory_free(run->context, run->memory[i]);
        stn_array_clear(&run->array[i]);
    }
    stn_context_destroy(run->context);
}

static stn_status report(const fno_settings *settings, const fno_run *run, stn_error *error) {
    const stn_array *out = &run->array[OUT];
    const size_t nonfinite = stn_array_nonfinite(out);
    if (!settings->report.quiet && nonfinite)
        fprintf(stderr, "stentor: warning: %zu of %zu numbers of the result are NaN or infinite\n", nonfinite,
                stn_array_numbers(out));
    if (settings->report.json) {
        stn_text text = STN_TEXT_EMPTY;
        cli_json_begin(&text, run->plan, stn_context_is_device(run->context), out->rank, out->extent, out->dtype);
        stn_json_key(&text, "complex"), stn_text_printf(&text, "%s", out->is_complex ? "true" : "false");
        stn_json_key(&text, "seconds"), stn_json_number(&text, run->seconds);
        stn_json_key(&text, "nonfinite"), stn_text_printf(&text, "%zu", nonfinite);
        stn_json_key(&text, "out"), stn_json_string(&text, settings->out);
        return cli_json_print(&text, run->context, run->plan, error);
    }
    if (settings->report.quiet) return STN_OK;
    stn_layer layer;
    stn_text description = STN_TEXT_EMPTY;
    STN_TRY(stn_layer_make(&run->layer, &layer, error));
    stn_layer_print(&layer, &description);
    printf("strategy   %s, on the %s\nlayer      %s\ntime       %.4g s\n", stn_plan_strategy(run->plan),
           stn_context_is_device(run->context) ? "GPU" : "host", description.data ? description.data : "",
           run->seconds);
    if (settings->out)
        printf("wrote      %s\n", settings->out);
    else
        printf("kept       nothing: name a file with --out to keep the result\n");
    stn_text_clear(&description);
    return STN_OK;
}

static stn_status explain(const fno_settings *settings, const fno_run *run, stn_error *error) {
    char *text = NULL;
    STN_TRY(stn_plan_describe(run->plan, settings->report.json ? STN_JSON : STN_TEXT, &text, error));
    if (!settings->report.quiet) printf("%s%s", text, settings->report.json ? "\n" : "");
    stn_text_free(text);
    return STN_OK;
}

static stn_status apply(const fno_settings *settings, stn_error *error) {
    fno_run run = {0};
    stn_plan_options options;
    stn_status status;
    STN_TRY_GOTO(status, read_all(settings, &run, error), done);
    if (settings->out && !settings->explain)
        STN_TRY_GOTO(status,
                     stn_result_check("--out", settings->out, run.array[X].rank, run.array[X].is_complex, error), done);
    STN_TRY_GOTO(status, cli_plan_options(&settings->device, &options, error), done);
    options.estimate_only = settings->explain;
    STN_TRY_GOTO(status, cli_open_context(&settings->device, &settings->report, &run.context, error), done);
    STN_TRY_GOTO(status, stn_plan_create_spectral_conv(run.context, &run.layer, &options, &run.plan, error), done);
    if (settings->explain) {
        status = explain(settings, &run, error);
        goto done;
    }
    cli_warn_rounded(&run.array[X], settings->in, &settings->report);
    STN_TRY_GOTO(status, execute(&run, error), done);
    if (settings->out)
        STN_TRY_GOTO(status, cli_result_write(settings->out, &run.array[OUT], &settings->report, error), done);
    status = report(settings, &run, error);
done:
    clear(&run);
    return status;
}

stn_status cmd_fno(int argc, char **argv, stn_error *error) {
    fno_settings settings = {0};
    cli_group groups[] = {CLI_GROUP("Layer", fno_options, &settings), CLI_DEVICE_GROUP(&settings.device),
                          CLI_TUNE_GROUP(&settings.device), CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {
        .command = "fno",
        .summary = "apply a Fourier layer: transform, weights for the kept modes, inverse transform",
        .synopsis = "--in X.npy --weights W.npy --out Y.npy [--bias B.npy] [--skip S.npy] [options]",
        .notes =
            "As neuraloperator's SpectralConv; of real data the last axis keeps frequencies 0 to M - 1.\n"
            "The output appears only after success; what was there before is kept until then.\n",
        .groups = groups,
        .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    STN_TRY(cli_reserve_stdout(settings.out, error));
    return apply(&settings, error);
}
