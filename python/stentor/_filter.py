"""Prepared filters: passes over arrays of one layout, kept by the functions from one call to the next."""

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._arrays import View
from ._boundary import Sides
from ._context import HOST
from ._fold import extend
from ._library import lib
from ._problem import ITEM_SIZES, WRAP, Layout, Request
from ._scratch import Prepared, rounded
from ._stencil import Taps
from ._sweep import Sweep


class Pass(NamedTuple):
    """One stencil over some axes. Where weights are whole numbers over a divisor, whole numbers are summed up exactly and
    divided once."""

    taps: Taps
    axes: Tuple[int, ...]
    sides: Sequence[Sides]
    divisor: float = 1.0


def work_dtype(source: np.dtype, target: np.dtype) -> np.dtype:
    """What is computed in: the wider of both floating types, float64 for whole numbers."""
    floats = [d if d.kind == 'f' else np.dtype(np.float64) for d in (source, target)]
    return np.promote_types(*floats).newbyteorder('=')


def usable(array: np.ndarray, work: np.dtype) -> bool:
    """Can the library read it where it lies?"""
    if array.dtype != work or not array.flags.aligned:
        return False
    return array.flags.c_contiguous or regular(array)


def regular(array: np.ndarray) -> bool:
    """Are its strides whole elements forward, no two elements at one place?"""
    whole = all(n == 1 or s % array.itemsize == 0 for s, n in zip(array.strides, array.shape))
    return whole and apart(array.shape, array.strides, array.itemsize)


def apart(shape: Sequence[int], strides: Sequence[int], size: int) -> bool:
    """Strides go forward, and no two elements of so many units share memory, as windows over an array do."""
    reach = 0
    for stride, extent in sorted(zip(strides, shape)):
        if extent > 1:
            if stride < reach + size:
                return False
            reach += stride * (extent - 1)
    return True


def cast_whole(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """As C and scipy.ndimage make whole numbers: towards zero, and past the type's range by its lowest bits. Truth is what is
    not 0 then."""
    if dtype.kind == 'b':
        return np.trunc(array) != 0
    with np.errstate(invalid='ignore'):
        return array.astype(np.int64).astype(dtype) if dtype != np.uint64 else _cast_uint64(array)


def _cast_uint64(array: np.ndarray) -> np.ndarray:
    return np.where(array < 0, array.astype(np.int64).astype(np.uint64), np.maximum(array, 0).astype(np.uint64))


class Wide:
    """A pass whose taps reach further than an axis is long: it runs on the array extended past its sides."""

    def __init__(self, shape: Tuple[int, ...], each: Pass, dtype: str):
        self.reach, self.given = each.taps.reach(), each
        wide = list(shape)
        for axis, (low, high) in zip(each.axes, self.reach):
            wide[axis] += low + high
        layout, zero = Layout.dense(wide), (lib.STN_CONSTANT, 0.0)
        request = Request(each.taps, each.axes, [(zero, zero)] * len(each.axes),  # type: ignore[list-item]
                          layout, layout, dtype, ITEM_SIZES[dtype])
        self.sweep = Sweep(HOST, request, 'host')
        self.inner = tuple(slice(None) if a not in each.axes else
                           slice(self.reach[each.axes.index(a)][0], self.reach[each.axes.index(a)][0] + n)
                           for a, n in enumerate(shape))

    def __call__(self, source: np.ndarray, target: np.ndarray) -> None:
        # The slowest axis whose index is past a side gives the constant: extended last, it is written last.
        for axis, sides, (low, high) in reversed(list(zip(self.given.axes, self.given.sides, self.reach))):
            source = extend(source, axis, sides, low, high)  # type: ignore[assignment]
        source = np.ascontiguousarray(source)
        result = np.empty_like(source)
        self.sweep.run_arrays(source, result)
        target[...] = result[self.inner]


def _needs_extension(shape: Tuple[int, ...], each: Pass) -> bool:
    """Only where the library would refuse, and only boundaries that an index can say."""
    short = any(max(reach) > shape[axis] for axis, reach in zip(each.axes, each.taps.reach()))
    return short and all(s[0][0] == s[1][0] != lib.STN_FIXED for s in each.sides)


class HostFilter:
    """Passes over NumPy arrays of one shape, strides and dtype."""

    def __init__(self, x: np.ndarray, target: np.dtype, passes: List[Pass], steps: int):
        self.shape, self.target = x.shape, target
        self.work = work_dtype(x.dtype, target)
        self.whole = target.kind in 'biu'
        self.direct = usable(x, self.work)
        first = Layout.of(x) if self.direct else Layout.dense(x.shape)
        if len(passes) == 1 and not self.whole:  # the plan takes the steps itself
            self.sweeps = [self._sweep(passes[0], first, steps)]
        else:
            self.sweeps = [self._sweep(each, first if i == 0 else Layout.dense(x.shape), 1)
                           for i, each in enumerate(passes)]
            rest = [self._sweep(passes[0], Layout.dense(x.shape), 1), *self.sweeps[1:]] if steps > 1 else []
            self.sweeps += rest * (steps - 1)

    def _sweep(self, each: Pass, source: Layout, steps: int):
        name = self.work.name
        if self.whole and each.divisor != 1:
            taps = Taps(each.taps.offsets, np.rint(each.taps.weights * each.divisor))
            each = each._replace(taps=taps)
        if steps == 1 and _needs_extension(self.shape, each):
            return Wide(self.shape, each, name), each.divisor
        request = Request(each.taps, each.axes, each.sides, source, Layout.dense(self.shape), name,
                          ITEM_SIZES[name], steps)
        return Sweep(HOST, request, 'host' if steps == 1 else None), each.divisor

    def __call__(self, x: np.ndarray, out: Optional[np.ndarray] = None) -> np.ndarray:
        """The filtered array: a new one, or `out`, which is checked to fit."""
        current = x if self.direct else x.astype(self.work, order='C')
        last = len(self.sweeps) - 1
        for i, sweep in enumerate(self.sweeps):
            mine = i == last and out is not None and self._writable(out, current)
            result = out if mine else np.empty(self.shape, self.work)
            self._run(sweep, current, result)  # type: ignore[arg-type]
            current = result  # type: ignore[assignment]
            if self.whole:
                current = cast_whole(current, self.target)
                if i != last:
                    current = current.astype(self.work)
        if out is None:
            return current if current.dtype == self.target else current.astype(self.target)
        if current is not out:
            out[...] = current
        return out

    def _writable(self, out: np.ndarray, source: np.ndarray) -> bool:
        return (out.dtype == self.work and out.flags.c_contiguous and out.flags.aligned
                and not np.may_share_memory(out, source))

    def _run(self, sweep, source: np.ndarray, target: np.ndarray) -> None:
        runner, divisor = sweep
        if isinstance(runner, Wide):
            runner(source, target)
        else:
            runner.run_arrays(source, target)
        if self.whole and divisor != 1:
            target /= divisor

    def finish(self) -> None:
        """Nothing is under way once a call has returned."""


class DeviceFilter(Prepared):
    """Passes over arrays of one layout on a GPU. `overlap`: the output may share memory with the input."""

    def __init__(self, view: View, target: Layout, alignment: int, passes: List[Pass], steps: int, overlap: bool):
        self.shape, self.dtype = view.layout.shape, view.dtype
        dense, single = Layout.dense(self.shape), len(passes) == 1
        passes = passes if single else passes * steps
        last = len(passes) - 1 + (overlap and len(passes) == 1)
        requests = []
        for i, each in enumerate(passes):
            requests.append(Request(each.taps, each.axes, each.sides, view.layout if i == 0 else dense,
                                    target if i == last else dense, self.dtype, alignment if i in (0, last) else 16,
                                    steps if single else 1))
        if last == len(passes):  # the result is moved once the input is of no more use
            requests.append(moving(dense, target, self.dtype))
        self.sweeps = [Sweep(view.device, request) for request in requests]
        grid = rounded(int(np.prod(self.shape)) * ITEM_SIZES[self.dtype])
        work = rounded(max(sweep.workspace for sweep in self.sweeps))
        self._between = [work, work + grid]  # in turn: a pass reads one and writes the other
        super().__init__(view.device, work + grid * min(last, 2))
        self.single = self.sweeps[0].run if last == 0 else None

    def __call__(self, view: View, pointer: int) -> None:
        """From a view to the array at `pointer`."""
        memory, kept = self.scratch(view)
        self.enqueue(view.pointer, pointer, view.stream, memory)
        del kept  # until here

    def enqueue(self, source: int, target: int, stream: int, memory: int) -> None:
        if self.single is not None:
            self.single(source, target, stream, memory)
            return
        last = len(self.sweeps) - 1
        with self.lock:  # others may have the same memory
            for i, sweep in enumerate(self.sweeps):
                to = target if i == last else memory + self._between[i % 2]
                sweep.run(source, to, stream, memory)
                source = to


def moving(source: Layout, target: Layout, dtype: str) -> Request:
    """Every point as it is, to where another layout has it."""
    taps, axis = Taps(np.zeros((1, 1), np.int64), np.ones(1)), len(source.shape) - 1
    return Request(taps, (axis,), [WRAP], source, target, dtype, ITEM_SIZES[dtype])
