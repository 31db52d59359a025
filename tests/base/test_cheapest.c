/* The bounded list of cheapest items. */
#include <criterion/criterion.h>

#include "base/cheapest.h"

static int list[3];
static double costs[3];
static size_t count;

static bool insert(int thing, double cost) {
    int *place = stn_cheapest_insert(list, costs, sizeof *list, &count, 3, cost);
    if (place) *place = thing;
    return place != NULL;
}

Test(best, keeps_the_cheapest_in_order) {
    count = 0;
    cr_expect(insert(1, 5) && insert(2, 3) && insert(3, 4));
    cr_expect(count == 3 && list[0] == 2 && list[1] == 3 && list[2] == 1);
    cr_expect_not(insert(4, 6), "dearer than all");
    cr_expect_not(insert(5, 5), "as dear as the last, which came first");
    cr_expect(insert(6, 3), "falls out: the dearest");
    cr_expect(count == 3 && list[0] == 2 && list[1] == 6 && list[2] == 3);
    cr_expect(costs[0] == 3 && costs[1] == 3 && costs[2] == 4);
}

Test(best, of_none) {
    size_t none = 0;
    cr_expect_null(stn_cheapest_insert(list, costs, sizeof *list, &none, 0, 1));
    cr_expect_eq(none, 0u);
}
