/* A driver from before CUDA 12: it has no cuGetProcAddress_v2. */
__attribute__((visibility("default"))) int cuInit(unsigned flags) { return (int)flags; }
