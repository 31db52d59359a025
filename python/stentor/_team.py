"""Teams: one grid split over several devices of this process, and plans for such grids."""

import os
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from ._context import HOST, context_options, device_number
from ._errors import check, new_error
from ._handle import plan_options
from ._library import ffi, lib, take_text
from ._locks import new_lock
from ._problem import Request, Split, fill_problem
from ._progress import warn_of_growth
from ._words import listed, said

_teams: Dict[Tuple[int, ...], Any] = {}
_lock = new_lock()


def team_devices(devices: Sequence[Any]) -> Tuple[int, ...]:
    """The numbers of the devices given by a caller."""
    numbers = tuple(device_number(each) for each in listed(devices, 'devices'))
    if not numbers:
        raise ValueError('devices is empty: name one device or more')
    if HOST in numbers and set(numbers) != {HOST}:
        raise ValueError(f"devices is {said(devices)}: give GPUs, or 'host' alone, which may be named more than once")
    return numbers


def _team(devices: Tuple[int, ...]) -> Any:
    """The stn_team of these devices, kept until the process ends, as contexts are.

    The caller holds the lock."""
    if devices not in _teams:
        options, kept = context_options()
        numbers = ffi.new('int[]', [lib.STN_DEVICE_HOST if each == HOST else each + 1 for each in devices])
        made, error = ffi.new('stn_team **'), new_error()
        check(lib.stn_team_create(options, len(devices), numbers, made, error), error)
        del kept  # not freed before this point
        _teams[devices] = made[0]
    return _teams[devices]


class TeamHandle:
    """A stn_team_plan with its error buffer; has a Handle's methods, for NumPy arrays.

    One lock serializes the runs of all teams."""

    workspace = 0

    def __init__(self, devices: Tuple[int, ...], request: Request, split: Split, strategy: Optional[str], tune: Any):
        problem, stencil = fill_problem(request, split)
        for axis in range(len(split.grid)):
            problem.in_stride[axis] = problem.out_stride[axis] = 0
        problem.in_batch_stride = problem.out_batch_stride = 0
        warn_of_growth(stencil, request.steps)
        options, name = plan_options(strategy, tune)
        made, error = ffi.new('stn_team_plan **'), new_error()
        with _lock:
            check(lib.stn_team_plan_create(_team(devices), problem, options, made, error), error)
        del name, stencil  # not freed before this point
        self._plan = ffi.gc(made[0], lib.stn_team_plan_destroy)
        self._error = error

    def _run(self, source: np.ndarray, target: np.ndarray, constant: Any) -> None:
        address = ffi.NULL if constant is None else ffi.cast('void *', constant.ctypes.data)
        with _lock:
            check(lib.stn_team_plan_execute_host(self._plan, ffi.cast('void *', source.ctypes.data),
                                                 ffi.cast('void *', target.ctypes.data), address, self._error), self._error)

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        self._run(np.ascontiguousarray(source), target, None)

    def run_source(self, source: np.ndarray, constant: np.ndarray, target: np.ndarray) -> None:
        self._run(np.ascontiguousarray(source), target, np.ascontiguousarray(constant))

    def set_weights(self, weights: np.ndarray) -> None:
        with _lock:
            check(lib.stn_team_plan_set_weights(self._plan, len(weights), ffi.from_buffer('double[]', weights), self._error),
                  self._error)

    def describe(self, form: str) -> str:
        if form == 'json':
            raise ValueError("a plan of several devices is described as text: leave format out")
        made, error = ffi.new('char **'), new_error()
        check(lib.stn_team_plan_describe(self._plan, made, error), error)
        return take_text(made)

    def strategy(self) -> str:
        return self.describe('text').rsplit(', ', 1)[-1]


class TeamTransform:
    """A stn_team_plan of a transform, for NumPy arrays, with what these need of a Handle."""

    workspace, run = 0, None

    def __init__(self, devices: Tuple[int, ...], work: Any):
        options, name = plan_options(None, 'estimate')
        made, self._error = ffi.new('stn_team_plan **'), new_error()
        with _lock:
            check(lib.stn_team_plan_create_fft(_team(devices), work, options, made, self._error), self._error)
        del name  # not freed before this point
        self._plan = ffi.gc(made[0], lib.stn_team_plan_destroy)

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        source = np.ascontiguousarray(source)
        with _lock:
            check(lib.stn_team_plan_execute_host(self._plan, ffi.cast('void *', source.ctypes.data),
                                                 ffi.cast('void *', target.ctypes.data), ffi.NULL, self._error), self._error)


def _after_fork() -> None:
    """Makes a forked child create its own teams."""
    _teams.clear()


os.register_at_fork(after_in_child=_after_fork)
