/* The launch room with a fake driver: opening, errors, the caller's context, memory, modules,
 * launches. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../expect.h"
#include "fake_driver.h"
#include "launch/cufft_library.h"
#include "launch/driver.h"

static fake_state *fake;
static stn_driver *driver;
static stn_device *device;

static void use_fake(void) {
    setenv("STENTOR_CUDA_PATH", FAKE_DRIVER, 1);
    void *library = dlopen(FAKE_DRIVER, RTLD_NOW);
    cr_assert(library, "%s", dlerror());
    fake_state *(*state)(void);
    void *entry = dlsym(library, "fake_driver_state");
    memcpy(&state, &entry, sizeof entry);
    fake = state();
}
static void open_device(void) {
    use_fake();
    OK(stn_driver_open(NULL, &driver, &error));
    OK(stn_device_open(driver, 0, &device, &error));
}
/* Nothing may be left behind, and the caller's context must be current again. */
static void close_device(void) {
    stn_device_close(device);
    stn_driver_close(driver);
    cr_expect_eq(fake->pushed, 0, "a context was left pushed");
    cr_expect_eq(fake->outside, 0, "calls without the context");
    cr_expect_eq(fake->retained, 0);
    cr_expect_eq(fake->allocations, 0);
    cr_expect_eq(fake->events, 0);
    cr_expect_eq(fake->modules, 0);
}

static void expect_no_driver(const char *part) {
    cr_expect_eq(stn_driver_open(NULL, &driver, &error), STN_ERROR_NO_DEVICE);
    cr_expect_null(driver);
    cr_expect_eq(error.status, STN_ERROR_NO_DEVICE);
    cr_expect(strstr(error.message, part), "\"%s\" does not say \"%s\"", error.message, part);
}

Test(driver, a_missing_library) {
    setenv("STENTOR_CUDA_PATH", "/nowhere/libcuda.so.1", 1);
    expect_no_driver("STENTOR_CUDA_PATH is set to \"/nowhere/libcuda.so.1\"");
}
Test(driver, a_file_that_is_no_library) {
    setenv("STENTOR_CUDA_PATH", __FILE__, 1);
    expect_no_driver("STENTOR_CUDA_PATH");
}
/* Opening a FIFO would wait for a writer: these tests would hang. */
Test(driver, a_fifo_is_not_opened, .timeout = 20) {
    char folder[] = "/tmp/stentor-launch-XXXXXX", path[64];
    stn_cufft *cufft;
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    setenv("STENTOR_CUDA_PATH", path, 1);
    expect_no_driver("it is no file");
    setenv("STENTOR_CUDA_PATH", folder, 1);
    expect_no_driver("it is no file");
    setenv("STENTOR_CUFFT_PATH", path, 1);
    FAILS(stn_cufft_open(NULL, &cufft, &error), STN_ERROR_UNSUPPORTED, "libcuda.so.1 is no file");
    unlink(path);
    rmdir(folder);
}
Test(driver, a_library_without_the_entry_point_is_too_old) {
    setenv("STENTOR_CUDA_PATH", OLD_DRIVER, 1);
    expect_no_driver("older than CUDA 12.0");
}
Test(driver, too_old_by_its_version) {
    use_fake();
    fake->version = 11080;
    expect_no_driver("serves CUDA 11.8 and 12.0 is needed");
}
Test(driver, no_gpu) {
    use_fake();
    fake->devices = 0;
    expect_no_driver("sees no GPU");
    fake->init = 100;
    expect_no_driver("cuInit failed");
}
Test(driver, a_function_is_missing) {
    use_fake();
    fake->absent = "cuLaunchKernelEx";
    expect_no_driver("lacks cuLaunchKernelEx of CUDA 11.6");
}
Test(driver, accepts_the_folder_of_the_library) {
    char folder[] = FAKE_DRIVER, command[4096];
    *strrchr(folder, '/') = '\0';
    snprintf(command, sizeof command, "ln -sf %s %s/libcuda.so.1", FAKE_DRIVER, folder);
    cr_assert_eq(system(command), 0);
    setenv("STENTOR_CUDA_PATH", folder, 1);
    OK(stn_driver_open(NULL, &driver, &error));
    stn_driver_close(driver);
}
Test(driver, an_error_names_call_code_and_remedy) {
    open_device();
    OK(stn_driver_check(driver, "cuThing", 0, &error));
    cr_expect_eq(stn_driver_check(driver, "cuThing", 2, &error), STN_ERROR_OUT_OF_MEMORY);
    cr_expect_str_eq(error.message,
                     "cuThing failed: CUDA_ERROR_OUT_OF_MEMORY = 2 (out of memory): free device memory or use a "
                     "smaller problem");
    FAILS(stn_driver_check(driver, "cuThing", 4242, &error), STN_ERROR_DRIVER,
          "cuThing failed: an unknown error = 4242");
    cr_expect_eq(stn_driver_check(driver, "cuThing", STN_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, &error),
                 STN_ERROR_UNSUPPORTED);
    close_device();
}

/* Whether cuFFT may run a batch of c2r transforms of rows of n numbers that lie `next` apart. */
static bool takes_rows(size_t n, ptrdiff_t next, int in_place) {
    char reason[160];
    stn_error error;
    stn_fft fft;
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1, t.extent[0] = n, t.batch = 7, t.dtype = STN_F64;
    t.kind = STN_C2R, t.direction = STN_INVERSE, t.in_place = in_place;
    t.out_stride[0] = 1, t.out_batch_stride = next;
    if (in_place) t.in_stride[0] = 1, t.in_batch_stride = next / 2;
    cr_assert_eq(stn_fft_make(&t, &fft, &error), STN_OK, "%s", error.message);
    return stn_cufft_takes(&fft, reason, sizeof reason);
}

/* cuFFT was seen to write into the padding of such rows. */
Test(cufft, rows_as_far_apart_as_those_of_the_spectrum_are_refused) {
    for (size_t n = 2; n < 40; n++) {
        const ptrdiff_t of_spectrum = 2 * ((ptrdiff_t)n / 2 + 1);
        cr_expect(takes_rows(n, (ptrdiff_t)n, 0), "%zu without padding", n);
        cr_expect(!takes_rows(n, of_spectrum, 0), "%zu", n);
        cr_expect(takes_rows(n, of_spectrum, 1), "%zu in place", n);
        cr_expect(takes_rows(n, of_spectrum + 1, 0), "%zu with more padding", n);
    }
}

Test(device, an_ordinal_out_of_range) {
    use_fake();
    OK(stn_driver_open(NULL, &driver, &error));
    cr_expect_eq(stn_device_open(driver, 2, &device, &error), STN_ERROR_NO_DEVICE);
    cr_expect(strstr(error.message, "no GPU 2") && strstr(error.message, "2 GPU(s)"), "%s", error.message);
    cr_expect_eq(stn_device_open(driver, -1, &device, &error), STN_ERROR_NO_DEVICE);
    stn_driver_close(driver);
}
Test(device, reported_properties_scale_the_peak_rates) {
    open_device();
    stn_machine machine, whole;
    stn_device_describe(device, &machine);
    cr_expect_str_eq(machine.name, "Fake GPU 0");
    cr_expect_str_eq(machine.arch, "sm_90");
    cr_expect_eq(machine.sm, 90);
    cr_expect(machine.is_device && machine.present && !machine.measured);
    cr_expect_eq(machine.shared_per_block, 232448u);
    cr_expect_eq(machine.l2_bytes, (size_t)50 << 20);
    cr_expect_eq(machine.memory_bytes, (size_t)1 << 30);
    cr_expect_str_eq(stn_device_uuid(device), "GPU-abababababababababababababababab");
    cr_assert(stn_machine_for_arch("sm_90", &whole));
    cr_expect_not(whole.present);
    /* Half an H200's multiprocessors at half its clock. */
    for (int unit = 0; unit < STN_UNIT_COUNT; unit++)
        cr_expect_float_eq(machine.flops[unit], whole.flops[unit] / 4, 1e3);
    cr_expect_float_eq(machine.copy_bandwidth, 4.26e12, 0.05e12);
    close_device();
}
Test(device, peak_rates_of_absent_chips) {
    stn_machine machine;
    cr_assert(stn_machine_for_arch("sm_80", &machine));
    cr_expect_float_eq(machine.flops[STN_UNIT_TENSOR_F64], 19.5e12, 1e6);
    cr_expect_float_eq(machine.clock, 1.41e9, 0.01e9); /* 64 lanes, not 128 */
    cr_expect_eq(machine.lanes, 64);
    /* Unknown: the nearest below it, under its own name. */
    cr_assert(stn_machine_for_arch("sm_121", &machine));
    cr_expect_str_eq(machine.arch, "sm_121");
    cr_expect_eq(machine.sm, 121);
    const char *wrong[] = {"", "90", "sm_", "sm_9", "sm_90a", "sm_9000", "compute_90", "sm_ 90", "SM_90"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(stn_machine_for_arch(wrong[i], &machine), "%s", wrong[i]);
}
Test(device, memory) {
    open_device();
    void *a, *b;
    int in[4] = {1, 2, 3, 4}, out[4] = {0};
    OK(stn_device_alloc(device, sizeof in, &a, &error));
    OK(stn_device_alloc(device, sizeof in, &b, &error));
    OK(stn_device_upload(device, a, in, sizeof in, &error));
    OK(stn_device_copy(device, b, a, sizeof in, NULL, &error));
    OK(stn_device_download(device, out, b, sizeof in, &error));
    cr_expect_arr_eq(in, out, sizeof in);
    OK(stn_device_synchronize(device, NULL, &error));
    OK(stn_device_synchronize_all(device, &error));
    stn_device_free(device, a);
    stn_device_free(device, b);
    stn_device_free(device, NULL);
    OK(stn_device_alloc(device, 0, &a, &error));
    cr_expect_not_null(a);
    stn_device_free(device, a);
    fake->alloc = 2;
    cr_expect_eq(stn_device_alloc(device, 1000, &a, &error), STN_ERROR_OUT_OF_MEMORY);
    cr_expect(strstr(error.message, "1000 bytes") && strstr(error.message, "123 of 456"), "%s", error.message);
    cr_expect_null(a);
    close_device();
}
Test(device, timing_and_bandwidth) {
    open_device();
    stn_timer *timer;
    double seconds = 0, bandwidth = 0;
    OK(stn_timer_create(device, &timer, &error));
    OK(stn_timer_start(timer, NULL, &error));
    OK(stn_timer_stop(timer, NULL, &seconds, &error));
    cr_expect_float_eq(seconds, 0.25e-3, 1e-9);
    stn_timer_destroy(timer);
    OK(stn_device_measure_copy(device, &bandwidth, &error));
    /* four copies in a row */
    cr_expect_float_eq(bandwidth, 4 * 2 * 4 * 50 * 1048576.0 / 0.25e-3, 1e6);
    fake->alloc = 2;
    cr_expect_eq(stn_device_measure_copy(device, &bandwidth, &error), STN_ERROR_OUT_OF_MEMORY);
    close_device();
}

Test(module, launch_passes_everything_on) {
    open_device();
    stn_module *module;
    OK(stn_module_load(device, "image", "kernel", &module, &error));
    stn_cubin_usage info = stn_module_usage(module);
    cr_expect(info.registers == 14 && info.shared_bytes == 11 && info.local_bytes == 13 && info.max_threads == 10);
    cr_expect_eq(stn_module_occupancy(module, 256, 2048), 6);
    OK(stn_module_allow_shared(module, 100000, &error));
    cr_expect_eq(stn_module_allow_shared(module, 232448, &error), STN_ERROR_UNSUPPORTED, "11 static bytes more");
    int argument = 77;
    stn_launch launch = {{2, 3, 4}, {32, 2, 1}, 512, (void *)0x123, 0, false};
    OK(stn_module_launch(module, &launch, &argument, &error));
    cr_expect_eq(fake->last_argument, 77);
    cr_expect(fake->last.grid_x == 2 && fake->last.grid_y == 3 && fake->last.grid_z == 4);
    cr_expect(fake->last.block_x == 32 && fake->last.block_y == 2 && fake->last.block_z == 1);
    cr_expect(fake->last.shared_bytes == 512 && fake->last.stream == (void *)0x123 && fake->clustered == 0);
    launch.cluster = 2;
    OK(stn_module_launch(module, &launch, &argument, &error));
    cr_expect(fake->clustered == 2 && fake->last.grid_z == 4 && fake->last.shared_bytes == 512);
    fake->launch = 1;
    FAILS(stn_module_launch(module, &launch, &argument, &error), STN_ERROR_DRIVER, "cuLaunchKernelEx failed");
    stn_module_unload(module);
    close_device();
}
Test(module, a_refused_image_comes_with_the_drivers_log) {
    open_device();
    stn_module *module;
    fake->load = 218;
    fake->jit_log = "ptxas error: line 3;\n  unexpected word\n";
    cr_expect_eq(stn_module_load(device, "image", "kernel", &module, &error), STN_ERROR_DRIVER);
    cr_expect_null(module);
    cr_expect(strstr(error.message, "cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX"), "%s", error.message);
    cr_expect(strstr(error.message, "ptxas error: line 3;   unexpected word"), "%s", error.message);
    cr_expect_null(strchr(error.message, '\n'));
    fake->load = 0;
    FAILS(stn_module_load(device, "image", "absent", &module, &error), STN_ERROR_DRIVER, "cuModuleGetFunction failed");
    close_device();
}
/* Our share of a launch's cost, without the driver's. The bound is far above it, for slow
 * machines. */
Test(module, a_launch_costs_little) {
    open_device();
    stn_module *module;
    OK(stn_module_load(device, "image", "kernel", &module, &error));
    int argument = 1;
    const stn_launch launch = {{1, 1, 1}, {32, 1, 1}, 0, NULL, 0, false};
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int i = 0; i < 100000; i++) stn_module_launch(module, &launch, &argument, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    double each = ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) / 100000;
    cr_expect_lt(each, 1e-6, "%g s a launch", each);
    stn_module_unload(module);
    close_device();
}
