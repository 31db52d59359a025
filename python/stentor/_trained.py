"""Plans whose weights change from call to call: kept by the problem without their values, which are set before each run."""

import threading
from typing import Sequence, Tuple

import numpy as np

from ._boundary import Sides
from ._context import HOST, context
from ._memo import recall, remember
from ._problem import ITEM_SIZES, Layout, Request, Split, stencil_plan
from ._stencil import taps_of


class Trained:
    """A plan on dense arrays, and the weights that it has now. Zeros are taps too: they may become others."""

    def __init__(self, device: int, stream: int, shape: Tuple[int, ...], dtype: str, box: Tuple[int, ...],
                 sides: Sequence[Sides], steps: int, every: int):
        rank = len(box)
        axes = tuple(range(len(shape) - rank, len(shape)))
        taps = taps_of(np.arange(1.0, np.prod(box) + 1).reshape(box), [n // 2 for n in box], drop_zeros=False)
        layout = Layout.dense(shape)
        request = Request(taps, axes, sides, layout, layout, dtype, ITEM_SIZES[dtype], steps, every)
        batch = tuple(range(len(shape) - rank))
        self._handle = stencil_plan(context(device), request, Split(axes, batch, ()), 'host' if device == HOST else None)
        self._weights, self._stream, self._lock = b'', stream, threading.Lock()

    def run(self, weights: np.ndarray, source: int, target: int) -> None:
        with self._lock:
            values = weights.tobytes()
            if values != self._weights:
                self._handle.set_weights(np.ascontiguousarray(weights.ravel()))
                self._weights = values
            self._handle.run(source, target, self._stream)

    def finish(self) -> None:
        if self._handle.context.device != HOST:
            self._handle.context.synchronize(self._stream)


def trained(*problem) -> Trained:
    """The plan of a problem, made when it is first asked for; arguments as of Trained."""
    key = ('trained', *problem)
    return recall(key) or remember(key, Trained(*problem))
