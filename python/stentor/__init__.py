"""Linear stencils with arbitrary coefficients, and Fourier transforms, at the speed of the machine.

Functions have the names and the meaning of ``scipy.ndimage`` and, in ``stentor.fft``, of
``scipy.fft``. ``Plan`` prepares a problem once and runs it many times. The functions accept arrays
of NumPy, PyTorch, CuPy and JAX, and return arrays of the same library on the same device.
"""

from typing import TYPE_CHECKING

from . import fft, signal
from ._batches import on_devices
from ._context import configure
from ._derivatives import gaussian_gradient_magnitude, gaussian_laplace, generic_gradient_magnitude, generic_laplace, laplace, prewitt, sobel
from ._device import DeviceArray, to_device
from ._drop_in import install_as, scipy_backend
from ._errors import StentorError
from ._gaussian import gaussian_filter
from ._filters import convolve, correlate
from ._library import version
from ._lines import convolve1d, correlate1d, gaussian_filter1d, uniform_filter1d
from ._memo import clear_cache
from ._namespace import rest_of
from ._plan import Plan
from ._system import System, sponge
from ._team import Processes
from ._uniform import uniform_filter

__version__ = version()
if not TYPE_CHECKING:  # unknown names stay errors of type checkers
    __getattr__ = rest_of('scipy.ndimage', 'stentor')
__all__ = [
    'DeviceArray',
    'Plan',
    'Processes',
    'StentorError',
    'System',
    'clear_cache',
    'configure',
    'convolve',
    'convolve1d',
    'correlate',
    'correlate1d',
    'fft',
    'gaussian_filter',
    'gaussian_filter1d',
    'gaussian_gradient_magnitude',
    'gaussian_laplace',
    'generic_gradient_magnitude',
    'generic_laplace',
    'install_as',
    'laplace',
    'on_devices',
    'prewitt',
    'scipy_backend',
    'signal',
    'sobel',
    'sponge',
    'to_device',
    'uniform_filter',
    'uniform_filter1d',
]
