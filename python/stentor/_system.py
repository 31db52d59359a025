"""Systems: explicit time stepping of coupled fields with spatially varying coefficients.

A system is written as text, which the library parses. A call maps the caller's arrays (_Call) to
one execution of a plan, on the host (_OnHost) or on a GPU (_OnDevice).
"""

import itertools
import math
import threading
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._allocation import new_array
from ._arguments import number
from ._arrays import Host, View, address_of, numbers, open_array
from ._context import HOST, context, device_number
from ._errors import check, new_error
from ._handle import make_plan
from ._library import ffi, lib, take_text
from ._number_types import DTYPES, dtype_of
from ._plan_arguments import stream_handle
from ._progress import warn_caller, watched
from ._scratch import Prepared
from ._team import SystemTeamHandle, team_devices
from ._words import listed, said, whole

PLANS = 16  # the largest number of cached plans of a system
ALIGNED = 16  # bytes that kernels read at once, at most


class _Point(NamedTuple):
    """A weighted grid point of a source or receiver, whose number is `channel`."""

    channel: int
    field: int
    at: Tuple[int, ...]
    weight: float


class _Key(NamedTuple):
    """The parameters of a plan, as its key in the cache."""

    device: int
    extent: Tuple[int, ...]
    batch: Tuple[int, ...]
    dtype: str
    steps: int
    every: int
    numbers: Tuple[int, ...]  # for each coefficient: 1 for a number, 0 for an array
    sources: Tuple[_Point, ...]
    receivers: Tuple[_Point, ...]
    record_every: int
    strategy: Optional[str]
    in_place: bool = False
    local: bool = False
    tolerance: float = 0.0
    alignment: int = 0  # of all arrays, in bytes; 0: the size of the dtype
    devices: Optional[Tuple[int, ...]] = None


class System:
    """Explicit time stepping of coupled fields, written as text.

    The text declares fields (``field u(2)``: `u` and `u.prev`, one step earlier), coefficients,
    stencils and boundaries, and assigns each field's ``.next``; the manual is in stentor.h, under
    "Systems". A plan is made for each shape with which the system is called.

    Parameters
    ----------
    text : str
        The system. An error in it raises a ValueError that names line and column.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> wave = stentor.System('''
    ... field u(2)
    ... coefficient c2
    ... stencil lap = laplace-1d
    ... boundary u = odd-reflect
    ... u.next = 2*u - u.prev + c2*lap(u)
    ... ''')
    >>> u = np.array([0., 0., 1., 0., 0., 0.])
    >>> wave({'u': u}, {'c2': 1.0}, steps=2, device='host')['u']
    array([ 1., -1.,  1., -1.,  1.,  0.])
    """

    def __init__(self, text: str):
        if not isinstance(text, str):
            raise ValueError(f'a system is {said(text)}: give its text')
        made, error = ffi.new('stn_system **'), new_error()
        check(lib.stn_system_parse(text.replace('\0', '?').encode(), made, error), error)
        self._system = ffi.gc(made[0], lib.stn_system_destroy)
        words = ffi.new('char **')
        check(lib.stn_system_print(self._system, words, error), error)
        self._text = take_text(words)
        self._fields = {_word(lib.stn_system_field_name(self._system, i)): lib.stn_system_field_levels(self._system, i)
                        for i in range(lib.stn_system_field_count(self._system))}
        self._coefficients = [_word(lib.stn_system_coefficient_name(self._system, i))
                              for i in range(lib.stn_system_coefficient_count(self._system))]
        self._levels = [_level(name, level) for name, levels in self._fields.items() for level in range(levels)]
        self._plans: Dict[_Key, Tuple[Any, Prepared]] = {}
        self._warned: Dict[Any, float] = {}
        self._lock = threading.Lock()

    @property
    def text(self) -> str:
        """The system in its canonical form."""
        return self._text

    @property
    def fields(self) -> Dict[str, int]:
        """The fields' names, and the number of time levels of each."""
        return dict(self._fields)

    @property
    def coefficients(self) -> Dict[str, Optional[float]]:
        """The coefficients' names, and the value of each in the text, or None."""
        value, found = ffi.new('double *'), {}
        for i, name in enumerate(self._coefficients):
            found[name] = value[0] if lib.stn_system_coefficient_value(self._system, i, value) else None
        return found

    @property
    def rank(self) -> int:
        """The number of axes of the grid; 0 if the text does not determine it."""
        return lib.stn_system_rank(self._system)

    def __repr__(self) -> str:
        return f'<stentor.System of {", ".join(self._levels)}>'

    def __reduce__(self) -> Tuple:
        """Supports copy and pickle: the text is parsed again."""
        return type(self), (self._text,)

    def growth(self, coefficients: Optional[Mapping[str, Any]] = None, rank: Optional[int] = None) -> float:
        """The largest growth factor of any Fourier mode in one step (von Neumann stability).

        Parameters
        ----------
        coefficients : mapping, optional
            By name: a number, an array, or a pair (low, high) of bounds; by default the numbers of
            the text.
        rank : int, optional
            The number of axes of the grid, if the text does not determine it.

        Returns
        -------
        float
            If it exceeds 1 by more than 1e-5, a long run overflows. For varying coefficients it is
            an estimate from their bounds. NaN if the system is not linear, or a coefficient is not
            known.
        """
        bounds = []
        for name, value in {**self.coefficients, **(coefficients or {})}.items():
            if name not in self._coefficients:
                raise ValueError(f'there is no coefficient {said(name)}: the system has {self._coefficients}')
            array = _real(np.nan if value is None else value, name)
            bounds.append((float(array.min()), float(array.max())) if array.size else (np.nan, np.nan))
        return self._growth(self._rank(rank), tuple(bounds))

    def _growth(self, rank: int, bounds: Tuple[Tuple[float, float], ...]) -> float:
        low, high = (ffi.new('double[]', [each[i] for each in bounds] or [0.0]) for i in (0, 1))
        found, error = ffi.new('double *'), new_error()
        check(lib.stn_system_growth(self._system, rank, low, high, found, error), error)
        return found[0]

    def _rank(self, given: Optional[int], *arrays: int) -> int:
        if given is not None:
            return whole(given, 'rank', 1)
        least = lib.stn_system_least_rank(self._system)
        return self.rank or max(least, min((each for each in arrays if each), default=least))

    def __call__(self, fields: Mapping[str, Any], coefficients: Optional[Mapping[str, Any]] = None, steps: int = 1, *, every: int = 0,
                 sources: Sequence[Tuple[str, Any, Any]] = (), receivers: Sequence[Tuple[str, Any]] = (), record_every: int = 1,
                 rank: Optional[int] = None, dtype: Any = None, device: Any = None, strategy: Optional[str] = None, stream: Any = None,
                 progress: Any = None, overwrite: bool = False, accuracy: str = 'global', tolerance: float = 0.0,
                 devices: Optional[Sequence[Any]] = None) -> Any:
        """Run all steps.

        Parameters
        ----------
        fields : mapping of str to array
            The initial state, such as ``{'u': u, 'u.prev': before}``. An earlier level that is not
            given equals the present one. Axes before those of the grid are batch axes. Arrays are
            not changed.
        coefficients : mapping of str to array or float, optional
            Numbers, or arrays of the grid's shape.
        steps : int, optional
            The number of time steps.
        every : int, optional
            Keeps the present states after every `every` steps: results have a first axis of
            ``steps // every``, and no earlier levels.
        sources : sequence of (field, position, amplitudes), optional
            In each step the source's amplitude is added to the field's next state at the position.
            A position between grid points is distributed linearly among its neighbours.
        receivers : sequence of (field, position), optional
            Positions at which the field is recorded, after every `record_every` steps.
        record_every : int, optional
            The number of steps between records.
        rank : int, optional
            The number of axes of the grid, if neither the text nor an array of coefficients
            determines it; by default that of the fields' arrays.
        dtype : dtype, optional
            float64, float32 or float16; by default that of the first field.
        device : str or int, optional
            For arrays on the host: 'host', the default, or a GPU, to which they are copied and from
            which results are copied back.
        strategy : str, optional
            The name of the strategy to run, instead of the cheapest one.
        stream : int or object, optional
            On a GPU: a CUDA stream, as a handle or an object of PyTorch or CuPy; by default the
            current stream.
        progress : callable or bool, optional
            As for a call of `Plan`.
        overwrite : bool, optional
            Whether the new state overwrites the arrays of `fields`, so that it takes no further
            memory. The arrays must be dense, of the dtype, and given for all levels.
        accuracy : {'global', 'local'}, optional
            The reference of the accuracy. 'global': errors are relative to the largest values of
            the grid, so that all steps of a linear system with numbers as coefficients may be
            computed at once, by transforms. 'local': errors are relative to the values that
            contribute to a point, and the system is computed step by step.
        tolerance : float, optional
            The relative L2 error that is allowed for the whole run; 0 allows rounding errors only.
        devices : sequence, optional
            Several devices of this machine for one grid, such as ``[0, 1]``, as for `Plan`: all
            arrays are divided along the grid's first axis. Arrays are on the host; `device` and
            `stream` are left out.

        Returns
        -------
        dict
            The state after all steps, by the names of `fields`. With receivers, a pair of the state
            and of records of shape ``(steps // record_every, [batch,] receivers)``.
        """
        with watched(progress):
            return _Call(self, fields, coefficients or {}, rank, dtype, device, stream, devices).run(
                whole(steps, 'steps', 1), whole(every, 'every', 0), sources, receivers, whole(record_every, 'record_every', 1), strategy, bool(overwrite),
                _is_local(accuracy), number(tolerance, 'tolerance'))

    def describe(self, shape: Sequence[int], *, steps: int = 1, every: int = 0, dtype: Any = 'float64', device: Any = 'host', form: str = 'text',
                 strategy: Optional[str] = None, accuracy: str = 'global', tolerance: float = 0.0) -> str:
        """Describe the plan for a grid of this shape, as text or JSON.

        Parameters
        ----------
        shape : sequence of int
        steps, every : int, optional
        dtype : dtype, optional
        device : str or int, optional
        form : {'text', 'json'}, optional
        strategy, accuracy, tolerance : optional
            As for a call.

        Returns
        -------
        str
        """
        key = _Key(device_number(device), tuple(whole(each, 'an extent', 1) for each in listed(shape, 'shape')), (), dtype_of(dtype).name,
                   whole(steps, 'steps', 1), whole(every, 'every', 0), self._numbers({}), (), (), 1, strategy, False, _is_local(accuracy),
                   number(tolerance, 'tolerance'), 0 if device_number(device) == HOST else ALIGNED)
        return self._plan(key)[0].describe(form)

    def _numbers(self, given: Mapping[str, Any]) -> Tuple[int, ...]:
        """For each coefficient, 1 if it is a number; `given` holds the ones that are arrays."""
        return tuple(int(name not in given) if given else int(value is not None) for name, value in self.coefficients.items())

    def _plan(self, key: _Key) -> Tuple[Any, Prepared]:
        with self._lock:
            found = self._plans.get(key)
            if found is None:
                while len(self._plans) >= PLANS:
                    self._plans.pop(next(iter(self._plans)))
                found = self._plans[key] = self._make(key)
            return found

    def _make(self, key: _Key) -> Tuple[Any, Prepared]:
        problem = ffi.new('stn_system_problem *', {'struct_size': ffi.sizeof('stn_system_problem')})
        problem.system, problem.rank, problem.extent = self._system, len(key.extent), list(key.extent)
        problem.batch, problem.dtype, problem.steps = math.prod(key.batch), DTYPES[key.dtype], key.steps
        problem.every, problem.record_every = key.every, key.record_every
        numbers = ffi.new('int[]', list(key.numbers) or [0])
        problem.is_number = numbers
        problem.in_place, problem.tolerance = key.in_place, key.tolerance
        problem.accuracy = lib.STN_ACCURACY_LOCAL if key.local else lib.STN_ACCURACY_GLOBAL
        problem.alignment = key.alignment or np.dtype(key.dtype).itemsize
        sources, receivers = (ffi.new('stn_system_point[]', [(p.channel, p.field, list(p.at), p.weight) for p in points])
                              for points in (key.sources, key.receivers))
        problem.source_count, problem.sources = len(key.sources), sources
        problem.receiver_count, problem.receivers = len(key.receivers), receivers
        if key.devices is not None:
            return SystemTeamHandle(key.devices, problem, key.strategy), Prepared(HOST, 0)
        handle = make_plan(context(key.device), lib.stn_plan_create_system, problem, key.strategy)
        return handle, Prepared(key.device, handle.workspace)

    def _points(self, field: Any, position: Any, channel: int, extent: Tuple[int, ...], name: str) -> List[_Point]:
        """The grid points around a position, with the weights of linear interpolation."""
        names = list(self._fields)
        if field not in names:
            raise ValueError(f'{name} is of {said(field)}, which is no field: the system has {", ".join(names)}')
        where = [number(each, f'a position of {name}') for each in (listed(position, f'the position of {name}') if np.ndim(position) else [position])]
        if len(where) != len(extent) or any(not 0 <= each <= n - 1 for each, n in zip(where, extent)):
            raise ValueError(f'{name} is at {said(position)}, which is not within the grid of shape {extent}')
        low = [min(int(math.floor(each)), n - 1) for each, n in zip(where, extent)]
        found = []
        for corner in itertools.product((0, 1), repeat=len(extent)):
            weight = math.prod((each - at) if up else 1 - (each - at) for each, at, up in zip(where, low, corner))
            if weight:
                found.append(_Point(channel, names.index(field), tuple(at + up for at, up in zip(low, corner)), weight))
        return found

    def _warn(self, rank: int, bounds: Tuple[Tuple[float, float], ...], steps: int) -> None:
        """Issues a RuntimeWarning before a run of several steps with a growing Fourier mode."""
        if steps < 2 or any(math.isnan(low) for low, _ in bounds):
            return
        key = (rank, bounds)
        if key not in self._warned:
            if len(self._warned) >= PLANS:
                self._warned.clear()
            self._warned[key] = self._growth(rank, bounds)
        growth = self._warned[key]
        if not growth > 1 + 1e-5:
            return
        warn_caller(f'a step of this system multiplies some wave by up to {growth:.7g}: it grows without bound in a long run, by up to '
                    f'a factor of {growth:.7g}^{steps} in these {steps} steps; take smaller steps')


def sponge(shape: Sequence[int], width: int, strength: float = 0.1, sides: Any = None) -> np.ndarray:
    """The damping coefficient of an absorbing layer (sponge) along the sides of a grid.

    A wave equation takes it as a coefficient d:
    ``u.next = (2*u - (1 - d)*u.prev + c2*lap(u)) / (1 + d)``.

    Parameters
    ----------
    shape : sequence of int
        The grid's shape.
    width : int
        The width of the layer in points; the damping rises with the square of the depth in it.
    strength : float, optional
        The damping at the sides.
    sides : sequence of (bool, bool), optional
        For each axis, whether its low and its high side have a layer; by default all sides.

    Returns
    -------
    ndarray
        float64, 0 away from the sides.

    Examples
    --------
    >>> import stentor
    >>> stentor.sponge((8,), 2, 0.4, sides=[(True, False)])
    array([0.4, 0.1, 0. , 0. , 0. , 0. , 0. , 0. ])
    """
    extent = tuple(whole(each, 'an extent', 1) for each in listed(shape, 'shape'))
    chosen = [(True, True)] * len(extent) if sides is None else listed(sides, 'sides')
    width, strength = whole(width, 'width', 1), number(strength, 'strength')
    if len(chosen) != len(extent):
        raise ValueError(f'sides are {said(sides)}: give a pair for each of the {len(extent)} axes')
    depth = np.zeros(extent)
    for axis, (n, (low, high)) in enumerate(zip(extent, chosen)):
        at = np.arange(n)
        along = np.maximum(width - at if low else 0, width - (n - 1 - at) if high else 0)
        depth = np.maximum(depth, along.reshape([-1 if i == axis else 1 for i in range(len(extent))]))
    return strength * (depth / width) ** 2


def _real(given: Any, name: str) -> np.ndarray:
    """An array or a number of real numbers."""
    array = numbers(given, name)
    if array.dtype.kind == 'c':
        raise ValueError(f'{name} is complex: give real numbers')
    return array


def _elements(given: Any, name: str, parts: str, count: int) -> List[Any]:
    """The parts of a source or receiver."""
    if not isinstance(given, (tuple, list)) or len(given) != count:
        raise ValueError(f'{name} is {said(given)}: give {parts}')
    return list(given)


def _amplitudes(given: Any, name: str, steps: int) -> np.ndarray:
    """The amplitudes of a source: one for each step, or one for all steps."""
    made = None if given is None else numbers(given, f'the amplitudes of {name}')
    if made is not None and made.dtype.kind == 'c':
        raise ValueError(f'{name} has amplitudes of {made.dtype}: give real numbers')
    if made is None or made.shape not in ((), (1,), (steps,)):
        found = 'no amplitudes' if made is None else f'amplitudes of shape {made.shape}'
        raise ValueError(f'{name} has {found}: give {steps}, one for each step')
    return made


class _Call:
    """One call of a system: its arrays, opened and checked."""

    def __init__(self, system: System, fields: Any, coefficients: Any, rank: Any, dtype: Any, device: Any, stream: Any,
                 devices: Optional[Sequence[Any]]):
        self.system, self.stream, self.given = system, stream_handle(stream), fields
        self.devices = None if devices is None else team_devices(devices)
        for given, name, known in ((fields, 'fields', system._levels), (coefficients, 'coefficients', system._coefficients)):
            if not isinstance(given, Mapping):
                raise ValueError(f'{name} are {said(given)}: give a mapping of names to arrays')
            for each in given:
                if each not in known:
                    raise ValueError(f'{name} have {said(each)}: the system has {", ".join(known) or "none"}')
        for name in system._fields:
            if name not in fields:
                raise ValueError(f'the field {name} is not given: a state to begin with is needed')
        self.opened = {name: open_array(each, name, self.stream) for name, each in fields.items()}
        told, self.values, self.arrays = system.coefficients, {}, {}
        for name in system._coefficients:
            value = coefficients.get(name, told[name])
            if value is None:
                raise ValueError(f'the coefficient {name} is not given: an array or a number')
            if isinstance(value, (int, float, complex)) or isinstance(value, (np.ndarray, np.generic)) and np.ndim(value) == 0:
                self.values[name] = number(value, name)
            else:
                self.arrays[name] = open_array(value, name, self.stream)
        first = self.opened[next(iter(system._fields))]
        self.back: Any = first.back if isinstance(first, Host) else None
        self.view = first if isinstance(first, View) else None
        self._place(first, device)
        self._shapes(first, rank, dtype)

    def _place(self, first: Any, device: Any) -> None:
        for name, each in {**self.opened, **self.arrays}.items():
            if isinstance(each, Host) and each.array.dtype.kind == 'c':
                raise ValueError(f'{name} is complex: give its real and imaginary parts as two fields')
            if each.device != first.device:
                raise ValueError(f'{name} is on another device than {next(iter(self.system._fields))}: give all arrays on one')
        if self.devices is not None and (device is not None or self.stream is not None or isinstance(first, View)):
            raise ValueError('devices goes with arrays on the host, and with neither device nor stream: leave them out')
        asked = None if device is None else device_number(device)
        self.number = first.device if isinstance(first, View) else HOST if asked is None else asked
        if asked is not None and asked != self.number:
            raise ValueError(f'the arrays are on cuda:{self.number}, and device is {said(device)}: move them, or leave device out')

    def _shapes(self, first: Any, rank: Any, dtype: Any) -> None:
        shapes = {name: tuple(each.shape) for name, each in {**self.opened, **self.arrays}.items()}
        shape = shapes[next(iter(self.system._fields))]
        self.rank = self.system._rank(rank, *([len(shapes[name]) for name in self.arrays] or [len(shape)]))
        if len(shape) < self.rank:
            raise ValueError(f'the fields have {len(shape)} axes, and the system {self.rank}')
        self.shape, self.extent, self.batch = shape, shape[len(shape) - self.rank:], shape[:len(shape) - self.rank]
        if 0 in self.batch:  # for the library 0 sets of fields are one
            raise ValueError(f'the fields have shape {shape}: give one set of fields or more')
        for name, found in shapes.items():
            wanted = self.extent if name in self.arrays else shape
            if found != wanted:
                raise ValueError(f'{name} has shape {found}: give it shape {wanted}')
        own = first.array.dtype.name if isinstance(first, Host) else first.dtype
        self.dtype = dtype_of(dtype if dtype is not None else own if own in DTYPES else 'float64')

    def _host(self, name: str, opened: Any) -> np.ndarray:
        array = np.ascontiguousarray(opened.array, self.dtype)
        return array if array.flags.aligned else array.copy()

    def run(self, steps: int, every: int, sources: Any, receivers: Any, record_every: int, strategy: Optional[str], overwrite: bool,
            local: bool, tolerance: float) -> Any:
        system = self.system
        points: List[_Point] = []
        amplitudes = []
        wide = np.dtype(np.float64 if self.dtype == np.float64 else np.float32)
        for i, each in enumerate(listed(sources, 'sources')):
            field, position, amplitude = _elements(each, f'source {i}', 'a field, a position and amplitudes', 3)
            points += system._points(field, position, i, self.extent, f'source {i}')
            amplitudes.append(np.broadcast_to(_amplitudes(amplitude, f'source {i}', steps).astype(wide), (steps,)))
        recorded: List[_Point] = []
        receivers = listed(receivers, 'receivers')
        for i, each in enumerate(receivers):
            field, position = _elements(each, f'receiver {i}', 'a field and a position', 2)
            recorded += system._points(field, position, i, self.extent, f'receiver {i}')
        key = _Key(self.number, self.extent, self.batch, self.dtype.name, steps, every, tuple(int(name in self.values) for name in system._coefficients),
                   tuple(points), tuple(recorded), record_every, strategy, overwrite, local, tolerance, self._alignment(), self.devices)
        if overwrite:
            self._check_overwrite(every)
        self._warn(steps)
        handle, memory = system._plan(key)
        signal = np.ascontiguousarray(np.stack(amplitudes, axis=1)) if amplitudes else None
        shape = (steps // record_every, *self.batch, len(receivers))
        home: Any = _OnHost(self) if self.number == HOST else _OnDevice(self, memory)
        state, records = home.run(handle, signal, (shape, wide) if receivers else None, (steps // every,) if every else (), overwrite)
        return state if records is None else (state, records)

    def _alignment(self) -> int:
        """The alignment of all arrays; those that the call makes on a GPU are aligned."""
        given = [each.pointer for each in (*self.opened.values(), *self.arrays.values()) if isinstance(each, View)]
        return 0 if self.number == HOST or self.devices or any(each % ALIGNED for each in given) else ALIGNED

    def _check_overwrite(self, every: int) -> None:
        if every:
            raise ValueError('overwrite is asked for with every: frames need arrays of their own')
        for name in self.system._levels:
            if name not in self.opened:
                raise ValueError(f'overwrite needs all levels, and {name} is not given')
            each = self.opened[name]
            if isinstance(each, Host):
                fits = each.array.dtype == self.dtype and each.array.flags.carray and self.number == HOST
            else:
                fits = each.writable
            if not fits:
                raise ValueError(f'{name} cannot be overwritten: give a dense, writable array of {self.dtype} on the device')

    def _warn(self, steps: int) -> None:
        bounds = []
        for name in self.system._coefficients:
            if name in self.values:
                bounds.append((self.values[name],) * 2)
            else:
                opened: Any = self.arrays[name]
                known = isinstance(opened, Host) and opened.array.size
                bounds.append((float(opened.array.min()), float(opened.array.max())) if known else (math.nan,) * 2)
        self.system._warn(self.rank, tuple(bounds), steps)


class _OnHost:
    """A call whose plan runs on the host."""

    def __init__(self, call: _Call):
        self.call = call

    def run(self, handle: Any, signal: Any, records: Any, stack: Tuple[int, ...],
            overwrite: bool) -> Tuple[Dict[str, Any], Any]:
        call, system = self.call, self.call.system
        given = {name: call._host(name, each) for name, each in call.opened.items()}
        inputs = [given.get(name, given[name.partition('.')[0]]) for name in system._levels]
        made = given if overwrite else {name: new_array(stack + call.shape, call.dtype) for name in system._levels if not stack or '.' not in name}
        arrays = [call._host(name, call.arrays[name]) if name in call.arrays else None for name in system._coefficients]
        recorded = new_array(*records) if records else None
        address = lambda array: 0 if array is None else array.ctypes.data  # noqa: E731
        run_arrays(handle, [address(each) for each in inputs], [address(made.get(name)) for name in system._levels],
                   [address(each) for each in arrays], [call.values.get(name, 0.0) for name in system._coefficients], address(signal),
                   address(recorded))
        return call.given if overwrite else {name: call.back(each) for name, each in made.items()}, recorded


class _OnDevice:
    """A call whose plan runs on a GPU; its arrays are on the GPU or are copied to it."""

    def __init__(self, call: _Call, memory: Prepared):
        self.call, self.memory = call, memory

    def run(self, handle: Any, signal: Any, records: Any, stack: Tuple[int, ...],
            overwrite: bool) -> Tuple[Dict[str, Any], Any]:
        from ._device import DeviceArray, to_device
        call, system = self.call, self.call.system
        kept: List[Any] = []
        view = call.view
        stream = (view.stream if view is not None else 0) if call.stream is None else call.stream

        def there(name: str, opened: Any) -> int:
            if isinstance(opened, View):
                if opened.dtype != call.dtype.name or not opened.layout.is_dense():
                    raise ValueError(f'{name} is of {opened.dtype} or not dense: on a GPU give dense arrays of {call.dtype}')
                kept.append(opened)
                return opened.pointer
            kept.append(to_device(call._host(name, opened), call.number))
            return kept[-1].pointer

        def empty(shape: Tuple[int, ...], dtype: np.dtype) -> Any:
            return DeviceArray(shape, dtype, call.number) if view is None else view.empty(shape, dtype.name)

        given = {name: there(name, each) for name, each in call.opened.items()}
        inputs = [given.get(name, given[name.partition('.')[0]]) for name in system._levels]
        made = {} if overwrite else {name: empty(stack + call.shape, call.dtype) for name in system._levels if not stack or '.' not in name}
        arrays = [there(name, call.arrays[name]) if name in call.arrays else 0 for name in system._coefficients]
        recorded = empty(*records) if records else None
        if signal is not None:
            kept.append(to_device(signal, call.number))
            signal = kept[-1].pointer
        scratch, owner = self.memory.scratch(view if view is not None else _Plain(stream, call.number))
        run_arrays(handle, inputs, inputs if overwrite else [address_of(made[name]) if name in made else 0 for name in system._levels],
                   arrays,
                   [call.values.get(name, 0.0) for name in system._coefficients], signal or 0,
                   address_of(recorded) if recorded is not None else 0, stream, scratch)
        if view is None:
            context(call.number).synchronize(stream)
            return {name: call.back(each.numpy()) for name, each in made.items()}, None if recorded is None else recorded.numpy()
        context(call.number).synchronize(stream) if kept and any(isinstance(each, DeviceArray) for each in kept) else None
        del owner
        if overwrite:
            return call.given, None if recorded is None else view.finish(recorded, stream)
        return ({name: view.finish(each, stream) for name, each in made.items()},
                None if recorded is None else view.finish(recorded, stream))


class _Plain(NamedTuple):
    """The stream and device of a call whose arrays are copied from the host."""

    stream: int
    device: int
    ordered: bool = False


def run_arrays(handle: Any, inputs: List[int], outputs: List[int], coefficients: List[int], numbers: List[float], amplitudes: int,
               records: int, stream: int = 0, workspace: int = 0) -> None:
    """Runs one execution on arrays given by their addresses."""
    lists = [ffi.new('void *[]', [ffi.cast('void *', each) for each in some] or [ffi.NULL]) for some in (inputs, outputs, coefficients)]
    values = ffi.new('double[]', numbers or [0.0])
    arrays = ffi.new('stn_system_arrays *', {'struct_size': ffi.sizeof('stn_system_arrays')})
    setattr(arrays, 'in', ffi.cast('void *const *', lists[0]))
    arrays.out, arrays.coefficients, arrays.numbers = lists[1], ffi.cast('void *const *', lists[2]), values
    arrays.amplitudes, arrays.records = ffi.cast('void *', amplitudes), ffi.cast('void *', records)
    execution = ffi.new('stn_execution *', {'struct_size': ffi.sizeof('stn_execution')})
    execution.system = arrays
    execution.stream, execution.workspace = ffi.cast('void *', stream), ffi.cast('void *', workspace)
    handle.run_execution(execution)


def _level(name: str, level: int) -> str:
    return name + ('' if not level else '.prev' if level == 1 else f'.prev{level}')


def _is_local(accuracy: Any) -> bool:
    if accuracy not in ('global', 'local'):
        raise ValueError(f"accuracy is {said(accuracy)}: give 'global' or 'local'")
    return accuracy == 'local'


def _word(text: Any) -> str:
    return ffi.string(text).decode()
