/* Finding and opening MPI. Two ABIs are known: Open MPI's (libmpi.so.40; handles are addresses of
 * data symbols) and MPICH's (libmpi.so.12, libmpich.so.12; Intel MPI, MVAPICH and Cray MPICH share
 * it; handles are integers, https://www.mpich.org/abi/). */
#include "team/mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "compile/library.h"

#define VARIABLE "STENTOR_MPI_PATH"
enum { VERSION_SIZE = 8192, FUNNELED = 1 }; /* MPI_THREAD_FUNNELED of both ABIs */
#define FINALIZE_SECONDS 20.0               /* time for other processes to reach their exit */

static const char *const names[] = {
    "MPI_Initialized", "MPI_Finalized", "MPI_Init_thread", "MPI_Finalize",  "MPI_Get_library_version",
    "MPI_Comm_rank",   "MPI_Comm_size", "MPI_Comm_idup",   "MPI_Comm_free", "MPI_Comm_set_errhandler",
    "MPI_Isend",       "MPI_Irecv",     "MPI_Ibarrier",    "MPI_Test",      "MPI_Cancel",
    "MPI_Request_free"};
_Static_assert(sizeof names / sizeof *names * sizeof(void *) == sizeof(stn_mpi_calls), "one name for each call");

/* ---- the launcher ---------------------------------------------------------------------------- */

/* The integer value of an environment variable; -1 if it is not set. */
static int number_of(const char *variable) {
    const char *text = secure_getenv(variable);
    return text && *text >= '0' && *text <= '9' ? atoi(text) : -1;
}

static int first_of(const char *const *variables) {
    int number = -1;
    for (; *variables && number < 0; variables++) number = number_of(*variables);
    return number;
}

bool stn_mpi_launched(int *rank) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
    const char *path = secure_getenv(VARIABLE);
    const int size = first_of(sizes), own = first_of(ranks);
    if (rank) *rank = own > 0 ? own : 0;
    if (path && !strcmp(path, "none")) return false;
    return own >= 0 && (size < 0 || size > 1);
}

int stn_mpi_local(int *rank) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE", NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                        "LOCAL_RANK" /* torchrun */, NULL};
    const int size = first_of(sizes), own = first_of(ranks);
    *rank = own;
    return size > 0 ? size : 1;
}

/* ---- the library ----------------------------------------------------------------------------- */

const char *stn_mpi_advice(void) {
    return "install Open MPI (Debian: openmpi-bin) or MPICH, or point " VARIABLE " at libmpi.so.40 or libmpi.so.12";
}

/* Never unloaded. Open MPI's plugins look for its symbols among the global ones. */
static void *open_file(const char *path, int flags) {
    return stn_library_may_open(path) ? dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE | flags) : NULL;
}

static void *open_library(const char **path) {
    static const char *const open_mpi[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", NULL};
    static const char *const mpich[] = {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40", NULL};
    const char *const *sonames = number_of("OMPI_COMM_WORLD_SIZE") < 0 && number_of("PMI_SIZE") >= 0 ? mpich : open_mpi;
    const char *given = secure_getenv(VARIABLE);
    void *library = NULL;
    for (const char *const *soname = sonames; *soname && !library; soname++)
        if ((library = open_file(*soname, RTLD_NOLOAD))) *path = *soname;
    if (library) return library;
    if (given && *given) return *path = given, open_file(given, 0);
    for (const char *const *soname = sonames; *soname && !library; soname++)
        if ((library = open_file(*soname, 0))) *path = *soname;
    return library;
}

static bool take_handles(void *library, stn_mpi *mpi) {
    void *const world = dlsym(library, "ompi_mpi_comm_world"), *const byte = dlsym(library, "ompi_mpi_byte"),
                *const errors = dlsym(library, "ompi_mpi_errors_return");
    if (world && byte && errors) {
        mpi->world = (uintptr_t)world, mpi->byte = (uintptr_t)byte, mpi->errors_return = (uintptr_t)errors;
        mpi->any_source = -1, mpi->ignore = NULL;
        return true;
    }
    char text[VERSION_SIZE] = "";
    int size = 0;
    mpi->world = 0x44000000, mpi->byte = 0x4c00010d, mpi->errors_return = 0x54000001;
    mpi->any_source = -2, mpi->ignore = (void *)(uintptr_t)1;
    if (mpi->call.library_version(text, &size)) return false;
    return strstr(text, "MPICH") || strstr(text, "Intel(R) MPI") || strstr(text, "MVAPICH");
}

static stn_status load(stn_mpi *mpi, const char **path, stn_error *error) {
    const char *missing = NULL, *given = secure_getenv(VARIABLE);
    *path = NULL;
    if (given && !strcmp(given, "none"))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "MPI is not used, since " VARIABLE " is none: unset it");
    void *library = open_library(path);
    if (!library)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "no usable MPI was found%s%.300s: %s", given ? " at " : "",
                        given ? given : "", stn_mpi_advice());
    if (!stn_library_resolve(library, names, sizeof names / sizeof *names, &mpi->call, &missing))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "'%.300s' has no %s, so it is no MPI of version 3 or newer: %s",
                        *path, missing, stn_mpi_advice());
    if (take_handles(library, mpi)) return STN_OK;
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "'%.300s' has neither the ABI of Open MPI nor that of MPICH: %s",
                    *path, stn_mpi_advice());
}

bool stn_mpi_find(char *path, size_t path_size, char *version, size_t version_size) {
    stn_mpi mpi;
    const char *name;
    char text[VERSION_SIZE] = "";
    int size = 0;
    if (load(&mpi, &name, NULL) != STN_OK || mpi.call.library_version(text, &size)) return false;
    text[strcspn(text, ",\n\t")] = '\0';
    snprintf(path, path_size, "%s", name);
    snprintf(version, version_size, "%s", text);
    return true;
}

/* ---- from init to finalize ------------------------------------------------------------------- */

/* MPI can be initialised once per process, so this is process state: whether to finalise it. */
static stn_mpi initialised;
static volatile bool kept_open;

void stn_mpi_keep_open(void) { kept_open = true; }

/* At exit: only after all processes have reached it, since MPI_Finalize waits without a limit. */
static void finalise(void) {
    const stn_mpi *mpi = &initialised;
    stn_mpi_handle request = 0;
    int done = 0;
    struct timespec pause = {0, 1000000};
    if (kept_open || mpi->call.finalized(&done) || done || mpi->call.ibarrier(mpi->world, &request)) return;
    for (int waited = 0; waited < 1000 * FINALIZE_SECONDS; waited++) { /* milliseconds */
        if (mpi->call.test(&request, &done, mpi->ignore)) return;
        if (done) break;
        nanosleep(&pause, NULL);
    }
    if (done) (void)mpi->call.finalize();
}

stn_status stn_mpi_open(stn_mpi *mpi, stn_error *error) {
    const char *path;
    int flag = 0, provided;
    STN_TRY(load(mpi, &path, error));
    if (mpi->call.finalized(&flag) || flag)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "MPI is finalised already: make the team before MPI_Finalize");
    if (mpi->call.initialized(&flag)) return stn_fail(error, STN_ERROR_UNSUPPORTED, "'%.300s' does not answer", path);
    if (flag) return STN_OK;
    if (!stn_mpi_launched(NULL) && number_of("OMPI_COMM_WORLD_SIZE") < 0 && number_of("PMI_SIZE") < 0)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "this process was not started by mpirun: start it so, or call MPI_Init first");
    if (mpi->call.init_thread(NULL, NULL, FUNNELED, &provided))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "MPI of '%.300s' could not be initialised", path);
    initialised = *mpi;
    (void)atexit(finalise);
    return STN_OK;
}
