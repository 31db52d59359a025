/* MPI, opened at run time: the calls that teams of processes need. Only host memory goes through
 * it. */
#ifndef STN_TEAM_MPI_H
#define STN_TEAM_MPI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stentor.h"

/* A handle of either ABI: Open MPI's are pointers to its data symbols, MPICH's are integers, which
 * are the low half of the word. */
typedef uintptr_t stn_mpi_handle;

/* In the order of the names in mpi.c. */
typedef struct stn_mpi_calls {
    int (*initialized)(int *flag);
    int (*finalized)(int *flag);
    int (*init_thread)(int *argc, char ***argv, int required, int *provided);
    int (*finalize)(void);
    int (*library_version)(char *text, int *size); /* text: 8192 bytes; may be called before init */
    int (*comm_rank)(stn_mpi_handle comm, int *rank);
    int (*comm_size)(stn_mpi_handle comm, int *size);
    int (*comm_idup)(stn_mpi_handle comm, stn_mpi_handle *made, stn_mpi_handle *request);
    int (*comm_free)(stn_mpi_handle *comm);
    int (*comm_set_errhandler)(stn_mpi_handle comm, stn_mpi_handle handler);
    int (*isend)(const void *bytes, int count, stn_mpi_handle type, int to, int tag, stn_mpi_handle comm,
                 stn_mpi_handle *request);
    int (*irecv)(void *bytes, int count, stn_mpi_handle type, int from, int tag, stn_mpi_handle comm,
                 stn_mpi_handle *request);
    int (*ibarrier)(stn_mpi_handle comm, stn_mpi_handle *request);
    int (*test)(stn_mpi_handle *request, int *flag, void *status);
    int (*cancel)(stn_mpi_handle *request);
    int (*request_free)(stn_mpi_handle *request);
} stn_mpi_calls;

typedef struct stn_mpi {
    stn_mpi_calls call;
    stn_mpi_handle world, byte, errors_return;
    int any_source;
    void *ignore; /* MPI_STATUS_IGNORE */
} stn_mpi;

/* True if mpirun, mpiexec or srun started this process as one of several, according to the
 * environment. rank (may be NULL): the rank of this process, 0 if unknown. False with
 * STENTOR_MPI_PATH=none. */
bool stn_mpi_launched(int *rank);
/* The number of processes of this job on this host, and in *rank this one's index among them,
 * according to the launcher; else 1 and -1. */
int stn_mpi_local(int *rank);

/* Opens the library (the one that the process has loaded already, else $STENTOR_MPI_PATH, else the
 * first known name that the dynamic loader finds). If MPI is not initialised yet, initialises it,
 * and finalises it when the process exits unless stn_mpi_keep_open was called. Errors:
 * STN_ERROR_UNSUPPORTED: there is no library (the message says what was looked for), it has another
 * ABI, the process was not started by a launcher, or MPI is finalised already. */
stn_status stn_mpi_open(stn_mpi *mpi, stn_error *error);
/* Skips MPI_Finalize at exit, which would wait for a process that has stopped answering. */
void stn_mpi_keep_open(void);

/* The file or name of the library that would be opened, and its version, without initialising it.
 * False: none. */
bool stn_mpi_find(char *path, size_t path_size, char *version, size_t version_size);
/* The names that were searched and how to install MPI, as part of a sentence. */
const char *stn_mpi_advice(void);
#endif
