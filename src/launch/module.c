/* A module with one kernel: loading, attributes, occupancy, launching. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch_internal.h"

#define JIT_LOG_SIZE 8192

struct stn_module {
    stn_device *device; /* outlives the module */
    stn_cu_module handle;
    stn_cu_function kernel;
    stn_cubin_usage info;
};

/* Loads the image; if the driver refuses it, its log goes into the error. */
static stn_status load(stn_module *module, const void *image, stn_error *error) {
    const stn_driver *driver = module->device->driver;
    char *log = calloc(1, JIT_LOG_SIZE);
    if (!log) return stn_fail_memory(error, "the driver's log", JIT_LOG_SIZE);
    stn_cu_enum options[] = {STN_CU_JIT_ERROR_LOG_BUFFER, STN_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)JIT_LOG_SIZE};
    stn_error told = {0};
    stn_status status = STN_CU(driver, cuModuleLoadDataEx, (&module->handle, image, 2, options, values), &told);
    if (status != STN_OK) {
        log[JIT_LOG_SIZE - 1] = '\0';
        size_t length = strlen(log);
        while (length && isspace((unsigned char)log[length - 1])) log[--length] = '\0';
        for (char *c = log; *c; c++)
            if (iscntrl((unsigned char)*c)) *c = ' '; /* one line */
        stn_fail(error, status, "%s%s%s", told.message, *log ? "; the driver's log: " : "", log);
    }
    free(log);
    return status;
}

static stn_status inspect(stn_module *module, stn_error *error) {
    const struct {
        int *field;
        stn_cu_enum which;
    } attributes[] = {
        {&module->info.registers, STN_CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&module->info.shared_bytes, STN_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
        {&module->info.local_bytes, STN_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {&module->info.max_threads, STN_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        STN_TRY(STN_CU(module->device->driver, cuFuncGetAttribute,
                       (attributes[i].field, attributes[i].which, module->kernel), error));
    return STN_OK;
}

stn_status stn_module_load(stn_device *device, const void *image, const char *kernel_name, stn_module **module,
                           stn_error *error) {
    *module = NULL;
    stn_module *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a module", sizeof *made);
    made->device = device;
    stn_status status = stn_device_enter(device, error);
    if (status == STN_OK) {
        status = load(made, image, error);
        if (status == STN_OK)
            status = STN_CU(device->driver, cuModuleGetFunction, (&made->kernel, made->handle, kernel_name), error);
        /* Reading attributes also forces a lazily loading driver to load now, not at the first
         * launch. */
        if (status == STN_OK) status = inspect(made, error);
        stn_device_leave(device);
    }
    if (status != STN_OK) {
        stn_module_unload(made);
        return status;
    }
    *module = made;
    return STN_OK;
}

void stn_module_unload(stn_module *module) {
    if (!module) return;
    if (module->handle && stn_device_enter(module->device, NULL) == STN_OK) {
        module->device->driver->call.cuModuleUnload(module->handle);
        stn_device_leave(module->device);
    }
    free(module);
}

stn_cubin_usage stn_module_usage(const stn_module *module) { return module->info; }

stn_status stn_module_allow_shared(stn_module *module, size_t bytes, stn_error *error) {
    const stn_machine *machine = &module->device->machine;
    if (bytes + (size_t)module->info.shared_bytes > machine->shared_per_block)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "a kernel needs %zu bytes of shared memory a block and %s has %zu: choose another strategy",
                        bytes + (size_t)module->info.shared_bytes, machine->name, machine->shared_per_block);
    STN_TRY(stn_device_enter(module->device, error));
    stn_status status =
        STN_CU(module->device->driver, cuFuncSetAttribute,
               (module->kernel, STN_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes), error);
    stn_device_leave(module->device);
    return status;
}

int stn_module_occupancy(const stn_module *module, int threads, size_t shared) {
    int blocks = 0;
    if (stn_device_enter(module->device, NULL) != STN_OK) return 0;
    if (module->device->driver->call.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, module->kernel, threads,
                                                                                 shared) != STN_CUDA_SUCCESS)
        blocks = 0;
    stn_device_leave(module->device);
    return blocks;
}

static stn_cu_result launch_with(const stn_module *module, const stn_launch *launch, void **arguments) {
    stn_cu_launch_attribute list[2] = {0};
    unsigned count = 0;
    if (launch->cluster > 1) {
        stn_cu_launch_attribute *cluster = &list[count++];
        cluster->id = STN_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        cluster->value.cluster.x = launch->cluster;
        cluster->value.cluster.y = cluster->value.cluster.z = 1;
    }
    if (launch->early) {
        stn_cu_launch_attribute *early = &list[count++];
        early->id = STN_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        early->value.programmatic_stream_serialization = 1;
    }
    const stn_cu_launch_config config = {launch->grid[0],
                                         launch->grid[1],
                                         launch->grid[2],
                                         launch->block[0],
                                         launch->block[1],
                                         launch->block[2],
                                         (unsigned)launch->shared,
                                         (stn_cu_stream)launch->stream,
                                         list,
                                         count};
    return module->device->driver->call.cuLaunchKernelEx(&config, module->kernel, arguments, NULL);
}

stn_status stn_module_launch(stn_module *module, const stn_launch *launch, void *arguments, stn_error *error) {
    const stn_driver *driver = module->device->driver;
    void *list[] = {arguments};
    STN_TRY(stn_device_push(module->device, error));
    stn_cu_result result;
    const bool special = launch->cluster > 1 || launch->early;
    if (special)
        result = launch_with(module, launch, list);
    else
        result = driver->call.cuLaunchKernel(module->kernel, launch->grid[0], launch->grid[1], launch->grid[2],
                                             launch->block[0], launch->block[1], launch->block[2],
                                             (unsigned)launch->shared, (stn_cu_stream)launch->stream, list, NULL);
    stn_device_pop(module->device);
    return stn_driver_check(driver, special ? "cuLaunchKernelEx" : "cuLaunchKernel", result, error);
}
