/* The kernels in memory: a list, which has a few hundred elements in practice. */
#include "context/kernel_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void stn_kernel_free(stn_kernel *kernel) {
    if (!kernel) return;
    stn_module_unload(kernel->module);
    free(kernel->name);
    free(kernel->params);
    free(kernel->ptx);
    free(kernel->cubin);
    free(kernel);
}

void stn_kernel_memory_open(stn_kernel_memory *memory) {
    *memory = (stn_kernel_memory){.owner = getpid()};
    pthread_mutex_init(&memory->lock, NULL);
    pthread_cond_init(&memory->made, NULL);
}

static void free_list(stn_kernel *first) {
    for (stn_kernel *next; first; first = next) {
        next = first->next;
        stn_kernel_free(first);
    }
}

void stn_kernel_memory_close(stn_kernel_memory *memory) {
    free_list(memory->first);
    pthread_cond_destroy(&memory->made);
    pthread_mutex_destroy(&memory->lock);
}

stn_kernel_found stn_kernel_memory_find(stn_kernel_memory *memory, stn_kernel *mine, bool wait, stn_kernel **found) {
    stn_kernel *each;
    pthread_mutex_lock(&memory->lock);
    do {
        for (each = memory->first; each && memcmp(&each->key, &mine->key, sizeof mine->key) != 0;) each = each->next;
    } while (each && each->making && wait && !pthread_cond_wait(&memory->made, &memory->lock));
    if (!each) {
        mine->making = true;
        mine->next = memory->first;
        memory->first = mine;
    } else if (!each->making && !each->holds++)
        memory->unheld--;
    const stn_kernel_found answer = !each ? STN_KERNEL_ABSENT : each->making ? STN_KERNEL_PENDING : STN_KERNEL_READY;
    pthread_mutex_unlock(&memory->lock);
    *found = answer == STN_KERNEL_READY ? each : NULL;
    return answer;
}

void stn_kernel_memory_end(stn_kernel_memory *memory, stn_kernel *mine, bool made) {
    pthread_mutex_lock(&memory->lock);
    stn_kernel **link = &memory->first;
    while (*link != mine) link = &(*link)->next;
    if (!made) *link = mine->next; /* The next request tries again. */
    mine->making = false;
    mine->holds = 1;
    pthread_cond_broadcast(&memory->made);
    pthread_mutex_unlock(&memory->lock);
}

void stn_kernel_memory_release(stn_kernel_memory *memory, stn_kernel *kernel) {
    if (!kernel || memory->owner != getpid()) return;
    pthread_mutex_lock(&memory->lock);
    if (!--kernel->holds) {
        kernel->released = ++memory->releases;
        memory->unheld++;
    }
    pthread_mutex_unlock(&memory->lock);
}

void stn_kernel_memory_trim(stn_kernel_memory *memory, size_t most) {
    stn_kernel *removed = NULL;
    pthread_mutex_lock(&memory->lock);
    for (; memory->unheld > most; memory->unheld--) {
        stn_kernel **oldest = NULL;
        for (stn_kernel **link = &memory->first; *link; link = &(*link)->next)
            if (!(*link)->making && !(*link)->holds && (!oldest || (*link)->released < (*oldest)->released))
                oldest = link;
        if (!oldest) break;
        stn_kernel *next = *oldest;
        *oldest = next->next;
        next->next = removed;
        removed = next;
    }
    pthread_mutex_unlock(&memory->lock);
    free_list(removed);
}
