#!/usr/bin/env python3
"""The library against scipy.ndimage: correlate applied T times in its five modes, and
gaussian_filter with a mode for each axis. Usage: scipy_compare.py LIBSTENTOR. Exit code 77 when
numpy or scipy is missing."""

import ctypes
import itertools
import math
import sys

try:
    import numpy as np
    import scipy
    from scipy import ndimage
except ImportError as missing:
    print(f"skipped: {missing} (Debian: apt install python3-scipy)")
    sys.exit(77)

MODES = {"wrap": 0, "constant": 1, "nearest": 2, "reflect": 3, "mirror": 4}  # stn_boundary_kind
MAX_RANK = 3
DEVICE_HOST = -1
# struct_size 0 is the layout of the first release; REST is larger than all members added since.
REST = ("rest", ctypes.c_char * 512)


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 1020)]


class Boundary(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("value", ctypes.c_double)]


class Problem(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("stencil", ctypes.c_void_p),
        ("extent", ctypes.c_size_t * MAX_RANK),
        ("in_stride", ctypes.c_ssize_t * MAX_RANK),
        ("out_stride", ctypes.c_ssize_t * MAX_RANK),
        ("batch", ctypes.c_size_t),
        ("in_batch_stride", ctypes.c_ssize_t),
        ("out_batch_stride", ctypes.c_ssize_t),
        ("boundary", (Boundary * 2) * MAX_RANK),
        ("dtype", ctypes.c_int),
        ("steps", ctypes.c_uint64),
        ("tolerance", ctypes.c_double),
        ("in_place", ctypes.c_int),
        REST,
    ]


class PlanOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("strategy", ctypes.c_char_p), REST]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_int), ("threads", ctypes.c_int), REST]


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("stn_context_destroy", "stn_stencil_destroy", "stn_plan_destroy"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
            getattr(self.lib, name).restype = None
        self.lib.stn_plan_strategy.argtypes = [ctypes.c_void_p]
        self.lib.stn_plan_strategy.restype = ctypes.c_char_p
        options = ContextOptions(device=DEVICE_HOST)
        self.context = self.make("stn_context_create", ctypes.byref(options))

    def call(self, name, *arguments):
        error = Error()
        if getattr(self.lib, name)(*arguments, ctypes.byref(error)):
            raise RuntimeError(f"{name}: {error.message.decode()}")

    def make(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def dense_stencil(self, weights):
        extent = (ctypes.c_size_t * weights.ndim)(*weights.shape)
        return self.make("stn_stencil_create_dense", weights.ndim, extent, weights.ctypes.data_as(ctypes.c_void_p))

    def named_stencil(self, spec):
        return self.make("stn_stencil_parse", spec.encode())

    def run(self, stencil, u, modes, steps, value=0.0):
        """u after `steps` steps; destroys the stencil."""
        problem = Problem(stencil=stencil, steps=steps)
        for axis, mode in enumerate(modes):
            problem.extent[axis] = u.shape[axis]
            for side in range(2):
                problem.boundary[axis][side] = Boundary(MODES[mode], value if mode == "constant" else 0.0)
        options = PlanOptions(strategy=b"host")  # the reference implementation, step by step
        plan = self.make("stn_plan_create", self.context, ctypes.byref(problem), ctypes.byref(options))
        assert self.lib.stn_plan_strategy(plan) == b"host"
        out = np.full_like(u, np.nan)
        self.call("stn_plan_execute", plan, u.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), None)
        self.lib.stn_plan_destroy(plan)
        self.lib.stn_stencil_destroy(stencil)
        return out


def distance(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def check(what, got, expected, steps):
    bar = 1e-13 * (1 + math.log2(steps))
    error = distance(got, expected)
    if not error <= bar:  # NaN fails
        print(f"FAILED {what}: relative L2 {error:.3g} > {bar:.3g}")
        return 1
    return 0


def compare_correlate(library, random):
    failures = count = 0
    shapes = [(1,), (7,), (101,), (1, 9), (13, 7), (31, 53), (3, 5, 7), (9, 1, 11), (17, 13, 33)]
    for shape, mode, steps in itertools.product(shapes, MODES, (1, 2, 7, 40)):
        radius = [random.integers(0, min(n, 4) + 1) for n in shape]
        weights = random.uniform(-1, 1, [2 * r + 1 for r in radius])
        weights /= np.abs(weights).sum()  # so that no mode grows
        u = random.uniform(-1, 1, shape)
        value = random.uniform(-1, 1)
        expected = u
        for _ in range(steps):
            expected = ndimage.correlate(expected, weights, mode=mode, cval=value)
        got = library.run(library.dense_stencil(weights), u, [mode] * len(shape), steps, value)
        failures += check(f"correlate {mode} {shape} radius {radius} steps {steps}", got, expected, steps)
        count += 1
    return failures, count


def compare_gaussian(library, random):
    failures = count = 0
    for modes in itertools.product([mode for mode in MODES if mode != "constant"], repeat=2):
        for sigma, steps in ((0.5, 1), (1.5, 3)):
            u = random.uniform(-1, 1, (23, 37))
            expected = u
            for _ in range(steps):
                expected = ndimage.gaussian_filter(expected, sigma, mode=modes, truncate=3)
            got = library.run(library.named_stencil(f"gaussian-2d:sigma={sigma},truncate=3"), u, modes, steps)
            failures += check(f"gaussian {modes} sigma {sigma} steps {steps}", got, expected, steps)
            count += 1
    return failures, count


def main():
    library = Library(sys.argv[1])
    random = np.random.default_rng(1)
    results = [compare_correlate(library, random), compare_gaussian(library, random)]
    library.lib.stn_context_destroy(library.context)
    failures, count = map(sum, zip(*results))
    print(f"{count - failures} of {count} agree with scipy {scipy.__version__}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
