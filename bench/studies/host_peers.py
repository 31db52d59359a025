#!/usr/bin/env python3
"""Filters of NumPy arrays on one core of the host compared with OpenCV, Numba and scipy.ndimage.

Usage: PYTHONPATH=build/python bench/studies/host_peers.py [--repeat N] [--only TEXT]. Each time is
the minimum CPU time of N calls, in milliseconds; calls of both sides alternate. Rows of libraries
that are not installed are skipped.
"""
import argparse
import time

import numpy as np
from scipy import ndimage

import stentor

try:
    import cv2
    cv2.setNumThreads(1)
except ImportError:
    cv2 = None
try:
    import numba
except ImportError:
    numba = None


def in_turns(calls, repeat):
    """The minimum time of each, with alternating calls."""
    best = [float('inf')] * len(calls)
    for i in range(repeat + 1):
        for k, call in enumerate(calls):
            begin = time.thread_time()
            call()
            if i:
                best[k] = min(best[k], time.thread_time() - begin)
    return [seconds * 1e3 for seconds in best]


def images(rng):
    """Compared with OpenCV, whose border is SciPy's mirror."""
    x = rng.standard_normal((2048, 2048)).astype('f4')
    bytes_, shorts = (np.abs(x) * 50).astype('u1'), (np.abs(x) * 5000).astype('u2')
    for dtype, image in (('f32', x), ('f64', x.astype('f8')), ('uint8', bytes_), ('uint16', shorts)):
        for sigma in (1, 3):
            points = 8 * sigma + 1
            yield (f'gaussian sigma {sigma} {dtype}', lambda image=image, sigma=sigma: stentor.gaussian_filter(image, sigma, mode='mirror'),
                   'OpenCV', lambda image=image, sigma=sigma, points=points: cv2.GaussianBlur(image, (points, points), sigma))
    for dtype, image in (('f32', x), ('uint8', bytes_), ('uint16', shorts)):
        for size in (3, 5, 31, 101):
            yield (f'uniform {size}x{size} {dtype}', lambda image=image, size=size: stentor.uniform_filter(image, size, mode='mirror'),
                   'OpenCV', lambda image=image, size=size: cv2.blur(image, (size, size)))
    for dtype, image in (('f32', x), ('f64', x.astype('f8')), ('uint8', bytes_)):
        for size in (3, 5, 9, 17, 31):
            kernel = rng.standard_normal((size, size))
            given = kernel.astype('f4') if dtype == 'f32' else kernel
            yield (f'dense {size}x{size} {dtype}', lambda image=image, given=given: stentor.correlate(image, given, mode='mirror'),
                   'OpenCV', lambda image=image, given=given: cv2.filter2D(image, -1, given))
    small = np.ascontiguousarray(x[:512, :512])
    yield ('gaussian 512^2 sigma 1 f32', lambda: stentor.gaussian_filter(small, 1, mode='mirror'),
           'OpenCV', lambda: cv2.GaussianBlur(small, (9, 9), 1))
    yield ('laplace f32', lambda: stentor.laplace(x, mode='mirror'), 'OpenCV', lambda: cv2.Laplacian(x, cv2.CV_32F, ksize=1))


def heat(rng):
    """One step compared with a loop compiled by Numba."""
    @numba.njit(fastmath=True)
    def step(u, v, c):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                for k in range(1, u.shape[2] - 1):
                    v[i, j, k] = u[i, j, k] + c * (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] +
                                                   u[i, j, k - 1] + u[i, j, k + 1] - 6 * u[i, j, k])
    for dtype in ('f4', 'f8'):
        u = rng.standard_normal((200, 200, 200)).astype(dtype)
        v, ours = u.copy(), np.empty_like(u)
        plan = stentor.Plan(u.shape, 'heat-3d', dtype={'f4': 'float32', 'f8': 'float64'}[dtype],
                            boundary='fixed', device='host')
        c = u.dtype.type(0.1)
        yield f'heat-3d one step {dtype}', lambda plan=plan, u=u, ours=ours: plan(u, out=ours), 'Numba', lambda u=u, v=v, c=c: step(u, v, c)


def shapes(rng):
    """Compared with SciPy: short axes, and small arrays with a reused or a new plan."""
    def against(name, what, x, *given):
        return (f'{name} {what}', lambda: getattr(stentor, name)(x, *given), 'scipy', lambda: getattr(ndimage, name)(x, *given))

    def anew(name, what, x, make):
        """A new plan for each call."""
        ours, theirs = iter(range(1, 1 << 30)), iter(range(1, 1 << 30))
        return (f'{name} {what}, new', lambda: getattr(stentor, name)(x, make(next(ours))), 'scipy',
                lambda: getattr(ndimage, name)(x, make(next(theirs))))
    for last in (3, 8, 16, 32):
        x = rng.standard_normal((400000 // last, last))
        yield against('gaussian_filter', f'sigma 1 of axis {last}', x, 1)
        yield against('uniform_filter', f'size 3 of axis {last}', x, 3)
    yield against('uniform_filter', 'size 3 of (40000,3)', rng.standard_normal((40000, 3)), 3)
    yield against('gaussian_filter', '512^2 uint8 sigma 2', (rng.random((512, 512)) * 255).astype('u1'), 2)
    yield against('gaussian_filter', '2048^2 f64 sigma 2', rng.standard_normal((2048, 2048)), 2)
    for n in (16, 64):
        x = rng.standard_normal((n, n))
        yield anew('gaussian_filter', f'{n}^2', x, lambda i: 1 + i * 1e-6)
        yield anew('correlate', f'{n}^2', x, lambda i: np.full((3, 3), i * 1e-6))
        yield against('gaussian_filter', f'{n}^2', x, 1.0)
        yield against('correlate', f'{n}^2', x, np.ones((3, 3)))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--repeat', type=int, default=7)
    options.add_argument('--only', default='')
    given = options.parse_args()
    stentor.configure(threads=1)
    rng = np.random.default_rng(0)
    groups = [images] * (cv2 is not None) + [heat] * (numba is not None) + [shapes]
    print('| filter | peer | Stentor, ms | peer, ms | ratio |\n|---|---|--:|--:|--:|')
    for group in groups:
        for what, ours, peer, theirs in group(rng):
            if given.only in what:
                a, b = in_turns((ours, theirs), given.repeat)
                print(f'| {what} | {peer} | {a:.3f} | {b:.3f} | {a / b:.2f} |', flush=True)


if __name__ == '__main__':
    main()
