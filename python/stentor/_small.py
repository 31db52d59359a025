"""Filters of small arrays on the host, without plans.

A plan is worthwhile only if it is used again, or if its run takes longer than making it. A small
filter accepts arrays of one rank and of any shape, and other weights at the same offsets.
"""

import math
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np

from ._context import HOST, context
from ._errors import check, new_error
from ._filter import FEW_TAPS, Pass, is_long_box, of_integers, raised
from ._library import ffi, lib
from ._number_types import DTYPES, ELEMENT_OF, keeps_constants, work_dtype
from ._progress import here

_buffer, _new, _null = ffi.from_buffer, ffi.new, ffi.NULL
_PROBLEM, _TAPS = ffi.typeof('stn_problem *'), ffi.typeof('stn_filter_taps *')
_DTYPE_OF = {np.dtype(name): value for name, value in DTYPES.items()}
_PROBLEM_SIZE = ffi.sizeof('stn_problem')
_float64, _empty = np.dtype(np.float64), np.empty


class Run(NamedTuple):
    """One pass over the axes first, ..., last - 1.

    The axes before them are batch axes. The axes after them are merged into one more grid axis."""

    first: int
    last: int
    problem: Any  # without extents
    taps: Any
    kept: Any  # memory that the taps point to


class SmallFilter:
    """Passes over small arrays of one rank and dtype, dense in C order."""

    cached_bytes = 0

    def __init__(self, dtype: np.dtype, runs: List[Run], keeps: bool):
        self.dtype, self._runs, self._keeps = dtype, runs, keeps
        self._last: Tuple[Any, List[Any]] = None, []  # the last shape, and its problems

    def __call__(self, x: np.ndarray, out: Optional[np.ndarray] = None, weights: Optional[np.ndarray] = None) -> np.ndarray:
        """The filtered array: a new array, or `out`.

        `weights` replace those of the taps of every pass, in order."""
        run, handle, shape = lib.stn_filter_run, context(HOST).handle, x.shape
        if weights is not None:
            weights = np.ascontiguousarray(weights, _float64)
            given = _buffer('double[]', raised(weights) if self._keeps else weights)
        for problem, each in zip(self._problems(shape), self._runs):
            taps = each.taps
            if weights is not None:
                taps = _new(_TAPS, taps[0])
                taps.weights = given
            made = _empty(shape, self.dtype)
            if run(handle, problem, taps, _buffer(x), _buffer(made), _null):
                error = new_error()
                check(run(handle, problem, taps, _buffer(x), _buffer(made), error), error)
            x = made
        if here.progress is not None:
            here.progress(1, 1)
        if out is None:
            return x
        out[...] = x
        return out

    def _problems(self, shape: Tuple[int, ...]) -> List[Any]:
        last, problems = self._last
        if last == shape:
            return problems
        problems = []
        for each in self._runs:
            problem = _new(_PROBLEM, each.problem[0])
            problem.batch, problem.extent = math.prod(shape[:each.first]), shape[each.first:each.last]
            if each.last < len(shape):
                problem.extent[each.last - each.first] = math.prod(shape[each.last:])
            problems.append(problem)
        self._last = shape, problems
        return problems


def small_filter(x: np.ndarray, target: np.dtype, passes: List[Pass]) -> Optional[SmallFilter]:
    """The filter of a small array, or None for types and passes that need a HostFilter."""
    whole, source, keeps = target.kind in 'biu', x.dtype, False
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
        adjacent = rank == 1 or each.axes == tuple(range(first, last))
        rank += last < x.ndim
        if not adjacent or rank > 3 or len(each.taps.weights) > FEW_TAPS or not whole and is_long_box(each):
            return None
        problem = _new(_PROBLEM)
        problem.struct_size, problem.dtype = _PROBLEM_SIZE, _DTYPE_OF[work]
        problem.alignment = min(source.itemsize, target.itemsize)
        if whole:
            problem.in_element, problem.out_element = ELEMENT_OF[source], ELEMENT_OF[target]
            problem.divisor, source = each.divisor, target
        boundary = problem.boundary
        for axis, sides in enumerate(each.sides):
            boundary[axis] = sides
        given = each.taps
        offsets, weights = _buffer('int64_t[]', given.offsets), _buffer('double[]', given.weights)
        taps = _new(_TAPS, (rank, len(each.axes), len(given.weights), offsets, weights))
        runs.append(Run(first, last, problem, taps, (offsets, weights)))
    return SmallFilter(target, runs, whole and keeps)
