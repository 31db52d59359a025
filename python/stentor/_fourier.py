"""Plans of spectral convolutions (Fourier layers), cached between calls.

Each run takes its weights as an argument.
"""

from typing import Any, Tuple

from ._context import HOST, context
from ._handle import make_plan
from ._library import ffi, lib
from ._memo import recall, remember
from ._number_types import DTYPES
from ._scratch import Prepared

FORWARD, BACKWARD_X, BACKWARD_WEIGHTS = lib.STN_PASS_FORWARD, lib.STN_PASS_BACKWARD_X, lib.STN_PASS_BACKWARD_WEIGHTS


class Layer(Prepared):
    """One pass (forward or backward) of a layer.

    `shape` is the shape of x: (batch, channels in, points...)."""

    def __init__(self, device: int, which: int, shape: Tuple[int, ...], out_channels: int, modes: Tuple[int, ...],
                 dtype: str, complex_data: bool, shared: bool, bias: bool, low: bool, alignment: int):
        work = ffi.new('stn_spectral_conv *', {'struct_size': ffi.sizeof('stn_spectral_conv'), 'rank': len(shape) - 2})
        for axis, n in enumerate(shape[2:]):
            work.extent[axis], work.modes[axis] = n, modes[axis]
        work.batch, work.in_channels, work.out_channels = shape[0], shape[1], out_channels
        work.mode_choice = lib.STN_MODES_LOW if low else lib.STN_MODES_BOTH_SIGNS
        work.complex_data, work.shared_weights, work.has_bias = complex_data, shared, bias
        setattr(work, 'pass', which)  # 'pass' is a keyword of Python, as is 'in' below
        work.dtype, work.alignment = DTYPES[dtype], alignment
        self._handle = make_plan(context(device), lib.stn_plan_create_spectral_conv, work, tune='estimate')
        self._on_host = device == HOST
        super().__init__(device, self._handle.workspace, self._handle.host_workspace)

    def run(self, place: Any = None, **pointers: int) -> None:
        """Runs the pass on pointers named as the fields of stn_execution; 0 is a null pointer.

        On a GPU, `place` holds the stream and allocates memory there, as a View does."""
        execution = ffi.new('stn_execution *', {'struct_size': ffi.sizeof('stn_execution')})
        for name, pointer in pointers.items():
            setattr(execution, name, ffi.cast('void *', pointer))
        with self.lock:
            kept = None
            if not self._on_host:
                memory, kept = self.scratch(place)
                execution.workspace, execution.stream = ffi.cast('void *', memory), ffi.cast('void *', place.stream)
            self._handle.run_execution(execution)
            del kept  # not freed before this point


def layer(*problem) -> Layer:
    """The cached plan of a pass; the arguments are those of Layer."""
    key = ('fourier', *problem)
    return recall(key) or remember(key, Layer(*problem))
