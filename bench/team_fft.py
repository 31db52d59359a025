#!/usr/bin/env python3
"""Times transforms of one array on one device and divided over several, whose parts stay on the
devices, and with cuFFT's own several-GPU interface (cufftXt) if cuFFT is found. Compares rows of
the two results.

    PYTHONPATH=build/python python3 bench/team_fft.py [--devices 0,1] [--size 1024x1024x1024]
        [--kind c2c|r2c|c2r] [--dtype f32|f64] [--repeat 7]

Prints the devices' plan and one line for each, with the median seconds."""
import argparse
import ctypes
import os
import statistics
import time

import numpy as np
from stentor._context import context, context_options
from stentor._errors import check, new_error
from stentor._handle import plan_options
from stentor._library import ffi, lib, take_text
from stentor._team import team_devices

BLOCK = 64 << 20  # bytes that are uploaded at once
error = new_error()


def call(function, *arguments):
    check(function(*arguments, error), error)


def made(kind, function, *arguments):
    place = ffi.new(kind + ' *')
    call(function, *arguments, place)
    return place[0]


def fill(where, pointer, first, count, dtype):
    """Numbers `first` to first + count of the array, different in each block."""
    base = np.random.default_rng(1).standard_normal(BLOCK // dtype.itemsize).astype(dtype)
    done = first
    while done < first + count:
        block, offset = divmod(done, len(base))
        some = min(len(base) - offset, first + count - done)
        values = base[offset:offset + some] * dtype.type(1 + block % 97 / 10)
        call(lib.stn_memory_upload, where, ffi.cast('char *', pointer) + (done - first) * dtype.itemsize,
             ffi.cast('void *', values.ctypes.data), values.nbytes)
        done += some


def median(run, repeat):
    run()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def cufft_xt(devices, shape, repeat):
    """Median seconds of cuFFT's divided C2C transform in float32; None: there is none."""
    cufft = None
    for name in (os.environ.get('STENTOR_CUFFT_PATH', ''), 'libcufft.so.12', 'libcufft.so.11'):
        try:
            cufft = cufft or (ctypes.CDLL(name) if name else None)
        except OSError:
            continue
    if cufft is None:
        return None
    plan, descriptor = ctypes.c_int(), ctypes.c_void_p()
    sizes, numbers = (ctypes.c_size_t * len(devices))(), (ctypes.c_int * len(devices))(*devices)
    if cufft.cufftCreate(ctypes.byref(plan)) or cufft.cufftXtSetGPUs(plan, len(devices), numbers):
        return None
    make = {2: cufft.cufftMakePlan2d, 3: cufft.cufftMakePlan3d}[len(shape)]
    # CUFFT_C2C, CUFFT_XT_FORMAT_INPLACE.
    if make(plan, *shape, 0x29, sizes) or cufft.cufftXtMalloc(plan, ctypes.byref(descriptor), 2):
        return None
    # The call returns before the GPUs have finished; copying one GPU's number back waits for all.
    cuda = ctypes.CDLL('libcuda.so.1')
    contexts = [ctypes.c_void_p() for _ in devices]
    for number, each in zip(devices, contexts):
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(each), number)

    def run():
        if cufft.cufftXtExecDescriptorC2C(plan, descriptor, descriptor, -1):
            raise RuntimeError('cufftXtExecDescriptorC2C failed')
        for each in contexts:
            cuda.cuCtxPushCurrent_v2(each)
            cuda.cuCtxSynchronize()
            cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    return median(run, repeat)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (('devices', '0,1'), ('size', '1024x1024x1024'), ('kind', 'c2c'), ('dtype', 'f32'), ('repeat', '7')):
        parser.add_argument('--' + name, default=default)
    given = parser.parse_args()
    shape = [int(n) for n in given.size.split('x')]
    devices = team_devices([d if d == 'host' else int(d) for d in given.devices.split(',')])
    real = np.dtype({'f32': np.float32, 'f64': np.float64}[given.dtype])
    half = int(np.prod(shape[1:-1], dtype=int)) * (shape[-1] // 2 + 1) * 2
    full = int(np.prod(shape[1:], dtype=int))
    # Numbers of a row, in and out.
    rows = {'c2c': (2 * full, 2 * full), 'r2c': (full, half), 'c2r': (half, full)}[given.kind]
    work = ffi.new('stn_transform *', {'struct_size': ffi.sizeof('stn_transform'), 'rank': len(shape), 'extent': shape})
    work.kind, work.dtype = getattr(lib, f'STN_{given.kind.upper()}'), getattr(lib, f'STN_{given.dtype.upper()}')
    options, _ = plan_options(None, 'estimate')

    one = context(devices[0]).handle
    plan = made('stn_plan *', lib.stn_plan_create_fft, one, work, options)
    memory = [made('void *', lib.stn_memory_alloc, one, shape[0] * n * real.itemsize) for n in rows]
    fill(one, memory[0], 0, shape[0] * rows[0], real)

    def alone():
        call(lib.stn_plan_execute, plan, memory[0], memory[1], ffi.NULL)
        call(lib.stn_synchronize, one, ffi.NULL)
    seconds = median(alone, int(given.repeat))
    print(f'one device   {seconds:.6f} s, {ffi.string(lib.stn_plan_strategy(plan)).decode()}')
    want = np.empty((shape[0], min(rows[1], 4096)), real)
    for row in range(0, shape[0], max(1, shape[0] // 64)):
        call(lib.stn_memory_download, one, ffi.cast('void *', want[row].ctypes.data),
             ffi.cast('char *', memory[1]) + row * rows[1] * real.itemsize, want[row].nbytes)
    for each in memory:
        lib.stn_memory_free(one, each)
    lib.stn_plan_destroy(plan)

    numbers = ffi.new('int[]', [lib.STN_DEVICE_HOST if d < 0 else d + 1 for d in devices])
    given_context, kept = context_options()
    team = made('stn_team *', lib.stn_team_create, given_context, len(devices), numbers)
    del kept  # not freed before this point
    divided = made('stn_team_plan *', lib.stn_team_plan_create_fft, team, work, options)
    words = ffi.new('char **')
    call(lib.stn_team_plan_describe, divided, words)
    print(take_text(words))
    parts = [ffi.new('void *[]', len(devices)) for _ in rows]
    first, count = ffi.new('size_t *'), ffi.new('size_t *')
    for m in range(len(devices)):
        call(lib.stn_team_plan_local, divided, m, first, count)
        for part, n in zip(parts, rows):
            part[m] = made('void *', lib.stn_memory_alloc, lib.stn_team_context(team, m), count[0] * n * real.itemsize)
        fill(lib.stn_team_context(team, m), parts[0][m], first[0] * rows[0], count[0] * rows[0], real)
    several = median(lambda: call(lib.stn_team_plan_execute, divided, parts[0], parts[1], ffi.NULL), int(given.repeat))
    worst, got = 0.0, np.empty(want.shape[1], real)
    for m in range(len(devices)):
        call(lib.stn_team_plan_local, divided, m, first, count)
        for row in range(0, shape[0], max(1, shape[0] // 64)):
            if first[0] <= row < first[0] + count[0]:
                call(lib.stn_memory_download, lib.stn_team_context(team, m), ffi.cast('void *', got.ctypes.data),
                     ffi.cast('char *', parts[1][m]) + (row - first[0]) * rows[1] * real.itemsize, got.nbytes)
                worst = max(worst, float(np.abs(got - want[row]).max() / np.abs(want[row]).max()))
    bar = 1e-5 if given.dtype == 'f32' else 1e-13
    print(f'{len(devices)} devices    {several:.6f} s, {seconds / several:.3f} times; off by {worst:.2e}: '
          f'{"right" if worst <= bar else "WRONG"}')
    for m in range(len(devices)):
        for part in parts:
            lib.stn_memory_free(lib.stn_team_context(team, m), part[m])
    lib.stn_team_plan_destroy(divided)
    lib.stn_team_destroy(team)
    if given.kind == 'c2c' and given.dtype == 'f32' and min(devices) >= 0:
        xt = cufft_xt(devices, shape, int(given.repeat))
        print('cufftXt      not found' if xt is None else f'cufftXt      {xt:.6f} s, {xt / several:.3f} of ours; output permuted')
    return worst > bar


if __name__ == '__main__':
    raise SystemExit(main())
