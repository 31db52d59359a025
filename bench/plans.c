/* The quality of plans, and the time to make them, on new random problems:
 *
 *     stentor-plans regret|cold|survey [--seed S] [--first I] [--count N] [--limit SECONDS]
 *                                      [--least SECONDS] [--most SECONDS] [--arch sm_90]
 *                                      [--threads N] [--repeat N] [--no-measure] [--small]
 *                                      [--only SEED:INDEX[,SEED:INDEX...]]
 *
 *   regret  on a GPU: times of the choices of ESTIMATE and MEASURE, divided by the least time of
 *           these two and of each strategy that applies, selected by name
 *   cold    on a GPU, each problem with an empty cache folder: seconds to make a plan, times of its
 *           first executions and of those with stored kernels, and of first_result; of a plan from
 *           stored kernels also the seconds of choosing and of loading kernels; medians of --repeat
 *           measurements (3 unless given), as compiling the same kernel twice differs by 30%
 *   survey  needs no GPU: the ranking of all candidates by estimate, for --arch
 *
 * Problems whose predicted time is outside of --least to --most seconds are skipped (--small: grids
 * for the emulator). Modes regret and survey take the problems of --only, named as in their labels,
 * instead of those of a seed. Prints a JSON object for each problem; bench/planner.py reads them.
 * Threads compile the kernels of the next problems while the GPU measures. By default the seed is
 * the time. */
#include "plans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool number_of(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end;
}

static bool parse(int argc, char **argv, plans_options *o) {
    const struct {
        const char *name;
        double *value;
    } numbers[] = {{"--first", &o->first}, {"--count", &o->count},     {"--limit", &o->limit},  {"--least", &o->least},
                   {"--most", &o->most},   {"--threads", &o->threads}, {"--repeat", &o->repeat}};
    if (argc < 2) return false;
    o->mode = argv[1];
    for (int i = 2; i < argc; i++) {
        bool found = false;
        if (!strcmp(argv[i], "--no-measure")) {
            o->no_measure = true;
            continue;
        }
        if (!strcmp(argv[i], "--small")) {
            o->small = true, o->least = 0;
            continue;
        }
        if (i + 1 == argc) return false;
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers && !found; k++)
            if ((found = !strcmp(argv[i], numbers[k].name)) && !number_of(argv[i + 1], numbers[k].value)) return false;
        if (!strcmp(argv[i], "--seed")) o->seed = strtoull(argv[i + 1], NULL, 10), found = true;
        if (!strcmp(argv[i], "--arch")) o->arch = argv[i + 1], found = true;
        if (!strcmp(argv[i], "--only")) o->only = argv[i + 1], found = true;
        if (!found) return false;
        i++;
    }
    return true;
}

int main(int argc, char **argv) {
    plans_options o = {
        .seed = (uint64_t)time(NULL), .count = 40, .limit = 240, .least = 1e-4, .most = 0.25, .repeat = 3};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    stn_error error = {0};
    stn_status status;
    o.threads = processors > 2 ? (double)processors - 1 : 2;
    if (!parse(argc, argv, &o)) {
        fputs(
            "usage: stentor-plans regret|cold|survey [--seed S] [--first I] [--count N] [--limit SECONDS]\n"
            "                     [--least SECONDS] [--most SECONDS] [--arch A] [--threads N]\n"
            "                     [--repeat N] [--no-measure] [--small] [--only SEED:INDEX,...]\n",
            stderr);
        return 2;
    }
    /* The kernels of the problems in work must all stay in the folder. */
    setenv("STENTOR_CACHE_MAX_BYTES", "17179869184", 1);
    setenv("STENTOR_CACHE_MAX_FILES", "1000000", 1);
    fprintf(stderr, "seed %" PRIu64 "\n", o.seed);
    if (!strcmp(o.mode, "cold"))
        status = plans_cold(&o, &error);
    else
        status = plans_regret(&o, &error);
    if (status != STN_OK) fprintf(stderr, "stentor-plans: %s\n", error.message);
    return status != STN_OK;
}
