/* Tests of slabs; see check_slabs.h. */
#include "check_slabs.h"

#include <stdio.h>
#include <stdlib.h>

/* Layouts where the output may store a part of its own spectrum: dense, in place, rows and planes
 * with even gaps; and where it may not: odd rows, an alignment of one element. */
typedef enum layout { DENSE, IN_PLACE, EVEN_GAPS, EVEN_GAPS_IN_PLACE, ODD_ROWS, ONE_ELEMENT } layout;
static const char *const layout_names[] = {"dense",    "in place",           "even gaps", "even gaps, in place",
                                           "odd rows", "one element aligned"};

typedef struct slab_case {
    int n[3], batch;
    stn_dtype dtype;
    stn_boundary_kind sides[3][2];
    layout layout;
    uint64_t steps;
    const char *words;
} slab_case;

#define ALL(kind)                                                                                                      \
    {                                                                                                                  \
        {kind, kind}, {kind, kind}, { kind, kind }                                                                     \
    }

static stn_problem problem_of(const slab_case *c, stn_stencil *stencil) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.dtype = c->dtype, p.steps = c->steps, p.batch = (size_t)c->batch;
    for (int axis = 0; axis < 3; axis++) {
        p.extent[axis] = (size_t)c->n[axis];
        for (int side = 0; side < 2; side++)
            p.boundary[axis][side] =
                (stn_boundary){c->sides[axis][side], c->sides[axis][side] == STN_CONSTANT ? 0.3 - 0.9 * side : 0};
    }
    p.in_place = c->layout == IN_PLACE || c->layout == EVEN_GAPS_IN_PLACE;
    if (c->layout == ONE_ELEMENT) p.alignment = (int)stn_dtype_size(c->dtype);
    if (c->layout == EVEN_GAPS || c->layout == EVEN_GAPS_IN_PLACE) {
        const int64_t row = (c->n[2] + 5) / 2 * 2, plane = row * (c->n[1] + 1) + 2;
        p.out_stride[2] = p.in_stride[2] = 1;
        p.out_stride[1] = row, p.out_stride[0] = plane;
        p.in_stride[1] = p.in_place ? row : c->n[2] + 3, p.in_stride[0] = p.in_place ? plane : (c->n[2] + 3) * c->n[1];
        if (c->batch > 1) p.out_batch_stride = plane * c->n[0] + 4;
        if (c->batch > 1) p.in_batch_stride = p.in_place ? p.out_batch_stride : p.in_stride[0] * c->n[0];
    }
    return p;
}

void slabs(suite *s) {
    static const slab_case list[] = {
        {{12, 14, 50}, 1, STN_F64, ALL(STN_FIXED), DENSE, 200, "slabs of 1 lines"},
        {{12, 14, 50}, 1, STN_F64, ALL(STN_FIXED), IN_PLACE, 200, "slabs of 1 lines"},
        {{9, 11, 66}, 1, STN_F64, ALL(STN_FIXED), IN_PLACE, 12, "slabs of 2 lines"},
        {{11, 13, 84}, 1, STN_F32, ALL(STN_FIXED), IN_PLACE, 60, "slabs of 1 lines"},
        {{10, 9, 70}, 2, STN_F64, ALL(STN_CONSTANT), DENSE, 90, "slabs of 1 lines"},
        {{13, 12, 98}, 1, STN_F32, ALL(STN_CONSTANT), IN_PLACE, 150, "slabs of 2 lines"},
        {{14, 10, 52}, 3, STN_F64, ALL(STN_FIXED), EVEN_GAPS, 150, "slabs of 1 lines"},
        {{9, 13, 48}, 2, STN_F64, ALL(STN_FIXED), EVEN_GAPS_IN_PLACE, 70, "slabs of 1 lines"},
        {{10, 12, 90},
         2,
         STN_F32,
         {{STN_FIXED, STN_CONSTANT}, {STN_REFLECT, STN_FIXED}, {STN_MIRROR, STN_FIXED}},
         EVEN_GAPS_IN_PLACE,
         40,
         "slabs of 1 lines"},
        {{12, 11, 53}, 1, STN_F64, ALL(STN_FIXED), ODD_ROWS, 120, "slabs of 1 lines"},
        {{12, 11, 53}, 1, STN_F32, ALL(STN_FIXED), ODD_ROWS, 20, "slabs of 1 lines"},
        {{9, 10, 55}, 2, STN_F64, ALL(STN_CONSTANT), IN_PLACE, 80, "slabs of 1 lines"},
        {{7, 9, 101}, 3, STN_F32, ALL(STN_FIXED), IN_PLACE, 25, "slabs of 2 lines"},
        {{8, 13, 47}, 1, STN_F64, ALL(STN_REFLECT), IN_PLACE, 12, "slabs of 1 lines"},
        {{8, 12, 50}, 1, STN_F64, ALL(STN_CONSTANT), ONE_ELEMENT, 80, "slabs of 1 lines"},
        {{10, 13, 50}, 1, STN_F16, ALL(STN_FIXED), DENSE, 30, "slabs of 1 lines"},
        {{40, 24, 56}, 1, STN_F64, ALL(STN_FIXED), IN_PLACE, 400, "slabs of 2 lines|recursion by rows"},
        {{33, 20, 60},
         2,
         STN_F64,
         {{STN_FIXED, STN_CONSTANT}, {STN_CONSTANT, STN_CONSTANT}, {STN_FIXED, STN_FIXED}},
         DENSE,
         500,
         "slabs of 2 lines"},
        {{24, 50, 60}, 1, STN_F64, ALL(STN_FIXED), IN_PLACE, 600, "slabs of 2 lines|recursion by rows"},
        {{22, 44, 80}, 1, STN_F32, ALL(STN_CONSTANT), DENSE, 500, "slabs of 2 lines|recursion by rows"},
        {{20, 26, 96}, 1, STN_F32, ALL(STN_FIXED), DENSE, 300, "slabs of 2 lines"},
        {{10, 14, 46},
         1,
         STN_F64,
         {{STN_WRAP, STN_WRAP}, {STN_FIXED, STN_REFLECT}, {STN_CONSTANT, STN_NEAREST}},
         IN_PLACE,
         60,
         "slabs of 1 lines"},
        {{11, 13, 46}, 2, STN_F64, ALL(STN_REFLECT), IN_PLACE, 7, "slabs of 1 lines"},
        {{11, 13, 46}, 1, STN_F64, ALL(STN_WRAP), IN_PLACE, 9, "slabs of 1 lines"},
        {{7, 17, 90}, 1, STN_F32, ALL(STN_MIRROR), DENSE, 5, "slabs of 1 lines"},
        {{2, 12, 40}, 1, STN_F64, ALL(STN_FIXED), IN_PLACE, 30, "slabs of 1 lines"},
        {{9, 3, 44}, 1, STN_F64, ALL(STN_FIXED), IN_PLACE, 50, "slabs of 1 lines"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const slab_case *c = &list[i];
        stn_stencil *stencil = NULL;
        stn_stencil_parse("heat-3d", &stencil, NULL);
        const stn_problem p = problem_of(c, stencil);
        char what[200];
        snprintf(what, sizeof what, "slabs: %d x %d x %d x %d, %s, %s:%s %s:%s %s:%s, %s, %llu steps, %s", c->batch,
                 c->n[0], c->n[1], c->n[2], stn_dtype_name(c->dtype), side_names[c->sides[0][0]],
                 side_names[c->sides[0][1]], side_names[c->sides[1][0]], side_names[c->sides[1][1]],
                 side_names[c->sides[2][0]], side_names[c->sides[2][1]], layout_names[c->layout],
                 (unsigned long long)c->steps, c->words);
        suite_compare_words(s, "spectral", c->words, what, &p, i + 500);
        stn_stencil_destroy(stencil);
    }
}
