/* Random problems: every strategy that applies is compared with the host at every point.
 *
 *     test_random [--count N] [--seed S] [--first I] [--large] [--wild] [--host] [--new-weights]
 *                 [--candidates N] [--jobs J] [--strategy NAME [--words A|B]...]
 *
 * Problem I of seed S (STENTOR_TEST_SEED, or 1) is the same on all machines; --first I --count 1
 * runs it alone. A failing problem is made smaller and printed as a `stentor run` command.
 *
 *   --large        grids for a GPU, too large for the emulator
 *   --new-weights  each plan is made for other weights, of any symmetry and sum, and then gets the
 *                  problem's: by one of the strategies, the planner's choice, and sometimes ONLINE
 *   --wild         also rare values (random/wild.c)
 *   --host         the strategies of the host
 *   --candidates   runs N candidates of each strategy instead of one, also those for measuring only
 *   --strategy     only this strategy, any of its candidates; problems are drawn until one applies
 *   --words        the candidate's name contains A and B; problem I takes option I modulo their
 *                  number
 *   --jobs         J processes share the problems; one that crashes is replaced
 *
 * Prints TAP. */
#include <inttypes.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/trial.h"
#include "suite.h"

#define MAX_JOBS 64
#define SHRINKING 60    /* trials */
#define MAX_DRAWS 40000 /* of a problem for one strategy; some words apply to one of 2000 */
#define MAX_WORDS 64
/* Exit statuses of a process: there is no device; its context is unusable after a failed call. */
#define NO_DEVICE 2
#define ANOTHER 3

typedef struct tally { /* counts of one strategy */
    char name[32];
    int served, refused, wrong;
} tally;

typedef struct shared { /* memory shared by the processes */
    sem_t lock;         /* protects the following members and stdout */
    uint64_t next, end;
    uint64_t at[MAX_JOBS]; /* the current problem of each process */
    int run, failed;
    char why[1020]; /* why there is no device */
    double worst;
    tally of[RANDOM_STRATEGIES];
} shared;

typedef struct settings {
    uint64_t seed, first, count;
    int jobs, all; /* candidates of each strategy that are run; 0: one */
    const char *strategy, *words[MAX_WORDS];
    int nwords;
    bool large, errors, wild, host, weights;
} settings;

static void count_trial(shared *s, const char *strategy, const random_outcome *o) {
    int i = 0;
    while (i < RANDOM_STRATEGIES - 1 && s->of[i].name[0] && strcmp(s->of[i].name, strategy) != 0) i++;
    snprintf(s->of[i].name, sizeof s->of[i].name, "%.31s", strategy);
    s->of[i].served += o->verdict == RANDOM_RIGHT;
    s->of[i].refused += o->verdict == RANDOM_REFUSED;
    s->of[i].wrong += o->verdict == RANDOM_WRONG;
    if (o->verdict == RANDOM_RIGHT && o->c.relative_l2 / o->c.bar > s->worst) s->worst = o->c.relative_l2 / o->c.bar;
}

static void print_failure(const random_problem *r, const char *strategy, int pick, const random_outcome *o) {
    char detail[1400];
    suite_detail(&o->c, detail, sizeof detail);
    printf("# %s; %s\n# plan: %s; predicted error %.3g\n", o->what, detail, o->c.parameters, o->c.predicted);
    random_problem_print(r, strategy, pick);
}

/* Prints the predicted error of a plan made for these weights, and its actual error. */
static void print_error(const random_problem *r, uint64_t index, const char *strategy, int pick,
                        const random_outcome *o) {
    if (o->verdict != RANDOM_RIGHT || r->new_weights || !(o->c.predicted > 0)) return;
    printf("# error %s %s rank %d steps %d taps %d: predicted %.3g actual %.3g ratio %.3g problem %" PRIu64
           " candidate %d positive %d | %s\n",
           strategy,
           r->problem.dtype == STN_F64   ? "f64"
           : r->problem.dtype == STN_F32 ? "f32"
                                         : "f16",
           r->rank, (int)r->problem.steps, (int)r->ntaps, o->c.predicted, o->c.relative_l2,
           o->c.predicted / o->c.relative_l2, index, pick, r->positive, o->c.parameters);
}

/* Keeps one of the strategies, the planner's choice, and sometimes an ONLINE plan. */
static size_t leave_few(dice *d, bool host, char names[][32], size_t count) {
    const int one = dice_int(d, 0, (int)count - 1);
    if (!count) return 0;
    memmove(names[0], names[one], sizeof names[0]);
    snprintf(names[1], sizeof names[1], "auto");
    snprintf(names[2], sizeof names[2], "%s", RANDOM_ONLINE);
    return dice_int(d, 0, 3) || host ? 2 : 3;
}

/* Draws problem `index` for one strategy: the first of many that has a candidate with the words. */
static int draw_for_strategy(const random_bench *bench, const settings *how, uint64_t index, random_problem *r,
                             dice *d) {
    const char *words = how->nwords ? how->words[index % (uint64_t)how->nwords] : "";
    int pick = -1;
    for (uint64_t turn = 0; turn < MAX_DRAWS && pick < 0; turn++) {
        dice own = {how->seed ^ index << 20 ^ turn << 40};
        random_problem_draw(how->seed + (turn << 32), index, how->large, dice_int(&own, 0, 1) == 0, r);
        random_problem_tighten(&own, r);
        random_problem_lengthen(&own, r, how->large);
        pick = random_pick_words(bench, r, how->strategy, words, &own);
        *d = own;
    }
    return pick;
}

/* Runs all strategies on one problem: one line of TAP. turn: the index of the candidate to run, if
 * there are so many; -1: a random candidate. False if the context has become unusable; then the
 * problem was not made smaller. */
static bool run_problem(const random_bench *bench, const settings *how, shared *s, uint64_t index, int turn) {
    char names[RANDOM_STRATEGIES][32];
    random_outcome o[RANDOM_STRATEGIES], small[RANDOM_STRATEGIES];
    static random_problem r, smaller[RANDOM_STRATEGIES];
    int pick[RANDOM_STRATEGIES], wrong = 0;
    bool dead = false;
    dice d = {how->seed ^ index << 20};
    int only = -1;
    if (how->strategy)
        only = draw_for_strategy(bench, how, index, &r, &d);
    else
        random_problem_draw(how->seed, index, how->large, how->wild, &r);
    r.new_weights = r.new_weights || how->weights;
    r.any_weights = how->weights;
    size_t count = how->strategy ? only >= 0 : random_strategies(bench, &r, names, RANDOM_STRATEGIES);
    if (how->strategy) snprintf(names[0], sizeof names[0], "%s", how->strategy);
    if (how->weights) count = leave_few(&d, how->host, names, count);
    for (size_t i = 0; i < count; i++) {
        pick[i] = how->strategy ? only : turn < 0 ? random_pick(bench, &r, names[i], &d) : COMPARE_MEASURED + turn;
        memset(&o[i], 0, sizeof o[i]);
        o[i].verdict = RANDOM_REFUSED;
        if (turn >= random_candidates(bench, &r, names[i], true)) continue;
        random_trial(bench, &r, names[i], pick[i], &o[i]);
        if (o[i].verdict != RANDOM_WRONG) continue;
        wrong++;
        smaller[i] = r;
        small[i] = o[i];
        print_failure(&r, names[i], pick[i], &o[i]);
        dead = o[i].c.error.status == STN_ERROR_DRIVER;
        if (dead) {
            count = i + 1; /* the others are not tried */
            break;
        }
        random_shrink(bench, &smaller[i], names[i], &pick[i], SHRINKING);
        random_trial(bench, &smaller[i], names[i], pick[i], &small[i]);
    }
    sem_wait(&s->lock);
    s->run++, s->failed += wrong > 0;
    /* A GPU's ranking may lack what a test names. */
    const bool missing = !count && how->strategy && !how->host && !getenv("STENTOR_TESTS_MUST_RUN");
    printf("%s %d - seed %" PRIu64 " problem %" PRIu64 ":%s", wrong || (!count && !missing) ? "not ok" : "ok", s->run,
           how->seed, index, missing ? " # SKIP no such candidate" : "");
    for (size_t i = 0; i < count; i++) printf(" %s%s", names[i], o[i].verdict == RANDOM_REFUSED ? " (refused)" : "");
    if (how->strategy && count) printf(": %s", o[0].c.parameters);
    printf("\n");
    for (size_t i = 0; i < count; i++) {
        count_trial(s, names[i], &o[i]);
        if (how->errors) print_error(&r, index, names[i], pick[i], &o[i]);
        if (o[i].verdict == RANDOM_WRONG) print_failure(&smaller[i], names[i], pick[i], &small[i]);
    }
    s->failed += !count && !missing;
    fflush(stdout);
    sem_post(&s->lock);
    return !dead;
}

/* Runs a process's share of the problems; returns its exit status. */
static int work(const settings *how, shared *s, int job) {
    random_bench bench = {.large = how->large};
    stn_error error = {0};
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = how->host ? STN_DEVICE_HOST : STN_DEVICE_CUDA(0);
    options.cache_dir = ":memory:";
    options.threads = 1;
    if (stn_context_create(&options, &bench.context, &error) != STN_OK) {
        if (job == 0) snprintf(s->why, sizeof s->why, "%s", error.message);
        return NO_DEVICE;
    }
    if (stn_pool_create(1, &bench.pool, &error) != STN_OK) return 1;
    for (;;) {
        sem_wait(&s->lock);
        uint64_t index = s->at[job] = s->next < s->end ? s->next++ : s->end;
        sem_post(&s->lock);
        if (index == s->end) break;
        if (how->all) {
            for (int turn = 0; turn < how->all; turn++)
                if (!run_problem(&bench, how, s, index, turn)) return ANOTHER;
        } else if (!run_problem(&bench, how, s, index, -1))
            return ANOTHER;
    }
    stn_pool_destroy(bench.pool);
    stn_context_destroy(bench.context);
    return 0;
}

static bool read_settings(int argc, char **argv, settings *how) {
    const char *given = getenv("STENTOR_TEST_SEED");
    *how = (settings){.seed = given ? strtoull(given, NULL, 10) : 1, .count = 200};
    cpu_set_t cpus;
    how->jobs = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        char *end = NULL;
        uint64_t number = strtoull(value, &end, 10);
        static const char *const flags[] = {"--large", "--errors", "--wild", "--host", "--new-weights"};
        bool *const set[] = {&how->large, &how->errors, &how->wild, &how->host, &how->weights};
        int flag = 0;
        while (flag < 5 && strcmp(argv[i], flags[flag]) != 0) flag++;
        if (flag < 5) {
            *set[flag] = true;
            continue;
        }
        const bool text = !strcmp(argv[i], "--strategy") || !strcmp(argv[i], "--words");
        if (i + 1 == argc || (!text && (!*value || *end))) return false;
        if (!strcmp(argv[i], "--count"))
            how->count = number;
        else if (!strcmp(argv[i], "--seed"))
            how->seed = number;
        else if (!strcmp(argv[i], "--first"))
            how->first = number;
        else if (!strcmp(argv[i], "--jobs"))
            how->jobs = (int)number;
        else if (!strcmp(argv[i], "--candidates"))
            how->all = (int)number;
        else if (!strcmp(argv[i], "--strategy"))
            how->strategy = value;
        else if (!strcmp(argv[i], "--words") && how->nwords < MAX_WORDS)
            how->words[how->nwords++] = value;
        else
            return false;
        i++;
    }
    if (how->jobs > MAX_JOBS) how->jobs = MAX_JOBS;
    return how->jobs > 0 && how->count > 0;
}

/* Prints the summary of all processes. Fails for a strategy that refuses more than a fifth of the
 * problems to which it applies, since too few were tested; `all`: it may refuse any number. */
static int conclude(shared *s, bool all) {
    for (int i = 0; i < RANDOM_STRATEGIES && s->of[i].name[0]; i++) {
        const tally *t = &s->of[i];
        /* Too few to judge. */
        const bool few = t->served + t->wrong + t->refused < 8;
        bool good = t->served + t->wrong >= 4 * t->refused || (few && t->refused < 2) || all;
        printf("%s %d - %s: %d right, %d wrong, %d refused\n", good ? "ok" : "not ok", ++s->run, t->name, t->served,
               t->wrong, t->refused);
        s->failed += !good;
    }
    printf("1..%d\n# largest error of those that passed: %.2g of its bar\n", s->run, s->worst);
    return s->failed != 0;
}

static pid_t fork_job(const settings *how, shared *s, int job) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) return pid;
    static char lines[1 << 20]; /* a problem's lines are printed at once */
    setvbuf(stdout, lines, _IOFBF, sizeof lines);
    _exit(work(how, s, job));
}

/* Waits for a process and its replacements; returns the last one's exit status. A crash counts as a
 * failure. */
static int wait_for_job(const settings *how, shared *s, int job, pid_t pid) {
    for (uint64_t turn = 0; turn <= how->count; turn++) { /* each crash has its own problem */
        int status = 0;
        waitpid(pid, &status, 0);
        const int ended = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended == 0 || ended == NO_DEVICE) return ended;
        if (ended != ANOTHER) {
            sem_wait(&s->lock);
            printf("not ok %d - seed %" PRIu64 " problem %" PRIu64 ": the process ended by itself, status %d\n",
                   ++s->run, how->seed, s->at[job], status);
            s->failed++;
            sem_post(&s->lock);
        }
        pid = fork_job(how, s, job);
    }
    return -1;
}

int main(int argc, char **argv) {
    settings how;
    pid_t pid[MAX_JOBS];
    if (!read_settings(argc, argv, &how)) {
        fprintf(stderr,
                "usage: test_random [--count N] [--seed S] [--first I] [--large] [--wild] [--host] [--new-weights] "
                "[--candidates N] [--jobs J] [--strategy NAME [--words A|B]...]\n");
        return 2;
    }
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED || sem_init(&s->lock, 1, 1)) return 1;
    s->next = how.first, s->end = how.first + how.count;
    for (int job = 0; job < how.jobs; job++) pid[job] = fork_job(&how, s, job);
    int without = 0;
    for (int job = 0; job < how.jobs; job++) without += wait_for_job(&how, s, job, pid[job]) == NO_DEVICE;
    if (without == how.jobs) return suite_without_device(s->why);
    /* With other weights plans may be refused. */
    return conclude(s, how.all || how.weights) || without;
}
