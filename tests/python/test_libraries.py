"""Arrays of JAX and CuPy, if installed: results are of the same library on the same device."""
import os
import sys
import unittest

os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')  # the GPU is shared

import numpy as np  # noqa: E402

import stentor  # noqa: E402


def imported(name):
    try:
        return __import__(name)
    except Exception:  # not installed, or a dependency is missing
        return None


jax, cupy = imported('jax'), imported('cupy')
try:
    cupy = cupy if cupy and cupy.cuda.runtime.getDeviceCount() else None
except Exception:  # no driver
    cupy = None
if jax is None and cupy is None:
    print('neither JAX nor CuPy is installed')
    sys.exit(77)

MODES = ['reflect', 'constant', 'nearest', 'mirror', 'wrap']


def problem(seed):
    """Functions of one array with random arguments, and the array."""
    rng = np.random.default_rng([3, seed])
    x = rng.standard_normal(rng.integers(10, 24, 2)).astype(np.float32)
    w, mode, steps = rng.standard_normal(rng.integers(1, 6, 2)), str(rng.choice(MODES)), int(rng.integers(1, 4))
    sigma = [float(s) for s in rng.choice([0.4, 1, 2], 2)]  # the taps' reach is within the axis
    return x, [lambda a: stentor.correlate(a, w, mode=mode, cval=2.0, steps=steps), lambda a: stentor.laplace(a, mode=mode),
               lambda a: stentor.gaussian_filter(a, sigma, order=(0, 1), mode=mode), lambda a: stentor.uniform_filter(a, 3, mode=mode),
               lambda a: stentor.fft.rfftn(a, norm='ortho'), lambda a: stentor.fft.ifft(a, axis=0),
               lambda a: stentor.fft.fftn(a, s=(24, 7)), lambda a: stentor.fft.irfft(a, n=50)]


def agree(ours, theirs):
    scale = max(1.0, float(np.abs(theirs).max()))
    np.testing.assert_allclose(np.asarray(ours) / scale, theirs / scale, rtol=0, atol=3e-6)


def heat(shape, steps, device):
    return stentor.Plan(shape, 'heat-2d', dtype='float32', steps=steps, device=device)


@unittest.skipIf(jax is None, 'JAX is not installed')
class Jax(unittest.TestCase):
    def devices(self):
        kinds = {'cpu': 'host', 'gpu': 'cuda'}
        return [(each, kinds[each.platform]) for each in {jax.devices()[0], jax.devices('cpu')[0]} if each.platform in kinds]

    def test_functions(self):
        for device, _ in self.devices():
            for seed in range(12):
                x, runs = problem(seed)
                there = jax.device_put(x, device)
                for run in runs:
                    ours = run(there)
                    self.assertIsInstance(ours, jax.Array)
                    self.assertEqual(ours.devices(), {device})
                    agree(ours, run(x))
                    agree(jax.numpy.conj(ours), np.conj(run(x)))  # JAX can use the result
                np.testing.assert_array_equal(there, x)

    def test_plans(self):
        x = problem(1)[0]
        for device, name in self.devices():
            plan, there = heat(x.shape, 7, name), jax.device_put(x, device)
            for _ in range(3):
                there = plan(there * 1.5)
            expected, host = x, heat(x.shape, 7, 'host')
            for _ in range(3):
                expected = host(expected * np.float32(1.5))
            agree(there, expected)

    def test_refused(self):
        x = jax.numpy.ones((4, 5), jax.numpy.float32)
        for said, wrong in (('outside of jax.jit', lambda: jax.jit(stentor.laplace)(x)), ('outside of jax.jit', lambda: jax.vmap(stentor.laplace)(x)),
                            ('outside of jax.jit', lambda: jax.grad(lambda a: stentor.laplace(a).sum())(x)),
                            ('read-only', lambda: stentor.laplace(x, out=x))):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                wrong()


@unittest.skipIf(cupy is None, 'CuPy is not installed, or there is no GPU')
class Cupy(unittest.TestCase):
    def test_functions(self):
        for seed in range(12):
            x, runs = problem(seed)
            for there in (cupy.asarray(x), cupy.asarray(np.repeat(x.T, 2, axis=0))[::2].T):
                for run in runs:
                    ours = run(there)
                    self.assertIsInstance(ours, cupy.ndarray)
                    agree(ours.get(), run(x))

    def test_streams(self):
        """Each call runs in CuPy's current stream, without other synchronization."""
        streams, made = [cupy.cuda.Stream(non_blocking=True) for _ in range(4)], []
        for turn in range(24):
            x, runs = problem(turn)
            with streams[turn % 4]:
                there = cupy.asarray(x) * 2
                made += [(run(there), run(2 * x)) for run in (runs[turn % len(runs)], runs[0])]
        for stream in streams:
            stream.synchronize()
        for ours, theirs in made:
            agree(ours.get(), theirs)

    def test_plans_and_outputs(self):
        x = problem(2)[0]
        plan, expected = heat(x.shape, 5, 'cuda'), heat(x.shape, 5, 'host')(x)
        stream, out = cupy.cuda.Stream(non_blocking=True), cupy.empty_like(cupy.asarray(x))
        self.assertIs(plan(cupy.asarray(x), out), out)
        agree(out.get(), expected)
        cupy.cuda.Device().synchronize()
        ours = plan(cupy.asarray(x), stream=stream)
        stream.synchronize()
        agree(ours.get(), expected)
        self.assertIs(stentor.laplace(cupy.asarray(x), out=out), out)
        agree(out.get(), stentor.laplace(x))

    def test_graphs(self):
        x = problem(3)[0]
        there, stream = cupy.asarray(x), cupy.cuda.Stream(non_blocking=True)
        out = cupy.empty_like(there)
        plan = heat(x.shape, 4, 'cuda')
        cupy.cuda.Device().synchronize()
        with stream:
            plan(there, out)
            stentor.laplace(out, out=out)
            stream.begin_capture()
            plan(there, out)
            stentor.laplace(out, out=out)
            graph = stream.end_capture()
            there *= 3
            out[...] = 0
            graph.launch(stream)
        stream.synchronize()
        agree(out.get(), stentor.laplace(heat(x.shape, 4, 'host')(3 * x)))

    def test_integers(self):
        x = np.arange(20, dtype=np.int32).reshape(4, 5) ** 2
        np.testing.assert_array_equal(stentor.laplace(cupy.asarray(x)).get(), stentor.laplace(x))

    def test_refused(self):
        for said, wrong in (('meet an element twice', lambda: stentor.laplace(cupy.broadcast_to(cupy.ones(5), (4, 5)))),
                            ('on one device', lambda: stentor.laplace(cupy.ones((4, 5)), out=np.ones((4, 5)))),
                            ('x is on cuda', lambda: heat((4, 5), 1, 'host')(cupy.ones((4, 5), cupy.float32)))):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                wrong()


if __name__ == '__main__':
    unittest.main()
