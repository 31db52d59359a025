/* Parses the command line. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

enum { USAGE = 2 };

static const char help[] =
    "usage: stentor-bench [options]\n"
    "Measures copy bandwidth, then each case beside its roof. Results are checked before they are timed.\n"
    "  --group NAMES      step (default), time, lowrank, segment, filters, spectral, dense, sparse; fft, fft-few,\n"
    "                     fft-batch, fft-types, fft-grid; all\n"
    "  --case NAMES       only these cases, such as heat-2d,box-2d9p,131072\n"
    "  --dtype NAMES      f64,f32 (default of stencils; transforms: all), f16\n"
    "  --strategy NAME    instead of each case's own\n"
    "  --boundary SPEC    fixed (default; reflect of filters), wrap, ..., LOW:HIGH; one for all axes, or one an axis:\n"
    "                     wrap,fixed:nearest\n"
    "  --size NxNxN       instead of each case's own; skips cases of another rank\n"
    "  --steps N          instead of each case's own\n"
    "  --tolerance X      relative L2 error allowed of stencils: from 5e-4 on, f32 may use TF32\n"
    "  --repeat N         timed runs, the median counts: 9 unless given\n"
    "  --tune             measure each case's candidates first and take the fastest, instead of the estimate's\n"
    "  --device NAME      auto (default), host, cuda, cuda:N\n"
    "  --threads N        host threads\n"
    "  --quick            small sizes, at most 10 steps: shows that it works, not how fast it is\n"
    "  --overhead         first plan with a cold and a warm cache, and one execute, instead of the cases\n"
    "  --rows             one step and ten steps on rows whose length is no multiple of 16 bytes, beside the even\n"
    "                     length next to them (--case heat-2d: of that)\n"
    "  --online           a thousand executions of ONLINE plans beside the best plan's, as bench/planner.py reads "
    "them\n"
    "                     (--case heat-1d: of that)\n"
    "  --json             one JSON object instead of tables\n"
    "  --list             the cases and their bars\n"
    "Exit codes: 0, 1 if a result is wrong or nothing could be measured, else those of the stentor command.\n";

static bool parse_count(const char *text, unsigned long long most, unsigned long long *value) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    *value = strtoull(text, &end, 10);
    return !*end && *value > 0 && *value <= most;
}

static bool parse_device(const char *text, int *device) {
    unsigned long long ordinal = 0;
    if (!strcmp(text, "auto"))
        *device = STN_DEVICE_AUTO;
    else if (!strcmp(text, "host"))
        *device = STN_DEVICE_HOST;
    else if (!strcmp(text, "cuda") || !strcmp(text, "cuda:0"))
        *device = STN_DEVICE_CUDA(0);
    else if (!strncmp(text, "cuda:", 5) && parse_count(text + 5, 1023, &ordinal))
        *device = STN_DEVICE_CUDA((int)ordinal);
    else
        return false;
    return true;
}

static bool parse_size(const char *text, bench_options *options) {
    char piece[32];
    while (*text && options->rank < STN_MAX_RANK) {
        size_t length = strcspn(text, "x");
        unsigned long long extent;
        if (length >= sizeof piece) return false;
        memcpy(piece, text, length);
        piece[length] = '\0';
        if (!parse_count(piece, (unsigned long long)1 << 40, &extent)) return false;
        options->extent[options->rank++] = (size_t)extent;
        text += length;
        if (*text == 'x' && !*++text) return false;
    }
    return !*text;
}

static bool parse_one(int option, const char *value, bench_options *options) {
    unsigned long long number = 0;
    bool good = true;
    switch (option) {
        case 'g':
            options->groups = value;
            break;
        case 'c':
            options->cases = value;
            break;
        case 'd':
            options->dtypes = value;
            break;
        case 's':
            options->strategy = value;
            break;
        case 'b':
            options->boundary = value;
            break;
        case 'x':
            good = parse_size(value, options);
            break;
        case 'D':
            good = parse_device(value, &options->device);
            break;
        case 'n':
            good = parse_count(value, (unsigned long long)1 << 40, &number);
            options->steps = number;
            break;
        case 'e':
            good = stn_number_parse(value, strlen(value), &options->tolerance) && options->tolerance >= 0;
            break;
        case 'r':
            good = parse_count(value, 101, &number);
            options->repeat = (int)number;
            break;
        case 't':
            good = parse_count(value, 1024, &number);
            options->threads = (int)number;
            break;
        case 'q':
            options->quick = true;
            break;
        case 'o':
            options->overhead = true;
            break;
        case 'j':
            options->json = true;
            break;
        case 'T':
            options->tune = true;
            break;
        case 'O':
            options->online = true;
            break;
        case 'w':
            options->rows = true;
            break;
        case 'l':
            options->list = true;
            break;
        default:
            return false;
    }
    if (!good) fprintf(stderr, "stentor-bench: \"%s\" is not a value for this option: see --help\n", value);
    return good;
}

bool bench_options_parse(int argc, char **argv, bench_options *options, int *exit_code) {
    static const struct option names[] = {
        {"group", required_argument, NULL, 'g'},    {"case", required_argument, NULL, 'c'},
        {"dtype", required_argument, NULL, 'd'},    {"strategy", required_argument, NULL, 's'},
        {"boundary", required_argument, NULL, 'b'}, {"size", required_argument, NULL, 'x'},
        {"steps", required_argument, NULL, 'n'},    {"tolerance", required_argument, NULL, 'e'},
        {"repeat", required_argument, NULL, 'r'},   {"device", required_argument, NULL, 'D'},
        {"threads", required_argument, NULL, 't'},  {"quick", no_argument, NULL, 'q'},
        {"overhead", no_argument, NULL, 'o'},       {"json", no_argument, NULL, 'j'},
        {"list", no_argument, NULL, 'l'},           {"tune", no_argument, NULL, 'T'},
        {"online", no_argument, NULL, 'O'},         {"rows", no_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    *options = (bench_options){.repeat = 9, .groups = "step"};
    *exit_code = USAGE;
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            *exit_code = 0;
            return false;
        }
        if (!parse_one(option, optarg, options)) return false;
    }
    if (optind < argc) {
        fprintf(stderr, "stentor-bench: \"%s\" is not an option: see --help\n", argv[optind]);
        return false;
    }
    return true;
}

bool bench_listed(const char *list, const char *name) {
    if (!list || !strcmp(list, "all")) return true;
    size_t length = strlen(name);
    for (const char *item = list; item; item = strchr(item, ',')) {
        if (*item == ',') item++;
        if (!strncmp(item, name, length) && (item[length] == ',' || !item[length])) return true;
    }
    return false;
}

stn_status bench_boundary(const char *spec, int rank, stn_boundary boundary[STN_MAX_RANK][2], stn_error *error) {
    char piece[128];
    for (int axis = 0; axis < rank; axis++) {
        size_t length = strcspn(spec, ",");
        if (length >= sizeof piece)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "boundary \"%s\" is too long", spec);
        memcpy(piece, spec, length);
        piece[length] = '\0';
        STN_TRY(stn_boundary_parse(piece, boundary[axis], error));
        if (spec[length]) spec += length + 1; /* the last one applies to all further axes */
    }
    return STN_OK;
}
