"""The transpose (adjoint) of one stencil step, in PyTorch.

The transpose correlates with the mirrored weights on a grid widened by the stencil's reach, then
adds each value outside the grid to the grid point that the boundary condition reads there.
"""

from typing import Callable, List, Optional, Sequence, Tuple

import torch

from ._boundary import Sides
from ._fold import fold_index
from ._library import lib

# A function that correlates a tensor with the mirrored weights for a number of steps.
Transposed = Callable[[torch.Tensor, int], torch.Tensor]


class Adjoint:
    """The adjoint for stencils whose weights have the extents `box`, on grids with these sides.

    `boundary` is the boundary condition under which the mirrored weights are applied. `fused` is
    true if the adjoint of several steps is one run of as many steps with the mirrored weights.
    """

    def __init__(self, sides: Sequence[Sides], box: Tuple[int, ...]):
        self.sides, self.reach = list(sides), [n // 2 for n in box]
        kinds = {side[0] for axis in sides for side in axis}
        self.fused = kinds == {lib.STN_WRAP} or kinds == {lib.STN_CONSTANT}
        self.boundary = ';'.join('wrap' if axis[0][0] == lib.STN_WRAP else 'constant' for axis in sides)

    def step(self, grad: torch.Tensor, transposed: Transposed) -> torch.Tensor:
        """The gradient with respect to a step's input, from that with respect to its output."""
        if self.fused:
            return transposed(grad, 1)
        kept = self._frozen(grad)
        live = grad if kept is None else grad.masked_fill(kept, 0)
        back = transposed(self._widened(live), 1)
        for at, (axis, reach) in enumerate(zip(self._axes(grad), self.reach)):
            back = self._folded(back, axis, self.sides[at], reach, grad.shape[axis])
        return back if kept is None else back + grad.masked_fill(~kept, 0)

    def correlation(self, state: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        """The gradient of one step for the weights, in float64.

        At offset o it is the sum over x of grad(x) state(x + o)."""
        kept = self._frozen(grad)
        live = (grad if kept is None else grad.masked_fill(kept, 0)).double()
        seen = state.double()
        axes = self._axes(grad)
        # The slowest axis is extended last, so that its constant applies in corners.
        for at in reversed(range(len(axes))):
            seen = self._extended(seen, axes[at], self.sides[at], self.reach[at])
        result = torch.empty([2 * r + 1 for r in self.reach], dtype=torch.float64, device=grad.device)
        for place in torch.cartesian_prod(*(torch.arange(n) for n in result.shape)).reshape(-1, len(axes)).tolist():
            part = seen
            for axis, first in zip(axes, place):
                part = part.narrow(axis, first, grad.shape[axis])
            result[tuple(place)] = (part * live).sum()
        return result

    def _axes(self, grad: torch.Tensor) -> List[int]:
        return list(range(grad.ndim - len(self.reach), grad.ndim))

    def _frozen(self, grad: torch.Tensor) -> Optional[torch.Tensor]:
        """A mask of the points whose values a 'fixed' side keeps; None if there are none."""
        if not any(side[0] == lib.STN_FIXED for axis in self.sides for side in axis):
            return None
        kept = torch.zeros(grad.shape, dtype=torch.bool, device=grad.device)
        for axis, sides, reach in zip(self._axes(grad), self.sides, self.reach):
            n = grad.shape[axis]
            if sides[0][0] == lib.STN_FIXED:
                kept.narrow(axis, 0, min(reach, n)).fill_(True)
            if sides[1][0] == lib.STN_FIXED:
                kept.narrow(axis, max(0, n - reach), min(reach, n)).fill_(True)
        return kept

    def _widened(self, grad: torch.Tensor) -> torch.Tensor:
        """The gradient, padded with zeros by the stencil's reach along the non-periodic axes."""
        wide: List[int] = []
        for axis in reversed(range(len(self.reach))):
            wide += [0, 0] if self.sides[axis][0][0] == lib.STN_WRAP else [self.reach[axis]] * 2
        return torch.nn.functional.pad(grad, wide)

    @staticmethod
    def _folded(wide: torch.Tensor, axis: int, sides: Sides, reach: int, n: int) -> torch.Tensor:
        """Adds values outside the grid to the points read there; drops them at constant sides."""
        if sides[0][0] == lib.STN_WRAP:
            return wide
        result = wide.narrow(axis, reach, n).clone()
        for side, first, last in ((0, 0, reach), (1, reach + n, 2 * reach + n)):
            index = _seen(sides, side, n, reach)
            if index is not None and reach:
                at = torch.as_tensor(index[first:last], device=wide.device)
                part = wide.narrow(axis, first, reach)
                result.index_add_(axis, at.clamp(min=0), part.movedim(axis, -1).mul(at >= 0).movedim(-1, axis))
        return result

    @staticmethod
    def _extended(x: torch.Tensor, axis: int, sides: Sides, reach: int) -> torch.Tensor:
        """The array extended past its sides by the values that taps read there."""
        n, parts = x.shape[axis], [x]
        for side, first, last in ((0, 0, reach), (1, reach + n, 2 * reach + n)):
            index = _seen(sides, side, n, reach)
            if index is None:
                part = torch.full_like(x.narrow(axis, 0, 1), sides[side][1])
                part = part.expand([reach if a == axis else m for a, m in enumerate(x.shape)])
            else:
                part = x.index_select(axis, torch.as_tensor(index[first:last], device=x.device).clamp(min=0))
            parts = [part, *parts] if side == 0 else [*parts, part]
        return torch.cat(parts, axis)


def _seen(sides: Sides, side: int, n: int, reach: int):
    """The source index of each point past a side; None if the side is constant or fixed."""
    if sides[side][0] in (lib.STN_CONSTANT, lib.STN_FIXED):
        return None
    return fold_index((sides[side], sides[side]), n, reach, reach)
