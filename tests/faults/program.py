"""A small program that uses the Python package while one call in the library fails.

Each result must be right, or an exception with a message of one sentence, once at most; the same
call made again must be right. Run by faults.py."""
import sys

import numpy as np

import stentor

x = np.random.default_rng(0).standard_normal((24, 20))
KERNEL = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])


def laplace(a):
    padded = np.pad(a, 1, mode='symmetric')
    return sum(w * padded[i:i + a.shape[0], j:j + a.shape[1]] for (i, j), w in np.ndenumerate(KERNEL))


def changed():
    plan = stentor.Plan(x.shape, KERNEL, boundary='reflect', device='host')
    plan.weights = 2 * KERNEL
    return plan(x)


def heat():
    return stentor.Plan(x.shape, KERNEL * 0.1 + [[0, 0, 0], [0, 1, 0], [0, 0, 0]], boundary='reflect', steps=2, device='host')(x)


once = x + 0.1 * laplace(x)
CALLS = [(lambda: stentor.laplace(x), laplace(x)), (lambda: stentor.correlate(x, KERNEL), laplace(x)), (changed, 2 * laplace(x)),
         (heat, once + 0.1 * laplace(once)), (lambda: stentor.fft.fft2(x), np.fft.fft2(x)),
         (lambda: stentor.fft.irfft(stentor.fft.rfft(x), x.shape[1]), x),
         (lambda: stentor.uniform_filter(np.ones((9, 9)), 3), np.ones((9, 9)))]
failures = 0
for call, expected in CALLS:
    for attempt in range(3):
        try:
            result = call()
        except (MemoryError, RuntimeError, OSError) as error:
            text = str(error)
            failures += 1
            if failures > 1 or not text.strip() or '\n' in text:
                sys.exit(f'failure {failures}, in attempt {attempt}: {type(error).__name__}: {text!r}')
        else:
            if not np.allclose(result, expected, atol=1e-10):
                sys.exit('a wrong result')
