/* Fuzzes texts of users and files: a stencil, a boundary, a dtype, a key, a list of problems, a
 * size. Any bytes are refused with a message, or accepted as a whole; the first byte selects the
 * kind of text. */
#include "cache/key.h"
#include "cli/option_values.h"
#include "cli/problem_list.h"
#include "fuzz.h"
#include "problem/task.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    static const char *const seeds[] = {
        "0heat-2d:alpha=0.2",
        "0gaussian-3d:sigma=1.5,truncate=3",
        "0laplace:order=8",
        "0box-3d27p",
        "1reflect",
        "1constant=1.5:nearest",
        "1wrap",
        "2f64",
        "3e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "4[{\"stencil\": [\"heat-2d\", \"box-2d9p\"], \"size\": \"64x64\", \"dtype\": [\"f64\", \"f32\"], \"steps\": "
        "3}]",
        "564x80x3",
        "51e3,7",
        "6wrap,reflect:mirror",
        "6nearest",
        "4[{\"taps\": \"a.npy\", \"boundary\": \"wrap,fixed:mirror\", \"strategy\": \"direct\"}]",
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char name[16];
        snprintf(name, sizeof name, "text-%zu", i);
        fuzz_seed(name, seeds[i], strlen(seeds[i]));
    }
    return 0;
}

static void expect_message(stn_status status, const stn_error *error) {
    if (status != STN_OK) FUZZ_CHECK(error->status == status && *error->message);
}

static void try_stencil(const char *text) {
    stn_stencil *stencil = NULL;
    stn_error error = {0};
    stn_status status = stn_stencil_parse(text, &stencil, &error);
    expect_message(status, &error);
    FUZZ_CHECK((status == STN_OK) == (stencil != NULL));
    if (stencil) FUZZ_CHECK(stn_stencil_tap_count(stencil) > 0 && stn_stencil_rank(stencil) <= STN_MAX_RANK);
    stn_stencil_destroy(stencil);
}

static void try_boundary(const char *text) {
    stn_boundary sides[2];
    stn_error error = {0};
    stn_status status = stn_boundary_parse(text, sides, &error);
    expect_message(status, &error);
    if (status == STN_OK) FUZZ_CHECK(sides[0].kind <= STN_FIXED && sides[1].kind <= STN_FIXED);
}

static void try_key(const char *text) {
    stn_key key;
    char hex[65];
    if (!stn_key_parse(text, &key)) return;
    stn_key_hex(&key, hex);
    FUZZ_CHECK(!strcasecmp(hex, text));
}

/* Kinds of work with only their keys. */
static const cli_listed_key of_transforms[] = {{"transform", false},
                                               {"axes", false},
                                               {"size", false},
                                               {"dtype", false}},
                            of_stencils[] = {{"stencil", false}, {"steps", true}, {"size", false}, {"dtype", false}};
static const cli_listed_kind transforms = {.name = "transform", .keys = of_transforms, .key_count = 4},
                             stencils = {.name = "stencil", .keys = of_stencils, .key_count = 4};
static const cli_listed_kind *const kinds[] = {&transforms, &stencils, NULL};

static void try_list(const char *bytes, size_t size) {
    cli_problem_list problems = {0};
    stn_error error = {0};
    stn_status status = cli_problem_list_parse("list", bytes, size, kinds, &problems, &error);
    expect_message(status, &error);
    FUZZ_CHECK((status == STN_OK) == (problems.count > 0) && problems.count <= CLI_PROBLEMS_MAX);
    /* Every text can be read, every label is terminated. */
    for (size_t i = 0; i < problems.count; i++)
        FUZZ_CHECK(strlen(problems.list[i].label) < sizeof problems.list[i].label &&
                   (problems.list[i].kind != kinds[0] || problems.list[i].value[0].text));
    cli_problem_list_clear(&problems);
}

static void try_size(const char *text) {
    size_t extent[STN_ARRAY_RANK] = {0};
    int rank = 0;
    stn_error error = {0};
    stn_status status = cli_parse_size("--size", text, extent, &rank, &error);
    expect_message(status, &error);
    FUZZ_CHECK(rank >= 0 && rank <= STN_ARRAY_RANK);
    for (int axis = 0; axis < rank && status == STN_OK; axis++) FUZZ_CHECK(extent[axis] > 0);
}

static void try_axes(const char *text) {
    stn_boundary boundary[STN_MAX_RANK][2];
    for (int rank = 1; rank <= STN_MAX_RANK; rank++) {
        stn_error error = {0};
        expect_message(stn_boundary_parse_axes(text, rank, boundary, &error), &error);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (!size) return 0;
    char *text = malloc(size); /* the bytes after the first, with a terminator */
    FUZZ_CHECK(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    stn_dtype dtype;
    stn_error error = {0};
    switch (data[0] % 7) { /* of the digits of the seeds: '0' is 48, which gives 6 */
        case 6:
            try_stencil(text);
            break;
        case 0:
            try_boundary(text);
            break;
        case 1:
            expect_message(stn_dtype_parse(text, &dtype, &error), &error);
            break;
        case 2:
            try_key(text);
            break;
        case 3:
            try_list(text, size - 1);
            break;
        case 4:
            try_size(text);
            break;
        case 5:
            try_axes(text);
            break;
    }
    free(text);
    return 0;
}
