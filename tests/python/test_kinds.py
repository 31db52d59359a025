"""GPU arrays of stand-ins for PyTorch, CuPy and JAX, over the memory of a real or emulated GPU.

The stand-ins have only documented members of those libraries, so that Stentor's use of them can be
tested without a GPU.
"""
import contextlib
import ctypes
import os
import sys
import types
import unittest
import unittest.mock

import numpy as np
from scipy import ndimage

import stentor
from run_settings import need_gpu
from stentor._number_types import ELEMENTS
from stentor._scratch import Prepared

need_gpu()

HEAT = np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]])


def module(name, **given):
    made = types.ModuleType(name)
    made.__dict__.update(given)
    return made


@contextlib.contextmanager
def pretending(**modules):
    """Replaces modules by the given ones within a with block."""
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, real in before.items():
            sys.modules.pop(name)
            if real is not None:
                sys.modules[name] = real


class Tensor:
    """A stand-in for torch.Tensor with the needed members."""

    is_cuda, layout, requires_grad = True, 'torch.strided', False

    def __init__(self, x, strides=None, shape=None, dtype=None, offset=0):
        self.home = x if isinstance(x, stentor.DeviceArray) else stentor.to_device(x)
        self.shape, self._strides = tuple(shape or self.home.shape), strides
        self.dtype, self._offset = f'torch.{dtype or self.home.dtype.name}', offset
        self.device = types.SimpleNamespace(type='cuda', index=0)

    def detach(self):
        return self

    def stride(self):
        return self._strides or tuple(n // self.home.dtype.itemsize for n in np.empty(self.shape, self.home.dtype).strides)

    def is_conj(self):
        return False

    is_neg = is_conj

    def is_complex(self):
        return 'complex' in self.dtype

    def resolve_conj(self):
        return self

    resolve_neg = resolve_conj

    def _part(self, number):
        """A view of the real or the imaginary parts."""
        size = self.home.dtype.itemsize // 2
        return Tensor(self.home, [2 * n for n in self.stride()], dtype=f'float{8 * size}', offset=number * size)

    real = property(lambda self: self._part(0))
    imag = property(lambda self: self._part(1))

    def __add__(self, other):
        if self.dtype in ('torch.uint16', 'torch.uint32', 'torch.uint64'):
            raise NotImplementedError('"add_stub" not implemented for \'UInt16\'')
        return Tensor(self.home.numpy() + other.home.numpy())

    def view(self, dtype):
        return Tensor(self.home.numpy().view(dtype.rpartition('.')[2]))

    def __sub__(self, other):
        return Tensor(self.home.numpy() - other.home.numpy())

    def contiguous(self):
        return self

    def is_contiguous(self):
        return self._strides is None

    def get_device(self):
        return 0

    def data_ptr(self):
        return self.home.pointer + self._offset

    def to(self, dtype):
        return Tensor(self.home.numpy().astype(dtype.rpartition('.')[2]))


Tensor.__module__ = 'torch'


def fake_torch(streams):
    def current_stream(device):
        streams.append(device)
        return types.SimpleNamespace(cuda_stream=0)

    def empty(shape, dtype, device):
        name = str(dtype).rpartition('.')[2]
        return Tensor(stentor.DeviceArray(shape, 'uint16' if name == 'bfloat16' else name), dtype=name)

    def empty_like(x):
        return empty(x.shape, x.dtype, x.device)

    def pad(x, extra):
        return Tensor(np.pad(x.home.numpy(), list(zip(extra[::2], extra[1::2]))[::-1]))

    def joined(real, imaginary):
        return Tensor(real.home.numpy() + 1j * imaginary.home.numpy())

    return module('torch', Tensor=Tensor, complex=joined, empty=empty, empty_like=empty_like, cuda=types.SimpleNamespace(current_stream=current_stream),
                  nn=types.SimpleNamespace(functional=types.SimpleNamespace(pad=pad)), strided='torch.strided',
                  **{name: f'torch.{name}' for name in [*ELEMENTS, 'complex64', 'complex128']})


class CupyArray:
    """A stand-in for cupy.ndarray."""

    def __init__(self, x):
        self.home = x if isinstance(x, stentor.DeviceArray) else stentor.to_device(x)
        self.device = types.SimpleNamespace(id=0)

    @property
    def __cuda_array_interface__(self):
        return self.home.__cuda_array_interface__


CupyArray.__module__ = 'cupy'


class JaxArray:
    """A stand-in for a jax.Array on a GPU."""

    def __init__(self, x):
        self.home = x if isinstance(x, stentor.DeviceArray) else stentor.to_device(x)

    def __dlpack_device__(self):
        return self.home.__dlpack_device__()

    def __dlpack__(self, **given):
        return self.home.__dlpack__(**given)


JaxArray.__module__ = 'jaxlib.xla_extension'


class Kinds(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(0).standard_normal((12, 16))
        self.laplace = ndimage.laplace(self.x)
        self.heat = ndimage.correlate(self.x, HEAT, mode='wrap')
        self.plan = stentor.Plan((12, 16), HEAT, device='cuda')

    def holds(self, ours, kind, theirs):
        self.assertIsInstance(ours, kind)
        np.testing.assert_allclose(ours.home.numpy(), theirs, atol=1e-12)

    def test_torch(self):
        streams = []
        with pretending(torch=fake_torch(streams)):
            x = Tensor(self.x)
            self.holds(self.plan(x), Tensor, self.heat)
            self.holds(stentor.laplace(x), Tensor, self.laplace)
            self.holds(stentor.gaussian_filter(x, 0.7, order=(0, 1)), Tensor,
                       ndimage.gaussian_filter(self.x, 0.7, order=(0, 1)))
            self.holds(stentor.fft.rfft(x), Tensor, np.fft.rfft(self.x))
            self.assertEqual(streams, [0] * 4)
            self.holds(stentor.fft.fftn(x), Tensor, np.fft.fftn(self.x))
            self.holds(stentor.fft.ifft(x, 20, axis=0), Tensor, np.fft.ifft(self.x, 20, axis=0))
            self.holds(stentor.fft.rfftn(x, s=(20, 9)), Tensor, np.fft.rfftn(self.x, s=(20, 9)))
            self.holds(stentor.fft.irfftn(x), Tensor, np.fft.irfftn(self.x))
            self.holds(stentor.fft.irfft(x, 96), Tensor, np.fft.irfft(self.x, 96))
            with self.assertRaisesRegex(ValueError, 'real numbers'):
                stentor.fft.rfft(stentor.fft.fftn(x), n=99)
            out = Tensor(np.zeros_like(self.x))
            self.assertIs(self.plan(x, out), out)
            self.holds(out, Tensor, self.heat)
            out = Tensor(np.zeros_like(self.x))
            self.assertIs(stentor.laplace(x, out=out), out)
            self.holds(out, Tensor, self.laplace)
            transposed = Tensor(np.ascontiguousarray(self.x.T), strides=(1, 12), shape=(12, 16))
            self.holds(stentor.laplace(transposed), Tensor, self.laplace)
            for said, wrong in (('float32', lambda: self.plan(Tensor(self.x.astype('f')))),
                                ('not dense', lambda: self.plan(transposed)),
                                ('shape', lambda: self.plan(Tensor(self.x[1:]))),
                                ('on the host', lambda: self.plan(self.x))):
                with self.assertRaisesRegex(ValueError, said):
                    wrong()

    def test_scratch_memory_grows(self):
        """New weights may need more than the old ones."""
        prepared = Prepared(0, 256)
        self.assertEqual(prepared._kept(0).shape, (256,))
        prepared.grow(512)
        self.assertEqual(prepared._kept(0).shape, (512,))

    def test_calls_like_earlier_ones_only_launch(self):
        """They make no plan, allocate, copy and await nothing, and call few Python functions."""
        driver = ctypes.CDLL(os.environ.get('STENTOR_CUDA_PATH', 'libcuda.so.1'))
        if not hasattr(driver, 'stentor_emulator_calls'):
            self.skipTest('the emulator counts calls of the driver')
        holes = np.where(self.x > 1, np.nan, self.x).astype('f4')
        # Function, arguments, launches.
        cases = [('gaussian_filter', (self.x.astype('u1'), 0.7), 2, {}), ('gaussian_filter', (self.x.astype('f4'), 0.7), 1, {}),
                 ('gaussian_filter', (holes, 0.7), 2, {'nan': 'ignore'}), ('correlate', (self.x.astype('u1'), np.ones((3, 3))), 1, {})]
        waits = ['cuMemAlloc', 'cuMemFree', 'cuMemcpyHtoD', 'cuMemcpyDtoH', 'cuCtxSynchronize', 'cuStreamSynchronize', 'cuModuleLoadDataEx']

        def counts():
            return [driver.stentor_emulator_calls(each.encode()) for each in ('cuLaunchKernel', 'cuLaunchKernelEx', *waits)]

        with pretending(torch=fake_torch([])):
            for name, (array, given), launches, named in cases:
                x, out = Tensor(array), Tensor(np.zeros_like(array))
                for _ in range(3):  # the second call may wait for a compiled kernel
                    before, seen = counts(), []
                    sys.setprofile(lambda frame, event, _, to=seen: to.append(event == 'call'))
                    getattr(stentor, name)(x, given, output=out, **named)
                    sys.setprofile(None)
                made = [b - a for a, b in zip(before, counts())]
                with self.subTest(name=name, dtype=array.dtype, **named):
                    self.assertEqual((sum(made[:2]), made[2:]), (launches, [0] * len(waits)))
                    self.assertLess(sum(seen), 80)

    def test_cupy(self):
        asked = []

        def empty(shape, dtype):
            return CupyArray(stentor.DeviceArray(shape, dtype))

        def current():
            asked.append('stream')
            return types.SimpleNamespace(ptr=0)

        cuda = types.SimpleNamespace(Device=lambda number: contextlib.nullcontext(), get_current_stream=current)
        with pretending(cupy=module('cupy', ndarray=CupyArray, empty=empty, cuda=cuda)):
            self.holds(stentor.laplace(CupyArray(self.x)), CupyArray, self.laplace)
            self.holds(self.plan(CupyArray(self.x)), CupyArray, self.heat)
            self.holds(stentor.uniform_filter(CupyArray(self.x), 3), CupyArray, ndimage.uniform_filter(self.x, 3))
        self.assertEqual(asked, ['stream'] * 3)

    def test_jax(self):
        Tracer = type('Tracer', (), {})
        fake = module('jax', Array=JaxArray, core=types.SimpleNamespace(Tracer=Tracer),
                      dlpack=types.SimpleNamespace(from_dlpack=JaxArray))
        with pretending(jax=fake):
            self.holds(stentor.laplace(JaxArray(self.x)), JaxArray, self.laplace)
            self.holds(self.plan(JaxArray(self.x)), JaxArray, self.heat)
            traced = type('DynamicJaxprTracer', (), {'__module__': 'jax._src.interpreters'})()
            with self.assertRaisesRegex(ValueError, 'outside of jax.jit'):
                stentor.laplace(traced)
            divided = JaxArray(self.x)
            with unittest.mock.patch.object(JaxArray, '__dlpack_device__', side_effect=BufferError('only supported for unsharded arrays')):
                with self.assertRaisesRegex(ValueError, 'input cannot be exported by DLPack: .*unsharded'):
                    stentor.laplace(divided)


if __name__ == '__main__':
    unittest.main()
