/* The host as a machine: its name, threads and memory, and assumed rates. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/pool.h"

/* Assumed of one core. Only the ratios matter, since the host is never compared with a GPU. */
#define CORE_CLOCK 2.5e9
#define CORE_COPY 10e9   /* bytes/s, read and write */
#define SOCKET_COPY 80e9 /* the limit of all cores together */

static void read_name(char *name, size_t size) {
    snprintf(name, size, "host");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value) continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(name, size, "%.*s", (int)size - 1, value);
        break;
    }
    fclose(file);
}

static size_t system_size(int name) {
    long value = sysconf(name);
    return value > 0 ? (size_t)value : 0;
}

void stn_machine_of_host(int threads, stn_machine *machine) {
    memset(machine, 0, sizeof *machine);
    machine->present = true;
    machine->threads = threads > 0 ? threads : stn_pool_allowed();
    machine->multiprocessors = machine->threads;
    read_name(machine->name, sizeof machine->name);
    machine->l2_bytes = system_size(_SC_LEVEL2_CACHE_SIZE);
    machine->memory_bytes = system_size(_SC_PHYS_PAGES) * system_size(_SC_PAGESIZE);
    double copy = CORE_COPY * machine->threads;
    machine->copy_bandwidth = copy < SOCKET_COPY ? copy : SOCKET_COPY;
    machine->flops[STN_UNIT_FMA_F64] = 8 * CORE_CLOCK * machine->threads; /* 4 lanes of an FMA */
    machine->flops[STN_UNIT_FMA_F32] = 2 * machine->flops[STN_UNIT_FMA_F64];
    machine->launch_seconds = 5e-6; /* of waking the pool */
}
