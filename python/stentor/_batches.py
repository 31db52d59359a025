"""Batches split over several devices of this process, each with its share of the grids."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np

from ._context import HOST, device_name
from ._device import DeviceArray, to_device
from ._team import team_devices
from ._words import brief, said, whole


def _shares(length: int, devices: Sequence[int]) -> List[Tuple[int, slice]]:
    """The devices that get a share, with their shares, whose lengths differ by one at most."""
    count = len(devices)
    ends = [length * (i + 1) // count for i in range(count)]
    return [(device, slice(first, end)) for device, first, end in zip(devices, [0, *ends], ends) if first < end]


def _all_at_once(function: Callable, shares: Sequence[Tuple[int, slice]]) -> List[Any]:
    """Computes the results of all shares, each in a thread; raises the first error at the end."""
    with ThreadPoolExecutor(len(shares)) as pool:
        return [each.result() for each in [pool.submit(function, device, share) for device, share in shares]]


def on_devices(function: Callable, x: Any, devices: Sequence[Any], axis: int = 0) -> Any:
    """Split an array over devices, apply a function to each share, and join the results.

    Each device copies its share, computes and copies the result back in a thread of its own, at the
    same time as the others. It serves for batches of transforms, filters and Fourier layers.

    Parameters
    ----------
    function : callable
        Gets a share of `x`: a DeviceArray on a GPU, a NumPy array on the host. Returns an array, or
        a tuple of arrays, whose length along `axis` is that of the share. It is called in several
        threads.
    x : array_like
        On the host.
    devices : sequence
        GPUs of this machine, such as ``[0, 1]``, or 'host', once or repeated.
    axis : int, optional
        The axis that is split; by default the first.

    Returns
    -------
    numpy.ndarray or tuple of numpy.ndarray

    Examples
    --------
    >>> import numpy as np, stentor
    >>> x = np.random.default_rng(0).random((5, 16, 16))
    >>> spectra = stentor.on_devices(lambda share: stentor.fft.rfft2(share), x, ['host', 'host'])
    >>> np.array_equal(spectra, stentor.fft.rfft2(x))
    True
    """
    numbers = team_devices(devices)
    try:
        x = np.asarray(x)
    except Exception as wrong:  # an object's __array__ may raise any exception
        raise ValueError(f'x is no array on the host: {brief(wrong)}') from None
    if not callable(function):
        raise ValueError(f'function is {said(function)}: give a function of an array')
    axis = whole(axis, 'axis', -x.ndim)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f'axis is {axis}, but x has {x.ndim} axes')
    axis %= x.ndim
    if not x.shape[axis]:
        raise ValueError('x is empty along the axis that is split: give one item or more')

    def compute(device: int, share: slice) -> Any:
        part = np.ascontiguousarray(x[(slice(None),) * axis + (share,)])
        made = function(part if device == HOST else to_device(part, device))
        return tuple(joinable(each, part) for each in made) if isinstance(made, tuple) else joinable(made, part)

    def joinable(made: Any, part: np.ndarray) -> np.ndarray:
        result = _on_host(made)
        if result.ndim <= axis or result.shape[axis] != part.shape[axis]:
            raise ValueError(f'function made an array of shape {result.shape} of one of shape {part.shape}: '
                             f'axis {axis}, which is split, must keep its length')
        return result

    results = _all_at_once(compute, _shares(x.shape[axis], numbers))
    if isinstance(results[0], tuple):
        return tuple(np.concatenate(each, axis) for each in zip(*results))
    return np.concatenate(results, axis)


def _on_host(made: Any) -> np.ndarray:
    if isinstance(made, DeviceArray):
        return made.numpy()
    if hasattr(made, 'detach'):  # PyTorch
        made = made.detach().cpu()
    if hasattr(made, 'get') and hasattr(made, 'device'):  # CuPy
        made = made.get()
    return np.asarray(made)


class BatchHandle:
    """Plans of several devices, each for a share of a batch: a Handle's methods, NumPy arrays.

    `make` makes a Plan of a shape for a device."""

    workspace = 0

    def __init__(self, devices: Tuple[int, ...], batch: int, grid: Tuple[int, ...], make: Callable[[Tuple[int, ...], str], Any]):
        self._shape = (batch, *grid)
        self._shares = _shares(batch, devices)
        lengths = {(device, share.stop - share.start) for device, share in self._shares}
        self._plans = {(device, length): make((length, *grid), device_name(device)) for device, length in sorted(lengths)}

    def run_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        self.run_source(source, None, target)

    def run_source(self, source: np.ndarray, constant: Optional[np.ndarray], target: np.ndarray) -> None:
        source, target = np.ascontiguousarray(source).reshape(self._shape), target.reshape(self._shape)
        constant = None if constant is None else np.ascontiguousarray(constant).reshape(self._shape)

        def compute(device: int, share: slice) -> None:
            plan = self._plans[device, share.stop - share.start]
            added = None if constant is None else constant[share]
            if device == HOST:
                plan(source[share], out=target[share], source=added)
            else:
                made = plan(to_device(source[share], device), source=None if added is None else to_device(added, device))
                target[share] = made.numpy()

        _all_at_once(compute, self._shares)

    def set_weights(self, weights: np.ndarray) -> None:
        for plan in self._plans.values():
            plan._handle.set_weights(weights)
            plan._memory.grow(plan._handle.workspace)

    def describe(self, form: str) -> str:
        if form == 'json':
            raise ValueError("a plan of several devices is described as text: leave format out")
        shares = ', '.join(f'{share.stop - share.start} on {device_name(device)}' for device, share in self._shares)
        return f'batch:      {self._shape[0]} grids, {shares}\n' + next(iter(self._plans.values())).describe()

    def strategy(self) -> str:
        return next(iter(self._plans.values())).strategy
