"""Runs scipy.fft's functions: checks arguments, and makes and caches plans of the library.

A plan transforms at most three axes (a Piece). A call with more axes is a sequence of pieces. On a
GPU, a call may also need copies that make arrays dense.
"""

import math
import os
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._apply import cast, check_layout
from ._arguments import axes_of, frozen, is_index, settled
from ._arrays import Host, View, address_of, may_overlap, open_array, open_target, same_device
from ._context import HOST, context
from ._errors import StentorError
from ._filter import moving
from ._handle import make_plan
from ._library import ffi, lib
from ._memo import recall, remember
from ._namespace import converted, namespace_of
from ._number_types import COMPLEX, DTYPES, ITEM_SIZES, REAL, real_of
from ._problem import Layout, Split, batch_of, in_turns, loop_offsets, regular, split_axes
from ._progress import interruptible
from ._quick import quick, remember_tensor
from ._scratch import Stages, rounded
from ._stencil_run import StencilRun
from ._team import TeamTransform, team_devices
from ._words import listed, said, whole

# Kinds of cosine and sine transforms may also end with ' orthogonal', such as 'dct2 orthogonal'.
KINDS = {'c2c': lib.STN_C2C, 'r2c': lib.STN_R2C, 'c2r': lib.STN_C2R, 'dct2': lib.STN_DCT2, 'dct3': lib.STN_DCT3, 'dst2': lib.STN_DST2,
         'dst3': lib.STN_DST3}


def pairs_of(kind: str) -> Tuple[bool, bool]:
    """Whether the input and the output of a kind of transform are complex."""
    return kind in ('c2c', 'c2r'), kind in ('c2c', 'r2c')


Sizes = Optional[Sequence[int]]  # the argument s
MAX_ITERATIONS = 64  # iterations of a loop on a GPU, each of which is a launch or more
LONG_TABLES = 1 << 20  # points of an axis from which on making the tables may delay Ctrl-C
ITERATION_POINTS = 512  # of an iteration on the host; with fewer, copying the arrays is faster


class Piece(NamedTuple):
    """A transform over at most three axes; a real transform halves the last of `axes`."""

    kind: str
    axes: Tuple[int, ...]
    source: Layout
    target: Layout
    scale: float


class Transform:
    """A piece with its plan."""

    def __init__(self, device: Any, piece: Piece, real: str, inverse: bool, alignment: int):
        self.order: Optional[List[int]] = None
        last = tuple(range(len(piece.source.shape)))[-len(piece.axes):]
        if isinstance(device, tuple):  # a team's arrays are dense
            dense = piece.source.is_dense() and piece.axes == last
            self._plan(device, piece if dense else self._move(piece), real, inverse, 16)
            return
        split = split_axes(piece.axes, piece.source, piece.target, spare=False, slowest=device == HOST)
        # The offsets of the loop's iterations are multiples of real numbers, at which complex
        # numbers would be misaligned, so that the arrays are copied instead.
        on_device = piece.kind != 'c2c' and not self._few_even_iterations(piece, split)
        move = bool(split.loop) and (self._few_points(piece, split) if device == HOST else on_device)
        try:
            self._plan(device, self._move(piece) if move else piece, real, inverse, 16 if move and device != HOST else alignment)
        except StentorError:  # without cuFFT, strided arrays may fail where dense copies succeed
            if move or device == HOST or piece.source.is_dense() and piece.axes == last:
                raise
            self._plan(device, self._move(piece), real, inverse, 16)

    def _plan(self, device: Any, piece: Piece, real: str, inverse: bool, alignment: int) -> None:
        split = split_axes(piece.axes, piece.source, piece.target, spare=False, slowest=device == HOST)
        self.piece, self.shape = piece, piece.target.shape
        work = ffi.new('stn_transform *', {'struct_size': ffi.sizeof('stn_transform'), 'rank': len(piece.axes)})
        long = piece.target if piece.kind == 'c2r' else piece.source
        for i, axis in enumerate(piece.axes):
            work.extent[i] = long.shape[axis]
            work.in_stride[i], work.out_stride[i] = piece.source.strides[axis], piece.target.strides[axis]
        batch_of(work, split.batch, piece.source, piece.target)
        name, _, orthogonal = piece.kind.partition(' ')
        work.kind, work.orthogonal = KINDS[name], bool(orthogonal)
        work.direction = lib.STN_INVERSE if inverse else lib.STN_FORWARD
        work.dtype, work.alignment = DTYPES[real], 2 * ITEM_SIZES[real] if split.loop else alignment
        work.forward_scale = work.inverse_scale = piece.scale
        self.handle: Any  # a Handle or a TeamTransform
        if isinstance(device, tuple):
            self.handle = TeamTransform(device, work)
        else:
            self.handle = make_plan(context(device), lib.stn_plan_create_fft, work, tune='estimate')
        sizes = [ITEM_SIZES[real] * (2 if pairs else 1) for pairs in pairs_of(piece.kind)]
        self.workspace = self.handle.workspace
        turns = [(a * sizes[0], b * sizes[1]) for a, b in zip(loop_offsets(split.loop, piece.source),
                                                              loop_offsets(split.loop, piece.target))]
        self.run: Callable[..., None] = self.handle.run
        self._run_arrays: Callable[..., None] = self.handle.run_arrays
        if split.loop:
            self.run, at_addresses = in_turns(self.handle.run, turns), in_turns(self.handle.run_host, turns)
            self._run_arrays = lambda x, result: at_addresses(x.ctypes.data, result.ctypes.data)

    @staticmethod
    def _few_points(piece: Piece, split: Split) -> bool:
        """Whether copies cost less than a loop on the host, or a loop would misalign numbers."""
        turns = math.prod(piece.source.shape[axis] for axis in split.loop)
        if math.prod(piece.source.shape) < ITERATION_POINTS * turns:
            return True
        layouts = [layout for layout, kind in ((piece.source, 'r2c'), (piece.target, 'c2r')) if kind == piece.kind]
        return any(layout.strides[axis] % 2 for layout in layouts for axis in split.loop)

    @staticmethod
    def _few_even_iterations(piece: Piece, split: Split) -> bool:
        """Whether a cosine or sine transform takes few iterations of a loop, all at even
        offsets."""
        strides = [layout.strides[axis] for layout in (piece.source, piece.target) for axis in split.loop]
        few = math.prod(piece.source.shape[axis] for axis in split.loop) <= MAX_ITERATIONS
        return few and not any(pairs_of(piece.kind)) and not any(stride % 2 for stride in strides)

    def _move(self, piece: Piece) -> Piece:
        """The piece with the transformed axes moved last, for arrays that are copied.

        Cosine and sine transforms of odd length have plans only for adjacent lines (stride 1 from
        line to line): their axes are moved first."""
        rest, axes = [a for a in range(len(piece.source.shape)) if a not in piece.axes], list(piece.axes)
        first = not any(pairs_of(piece.kind)) and piece.source.shape[axes[-1]] % 2 == 1
        self.order = axes + rest if first else rest + axes
        moved = [Layout.dense([layout.shape[a] for a in self.order]) for layout in (piece.source, piece.target)]
        return piece._replace(axes=tuple(self.order.index(a) for a in axes), source=moved[0], target=moved[1])

    def on_host(self, x: np.ndarray, result: np.ndarray) -> None:
        if self.order is None:
            self._run_arrays(x, result)
            return
        x, moved = np.ascontiguousarray(x.transpose(self.order)), np.empty(self.shape, result.dtype)
        self.handle.run_arrays(x, moved)
        result.transpose(self.order)[...] = moved


class Job:
    """All pieces of a call, with the dtype of each intermediate result.

    `device` is a number, or a tuple of them: a team for arrays in host memory."""

    def __init__(self, device: Any, source: Layout, dtype: str, sizes: Tuple[int, ...], axes: Tuple[int, ...], kind: str,
                 inverse: bool, scale: float, alignment: int):
        self.real = REAL[dtype]
        self.pieces = _pieces(source, sizes, axes, kind, scale)
        self.parts = [Transform(device, piece, self.real, inverse, alignment) for piece in self.pieces]
        self.dtypes = [COMPLEX[self.real] if pairs_of(piece.kind)[1] else self.real for piece in self.pieces]

    def on_host(self, x: np.ndarray, out: Optional[np.ndarray] = None) -> np.ndarray:
        """The transform, in a new array or in `out`, which has the result's layout and dtype."""
        for i, (piece, part, dtype) in enumerate(zip(self.pieces, self.parts, self.dtypes)):
            result = out if out is not None and i == len(self.parts) - 1 else np.empty(piece.target.shape, dtype)
            part.on_host(x, result)
            x = result
        return x


class DeviceJob(Stages):
    """A Job on a GPU: a sequence of stages (transforms and copies) through scratch memory."""

    def __init__(self, device: int, source: Layout, dtype: str, *rest: Any):
        alignment, real = rest[-1], REAL[dtype]
        stages: List[Any] = []
        sizes: List[int] = []  # bytes of each stage's output

        def add(stage: Any, made: Layout, pairs: bool) -> None:
            stages.append(stage)
            sizes.append(rounded(math.prod(made.shape) * ITEM_SIZES[real] * (2 if pairs else 1)))

        def move(layout: Layout, made: Layout, pairs: bool) -> None:
            add(_mover(device, layout, made, real, pairs), made, pairs)

        if alignment < 2 * ITEM_SIZES[real]:
            dense = Layout.dense(source.shape)
            move(source, dense, dtype != real)
            source, rest = dense, (*rest[:-1], 16)
        job = Job(device, source, dtype, *rest)
        for piece, part in zip(job.pieces, job.parts):
            of_input, of_result = pairs_of(piece.kind)
            if part.order is not None:
                move(_permuted(piece.source, part.order), part.piece.source, of_input)
            add(part, part.piece.target, of_result)
            if part.order is not None:
                move(part.piece.target, _permuted(piece.target, part.order), of_result)
        self.shape, self.dtype = job.pieces[-1].target.shape, job.dtypes[-1]
        super().__init__(device, stages, max(sizes[:-1], default=0))


def _permuted(layout: Layout, order: Sequence[int]) -> Layout:
    return Layout(tuple(layout.shape[a] for a in order), tuple(layout.strides[a] for a in order))


def _mover(device: int, source: Layout, target: Layout, real: str, pairs: bool) -> StencilRun:
    """A copy from one layout to another; `pairs` means complex numbers."""
    if pairs:
        source, target = (Layout((*each.shape, 2), (*(2 * s for s in each.strides), 1)) for each in (source, target))
    return StencilRun(device, moving(source, target, real))


def _pieces(source: Layout, sizes: Tuple[int, ...], axes: Tuple[int, ...], kind: str, scale: float) -> List[Piece]:
    """The pieces of a transform, three axes at a time.

    The group with the halved axis is the first of a real-to-complex transform, and the last of a
    complex-to-real one."""
    groups = [tuple(axes[max(0, i - 3):i]) for i in range(len(axes), 0, -3)]
    kinds = ['c2c' if kind in ('r2c', 'c2r') else kind] * len(groups)
    if kind == 'r2c':
        kinds[0] = kind
    if kind == 'c2r':
        groups.reverse()
        kinds[-1] = kind
    pieces, layout, left = [], source, scale
    for i, (group, each) in enumerate(zip(groups, kinds)):
        shape = list(layout.shape)
        if each == 'r2c':
            shape[group[-1]] = shape[group[-1]] // 2 + 1
        if each == 'c2r':
            shape[group[-1]] = sizes[axes.index(group[-1])]
        target = Layout.dense(shape)
        share = left if i == len(groups) - 1 else _share(left, [sizes[axes.index(a)] for a in group])
        pieces.append(Piece(each, group, layout, target, share))
        left /= share
        layout = target
    return pieces


def _share(scale: float, sizes: Sequence[int]) -> float:
    """The part of the scale factor that is applied in this piece, before later pieces.

    It is a power of two, hence exact, and keeps intermediate values no larger than the results."""
    if not 0 < scale < 1:
        return 1.0
    return max(2.0 ** np.floor(np.log2(scale)), 2.0 ** -np.ceil(np.log2(np.prod([float(n) for n in sizes]))))


def transform(x: Any, s: Any, axes: Any, norm: Any, kind: str, inverse: bool, workers: Any = None, plan: Any = None,
              out: Any = None, single: bool = False, devices: Optional[Sequence[Any]] = None) -> Any:
    """Runs one of scipy.fft's functions.

    If `single`, the function transforms one axis, and `s` and `axes` are its `n` and `axis`."""
    if workers is not None or plan is not None:
        check_unused(workers, plan)
    s, axes = settled(s), settled(axes)
    team = None if devices is None else team_devices(devices)
    key = ('fft', single, frozen(s), frozen(axes), frozen(norm), kind, inverse, team)
    if out is None and team is None:
        result = quick(key, x)
        if result is not None:
            return result
    opened = open_array(x, 'x')
    if team is not None and isinstance(opened, View):
        raise ValueError('x is on a GPU, but devices divides an array in host memory: leave devices out, or give a NumPy array')
    if kind == 'r2c' and isinstance(opened, Host) and opened.array.dtype.kind == 'c':
        raise TypeError('x is complex, but this transform takes real numbers')
    sizes, where = (size_and_axis if single else sizes_and_axes)(opened.shape, s, axes, kind)
    check_norm(norm)
    scale = scale_of(norm, float(np.prod([float(n) for n in sizes])), inverse)
    if isinstance(opened, View) and not where and out is None:
        return namespace_of(x, 'a transform along no axes').copy(x)
    if isinstance(opened, View):
        if not where:
            raise ValueError('axes is empty: on a GPU, leave out None')
        other = ready_for(x, opened, _input_sizes(sizes, kind), where, kind)
        if other is not None:
            return transform(other, s, axes, norm, kind, inverse, None, None, out, single)
        return on_device(x, opened, key, sizes, where, kind, inverse, scale, out)
    if out is None:
        return opened.back(_on_host(opened.array, key, sizes, where, kind, inverse, scale, team))
    given = same_device(opened, 'x', open_target(out), 'out')
    _on_host(opened.array, key, sizes, where, kind, inverse, scale, team, given.array)
    return out


def check_unused(workers: Any, plan: Any) -> None:
    """Checks `workers` and `plan`, which have no effect, as scipy does."""
    if plan is not None:
        raise NotImplementedError('plan is given, but scipy.fft has none yet: leave it None')
    if workers is None:
        return
    count, most = whole(workers, 'workers', -2**62, TypeError), os.cpu_count() or 1
    if count == 0:
        raise ValueError('workers must not be zero: leave it None, or give 1 or more')
    if count < -most:
        raise ValueError(f'workers value out of range: {count} is less than -{most}')


def size_and_axis(shape: Tuple[int, ...], n: Any, axis: Any, kind: str) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    at = whole(axis, 'axis', -2**62, TypeError)
    if not -len(shape) <= at < len(shape):
        raise IndexError(f'axis {at} is out of range: x has {len(shape)} axes')
    points = whole(n, 'n', -2**62, TypeError) if n is not None else 2 * (shape[at] - 1) if kind == 'c2r' else shape[at]
    check_points(points, at)
    return (points,), (at % len(shape),)


def check_points(n: int, axis: int) -> None:
    if n < 1:
        raise ValueError(f'Invalid number of FFT data points ({n}) specified along axis {axis}: give 1 or more')


def sizes_and_axes(shape: Tuple[int, ...], s: Any, axes: Any, kind: str) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    given = None if s is None else [whole(each, 'a size', -2**62) for each in ([s] if is_index(s) else listed(s, 's'))]
    if axes is None and given is not None:
        if len(given) > len(shape):
            raise ValueError(f's has {len(given)} sizes, but x has {len(shape)} axes')
        axes = range(len(shape) - len(given), len(shape))
    where = axes_of(axes, len(shape), ValueError)
    if not where and kind != 'c2c':
        raise ValueError('axes is empty: name at least one for a transform of real numbers')
    sizes = [shape[a] for a in where]
    if kind == 'c2r':
        sizes[-1] = 2 * (sizes[-1] - 1) or 1  # scipy's functions of several axes give one point
    if given is not None:
        if len(given) != len(where):
            raise ValueError(f's has {len(given)} sizes for {len(where)} axes: give one for each')
        sizes = [shape[axis] if n == -1 else n for axis, n in zip(where, given)]
    for n, axis in zip(sizes, where):
        check_points(n, axis)
    return tuple(sizes), where


def check_norm(norm: Any) -> None:
    if norm is not None and (not isinstance(norm, str) or norm not in ('backward', 'ortho', 'forward')):
        raise ValueError(f"norm is {said(norm)}: use 'backward', 'ortho' or 'forward'")


def scale_of(norm: Any, points: float, inverse: bool) -> float:
    """The factor of a transform of so many points."""
    if norm == 'ortho':
        return points ** -0.5
    return 1.0 / points if inverse == (norm != 'forward') else 1.0


def _input_sizes(sizes: Tuple[int, ...], kind: str) -> Tuple[int, ...]:
    return sizes[:-1] + (sizes[-1] // 2 + 1,) if kind == 'c2r' else sizes


def table_bytes(n: int) -> int:
    """An estimate of the bytes of a float64 transform's tables, for n points.

    A length with a large prime factor takes Bluestein's algorithm: a convolution of the next power
    of two above 2 n."""
    rest, factor = n, 2
    while factor * factor <= rest and factor <= 64:
        while rest % factor == 0:
            rest //= factor
        factor += 1
    return 64 * n if rest <= 64 else 64 * (1 << (2 * n).bit_length())


class HostCall:
    """A prepared call on a NumPy array: crops or pads it, converts its dtype and transforms it."""

    def __init__(self, x: np.ndarray, sizes: Tuple[int, ...], where: Tuple[int, ...], kind: str, inverse: bool,
                 scale: float, team: Optional[Tuple[int, ...]] = None):
        real = np.dtype(real_of(x.dtype.name))
        self.work = np.dtype(real) if kind == 'r2c' else np.result_type(real, np.complex64)
        self.sizes, self.where, self.kind = sizes, where, kind
        self.resize = None if _input_sizes(sizes, kind) == tuple(x.shape[a] for a in where) else _input_sizes(sizes, kind)
        self.alignment = 2 * ITEM_SIZES[REAL[self.work.name]]
        self.convert = self.resize is not None or x.dtype != self.work or not (x.flags.c_contiguous or regular(x))
        x = self._ready(x)
        self.job = None
        self.cached_bytes = sum(table_bytes(n) for n in sizes) * ITEM_SIZES[REAL[self.work.name]] // 8
        if x.size and where:
            def job() -> Job:
                return Job(HOST if team is None else team, Layout.of(x), self.work.name, sizes, where, kind, inverse, scale, self.alignment)

            self.job = job() if max(sizes) < LONG_TABLES else interruptible(job)
            self.cached_bytes += sum(part.handle.host_workspace for part in self.job.parts)

    def _ready(self, x: np.ndarray) -> np.ndarray:
        if self.resize is not None:
            return resized(x, self.resize, self.where, self.work)
        if self.convert:
            return np.array(x, self.work, order='C')
        if x.ctypes.data % self.alignment:  # an aligned copy with the strides of x, as planned
            wide = np.lib.stride_tricks.as_strided
            room = np.empty(sum(abs(s) * (n - 1) for s, n in zip(x.strides, x.shape)) // x.itemsize + 1, x.dtype)
            copy = wide(room, x.shape, x.strides)
            copy[...] = x
            return copy
        return x

    def __call__(self, x: np.ndarray, out: Optional[np.ndarray] = None) -> np.ndarray:
        """The transform, in a new array or in `out`, whose shape and dtype are checked."""
        x = self._ready(x)
        mine = (out is not None and self.job is not None and out.flags.c_contiguous and out.dtype == self.job.dtypes[-1]
                and out.ctypes.data % self.alignment == 0 and out.shape == self.job.pieces[-1].target.shape
                and not np.may_share_memory(out, x))
        result = self.job.on_host(x, out if mine else None) if self.job else _nothing(x, self.sizes, self.where, self.kind, self.work)
        if out is None or mine:
            return result
        if out.shape != result.shape:
            raise ValueError(f'out has wrong shape: {out.shape}, but the result has {result.shape}')
        if not np.can_cast(result.dtype, out.dtype, 'same_kind'):
            raise TypeError(f'Cannot cast the result, of {result.dtype}, to the dtype of out, {out.dtype}')
        out[...] = result
        return out


def _on_host(x: np.ndarray, key: Tuple, sizes: Tuple[int, ...], where: Tuple[int, ...], kind: str, inverse: bool,
             scale: float, team: Optional[Tuple[int, ...]] = None, out: Optional[np.ndarray] = None) -> np.ndarray:
    if not where and out is None:
        return x.copy()
    full = (key, x.shape, x.strides, x.dtype, x.flags.aligned, x.dtype)
    prepared = recall(full)
    return (prepared or remember(full, HostCall(x, sizes, where, kind, inverse, scale, team)))(x, out)


def _nothing(x: np.ndarray, sizes: Tuple[int, ...], where: Tuple[int, ...], kind: str, work: np.dtype) -> np.ndarray:
    """The result for an array without points, or for no axes: there is nothing to transform."""
    shape = list(x.shape)
    if where:
        shape[where[-1]] = sizes[-1] // 2 + 1 if kind == 'r2c' else sizes[-1]
        return np.empty(shape, REAL[work.name] if kind == 'c2r' else COMPLEX[REAL[work.name]])
    return x.copy()


def resized(x: np.ndarray, sizes: Tuple[int, ...], where: Tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A copy of dtype `dtype`, cropped or padded with zeros along each axis of `where`."""
    shape = list(x.shape)
    for n, axis in zip(sizes, where):
        shape[axis] = n
    part = tuple(slice(min(a, b)) for a, b in zip(shape, x.shape))
    made = np.empty(shape, dtype) if all(a <= b for a, b in zip(shape, x.shape)) else np.zeros(shape, dtype)
    made[part] = x[part]
    return made


def ready_for(x: Any, view: View, sizes: Tuple[int, ...], where: Tuple[int, ...], kind: str) -> Any:
    """The array converted to the transform's dtype and padded with zeros, by its own library.

    If that library is none of PyTorch, CuPy and JAX, only conversions between real types are
    possible. The result is None if nothing must be changed, or if the change is not possible."""
    real = real_of(view.dtype)
    dtype = view.dtype if view.dtype.startswith('complex') else COMPLEX[real] if pairs_of(kind)[0] else real
    extra = [0] * len(view.layout.shape)
    for n, axis in zip(sizes, where):
        extra[axis] = max(0, n - view.layout.shape[axis])
    if dtype == view.dtype and not any(extra):
        return None
    made = converted(x, dtype, extra)
    if made is None and dtype in COMPLEX and not any(extra):
        return cast(x, np.dtype(dtype))
    return made


def on_device(x: Any, view: View, key: Tuple, sizes: Tuple[int, ...], where: Tuple[int, ...], kind: str, inverse: bool,
              scale: float, out: Any = None) -> Any:
    """Transforms an array on a GPU; it has the transform's dtype and enough points.

    `key` is the call's key in the cache."""
    shape = list(view.layout.shape)
    for n, axis in zip(_input_sizes(sizes, kind), where):
        if n > shape[axis]:
            raise ValueError(f'{n} points are asked for along axis {axis}, but x has {shape[axis]}: fill it with zeros first')
        shape[axis] = n
    if pairs_of(kind)[0] != view.dtype.startswith('complex') or view.dtype not in REAL:
        needed = 'complex64 or complex128' if pairs_of(kind)[0] else 'real numbers: float32 or float64'
        raise ValueError(f'x has dtype {view.dtype} on a GPU, but this transform takes {needed}')
    if 0 in shape:
        raise ValueError('x has no points: nothing to transform')
    check_layout(view.layout, 'x')
    alignment = next((n for n in (16, 2 * ITEM_SIZES[REAL[view.dtype]]) if view.pointer % n == 0), ITEM_SIZES[REAL[view.dtype]])
    if view.pointer % alignment:
        raise ValueError(f'x does not begin at a multiple of {alignment} bytes: copy it first')
    layout = Layout(tuple(shape), view.layout.strides)
    full = (key, view.layout, view.dtype, view.device, alignment)
    prepared = recall(full)
    if prepared is None:
        job = DeviceJob(view.device, layout, view.dtype, sizes, where, kind, inverse, scale, alignment)
        prepared = remember(full, job.used_by(view))
    remember_tensor(key, x, prepared)
    if out is not None:
        prepared(view, _device_target(view, out, prepared))
        return out
    made = view.empty(prepared.shape, prepared.dtype)
    prepared(view, address_of(made))
    return view.finish(made, view.stream)


def _device_target(view: View, out: Any, prepared: DeviceJob) -> int:
    """The address of `out`, which must have the layout and dtype of a new result array."""
    given = same_device(view, 'x', open_target(out, view.stream), 'out')
    if given.layout.shape != tuple(prepared.shape) or given.dtype != prepared.dtype:
        raise ValueError(f'out has wrong shape or dtype: it is {given.dtype} of shape {given.layout.shape}, but the result is '
                         f'{prepared.dtype} of shape {tuple(prepared.shape)}')
    if not given.layout.is_dense() or given.pointer % 16:
        raise ValueError('out is not dense in C order from a multiple of 16 bytes on: give such an array')
    if may_overlap(view, given):
        raise ValueError('out overlaps x: on a GPU, give an array of its own')
    return given.pointer
