"""StencilRun: a stencil over arrays of one layout, as a plan and loops over further axes."""

import math
from typing import Callable, Optional

import numpy as np

from ._context import HOST, Context, context
from ._handle import Handle
from ._number_types import ITEM_SIZES
from ._problem import Request, Split, in_turns, loop_offsets, merged, split_axes, stencil_plan

# With local=None, transforms are used if they are predicted to be this many times as fast.
GAIN = 3.0
# Strategies that compute all their runs step by step; others, such as chunked, may use transforms.
STEPPING = ('host', 'direct', 'typed', 'normalized')


def _prefers_steps(work: Context, request: Request, split: Split) -> bool:
    """Whether a plan that uses transforms is to be replaced by one that computes step by step.

    It is, unless it is predicted to be GAIN times as fast."""
    best = stencil_plan(work, request._replace(local=False), split, warns=False, estimate_only=True)
    if best.strategy() in STEPPING:
        return False
    stepped = stencil_plan(work, request._replace(local=True), split, warns=False, estimate_only=True)
    return stepped.predicted_seconds() < GAIN * best.predicted_seconds()


def _checked(run: Callable, by_steps: Callable[[], Callable]) -> Callable:
    """Runs by transforms; if the result has non-finite values, runs again step by step.

    A transform spreads non-finite values over the whole array."""
    def run_checked(source: np.ndarray, target: np.ndarray) -> None:
        run(source, target)
        if not np.isfinite(target).all():
            by_steps()(source, target)
    return run_checked


class StencilRun:
    """A stencil plan that runs between addresses, multiples of the request's alignment."""

    def __init__(self, device: int, request: Request, strategy: Optional[str] = None):
        request = merged(request)
        split = split_axes(request.axes, request.source, request.target)
        size, sizes = ITEM_SIZES[request.dtype], request.sizes()
        if split.loop:
            request = request._replace(alignment=min(sizes))
        work = context(device)
        checked = request.local is None and strategy is None and device == HOST
        if request.local is None:
            request = request._replace(local=strategy is None and _prefers_steps(work, request, split))
        # The offsets in bytes of source and target, in each iteration of the loops.
        turns = [(a * sizes[0], b * sizes[1]) for a, b in zip(loop_offsets(split.loop, request.source),
                                                              loop_offsets(split.loop, request.target))]

        def arrays_by(handle: Handle) -> Callable[[np.ndarray, np.ndarray], None]:
            """A function that runs a plan between arrays on the host."""
            if not split.loop:
                return handle.run_arrays
            at_addresses = in_turns(handle.run_host, turns)
            return lambda source, target: at_addresses(source.ctypes.data, target.ctypes.data)

        self.handle = stencil_plan(work, request, split, strategy, first_result=True)
        self.run = in_turns(self.handle.run, turns) if split.loop else self.handle.run
        self.run_arrays, self.workspace = arrays_by(self.handle), self.handle.workspace
        # The plan's workspace, and an estimate of its tables: of taps, or of a transform of the
        # grid.
        stepping = self.handle.strategy() in STEPPING
        tables = 64 * len(request.taps.weights) if stepping else 2 * size * math.prod(request.source.shape)
        self.cached_bytes = tables + self.handle.host_workspace
        if checked and not request.local and not stepping:
            self.run_arrays = _checked(self.run_arrays, lambda: arrays_by(stencil_plan(work, request._replace(local=True), split)))
