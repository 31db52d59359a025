"""Boundary conditions: scipy.ndimage's modes, for all axes, by axis or, beyond scipy, by side."""

from typing import Any, List, NamedTuple, Sequence, Tuple, Union

from numpy import ndarray

from ._arguments import settled
from ._library import lib
from ._words import said

KINDS = {
    'wrap': lib.STN_WRAP,
    'constant': lib.STN_CONSTANT,
    'nearest': lib.STN_NEAREST,
    'reflect': lib.STN_REFLECT,
    'mirror': lib.STN_MIRROR,
    'fixed': lib.STN_FIXED,
    'grid-wrap': lib.STN_WRAP,
    'grid-constant': lib.STN_CONSTANT,
    'grid-mirror': lib.STN_REFLECT,
}
# Boundary conditions that the library does not have: _composed.py builds them from others.
ODD, IGNORE = 1000, 1001
COMPOSED = {'odd': ODD, 'ignore': IGNORE}


class Side(NamedTuple):
    """The boundary condition at one side of an axis: its kind, and the value of a constant."""

    kind: int
    value: float


Sides = Tuple[Side, Side]
Mode = Union[str, Sequence[Any]]  # a boundary, or one for each axis


def one_name(mode: Any, boundary: Any) -> Tuple[Any, str]:
    """The boundary, given as `mode` or `boundary`, and that name. `mode` defaults to 'reflect'."""
    if boundary is None:
        return _of_array(mode), 'mode'
    if not isinstance(mode, str) or mode != 'reflect':
        raise ValueError('mode and boundary are two names of one argument: give one')
    return _of_array(boundary), 'boundary'


def _of_array(mode: Any) -> Any:
    """The boundary; an iterator is read into a list, and an array without axes is its element."""
    return mode.item() if type(mode) is ndarray and mode.ndim == 0 else settled(mode)


def _side(mode: Any, cval: float, of: 'Argument') -> Side:
    name, given, value = mode.partition('=') if isinstance(mode, str) else ('', '', '')
    if of.composed and isinstance(mode, str) and mode in COMPOSED:
        return Side(COMPOSED[mode], 0.0)
    if name not in KINDS or (given and name != 'constant'):
        raise of.kind(f'{of.name} {said(mode)} is no boundary: use one of {", ".join(sorted([*KINDS, *(COMPOSED if of.composed else ())]))}')
    if not given:
        return Side(KINDS[name], cval if KINDS[name] == lib.STN_CONSTANT else 0.0)
    try:
        return Side(KINDS[name], float(value))
    except ValueError:
        raise of.kind(f'{of.name} {said(mode)} has no number behind the =') from None


class Argument(NamedTuple):
    """How a function takes its boundary argument.

    `name` is the argument's name, `kind` the exception for a wrong value (scipy.ndimage's for the
    filters). `composed` allows the boundaries that take several runs of the library."""

    name: str
    kind: type = RuntimeError
    composed: bool = False


def axis_sides(mode: Any, cval: float, of: Argument) -> Sides:
    """The two sides of an axis, from one mode for both, 'LOW:HIGH', or (low, high)."""
    if isinstance(mode, str):
        low, _, high = mode.partition(':')
        return _side(low, cval, of), _side(high or low, cval, of)
    try:
        low, high = mode
    except Exception:
        raise of.kind(f"{of.name} {said(mode)} is no boundary of an axis: give a name, 'LOW:HIGH' or (low, high)") from None
    return _side(low, cval, of), _side(high, cval, of)


def sides_of(mode: Any, cval: float, axes: int, of: Argument = Argument('mode')) -> List[Sides]:
    """The boundary of each of `axes` axes, from one for all axes or a sequence of one each."""
    if isinstance(mode, str):
        return [axis_sides(mode, cval, of)] * axes
    try:
        given = [] if isinstance(mode, bytes) else list(mode)
    except Exception:
        given = []
    if len(given) != axes or not hasattr(mode, '__iter__'):
        raise of.kind(f'{of.name} {said(mode)} must be one boundary or a sequence of {axes}, one for each axis: a sequence argument must '
                      'have length equal to input rank, or to the number of axes that are named')
    return [axis_sides(each, cval, of) for each in given]
