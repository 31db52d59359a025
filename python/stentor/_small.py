"""Filters of small arrays on the host, without plans.

A plan is worthwhile only if it is used again, or if its run takes longer than making it. A small
filter accepts arrays of one rank and of any shape, and in each call other weights at the same
offsets, another constant past the sides, or a box of another size.
"""

import itertools
import math
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np

from ._context import HOST, context
from ._errors import check, new_error
from ._filter import FEW_TAPS, LONG_BOX, Pass, can_extend, cast_whole, is_beyond, is_long_box, of_integers, raised
from ._library import ffi, lib
from ._memo import keeps_tables
from ._number_types import DTYPES, ELEMENT_OF, put, work_dtype
from ._progress import here
from ._quick import SMALL, Given

_buffer, _new, _null = ffi.from_buffer, ffi.new, ffi.NULL
_PROBLEM, _TAPS, _BOX = (ffi.typeof(name) for name in ('stn_problem *', 'stn_filter_taps *', 'stn_box_filter *'))
_DTYPE_OF = {np.dtype(name): value for name, value in DTYPES.items()}
_PROBLEM_SIZE, _BOX_SIZE = ffi.sizeof('stn_problem'), ffi.sizeof('stn_box_filter')
_float64, _empty = np.dtype(np.float64), np.empty


class Run(NamedTuple):
    """One pass over the axes first, ..., last - 1.

    The axes before them are batch axes. The axes after them are merged into one more grid axis."""

    first: int
    last: int
    problem: Any  # without extents
    taps: Any
    kept: Any  # memory that the taps point to
    # The axis and the side of the boundaries whose value is the call's cval.
    constants: List[Tuple[int, int]]
    box: Any  # a stn_box_filter without extents and size, or None
    casts: bool  # whether it gives float64, which becomes integers


@keeps_tables(256)
def _box_taps(points: int, before: int, rank: int) -> Tuple[Any, Any, Any]:
    """The taps of a box along the first of `rank` axes, and the memory behind them."""
    offsets = _buffer('int64_t[]', np.arange(points) - before)
    weights = _buffer('double[]', np.full(points, 1.0 / points))
    return _new(_TAPS, (rank, 1, points, offsets, weights)), offsets, weights


class SmallFilter:
    """Passes over small arrays of one rank and dtype.

    The input is converted to `source` in C order; the passes have results of dtype `between`."""

    cached_bytes = 0

    def __init__(self, source: np.dtype, between: np.dtype, dtype: np.dtype, runs: List[Run], whole: bool):
        self.dtype, self._source, self._between, self._runs, self._whole = dtype, source, between, runs, whole
        self._last: Tuple[Any, List[Any]] = None, []  # what the last problems depend on, and these
        self._last_boxes: Tuple[Any, List[Any]] = None, []  # the last boxes, and their taps
        ends = list(itertools.accumulate([each.taps.count for each in runs], initial=0))
        # The share of each pass in the weights of all passes.
        self._parts = [slice(first, end) for first, end in zip(ends, ends[1:])]

    def takes(self, given: Given) -> bool:
        """Whether all passes take other boxes, or weights as many as every pass or all have."""
        weights = given.weights
        if given.boxes is not None:
            return all(each.box for each in self._runs)
        return weights is None or weights.size == self._parts[-1].stop or all(weights.size == each.taps.count for each in self._runs)

    def __call__(self, x: np.ndarray, out: Optional[np.ndarray] = None, given: Optional[Given] = None) -> np.ndarray:
        """The filtered array: a new array, or `out`. The arguments in `given` replace its own."""
        handle, shape, flags = context(HOST).handle, x.shape, x.flags
        if x.dtype != self._source or not flags.c_contiguous or not flags.aligned:
            x = x.astype(self._source, order='C')
        taps_of_runs, kept = self._taps(given)
        problems = self._problems(shape, given)
        for each, problem, taps in zip(self._runs, problems, taps_of_runs):
            if out is not None and problem is problems[-1] and not each.casts and self._writable(out, x):
                made = out
            else:
                made = _empty(shape, _float64 if each.casts else self._between)
            if _run(handle, problem, taps, x, made, _null):
                error = new_error()
                check(_run(handle, problem, taps, x, made, error), error)
            if each.casts:
                x = _empty(shape, self._between)
                cast_whole(made, x, self._between)
            else:
                x = made
        del kept  # not freed before this point
        if here.progress is not None:
            here.progress(1, 1)
        if out is None:
            return x if self._between == self.dtype else put(_empty(shape, self.dtype), x)
        return out if x is out else put(out, x)

    def _writable(self, out: np.ndarray, x: np.ndarray) -> bool:
        """Whether the last pass may write its result into `out`."""
        return out.dtype == self._between and out.flags.c_contiguous and out.flags.aligned and not np.may_share_memory(out, x)

    def _taps(self, given: Optional[Given]) -> Tuple[List[Any], Any]:
        """The taps of each pass, or None for a long box, and memory that they point to."""
        if given is not None and given.boxes is not None:
            last, taps = self._last_boxes
            if last != given.boxes:
                boxes = given.boxes if len(given.boxes) > 1 else given.boxes * len(self._runs)
                taps = [None if self._whole or points > LONG_BOX else _box_taps(points, before, each.taps.rank)[0]
                        for each, (points, before) in zip(self._runs, boxes)]
                self._last_boxes = given.boxes, taps
            return taps, None
        if given is None or given.weights is None:
            return [each.taps for each in self._runs], None
        weights = np.ascontiguousarray(given.weights, _float64)
        together = weights.size == self._parts[-1].stop
        parts = [weights[part] for part in self._parts] if together else [weights]
        kept = [_buffer('double[]', raised(part) if self._whole else part) for part in parts]
        made = []
        for i, each in enumerate(self._runs):
            taps = _new(_TAPS, each.taps[0])
            taps.weights = kept[i if together else 0]
            made.append(taps)
        return made, kept

    def _problems(self, shape: Tuple[int, ...], given: Optional[Given]) -> List[Any]:
        cval, boxes = (None, None) if given is None else (given.cval, given.boxes)
        if boxes is not None and not self._whole and max(boxes)[0] <= LONG_BOX:
            boxes = None  # only the taps depend on them
        last, problems = self._last
        about = shape, None if cval is None else cval.hex(), boxes  # 0.0 and -0.0 differ
        if last == about:
            return problems
        problems = []
        for i, each in enumerate(self._runs):
            points, before = (0, 0) if boxes is None else boxes[i] if len(boxes) > 1 else boxes[0]
            if points > LONG_BOX or points and self._whole:
                problem, boundary = _new(_BOX, each.box[0]), None
                problem.size, problem.before, problem.divisor = points, before, points
                problem.outer, problem.points, problem.inner = math.prod(shape[:each.first]), shape[each.first], math.prod(shape[each.last:])
            else:
                problem = _new(_PROBLEM, each.problem[0])
                problem.batch, problem.extent = math.prod(shape[:each.first]), shape[each.first:each.last]
                if each.last < len(shape):
                    problem.extent[each.last - each.first] = math.prod(shape[each.last:])
                boundary = problem.boundary
            if cval is not None:
                for axis, side in each.constants:
                    (problem.sides if boundary is None else boundary[axis])[side].value = cval
            problems.append(problem)
        self._last = about, problems
        return problems


def _run(handle: Any, problem: Any, taps: Any, x: np.ndarray, made: np.ndarray, error: Any) -> int:
    if taps is None:
        return lib.stn_box_filter_run(handle, problem, _buffer(x), _buffer(made), error)
    return lib.stn_filter_run(handle, problem, taps, _buffer(x), _buffer(made), error)


def small_filter(x: np.ndarray, target: np.dtype, passes: List[Pass], given: Optional[Given]) -> Optional[SmallFilter]:
    """The filter of a small array, or None for types and passes that need a HostFilter."""
    whole = target.kind in 'biu'
    work = work_dtype(x.dtype, target)
    source = first_source = x.dtype.newbyteorder('=') if whole else work
    if source not in ELEMENT_OF:
        return None
    cval, boxes = (None, None) if given is None else (given.cval, given.boxes)
    if whole:
        passes = [of_integers(each) for each in passes]
    runs: List[Run] = []
    if x.size > SMALL and (len(passes) > 1 or boxes is None and len(passes[0].taps.weights) > FEW_TAPS):
        return None
    for each in passes:
        first, rank = each.axes[0], len(each.axes)
        last = first + rank
        adjacent = rank == 1 or each.axes == tuple(range(first, last))
        rank += last < x.ndim
        is_box = boxes is not None and can_extend(each)
        if not adjacent or rank > 3:
            return None
        if not is_box and (is_beyond(each) or len(each.axes) > 1 and len(each.taps.weights) > FEW_TAPS or not whole and is_long_box(each)):
            return None
        casts = is_box and whole and source != target
        if casts and not runs:
            first_source = _float64
        problem = _new(_PROBLEM)
        problem.struct_size, problem.dtype = _PROBLEM_SIZE, _DTYPE_OF[work]
        if whole:
            problem.in_element, problem.out_element = ELEMENT_OF[source], ELEMENT_OF[target]
            problem.divisor, problem.alignment = each.divisor, min(source.itemsize, target.itemsize)
        else:
            problem.alignment = work.itemsize
        boundary = problem.boundary
        for axis, sides in enumerate(each.sides):
            boundary[axis] = sides
        # The sides of value `cval` have this very object: those of 'constant=V' have another one.
        constants = [(axis, i) for axis, sides in enumerate(each.sides) for i, side in enumerate(sides)
                     if side.kind == lib.STN_CONSTANT and side.value is cval]
        box = None
        if is_box:
            box = _new(_BOX)
            box.struct_size, box.dtype, box.sides = _BOX_SIZE, _DTYPE_OF[work], each.sides[0]
            if whole and not casts:
                box.element = ELEMENT_OF[target]
        source = target if whole else source
        taps = each.taps
        offsets, weights = _buffer('int64_t[]', taps.offsets), _buffer('double[]', taps.weights)
        made = _new(_TAPS, (rank, len(each.axes), len(taps.weights), offsets, weights))
        runs.append(Run(first, last, problem, made, (offsets, weights), constants, box, casts))
    return SmallFilter(first_source, source, target, runs, whole)
