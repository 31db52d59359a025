"""Array operations around Stentor's plans, by the array's own library.

Examples are conversion, concatenation, reversal and tables of constants on the array's device.
"""

import importlib
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._arrays import library_of
from ._memo import recall, remember
from ._words import said


class Table(NamedTuple):
    """A table of constants on a device, as an entry of the cache in _memo.py."""

    array: Any
    cached_bytes: int


class Namespace:
    """The functions of one library, along the last axis (-1) or the second to last (-2)."""

    def __init__(self, name: str, module: Any, axis: int = -1):
        self.name, self.module, self.axis = name, module, axis

    def size(self, x: Any) -> int:
        """The number of points along the axis."""
        return x.shape[self.axis]

    def cut(self, x: Any, start: Optional[int], stop: Optional[int] = None, step: Optional[int] = None) -> Any:
        """A slice along the axis."""
        part = slice(start, stop, step)
        return x[..., part] if self.axis == -1 else x[..., part, :]

    def join(self, parts: List[Any]) -> Any:
        """Concatenates arrays along the axis."""
        if self.name == 'torch':
            return self.module.cat(parts, self.axis)
        return self.module.concatenate(parts, self.axis)

    def flip(self, x: Any) -> Any:
        """Reverses the axis."""
        if self.name == 'torch':
            return self.module.flip(x, (self.axis,))
        return self.cut(x, None, None, -1)

    def pair(self, real: Any, imaginary: Any) -> Any:
        """Complex numbers from real and imaginary parts."""
        if self.name == 'torch':
            return self.module.complex(real.contiguous(), imaginary.contiguous())
        if self.name != 'numpy':
            return real + 1j * imaginary
        made = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
        made.real, made.imag = real, imaginary
        return made

    def interleave(self, even: Any, odd: Any) -> Any:
        """even[0], odd[0], even[1], ...; `even` may have one element more than `odd`."""
        count, shape = self.size(even) + self.size(odd), list(even.shape)
        shape[self.axis] = 2 * self.size(even)
        if self.size(odd) < self.size(even):
            odd = self.join([odd, self.cut(even, 0, 1)])
        return self.cut(self.module.stack([even, odd], self.axis).reshape(shape), 0, count)

    def zeros(self, like: Any, points: int) -> Any:
        """Zeros of the dtype and shape of another array, but with `points` along the axis."""
        shape = list(like.shape)
        shape[self.axis] = points
        if self.name == 'torch':
            return like.new_zeros(shape)
        return self.module.zeros(shape, like.dtype)

    def take(self, x: Any, index: Any) -> Any:
        """Elements along the axis, by an array of indices."""
        return x[..., index] if self.axis == -1 else x[..., index, :]

    def move(self, x: Any, source: int, target: int) -> Any:
        """Moves an axis to another position."""
        return self.module.moveaxis(x, source, target)

    def conj(self, x: Any) -> Any:
        """The complex conjugate, stored in memory (PyTorch would conjugate lazily)."""
        if self.name == 'torch':
            return x.conj().resolve_conj()
        return self.module.conj(x)

    def copy(self, x: Any) -> Any:
        """A copy."""
        return x.clone() if self.name == 'torch' else x.copy()

    def constant(self, key: Tuple, table: np.ndarray, like: Any) -> Any:
        """A table along the axis, on the device of `like`; `key` is its key in the cache."""
        if self.name != 'numpy':
            full = ('table', self.name, str(getattr(like, 'device', '')), table.dtype.str, key)
            found = recall(full)
            if found is None:
                made = self.module.from_numpy(table).to(like.device) if self.name == 'torch' else self.module.asarray(table)
                found = remember(full, Table(made, table.nbytes))
            table = found.array
        return table if self.axis == -1 or table.dtype == np.int64 else table[:, None]


NUMPY = Namespace('numpy', np)


def namespace_of(x: Any, what: str) -> Namespace:
    """The library of an array, for the operation `what`.

    Raises ValueError if the library has no array operations."""
    root = library_of(x)
    if isinstance(x, np.ndarray):
        return NUMPY
    if root in ('torch', 'cupy'):
        return Namespace(root, sys.modules[root])
    if root == 'jax':
        return Namespace(root, sys.modules['jax'].numpy)
    raise ValueError(f'{what} of {said(type(x).__name__)} on a GPU needs arithmetic: give an array of PyTorch, CuPy or JAX')


def converted(x: Any, dtype: str, extra: Sequence[int] = ()) -> Any:
    """The array in another dtype, padded with `extra` zeros at the end of each axis.

    The work is enqueued in the current stream. None if the array's library is not known."""
    root = library_of(x)
    if root == 'torch':
        torch = sys.modules['torch']
        x = x.detach().to(getattr(torch, dtype))
        return torch.nn.functional.pad(x, [n for each in reversed(extra) for n in (0, each)]) if any(extra) else x
    pairs = [(0, each) for each in extra]
    if root == 'cupy':
        cupy = sys.modules['cupy']
        with cupy.cuda.Device(x.device.id):
            return cupy.pad(x.astype(dtype), pairs) if any(extra) else x.astype(dtype)
    if root == 'jax':
        return sys.modules['jax'].numpy.pad(x.astype(dtype), pairs) if any(extra) else x.astype(dtype)
    return None


def handed_back(x: Any, opened: Any, made: np.ndarray) -> Any:
    """A result on the host as an array of the library and, for bfloat16, of the type of x."""
    if not opened.dtype:
        return opened.back(made)
    return made.astype(x.dtype) if isinstance(x, np.ndarray) else converted(opened.back(made), opened.dtype)


def rest_of(library: str, own: str) -> Callable[[str], Any]:
    """The `__getattr__` of our module `own`: finds names that it lacks in scipy's module.

    Code that also calls other functions of scipy's module then needs no change but the import."""
    def found(name: str) -> Any:
        if not name.startswith('_') and name != 'torch':  # a module of ours
            try:
                return getattr(importlib.import_module(library), name)
            except (ImportError, AttributeError):
                pass
        raise AttributeError(f"module '{own}' has no attribute '{name}', nor has {library}")

    return found
