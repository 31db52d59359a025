"""One stencil over arrays of one layout, ready to run: a plan, and the offsets of the loops around it."""

from typing import Optional

from ._context import context
from ._problem import ITEM_SIZES, Request, in_turns, loop_offsets, merged, split_axes, stencil_plan


class Sweep:
    """Runs from one address to another. Addresses are multiples of the request's alignment."""

    def __init__(self, device: int, request: Request, strategy: Optional[str] = None):
        request = merged(request)
        split = split_axes(request.axes, request.source, request.target)
        size = ITEM_SIZES[request.dtype]
        if split.loop:
            request = request._replace(alignment=size)
        self.handle = stencil_plan(context(device), request, split, strategy, first_result=True)
        self.run, self.run_arrays, self.workspace = self.handle.run, self.handle.run_arrays, self.handle.workspace
        if split.loop:
            turns = [(a * size, b * size) for a, b in zip(loop_offsets(split.loop, request.source),
                                                          loop_offsets(split.loop, request.target))]
            self.run, at_addresses = in_turns(self.handle.run, turns), in_turns(self.handle.run_host, turns)
            self.run_arrays = lambda source, target: at_addresses(source.ctypes.data, target.ctypes.data)
