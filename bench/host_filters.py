#!/usr/bin/env python3
"""Filters of NumPy arrays on the host compared with scipy.ndimage, which has one thread.

Usage: PYTHONPATH=build/python bench/host_filters.py [--repeat N]. Each time is the minimum of N
calls, in milliseconds.
"""
import argparse
import time

import numpy as np
from scipy import ndimage

import stentor


def least(call, repeat):
    call()
    best = float('inf')
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def rows():
    """The cases: an array, the filter, its arguments."""
    rng = np.random.default_rng(0)
    seven = rng.standard_normal((7, 7))
    for dtype in ('float64', 'float32'):
        x = rng.standard_normal((2048, 2048)).astype(dtype)
        for sigma in (1, 3, 16, 30):
            yield f'2048^2, sigma {sigma}', x, 'gaussian_filter', (sigma,)
        for size in (3, 31, 101, 255):
            yield f'2048^2, size {size}', x, 'uniform_filter', (size,)
        yield '2048^2, 7 x 7', x, 'correlate', (seven,)
        yield '2048^2', x, 'laplace', ()
        yield '2048^2 transposed, sigma 3', x.T, 'gaussian_filter', (3,)
        yield '1024^2 of each second point, sigma 3', x[::2, ::2], 'gaussian_filter', (3,)
        yield '1024^2 complex, sigma 3', x[:1024, :1024] + 1j, 'gaussian_filter', (3,)
        yield '512^2 x 3 colours, sigma 3', x[:512, :1536].reshape(512, 512, 3).copy(), 'gaussian_filter', ((3, 3, 0),)
        yield '128^3, sigma 2', x.reshape(-1)[:1 << 21].reshape(128, 128, 128), 'gaussian_filter', (2,)
    yield '2048^2, sigma 3', (np.abs(x) * 50).astype('uint8'), 'gaussian_filter', (3,)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument('--repeat', type=int, default=5)
    repeat = options.parse_args().repeat
    print('| filter | of | Stentor, ms | scipy, ms |\n|---|---|--:|--:|')
    for what, x, name, given in rows():
        try:
            ours = f'{least(lambda: getattr(stentor, name)(x, *given), repeat):.1f}'
        except ValueError:
            ours = 'refused'
        theirs = least(lambda: getattr(ndimage, name)(x, *given), max(1, repeat // 3))
        print(f'| {name} | {what}, {x.dtype} | {ours} | {theirs:.1f} |', flush=True)


if __name__ == '__main__':
    main()
