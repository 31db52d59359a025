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
    """Passes over small arrays of one rank and dtype.

    The input is converted to `source` in C order; the passes have results of dtype `between`."""

    cached_bytes = 0

    def __init__(self, source: np.dtype, between: np.dtype, dtype: np.dtype, runs: List[Run], keeps: bool):
        self.dtype, self._source, self._between, self._runs, self._keeps = dtype, source, between, runs, keeps
        self._last: Tuple[Any, List[Any]] = None, []  # the last shape, and its problems
        ends = np.cumsum([0] + [each.taps.count for each in runs]).tolist()
        # The share of each pass in the weights of all passes.
        self._parts = [slice(first, end) for first, end in zip(ends, ends[1:])]

    def takes(self, weights: np.ndarray) -> bool:
        """Whether these are as many weights as every pass has, or as all passes have together."""
        return weights.size == self._parts[-1].stop or all(weights.size == each.taps.count for each in self._runs)

    def __call__(self, x: np.ndarray, out: Optional[np.ndarray] = None, weights: Optional[np.ndarray] = None) -> np.ndarray:
        """The filtered array: a new array, or `out`.

        `weights` replace those of the taps of every pass, in order, or of all passes."""
        run, handle, shape, flags = lib.stn_filter_run, context(HOST).handle, x.shape, x.flags
        if x.dtype != self._source or not flags.c_contiguous or not flags.aligned:
            x = x.astype(self._source, order='C')
        taps_of_runs, kept = self._taps(weights)
        for problem, taps in zip(self._problems(shape), taps_of_runs):
            made = _empty(shape, self._between)
            if run(handle, problem, taps, _buffer(x), _buffer(made), _null):
                error = new_error()
                check(run(handle, problem, taps, _buffer(x), _buffer(made), error), error)
            x = made
        del kept  # not freed before this point
        if here.progress is not None:
            here.progress(1, 1)
        if out is None:
            return x if self._between == self.dtype else x.astype(self.dtype)
        out[...] = x
        return out

    def _taps(self, weights: Optional[np.ndarray]) -> Tuple[List[Any], Any]:
        """The taps of each pass, with these weights if they are given, and the weights' memory."""
        if weights is None:
            return [each.taps for each in self._runs], None
        weights = np.ascontiguousarray(weights, _float64)
        together = weights.size == self._parts[-1].stop
        parts = [weights[part] for part in self._parts] if together else [weights]
        given = [_buffer('double[]', raised(part) if self._keeps else part) for part in parts]
        made = []
        for i, each in enumerate(self._runs):
            taps = _new(_TAPS, each.taps[0])
            taps.weights = given[i if together else 0]
            made.append(taps)
        return made, given

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
    whole, keeps = target.kind in 'biu', False
    work = work_dtype(x.dtype, target)
    source = first_source = x.dtype.newbyteorder('=') if whole else work
    if source not in ELEMENT_OF:
        return None
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
        if whole:
            problem.in_element, problem.out_element = ELEMENT_OF[source], ELEMENT_OF[target]
            problem.divisor, problem.alignment = each.divisor, min(source.itemsize, target.itemsize)
            source = target
        else:
            problem.alignment = work.itemsize
        boundary = problem.boundary
        for axis, sides in enumerate(each.sides):
            boundary[axis] = sides
        given = each.taps
        offsets, weights = _buffer('int64_t[]', given.offsets), _buffer('double[]', given.weights)
        taps = _new(_TAPS, (rank, len(each.axes), len(given.weights), offsets, weights))
        runs.append(Run(first, last, problem, taps, (offsets, weights)))
    return SmallFilter(first_source, source, target, runs, whole and keeps)
