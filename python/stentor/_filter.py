"""Prepared filters: sequences of stencil passes over arrays of one layout, cached between calls.

A pass on the host runs as a plan of the library (StencilRun), or, where the library's limits or its
speed require it, as block sums (Box), as a dense matrix (MatrixPass) or in groups of taps
(GroupedPass).
"""

import math
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import View
from ._boundary import Sides
from ._context import HOST, context
from ._errors import check, new_error
from ._fold import extend
from ._library import ffi, lib
from ._memo import MAX_SPARE, spare_arrays
from ._number_types import DTYPES, ELEMENTS, ITEM_SIZES, arithmetic_of, is_whole, put, sums_exactly, work_dtype
from ._problem import NARROW, WRAP, Layout, Request, regular
from ._progress import Watch, here, may_handle_signals
from ._quick import UNPLANNED
from ._scratch import Stages, rounded
from ._stencil import Taps
from ._stencil_run import StencilRun

# An axis is filtered by a dense matrix if it has fewer than MAX_POINTS points and the taps reach
# LONG_REACH times as many points.
MAX_POINTS, LONG_REACH = 24, 4
# If the last axis alone is filtered and has at most SHORT_LINE points, it is moved first. Integers
# of 8 bytes take longer to move: their limit is NARROW.
SHORT_LINE = 64
SMALL = 4096  # points of an array below which making such a matrix takes longer than the filter
FEW_TAPS = 128  # up to this many taps, a direct sum costs less than the choice of a strategy
LONG_BOX = 12  # points of a box beyond which block sums are faster than as many taps
MIN_ROW = 32  # fewest points of the last axis for which computing two passes at once is faster
# Below so many points, a box or two passes at once hardly delay Ctrl-C.
LARGEST_UNINTERRUPTED = 1 << 25
CACHED = 1 << 16  # numbers of an array piece that stays in cache between NumPy's loops
MAX_SUMS = 1 << 19  # numbers of block sums beyond which two boxes are faster one after the other
STRIP = 16  # columns that are copied together: at least a cache line


class Pass(NamedTuple):
    """One stencil over some axes.

    If the weights are integers over a common divisor, sums over integer arrays are exact and are
    divided once."""

    taps: Taps
    axes: Tuple[int, ...]
    sides: Sequence[Sides]
    divisor: float = 1.0

    def without_zeros(self) -> 'Pass':
        return self._replace(taps=self.taps.without_zeros())


def usable(array: np.ndarray, work: np.dtype) -> bool:
    """Whether the library should read the array in place.

    Rows with strided elements are copied once, which is faster than strided reads for each tap."""
    if array.dtype != work or not array.flags.aligned:
        return False
    rows = array.shape[-1] == 1 or array.strides[-1] == array.itemsize
    return array.flags.c_contiguous or rows and regular(array)


def _dense_copy(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy in C order.

    Where the last axis is not the contiguous one, strips of columns are copied one by one, since
    whole rows would evict each other from cache."""
    if x.ndim < 2 or x.size < CACHED or abs(x.strides[-1]) <= min(abs(s) for s in x.strides):
        return x.astype(dtype, order='C')
    made = np.empty(x.shape, dtype)
    strip = max(STRIP, CACHED * x.shape[-1] // x.size)
    for first in range(0, x.shape[-1], strip):
        made[..., first:first + strip] = x[..., first:first + strip]
    return made


def cast_whole(array: np.ndarray, to: np.ndarray, dtype: np.dtype) -> None:
    """Converts a dense array to an integer dtype, into another array or in place.

    It works in pieces that stay in cache."""
    source, target = array.reshape(-1), to.reshape(-1)
    for first in range(0, source.size, CACHED):
        target[first:first + CACHED] = _cast(source[first:first + CACHED], dtype)


def _cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Conversion to an integer dtype as in C and scipy.ndimage.

    Values are truncated towards zero, and outside of the type's range reduced to its lowest bits.
    A bool is whether the truncated value is not 0."""
    if dtype.kind == 'b':
        return np.trunc(array) != 0
    with np.errstate(invalid='ignore'):
        return array.astype(np.int64).astype(dtype) if dtype != np.uint64 else _cast_uint64(array)


def _cast_uint64(array: np.ndarray) -> np.ndarray:
    positive = np.where(array < 2.0 ** 64, array, 2.0 ** 63)  # NaN and numbers past the range
    return np.where(array < 0, array.astype(np.int64).astype(np.uint64), np.maximum(positive, 0).astype(np.uint64))


class GroupedPass:
    """A pass beyond the library's limits, run on the array extended past its sides.

    Its taps reach further than the library allows, or there are too many of them. They are split
    into groups, each around a centre of its own, and the results of the groups are added.

    cached_bytes, here and in other runners: the size of its tables, for the cache (_memo.py)."""

    def __init__(self, shape: Tuple[int, ...], each: Pass, local: Optional[bool] = True):
        self.reach, self.given, self.local = each.taps.reach(), each, local
        wide = list(shape)
        for axis, (low, high) in zip(each.axes, self.reach):
            wide[axis] += low + high
        self.groups = []
        for taps, centre in _groups(each.taps, [wide[axis] - 1 for axis in each.axes]):
            inner = [slice(None)] * len(shape)
            for axis, (low, _), shift in zip(each.axes, self.reach, centre):
                inner[axis] = slice(low + shift, low + shift + shape[axis])
            self.groups.append((self._runner(wide, each._replace(taps=taps)), tuple(inner)))
        self.cached_bytes = sum(runner.cached_bytes for runner, _ in self.groups)

    def _runner(self, wide: List[int], each: Pass) -> StencilRun:
        """The runner of one group, in float64, so that summing in groups loses no accuracy."""
        layout, zero = Layout.dense(wide), (lib.STN_CONSTANT, 0.0)
        return StencilRun(HOST, Request(each.taps, each.axes,
                                   [(zero, zero)] * len(each.axes),  # type: ignore[list-item]
                                   layout, layout, 'float64', ITEM_SIZES['float64'], local=self.local))

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        source = np.ascontiguousarray(extended(source, self.given, self.reach), np.float64)
        result, total = np.empty_like(source), None
        for runner, inner in self.groups:
            runner.run_arrays(source, result)
            if total is None:
                total = result[inner] if len(self.groups) == 1 else result[inner].copy()
            else:
                with np.errstate(all='ignore'):
                    total += result[inner]
        put(target, total)


class MatrixPass:
    """A pass along one axis of few points n, or of far fewer points than its taps reach.

    The boundary folds the taps into an n x n matrix M and a constant c:
    out[i] = c[i] + sum over j of M[i, j] in[j]. Only the nonzero pattern of M is multiplied, so
    that NaN spreads only to points whose taps read it. The two points at equal distance from i are
    added first, so that mirrored data have mirrored results."""

    def __init__(self, each: Pass, points: int):
        self.axis, self.points, self.cached_bytes = each.axes[0], points, 16 * points * points
        taps, reach = each.taps, each.taps.reach()
        line = each._replace(axes=(0,))
        at = taps.offsets[:, 0] + reach[0][0]
        zero = [tuple((kind, 0.0) for kind, _ in side) for side in each.sides]
        # 1 + the point that each position reads, or 0 past a constant side.
        index = extended(np.arange(1.0, points + 1),
                         line._replace(sides=zero),  # type: ignore[arg-type]
                         reach).astype(np.intp)
        past = extended(np.zeros(points), line, reach)
        self.rows, self.constant = [], []
        for i in range(points):
            folded: Dict[int, List[float]] = {}
            for j, weight in zip(index[at + i], taps.weights):
                if j > 0:
                    folded.setdefault(j - 1, []).append(float(weight))
            row = {j: math.fsum(some) for j, some in folded.items()}
            pairs = [[j for j in sorted({i - d, i + d}) if j in row] for d in range(points)]
            pairs = [pair for pair in pairs if pair]
            # Weights of sum 1 are adjusted to an exact sum, so that constant data stay constant.
            if pairs and abs(math.fsum(row.values()) - 1) < 1e-14:
                for _ in range(2):
                    row[pairs[0][0]] += 1 - sum(sum(row[j] for j in pair) for pair in pairs)
            self.rows.append([[(j, row[j]) for j in pair] for pair in pairs])
            seen = index[at + i] == 0
            with np.errstate(all='ignore'):
                self.constant.append(float((past[at + i][seen] * taps.weights[seen]).sum()) if seen.any() else 0.0)

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        """Runs the pass; `target` is dense. Computes in float64, in pieces that stay in cache."""
        with np.errstate(all='ignore'):
            self._run_pieces(source, target)

    def _run_pieces(self, source: np.ndarray, target: np.ndarray) -> None:
        source, target = np.moveaxis(source, self.axis, 0), np.moveaxis(target, self.axis, 0)
        if source.ndim == 1:
            source, target = source[:, None], target[:, None]
        outer, inner = source.shape[1:-1], source.shape[-1]
        step = max(1, CACHED // self.points // 2)
        if self.axis == source.ndim - 1 or inner < 256:  # few columns: all outer axes are merged
            flat = np.ascontiguousarray(source.reshape(self.points, -1), np.float64)
            made = np.empty(flat.shape)
            for first in range(0, flat.shape[1], step):
                self._run(flat[:, first:first + step], made[:, first:first + step])
            target[...] = made.reshape(source.shape)
            return
        for place in np.ndindex(*outer):
            columns = (slice(None), *place)
            for first in range(0, inner, step):
                part = (*columns, slice(first, first + step))
                some = source[part].astype(np.float64)
                made = np.empty(some.shape)
                self._run(some, made)
                target[part] = made

    def _run(self, source: np.ndarray, target: np.ndarray) -> None:
        some = np.empty(source.shape[1:])
        for row, constant, to in zip(self.rows, self.constant, target):
            to[...] = 0.0
            for pair in row:
                (j, weight) = pair[0]
                np.multiply(source[j], weight, out=some)
                if len(pair) == 2:
                    some += source[pair[1][0]] * pair[1][1]
                to += some
            if constant != 0:  # true also if it is NaN
                to += constant


def extended(x: np.ndarray, each: Pass, reach: Sequence[Tuple[int, int]]) -> np.ndarray:
    """The array extended past its sides by all points that a pass reads.

    The slowest axis is extended last, so that its constant applies in corners."""
    for axis, sides, (low, high) in reversed(list(zip(each.axes, each.sides, reach))):
        x = extend(x, axis, sides, low, high)
    return x


def _groups(taps: Taps, most: Sequence[int]) -> List[Tuple[Taps, np.ndarray]]:
    """Groups of taps with a centre each.

    The taps are no further from their centre than the library's radius and `most`."""
    reach = np.minimum(np.array(most), lib.STN_MAX_HOST_RADIUS)
    box = np.floor_divide(taps.offsets + reach, 2 * reach + 1)
    found = []
    for corner in np.unique(box, axis=0):
        chosen = np.flatnonzero((box == corner).all(axis=1))
        for first in range(0, len(chosen), lib.STN_MAX_TAPS):
            some, (low, high) = chosen[first:first + lib.STN_MAX_TAPS], np.transpose(taps.reach())
            centre = np.clip(corner * (2 * reach + 1), -low, high)
            found.append((Taps(taps.offsets[some] - centre, taps.weights[some]), centre))
    return found


class Box:
    """The means over a long box, by sums of blocks (stn_box_filter).

    Unlike with running sums, the rounding error depends only on the values in the box, and a
    non-finite value affects only the boxes that contain it. Sums of integers are exact."""

    def __init__(self, each: Pass, points: int, dtype: np.dtype, then: Optional[Pass] = None):
        """then: a box along the last axis, applied to the result of this one at once."""
        self.given, self.axis, self.points, self.cached_bytes = each, each.axes[0], points, 0
        self._then = then and Box(then, len(then.taps.weights), dtype)
        # Weights of 1 (of_integers) in floats: the caller divides the sums. Otherwise the library
        # computes means, of integers rounded down.
        sums = float(each.taps.weights[0]) == 1.0 and dtype.kind == 'f'
        before = -int(each.taps.offsets.min())
        sides = [{'kind': kind, 'value': value} for kind, value in each.sides[0]]
        self._box = ffi.new('stn_box_filter *', {
            'struct_size': ffi.sizeof('stn_box_filter'), 'dtype': DTYPES.get(dtype.name, lib.STN_F64), 'size': points,
            'before': before, 'sides': sides, 'divisor': 1.0 if sums else float(points)})
        if dtype.kind != 'f':
            self._box.element = ELEMENTS[dtype.name]

    def _shaped(self, shape: Tuple[int, ...]):
        box, axis = self._box, self.axis
        box.outer, box.points, box.inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:])
        box.next = self._then._shaped(shape) if self._then else ffi.NULL
        return box

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        """Runs the pass; `target` is dense."""
        source, error = np.ascontiguousarray(source), new_error()
        box, watch = self._shaped(source.shape), None
        if here.progress is not None or source.size >= LARGEST_UNINTERRUPTED and may_handle_signals():
            # A copy: other threads use the original.
            watch, box = Watch(), ffi.new('stn_box_filter *', box[0])
            box.progress = watch.function
        status = lib.stn_box_filter_run(context(HOST).handle, box, ffi.from_buffer(source), ffi.from_buffer(target), error)
        if watch is not None:
            watch.check()
        check(status, error)


class OnePass:
    """A pass along adjacent axes of dense arrays, without a plan (stn_filter_run)."""

    cached_bytes = 0

    def __init__(self, shape: Tuple[int, ...], each: Pass, work: str, types: Tuple[str, str]):
        first, past = each.axes[0], each.axes[-1] + 1
        extents = [*shape[first:past], *([math.prod(shape[past:])] if past < len(shape) else [])]
        self._prepare(math.prod(shape[:first]), extents, work, types, list(enumerate(each.sides)), [(each.taps.offsets, each.taps.weights)])
        self._kept[0].divisor = each.divisor

    def _prepare(self, batch: int, extents: List[int], work: str, types: Tuple[str, str], sides: List[Tuple[int, Sides]],
                 taps: List[Tuple[np.ndarray, np.ndarray]]) -> None:
        """Makes the problem, from the sides of some axes, and the taps of the last filter, ..., the
        first."""
        problem = ffi.new('stn_problem *', {'struct_size': ffi.sizeof('stn_problem'), 'batch': batch, 'dtype': DTYPES[work],
                                            'extent': extents, 'alignment': min(ITEM_SIZES[each] for each in types)})
        if types != (work, work):
            problem.in_element, problem.out_element = (ELEMENTS[each] for each in types)
        for at, both in sides:
            for side, (kind, value) in zip(problem.boundary[at], both):
                side.kind, side.value = kind, value
        self._kept, last = [problem], ffi.NULL
        for offsets, weights in taps:
            some = ffi.from_buffer('int64_t[]', np.ascontiguousarray(offsets)), ffi.from_buffer('double[]', weights)
            last = ffi.new('stn_filter_taps *', (len(extents), offsets.shape[1], len(weights), *some, last))
            self._kept += [*some, last]

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        """Runs the pass or passes; both arrays are dense."""
        error = new_error()
        check(lib.stn_filter_run(context(HOST).handle, self._kept[0], self._kept[-1], ffi.from_buffer(source),
                                 ffi.from_buffer(target), error), error)
        if here.progress is not None:
            here.progress(1, 1)


class TwoPasses(OnePass):
    """A pass along one axis and one along the last axis after it, both at once (stn_filter_run).

    The intermediate result stays in cache; the result is that of one pass after the other."""

    def __init__(self, shape: Tuple[int, ...], first: Pass, second: Pass, work: str, types: Tuple[str, str]):
        axis, middle = first.axes[0], math.prod(shape[first.axes[0] + 1:-1])
        extents = [shape[axis], *([middle] if middle > 1 else []), shape[-1]]
        rank = len(extents)
        offsets = np.zeros((len(second.taps.weights), rank), np.int64)
        offsets[:, -1] = second.taps.offsets[:, 0]
        self._prepare(math.prod(shape[:axis]), extents, work, types, [(0, first.sides[0]), (rank - 1, second.sides[0])],
                      [(offsets, second.taps.weights), (first.taps.offsets, first.taps.weights)])


class IntegerPass:
    """A pass over integers by a runner that computes in float64.

    The results are divided and become integers."""

    def __init__(self, runner, divisor: float):
        self.runner, self.divisor, self.cached_bytes = runner, divisor, getattr(runner, 'cached_bytes', 0)

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        """Runs the pass; `target` is dense."""
        made = np.empty(source.shape)
        self.runner.run_arrays(np.ascontiguousarray(source, np.float64), made)
        if self.divisor != 1:
            made /= self.divisor
        cast_whole(made, target, target.dtype)


def of_integers(each: Pass) -> Pass:
    """The pass for results of integers: if it has a divisor, its weights become integers.

    Constant arrays must not change, so weights of sum 1 are `raised`."""
    if each.divisor == 1:
        return each._replace(taps=Taps(each.taps.offsets, raised(each.taps.weights), in_order=True))
    return each._replace(taps=Taps(each.taps.offsets, np.rint(each.taps.weights * each.divisor), in_order=True))


def is_long_box(each: Pass) -> bool:
    return each.divisor > LONG_BOX and can_extend(each)


def is_integer_box(each: Pass, dtype: np.dtype) -> bool:
    """Whether the library's box filter sums such integers without conversion."""
    if dtype.name not in ('uint8', 'uint16') or each.divisor == 1 or not can_extend(each):
        return False
    most = np.iinfo(dtype).max
    constants = [side.value for side in each.sides[0] if side.kind == lib.STN_CONSTANT]
    return most * each.divisor < 2 ** 32 and all(0 <= value <= most and value == int(value) for value in constants)


def can_extend(each: Pass) -> bool:
    """Whether the array can be extended past its sides: all boundaries but 'fixed'."""
    return all(lib.STN_FIXED not in (s[0][0], s[1][0]) for s in each.sides)


def _is_short(shape: Tuple[int, ...], each: Pass) -> bool:
    """Whether the pass runs along one axis of far fewer points than its taps reach."""
    if len(each.axes) != 1 or not can_extend(each) or len(shape) < 2 or math.prod(shape) < SMALL or not _can_be_summed(each.taps.weights):
        return False
    points = shape[each.axes[0]]
    return points < MAX_POINTS and LONG_REACH * points <= max(each.taps.reach()[0])


def is_beyond(each: Pass) -> bool:
    """Whether the pass needs a GroupedPass: its taps reach too far, or are too many."""
    far = max(map(max, each.taps.reach())) > lib.STN_MAX_HOST_RADIUS
    return (far or len(each.taps.weights) > lib.STN_MAX_TAPS) and can_extend(each)


def _can_be_summed(weights: np.ndarray) -> bool:
    """Whether sums of these weights are far from overflow, where math.fsum raises an exception."""
    return len(weights) * float(np.abs(weights).max(initial=0.0)) < 1e300


def raised(weights: np.ndarray) -> np.ndarray:
    """Weights of sum 1, multiplied by 1 plus a bound of the rounding error of their sum.

    A truncated sum over a constant array of 7 is then 7, and not 6 from 6.999. Other weights are
    returned unchanged, and so are weights that are all multiples of 2^-16: their sums are exact,
    and the factor could turn an exact sum of terms of both signs from 4 into 3.999. Weights of 0
    are not counted in the bound, since only some filters have removed them before."""
    values = weights.tolist()  # few numbers, for which Python's loops are faster than NumPy's
    try:
        total = math.fsum(values)
    except OverflowError:
        return weights
    if abs(total - 1) > 1e-14 or all([(65536 * value).is_integer() for value in values]):
        return weights
    count = len(values) - values.count(0.0)
    return weights * (1 + (count + 2) * math.fsum(map(abs, values)) * 2.0 ** -52)


def _narrow(shape: Tuple[int, ...], passes: List[Pass], wide_integers: bool) -> int:
    """The number of last axes, such as colours, that are too short for rows and shall come first.

    Some of them or the axis before them must be filtered."""
    filtered = {axis for each in passes for axis in each.axes}
    most = SHORT_LINE if filtered == {len(shape) - 1} and not wide_integers else NARROW
    count, points = 0, 1
    while count < len(shape) and points * shape[-1 - count] <= most:
        count, points = count + 1, points * shape[-1 - count]
    first = len(shape) - count
    return count if count and first and any(axis >= first - 1 for axis in filtered) else 0


def _new_order(shape: Tuple[int, ...], passes: List[Pass], whole: bool, wide_integers: bool) -> Tuple[int, ...]:
    """The order of the axes in which rows are long enough: axes of one point come first, then the
    last axes that are too short.

    The axes of a pass keep their order if it matters: if constants past the sides differ, or in
    integers, which keep the order of the taps, as on a GPU."""
    same = list(range(len(shape)))
    for each in passes:
        constants = {side.value for sides in each.sides for side in sides if side.kind == lib.STN_CONSTANT}
        if len(each.axes) > 1 and len(constants) > 1:
            return tuple(same)
    several = whole and any(len(each.axes) > 1 for each in passes)
    ones = same if several else sorted(same, key=lambda axis: shape[axis] > 1)
    extents, passes = tuple(shape[axis] for axis in ones), [_moved(each, ones) for each in passes]
    last = len(shape) - _narrow(extents, passes, wide_integers)
    if several and any(len(each.axes) > 1 and max(each.axes) >= last for each in passes):
        last = len(shape)
    return (*ones[last:], *ones[:last])


def _moved(each: Pass, new_order: Sequence[int]) -> Pass:
    """The pass after the array's axes have been put into another order."""
    axes = [new_order.index(axis) for axis in each.axes]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return each._replace(taps=Taps(each.taps.offsets[:, order], each.taps.weights), axes=tuple(axes[i] for i in order),
                         sides=[each.sides[i] for i in order])


def taken_spare(shape: Tuple[int, ...], dtype: np.dtype) -> List[np.ndarray]:
    """The array that an earlier call has left, if it has this shape and dtype."""
    try:
        found = spare_arrays.pop()
    except IndexError:
        return []
    return [found] if found.shape == shape and found.dtype == dtype else []


class HostFilter:
    """Passes over NumPy arrays of one shape, strides and dtype."""

    def __init__(self, x: np.ndarray, target: np.dtype, passes: List[Pass], steps: int, local: Optional[bool] = None):
        passes = [each.without_zeros() for each in passes]
        self.target, self.work = target, work_dtype(x.dtype, target)
        self.whole, self.local = target.kind in 'biu', local
        self.exact_sums = sums_exactly(x.dtype, target)
        native = x.dtype.newbyteorder('=')
        is_dense = x.flags.c_contiguous or not usable(x, native if self.whole else self.work)
        self.planned = steps > 1 or x.size > UNPLANNED or not is_dense
        self.order = None
        order = _new_order(x.shape, passes, self.whole, self.whole and max(x.dtype.itemsize, target.itemsize) == 8)
        if self.planned and order != tuple(range(x.ndim)):
            self.order, self.inverse = order, tuple(order.index(axis) for axis in range(x.ndim))
            passes = [_moved(each, order) for each in passes]
            x = x.transpose(order)
        # The types of the input and of the results of passes: the library converts whole numbers.
        self.source = native if self.whole and native.name in ELEMENTS else self.work
        self.result = target if self.whole else self.work
        self.shape, self.direct = x.shape, usable(x, self.source)
        first = Layout.of(x) if self.direct else Layout.dense(x.shape)
        single = len(passes) == 1 and not is_beyond(passes[0]) and not is_long_box(passes[0])
        if single and not self.whole:  # one plan runs all steps
            self.runners = [self._runner(passes[0], first, self.source, steps)]
        else:
            dense = Layout.dense(x.shape)
            two = len(passes) == 2
            both = self._two(passes, first if two else dense, (self.source if two else self.result, self.result)) if steps == 1 else None
            if both is not None:
                passes = passes[:-2]
            self.runners = [self._runner(each, dense if i else first, self.result if i else self.source, 1)
                           for i, each in enumerate(passes)]
            rest = [self._runner(passes[0], dense, self.result, 1), *self.runners[1:]] if steps > 1 else []
            self.runners += [both] if both is not None else rest * (steps - 1)

    @property
    def cached_bytes(self) -> int:
        """Bytes of its plans' tables, for the cache's limit."""
        return sum(runner.cached_bytes for runner in self.runners)

    def _two(self, passes: List[Pass], source: Layout, types: Tuple[np.dtype, np.dtype]) -> Optional[Union[TwoPasses, Box]]:
        """The last two passes at once, where that is possible and faster."""
        points = math.prod(self.shape)
        if len(passes) < 2 or self.shape[-1] < MIN_ROW or not LARGEST_UNINTERRUPTED > points >= SMALL or not source.is_dense():
            return None
        first, second = passes[-2:]
        if first.axes < second.axes == (len(self.shape) - 1,) and self._are_boxes(first, second, types):
            return Box(first, len(first.taps.weights), self.target if self.whole else self.work, second)
        if self.whole:
            first, second = of_integers(first), of_integers(second)
        for each in (first, second):
            far = len(each.taps.weights) > FEW_TAPS or max(map(max, each.taps.reach())) > lib.STN_MAX_RADIUS
            if far or len(each.axes) > 1 or is_long_box(each) or not can_extend(each) or self.whole and each.divisor != 1:
                return None
            if not self.whole and _is_short(self.shape, each):
                return None
        # Bytes are filtered faster one axis after the other.
        if first.axes >= second.axes or second.axes != (len(self.shape) - 1,) or types == (np.uint8, np.uint8):
            return None
        return TwoPasses(self.shape, first, second, self.work.name, (types[0].name, types[1].name))

    def _are_boxes(self, first: Pass, second: Pass, types: Tuple[np.dtype, np.dtype]) -> bool:
        """Whether two boxes are run by the library at once."""
        if len(first.axes) > 1 or types[0] != types[1] or len(first.taps.weights) * self.shape[-1] > MAX_SUMS:
            return False
        if self.whole:
            return all(is_integer_box(of_integers(each), self.target) for each in (first, second))
        return self.work.itemsize > 2 and is_long_box(first) and is_long_box(second)

    def _runner(self, each: Pass, source: Layout, source_type: np.dtype, steps: int):
        name = self.work.name
        if self.whole:
            each = of_integers(each)
        if self.whole and source_type == self.target and is_integer_box(each, self.target):
            return Box(each, len(each.taps.weights), self.target)
        # Sums of blocks are exact for small integers only.
        if is_long_box(each) and (not self.whole or self.exact_sums or is_beyond(each)):
            return self._of_results(Box(each, len(each.taps.weights), self.work), each.divisor)
        # Integers keep the library's order of summation.
        if steps == 1 and not self.whole and _is_short(self.shape, each):
            return MatrixPass(each, self.shape[each.axes[0]])
        if steps == 1 and is_beyond(each):
            return self._of_results(GroupedPass(self.shape, each, True if self.whole else self.local), each.divisor)
        request = Request(each.taps, each.axes, each.sides, source, Layout.dense(self.shape), name,
                          ITEM_SIZES[name], steps, local=self.local)
        if self.whole:
            types = source_type.name, self.target.name
            request = request._replace(source_type=types[0], target_type=types[1], divisor=each.divisor,
                                       alignment=min(ITEM_SIZES[each] for each in types))
        few = steps == 1 and len(each.taps.weights) <= FEW_TAPS
        if not self.planned and (few or self.whole) and self._is_adjacent(each):
            each = each if self.whole else each._replace(divisor=1.0)
            return OnePass(self.shape, each, name, (source_type.name, (self.target if self.whole else self.work).name))
        return StencilRun(HOST, request, 'host' if few or self.whole else None)

    def _is_adjacent(self, each: Pass) -> bool:
        """Whether the library takes the axes of a pass, and those after them as one, together."""
        first, count = each.axes[0], len(each.axes)
        return each.axes == tuple(range(first, first + count)) and count + (first + count < len(self.shape)) <= 3

    def _of_results(self, runner, divisor: float):
        """The runner, followed by a division and a truncation if the results are integers."""
        return IntegerPass(runner, divisor) if self.whole else runner

    def __call__(self, x: np.ndarray, out: Optional[np.ndarray] = None) -> np.ndarray:
        """The filtered array: a new array, or `out`."""
        if self.order is None:
            return self._filtered(x, out)
        result = self._filtered(x.transpose(self.order), None).transpose(self.inverse)
        if out is None:
            return np.ascontiguousarray(result)
        return put(out, result)

    def _filtered(self, x: np.ndarray, out: Optional[np.ndarray]) -> np.ndarray:
        current = x if self.direct else _dense_copy(x, self.source)
        last = len(self.runners) - 1
        spare = taken_spare(self.shape, self.result) if last else []  # arrays that can be reused
        for i, runner in enumerate(self.runners):
            mine = i == last and out is not None and self._writable(out, current)
            result = out if mine else spare.pop() if spare else np.empty(self.shape, self.result)
            runner.run_arrays(current, result)
            if current is not x and current.dtype == self.result:
                spare.append(current)
            current = result  # type: ignore[assignment]
        # Keeps one array for later calls. The list is replaced without being read, because other
        # threads take arrays from it at any time.
        if spare and spare[-1].nbytes <= MAX_SPARE:
            spare_arrays[:] = spare[-1:]
        if out is None:
            return current if current.dtype == self.target else put(np.empty(self.shape, self.target), current)
        return out if current is out else put(out, current)

    def _writable(self, out: np.ndarray, source: np.ndarray) -> bool:
        return (out.dtype == self.result and out.flags.c_contiguous and out.flags.aligned
                and not np.may_share_memory(out, source))


class DeviceFilter(Stages):
    """Passes over arrays of one layout on a GPU.

    `dtype` is the output's. If it is an integer type, the results of all passes have this type, as
    on the host and in scipy; otherwise they have the dtype of the arithmetic. `overlap` says that
    the output may share memory with the input. With `normalized` (bits of stn_normalized), a pass
    gives pairs to the next pass of the same step; the output is then a floating-point array."""

    def __init__(self, view: View, target: Layout, dtype: str, alignment: int, passes: List[Pass], steps: int, overlap: bool,
                 local: Optional[bool] = None, normalized: int = 0):
        passes = [each.without_zeros() for each in passes]
        self.shape, self.dtype = view.layout.shape, dtype
        work, whole, step = arithmetic_of(view.dtype, dtype), is_whole(dtype), len(passes)
        if normalized:
            work, local = 'float32' if work == 'float16' else work, True
        between = dtype if whole else work
        if whole:
            local = True
            passes = [of_integers(each) for each in passes]
        dense, single = Layout.dense(self.shape), len(passes) == 1 and not ((whole or normalized) and steps > 1)
        passes = passes if single else passes * steps
        last = len(passes) - 1 + (overlap and len(passes) == 1)
        requests = []
        for i, each in enumerate(passes):
            source, result = view.dtype if i == 0 else between, dtype if i == last else between
            least = max(alignment, min(ITEM_SIZES[source], ITEM_SIZES[result]))
            pairs = (lib.STN_NORMALIZED_PAIRS_IN if i % step else 0) | (lib.STN_NORMALIZED_PAIRS_OUT if (i + 1) % step else 0)
            requests.append(Request(each.taps, each.axes, each.sides, view.layout if i == 0 else dense,
                                    target if i == last else dense, work, least if i in (0, last) else 16,
                                    steps if single else 1, local=local, source_type=source, target_type=result,
                                    divisor=each.divisor if whole else 1.0, normalized=normalized and normalized | pairs))
        if last == len(passes):  # the output may overlap the input: a last pass copies the result
            least = max(alignment, min(ITEM_SIZES[between], ITEM_SIZES[dtype]))
            requests.append(moving(dense, target, work)._replace(source_type=between, target_type=dtype, alignment=least))
        between_size = rounded(math.prod(self.shape) * ITEM_SIZES[between] * (2 if normalized and step > 1 else 1))
        super().__init__(view.device, [StencilRun(view.device, request) for request in requests], between_size)


def moving(source: Layout, target: Layout, dtype: str) -> Request:
    """A copy from one layout to another, as a stencil of one tap."""
    taps, axis = Taps(np.zeros((1, 1), np.int64), np.ones(1)), len(source.shape) - 1
    return Request(taps, (axis,), [WRAP], source, target, dtype, ITEM_SIZES[dtype])
