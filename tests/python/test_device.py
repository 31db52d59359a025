"""GPU arrays by their protocols: results are arrays of the caller's library.

Runs on the emulated GPU too.
"""
import gc
import os
import subprocess
import sys
import unittest

import numpy as np
import scipy.fft
from scipy import ndimage

import stentor
from run_settings import need_gpu
from stentor import _dlpack
from stentor._arrays import open_array
from stentor._boundary import sides_of
from stentor._trained import trained

need_gpu()

HEAT = np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]])


class Interface:
    """An array of another library with __cuda_array_interface__ only."""

    def __init__(self, x, stream=None, strides=None, shape=None):
        self.home = stentor.to_device(x)
        self.told = dict(self.home.__cuda_array_interface__, stream=stream, strides=strides)
        self.told['shape'] = shape or self.told['shape']

    @property
    def __cuda_array_interface__(self):
        return self.told


class Packed:
    """An array of another library with DLPack only."""

    def __init__(self, x):
        self.home = stentor.to_device(x)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        return self.home.__dlpack__(stream=stream)


class Functions(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(0).standard_normal((6, 10, 12))

    def close(self, ours, theirs, atol=1e-12):
        self.assertIsInstance(ours, stentor.DeviceArray)
        np.testing.assert_allclose(ours.numpy(), theirs, atol=atol)

    def test_there_and_back(self):
        for x in (self.x, self.x.T, np.zeros((0, 3)), np.float32(3), self.x[:, ::2]):
            np.testing.assert_array_equal(stentor.to_device(x).numpy(), x)

    def test_weights_on_the_device(self):
        """As in cupyx; they are copied to the host, also from strided arrays and of other types."""
        w = np.random.default_rng(1).integers(1, 9, (3, 4))
        for kind in (stentor.to_device, Interface, Packed):
            self.close(stentor.correlate(kind(self.x), kind(w[None].astype('f4'))), ndimage.correlate(self.x, w[None]))
            self.close(stentor.convolve1d(kind(self.x), kind(w[0]), 0), ndimage.convolve1d(self.x, w[0], 0))
        np.testing.assert_allclose(stentor.correlate(self.x, stentor.to_device(w[None])), ndimage.correlate(self.x, w[None]))
        strided = Interface(w.astype('f8'), strides=(4 * 8, 2 * 8), shape=(3, 2))
        self.close(stentor.correlate(stentor.to_device(self.x[0]), strided), ndimage.correlate(self.x[0], w[:, ::2].astype(float)))

    def test_every_filter(self):
        for kind in (stentor.to_device, Interface, Packed):
            x = kind(self.x)
            self.close(stentor.correlate(x, np.array([[1., 2., 3.]]), axes=(0, 2)),
                       ndimage.correlate(self.x, np.array([[[1., 2., 3.]]])))
            self.close(stentor.convolve(x, np.array([1., 2.])), ndimage.convolve1d(self.x, [1., 2.], axis=-1))
            self.close(stentor.laplace(x, mode='nearest'), ndimage.laplace(self.x, mode='nearest'))
        self.close(stentor.gaussian_filter(x, 0.7), ndimage.gaussian_filter(self.x, 0.7))
        self.close(stentor.gaussian_filter(x, 0.7, order=(0, 1, 0)), ndimage.gaussian_filter(self.x, 0.7, order=(0, 1, 0)))
        self.close(stentor.uniform_filter(x, 3), ndimage.uniform_filter(self.x, 3))
        self.close(stentor.gaussian_filter(x, 0), self.x)
        self.close(stentor.uniform_filter(x, 1, axes=()), self.x)

    def test_half_and_single(self):
        for dtype, atol in ((np.float32, 1e-5), (np.float16, 5e-3)):
            ours = stentor.laplace(stentor.to_device(self.x.astype(dtype)))
            self.assertEqual(ours.dtype, dtype)
            self.close(ours, ndimage.laplace(self.x.astype(dtype).astype(float)), atol * 20)

    def test_out(self):
        out = stentor.DeviceArray(self.x.shape, 'float64')
        self.assertIs(stentor.laplace(stentor.to_device(self.x), out=out), out)
        self.close(out, ndimage.laplace(self.x))

    def test_transforms(self):
        z = self.x + 1j * self.x[::-1]
        for kind in (stentor.to_device, Packed):
            self.close(stentor.fft.fftn(kind(z)), scipy.fft.fftn(z), 1e-10)
            x = np.random.default_rng(3).standard_normal((6, 16))
            self.close(stentor.fft.rfft(kind(x)), scipy.fft.rfft(x), 1e-10)
            self.close(stentor.fft.irfft(kind(scipy.fft.rfft(x))), x, 1e-10)

    def test_results_are_handed_on(self):
        made = stentor.laplace(stentor.to_device(self.x))
        self.close(stentor.laplace(Packed(made.numpy())), ndimage.laplace(ndimage.laplace(self.x)))
        taken = _dlpack.take(made.__dlpack__(stream=1))
        self.assertEqual((taken.pointer, taken.layout.shape, taken.dtype, taken.device),
                         (made.pointer, made.shape, 'float64', (2, 0)))
        with self.assertRaises(BufferError):
            made.__dlpack__(copy=True)
        self.assertEqual(made.__cuda_array_interface__['data'], (made.pointer, False))

    def test_capsules_keep_and_let_go(self):
        before = len(_dlpack._exported)
        made = stentor.to_device(self.x)
        taken, unused = _dlpack.take(made.__dlpack__()), made.__dlpack__()
        self.assertEqual(len(_dlpack._exported), before + 2)
        with self.assertRaisesRegex(ValueError, 'fresh'):
            capsule = made.__dlpack__()
            _dlpack.take(capsule)
            _dlpack.take(capsule)
        del taken, unused, capsule
        gc.collect()
        self.assertEqual(len(_dlpack._exported), before)

    def test_bad_input(self):
        x = stentor.to_device(self.x)
        for said, wrong in (('on one device', lambda: stentor.laplace(x, out=np.empty(self.x.shape))),
                            ('on one device', lambda: stentor.laplace(self.x, out=x)),
                            ('no axes', lambda: stentor.laplace(stentor.to_device(np.float64(3)))),
                            ('complex64 or complex128', lambda: stentor.fft.fftn(x)),
                            ('zeros first', lambda: stentor.fft.rfft(x, n=99)),
                            ('mask', lambda: stentor.laplace(self.masked())),
                            ('objects', lambda: stentor.to_device(np.array([{}]))),
                            ('the host', lambda: stentor.to_device(self.x, 'host'))):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                wrong()
        with self.assertRaisesRegex(RuntimeError, 'output shape not correct'):
            stentor.laplace(x, out=stentor.DeviceArray((3,), 'float64'))

    def masked(self):
        x = Interface(self.x)
        x.told['mask'] = x
        return x


class Plans(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(1).standard_normal((2, 24, 20))
        self.given = dict(boundary=['reflect', 'nearest'], steps=4)
        self.expected = stentor.Plan(self.x.shape, HEAT, device='host', **self.given)(self.x)

    def test_runs(self):
        plan = stentor.Plan(self.x.shape, HEAT, device='cuda', **self.given)
        self.assertEqual(plan.device, 'cuda:0')
        for kind in (stentor.to_device, Interface, Packed):
            np.testing.assert_allclose(plan(kind(self.x)).numpy(), self.expected, atol=1e-12)
        out = stentor.DeviceArray(self.x.shape, 'float64')
        self.assertIs(plan(stentor.to_device(self.x), out, stream=0), out)
        np.testing.assert_allclose(out.numpy(), self.expected, atol=1e-12)
        plan.weights = 2 * HEAT
        np.testing.assert_allclose(plan(Packed(self.x)).numpy(), 16 * self.expected, atol=1e-11)

    def test_sources_and_snapshots(self):
        given = dict(source=True, steps=4, every=2, boundary='reflect')
        host = stentor.Plan(self.x.shape, HEAT, device='host', **given)
        plan = stentor.Plan(self.x.shape, HEAT, device='cuda', **given)
        ours = plan(Interface(self.x), source=Packed(self.x[::-1]))
        np.testing.assert_allclose(ours.numpy(), host(self.x, source=self.x[::-1]), atol=1e-12)

    def test_modes_of_tuning(self):
        grid = np.random.default_rng(7).random((24, 40))
        want = stentor.Plan(grid.shape, HEAT, boundary='wrap', steps=4, device='host')(grid)
        x = stentor.to_device(grid)
        for tune in (False, True, 0.05, 'auto', 'estimate', ('measure', 0.05), ('patient', 0.05), 'online', 'wisdom-only'):
            with self.subTest(tune=tune):
                plan = stentor.Plan(grid.shape, HEAT, boundary='wrap', steps=4, device='cuda:0', tune=tune)
                for _ in range(3):  # also while kernels compile or are tuned
                    np.testing.assert_allclose(plan(x).numpy(), want, atol=1e-12)
        with self.assertRaisesRegex(stentor.StentorError, 'wisdom has no times of this problem'):
            stentor.Plan(grid.shape, HEAT, boundary='mirror', steps=5, device='cuda:0', tune='wisdom-only')
        for bad in ('fast', -1, ('measure', -1), ('measure', 'long'), ('measure',), None, float('nan')):
            with self.subTest(tune=bad), self.assertRaisesRegex(ValueError, 'tune'):
                stentor.Plan(grid.shape, HEAT, device='cuda:0', tune=bad)

    def test_devices_that_do_not_match(self):
        plan = stentor.Plan(self.x.shape, HEAT, device='cuda', **self.given)
        host = stentor.Plan(self.x.shape, HEAT, device='host', **self.given)
        x = stentor.to_device(self.x)
        for said, wrong in (('x is on the host', lambda: plan(self.x)), ('x is on cuda:0', lambda: host(x)),
                            ('out is on the host', lambda: plan(x, self.x)),
                            ('out is on cuda:0', lambda: host(self.x, x)),
                            ('not dense', lambda: plan(Interface(self.x, strides=(8, 16, 384)))),
                            ('float32', lambda: plan(stentor.to_device(self.x.astype('f')))),
                            ('stream', lambda: plan(x, stream=-1)), ('stream', lambda: plan(x, stream='a'))):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                wrong()

    def test_weights_that_change_from_call_to_call(self):
        """The plans of stentor.torch.stencil, without PyTorch."""
        x, sides = stentor.to_device(self.x), tuple(sides_of('mirror', 0.0, 2))
        for seed in range(3):
            w = np.random.default_rng(seed).standard_normal((3, 5))
            out = stentor.DeviceArray(self.x.shape, 'float64')
            trained(0, self.x.shape, 'float64', (3, 5), sides, 2, 0).run(w.tobytes(), x.pointer, out.pointer, open_array(x, 'x'))
            host = stentor.Plan(self.x.shape, w, boundary='mirror', steps=2, device='host', strategy='host')
            np.testing.assert_allclose(out.numpy(), host(self.x), atol=1e-11)

    def test_automatic_is_the_gpu(self):
        self.assertEqual(stentor.Plan((8, 8), HEAT).device, 'cuda:0')


class Forgotten(unittest.TestCase):
    def test_plans_go_at_once(self):
        """Plans have no reference cycles, so that they are destroyed at once.

        The garbage collector might destroy them during a capture, which would invalidate it."""
        def ours():
            return [each for each in gc.get_objects() if type(each).__module__ == 'stentor._handle']

        x = stentor.to_device(np.random.default_rng(5).standard_normal((4, 3, 5, 3, 4)))
        stentor.clear_cache()
        gc.collect()
        before = len(ours())
        gc.disable()
        try:
            for axes in ((1, 3), (0, 2), (4, 0)):  # some need loops around the plan
                stentor.gaussian_filter(x, 0.8, axes=axes)
                stentor.fft.rfftn(x, axes=axes)
            self.assertGreater(len(ours()), before)
            stentor.clear_cache()
            self.assertEqual(len(ours()), before)
        finally:
            gc.enable()


class Ends(unittest.TestCase):
    def test_a_process_ends_while_kernels_compile(self):
        """The generic kernel runs the only call, and background compiles are cancelled."""
        program = 'import numpy as np, stentor; x = stentor.to_device(np.ones((57, 80)));' \
                  'print(float(stentor.gaussian_filter(x, 1.37).numpy()[3, 3]))'
        environment = dict(os.environ, STENTOR_CACHE_DIR=':memory:', STENTOR_EMULATOR_COMPILE_SECONDS='30')
        done = subprocess.run([sys.executable, '-B', '-c', program], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertAlmostEqual(float(done.stdout), 1, 12)


if __name__ == '__main__':
    unittest.main()
