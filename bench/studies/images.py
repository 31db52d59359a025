#!/usr/bin/env python3
"""Times of image filters and transforms from Python, compared with required times.

The cases are DCT-II and rfft2, a convolution with 255 x 255 weights, a Gaussian that leaves out
NaN, and Gaussians of uint8 images.

    PYTHONPATH=build/python python3 bench/studies/images.py [--device cuda] [--tiny] [--seconds 0.3]

Prints a Markdown table: the case, its time, what it is compared with (other libraries as far as
they are installed), that time, the ratio of the first to the second, and the bar of the ratio.
Results are checked at points; the exit status is 1 if one is wrong. With --tiny sizes are so small
that times have no meaning.
"""
import argparse
import sys

import numpy as np

import stentor
import stentor.signal
from stentor._compare import Prepared, seconds_of

wrong = []


def check(name, good):
    if not good:
        wrong.append(name)
        print(f'<!-- {name}: WRONG -->')


def close(a, b, bar=2e-5):
    return abs(float(a) - float(b)) <= bar * (1 + abs(float(b)))


class Place:
    """Where arrays are: NumPy's on the host; on a GPU PyTorch's, or Stentor's without it."""

    def __init__(self, device, seconds):
        self.device, self.seconds, self.torch = device, seconds, None
        if device != 'host':
            try:
                import torch
                self.torch = torch if torch.cuda.is_available() else None
            except ImportError:
                pass

    def put(self, array):
        if self.torch:
            return self.torch.from_numpy(array).to(self.device)
        return array if self.device == 'host' else stentor.to_device(array, self.device)

    def get(self, array):
        return array.cpu().numpy() if self.torch else array if self.device == 'host' else array.numpy()

    def time(self, call, wait=None):
        some = [None]

        def keep():
            some[0] = call()

        def end():  # the one stream's work is done when the last result is
            if self.torch:
                self.torch.cuda.synchronize()
            elif self.device != 'host':
                some[0]._home.synchronize(some[0].stream)

        return seconds_of(Prepared('', keep, wait or end, self.get), self.seconds)


def row(name, ours, other, theirs, bar=''):
    ratio = f'{ours / theirs:.3g}' if theirs else ''
    print(f'| {name} | {1e6 * ours:.1f} us | {other} | {f"{1e6 * theirs:.1f} us" if theirs else ""} | {ratio} | {bar} |', flush=True)


def transforms(place, rng, n):
    x = rng.standard_normal((n, n)).astype(np.float32)
    at = place.put(x)
    y = place.get(stentor.fft.dctn(at, type=2, norm='ortho'))
    check('dctn', close(np.sum(y * y, dtype=np.float64), np.sum(x * x, dtype=np.float64)) and close(y[0, 0], np.sum(x, dtype=np.float64) / n))
    back = place.get(stentor.fft.idctn(place.put(y), type=2, norm='ortho'))
    check('idctn', np.abs(back - x).max() < 1e-4)
    row(f'dctn type 2, {n}^2 f32', place.time(lambda: stentor.fft.dctn(at, type=2)), 'rfft2',
        place.time(lambda: stentor.fft.rfft2(at)), '1.3')


def convolution_by_torch(x, w, device):
    import torch
    size = [a + b - 1 for a, b in zip(x.shape, w.shape)]
    fast = [stentor.fft.next_fast_len(n, True) for n in size]
    x, w = (torch.from_numpy(each).to('cpu' if device == 'host' else device) for each in (x, w))
    begin = [(n - 1) // 2 for n in w.shape]

    def call():
        made = torch.fft.irfft2(torch.fft.rfft2(x, fast) * torch.fft.rfft2(w, fast), fast)
        return made[begin[0]:begin[0] + x.shape[0], begin[1]:begin[1] + x.shape[1]]
    return call, (lambda: None) if device == 'host' else torch.cuda.synchronize, lambda y: y.cpu().numpy()


def convolution_by_cupyx(x, w, device):
    import cupy
    import cupyx.scipy.signal
    if device == 'host':
        raise ImportError
    x, w = cupy.asarray(x), cupy.asarray(w)
    return lambda: cupyx.scipy.signal.fftconvolve(x, w, 'same'), cupy.cuda.Device().synchronize, cupy.asnumpy


def convolution(place, rng, n, m):
    x, w = rng.standard_normal((n, n)).astype(np.float32), rng.standard_normal((m, m)).astype(np.float32) / m
    at, by = place.put(x), place.put(w)
    made = place.get(stentor.signal.fftconvolve(at, by, mode='same'))
    for i, j in rng.integers(m, n - m, (4, 2)):
        part = x[i - m // 2:i + m // 2 + 1, j - m // 2:j + m // 2 + 1].astype(np.float64)
        check('fftconvolve', close(made[i, j], np.sum(part * w[::-1, ::-1]), 1e-4))
    ours = place.time(lambda: stentor.signal.fftconvolve(at, by, mode='same'))
    for name, prepare in (('torch', convolution_by_torch), ('cupyx', convolution_by_cupyx)):
        theirs = None
        try:
            call, wait, read = prepare(x, w, place.device)
            check(f'fftconvolve by {name}', np.abs(read(call()) - made).max() < 1e-3 * np.abs(made).max())
            theirs = place.time(call, wait)
        except ImportError:
            name += ' (not installed)'
        row(f'fftconvolve {n}^2 with {m}^2, f32', ours, name, theirs)


def line_of(sigma):
    reach = int(4 * sigma + 0.5)
    line = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    return line / line.sum()


def without_nan(place, rng, n, sigma):
    x = rng.standard_normal((n, n)).astype(np.float32)
    holes = np.where(rng.random((n, n)) < 0.1, np.float32(np.nan), x)
    at, full = place.put(holes), place.put(x)
    made, line = place.get(stentor.gaussian_filter(at, sigma, nan='ignore')), line_of(sigma)
    reach = len(line) // 2
    for i, j in rng.integers(reach, n - reach, (4, 2)):
        part = holes[i - reach:i + reach + 1, j - reach:j + reach + 1].astype(np.float64)
        weights = np.outer(line, line) * np.isfinite(part)
        check("nan='ignore'", close(made[i, j], np.sum(weights * np.nan_to_num(part)) / weights.sum()))
    row(f"gaussian_filter nan='ignore', sigma {sigma:g}, {n}^2 f32", place.time(lambda: stentor.gaussian_filter(at, sigma, nan='ignore')),
        'without NaN', place.time(lambda: stentor.gaussian_filter(full, sigma)), '2.2')


def by_axes(x, sigma):
    """scipy's Gaussian without sides: each axis is truncated, and sums are paired from outside."""
    line = line_of(sigma)
    reach = len(line) // 2
    for _ in range(2):
        terms = np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, len(line), 0), -1, 0).astype(np.float64)
        total = terms[reach] * line[reach]
        for k in range(reach):
            total = total + (terms[k] + terms[-1 - k]) * line[k]
        x = total.astype(x.dtype).T
    return x


def bytes_of_images(place, rng, shape, sigma):
    x = rng.integers(0, 256, shape, dtype=np.uint8)
    at = place.put(x)
    made, reach = place.get(stentor.gaussian_filter(at, sigma)), int(4 * sigma + 0.5)
    edge = 2 * reach + 40
    check(f'gaussian_filter of uint8, sigma {sigma:g}', np.array_equal(made[reach:edge - reach, reach:edge - reach], by_axes(x[:edge, :edge], sigma)))
    copy = place.put(np.zeros(shape, np.uint8))
    row(f'gaussian_filter sigma {sigma:g}, {shape[0]} x {shape[1]} uint8', place.time(lambda: stentor.gaussian_filter(at, sigma, output=copy)), '', None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--device', default='cuda', help="'cuda', 'cuda:N' or 'host'")
    parser.add_argument('--tiny', action='store_true')
    parser.add_argument('--seconds', type=float, default=0.3, help='the time to measure each case for')
    given = parser.parse_args()
    place, rng = Place(given.device, 0 if given.tiny else given.seconds), np.random.default_rng(1)
    print('| case | time | compared with | time | ratio | bar |\n|---|--:|---|--:|--:|--:|')
    transforms(place, rng, 64 if given.tiny else 4096)
    if place.torch or given.device == 'host':  # others need a library with arithmetic
        convolution(place, rng, *((96, 15) if given.tiny else (8192, 255)))
        without_nan(place, rng, 96 if given.tiny else 4096, 2.0)
    else:
        print('<!-- without PyTorch on the GPU: only cosine transforms and uint8 -->')
    for sigma in (1.0, 3.0):
        bytes_of_images(place, rng, (100, 129) if given.tiny else (2160, 3840), sigma)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
