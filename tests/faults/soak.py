#!/usr/bin/env python3
"""Soak test: calls of changing shapes, plans, new weights, systems, threads, forks, workers and
spawned processes, for some time.

Memory, open files and threads must not grow: the most of the last third of the time is compared
with the most of the second third. Usage: soak.py [--seconds N] [--device host|cuda] [--seed N]. The
last line has the numbers; the exit status is 1 if one of them grew."""
import argparse
import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np

import stentor

try:
    from torch.utils.data import DataLoader
except ImportError:
    DataLoader = None

MODES = ['reflect', 'wrap', 'mirror', 'nearest', 'constant']
WAVE = 'field u(2)\ncoefficient c2\nstencil lap = laplace-2d\nu.next = 2*u - u.prev + c2*lap(u)\n'
EXECUTIONS = 1000
SLACK = 8 << 20  # bytes of memory by which the allocator's own use may vary


def filtered(x):
    return stentor.gaussian_filter(x, 1.5)


class Rows:
    """The data set of a DataLoader, whose items are filtered rows."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return filtered(self.rows[at])


class Work:
    """Random work, and the number of calls of each kind."""

    def __init__(self, seed, device, most):
        """most: how many different calls are made, 0: any number."""
        self.rng = self.choices = np.random.default_rng(seed)
        self.device, self.counts, self.seed, self.most = device, {}, seed, most
        self.system = stentor.System(WAVE)
        self.plan = stentor.Plan((64, 64), 'heat-2d:alpha=0.2', boundary='reflect', steps=4, device=device)
        self.given = self.array((64, 64))
        self.expected = self.host(self.plan(self.given))
        self.plan_of_host = stentor.Plan((64, 64), 'heat-2d:alpha=0.2', boundary='reflect', steps=4, device='host')
        self.given_on_host = self.host(self.given)
        self.expected_on_host = self.plan_of_host(self.given_on_host)

    def array(self, shape, dtype='float64'):
        made = self.rng.standard_normal(shape).astype(dtype)
        return made if self.device == 'host' else stentor.to_device(made, self.device)

    @staticmethod
    def host(x):
        return x if isinstance(x, np.ndarray) else x.numpy()

    def one_of(self, values):
        return values[int(self.rng.integers(len(values)))]

    def shape(self):
        # On a GPU taps reach no further than an axis is long.
        least = 3 if self.device == 'host' else 26
        return tuple(int(n) for n in self.rng.integers(least, 70, int(self.rng.integers(1, 4))))

    def filters(self):
        x, mode = self.array(self.shape(), self.one_of(['float32', 'float64'])), self.one_of(MODES)
        kind = int(self.rng.integers(4))
        if kind == 0:
            stentor.gaussian_filter(x, float(self.rng.uniform(0.4, 3)), mode=mode)
        elif kind == 1:
            stentor.uniform_filter(x, int(self.rng.integers(2, 9)), mode=mode)
        elif kind == 2:
            stentor.laplace(x, mode=mode, steps=int(self.rng.integers(1, 4)))
        else:
            stentor.correlate(x, self.rng.standard_normal((3,) * len(x.shape)), mode=mode)

    def transforms(self):
        x = self.array(self.shape())
        self.one_of([stentor.fft.rfftn, stentor.fft.rfft])(x)

    def plans(self):
        shape = self.shape()[:2]
        taps = self.rng.standard_normal((3,) * len(shape)) / 9
        plan = stentor.Plan(shape, taps, boundary=self.one_of(MODES), steps=int(self.rng.integers(1, 9)), device=self.device)
        x = self.array(shape)
        plan(x)
        plan.weights = self.rng.standard_normal(taps.shape) / 9
        plan(x)
        plan.describe()

    def systems(self):
        shape = tuple(int(n) for n in self.rng.integers(8, 40, 2))
        zero = self.array(shape)
        self.system({'u': zero, 'u.prev': zero}, {'c2': 0.2}, steps=int(self.rng.integers(1, 6)))

    def mistakes(self):
        for call in (lambda: stentor.laplace(self.given, mode='nowhere'), lambda: stentor.Plan((4, 4), 'nothing'),
                     lambda: self.plan(self.given, out=np.empty(3))):
            try:
                call()
            except (ValueError, RuntimeError, TypeError):
                continue
            raise AssertionError('a mistake was not refused')

    def threads(self):
        others = [threading.Thread(target=lambda: self.plan(self.given)) for _ in range(3)]
        for each in others:
            each.start()
        for each in others:
            each.join()

    def again(self):
        """Many executions of one plan."""
        out = self.plan(self.given)
        for _ in range(EXECUTIONS):
            self.plan(self.given, out=out)
        self.counts['executions'] = self.counts.get('executions', 0) + EXECUTIONS

    def forks(self):
        """A child uses a plan of its parent for the host: of a GPU it may use nothing."""
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if np.array_equal(self.plan_of_host(self.given_on_host), self.expected_on_host) else 1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise AssertionError('a forked child hung or has another result')

    def workers(self):
        """Forked workers, as those of a DataLoader of PyTorch, which is used if it is installed."""
        if DataLoader:
            made = [np.asarray(each[0]) for each in DataLoader(Rows(self.given_on_host), num_workers=2)]
        else:
            with multiprocessing.get_context('fork').Pool(2) as pool:
                made = pool.map(filtered, self.given_on_host)
                pool.close()
                pool.join()
        if not np.allclose(made, [filtered(each) for each in self.given_on_host], atol=1e-12):
            raise AssertionError('a worker has another result')

    def spawns(self):
        """A new process imports the package and uses it."""
        child = multiprocessing.get_context('spawn').Process(target=spawned, args=(self.device,))
        child.start()
        child.join(120)
        if child.exitcode:
            raise AssertionError(f'a spawned process ended with {child.exitcode}')
        child.close()

    def step(self):
        kinds = [self.filters] * 12 + [self.transforms] * 4 + [self.plans] * 6 + [self.systems] * 2 + [self.mistakes, self.threads, self.again]
        chance = self.choices.random()
        if self.most:
            self.rng = np.random.default_rng([self.seed, int(self.choices.integers(self.most))])
        kind = self.spawns if chance < 0.0001 else self.workers if chance < 0.0004 else self.forks if chance < 0.002 else self.one_of(kinds)
        kind()
        self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
        if not np.array_equal(self.host(self.plan(self.given)), self.expected):
            raise AssertionError(f'after {kind.__name__} the same plan has another result')


def free_on_device(device):
    """Free bytes of the GPU's memory; 0 for the host."""
    if device == 'host':
        return 0
    driver, free, total = ctypes.CDLL(os.environ.get('STENTOR_CUDA_PATH', 'libcuda.so.1')), ctypes.c_size_t(), ctypes.c_size_t()
    context = ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxPushCurrent_v2(context)
    driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))
    driver.cuDevicePrimaryCtxRelease_v2(0)
    return free.value


def measure(device):
    """Bytes of memory, open files, threads, bytes used on the GPU.

    The host's caches stay, as they are bounded; on a GPU they hold memory of the GPU."""
    if device != 'host':
        stentor.clear_cache()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open('/proc/self/statm') as file:
        memory = int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
    return np.array([memory, len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')), -free_on_device(device)])


def spawned(device):
    """Of a new process: imports the package and uses it."""
    plan = stentor.Plan((16, 16), 'heat-2d:alpha=0.2', device=device)
    x = np.ones((16, 16))
    made = Work.host(plan(x if device == 'host' else stentor.to_device(x, device)))
    sys.exit(0 if np.allclose(made, 1) else 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--device', default='host')
    parser.add_argument('--seed', type=int, default=time.time_ns() % 2**32)
    options = parser.parse_args()
    warnings.simplefilter('ignore')
    print(f'soak.py --seconds {options.seconds:g} --device {options.device} --seed {options.seed}', flush=True)
    try:
        # What stays in memory is complete after the first third: kernels of a GPU, and caches.
        host, seconds = options.device == 'host', options.seconds
        work = Work(options.seed, options.device, 0 if host and seconds >= 60 else 1 + int(seconds * (20 if host else 0.25)))
    except stentor.StentorError as error:
        print(f'no such device here: {error}')
        sys.exit(77)
    begin, thirds, calls = time.monotonic(), [[], [], []], 0
    work.workers()
    work.spawns()
    while (past := time.monotonic() - begin) < options.seconds:
        for _ in range(100):
            work.step()
            calls += 1
            if time.monotonic() - begin > past + 0.1 * options.seconds:  # kernels that are compiled
                break
        thirds[int(3 * past / options.seconds)].append(measure(options.device))
    first, second = (np.max(third, axis=0) for third in thirds[1:])
    names = ('memory', 'open files', 'threads', 'memory of the GPU')
    allowed = np.maximum(np.array([SLACK, 0, 0, SLACK]), [0.02 * first[0], 0, 0, 0])
    larger = [f'{name} grew from {a} to {b}' for name, a, b, most in zip(names, first, second, allowed) if b > a + most]
    print('\n'.join(larger))
    print(f'{calls} calls in {time.monotonic() - begin:.0f} s ({", ".join(f"{n} {name}" for name, n in sorted(work.counts.items()))}): '
          f'memory {first[0] / 2**20:.1f} then {second[0] / 2**20:.1f} MiB, {second[1]} open files, {second[2]} threads'
          + (f', of the GPU {-first[3] / 2**20:.1f} then {-second[3] / 2**20:.1f} MiB free' if options.device != 'host' else ''))
    sys.exit(1 if larger else 0)


if __name__ == '__main__':
    main()
