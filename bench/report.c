/* Results as a Markdown table and as JSON. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "bench.h"

bool bench_result_right(const bench_result *result) { return !*result->problem && result->error <= result->allowed; }

static bool reaches_bar(const bench_result *result) {
    if (result->what->unit == BAR_MS) return bench_result_right(result) && 1e3 * result->seconds <= result->bar;
    double reached = result->what->unit == BAR_PERCENT_OF_COPY ? result->percent_of_copy : result->gstencils;
    return bench_result_right(result) && reached >= result->bar;
}

static const char *verdict(const bench_result *result) {
    if (*result->problem) return "not run";
    if (!bench_result_right(result)) return "WRONG";
    if (!result->bar) return "";
    return reaches_bar(result) ? "pass" : "short";
}

static void print_extent(const bench_result *result, stn_text *text) {
    for (int axis = 0; axis < result->what->rank; axis++)
        stn_text_printf(text, "%s%zu", axis ? "x" : "", result->extent[axis]);
}

static void text_row(const bench_result *result, stn_text *text) {
    stn_text_printf(text, "| %s ", result->what->name);
    print_extent(result, text);
    if (result->steps > 1) stn_text_printf(text, ", %llu steps", (unsigned long long)result->steps);
    stn_text_printf(text, " | %s | %s | %s ", stn_dtype_name(result->dtype), result->boundary, result->strategy);
    if (*result->problem) {
        stn_text_printf(text, "| | | | | | | not run |\n");
        return;
    }
    stn_text_printf(text, "| %.3f ", 1e3 * result->seconds);
    if (result->whole_grid > 0) stn_text_printf(text, "(cuFFT %.3f) ", 1e3 * result->whole_grid);
    stn_text_printf(text, "| %.1f | %.0f | %.1f ", result->gstencils, 1e-9 * result->bandwidth,
                    result->percent_of_copy);
    if (!result->bar)
        stn_text_printf(text, "| ");
    else if (result->what->unit == BAR_PERCENT_OF_COPY)
        stn_text_printf(text, "| %.0f %% ", result->bar);
    else if (result->what->unit == BAR_MS)
        stn_text_printf(text, "| %.3g ms ", result->bar);
    else
        stn_text_printf(text, "| %.0f GStencil/s ", result->bar);
    if (result->bar && result->what->peer && result->dtype == STN_F64)
        stn_text_printf(text, "(%s %.0f) ", result->what->peer, result->what->peer_gstencils);
    stn_text_printf(text, "| %.2g | %s |\n", result->error, verdict(result));
}

void bench_report_row(const bench *machine, const bench_result *result, bool first) {
    stn_text text = STN_TEXT_EMPTY;
    if (first)
        stn_text_printf(&text,
                        "%s, copy %.0f GB/s (read + write), medians of %d, random input, checked by sample\n\n"
                        "| case | dtype | boundary | strategy | ms | GStencil/s | GB/s | %% of copy | bar | error | |\n"
                        "|---|---|---|---|--:|--:|--:|--:|--:|--:|---|\n",
                        machine->context->machine.name, 1e-9 * machine->copy_bandwidth, machine->repeat);
    text_row(result, &text);
    if (text.data && !text.failed) fputs(text.data, stdout);
    fflush(stdout);
    stn_text_clear(&text);
}

void bench_report_problems(const bench_result *results, size_t count, stn_text *text) {
    for (size_t i = 0; i < count; i++) {
        const bench_result *result = &results[i];
        if (*result->problem)
            stn_text_printf(text, "\n%s, %s: %s\n", result->what->name, stn_dtype_name(result->dtype), result->problem);
        else if (!bench_result_right(result))
            stn_text_printf(text, "\n%s, %s: relative L2 error %.2g, rounding explains %.2g\n", result->what->name,
                            stn_dtype_name(result->dtype), result->error, result->allowed);
    }
}

static void json_number(stn_text *text, const char *key, double value) {
    stn_json_key(text, key);
    stn_json_number(text, value);
}

static void json_string(stn_text *text, const char *key, const char *value) {
    stn_json_key(text, key);
    stn_json_string(text, value);
}

static void json_row(const bench_result *result, stn_text *text) {
    stn_json_comma(text);
    stn_text_printf(text, "{");
    json_string(text, "group", result->what->group);
    json_string(text, "case", result->what->name);
    json_string(text, "stencil", result->what->stencil);
    stn_json_key(text, "extent");
    stn_text_printf(text, "[");
    for (int axis = 0; axis < result->what->rank; axis++)
        stn_text_printf(text, "%s%zu", axis ? "," : "", result->extent[axis]);
    stn_text_printf(text, "]");
    json_number(text, "steps", (double)result->steps);
    json_string(text, "dtype", stn_dtype_name(result->dtype));
    json_string(text, "boundary", result->boundary);
    json_string(text, "strategy", result->strategy);
    json_string(text, "problem", *result->problem ? result->problem : NULL);
    if (!*result->problem) {
        json_number(text, "seconds", result->seconds);
        json_number(text, "whole_grid_cufft_seconds", result->whole_grid > 0 ? result->whole_grid : NAN);
        json_number(text, "gstencils_per_second", result->gstencils);
        json_number(text, "bytes_per_second", result->bandwidth);
        json_number(text, "percent_of_copy", result->percent_of_copy);
        json_number(text, "bar", result->bar ? result->bar : NAN);
        json_string(text, "bar_unit",
                    result->what->unit == BAR_MS                ? "ms"
                    : result->what->unit == BAR_PERCENT_OF_COPY ? "percent of copy"
                                                                : "GStencil/s");
        json_number(text, "relative_error", result->error);
        json_number(text, "allowed_error", result->allowed);
    }
    json_string(text, "verdict", verdict(result));
    stn_text_printf(text, "}");
}

static void json_overhead(const bench_overhead *overhead, stn_text *text) {
    stn_json_key(text, "overhead");
    stn_text_printf(text, "{");
    json_string(text, "strategy", overhead->strategy);
    json_number(text, "context_seconds", overhead->context_seconds);
    json_number(text, "cold_plan_seconds", overhead->cold_plan_seconds);
    json_number(text, "warm_context_seconds", overhead->warm_context_seconds);
    json_number(text, "warm_plan_seconds", overhead->warm_plan_seconds);
    json_number(text, "load_seconds", overhead->load_seconds);
    json_number(text, "memory_plan_seconds", overhead->memory_plan_seconds);
    json_number(text, "execute_seconds", overhead->execute_seconds);
    stn_text_printf(text, "}");
}

void bench_report_json(const bench *machine, const bench_result *results, size_t count, const char *transforms,
                       const bench_overhead *overhead, stn_text *text) {
    stn_text_printf(text, "{");
    json_string(text, "version", stn_version());
    if (machine->context) {
        json_string(text, "machine", machine->context->machine.name);
        json_string(text, "arch", machine->context->machine.arch);
        json_number(text, "copy_bytes_per_second", machine->copy_bandwidth);
        json_number(text, "repeat", machine->repeat);
        stn_json_key(text, "results");
        stn_text_printf(text, "[");
        for (size_t i = 0; i < count; i++) json_row(&results[i], text);
        stn_text_printf(text, "]");
    }
    if (transforms) {
        stn_json_key(text, "transforms");
        stn_text_printf(text, "%s", transforms);
    }
    if (overhead) json_overhead(overhead, text);
    stn_text_printf(text, "}\n");
}

void bench_report_overhead(const bench_overhead *overhead, stn_text *text) {
    double own = overhead->warm_plan_seconds - overhead->load_seconds;
    stn_text_printf(text, "heat-2d, f64, strategy %s\n\n| | ms | bar |\n|---|--:|--:|\n", overhead->strategy);
    stn_text_printf(text, "| context, driver start included | %.1f | |\n", 1e3 * overhead->context_seconds);
    stn_text_printf(text, "| first plan, cold cache | %.1f | 400 |\n", 1e3 * overhead->cold_plan_seconds);
    stn_text_printf(text, "| first plan of the next process, without the driver's load | %.3f | 5 |\n", 1e3 * own);
    stn_text_printf(text, "| the driver's load in it | %.3f | |\n", 1e3 * overhead->load_seconds);
    stn_text_printf(text, "| the same plan again | %.3f | |\n", 1e3 * overhead->memory_plan_seconds);
    if (isfinite(overhead->execute_seconds))
        stn_text_printf(text, "| one execute, CPU | %.4f | 0.005 |\n", 1e3 * overhead->execute_seconds);
}
