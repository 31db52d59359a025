#!/usr/bin/env python3
"""Transforms on the host compared with scipy.fft on as many threads, as a Markdown table.

    taskset -c 0,1 bench/host_fft.py [--dtype f64] [--repeat 15]

Both read and return NumPy arrays and use the processors that this process may use. Calls of both
alternate, so that other work on the machine affects both equally; times are medians.
"""
import argparse
import os
import statistics
import time

import numpy as np
import scipy.fft

import stentor

SIZES = [(1024, 1024), (2048, 2048), (1000, 1000), (1021, 1021), (128, 128, 128), (100, 100, 100), (1 << 20,), (64, 4096), (360, 500), (1200, 1920)]
TYPES = {'f64': (np.float64, np.complex128), 'f32': (np.float32, np.complex64)}


def seconds(calls, repeat):
    """The median time of each of the calls."""
    took = [[] for _ in calls]
    for _ in range(repeat + 2):
        for call, list_of in zip(calls, took):
            start = time.perf_counter()
            call()
            list_of.append(time.perf_counter() - start)
    return [statistics.median(each[2:]) for each in took]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--dtype', default='f64', choices=TYPES)
    parser.add_argument('--repeat', default=15, type=int)
    arguments = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    random, (real_type, complex_type) = np.random.default_rng(1), TYPES[arguments.dtype]
    print(f'{arguments.dtype}, {threads} threads, scipy {scipy.__version__}, medians of {arguments.repeat}\n')
    print('| size | transform | ms | scipy, ms | times as fast | difference |')
    print('|---|---|--:|--:|--:|--:|')
    for size in SIZES:
        real = random.standard_normal(size).astype(real_type)
        full = (real + 1j * random.standard_normal(size)).astype(complex_type)
        half = scipy.fft.rfftn(real)
        for name, x, ours, theirs in [('c2c', full, stentor.fft.fftn, scipy.fft.fftn), ('r2c', real, stentor.fft.rfftn, scipy.fft.rfftn),
                                      ('c2r', half, lambda y: stentor.fft.irfftn(y, s=size), lambda y, workers: scipy.fft.irfftn(y, s=size, workers=workers))]:
            off = np.linalg.norm(ours(x) - theirs(x, workers=threads)) / np.linalg.norm(theirs(x, workers=threads))
            mine, other = seconds([lambda: ours(x), lambda: theirs(x, workers=threads)], arguments.repeat)
            print(f'| {" x ".join(map(str, size))} | {name} | {1e3 * mine:.3g} | {1e3 * other:.3g} | {other / mine:.2f} | {off:.1e} |', flush=True)


if __name__ == '__main__':
    main()
