/* X-macro list of all driver functions that we call: X(name, version, (arguments)). It defines the
 * table, the loader and the messages.
 *
 * `name` is passed to cuGetProcAddress as it is, without a suffix such as _v2; `version` selects
 * the signature (3020 is CUDA 3.2). It is the release that introduced the signature written here,
 * so that a newer driver cannot return another one. All are older than 12.0, the oldest driver that
 * we accept. */
#ifndef STN_LAUNCH_DRIVER_FUNCTIONS_H
#define STN_LAUNCH_DRIVER_FUNCTIONS_H

/* clang-format off */
#define STN_DRIVER_FUNCTION_LIST(X)                                                                                    \
    X(cuInit, 2000, (unsigned flags))                                                                                  \
    X(cuDriverGetVersion, 2020, (int *version))                                                                        \
    X(cuGetErrorName, 6000, (stn_cu_result result, const char **name))                                                 \
    X(cuGetErrorString, 6000, (stn_cu_result result, const char **text))                                               \
    X(cuDeviceGetCount, 2000, (int *count))                                                                            \
    X(cuDeviceGet, 2000, (stn_cu_device *device, int ordinal))                                                         \
    X(cuDeviceGetName, 2000, (char *name, int size, stn_cu_device device))                                             \
    X(cuDeviceGetUuid, 11040, (stn_cu_uuid *uuid, stn_cu_device device))                                               \
    X(cuDeviceGetAttribute, 2000, (int *value, stn_cu_enum attribute, stn_cu_device device))                           \
    X(cuDeviceTotalMem, 3020, (size_t *bytes, stn_cu_device device))                                                   \
    X(cuDevicePrimaryCtxRetain, 7000, (stn_cu_context *context, stn_cu_device device))                                 \
    X(cuDevicePrimaryCtxRelease, 11000, (stn_cu_device device))                                                        \
    X(cuCtxPushCurrent, 4000, (stn_cu_context context))                                                                \
    X(cuCtxPopCurrent, 4000, (stn_cu_context *context))                                                                \
    X(cuCtxGetCurrent, 4000, (stn_cu_context *context))                                                                \
    X(cuCtxSetCurrent, 4000, (stn_cu_context context))                                                                 \
    X(cuCtxSynchronize, 2000, (void))                                                                                  \
    X(cuMemGetInfo, 3020, (size_t *free_bytes, size_t *total_bytes))                                                   \
    X(cuMemAlloc, 3020, (stn_cu_pointer *pointer, size_t bytes))                                                       \
    X(cuMemFree, 3020, (stn_cu_pointer pointer))                                                                       \
    X(cuMemcpyHtoD, 3020, (stn_cu_pointer to, const void *from, size_t bytes))                                         \
    X(cuMemcpyDtoH, 3020, (void *to, stn_cu_pointer from, size_t bytes))                                               \
    X(cuMemcpyDtoDAsync, 3020, (stn_cu_pointer to, stn_cu_pointer from, size_t bytes, stn_cu_stream stream))           \
    X(cuMemcpyPeerAsync, 4000, (stn_cu_pointer to, stn_cu_context to_context, stn_cu_pointer from,                      \
                                stn_cu_context from_context, size_t bytes, stn_cu_stream stream))                      \
    X(cuMemcpy3DPeerAsync, 4000, (const stn_cu_memcpy_3d_peer *copy, stn_cu_stream stream))                            \
    X(cuCtxEnablePeerAccess, 4000, (stn_cu_context peer, unsigned flags))                                              \
    X(cuMemsetD8Async, 3020, (stn_cu_pointer to, unsigned char value, size_t bytes, stn_cu_stream stream))             \
    X(cuPointerGetAttribute, 4000, (void *value, stn_cu_enum attribute, stn_cu_pointer pointer))                       \
    X(cuModuleLoadDataEx, 2010, (stn_cu_module *module, const void *image, unsigned count, stn_cu_enum *options,       \
                                 void **values))                                                                       \
    X(cuModuleUnload, 2000, (stn_cu_module module))                                                                    \
    X(cuModuleGetFunction, 2000, (stn_cu_function *function, stn_cu_module module, const char *name))                  \
    X(cuFuncGetAttribute, 2020, (int *value, stn_cu_enum attribute, stn_cu_function function))                         \
    X(cuFuncSetAttribute, 9000, (stn_cu_function function, stn_cu_enum attribute, int value))                          \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, (int *blocks, stn_cu_function function, int threads,          \
                                                          size_t shared_bytes))                                        \
    X(cuLaunchKernel, 4000, (stn_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,              \
                             stn_cu_stream stream, void **arguments, void **extra))                                    \
    X(cuLaunchKernelEx, 11060, (const stn_cu_launch_config *config, stn_cu_function function, void **arguments,        \
                                void **extra))                                                                         \
    X(cuStreamCreate, 2000, (stn_cu_stream *stream, unsigned flags))                                                   \
    X(cuStreamCreateWithPriority, 5050, (stn_cu_stream *stream, unsigned flags, int priority))                         \
    X(cuStreamDestroy, 4000, (stn_cu_stream stream))                                                                   \
    X(cuStreamSynchronize, 2000, (stn_cu_stream stream))                                                               \
    X(cuStreamWaitEvent, 3020, (stn_cu_stream stream, stn_cu_event event, unsigned flags))                             \
    X(cuStreamIsCapturing, 10000, (stn_cu_stream stream, stn_cu_enum *status))                                         \
    X(cuStreamBeginCapture, 10010, (stn_cu_stream stream, stn_cu_enum mode))                                           \
    X(cuStreamEndCapture, 10000, (stn_cu_stream stream, stn_cu_graph *graph))                                          \
    X(cuGraphInstantiateWithFlags, 11040, (stn_cu_graph_exec *exec, stn_cu_graph graph, unsigned long long flags))     \
    X(cuGraphLaunch, 10000, (stn_cu_graph_exec exec, stn_cu_stream stream))                                            \
    X(cuGraphExecDestroy, 10000, (stn_cu_graph_exec exec))                                                             \
    X(cuGraphDestroy, 10000, (stn_cu_graph graph))                                                                     \
    X(cuEventCreate, 2000, (stn_cu_event *event, unsigned flags))                                                      \
    X(cuEventDestroy, 4000, (stn_cu_event event))                                                                      \
    X(cuEventRecord, 2000, (stn_cu_event event, stn_cu_stream stream))                                                 \
    X(cuEventQuery, 2000, (stn_cu_event event))                                                                        \
    X(cuEventSynchronize, 2000, (stn_cu_event event))                                                                  \
    X(cuEventElapsedTime, 2000, (float *milliseconds, stn_cu_event start, stn_cu_event stop))
/* clang-format on */
#endif
