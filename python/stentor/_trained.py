"""Plans whose weights change from call to call: kept by the problem without their values, which are set before a run."""

from typing import Any, List, Sequence, Tuple

import numpy as np

from ._boundary import Sides
from ._context import HOST, context
from ._memo import recall, remember
from ._problem import ITEM_SIZES, Layout, Request, Split, stencil_plan
from ._scratch import Prepared
from ._stencil import taps_of

PLANS = 4  # of a problem: layers alike, and forth and back, do not take each other's weights away


class _Plan:
    """A plan, and the weights that it has now. Zeros are taps too: they may become others."""

    def __init__(self, device: int, shape: Tuple[int, ...], dtype: str, box: Tuple[int, ...], sides: Sequence[Sides], steps: int,
                 every: int):
        rank = len(box)
        axes = tuple(range(len(shape) - rank, len(shape)))
        taps = taps_of(np.arange(1.0, np.prod(box) + 1).reshape(box), [n // 2 for n in box], drop_zeros=False)
        layout = Layout.dense(shape)
        request = Request(taps, axes, sides, layout, layout, dtype, ITEM_SIZES[dtype], steps, every)
        batch = tuple(range(len(shape) - rank))
        self.handle = stencil_plan(context(device), request, Split(axes, batch, ()), 'host' if device == HOST else None, warns=False)
        self.weights = b''

    def set(self, values: bytes) -> None:
        if values != self.weights:
            self.handle.set_weights(np.frombuffer(values))
            self.weights = values


class Trained(Prepared):
    """A problem's plans: that which has a call's weights runs it, else the one that was used longest ago gets them. On a GPU new
    weights may wait for what is under way, so that a CUDA graph wants weights that have been used before."""

    def __init__(self, *problem: Any):
        self._problem, self._on_host = problem, problem[0] == HOST
        self._plans: List[_Plan] = [_Plan(*problem)]  # the last used last
        super().__init__(problem[0], self._plans[0].handle.workspace)

    def run(self, values: bytes, source: int, target: int, place: Any = None) -> None:
        """`values`: the weights, as numbers of float64. `place`: the stream, and how memory is had there, as a View says it; on the host, none."""
        with self.lock:
            plan = self._plans[-1]
            if plan.weights != values:
                plan = self._with(values)
            if self._on_host:
                plan.handle.run_host(source, target)
            elif self.bytes or place.stream:
                memory, kept = self.scratch(place)
                plan.handle.enqueue(source, target, place.stream, memory)
                del kept  # not freed before this point
            else:  # nothing to keep: no memory, and a stream that no graph captures
                plan.handle.enqueue(source, target)

    def _with(self, values: bytes) -> _Plan:
        at = next((i for i, each in enumerate(self._plans) if each.weights == values), None)
        if at is None and len(self._plans) < PLANS and self._plans[0].weights:
            made = _Plan(*self._problem)
            made.set(values)
        else:
            made = self._plans[at or 0]
            made.set(values)
            self._plans.remove(made)
        self.grow(made.handle.workspace)
        self._plans.append(made)
        return made

    def finish(self) -> None:
        if not self._on_host:
            super().finish()


def trained(*problem: Any) -> Trained:
    """The plans of a problem, made when it is first asked for: device, shape, dtype, box, sides, steps, every."""
    key = ('trained', *problem)
    return recall(key) or remember(key, Trained(*problem))
