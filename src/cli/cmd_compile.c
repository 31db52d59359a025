/* stentor compile: compiles a problem's kernels for a GPU that need not be present, and shows their
 * resources and sources. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_output.h"
#include "cli/shared_options.h"
#include "context/kernel.h"
#include "io/output.h"
#include "plan/plan.h"

typedef struct compile_settings {
    cli_problem_settings problem;
    cli_device_settings device;
    cli_report_settings report;
    const char *keep;
} compile_settings;

static const cli_option compile_options[] = {
    {"--keep", "DIR", CLI_TEXT, offsetof(compile_settings, keep),
     "write each kernel's source, params.cuh, PTX and cubin there"},
};

/* Writes one file of a kernel, DIR/NAME[-N].SUFFIX. Parts that do not exist (PTX of a stored
 * kernel) are skipped. */
static stn_status keep_part(const char *dir, const char *name, size_t copy, const char *suffix, const void *bytes,
                            size_t size, stn_error *error) {
    char path[4096], number[24] = "";
    if (!bytes) return STN_OK;
    if (copy) snprintf(number, sizeof number, "-%zu", copy);
    if (snprintf(path, sizeof path, "%s/%s%s.%s", dir, name, number, suffix) >= (int)sizeof path)
        return stn_fail(error, STN_ERROR_IO, "--keep %.60s...: the path is too long", dir);
    return stn_output_write(path, bytes, size, error);
}

static stn_status keep_kernel(const char *dir, const stn_kernel_info *info, size_t copy, stn_error *error) {
    const struct {
        const char *suffix, *text;
    } parts[] = {{"cu", info->source}, {"params.cuh", info->params}, {"ptx", info->ptx}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *text = parts[i].text;
        STN_TRY(keep_part(dir, info->name, copy, parts[i].suffix, text, text ? strlen(text) : 0, error));
    }
    return keep_part(dir, info->name, copy, "cubin", info->cubin, info->cubin_size, error);
}

/* The number of earlier kernels of this name: a plan may use one template several times, with other
 * parameters. */
static size_t same_name_before(const stn_plan *plan, size_t index, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < index; i++) {
        stn_kernel_info other;
        if (stn_plan_kernel(plan, i, &other, NULL) == STN_OK && !strcmp(other.name, name)) count++;
    }
    return count;
}

static void print_kernel(const stn_kernel_info *info, double seconds, stn_text *text) {
    stn_text_printf(text, "%-24s %9d %8d %6d %7d %8zu %8zu %7.3f\n", info->name, info->registers, info->shared_bytes,
                    info->local_bytes, info->threads, info->ptx ? strlen(info->ptx) : 0, info->cubin_size, seconds);
}

static void json_kernel(const stn_kernel_info *info, double seconds, stn_text *text) {
    stn_json_comma(text);
    stn_text_printf(text, "{");
    stn_json_key(text, "name"), stn_json_string(text, info->name);
    stn_json_key(text, "registers"), stn_text_printf(text, "%d", info->registers);
    stn_json_key(text, "shared_bytes"), stn_text_printf(text, "%d", info->shared_bytes);
    stn_json_key(text, "local_bytes"), stn_text_printf(text, "%d", info->local_bytes);
    stn_json_key(text, "threads"), stn_text_printf(text, "%d", info->threads);
    stn_json_key(text, "ptx_bytes"), stn_text_printf(text, "%zu", info->ptx ? strlen(info->ptx) : 0);
    stn_json_key(text, "cubin_bytes"), stn_text_printf(text, "%zu", info->cubin_size);
    stn_json_key(text, "compile_seconds"), stn_json_number(text, seconds);
    stn_text_printf(text, "}");
}

static stn_status show_kernels(const compile_settings *settings, stn_context *context, const stn_plan *plan,
                               stn_error *error) {
    stn_cache_stats stats;
    stn_text text = STN_TEXT_EMPTY;
    char *data = NULL;
    bool json = settings->report.json;
    size_t count = stn_plan_kernel_count(plan);
    stn_status status = STN_OK;
    if (json) {
        stn_text_printf(&text, "{");
        stn_json_key(&text, "strategy"), stn_json_string(&text, stn_plan_strategy(plan));
        stn_json_key(&text, "arch"), stn_json_string(&text, settings->device.arch);
        stn_json_key(&text, "kernels"), stn_text_printf(&text, "[");
    } else if (count)
        stn_text_printf(&text, "strategy %s\n%-24s %9s %8s %6s %7s %8s %8s %7s\n", stn_plan_strategy(plan), "kernel",
                        "registers", "shared B", "local", "threads", "PTX B", "cubin B", "seconds");
    else
        stn_text_printf(&text, "strategy %s needs no kernel: nothing to compile\n", stn_plan_strategy(plan));
    for (size_t i = 0; i < count; i++) {
        stn_kernel_info info;
        STN_TRY_GOTO(status, stn_plan_kernel(plan, i, &info, error), done);
        if (settings->keep)
            STN_TRY_GOTO(status, keep_kernel(settings->keep, &info, same_name_before(plan, i, info.name), error), done);
        const double seconds = plan->kernels->list[i]->seconds; /* 0: loaded from the cache */
        json ? json_kernel(&info, seconds, &text) : print_kernel(&info, seconds, &text);
    }
    if (json) {
        stn_context_cache_stats(context, &stats);
        stn_text_printf(&text, "]");
        stn_json_key(&text, "cache"), cli_json_counters(&stats, &text);
        stn_text_printf(&text, "}\n");
    }
    STN_TRY_GOTO(status, stn_text_take(&text, &data, error), done);
    if (!settings->report.quiet) fputs(data, stdout);
done:
    stn_text_clear(&text);
    stn_text_free(data);
    return status;
}

static stn_status compile(const compile_settings *settings, stn_error *error) {
    cli_job job = {0};
    stn_context *context = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = settings->device.strategy;
    options.no_auto_workspace = 1; /* nothing is executed */
    stn_status status;
    STN_TRY_GOTO(status, cli_job_make(&settings->problem, &job, error), done);
    if (settings->keep && mkdir(settings->keep, 0777) != 0 && errno != EEXIST) {
        status = stn_fail(error, STN_ERROR_IO, "cannot make folder '%s': %s", settings->keep, strerror(errno));
        goto done;
    }
    STN_TRY_GOTO(status, cli_open_context(&settings->device, &settings->report, &context, error), done);
    STN_TRY_GOTO(status, stn_plan_create(context, &job.problem, &options, &plan, error), done);
    status = show_kernels(settings, context, plan, error);
done:
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    cli_job_clear(&job);
    return status;
}

stn_status cmd_compile(int argc, char **argv, stn_error *error) {
    compile_settings settings = {.problem.steps = 1};
    cli_group groups[] = {CLI_PROBLEM_GROUP(&settings.problem), CLI_GROUP("Output", compile_options, &settings),
                          CLI_ARCH_GROUP(&settings.device), CLI_DEVICE_GROUP(&settings.device),
                          CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {.command = "compile",
                       .summary = "compile a problem's kernels for a GPU that need not be present",
                       .synopsis = "--arch sm_90 --size NxN --stencil NAME [--keep DIR] [options]",
                       .notes = "Kernels are stored in the cache as well, for later runs on such a GPU.\n",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    STN_TRY(cli_resolve_mode(&settings.problem, NULL, error));
    return compile(&settings, error);
}
