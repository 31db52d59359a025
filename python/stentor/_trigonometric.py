"""Discrete cosine and sine transforms of types I to IV of GPU arrays, each by one FFT of about its
length and the arithmetic of the array's library.

Type II is Makhoul's algorithm: a real FFT of the even points followed by the odd points in reverse
order, multiplied by the twiddle factors exp(-i pi k / 2N). Type III is its inverse. Type IV is a
complex FFT of half the length if N is even, and a real FFT of length N if N is odd, since 8 and N
are then coprime (Chan and Ho). Type I is a real FFT of the symmetric extension. Sine transforms are
cosine transforms of the reversed points, or of points with alternating signs.
"""

from typing import Any, NamedTuple, Tuple

import numpy as np

from ._fft_run import transform
from ._memo import keeps_tables
from ._namespace import Namespace

ROOT = 0.5 ** 0.5


class Kind(NamedTuple):
    """A transform along an axis: type 1 to 4, sine or cosine, scale factor, orthogonal scaling."""

    type: int
    sine: bool
    factor: float
    orthogonal: bool


def logical_length(kind: int, sine: bool, points: int) -> int:
    """The length of the periodic extension of a line of `points` points."""
    return 2 * points if kind > 1 else 2 * (points + 1) if sine else 2 * (points - 1)


def lines(space: Namespace, x: Any, kind: Kind) -> Any:
    """The transform of float32 or float64 numbers along the axis of `space`."""
    return (_first, _second, _third, _fourth)[kind.type - 1](space, x, kind)


def _forward(space: Namespace, x: Any) -> Any:
    return transform(x, None, space.axis, None, 'r2c', False, single=True)


@keeps_tables(32)
def _twiddles(name: str, points: int, factor: float, orthogonal: bool, dtype: str) -> np.ndarray:
    """The twiddle factors of the types II to IV, multiplied by `factor`."""
    half = np.arange(points // 2 + 1)
    if name == 'II':
        made = 2 * np.exp(0.5j * np.pi / points * half)
        made[0] *= ROOT if orthogonal else 1.0
    elif name == 'III':
        made = np.exp(0.5j * np.pi / points * half)
        made[0] *= 2 * ROOT if orthogonal else 1.0
    elif name == 'IV before':
        made = np.exp(-1j * np.pi / points * half[:-1])
    else:
        made = 2 * np.exp(-0.25j * np.pi / points * (4 * half[:-1] + 1))
    return (made * factor).astype(dtype)


def _table(space: Namespace, name: str, x: Any, kind: Kind, factor: float) -> Any:
    dtype = 'complex64' if str(x.dtype).endswith('32') else 'complex128'
    key = (name, space.size(x), float(factor), kind.orthogonal, dtype)
    return space.constant(key, _twiddles(*key), x)


def _second(space: Namespace, x: Any, kind: Kind) -> Any:
    n, h = space.size(x), space.size(x) // 2 + 1
    odd = space.cut(x, 1, None, 2)
    # All points but the first are in reverse order, so that the spectrum is the conjugate one: no
    # part of the result must be negated.
    spectrum = _forward(space, space.join([space.cut(x, 0, 1), -odd if kind.sine else odd, space.flip(space.cut(x, 2, None, 2))]))
    spectrum *= _table(space, 'II', x, kind, kind.factor)
    rest = space.cut(spectrum.imag, 1, n - h + 1)
    if kind.sine:  # the sine transform is the cosine transform in reverse order
        return space.join([rest, space.flip(spectrum.real)])
    return space.join([spectrum.real, space.flip(rest)])


def _third(space: Namespace, x: Any, kind: Kind) -> Any:
    n, h = space.size(x), space.size(x) // 2 + 1
    if kind.sine:
        x = space.flip(x)
    imaginary = space.join([space.zeros(x, 1), -space.flip(space.cut(x, n - h + 1))])
    spectrum = space.pair(space.cut(x, 0, h), imaginary)
    spectrum *= _table(space, 'III', x, kind, kind.factor)
    back = transform(spectrum, n, space.axis, 'forward', 'c2r', True, single=True)
    odd = space.flip(space.cut(back, (n + 1) // 2))
    return space.interleave(space.cut(back, 0, (n + 1) // 2), -odd if kind.sine else odd)


def _fourth(space: Namespace, x: Any, kind: Kind) -> Any:
    if kind.sine:
        x = space.flip(x)
    if space.size(x) % 2:
        return _fourth_odd(space, x, kind)
    rotated = space.pair(space.cut(x, 0, None, 2), space.flip(space.cut(x, 1, None, 2)))
    rotated *= _table(space, 'IV before', x, kind, 1.0)
    rotated = transform(rotated, None, space.axis, None, 'c2c', False, single=True)
    rotated *= _table(space, 'IV after', x, kind, kind.factor)
    odd = space.flip(rotated.imag)
    return space.interleave(rotated.real, odd if kind.sine else -odd)


@keeps_tables(32)
def _odd_tables(n: int, sine: bool, factor: float, dtype: str) -> Tuple[np.ndarray, ...]:
    """The permutations, signs and factors of type IV for an odd length N.

    With j = 2 n + 1 and m = 2 k + 1 the terms are cos(2 pi j m / 8N). They change only their sign
    if 4N is added to j, or j is negated. Each point therefore has one j with j = 1 (mod 8), and
    each result such an m. With 1 / 8N = a / 8 + b / N the sum is then a transform of N points."""
    def represented(odd: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        signs = np.where(np.isin(odd % 8, (1, 7)), 1.0, -1.0)
        shifted = np.where(signs > 0, odd, odd + 4 * n)
        return np.where(shifted % 8 == 1, shifted, -shifted) % (8 * n), signs

    a, b = n % 8, pow(8, -1, n) if n > 1 else 0
    at, signs = represented(2 * np.arange(n) + 1)
    order = np.empty(n, np.int64)
    order[at % n] = np.arange(n)
    where = at * b % n
    above = where > n // 2
    angle = 2 * np.pi * a / 8
    results = signs * np.where(sine & (np.arange(n) % 2 == 1), -1.0, 1.0) * 2 * factor
    real, imaginary = results * np.cos(angle), results * np.sin(angle) * np.where(above, -1.0, 1.0)
    return order, signs[order].astype(dtype), np.where(above, n - where, where), real.astype(dtype), imaginary.astype(dtype)


def _fourth_odd(space: Namespace, x: Any, kind: Kind) -> Any:
    given = (space.size(x), kind.sine, kind.factor, 'float32' if str(x.dtype).endswith('32') else 'float64')
    order, signs, where, real, imaginary = (space.constant(('IV odd', i, *given), each, x) for i, each in enumerate(_odd_tables(*given)))
    x = space.take(x, order)
    x *= signs
    spectrum = space.take(_forward(space, x), where)
    made = spectrum.real * real
    made += spectrum.imag * imaginary
    return made


def _first(space: Namespace, x: Any, kind: Kind) -> Any:
    if kind.sine:
        zero = space.zeros(x, 1)
        spectrum = _forward(space, space.join([zero, x, zero, -space.flip(x)])).imag
        return space.cut(spectrum, 1, -1) * -kind.factor
    if kind.orthogonal:
        x = x * _ends(space, x, 2 * ROOT)
    spectrum = _forward(space, space.join([x, space.flip(space.cut(x, 1, -1))])).real * kind.factor
    return spectrum * _ends(space, x, ROOT) if kind.orthogonal else spectrum


def _ends(space: Namespace, x: Any, value: float) -> Any:
    """A table of ones, with `value` at both ends."""
    dtype = 'float32' if str(x.dtype).endswith('32') else 'float64'
    table = np.ones(space.size(x), dtype)
    table[0] = table[-1] = value
    return space.constant(('ends', space.size(x), value, dtype), table, x)
