"""Streams, memory and devices of other libraries' GPU arrays; unordered streams; CUDA graphs.

Runs also on the emulated GPU, whose streams run their work as late as possible and in any order.
"""
import gc
import os
import subprocess
import sys
import threading
import unittest

os.environ.setdefault('STENTOR_EMULATOR_DEVICES', '2')

import numpy as np
import scipy.fft
from scipy import ndimage

import stentor
from strangers import EMULATED, Cupy, Graph, Interface, Memory, Stream, call, devices, start

start()
HEAT = np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]])
FUNCTIONS = [
    (stentor.laplace, ndimage.laplace),
    (lambda x, **k: stentor.correlate(x, HEAT, **k), lambda x: ndimage.correlate(x, HEAT)),
    (lambda x, **k: stentor.gaussian_filter(x, 0.8, **k), lambda x: ndimage.gaussian_filter(x, 0.8)),
    (lambda x, **k: stentor.gaussian_filter(x, 0.8, order=(1, 0), **k), lambda x: ndimage.gaussian_filter(x, 0.8, order=(1, 0))),
    (lambda x, **k: stentor.uniform_filter(x, 3, **k), lambda x: ndimage.uniform_filter(x, 3)),
]


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def heat(x, steps):
    for _ in range(steps):
        x = ndimage.correlate(x, HEAT, mode='wrap')
    return x


class Streams(unittest.TestCase):
    def test_results_are_on_the_stream_of_the_input(self):
        own = Stream()
        for stream, told in ((None, 1), (1, 1), (2, 2), (own.ptr, own.ptr)):
            for ours, theirs in FUNCTIONS:
                x = random(1, 12, 14)
                made = ours(Interface(x, stream=stream))
                self.assertEqual(made.__cuda_array_interface__['stream'], told)
                np.testing.assert_allclose(made.numpy(), theirs(x), atol=1e-12)
            spectrum = stentor.fft.rfft(Interface(x, stream=stream))
            self.assertEqual(spectrum.__cuda_array_interface__['stream'], told)
            np.testing.assert_allclose(spectrum.numpy(), scipy.fft.rfft(x), atol=1e-11)

    def test_many_streams_at_once(self):
        """One plan, and one cached call of each function, in four unsynchronized streams."""
        streams = [Stream() for _ in range(4)]
        plan = stentor.Plan((24, 20), HEAT, steps=9, device='cuda')
        made = []
        for turn in range(3):
            for i, stream in enumerate(streams):
                x = random([turn, i], 24, 20)
                given = Interface(x, stream=stream.ptr)
                made += [(given, plan(given), heat(x, 9)), (given, plan(given, stream=stream), heat(x, 9))]
                made += [(given, ours(given), theirs(x)) for ours, theirs in FUNCTIONS]
                many = Interface(random([turn, i], 2, 3, 4, 5) + 0j, stream=stream.ptr)
                made.append((many, stentor.fft.fftn(many), scipy.fft.fftn(many.x)))
        for _, ours, theirs in made:
            np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-10)

    def test_threads_with_streams(self):
        wrong = []

        def work(i):
            stream = Stream()
            for turn in range(6):
                x = random([i, turn], 16, 12)
                for ours, theirs in FUNCTIONS:
                    if not np.allclose(ours(Interface(x, stream=stream.ptr)).numpy(), theirs(x)):
                        wrong.append((i, turn))

        import strangers
        threads = [threading.Thread(target=lambda i=i: (strangers.use(0), work(i))) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_library_that_allocates_in_the_order_of_streams(self):
        with Cupy() as cupy:
            streams, made = [Stream() for _ in range(3)], []
            plan = stentor.Plan((24, 20), HEAT, steps=9, device='cuda')
            for i, stream in enumerate(streams * 2):
                x = random(i, 24, 20)
                with cupy.on(stream):
                    given = cupy.module.ndarray(x)
                    made.append((stream, plan(given), heat(x, 9)))
                    made += [(stream, ours(given), theirs(x)) for ours, theirs in FUNCTIONS]
                made.append((stream, plan(given, stream=stream), heat(x, 9)))
            with cupy.on(streams[0]):  # the default stream, 0, is given
                ours = plan(given, stream=0)
                self.assertEqual(ours.allocated_on, 0)
            call('cuStreamSynchronize', None)
            np.testing.assert_allclose(ours.numpy(), heat(x, 9), atol=1e-11)
            for stream, ours, theirs in made:
                self.assertIsInstance(ours, cupy.module.ndarray)
                stream.wait()
                np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-11)

    def test_what_another_stream_made_is_waited_for(self):
        first, second, x = Stream(), Stream(), random(5, 16, 12)
        made = stentor.laplace(Interface(x, stream=first.ptr))
        plan = stentor.Plan((16, 12), HEAT, device='cuda')
        np.testing.assert_allclose(plan(made, stream=second).numpy(), heat(ndimage.laplace(x), 1), atol=1e-12)

    def test_streams_that_are_none(self):
        x, plan = random(6, 8, 8), stentor.Plan((8, 8), HEAT, device='cuda')
        for stream in (0, -1, 'a', True, 1.5, []):
            with self.subTest(stream=stream), self.assertRaisesRegex(ValueError, 'names the stream'):
                stentor.laplace(Interface(x, stream=stream))
        for stream in (-1, 'a', 1.5, object(), 2**64):
            with self.subTest(stream=stream), self.assertRaisesRegex(ValueError, 'stream is'):
                plan(Interface(x), stream=stream)

    @unittest.skipUnless(EMULATED, 'the real driver promises nothing of a stream that is gone')
    def test_streams_that_are_gone(self):
        stream, x = Stream(), random(7, 8, 8)
        plan = stentor.Plan((8, 8), HEAT, device='cuda')
        made = stentor.gaussian_filter(Interface(x, stream=stream.ptr), 0.6, order=(1, 0))
        made.numpy()
        stream.destroy()
        with self.assertRaisesRegex(stentor.StentorError, 'cuLaunch|stream|handle'):
            plan(Interface(x), stream=stream)
        with self.assertRaises(stentor.StentorError):
            stentor.laplace(Interface(x, stream=stream.ptr))
        stentor.clear_cache()  # waits for work in a stream that was destroyed
        np.testing.assert_allclose(stentor.laplace(Interface(x)).numpy(), ndimage.laplace(x), atol=1e-12)

    def test_stream_objects(self):
        class Told:
            def __init__(self, stream):
                self.stream = stream

            def __cuda_stream__(self):
                return 0, self.stream.ptr

        stream, x = Stream(), random(8, 8, 8)
        plan = stentor.Plan((8, 8), HEAT, device='cuda')
        for each in (Told(stream), stream, stream.ptr, 1, 2):
            np.testing.assert_allclose(plan(Interface(x), stream=each).numpy(), heat(x, 1), atol=1e-12)


class Arrays(unittest.TestCase):
    def test_in_place(self):
        for ours, theirs in FUNCTIONS:
            x = Interface(random(1, 12, 14))
            self.assertIs(ours(x, out=x), x)
            np.testing.assert_allclose(x.numpy(), theirs(x.x), atol=1e-12)
            wide = random(2, 26, 14)
            # Rows 2 to 11 are in both arrays.
            whole, low, high = Interface(wide), Interface(wide[:12]), Interface(wide[2:14])
            for part, first in ((low, 0), (high, 2)):
                part.memory, part.told['data'] = whole.memory, (whole.memory.pointer + first * 14 * 8, False)
            ours(low, out=high)
            np.testing.assert_allclose(high.numpy(), theirs(wide[:12]), atol=1e-12)
        plan, x = stentor.Plan((12, 14), HEAT, device='cuda'), Interface(random(3, 12, 14))
        with self.assertRaisesRegex(ValueError, 'overlaps x'):
            plan(x, x)

    def test_layouts(self):
        base = random(3, 8, 20, 24)
        for x in (base[1], base[1].T, base[:, 3:, ::2], base[::3, :, 5], base.transpose(2, 0, 1), base[:2, ::7]):
            for offset in (0, 8, 24):
                given = Interface(x, offset=offset)
                np.testing.assert_allclose(stentor.laplace(given).numpy(), ndimage.laplace(x), atol=1e-12)
                np.testing.assert_allclose(stentor.correlate(given, [1., 2., 4.]).numpy(),
                                           ndimage.correlate1d(x, [1., 2., 4.], axis=-1), atol=1e-12)
                out = Interface(np.zeros(x.shape), offset=offset)
                stentor.gaussian_filter(given, 0.7, order=x.ndim * (1,), radius=1, out=out)
                np.testing.assert_allclose(out.numpy(), ndimage.gaussian_filter(x, 0.7, order=1, radius=1), atol=1e-12)

    def test_layouts_of_transforms(self):
        """Transforms along every axis, with lengths that need no cuFFT."""
        base = random(3, 4, 8, 16, 8)
        for x in (base[1], base[1].T, base[:, :, ::2], base.transpose(2, 0, 3, 1), base[:1, ::2, 8:], base[2:, 4:5, :, 2:6]):
            for offset, axis in ((o, a) for o in (0, 8, 24) for a in range(x.ndim) if x.shape[a] > 2):
                given, half = Interface(x, offset=offset), scipy.fft.rfft(x, axis=axis)
                with self.subTest(shape=x.shape, strides=x.strides, offset=offset, axis=axis):
                    np.testing.assert_allclose(stentor.fft.rfft(given, axis=axis).numpy(), half, atol=1e-11)
                    np.testing.assert_allclose(stentor.fft.fft(Interface(x + 1j * x, offset=offset), axis=axis).numpy(),
                                               scipy.fft.fft(x + 1j * x, axis=axis), atol=1e-11)
                    np.testing.assert_allclose(stentor.fft.irfft(Interface(half, offset=offset), axis=axis).numpy(), x, atol=1e-11)

    def test_layouts_that_are_refused(self):
        base = random(4, 8, 12)
        plan = stentor.Plan((8, 12), HEAT, device='cuda')
        for x in (base[::-1], np.broadcast_to(base[0], (8, 12)), np.lib.stride_tricks.sliding_window_view(base[0], 5)):
            for run in (stentor.laplace, stentor.fft.rfft, lambda a: stentor.laplace(Interface(np.zeros(a.x.shape)), out=a)):
                with self.assertRaisesRegex(ValueError, 'go backwards or meet an element twice'):
                    run(Interface(x))
        with self.assertRaisesRegex(ValueError, 'not dense'):
            plan(Interface(base[::-1]))
        with self.assertRaisesRegex(ValueError, 'multiple of'):
            stentor.laplace(Interface(base, offset=4))

    def test_outputs(self):
        x = random(5, 9, 10)
        with self.assertRaisesRegex(ValueError, 'read-only'):
            stentor.laplace(Interface(x), out=Interface(x, read_only=True))
        with self.assertRaisesRegex(ValueError, 'read-only'):
            stentor.Plan((9, 10), HEAT, device='cuda')(Interface(x), Interface(x, read_only=True))
        np.testing.assert_allclose(stentor.laplace(Interface(x, read_only=True)).numpy(), ndimage.laplace(x), atol=1e-12)
        into = np.zeros((9, 20))[:, ::2]
        out = Interface(into)
        stentor.laplace(Interface(x), out=out)
        whole = Interface(np.zeros(9 * 20 - 1))
        whole.told['data'] = out.told['data']
        np.testing.assert_allclose(whole.numpy()[::2].reshape(9, 10), ndimage.laplace(x), atol=1e-12)
        for bad in ([1.0], 3.0, np.float64(3), None.__class__):
            with self.assertRaises(ValueError):
                stentor.laplace(Interface(x), out=bad)

    def test_descriptions_that_are_wrong(self):
        x = random(6, 6, 6)
        for said, change in (('itself wrongly', {'shape': None}), ('itself wrongly', {'typestr': 'zz'}), ('itself wrongly', {'data': 7}),
                             ('itself wrongly', {'data': None}), ('itself wrongly', {'strides': (8,)}), ('other order', {'typestr': '>f8'}),
                             ('no multiples', {'strides': (50, 8)}), ('mask', {'mask': x}),
                             ('dtype', {'typestr': '|V8'}), ('itself wrongly', {'shape': 6}),
                             ('real and its imag', {'typestr': '<c16', 'shape': (3, 6)})):
            given = Interface(x)
            given.told.update(change)
            with self.subTest(change), self.assertRaisesRegex(ValueError, said):
                stentor.laplace(given)
        missing = Interface(x)
        del missing.told['typestr']
        with self.assertRaisesRegex(ValueError, 'itself wrongly'):
            stentor.laplace(missing)

    def test_no_points(self):
        x = Interface(np.zeros((0, 4)))
        x.told['data'] = (0, False)
        self.assertEqual(stentor.laplace(x).shape, (0, 4))
        with self.assertRaisesRegex(ValueError, 'no points'):
            stentor.fft.rfft(x)
        with self.assertRaisesRegex(ValueError, 'no axes'):
            stentor.laplace(Interface(np.array(3.0)))

    @unittest.skipIf(not EMULATED and devices() < 2, 'one GPU')
    def test_two_devices(self):
        x = random(7, 10, 12)
        there, here = Interface(x, device=1), Interface(x)
        for ours, theirs in FUNCTIONS:
            made = ours(there)
            self.assertEqual(made.device, 1)
            np.testing.assert_allclose(made.numpy(), theirs(x), atol=1e-12)
        del there.device  # as with Numba
        self.assertEqual(stentor.laplace(there).device, 1)
        plan = stentor.Plan((10, 12), HEAT, device='cuda:1')
        np.testing.assert_allclose(plan(there).numpy(), heat(x, 1), atol=1e-12)
        np.testing.assert_allclose(plan(stentor.to_device(x, 1)).numpy(), heat(x, 1), atol=1e-12)
        added = stentor.Plan((10, 12), HEAT, device=1, source=True)
        for said, wrong in (('x is on cuda:0', lambda: plan(here)), ('on one device', lambda: plan(there, here)),
                            ('on one device', lambda: stentor.laplace(here, out=there)),
                            ('on one device', lambda: added(there, source=here)),
                            ('on one device', lambda: added(there, source=x)), ('the host', lambda: plan(x))):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                wrong()
        with self.assertRaises(stentor.StentorError):
            stentor.to_device(x, devices())

    @unittest.skipUnless(EMULATED, 'a real one ends the process, in its own time')
    def test_memory_that_is_gone(self):
        """Freed memory gives an exception and no crash; the device cannot be used afterwards."""
        text = ('import sys; sys.path.insert(0, sys.argv[1])\nimport numpy as np, stentor, strangers\nstrangers.start()\n'
                'x, out = (strangers.Interface(np.ones((64, 64))) for _ in range(2))\nx.memory.free(strangers.ctypes.c_uint64(x.memory.pointer))\n'
                'x.memory.free = lambda pointer: 0\n'
                'try:\n    stentor.laplace(x, out=out)\n    out.numpy()\nexcept (stentor.StentorError, RuntimeError) as error:\n    print(type(error).__name__, error)\n')
        run = subprocess.run([sys.executable, '-B', '-c', text, os.path.dirname(__file__)], capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stdout.count('\n')), (0, 1), run.stderr)
        self.assertRegex(run.stdout, 'StentorError|RuntimeError')

    def test_nothing_leaks(self):
        x = Interface(random(8, 8, 8))
        live = getattr(__import__('strangers').driver, 'stentor_emulator_live', None)
        if live is None:
            self.skipTest('the real driver does not count')

        def calls(count):
            for i in range(count):
                for ours, _ in FUNCTIONS:
                    ours(x)
                try:
                    stentor.laplace(x, out=np.zeros(3))
                except ValueError:
                    pass
            gc.collect()
            return live()

        before = calls(3)
        self.assertEqual(calls(20), before)


class Graphs(unittest.TestCase):
    def replayed(self, graph, x, made, stream, theirs):
        for seed in range(3):
            new = random([9, seed], *x.x.shape)
            x.put(new)
            graph.launch(stream)
            stream.wait()
            for ours, expected in zip(made, theirs):
                np.testing.assert_allclose(ours.numpy(), expected(new), atol=1e-10)

    def test_captured_on_a_stream_that_nothing_ran_on(self):
        """Warm-up in one stream, capture in another, replay in a third during eager calls.

        torch.cuda.graph uses streams in this way."""
        warm, side, third = Stream(), Stream(), Stream()
        with Cupy() as cupy:
            plan = stentor.Plan((24, 20), HEAT, steps=9, device='cuda')
            runs = [plan, stentor.fft.rfft] + [ours for ours, _ in FUNCTIONS]
            theirs = [lambda x: heat(x, 9), scipy.fft.rfft] + [each for _, each in FUNCTIONS]
            x, eager, graph = cupy.module.ndarray(random(1, 24, 20)), random(2, 24, 20), Graph()
            with cupy.on(warm):
                for run in runs:
                    run(x)
            warm.wait()
            with cupy.on(side), side.captured(graph):
                made = [run(x) for run in runs]
            with cupy.on(warm):
                ours_eager = [run(cupy.module.ndarray(eager)) for run in runs]
            self.replayed(graph, x, made, third, theirs)
            warm.wait()
            for ours, expected in zip(ours_eager, theirs):
                np.testing.assert_allclose(ours.numpy(), expected(eager), atol=1e-10)
            stentor.clear_cache()  # the graph is no longer replayed

    def test_captured_into_outputs(self):
        """Capture without a stream-ordered allocator: given outputs, and a first call before."""
        stream, x, graph = Stream(), Interface(random(1, 24, 20)), Graph()
        x.told['stream'] = stream.ptr
        plan = stentor.Plan((24, 20), HEAT, steps=9, device='cuda')
        made = [Interface(np.zeros((24, 20)), stream=stream.ptr) for _ in range(1 + len(FUNCTIONS))]

        def work():
            plan(x, made[0])
            for (ours, _), out in zip(FUNCTIONS, made[1:]):
                ours(x, out=out)

        work()
        stream.wait()
        with stream.captured(graph):
            work()
        self.replayed(graph, x, made, stream, [lambda x: heat(x, 9)] + [each for _, each in FUNCTIONS])

    @unittest.skipUnless(EMULATED, 'a real driver may take what needs no memory')
    def test_what_is_new_cannot_be_captured(self):
        stream, x, graph = Stream(), Interface(random(3, 10, 11)), Graph()
        x.told['stream'] = stream.ptr
        out = Interface(np.zeros((10, 11)), stream=stream.ptr)
        with self.assertRaisesRegex(stentor.StentorError, 'before the capture begins'):
            with stream.captured(graph):
                stentor.correlate(x, random(4, 3, 3), out=out)
        weights = random(4, 3, 3)
        stentor.correlate(x, weights, out=out)
        stream.wait()
        np.testing.assert_allclose(out.numpy(), ndimage.correlate(x.x, weights), atol=1e-12)


class Handed(unittest.TestCase):
    def test_streams_of_dlpack(self):
        """DLPack's stream of the consumer: None, 1, 2, a handle, or -1 for no synchronization."""
        own, producing, x = Stream(), Stream(), random(1, 8, 8)
        made = stentor.laplace(Interface(x, stream=producing.ptr))
        for stream in (None, 1, 2, own.ptr, -1):
            taken = stentor._dlpack.take(made.__dlpack__(stream=stream))
            self.assertEqual(taken.pointer, made.pointer)
        producing.wait()

    def test_the_stream_that_a_producer_is_asked_for(self):
        asked, own = [], Stream()

        class Packed:
            def __init__(self, x):
                self.home = stentor.to_device(x)

            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, *, stream=None):
                asked.append(stream)
                return self.home.__dlpack__(stream=stream)

        x, plan = random(2, 8, 8), stentor.Plan((8, 8), HEAT, device='cuda')
        for stream in (None, 0, 1, 2, own.ptr):
            np.testing.assert_allclose(plan(Packed(x), stream=stream).numpy(), heat(x, 1), atol=1e-12)
        self.assertEqual(asked, [1, 1, 1, 2, own.ptr])


if __name__ == '__main__':
    unittest.main()
