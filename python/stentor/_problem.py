"""A stencil over some axes of a strided array, as plans of the library: up to three axes and one batch stride each."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._boundary import Sides
from ._context import Context
from ._handle import Handle, make_plan
from ._progress import warn_of_growth
from ._library import ffi, lib
from ._stencil import Taps, stencil_handle

DTYPES = {'float64': lib.STN_F64, 'float32': lib.STN_F32, 'float16': lib.STN_F16}
NARROW = 16  # points of a last axis that are too few to be worked on as a row
ITEM_SIZES = {'float64': 8, 'float32': 4, 'float16': 2}
WRAP: Sides = ((lib.STN_WRAP, 0.0), (lib.STN_WRAP, 0.0))  # type: ignore[assignment]


class Layout(NamedTuple):
    """Where an array's points lie: shape, and strides in elements."""

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
        """An array's own. What it says of axes of one point is of no meaning, and may be negative."""
        return cls(tuple(shape), tuple(s if n > 1 else 1 for s, n in zip(strides, shape)))

    @classmethod
    def of(cls, array: np.ndarray) -> 'Layout':
        """A NumPy array's."""
        return cls.given(array.shape, [s // array.itemsize for s in array.strides])

    def is_dense(self) -> bool:
        """One element behind the other, in C order."""
        expected = Layout.dense(self.shape).strides
        return 0 in self.shape or all(n == 1 or a == b for n, a, b in zip(self.shape, self.strides, expected))


class Split(NamedTuple):
    """Axes of an array: those of the grid, those of the one batch stride, and those that are looped over."""

    grid: Tuple[int, ...]
    batch: Tuple[int, ...]
    loop: Tuple[int, ...]


def _one_stride(axes, source: Layout, target: Layout) -> bool:
    """Do these axes, slowest first, step evenly from each point to the next, in both arrays?"""
    return all(layout.strides[a] == layout.strides[b] * layout.shape[b]
               for layout in (source, target) for a, b in zip(axes, axes[1:]))


def split_axes(axes: Sequence[int], source: Layout, target: Layout, most: int = 3, spare: bool = True) -> Split:
    """Axes that are not filtered become the batch; where they have no common stride, grid axes, as far as there is room
    (and `spare` allows), and then loops. A last axis that is not filtered is one of the grid, if
    it is no narrow one: its rows are what memory holds."""
    grid = sorted(axes)
    rest = [a for a in range(len(source.shape)) if a not in grid and source.shape[a] > 1]
    loop = []
    if spare and len(grid) < most and rest and rest[-1] > grid[-1] and source.shape[rest[-1]] > NARROW:
        grid.append(rest.pop())
    while not _one_stride(rest, source, target):
        if spare and len(grid) < most:
            grid = sorted([*grid, rest.pop()])
        else:
            loop.append(min(rest, key=lambda axis: source.shape[axis]))
            rest.remove(loop[-1])
    return Split(tuple(grid), tuple(rest), tuple(loop))


def merged(request: 'Request') -> 'Request':
    """The same with neighbouring axes that are not filtered made one, where both arrays step evenly from one to the other. Those of
    one point vanish."""
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
    layouts = [Layout(tuple(int(np.prod([each.shape[a] for a in run])) for run in runs), tuple(each.strides[run[-1]] for run in runs))
               for each in (request.source, request.target)]
    axes = tuple(runs.index([axis]) for axis in request.axes)
    return request._replace(axes=axes, source=layouts[0], target=layouts[1])


def in_turns(run: Callable, turns: Sequence[Tuple[int, int]]) -> Callable:
    """`run` at each turn of the loops. No method of what holds it: such circles keep a plan until Python looks for them, and a plan
    that goes while a stream is captured ends the capture."""
    def each(source: int, target: int, *where: int) -> None:
        for a, b in turns:
            run(source + a, target + b, *where)
    return each


def loop_offsets(loop: Sequence[int], layout: Layout):
    """The first element of each turn of the loops."""
    offsets = [0]
    for axis in sorted(loop):
        offsets = [first + i * layout.strides[axis] for first in offsets for i in range(layout.shape[axis])]
    return offsets


def batch_of(work, batch: Sequence[int], source: Layout, target: Layout) -> None:
    """Fills the batch of a stn_problem or stn_transform."""
    if not batch:
        return
    work.batch = 1
    for axis in batch:
        work.batch *= source.shape[axis]
    work.in_batch_stride, work.out_batch_stride = source.strides[batch[-1]], target.strides[batch[-1]]


class Request(NamedTuple):
    """What stencil, on what: `axes` are the taps' axes in the arrays, `sides` their boundaries."""

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
    local: Optional[bool] = False  # None: as Sweep finds better


def fill_problem(request: Request, split: Split):
    """The stn_problem, and the stencil that it borrows. Grid axes without taps get offsets of 0."""
    given, taps = list(request.axes), request.taps
    offsets = np.zeros((len(taps.weights), len(split.grid)), np.int64)
    for column, axis in enumerate(split.grid):
        if axis in given:
            offsets[:, column] = taps.offsets[:, given.index(axis)]
    stencil = stencil_handle(Taps(offsets, taps.weights))
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
    problem.accuracy = lib.STN_ACCURACY_LOCAL if request.local else lib.STN_ACCURACY_GLOBAL
    return problem, stencil


def stencil_plan(context: Context, request: Request, split: Split, strategy: Optional[str] = None, tune='estimate',
                 first_result=False, warns=True, estimate_only=False) -> Handle:
    """A plan whose chosen kernels are compiled when this returns, or with first_result as the header says of it. warns: of weights that
    make a run grow."""
    problem, stencil = fill_problem(request, split)
    if warns:
        warn_of_growth(stencil, request.steps)
    handle = make_plan(context, lib.stn_plan_create, problem, strategy, tune, first_result, estimate_only)
    del stencil  # not freed before this point
    return handle
