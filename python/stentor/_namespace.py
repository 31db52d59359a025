"""What an array's own library does beside Stentor's plans: joining, reversing, and tables of constants on its device."""

import sys
from typing import Any, List, Optional, Tuple

import numpy as np

from ._memo import recall, remember
from ._words import said


class Table:
    """Constants on a device, as _memo keeps them."""

    def __init__(self, array: Any, held: int):
        self.array, self.held = array, held

    def finish(self) -> None:
        """Nothing is under way."""


class Namespace:
    """The functions of one library along one axis: the last one, -1, or the one before, -2."""

    def __init__(self, name: str, module: Any, axis: int = -1):
        self.name, self.module, self.axis = name, module, axis

    def size(self, x: Any) -> int:
        """Points along the axis."""
        return x.shape[self.axis]

    def cut(self, x: Any, start: Optional[int], stop: Optional[int] = None, step: Optional[int] = None) -> Any:
        """A slice."""
        part = slice(start, stop, step)
        return x[..., part] if self.axis == -1 else x[..., part, :]

    def join(self, parts: List[Any]) -> Any:
        """One behind the other."""
        if self.name == 'torch':
            return self.module.cat(parts, self.axis)
        return self.module.concatenate(parts, self.axis)

    def flip(self, x: Any) -> Any:
        """Last first."""
        if self.name == 'torch':
            return self.module.flip(x, (self.axis,))
        return self.cut(x, None, None, -1)

    def pair(self, real: Any, imaginary: Any) -> Any:
        """Complex numbers."""
        if self.name == 'torch':
            return self.module.complex(real.contiguous(), imaginary.contiguous())
        if self.name != 'numpy':
            return real + 1j * imaginary
        made = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
        made.real, made.imag = real, imaginary
        return made

    def interleave(self, even: Any, odd: Any) -> Any:
        """even[0], odd[0], even[1], ...; the last of `even` may be alone."""
        count, shape = self.size(even) + self.size(odd), list(even.shape)
        shape[self.axis] = count
        if self.name == 'numpy':
            made = np.empty(shape, even.dtype)
            self.cut(made, 0, None, 2)[...], self.cut(made, 1, None, 2)[...] = even, odd
            return made
        shape[self.axis] = 2 * self.size(even)
        if self.size(odd) < self.size(even):
            odd = self.join([odd, self.cut(even, 0, 1)])
        return self.cut(self.module.stack([even, odd], self.axis).reshape(shape), 0, count)

    def zeros(self, like: Any, points: int) -> Any:
        """Of the dtype and the shape of another, but for so many points."""
        shape = list(like.shape)
        shape[self.axis] = points
        if self.name == 'torch':
            return like.new_zeros(shape)
        return self.module.zeros(shape, like.dtype)

    def take(self, x: Any, index: Any) -> Any:
        """Elements by a table of whole numbers."""
        return x[..., index] if self.axis == -1 else x[..., index, :]

    def move(self, x: Any, source: int, target: int) -> Any:
        """An axis to another place."""
        return self.module.moveaxis(x, source, target)

    def roll(self, x: Any, shifts: Tuple[int, ...], axes: Tuple[int, ...]) -> Any:
        """Along several axes."""
        return self.module.roll(x, shifts, axes)

    def conj(self, x: Any) -> Any:
        """As numbers in memory."""
        if self.name == 'torch':
            return x.conj().resolve_conj()
        return self.module.conj(x)

    def copy(self, x: Any) -> Any:
        """The same numbers in memory of their own."""
        return x.clone() if self.name == 'torch' else x.copy()

    def constant(self, key: Tuple, table: np.ndarray, like: Any) -> Any:
        """A table along the axis, where an array is; `key` names it."""
        if self.name != 'numpy':
            full = ('table', self.name, str(getattr(like, 'device', '')), table.dtype.str, key)
            found = recall(full)
            if found is None:
                made = self.module.from_numpy(table).to(like.device) if self.name == 'torch' else self.module.asarray(table)
                found = remember(full, Table(made, table.nbytes))
            table = found.array
        return table if self.axis == -1 or table.dtype == np.int64 else table[:, None]


NUMPY, COLUMNS = Namespace('numpy', np), Namespace('numpy', np, -2)


def namespace_of(x: Any, what: str) -> Namespace:
    """The library of an array on a GPU, for `what`; a ValueError says that it has no arithmetic."""
    root = type(x).__module__.partition('.')[0]
    if isinstance(x, np.ndarray):
        return NUMPY
    if root in ('torch', 'cupy'):
        return Namespace(root, sys.modules[root])
    if root in ('jax', 'jaxlib'):
        return Namespace('jax', sys.modules['jax'].numpy)
    raise ValueError(f'{what} of {said(type(x).__name__)} on a GPU needs arithmetic: give an array of PyTorch, CuPy or JAX')
