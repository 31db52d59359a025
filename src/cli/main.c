/* The `stentor` command: the table of commands and its dispatch. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/option_parser.h"
#include "cli/rank_run.h"
#include "io/output.h"

static const cli_command commands[] = {
    {"run", "apply a stencil to a grid, for any number of steps", cmd_run},
    {"fft", "transform a grid: Fourier transforms of up to three axes", cmd_fft},
    {"fno", "apply a Fourier layer: transform, weights for the kept modes, inverse transform", cmd_fno},
    {"explain", "show which strategies could serve a problem, and what each would cost", cmd_explain},
    {"tune", "measure a problem's candidates, and show the search as a page", cmd_tune},
    {"wisdom", "export, import, merge, list or delete measured times", cmd_wisdom},
    {"compile", "compile a problem's kernels for a GPU that need not be present", cmd_compile},
    {"cache", "list, check and trim the kernels and measured times stored on disk", cmd_cache},
    {"pack", "build, check and sign packs: files of compiled kernels, for machines without NVRTC", cmd_pack},
    {"bench", "measure a problem by Stentor, scipy, cupyx, torch and cv2 (needs the Python package)", cmd_bench},
    {"doctor", "report what was found on this machine, what is missing, and how to get it", cmd_doctor},
};
static const size_t command_count = sizeof commands / sizeof *commands;

static void print_help(void) {
    printf(
        "stentor: linear stencils with arbitrary coefficients, at the speed of the machine.\n\n"
        "Usage: stentor COMMAND [options]\n\nCommands:\n");
    for (size_t i = 0; i < command_count; i++) printf("  %-10s%s\n", commands[i].name, commands[i].summary);
    printf(
        "\n  stentor help COMMAND      all options of a command; also stentor COMMAND --help\n"
        "  stentor --version         the version\n\n"
        "Example, from the repository:\n"
        "  stentor run --in examples/data/jacksboro.npy --out out.npy --steps 500 --stencil heat-2d:alpha=0.2 \\\n"
        "      --boundary reflect --png out.png\n\n");
    cli_print_exit_codes();
}

static stn_status dispatch(int argc, char **argv, stn_error *error) {
    if (argc < 2) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a command is missing: see 'stentor --help'");
    if (!strcmp(argv[1], "help") && argc == 3) { /* `stentor help run` is `stentor run --help` */
        char *swapped[] = {argv[0], argv[2], (char[]){"--help"}, NULL};
        return dispatch(3, swapped, error);
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help();
        return STN_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("stentor %s\n", stn_version());
        return STN_OK;
    }
    for (size_t i = 0; i < command_count; i++)
        if (!strcmp(argv[1], commands[i].name)) return commands[i].run(argc - 1, argv + 1, error);
    const char *near = cli_nearest(argv[1], &commands->name, command_count, sizeof *commands);
    if (near)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no command '%s': did you mean '%s'?", argv[1],
                        near);
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "there is no command '%s': see 'stentor --help'", argv[1]);
}

int main(int argc, char **argv) {
    stn_error error = {0};
    stn_output_catch_signals();
    stn_status status = dispatch(argc, argv, &error);
    if (status == STN_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = stn_fail(&error, STN_ERROR_IO, "the standard output could not be written");
    if (status != STN_OK && cli_ranks_may_say_why())
        fprintf(stderr, "stentor: %s\n", error.message[0] ? error.message : stn_status_string(status));
    return stn_status_exit_code(status);
}
