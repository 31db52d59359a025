"""Cached plans whose weights change between calls, as in training.

The key in the cache has no weights: they are set before a run.
"""

from typing import Any, List, Sequence, Tuple

import numpy as np

from ._boundary import Sides
from ._context import HOST, context
from ._memo import recall, remember
from ._number_types import ITEM_SIZES
from ._problem import Layout, Request, Split, stencil_plan
from ._scratch import Prepared
from ._stencil import taps_of

# Plans per problem, so that several layers of one shape, and their forward and backward passes, do
# not replace each other's weights.
PLANS = 4


class _Plan:
    """A plan and its current weights. Zero weights are taps too, since they may change."""

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
    """The plans of one problem.

    The plan that has a call's weights runs it; otherwise the least recently used plan gets them. On
    a GPU, setting weights may wait for running work, so that a CUDA graph can capture only calls
    with weights that were used before."""

    def __init__(self, *problem: Any):
        self._problem, self._on_host = problem, problem[0] == HOST
        self._plans: List[_Plan] = [_Plan(*problem)]  # the most recently used one is last
        super().__init__(problem[0], self._plans[0].handle.workspace, PLANS * self._plans[0].handle.host_workspace)

    def run(self, values: bytes, source: int, target: int, place: Any = None) -> None:
        """Runs with the weights `values`, the bytes of float64 numbers.

        On a GPU, `place` holds the stream and allocates memory there, as a View does."""
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
            else:  # no scratch memory, and the default stream, which no graph can capture
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


def trained(*problem: Any) -> Trained:
    """The cached plans of a problem: device, shape, dtype, box, sides, steps, every."""
    key = ('trained', *problem)
    return recall(key) or remember(key, Trained(*problem))
