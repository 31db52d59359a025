"""Filters of small arrays on the host, without plans.

A plan pays for itself only where it is used again, or where its run takes longer than its making.
"""

import math
from typing import List, Optional

import numpy as np

from ._context import HOST, context
from ._errors import check, new_error
from ._filter import FEW_TAPS, Pass, is_long_box, keeps_constants, of_integers, work_dtype
from ._library import ffi, lib
from ._problem import DTYPES, ELEMENT_OF
from ._progress import here

MOST_POINTS = 4096  # of an array that is filtered without plans
_buffer, _null = ffi.from_buffer, ffi.NULL
_PROBLEM, _TAPS = ffi.typeof('stn_problem *'), ffi.typeof('stn_filter_taps *')
_DTYPE_OF = {np.dtype(name): value for name, value in DTYPES.items()}
_PROBLEM_SIZE = ffi.sizeof('stn_problem')


class SmallFilter:
    """Passes over arrays of one shape and dtype, dense in C order."""

    held = 0

    def __init__(self, shape, dtype: np.dtype, runs: list):
        self.shape, self.dtype, self._runs = shape, dtype, runs

    def __call__(self, x: np.ndarray, out: Optional[np.ndarray] = None) -> np.ndarray:
        """The filtered array: a new array, or `out`."""
        run, handle = lib.stn_filter_run, context(HOST).handle
        for problem, taps, *_ in self._runs:
            made = np.empty(self.shape, self.dtype)
            if run(handle, problem, taps, _buffer(x), _buffer(made), _null):
                error = new_error()
                check(run(handle, problem, taps, _buffer(x), _buffer(made), error), error)
            x = made
        if here.tell is not None:
            here.tell(1, 1)
        if out is None:
            return x
        out[...] = x
        return out

    def finish(self) -> None:
        """A call is complete when it returns: there is nothing to wait for."""


def small_filter(x: np.ndarray, target: np.dtype, passes: List[Pass]) -> Optional[SmallFilter]:
    """The filter, or None for arrays and passes that need a HostFilter."""
    whole, source = target.kind in 'biu', x.dtype
    if x.size > MOST_POINTS or not x.flags.c_contiguous or not x.flags.aligned or not source.isnative:
        return None
    if source not in ELEMENT_OF or not whole and source != target:
        return None
    work = work_dtype(source, target) if whole else source
    if whole:
        keeps = keeps_constants(source, target)
        passes = [of_integers(each, keeps) for each in passes]
    runs = []
    for each in passes:
        first, rank = each.axes[0], len(each.axes)
        last = first + rank
        inner = math.prod(x.shape[last:])
        adjacent = rank == 1 or each.axes == tuple(range(first, last))
        if not adjacent or rank + (inner > 1) > 3 or len(each.taps.weights) > FEW_TAPS or not whole and is_long_box(each):
            return None
        problem = ffi.new(_PROBLEM)
        problem.struct_size, problem.batch, problem.dtype = _PROBLEM_SIZE, math.prod(x.shape[:first]), _DTYPE_OF[work]
        problem.alignment = min(source.itemsize, target.itemsize)
        if whole:
            problem.in_element, problem.out_element = ELEMENT_OF[source], ELEMENT_OF[target]
            problem.divisor, source = each.divisor, target
        extent, boundary = problem.extent, problem.boundary
        for axis, sides in enumerate(each.sides):
            extent[axis] = x.shape[first + axis]
            for side, (kind, value) in zip(boundary[axis], sides):
                side.kind, side.value = kind, value
        if inner > 1:
            extent[rank], rank = inner, rank + 1
        given = each.taps
        offsets, weights = _buffer('int64_t[]', given.offsets), _buffer('double[]', given.weights)
        taps = ffi.new(_TAPS, (rank, len(each.axes), len(given.weights), offsets, weights))
        runs.append((problem, taps, offsets, weights))
    return SmallFilter(x.shape, target, runs)
