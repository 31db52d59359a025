#!/usr/bin/env python3
"""The time of a warm call from Python: 64 points on the host and, with PyTorch, as a CUDA tensor.

Usage: PYTHONPATH=build/python bench/python_overhead.py. Each time is the minimum of many rounds, in
microseconds per call. On a GPU calls are enqueued, and each round waits for the queue at its end.
The same is measured for well-known functions of other libraries.
"""
import timeit

import numpy as np

import stentor

WEIGHTS = np.array([0.25, 0.5, 0.25])
CALLS, ROUNDS = 300, 60


def least(call, synchronize=lambda: None):
    def round_of_calls():
        for _ in range(CALLS):
            call()

    round_of_calls()
    synchronize()
    best = float('inf')
    for _ in range(ROUNDS):
        best = min(best, timeit.timeit(round_of_calls, number=1) / CALLS)
        synchronize()
    return best * 1e6


def rows_host():
    x = np.random.default_rng(0).standard_normal(64)
    plan = stentor.Plan((64,), WEIGHTS, boundary='reflect', device='host')
    yield 'Plan', lambda: plan(x)
    yield 'correlate', lambda: stentor.correlate(x, WEIGHTS)
    yield 'gaussian_filter', lambda: stentor.gaussian_filter(x, 1.5)
    yield 'laplace', lambda: stentor.laplace(x)
    yield 'fft.rfft', lambda: stentor.fft.rfft(x)
    try:
        import scipy.fft
        from scipy import ndimage
    except ImportError:
        return
    yield 'scipy.ndimage.correlate', lambda: ndimage.correlate(x, WEIGHTS)
    yield 'scipy.ndimage.gaussian_filter', lambda: ndimage.gaussian_filter(x, 1.5)
    yield 'scipy.fft.rfft', lambda: scipy.fft.rfft(x)


def rows_cuda(torch):
    x = torch.randn(8, 8, device='cuda')
    heat = np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]])
    plan = stentor.Plan((8, 8), heat, dtype='float32', device='cuda', tune='estimate')
    image, kernel = x[None, None], torch.tensor(heat, dtype=torch.float32, device='cuda')[None, None]
    yield 'Plan', lambda: plan(x)
    yield 'correlate', lambda: stentor.correlate(x, heat)
    yield 'torch.conv2d', lambda: torch.conv2d(image, kernel, padding=1)


def main():
    print('on the host, 64 points of float64')
    for name, call in rows_host():
        print(f'  {name:32} {least(call):6.1f} us')
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        print(f'on {torch.cuda.get_device_name()}, 8 x 8 points of float32')
        for name, call in rows_cuda(torch):
            print(f'  {name:32} {least(call, torch.cuda.synchronize):6.1f} us')


if __name__ == '__main__':
    main()
