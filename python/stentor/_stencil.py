"""The library's stencils, from offsets and weights or by name."""

from typing import List, Optional, Tuple

import numpy as np

from ._errors import check, new_error
from ._library import ffi, lib
from ._memo import keeps_tables

_TAP = np.dtype([('offset', np.int64, 3), ('weight', np.float64)])  # stn_tap


class Taps:
    """Offsets (taps, rank) and weights (taps,), in the order of the library: sorted by offset.

    `in_order` says that the arguments are sorted already."""

    def __init__(self, offsets: np.ndarray, weights: np.ndarray, in_order: bool = False):
        if not in_order:
            order = np.lexsort(offsets.T[::-1])
            offsets, weights = offsets[order], weights[order]
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self._reach: Optional[List[Tuple[int, int]]] = None

    @property
    def rank(self) -> int:
        return self.offsets.shape[1]

    def without_zeros(self) -> 'Taps':
        """The taps whose weight is not 0, or one of offset and weight 0."""
        count = np.count_nonzero(self.weights)
        if count == len(self.weights):
            return self
        if not count:
            return Taps(np.zeros((1, self.rank), np.int64), np.zeros(1), in_order=True)
        kept = self.weights != 0
        return Taps(self.offsets[kept], self.weights[kept], in_order=True)

    def reach(self):
        """The reach of the taps, [(low, high)] for each axis, each at least 0."""
        if self._reach is None:
            low, high = self.offsets.min(axis=0).tolist(), self.offsets.max(axis=0).tolist()
            self._reach = [(max(-a, 0), max(b, 0)) for a, b in zip(low, high)]
        return self._reach


@keeps_tables(64)
def _box_offsets(shape: Tuple[int, ...], centre: Tuple[int, ...]) -> np.ndarray:
    """The offsets of all elements of an array whose element `centre` has offset 0."""
    offsets = np.indices(shape).reshape(len(shape), -1).T - np.array(centre)
    offsets.flags.writeable = False  # shared by all stencils of this shape
    return offsets


def taps_of(weights: np.ndarray, centre, drop_zeros: bool = True) -> Taps:
    """The taps of a dense array whose element `centre` has offset 0.

    Exact zeros are left out if `drop_zeros`."""
    taps = Taps(_box_offsets(weights.shape, tuple(centre)), weights.flatten(), in_order=True)
    return taps.without_zeros() if drop_zeros else taps


def stencil_handle(taps: Taps):
    """A stn_stencil, destroyed with its last reference."""
    array = ffi.new('stn_tap[]', len(taps.weights))
    raw = np.frombuffer(ffi.buffer(array), _TAP)
    raw['offset'][:, :taps.rank] = taps.offsets
    raw['weight'] = taps.weights
    made, error = ffi.new('stn_stencil **'), new_error()
    check(lib.stn_stencil_create(taps.rank, len(taps.weights), array, made, error), error)
    return ffi.gc(made[0], lib.stn_stencil_destroy)


def named_taps(name: str) -> Taps:
    """The taps of a stencil by name, such as 'heat-2d:alpha=0.2'."""
    made, error = ffi.new('stn_stencil **'), new_error()
    check(lib.stn_stencil_parse(name.encode(), made, error), error)
    stencil = ffi.gc(made[0], lib.stn_stencil_destroy)
    rank, count = lib.stn_stencil_rank(stencil), lib.stn_stencil_tap_count(stencil)
    taps = lib.stn_stencil_taps(stencil)
    offsets = np.array([[taps[i].offset[a] for a in range(rank)] for i in range(count)])
    return Taps(offsets, np.array([taps[i].weight for i in range(count)]))
