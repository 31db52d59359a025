/* The public function of box filters: checks its arguments and runs host/moving_average.h. */
#include <math.h>
#include <stdint.h>

#include "base/error.h"
#include "context/context.h"
#include "host/moving_average.h"

static stn_status check_integers(const stn_box_filter *box, stn_error *error) {
    if (box->element != STN_ELEMENT_U8 && box->element != STN_ELEMENT_U16)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_box_filter.element is %d: give STN_ELEMENT_U8, STN_ELEMENT_U16, or 0 for the dtype",
                        (int)box->element);
    const double most = box->element == STN_ELEMENT_U8 ? UINT8_MAX : UINT16_MAX;
    if (box->divisor != (double)box->size || most * box->divisor > UINT32_MAX)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a box of %zu integers with divisor %g: give its size as divisor, and a box whose largest sum "
                        "is below 2^32",
                        box->size, box->divisor);
    for (int side = 0; side < 2; side++) {
        const double value = box->sides[side].kind == STN_CONSTANT ? box->sides[side].value : 0;
        if (!(value >= 0 && value <= most) || value != floor(value))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the constant %g past a side is no number of the arrays' type: use the dtype instead",
                            value);
    }
    return STN_OK;
}

static stn_status check(const stn_box_filter *box, const void *in, const void *out, stn_error *error) {
    if (!box || !in || !out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the box filter or an array is NULL: give all three");
    if (box->struct_size != sizeof *box)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_box_filter.struct_size is %zu: set it to %zu",
                        box->struct_size, sizeof *box);
    if (!box->outer || !box->points || !box->inner || !box->size || box->before >= box->size)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "a box of %zu points, %zu before its point, on %zu x %zu x %zu points: give a size of 1 or more, "
            "`before` below it, and no empty axis",
            box->size, box->before, box->outer, box->points, box->inner);
    if (box->dtype != STN_F64 && box->dtype != STN_F32 && box->dtype != STN_F16)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "dtype %d is none of f64, f32 and f16", (int)box->dtype);
    if (box->sides[0].kind == STN_FIXED || box->sides[1].kind == STN_FIXED)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a box sees past fixed sides: give sides that have values");
    return box->element ? check_integers(box, error) : STN_OK;
}

stn_status stn_box_filter_run(stn_context *context, const stn_box_filter *box, const void *in, void *out,
                              stn_error *error) {
    stn_pool *pool;
    STN_TRY(check(box, in, out, error));
    if (!context) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the context is NULL: create one first");
    STN_TRY(stn_context_pool(context, &pool, error));
    return stn_host_box(pool, box, in, out, error);
}
