/* Reading the kernels of a plan: source, parameters, PTX, cubin and resource usage. */
#include <string.h>

#include "base/error.h"
#include "compile/cubin.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"

/* The plan whose kernels run at present. */
static const stn_plan *current(const stn_plan *plan) {
    return plan && plan->online ? plan->kind->tuner->now(plan) : plan ? stn_first_result_now(plan) : NULL;
}

size_t stn_plan_kernel_count(const stn_plan *plan) { return plan ? current(plan)->kernels->count : 0; }

stn_status stn_plan_kernel(const stn_plan *plan, size_t index, stn_kernel_info *info, stn_error *error) {
    if (!plan || !info)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_plan_kernel needs a plan and a place for the answer");
    plan = current(plan);
    if (index >= plan->kernels->count)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan has %zu kernels, so there is no number %zu",
                        plan->kernels->count, index);
    const stn_kernel *kernel = plan->kernels->list[index];
    const stn_template *source = stn_templates_kernel(&plan->context->templates, kernel->name);
    *info = (stn_kernel_info){.name = kernel->name,
                              .params = kernel->params,
                              .source = source ? source->text : NULL,
                              .ptx = kernel->ptx,
                              .cubin = kernel->cubin,
                              .cubin_size = kernel->cubin_size};
    stn_cubin_usage usage;
    if (kernel->module) {
        stn_module_info module = stn_module_describe(kernel->module);
        info->registers = module.registers;
        info->shared_bytes = module.shared_bytes;
        info->local_bytes = module.local_bytes;
        info->threads = module.max_threads;
    } else if (stn_cubin_read(kernel->cubin, kernel->cubin_size, kernel->name, &usage)) {
        info->registers = usage.registers;
        info->shared_bytes = usage.shared_bytes;
        info->local_bytes = usage.local_bytes;
        info->threads = usage.max_threads;
    }
    return STN_OK;
}
