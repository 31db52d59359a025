"""Maps a stencil over some axes of a strided array to plans of the library.

A plan has up to three grid axes and one batch stride; remaining axes are looped over.
"""

import math
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._boundary import Sides
from ._context import Context
from ._handle import Handle, make_plan
from ._number_types import DTYPES, ELEMENTS, ITEM_SIZES
from ._progress import warn_of_growth
from ._library import ffi, lib
from ._stencil import Taps, stencil_handle

NARROW = 16  # a last axis of at most this many points is too short to be processed as a row
WRAP: Sides = ((lib.STN_WRAP, 0.0), (lib.STN_WRAP, 0.0))  # type: ignore[assignment]


class Layout(NamedTuple):
    """The memory layout of an array: shape, and strides in elements."""

    shape: Tuple[int, ...]
    strides: Tuple[int, ...]

    @classmethod
    def dense(cls, shape: Sequence[int]) -> 'Layout':
        strides, size = [], 1
        for extent in reversed(shape):
            strides.append(size)
            size *= max(1, extent)
        return cls(tuple(shape), tuple(reversed(strides)))

    @classmethod
    def given(cls, shape: Sequence[int], strides: Sequence[int]) -> 'Layout':
        """The layout of an array with these strides.

        The strides of axes of one point are meaningless, and may be negative: they become 1."""
        return cls(tuple(shape), tuple(s if n > 1 else 1 for s, n in zip(strides, shape)))

    @classmethod
    def of(cls, array: np.ndarray) -> 'Layout':
        """The layout of a NumPy array."""
        return cls.given(array.shape, [s // array.itemsize for s in array.strides])

    def is_dense(self) -> bool:
        """Whether the elements are contiguous in C order."""
        expected = Layout.dense(self.shape).strides
        return 0 in self.shape or all(n == 1 or a == b for n, a, b in zip(self.shape, self.strides, expected))


def regular(array: np.ndarray) -> bool:
    """Whether strides are positive multiples of the item size and no elements share memory."""
    whole = all(n == 1 or s % array.itemsize == 0 for s, n in zip(array.strides, array.shape))
    return whole and apart(array.shape, array.strides, array.itemsize)


def apart(shape: Sequence[int], strides: Sequence[int], size: int) -> bool:
    """Whether strides are positive and no two elements of `size` units share memory.

    Sliding-window views share memory."""
    reach = 0
    for stride, extent in sorted(zip(strides, shape)):
        if extent > 1:
            if stride < reach + size:
                return False
            reach += stride * (extent - 1)
    return True


class Split(NamedTuple):
    """A partition of an array's axes: grid axes, batch axes with one stride, and loop axes."""

    grid: Tuple[int, ...]
    batch: Tuple[int, ...]
    loop: Tuple[int, ...]


def _one_stride(axes, source: Layout, target: Layout) -> bool:
    """Whether these axes, slowest first, can be traversed with one stride in both arrays."""
    return all(layout.strides[a] == layout.strides[b] * layout.shape[b]
               for layout in (source, target) for a, b in zip(axes, axes[1:]))


def split_axes(axes: Sequence[int], source: Layout, target: Layout, spare: bool = True, slowest: bool = False) -> Split:
    """Assigns the axes that are not filtered; axes of one point are ignored.

    With `spare`, unfiltered axes may become grid axes, until the grid has three axes. The first is
    a last axis behind the filtered ones with more than NARROW points, since its rows are contiguous
    in memory. The remaining axes become batch axes if one stride traverses them in both arrays.
    Until this is so, one axis after the other is taken from them: the last one becomes a grid axis
    if that is allowed; otherwise the shortest one, or the slowest one with `slowest`, becomes a
    loop axis."""
    grid = sorted(axes)
    rest = [a for a in range(len(source.shape)) if a not in grid and source.shape[a] > 1]
    loop = []
    if spare and len(grid) < 3 and rest and rest[-1] > grid[-1] and source.shape[rest[-1]] > NARROW:
        grid.append(rest.pop())
    while not _one_stride(rest, source, target):
        if spare and len(grid) < 3:
            grid = sorted([*grid, rest.pop()])
        else:
            loop.append(rest[0] if slowest else min(rest, key=lambda axis: source.shape[axis]))
            rest.remove(loop[-1])
    return Split(tuple(grid), tuple(rest), tuple(loop))


def merged(request: 'Request') -> 'Request':
    """The request with neighbouring unfiltered axes merged where one stride traverses both.

    Unfiltered axes of one point are removed."""
    runs: List[List[int]] = []
    for axis, points in enumerate(request.source.shape):
        if axis in request.axes:
            runs.append([axis])
        elif points > 1:
            joins = runs and runs[-1][-1] not in request.axes
            if joins and _one_stride([runs[-1][-1], axis], request.source, request.target):
                runs[-1].append(axis)
            else:
                runs.append([axis])
    layouts = [Layout(tuple(math.prod([each.shape[a] for a in run]) for run in runs), tuple(each.strides[run[-1]] for run in runs))
               for each in (request.source, request.target)]
    axes = tuple(runs.index([axis]) for axis in request.axes)
    return request._replace(axes=axes, source=layouts[0], target=layouts[1])


def in_turns(run: Callable, turns: Sequence[Tuple[int, int]]) -> Callable:
    """A function that calls `run` at each loop iteration's offsets.

    It is a closure and not a method of the plan's owner. That would form a reference cycle, which
    delays the plan's destruction until garbage collection, and destroying a plan while a stream is
    being captured invalidates the capture."""
    def each(source: int, target: int, *where: int) -> None:
        for a, b in turns:
            run(source + a, target + b, *where)
    return each


def loop_offsets(loop: Sequence[int], layout: Layout):
    """The offset, in elements, of each iteration of the loops."""
    offsets = [0]
    for axis in sorted(loop):
        offsets = [first + i * layout.strides[axis] for first in offsets for i in range(layout.shape[axis])]
    return offsets


def batch_of(work, batch: Sequence[int], source: Layout, target: Layout) -> None:
    """Fills the batch fields of a stn_problem or stn_transform."""
    if not batch:
        return
    work.batch = 1
    for axis in batch:
        work.batch *= source.shape[axis]
    work.in_batch_stride, work.out_batch_stride = source.strides[batch[-1]], target.strides[batch[-1]]


class Request(NamedTuple):
    """A stencil on arrays: `axes` are the arrays' axes of the taps, `sides` their boundaries."""

    taps: Taps
    axes: Tuple[int, ...]
    sides: Sequence[Sides]
    source: Layout
    target: Layout
    dtype: str
    alignment: int
    steps: int = 1
    every: int = 0
    has_source: bool = False
    tolerance: float = 0.0
    local: Optional[bool] = False  # None: StencilRun chooses by the predicted time
    # The number types of both arrays. '' is `dtype`, the type of the arithmetic. `divisor` divides
    # the result before it is converted to integers.
    source_type: str = ''
    target_type: str = ''
    divisor: float = 1.0
    normalized: int = 0  # bits of stn_normalized

    def sizes(self) -> Tuple[int, int]:
        """The bytes of an element of both arrays."""
        pairs = self.normalized & lib.STN_NORMALIZED_PAIRS_IN, self.normalized & lib.STN_NORMALIZED_PAIRS_OUT
        source, target = (ITEM_SIZES[name or self.dtype] * (2 if pair else 1)
                          for name, pair in zip((self.source_type, self.target_type), pairs))
        return source, target


def fill_problem(request: Request, split: Split):
    """The stn_problem and the stencil that it borrows; offsets are 0 along unfiltered axes."""
    given, taps = list(request.axes), request.taps
    offsets = np.zeros((len(taps.weights), len(split.grid)), np.int64)
    for column, axis in enumerate(split.grid):
        if axis in given:
            offsets[:, column] = taps.offsets[:, given.index(axis)]
    # The library sorts the taps itself.
    stencil = stencil_handle(Taps(offsets, taps.weights, in_order=True))
    problem = ffi.new('stn_problem *', {'struct_size': ffi.sizeof('stn_problem'), 'stencil': stencil})
    for column, axis in enumerate(split.grid):
        problem.extent[column] = request.source.shape[axis]
        problem.in_stride[column] = request.source.strides[axis]
        problem.out_stride[column] = request.target.strides[axis]
        sides = request.sides[given.index(axis)] if axis in given else WRAP
        for side in (0, 1):
            problem.boundary[column][side].kind, problem.boundary[column][side].value = sides[side]
    batch_of(problem, split.batch, request.source, request.target)
    problem.dtype = DTYPES[request.dtype]
    problem.alignment = request.alignment
    problem.steps, problem.every = request.steps, request.every
    problem.has_source, problem.tolerance = request.has_source, request.tolerance
    problem.in_element, problem.out_element = (ELEMENTS[name] if name else 0 for name in (request.source_type, request.target_type))
    problem.divisor, problem.normalized = request.divisor, request.normalized
    problem.accuracy = lib.STN_ACCURACY_LOCAL if request.local else lib.STN_ACCURACY_GLOBAL
    return problem, stencil


def stencil_plan(context: Context, request: Request, split: Split, strategy: Optional[str] = None, tune='estimate',
                 first_result=False, warns=True, estimate_only=False) -> Handle:
    """A plan of a stencil.

    Its kernels are compiled when this returns, unless `first_result` is set (see the header).
    `warns` enables the warning about weights with which a run grows."""
    problem, stencil = fill_problem(request, split)
    if warns:
        warn_of_growth(stencil, request.steps)
    handle = make_plan(context, lib.stn_plan_create, problem, strategy, tune, first_result, estimate_only)
    del stencil  # not freed before this point
    return handle
