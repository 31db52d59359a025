/* Opens the CUDA driver, and turns its errors into messages. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compile/library.h"
#include "launch/launch_internal.h"

typedef stn_cu_result (*get_proc_address_fn)(const char *name, void **function, int version, uint64_t flags,
                                             stn_cu_enum *found);

static const char *const function_names[] = {
#define STN_DRIVER_NAME(name, version, arguments) #name,
    STN_DRIVER_FUNCTION_LIST(STN_DRIVER_NAME)
#undef STN_DRIVER_NAME
};
static const int function_versions[] = {
#define STN_DRIVER_VERSION(name, version, arguments) version,
    STN_DRIVER_FUNCTION_LIST(STN_DRIVER_VERSION)
#undef STN_DRIVER_VERSION
};
enum { FUNCTION_COUNT = sizeof function_versions / sizeof *function_versions };
_Static_assert(sizeof(stn_driver_functions) == FUNCTION_COUNT * sizeof(void *), "the table is an array of pointers");

/* $STENTOR_CUDA_PATH (a file, or the folder that holds libcuda.so.1), else the loader's choice. */
static stn_status open_library(stn_driver *driver, void **library, stn_error *error) {
    const char *chosen = secure_getenv("STENTOR_CUDA_PATH");
    struct stat info;
    bool given = chosen && *chosen;
    bool folder = given && !stat(chosen, &info) && S_ISDIR(info.st_mode);
    int size = asprintf(&driver->path, "%s%s", given ? chosen : "libcuda.so.1", folder ? "/libcuda.so.1" : "");
    if (size < 0) {
        driver->path = NULL;
        return stn_fail_memory(error, "the driver's path", 4096);
    }
    /* The driver is never unloaded: it has threads and exit handlers. */
    bool may_open = stn_library_may_open(driver->path);
    *library = may_open ? dlopen(driver->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (*library) return STN_OK;
    const char *why = may_open ? dlerror() : "it is no file";
    if (given)
        return stn_fail(error, STN_ERROR_NO_DEVICE,
                        "STENTOR_CUDA_PATH is set to \"%s\", which could not be opened (%s): point it at libcuda.so.1 "
                        "or unset it",
                        chosen, why ? why : "unknown reason");
    return stn_fail(error, STN_ERROR_NO_DEVICE,
                    "no NVIDIA driver was found (%s): install the driver of your GPU, or use the host",
                    why ? why : "libcuda.so.1 could not be opened");
}

static stn_status resolve(stn_driver *driver, void *library, stn_error *error) {
    get_proc_address_fn get_proc_address = NULL;
    void *entry = dlsym(library, "cuGetProcAddress_v2");
    if (!entry)
        return stn_fail(error, STN_ERROR_NO_DEVICE,
                        "the NVIDIA driver (%s) is older than CUDA 12.0: update it (nvidia-smi shows its version), or "
                        "use the host",
                        driver->path);
    memcpy(&get_proc_address, &entry, sizeof entry);
    char *table = (char *)&driver->call;
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        void *function = NULL;
        stn_cu_enum found = STN_CU_GET_PROC_ADDRESS_SUCCESS;
        stn_cu_result result = get_proc_address(function_names[i], &function, function_versions[i],
                                                STN_CU_GET_PROC_ADDRESS_DEFAULT, &found);
        if (result != STN_CUDA_SUCCESS || found != STN_CU_GET_PROC_ADDRESS_SUCCESS || !function)
            return stn_fail(error, STN_ERROR_NO_DEVICE,
                            "the NVIDIA driver (%s) lacks %s of CUDA %d.%d: update the driver, or use the host",
                            driver->path, function_names[i], function_versions[i] / 1000,
                            function_versions[i] % 1000 / 10);
        memcpy(table + i * sizeof function, &function, sizeof function);
    }
    return STN_OK;
}

static stn_status start(stn_driver *driver, stn_error *error) {
    stn_error detail = {0};
    if (STN_CU(driver, cuDriverGetVersion, (&driver->version), &detail) != STN_OK ||
        (driver->version >= STN_OLDEST_DRIVER && STN_CU(driver, cuInit, (0), &detail) != STN_OK) ||
        (driver->version >= STN_OLDEST_DRIVER && STN_CU(driver, cuDeviceGetCount, (&driver->device_count), &detail)))
        return stn_fail(error, STN_ERROR_NO_DEVICE, "no GPU can be used: %s", detail.message);
    if (driver->version < STN_OLDEST_DRIVER)
        return stn_fail(error, STN_ERROR_NO_DEVICE,
                        "the NVIDIA driver serves CUDA %d.%d and 12.0 is needed: update the driver, or use the host",
                        driver->version / 1000, driver->version % 1000 / 10);
    if (driver->device_count < 1)
        return stn_fail(error, STN_ERROR_NO_DEVICE,
                        "the NVIDIA driver sees no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the host");
    return STN_OK;
}

stn_status stn_driver_open(const stn_logger *logger, stn_driver **driver, stn_error *error) {
    *driver = NULL;
    void *library = NULL;
    stn_driver *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "the driver's table", sizeof *made);
    stn_status status;
    STN_TRY_GOTO(status, open_library(made, &library, error), done);
    STN_TRY_GOTO(status, resolve(made, library, error), done);
    STN_TRY_GOTO(status, start(made, error), done);
    stn_log(logger, STN_LOG_DEBUG, "opened the CUDA driver %s: CUDA %d.%d, %d GPU(s)", made->path, made->version / 1000,
            made->version % 1000 / 10, made->device_count);
    *driver = made;
    made = NULL;
done:
    if (library) dlclose(library); /* Releases the reference; the code stays loaded. */
    stn_driver_close(made);
    return status;
}

void stn_driver_close(stn_driver *driver) {
    if (!driver) return;
    free(driver->path);
    free(driver);
}

int stn_driver_version(const stn_driver *driver) { return driver->version; }
int stn_driver_device_count(const stn_driver *driver) { return driver->device_count; }
const char *stn_driver_path(const stn_driver *driver) { return driver->path; }
const stn_driver_functions *stn_driver_table(const stn_driver *driver) { return &driver->call; }

/* Advice for the user about a driver error. */
static const char *remedy(stn_cu_result result) {
    switch (result) {
        case STN_CUDA_ERROR_INVALID_VALUE:
            return "check the pointers and the stream; if they are right, please report this message";
        case STN_CUDA_ERROR_OUT_OF_MEMORY:
            return "free device memory or use a smaller problem";
        case STN_CUDA_ERROR_NOT_INITIALIZED:
        case STN_CUDA_ERROR_DEINITIALIZED:
            return "the driver does not survive a fork, nor the end of main: make the context in the process that uses "
                   "it";
        case STN_CUDA_ERROR_STUB_LIBRARY:
            return "this libcuda.so is a toolkit's stub for linking: let the loader find the driver's own";
        case STN_CUDA_ERROR_DEVICE_UNAVAILABLE:
            return "another process holds the GPU exclusively: wait for it or choose another GPU";
        case STN_CUDA_ERROR_NO_DEVICE:
            return "check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the host";
        case STN_CUDA_ERROR_NO_BINARY_FOR_GPU:
        case STN_CUDA_ERROR_INVALID_IMAGE:
        case STN_CUDA_ERROR_INVALID_PTX:
            return "the kernel was made for another GPU or is damaged: it must be compiled again for this one";
        case STN_CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case STN_CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
            return "the kernel's PTX is newer than the driver: update the driver or use an older NVRTC";
        case STN_CUDA_ERROR_ECC_UNCORRECTABLE:
            return "the GPU's memory is faulty: choose another GPU";
        case STN_CUDA_ERROR_ILLEGAL_ADDRESS:
        case STN_CUDA_ERROR_MISALIGNED_ADDRESS:
        case STN_CUDA_ERROR_LAUNCH_FAILED:
            return "check that the pointers are device memory that holds the plan's extents and strides, aligned to "
                   "its elements; the process must be started again";
        case STN_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
            return "the kernel needs more registers or shared memory than the GPU has: choose another strategy";
        case STN_CUDA_ERROR_LAUNCH_TIMEOUT:
            return "the GPU also drives a display and stops long kernels: use fewer steps a launch or another GPU";
        case STN_CUDA_ERROR_INVALID_HANDLE:
        case STN_CUDA_ERROR_INVALID_CONTEXT:
            return "check that the stream belongs to this device's primary context and still exists";
        case STN_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
        case STN_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
            return "this call cannot be captured in a graph: make it before the capture begins";
        case STN_CUDA_ERROR_SYSTEM_NOT_READY:
        case STN_CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        case STN_CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
            return "the driver's library and the kernel's module do not match or are not up: restart the machine or "
                   "reinstall the driver";
        default:
            return "see the driver's log (dmesg, nvidia-smi -q)";
    }
}

stn_status stn_driver_check(const stn_driver *driver, const char *function, stn_cu_result result, stn_error *error) {
    if (result == STN_CUDA_SUCCESS) return STN_OK;
    const char *name = NULL, *text = NULL;
    if (driver->call.cuGetErrorName(result, &name) != STN_CUDA_SUCCESS || !name) name = "an unknown error";
    if (driver->call.cuGetErrorString(result, &text) != STN_CUDA_SUCCESS || !text) text = "no text";
    const stn_status status = result == STN_CUDA_ERROR_OUT_OF_MEMORY             ? STN_ERROR_OUT_OF_MEMORY
                              : result == STN_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? STN_ERROR_UNSUPPORTED
                                                                                 : STN_ERROR_DRIVER;
    return stn_fail(error, status, "%s failed: %s = %u (%s): %s", function, name, result, text, remedy(result));
}
