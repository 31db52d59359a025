"""Teams: one grid split over several devices or processes, and plans for such grids."""

import os
import time
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from ._context import HOST, context_options, device_number
from ._errors import StentorError, check, new_error
from ._handle import plan_options
from ._library import ffi, lib, take_text
from ._locks import new_lock
from ._problem import Request, Split, fill_problem
from ._progress import Watch, here, may_handle_signals, warn_of_growth
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


def _execute(plan: Any, on_host: bool, execute: Callable[..., int], error: Any, *given: Any) -> None:
    """Executes a plan of a team, with progress and on the host with Ctrl-C, as Handle.run_with."""
    watch = Watch() if here.progress is not None or on_host and may_handle_signals() else None
    with _lock:
        if watch is not None:
            check(lib.stn_team_plan_set_progress(plan, watch.function, ffi.NULL, error), error)
        try:
            status = execute(plan, *given, error)
        finally:
            if watch is not None:
                lib.stn_team_plan_set_progress(plan, ffi.NULL, ffi.NULL, ffi.NULL)
        if watch is not None:
            watch.check()
        check(status, error)


def _through_file(path: str, rank: int, seconds: float) -> bytes:
    """The id that rank 0 writes to a new file, complete or not at all."""
    if rank == 0:
        made = _make_id()
        with open(path + '.part', 'wb') as file:
            file.write(made)
        os.replace(path + '.part', path)
        return made
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError(f'rank 0 wrote no id to {path} within {seconds:g} s')
        time.sleep(0.01)
    with open(path, 'rb') as file:
        return file.read()


def _make_id() -> bytes:
    made, error = ffi.new('char[]', lib.STN_NCCL_ID_BYTES), new_error()
    check(lib.stn_nccl_make_id(made, error), error)
    return bytes(ffi.buffer(made))


def _id_of(group: Any, rank: int, share: Any) -> bytes:
    """The id of rank 0. share: gives rank 0's bytes to all ranks."""
    made, failure = b'', None
    if rank == 0:
        try:
            made = _make_id()
        except StentorError as error:  # the others must not wait for ever
            failure = error
    made = share(made)
    if failure is not None:
        raise failure
    if not made:
        raise RuntimeError('rank 0 could not make an id of NCCL: its message says why')
    return made


class Processes:
    """The processes that share one grid, each with a GPU of its own, by NCCL.

    All of them make this object, and then the same plans and calls in the same order. A plan with
    ``devices=Processes(...)`` takes and gives this process's part of the grid, the rows
    ``plan.part`` of the stencil's first axis, as a NumPy array. A process that dies or hangs ends
    the calls of all others with StentorError within the time limit.

    Parameters
    ----------
    group : module, communicator or (str, int, int)
        How the processes find each other: ``torch.distributed``, initialised; a communicator of
        mpi4py; or the path of a new file that all see, this process's rank and the number of
        processes.
    device : str or int, optional
        This process's GPU. 'auto': by the process's number on the machine, which its launcher
        tells, else by its rank.
    seconds : float, optional
        How long a process waits for others; 0: ``STENTOR_MPI_SECONDS``, else 300.

    Examples
    --------
    >>> import torch, stentor                                               # doctest: +SKIP
    >>> torch.distributed.init_process_group('gloo')                        # doctest: +SKIP
    >>> team = stentor.Processes(torch.distributed)                         # doctest: +SKIP
    >>> plan = stentor.Plan((4096, 4096), 'heat-2d', steps=100, devices=team)  # doctest: +SKIP
    >>> mine = plan(grid[plan.part])                                        # doctest: +SKIP
    """

    def __init__(self, group: Any, device: Union[str, int] = 'auto', seconds: float = 0.0):
        if isinstance(group, tuple):
            path, self.rank, self.size = group
            name = _through_file(os.fspath(path), self.rank, seconds or 300)
        elif hasattr(group, 'bcast'):  # mpi4py
            self.rank, self.size = group.Get_rank(), group.Get_size()
            name = _id_of(group, self.rank, lambda made: group.bcast(made, 0))
        else:
            self.rank, self.size = group.get_rank(), group.get_world_size()

            def share(made: bytes) -> bytes:
                held = [made]
                group.broadcast_object_list(held, 0)
                return held[0]
            name = _id_of(group, self.rank, share)
        options, kept = context_options()
        if device != 'auto':
            number = device_number(device)
            options.device = lib.STN_DEVICE_HOST if number == HOST else number + 1
        made, error = ffi.new('stn_team **'), new_error()
        check(lib.stn_team_create_nccl(options, name, self.rank, self.size, seconds, made, error), error)
        del kept  # not freed before this point
        self.team = made[0]  # kept until the process ends, as contexts are
        if isinstance(group, tuple) and self.rank == 0:
            os.unlink(group[0])


class _TeamPlan:
    """A stn_team_plan with its error buffer. One lock serializes the runs of all teams."""

    workspace = 0

    def __init__(self, create: Callable[..., int], devices: Union[Tuple[int, ...], Processes], work: Any, strategy: Optional[str], tune: Any):
        options, name = plan_options(strategy, tune)
        made, self._error = ffi.new('stn_team_plan **'), new_error()
        with _lock:
            self._team = devices.team if isinstance(devices, Processes) else _team(devices)
            check(create(self._team, work, options, made, self._error), self._error)
        del name  # not freed before this point
        self._plan = ffi.gc(made[0], lib.stn_team_plan_destroy)
        self._on_host = isinstance(devices, tuple) and HOST in devices

    def describe(self, form: str) -> str:
        if form == 'json':
            raise ValueError("a plan of several devices is described as text: leave format out")
        made, error = ffi.new('char **'), new_error()
        check(lib.stn_team_plan_describe(self._plan, made, error), error)
        return take_text(made)


class TeamHandle(_TeamPlan):
    """A plan of a stencil; has a Handle's methods, for NumPy arrays."""

    def __init__(self, devices: Union[Tuple[int, ...], Processes], request: Request, split: Split, strategy: Optional[str], tune: Any):
        problem, stencil = fill_problem(request, split)
        for axis in range(len(split.grid)):
            problem.in_stride[axis] = problem.out_stride[axis] = 0
        problem.in_batch_stride = problem.out_batch_stride = 0
        warn_of_growth(stencil, request.steps)
        super().__init__(lib.stn_team_plan_create, devices, problem, strategy, tune)
        del stencil  # not freed before this point
        first, rows = ffi.new('size_t *'), ffi.new('size_t *')
        check(lib.stn_team_plan_local(self._plan, lib.stn_team_rank(self._team), first, rows, self._error), self._error)
        # The rows of this process's member, or of the first member.
        self.part = slice(first[0], first[0] + rows[0])

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        self.run_source(source, None, target)

    def run_source(self, source: np.ndarray, constant: Optional[np.ndarray], target: np.ndarray) -> None:
        given = [None if each is None else np.ascontiguousarray(each) for each in (source, constant)]
        addresses = [ffi.NULL if each is None else ffi.cast('void *', each.ctypes.data) for each in (given[0], target, given[1])]
        _execute(self._plan, self._on_host, lib.stn_team_plan_execute_host, self._error, *addresses)

    def set_weights(self, weights: np.ndarray) -> None:
        with _lock:
            check(lib.stn_team_plan_set_weights(self._plan, len(weights), ffi.from_buffer('double[]', weights), self._error),
                  self._error)

    def strategy(self) -> str:
        return self.describe('text').rsplit(', ', 1)[-1]


class SystemTeamHandle(_TeamPlan):
    """A plan of a system: the methods of a Handle that _system.py uses."""

    def __init__(self, devices: Tuple[int, ...], problem: Any, strategy: Optional[str]):
        super().__init__(lib.stn_team_plan_create_system, devices, problem, strategy, False)

    def run_execution(self, execution: Any) -> None:
        _execute(self._plan, self._on_host, lib.stn_team_plan_execute_system_host, self._error, execution.system)


class TeamTransform(_TeamPlan):
    """A plan of a transform, for NumPy arrays, with what these need of a Handle."""

    run = None
    host_workspace = 0  # a team's plan has no workspace of its own

    def __init__(self, devices: Tuple[int, ...], work: Any):
        super().__init__(lib.stn_team_plan_create_fft, devices, work, None, 'estimate')

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        source = np.ascontiguousarray(source)
        with _lock:
            check(lib.stn_team_plan_execute_host(self._plan, ffi.cast('void *', source.ctypes.data),
                                                 ffi.cast('void *', target.ctypes.data), ffi.NULL, self._error), self._error)


def _after_fork() -> None:
    """Makes a forked child create its own teams."""
    _teams.clear()


os.register_at_fork(after_in_child=_after_fork)
