"""Handle: a plan of the library with its lock, error buffer and context."""

from typing import Any, Sequence

import numpy as np

from ._context import HOST, Context
from ._errors import check, new_error, raise_error
from ._library import ffi, lib, take_text
from ._locks import new_lock
from ._progress import LONG, Watch, here, may_handle_signals

_buffer, _cast, _null = ffi.from_buffer, ffi.cast, ffi.NULL
# Addresses are passed as integers: a cffi cast of each would cost more than all checks.
_execute_with = ffi.cast('int(*)(stn_plan *, uintptr_t, uintptr_t, uintptr_t, uintptr_t, stn_error *)',
                         ffi.addressof(lib, 'stn_plan_execute_with'))


class Handle:
    """A stn_plan. One thread at a time enqueues it, or runs it on the host; the GIL is released.

    On a GPU each call provides a workspace of `workspace` bytes."""

    def __init__(self, context: Context, plan):
        self.plan = ffi.gc(plan, lib.stn_plan_destroy)
        self.context = context
        size = int(lib.stn_plan_workspace_size(plan))
        # On the host the plan keeps its workspace between runs: `host_workspace` bytes.
        self.workspace, self.host_workspace = (0, size) if context.device == HOST else (size, 0)
        self._lock = new_lock()
        self._error = new_error()
        self._long = self._takes_long()

    def _takes_long(self) -> bool:
        """Whether a run on the host is long enough to check for signals (Ctrl-C)."""
        return self.context.device == HOST and lib.stn_plan_predicted_seconds(self.plan) >= LONG

    def strategy(self) -> str:
        return ffi.string(lib.stn_plan_strategy(self.plan)).decode()

    def predicted_seconds(self) -> float:
        return lib.stn_plan_predicted_seconds(self.plan)

    def run(self, source: int, target: int, stream: int = 0, workspace: int = 0) -> None:
        """Runs from one address to another on a GPU, in stream order.

        With a progress function it waits for the end of the run."""
        if here.progress is not None:
            self.run_with(source, 0, target, stream, workspace)
            return
        with self._lock:
            status = _execute_with(self.plan, source, target, workspace, stream, self._error)
            if status:
                raise_error(status, self._error)

    def enqueue(self, source: int, target: int, stream: int = 0, workspace: int = 0) -> None:
        """As `run`, without a lock, for a caller that holds its own."""
        if here.progress is not None:
            self.run_with(source, 0, target, stream, workspace)
            return
        status = _execute_with(self.plan, source, target, workspace, stream, self._error)
        if status:
            raise_error(status, self._error)

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        """Runs between arrays on the host."""
        if self._long or here.progress is not None:
            self.run_with(source.ctypes.data, 0, target.ctypes.data)
            return
        a = _buffer(source) if source.flags.c_contiguous else _cast('void *', source.ctypes.data)
        b = _buffer(target) if target.flags.c_contiguous else _cast('void *', target.ctypes.data)
        with self._lock:
            status = lib.stn_plan_execute(self.plan, a, b, _null, self._error)
            if status:
                raise_error(status, self._error)

    def run_host(self, source: int, target: int) -> None:
        """Runs between addresses on the host."""
        if self._long or here.progress is not None:
            self.run_with(source, 0, target)
            return
        with self._lock:
            check(lib.stn_plan_execute(self.plan, _cast('void *', source), _cast('void *', target), _null, self._error),
                  self._error)

    def run_with(self, source: int, constant: int, target: int, stream: int = 0, workspace: int = 0) -> None:
        """Runs from one address to another, on the host or a GPU.

        `constant` is the address of a source added in each step, or 0. The thread's progress
        function is called, if there is one, and on the host Ctrl-C interrupts the run."""
        execution = ffi.new('stn_execution *', {'struct_size': ffi.sizeof('stn_execution')})
        setattr(execution, 'in', _cast('void *', source))  # 'in' is a keyword of Python
        execution.source, execution.out = _cast('void *', constant), _cast('void *', target)
        execution.stream, execution.workspace = _cast('void *', stream), _cast('void *', workspace)
        self.run_execution(execution)

    def run_source(self, source: np.ndarray, constant: np.ndarray, target: np.ndarray) -> None:
        """Runs between arrays on the host, with a constant source."""
        self.run_with(source.ctypes.data, constant.ctypes.data, target.ctypes.data)

    def describe(self, form: str) -> str:
        """The plan's description, as 'text' or 'json'."""
        made, error = ffi.new('char **'), new_error()
        check(lib.stn_plan_describe(self.plan, lib.STN_JSON if form == 'json' else lib.STN_TEXT, made, error), error)
        return take_text(made)

    def run_execution(self, execution) -> None:
        """Runs a stn_execution, with progress and Ctrl-C as in run_with."""
        watch = None
        if here.progress is not None or self.context.device == HOST and may_handle_signals():
            watch = Watch()
            execution.progress = watch.function
        with self._lock:
            status = lib.stn_plan_run(self.plan, execution, self._error)
            if watch is not None:
                watch.check()
            check(status, self._error)

    def set_weights(self, weights) -> None:
        """Sets new float64 weights, one for each tap in the library's order.

        The plan may choose another strategy for them."""
        with self._lock:
            check(lib.stn_plan_set_weights(self.plan, len(weights), ffi.from_buffer('double[]', weights), self._error),
                  self._error)
            if self.context.device != HOST:
                self.workspace = int(lib.stn_plan_workspace_size(self.plan))
            self._long = self._takes_long()


class PairsHandle:
    """Plans of real numbers of `size` bytes, for the real and the imaginary parts of complex ones.

    One plan runs for both parts, unless a boundary has a constant: constants are real, so that the
    imaginary parts then need a plan of their own, with the constant 0."""

    def __init__(self, parts: Sequence[Handle], size: int):
        self._parts, self._size = parts, size

    @property
    def workspace(self) -> int:
        return max(each.workspace for each in self._parts)

    def run(self, source: int, target: int, stream: int = 0, workspace: int = 0) -> None:
        """As Handle.run."""
        for i in range(2):
            self._parts[i % len(self._parts)].run(source + i * self._size, target + i * self._size, stream, workspace)

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        """As Handle.run_arrays."""
        for i in range(2):
            self._parts[i % len(self._parts)].run_host(source.ctypes.data + i * self._size, target.ctypes.data + i * self._size)

    def set_weights(self, weights: np.ndarray) -> None:
        """As Handle.set_weights."""
        for each in self._parts:
            each.set_weights(weights)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parts[0], name)


MODES = {'auto': 'STN_MODE_AUTO', 'estimate': 'STN_MODE_ESTIMATE', 'measure': 'STN_MODE_MEASURE', 'patient': 'STN_MODE_PATIENT',
         'online': 'STN_MODE_ONLINE', 'wisdom-only': 'STN_MODE_WISDOM_ONLY'}


def _tuning(tune):
    """The pair (mode, seconds) for a caller's argument `tune`."""
    if isinstance(tune, (bool, int, float)):
        if not 0 <= tune < float('inf'):
            raise ValueError(f'tune is {tune}: give False, True, a mode, or seconds')
        return 'measure' if tune else 'auto', 0.0 if tune is True else float(tune)
    mode, seconds = (tune, 0.0) if isinstance(tune, str) else tune if isinstance(tune, tuple) and len(tune) == 2 else (None, 0.0)
    if mode not in MODES:
        raise ValueError(f'tune {tune!r} is none of False, True, seconds, {", ".join(MODES)}, (mode, seconds)')
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < float('inf'):
        raise ValueError(f'tune {tune!r}: give seconds as a number from 0 on')
    return mode, float(seconds)


def plan_options(strategy, tune, first_result=False, estimate_only=False):
    """A stn_plan_options, and the string that it points to.

    `tune` is as in stentor.Plan, `first_result` as in stn_plan_options."""
    options = ffi.new('stn_plan_options *', {'struct_size': ffi.sizeof('stn_plan_options')})
    name = ffi.new('char[]', str(strategy).encode()) if strategy else _null
    options.strategy = name
    mode, options.tune_seconds = _tuning(tune)
    options.mode = getattr(lib, MODES[mode])
    options.first_result, options.estimate_only = first_result, estimate_only
    return options, name


def make_plan(context: Context, create, work, strategy=None, tune=False, first_result=False,
              estimate_only=False) -> Handle:
    """A plan made by `create`: stn_plan_create or another function with its signature."""
    options, name = plan_options(strategy, tune, first_result, estimate_only)
    options.no_auto_workspace = context.device != HOST
    made, error = ffi.new('stn_plan **'), new_error()
    check(create(context.handle, work, options, made, error), error)
    del name  # not freed before this point
    return Handle(context, made[0])
