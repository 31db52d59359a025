"""One stencil over arrays of one layout, ready to run: a plan, and the offsets of the loops around it."""

from typing import Optional

import numpy as np

from ._context import context
from ._problem import ITEM_SIZES, Request, loop_offsets, merged, split_axes, stencil_plan


class Sweep:
    """Runs from one address to another. Addresses are multiples of the request's alignment."""

    def __init__(self, device: int, request: Request, strategy: Optional[str] = None):
        request = merged(request)
        split = split_axes(request.axes, request.source, request.target)
        size = ITEM_SIZES[request.dtype]
        if split.loop:
            request = request._replace(alignment=size)
        self.handle = stencil_plan(context(device), request, split, strategy)
        self.run, self.run_arrays, self.workspace = self.handle.run, self.handle.run_arrays, self.handle.workspace
        if split.loop:
            self._turns = [(a * size, b * size) for a, b in zip(loop_offsets(split.loop, request.source),
                                                                loop_offsets(split.loop, request.target))]
            self.run, self.run_arrays = self._loop, self._loop_arrays

    def _loop(self, source: int, target: int, stream: int = 0, workspace: int = 0) -> None:
        for a, b in self._turns:
            self.handle.run(source + a, target + b, stream, workspace)

    def _loop_arrays(self, source: np.ndarray, target: np.ndarray) -> None:
        first, second = source.ctypes.data, target.ctypes.data
        for a, b in self._turns:
            self.handle.run_host(first + a, second + b)
