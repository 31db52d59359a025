/* Fuzzing of the system parser: any bytes give an error message, or a system whose canonical text
 * parses to itself. */
#include "fuzz.h"
#include "problem/system_task.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    static const char *const texts[] = {
        "field u(2)\ncoefficient c2\nstencil lap = laplace-2d:order=4\nu.next = 2*u - u.prev + c2*lap(u)\n",
        "field p, v\ncoefficient k = -2.5e-1\nstencil f = taps x [0, 1] (-1 1), b = taps y [-1] (1/2)\n"
        "boundary p, v = odd-reflect:mirror, constant=1:fixed; v.next = v - k*f(p)\np.next = p + b(f(v.next))",
        "field u, v # Gray-Scott\nu.next = where(u >= 0, u*v*v, -min(u, 2)); v.next = tanh(pow(v, 2)) != 1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char name[32];
        snprintf(name, sizeof name, "system-%zu", i);
        fuzz_seed(name, texts[i], strlen(texts[i]));
    }
    return 0;
}

/* Makes a task on the smallest grid that the system accepts. */
static void make_task(const stn_system *system) {
    stn_system_problem problem = STN_SYSTEM_PROBLEM_INIT;
    stn_system_task task;
    stn_error error = {0};
    problem.system = system;
    problem.rank = stn_system_rank(system) ? stn_system_rank(system) : stn_system_least_rank(system);
    for (int axis = 0; axis < problem.rank; axis++) {
        const int low = stn_system_reach(system, problem.rank, axis, 0),
                  high = stn_system_reach(system, problem.rank, axis, 1);
        problem.extent[axis] = (size_t)(low > high ? low : high) + 1;
    }
    FUZZ_CHECK(stn_system_task_make(&problem, &task, &error) == STN_OK);
    stn_system_task_clear(&task);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    stn_error error = {0};
    stn_system *system = NULL, *again = NULL;
    char *text = malloc(size + 1), *canonical = NULL, *twice = NULL;
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    if (stn_system_parse(text, &system, &error) != STN_OK)
        FUZZ_CHECK(!system && *error.message);
    else {
        FUZZ_CHECK(stn_system_print(system, &canonical, &error) == STN_OK);
        /* The canonical text of a system near the length limit may exceed the limit. */
        if (strlen(canonical) <= STN_SYSTEM_MAX_TEXT) {
            FUZZ_CHECK(stn_system_parse(canonical, &again, &error) == STN_OK);
            FUZZ_CHECK(stn_system_print(again, &twice, &error) == STN_OK && !strcmp(canonical, twice));
        }
        make_task(system);
    }
    stn_text_free(canonical);
    stn_text_free(twice);
    stn_system_destroy(system);
    stn_system_destroy(again);
    free(text);
    return 0;
}
