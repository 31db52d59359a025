"""Plans: a problem prepared once and run many times."""

import html
import math
import sys
from typing import Any, Dict, Iterator, Mapping, NoReturn, Optional, Sequence, Tuple, Union

import numpy as np

from ._allocation import new_array
from ._arguments import number
from ._arrays import Host, View, address_of, may_overlap, numbers, open_array, open_target, raw_stream, same_device
from ._batches import BatchHandle
from ._boundary import sides_of
from ._context import HOST, context, device_name, device_number
from ._far import FarHandle
from ._filter import Pass, is_beyond, moving, of_integers
from ._handle import Handle, PairsHandle
from ._namespace import handed_back
from ._number_types import DTYPES, ITEM_SIZES, PARTS, arithmetic_of, is_whole, number_type
from ._plan_arguments import boundary_of, check_out, check_view, fitted, plan_taps, shape_of, stream_handle, unknown_argument
from ._problem import Layout, Request, Split, stencil_plan
from ._progress import call_with_progress, warn_of_growth
from ._scratch import Prepared
from ._stencil import Taps, stencil_handle, taps_of
from ._stencil_run import StencilRun
from ._team import Processes, TeamHandle, team_devices
from ._words import said, step_count

Tune = Union[bool, float, str, Tuple[str, float]]


class Plan:
    """A stencil on a grid of one shape, prepared once and run many times.

    Parameters
    ----------
    shape : sequence of int
        The array's shape. Axes before those of the stencil are batch axes.
    weights : array_like, dict or str
        An array of odd extents, whose middle element has offset 0; or ``{offset: weight}`` with
        tuples as offsets (in 1D also numbers); or a name, such as 'heat-2d:alpha=0.2'.
    boundary : str or sequence, optional
        As `mode` of `correlate`: 'wrap', 'constant=V', 'nearest', 'reflect', 'mirror' or 'fixed',
        by axis and side. The default is 'wrap', as in C and in the command; that of `correlate` is
        'reflect', as in scipy.
    dtype : dtype, optional
        The number type of the arrays. float64, float32 and float16 (also f64, f32 and f16, the
        command's names) are those of the arithmetic too. Arrays of whole numbers and bool are
        computed in float64 and truncated, and bfloat16 is computed in float32; both are rounded at
        the end of a run, not after each step. For complex64 and complex128, the real and the
        imaginary parts are computed one after the other. These types go with neither `every`,
        `source` nor `devices`.
    steps : int, optional
        The number of time steps of each run.
    every : int, optional
        Keeps a frame (in C, a snapshot) after every `every` steps: the result has shape
        ``(steps // every, *shape)``. `frames` yields the frames one at a time.
    source : bool, optional
        Whether a run takes a source array, which is added in each step.
    tolerance : float, optional
        The relative L2 error that is allowed for a whole run; 0 allows rounding errors only.
    accuracy : {'global', 'local'}, optional
        The reference of the accuracy. 'global': errors are relative to the largest values of the
        grid. 'local': errors are relative to the values that contribute to a point; only
        strategies that compute step by step are used, zeros stay zeros, and NaN spreads only to
        points whose taps read it.
    device : str or int, optional
        'host' (or 'cpu'), 'cuda', 'cuda:N' (or 'gpu', 'gpu:N'), or 'auto': the first GPU, else the
        host.
    strategy : str, optional
        The name of the strategy to run, instead of the cheapest one.
    tune : bool, float, str or (str, float), optional
        How the plan chooses among candidates. True or 'measure': measures the likely candidates
        on the GPU first, for about 10 seconds, or for a number of seconds given alone or with the
        mode. 'patient': measures all candidates. 'online': tries candidates in the plan's own
        calls. 'estimate': chooses once by prediction, and compiles before the first call (for CUDA
        graphs). 'wisdom-only': uses earlier measurements, or raises StentorError. False or 'auto':
        the best choice without measuring first.
    mode : str or sequence, optional
        Another name of `boundary`, as in `correlate`.
    initial : bool, optional
        With `every`: the first frame is the input, and the result has shape
        ``(steps // every + 1, *shape)``.
    devices : sequence, optional
        Instead of `device`: several GPUs of this machine, such as ``[0, 1]``. A batch of at least
        as many grids is split among them; else each grid is split along its slowest axis, and the
        GPUs exchange halos. Arrays are NumPy arrays, and `every` is not allowed. 'host', repeated,
        stands for several devices in tests. Or the processes that share the grid (`Processes`).

    Examples
    --------
    >>> import numpy as np, stentor
    >>> plan = stentor.Plan((5,), [0.25, 0.5, 0.25], boundary='nearest', device='host')
    >>> plan(np.array([0., 0., 1., 0., 0.]))
    array([0.  , 0.25, 0.5 , 0.25, 0.  ])
    >>> plan.weights = [0, 2, 0]
    >>> plan(np.array([0., 0., 1., 0., 0.]))
    array([0., 0., 2., 0., 0.])
    """

    def __init__(self, shape: Union[int, str, Sequence[int]], weights: Union[str, Mapping, Any], boundary: Any = 'wrap',
                 dtype: Any = 'float64', steps: int = 1, every: int = 0, source: bool = False, tolerance: float = 0.0,
                 device: Any = 'auto', strategy: Optional[str] = None, tune: Tune = False, accuracy: str = 'global', mode: Any = None,
                 initial: bool = False, devices: Union[None, Sequence[Any], Processes] = None, **unknown: NoReturn):
        if unknown:
            raise TypeError(unknown_argument(next(iter(unknown))))
        if accuracy not in ('global', 'local'):
            raise ValueError(f"accuracy is {said(accuracy)}: give 'global' or 'local'")
        self._shape = self._whole = shape_of(shape)  # _shape becomes this process's part
        self._type = number_type(dtype)
        # The dtype of arrays on the host, where bfloat16 does not exist.
        self._dtype = np.dtype('float32' if self._type == 'bfloat16' else self._type)
        element = PARTS.get(self._type, self._type)
        work = arithmetic_of(element, element)
        taps, self._box = plan_taps(weights)
        rank = taps.rank
        if len(self._shape) < rank:
            raise ValueError(f'shape {self._shape} has fewer axes than the stencil, which has {rank}')
        axes = tuple(range(len(self._shape) - rank, len(self._shape)))
        layout = Layout.dense(self._shape)
        if strategy is not None and not isinstance(strategy, str):
            raise ValueError(f'strategy is {said(strategy)}: give its name')
        self._steps, self._every, self._source = step_count(steps), step_count(every, 'every', 0), bool(source)
        self._devices = devices if devices is None or isinstance(devices, Processes) else team_devices(devices)
        if self._devices is not None and (device != 'auto' or every or initial):
            raise ValueError('devices goes with neither device, every nor initial: leave them out')
        self._number = HOST if self._devices is not None else device_number(device)
        boundary, of = boundary_of(boundary, mode)
        self._initial = bool(initial)
        if self._initial and not self._every:
            raise ValueError('initial is asked for without every: say after how many steps frames are kept')
        if self._type != work and (every or source or self._devices):
            raise ValueError(f'dtype {self._type} goes with neither every, source nor devices: use one of {", ".join(DTYPES)}')
        self._given = dict(boundary=boundary, dtype=self._type, steps=self._steps, every=self._every, source=self._source,
                           tolerance=tolerance, device='auto' if self._devices else device_name(self._number), strategy=strategy,
                           tune=tune, accuracy=accuracy, initial=self._initial,
                           devices=self._devices if isinstance(self._devices, Processes) else
                           self._devices and [device_name(each) for each in self._devices])
        pairs = self._type in PARTS
        # The number type that the arrays hold.
        held = work if element == 'bfloat16' and self._number == HOST else element
        if pairs:
            layout = Layout(self._shape, tuple(2 * stride for stride in layout.strides))
        request = Request(self._with_constants(taps), axes, sides_of(boundary, 0.0, rank, of), layout, layout, work,
                          ITEM_SIZES[held], self._steps, self._every, self._source, number(tolerance, 'tolerance'), accuracy == 'local')
        frame = int(np.prod(self._shape, dtype=object)) * self._dtype.itemsize  # bytes of one frame
        if self._number != HOST and not pairs:
            request = request._replace(alignment=math.gcd(16, frame) if self._initial else 16)
        if held != work:
            request = request._replace(source_type=held, target_type=held)
        batch = tuple(range(len(self._shape) - rank))
        far = Pass(taps, axes, request.sides)
        self._handle: Any  # a Handle, a FarHandle, a BatchHandle or a TeamHandle
        grids = math.prod(self._shape[:len(batch)])
        if isinstance(self._devices, tuple) and grids >= len(self._devices) > 1:
            self._handle = BatchHandle(self._devices, grids, self._shape[len(batch):], lambda shape, name: Plan(
                shape, weights, **{**self._given, 'devices': None, 'device': name}))
        elif self._devices is not None:
            self._handle = TeamHandle(self._devices, request._replace(alignment=0), Split(axes, batch, ()), strategy, tune)
            if isinstance(self._devices, Processes):
                part = self._handle.part
                self._shape = (*self._shape[:len(batch)], part.stop - part.start, *self._shape[len(batch) + 1:])
        elif self._number == HOST and self._type == work and strategy in (None, 'host') and is_beyond(far):
            self._handle = FarHandle(self._shape, self._dtype, far, self._steps, self._every)
        else:
            self._handle = stencil_plan(context(self._number), request, Split(axes, batch, ()), strategy, tune)
        if pairs:
            zero = request._replace(sides=[(low._replace(value=0.0), high._replace(value=0.0)) for low, high in request.sides])
            parts = [self._handle]
            if zero.sides != request.sides:
                parts.append(stencil_plan(context(self._number), zero, Split(axes, batch, ()), strategy, tune, warns=False))
            self._handle = PairsHandle(parts, ITEM_SIZES[work])
        self._moving: Optional[StencilRun] = None  # copies the input to the first frame
        if self._initial and self._number != HOST:
            self._moving = StencilRun(self._number, moving(layout, layout, self._dtype.name))
        self._memory = Prepared(self._number, max(self._handle.workspace, self._moving.workspace if self._moving else 0))
        self._frame = frame if self._initial else 0
        self._chunks: Dict[int, Plan] = {}  # plans of fewer steps for `frames`, by their steps
        self._taps, self._tensor_dtype = taps, None  # PyTorch's dtype, set when first needed
        stack = (self._steps // self._every + self._initial,) if self._every else ()
        self._out_shape: Tuple[int, ...] = stack + self._shape

    @property
    def shape(self) -> Tuple[int, ...]:
        """The shape of the plan's input arrays."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The number type of the arrays; 'bfloat16' as a text, since NumPy does not have it."""
        return self._dtype if self._type != 'bfloat16' else self._type

    def _with_constants(self, taps: Taps) -> Taps:
        """The taps, with weights that do not change constant arrays of integers."""
        if not is_whole(self._type):
            return taps
        return of_integers(Pass(taps, (), ())).taps

    @property
    def device(self) -> str:
        """'host' or 'cuda:N'; the names of several devices are separated by commas."""
        if isinstance(self._devices, Processes):
            return f'process {self._devices.rank} of {self._devices.size}'
        return ','.join(map(device_name, self._devices)) if self._devices else device_name(self._number)

    @property
    def part(self) -> slice:
        """This process's indices of the stencil's first axis, in a plan of several processes."""
        if not isinstance(self._devices, Processes):
            raise ValueError('the plan is of one process, which has the whole grid: make it with devices=Processes(...)')
        return self._handle.part

    @property
    def steps(self) -> int:
        """The number of time steps of each run."""
        return self._steps

    @property
    def every(self) -> int:
        """The number of steps between kept frames; 0 keeps the last one only."""
        return self._every

    @property
    def boundary(self) -> Any:
        """The boundary condition, as given."""
        return self._given['boundary']

    mode = boundary

    @property
    def strategy(self) -> str:
        """The name of the chosen strategy."""
        return self._handle.strategy()

    def __call__(self, x: Any, out: Any = None, stream: Any = None, source: Any = None, progress: Any = None, output: Any = None) -> Any:
        """Run all steps.

        Parameters
        ----------
        x : array
            The input, of the plan's shape, dtype and device; it is not changed.
        out : array, optional
            A dense array that receives the result; by default a new array of the library of `x`.
            On the host it may be `x`, or overlap it.
        stream : int or object, optional
            On a GPU: a CUDA stream, as a handle or an object of PyTorch or CuPy; by default the
            current stream.
        source : array, optional
            The array added in each step, of the shape of `x`, for plans made with ``source=True``.
        progress : callable or bool, optional
            A function of the number of steps done and the number of all steps, called about every
            50 ms and at the end; an exception that it raises cancels the run. True shows a progress
            bar, by tqdm if that is installed. On a GPU the call then waits for the result.
        output : array, optional
            Another name of `out`, as in `correlate`.

        Returns
        -------
        array
            `out`, or a new array of the same library as `x`.
        """
        if output is not None:
            if out is not None:
                raise ValueError('output and out are two names of one argument: give one')
            out = output
        if progress is not None and isinstance(self._handle, BatchHandle):
            raise ValueError('a plan whose devices share a batch reports no progress: leave progress out')
        if progress is not None:
            return call_with_progress(progress, self, x, out, stream, source)
        if type(x) is np.ndarray and self._number == HOST and not self._source and source is None and out is None and self._type != 'bfloat16':
            x = fitted(x, 'x', self._shape, self._dtype)
            result = new_array(self._out_shape, self._dtype)
            self._handle.run_arrays(x, self._after_first(x, result))
            return result
        if type(x).__module__ == 'torch' and self._fits_tensor(x) and source is None and out is None and stream is None:
            return self._run_tensor(x)
        if self._source != (source is not None):
            raise ValueError('the plan adds a source: give one' if self._source else
                             'a source is given to a plan that takes none: make it with source=True')
        where = stream_handle(stream)
        opened = open_array(x, 'x', where)
        if opened.device != self._number:
            place = f'cuda:{opened.device}' if isinstance(opened, View) else 'the host'
            raise ValueError(f"x is on {place}, but the plan is for {self.device}: make the plan with x's device, or move x")
        if isinstance(opened, View):
            return self._run_device(opened, out, opened.stream if where is None else where, source)
        return self._run_host(x, opened, out, source)

    def _fits_tensor(self, x: Any) -> bool:
        """Whether x is a CUDA tensor that takes the fast path without further checks."""
        if self._tensor_dtype is None:
            self._tensor_dtype = getattr(sys.modules['torch'], self._type)
        return (x.is_cuda and x.shape == self._shape and not self._initial and x.get_device() == self._number and not self._source
                and x.is_contiguous() and x.dtype == self._tensor_dtype and not x.is_neg() and not x.requires_grad)

    def _run_tensor(self, x: Any) -> Any:
        torch = sys.modules['torch']
        device, size = x.device, self._handle.workspace
        result = torch.empty(self._out_shape, dtype=x.dtype, device=device) if self._every else torch.empty_like(x)
        memory = torch.empty((size,), dtype=torch.uint8, device=device) if size else None
        self._handle.run(x.data_ptr(), result.data_ptr(), raw_stream(torch, self._number), 0 if memory is None else memory.data_ptr())
        return result

    def _run_host(self, given: Any, opened: Host, out: Any, source: Any) -> Any:
        if (opened.dtype == 'bfloat16') != (self._type == 'bfloat16'):
            raise ValueError(f'x has dtype {opened.dtype or opened.array.dtype}, but the plan is for {self._type}: convert it first')
        x = fitted(opened.array, 'x', self._shape, self._dtype)
        if out is None:
            result = new_array(self._out_shape, self._dtype)
        else:
            result = same_device(opened, 'x', open_target(out), 'out').array
            check_out(self._out_shape, self._dtype, result.shape, result.dtype, result.flags.c_contiguous)
            if not result.flags.aligned:
                raise ValueError(f'out does not begin at a multiple of {result.itemsize} bytes: give an aligned array')
            if np.may_share_memory(x, result):
                x = x.copy()
        if source is None:
            self._handle.run_arrays(x, self._after_first(x, result))
        else:
            other = same_device(opened, 'x', open_array(source, 'source'), 'source')
            constant = fitted(other.array, 'source', self._shape, self._dtype)
            if np.may_share_memory(constant, result):
                constant = constant.copy()
            self._handle.run_source(x, constant, self._after_first(x, result))
        return handed_back(given, opened, result) if out is None else out

    def _run_device(self, view: View, out: Any, stream: int, source: Any) -> Any:
        check_view(view, 'x', self._shape, self._type)
        view = view._replace(stream=stream)
        made = view.empty(self._out_shape, view.dtype) if out is None else out
        if out is None:
            target = address_of(made)
        else:
            given = same_device(view, 'x', open_target(out, stream), 'out')
            check_out(self._out_shape, self._type, given.layout.shape, given.dtype, given.layout.is_dense())
            if may_overlap(view, given):
                raise ValueError('out overlaps x: on a GPU, give an array of its own')
            target = given.pointer
        memory, kept = self._memory.scratch(view)
        if self._moving is not None:
            self._moving.run(view.pointer, target, stream, memory)
            target += self._frame
        if source is None:
            self._handle.run(view.pointer, target, stream, memory)
        else:
            other = same_device(view, 'x', open_array(source, 'source', stream), 'source')
            check_view(other, 'source', self._shape, self._type)
            self._handle.run_with(view.pointer, other.pointer, target, stream, memory)
        del kept  # not freed before this point
        return view.finish(made, stream) if out is None else out

    def _after_first(self, x: np.ndarray, result: np.ndarray) -> np.ndarray:
        """The part of the result that a run writes; copies the input if it is the first frame."""
        if not self._initial:
            return result
        result[0] = x
        return result[1:]

    def frames(self, x: Any, every: Optional[int] = None, *, steps: Optional[int] = None, initial: Optional[bool] = None,
               stream: Any = None, source: Any = None) -> Iterator[Tuple[int, Any]]:
        """Iterate over the frames of a run, as pairs of a number of steps and the frame after them.

        Parameters
        ----------
        x : array
            As for a call of the plan.
        every : int, optional
            The number of steps between frames; by default the plan's own, or 1.
        steps : int, optional
            The number of all steps, a multiple of `every`; by default the plan's own.
        initial : bool, optional
            Whether to begin with (0, x); by default as the plan was made.
        stream, source : optional
            As for a call of the plan.

        Returns
        -------
        iterator
            Each frame is a new array, computed by a run of `every` steps when it is requested.

        Examples
        --------
        >>> import numpy as np, stentor
        >>> plan = stentor.Plan((5,), [1, 0, 0], steps=4, device='host')
        >>> for step, frame in plan.frames(np.array([1., 0., 0., 0., 0.]), every=2):
        ...     print(step, frame)
        2 [0. 0. 1. 0. 0.]
        4 [0. 0. 0. 0. 1.]
        """
        each = step_count(every, 'every') if every is not None else self._every or 1
        total = step_count(steps) if steps is not None else self._steps
        if total % each:
            raise ValueError(f'{total} steps are no multiple of every, which is {each}: give one')
        if each not in self._chunks:
            given = {**self._given, 'steps': each, 'every': 0, 'initial': False}
            self._chunks[each] = _again(self._whole, self._taps.offsets, self._taps.weights, self._box, given)
        chunk, first = self._chunks[each], self._initial if initial is None else bool(initial)

        def run(frame: Any) -> Iterator[Tuple[int, Any]]:  # arguments are checked before it begins
            if first:
                yield 0, frame
            for count in range(each, total + 1, each):
                frame = chunk(frame, stream=stream, source=source)
                yield count, frame

        return run(x)

    @property
    def weights(self) -> np.ndarray:
        """The weights, as an array whose middle element has offset 0.

        New weights may be assigned, as such an array or as a list with one number for each tap,
        sorted by offset. The plan may choose another strategy for them."""
        dense = np.zeros(self._box)
        dense[self._places()] = self._taps.weights
        return dense

    @weights.setter
    def weights(self, weights: Any) -> None:
        given = numbers(weights, 'weights')
        if given.dtype.kind == 'c':
            raise ValueError('weights are complex: give real ones')
        given = np.asarray(given, np.float64)
        if given.shape == self._box:
            chosen = given[self._places()]
            # Nonzero weights at offsets without a tap, where the weight was 0 before.
            if np.count_nonzero(given) != np.count_nonzero(chosen):
                self._remake(taps_of(given, [n // 2 for n in given.shape]))
                return
        elif given.shape == self._taps.weights.shape:
            chosen = given
        else:
            raise ValueError(f'weights have shape {given.shape}, but the plan has {self._box}, {len(self._taps.weights)} of them taps')
        chosen = np.ascontiguousarray(chosen)
        if isinstance(self._handle, (Handle, PairsHandle)) and self._steps > 1:
            warn_of_growth(stencil_handle(Taps(self._taps.offsets, chosen)), self._steps)
        self._chunks = {}
        self._handle.set_weights(self._with_constants(Taps(self._taps.offsets, chosen, in_order=True)).weights)
        self._memory.grow(self._handle.workspace)
        self._taps = Taps(self._taps.offsets, chosen)

    def _remake(self, taps: Taps) -> None:
        """Replaces the plan by one with other taps in the same box."""
        made = _again(self._whole, taps.offsets, taps.weights, self._box, self._given)
        self._memory.finish()  # the replaced plan must not be in use
        self._handle, self._memory, self._taps, self._chunks = made._handle, made._memory, made._taps, {}

    def _places(self) -> Tuple[np.ndarray, ...]:
        return tuple((self._taps.offsets + np.array(self._box) // 2).T)

    def describe(self, format: str = 'text') -> str:
        """Describe the problem, the strategy, the ranking of all candidates, kernels and stability.

        Parameters
        ----------
        format : str, optional
            'text', or 'json' for one JSON object.

        Examples
        --------
        >>> import stentor
        >>> 'host' in stentor.Plan((8, 8), 'heat-2d', device='host').describe()
        True
        """
        if not isinstance(format, str) or format not in ('text', 'json'):
            raise ValueError(f"format is {said(format)}: use 'text' or 'json'")
        return self._handle.describe(format)

    def __reduce__(self) -> Tuple:
        """Supports copy and pickle: the plan is made again, on a device of the same name."""
        return _again, (self._whole, self._taps.offsets, self._taps.weights, self._box, self._given)

    def __repr__(self) -> str:
        return (f'Plan(shape={self._shape}, taps={len(self._taps.weights)}, dtype={self._type!r}, '
                f'boundary={self.boundary!r}, steps={self._steps}, device={self.device!r}, strategy={self.strategy!r})')

    def _repr_html_(self) -> str:
        text = html.escape(self.describe())
        return f'<details open><summary>{html.escape(repr(self))}</summary><pre>{text}</pre></details>'


def _again(shape: Tuple[int, ...], offsets: np.ndarray, weights: np.ndarray, box: Tuple[int, ...], given: Mapping) -> Plan:
    made = Plan(shape, dict(zip(map(tuple, offsets.tolist()), weights.tolist())), **given)
    made._box = box
    return made
