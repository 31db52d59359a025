"""Plans over several devices give the result of one device: a grid split along its slowest axis,
and a batch split into shares.

Runs on emulated GPUs if there are several, and on the host named several times.
"""
import copy
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import stentor

GPUS = ['cuda:0', 'cuda:1', 'cuda:2'] if os.environ.get('STENTOR_EMULATOR_DEVICES') else None

PROCESS = """
import copy, sys
import numpy as np, stentor
by, path, *rank = sys.argv[1:]
if by == 'torch':
    stentor.to_device(np.zeros(1), 'cuda')  # the emulator cannot be opened after PyTorch
    import torch
    torch.distributed.init_process_group('gloo', init_method='file://' + path, rank=int(rank[0]), world_size=2)
    team = stentor.Processes(torch.distributed, device='cuda:' + rank[0])
elif by == 'mpi4py':
    from mpi4py import MPI
    team = stentor.Processes(MPI.COMM_WORLD)
else:
    team = stentor.Processes((path, int(rank[0]), 2))
assert team.size == 2
x = np.random.default_rng(3).random((2, 37, 20))
given = dict(boundary='reflect', strategy='direct')
plan = stentor.Plan(x.shape, 'box-2d9p', devices=team, **given)
one = stentor.Plan(x.shape, 'box-2d9p', device='cuda:%d' % team.rank, **given)
want = stentor.to_device(x, 'cuda:%d' % team.rank)
mine = np.ascontiguousarray(x[:, plan.part])
assert plan.shape == mine.shape and 'exchanges by NCCL' in plan.describe(), plan.describe()
for weights in (one.weights, np.arange(9.).reshape(3, 3) / 36):
    plan.weights = one.weights = weights
    for each in (plan, copy.copy(plan)):
        assert np.array_equal(each(mine), one(want).numpy()[:, plan.part])
"""


class Teams(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng()

    def test_equal_to_one_device(self):
        for rank, stencil in ((1, '1d5p'), (2, 'heat-2d'), (3, 'heat-3d')):
            for boundary in ('wrap', 'fixed', 'reflect', 'constant=2'):
                x = self.rng.standard_normal((2,) + (23,) * rank)
                one = stentor.Plan(x.shape, stencil, boundary=boundary, steps=9, device='host', strategy='host')(x)
                plan = stentor.Plan(x.shape, stencil, boundary=boundary, steps=9, devices=['host'] * 3, strategy='host')
                np.testing.assert_array_equal(plan(x), one)
                np.testing.assert_array_equal(copy.deepcopy(plan)(x), one)

    def test_systems(self):
        """Two fields, levels, a coefficient read past the side, sponge, sources, receivers and
        kept states, on members with uneven parts, and on fewer members than asked for."""
        system = stentor.System('''
            field u(2), v
            coefficient k, d
            stencil dxf = taps y [0, 1] (-1 1), dxb = taps y [-1, 0] (-1 1), lap = laplace-2d:order=4
            boundary u, v = odd-mirror:reflect, mirror:nearest
            v.next = tanh(v + 0.1*dxb(k*dxf(u)))
            u.next = (2*u - (1 - d)*u.prev + 0.1*lap(v.next)) / (1 + d)''')
        u, before, v, k = self.rng.standard_normal((4, 2, 29, 13))
        for rows in (29, 7):
            fields = {'u': u[:, :rows], 'u.prev': before[:, :rows], 'v': v[:, :rows]}
            given = dict(steps=12, sources=[('u', (3.5, 4), 1.5), ('v', (rows - 1, 0), np.arange(12.))],
                         receivers=[('v', (4.25, 3)), ('u', (6, 6))], record_every=2)
            coefficients = {'k': np.abs(k[0, :rows]), 'd': stentor.sponge((rows, 13), 3)}
            for every in (0, 6):
                one, records = system(fields, coefficients, every=every, strategy='host', **given)
                for count in (1, 2, 3, 5):
                    state, heard = system(fields, coefficients, every=every, strategy='host', devices=['host'] * count, **given)
                    np.testing.assert_array_equal(heard, records)
                    for name, array in one.items():
                        np.testing.assert_array_equal(state[name], array)
        whole = {name: np.array(array) for name, array in fields.items()}
        self.assertIs(system(whole, coefficients, steps=4, devices=['host'] * 2, overwrite=True), whole)
        np.testing.assert_array_equal(whole['v'], system(fields, coefficients, steps=4)['v'])
        with self.assertRaisesRegex(ValueError, 'neither device nor stream'):
            system(fields, coefficients, devices=['host'], device='host')
        ring = stentor.System('field a, b; stencil s = laplace-1d; boundary b = reflect; a.next = a + s(b); b.next = s(a)')
        with self.assertRaisesRegex(Exception, 'the field a wraps and the field b does not'):
            ring({'a': np.zeros(9), 'b': np.zeros(9)}, devices=['host'] * 2)

    def test_emulated_gpus(self):
        if GPUS is None:
            self.skipTest('there are no GPUs to share a grid')
        x = self.rng.standard_normal((40, 31))
        plan = stentor.Plan(x.shape, 'box-2d9p', boundary='mirror', steps=5, devices=GPUS)
        one = stentor.Plan(x.shape, 'box-2d9p', boundary='mirror', steps=5, device='host')(x)
        np.testing.assert_allclose(plan(x), one, rtol=0, atol=1e-13)
        self.assertEqual(plan.device, 'cuda:0,cuda:1,cuda:2')

    def test_processes(self):
        self.run_processes('file')

    @unittest.skipUnless(importlib.util.find_spec('torch'), 'PyTorch is not installed')
    def test_processes_by_torch(self):
        self.run_processes('torch')

    @unittest.skipUnless(importlib.util.find_spec('mpi4py') and shutil.which('mpirun'), 'mpi4py is not installed')
    def test_processes_by_mpi4py(self):
        self.run_processes('mpi4py')

    def run_processes(self, by):
        """Two of them, by NCCL; a copy of a plan, and new weights. by: how they find each other."""
        library = os.environ.get('STENTOR_CUDA_PATH', '').replace('libcuda', 'libnccl')
        if GPUS is None or not os.path.exists(library):
            self.skipTest('there are no emulated GPUs and NCCL')
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        env = {**os.environ, 'STENTOR_NCCL_PATH': library, 'STENTOR_EMULATOR_NCCL': folder.name, 'STENTOR_MPI_SECONDS': '60'}
        command = [sys.executable, '-c', PROCESS, by, os.path.join(folder.name, 'id')]
        if by == 'mpi4py':
            flags = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'OMPI_MCA_rmaps_base_oversubscribe': '1'}
            started = [subprocess.Popen(['mpirun', '-np', '2', *command], env={**env, **flags})]
        else:
            started = [subprocess.Popen([*command, str(rank)], env=env) for rank in range(2)]
        self.assertEqual([each.wait(120) for each in started], [0] * len(started))

    def test_sources_and_weights(self):
        x, source = self.rng.standard_normal((2, 30, 17))
        given = dict(boundary='nearest', steps=6, source=True, strategy='host')
        plan = stentor.Plan(x.shape, [[0, .2, 0], [.2, .2, .2], [0, .2, 0]], devices=['host', 'host'], **given)
        other = stentor.Plan(x.shape, [[0, .2, 0], [.2, .2, .2], [0, .2, 0]], device='host', **given)
        np.testing.assert_array_equal(plan(x, source=source), other(x, source=source))
        plan.weights = other.weights = np.array([[0, .1, 0], [.3, .2, .1], [0, .3, 0]])
        np.testing.assert_array_equal(plan(x, source=source), other(x, source=source))

    def test_batches(self):
        x, source = self.rng.standard_normal((2, 2, 3, 20, 11))
        given = dict(boundary='reflect', steps=4, strategy='host')
        for devices in (['host'], ['host'] * 2, ['host'] * 4, ['host'] * 6, ['host'] * 7):
            plan = stentor.Plan(x.shape, 'heat-2d', devices=devices, **given)
            np.testing.assert_array_equal(plan(x), stentor.Plan(x.shape, 'heat-2d', device='host', **given)(x))
            self.assertEqual('grids' in plan.describe(), 1 < len(devices) < 7)
        given = dict(given, source=True)
        plan = stentor.Plan(x.shape, [[0, .2, 0], [.2, .2, .2], [0, .2, 0]], devices=['host'] * 4, **given)
        one = stentor.Plan(x.shape, [[0, .2, 0], [.2, .2, .2], [0, .2, 0]], device='host', **given)
        for weights in (one.weights, np.array([[0, .1, 0], [.3, .2, .1], [0, .3, 0]])):
            plan.weights = one.weights = weights
            np.testing.assert_array_equal(plan(x, source=source), one(x, source=source))
            np.testing.assert_array_equal(copy.deepcopy(plan)(x[..., ::-1], source=source), one(x[..., ::-1], source=source))
        self.assertEqual((plan.strategy, plan.device), (one.strategy, 'host,host,host,host'))
        with self.assertRaises(ValueError):
            plan.describe('json')

    def test_functions_of_batches(self):
        x = self.rng.standard_normal((5, 12, 9))
        for devices in [['host'] * n for n in (1, 2, 5, 8)] + ([] if GPUS is None else [GPUS]):
            spectra = stentor.on_devices(lambda share: stentor.fft.rfft2(share), x, devices)
            np.testing.assert_allclose(spectra, np.fft.rfft2(x), rtol=0, atol=1e-12)
            blurred, slope = stentor.on_devices(lambda share: (stentor.gaussian_filter(share, (0.5, 0, 1)),
                                                               stentor.correlate1d(share, [-1, 0, 1], axis=2)), x, devices, axis=1)
            np.testing.assert_allclose(blurred, stentor.gaussian_filter(x, (0.5, 0, 1)), rtol=0, atol=1e-13)
            np.testing.assert_allclose(slope, stentor.correlate1d(x, [-1, 0, 1], axis=2), rtol=0, atol=1e-13)

    def test_transforms(self):
        """Of two to four axes, in a batch, along other axes than the last ones.

        On GPUs only those that need no cuFFT."""
        for shape, axes in (((11, 14), None), ((5, 6, 8), None), ((7, 3, 10), (0, 2)), ((4, 3, 2, 6), None), ((9, 4, 5), (-2, -1)), ((6,), None)):
            for dtype, error in ((np.float32, 1e-5), (np.float64, 1e-13)):
                x = self.rng.standard_normal(shape).astype(dtype)
                z = (x + 1j * self.rng.standard_normal(shape)).astype(np.result_type(dtype, np.complex64))
                for devices in [['host'] * n for n in (1, 2, 5)] + ([] if GPUS is None or 11 in shape or shape[-1] % 2 else [GPUS]):
                    given = dict(axes=axes, norm='ortho', devices=devices)
                    half, size = stentor.fft.rfftn(x, **given), [shape[a] for a in (axes or range(len(shape)))]
                    out = np.empty(shape, z.dtype)
                    for got, want in ((half, np.fft.rfftn(x, axes=axes, norm='ortho')), (stentor.fft.irfftn(half, size, **given), x),
                                      (stentor.fft.fftn(z.T.T, **given, out=out), np.fft.fftn(z, axes=axes, norm='ortho')),
                                      (stentor.fft.ifftn(out, **given), z)):
                        np.testing.assert_allclose(got, want, rtol=0, atol=error * 10)
                    self.assertEqual((half.dtype, out.dtype), (z.dtype, z.dtype))
        for wrong in ([], 'x', ['host', 0]):
            with self.assertRaises(ValueError):
                stentor.fft.fftn(x, devices=wrong)

    def test_progress(self):
        """Of stencils and systems; an exception cancels, and the plan can be used again."""
        heat = stentor.System('field u; stencil h = heat-2d; u.next = h(u)')
        x, devices, steps = self.rng.random((30, 32)), GPUS or ['host'] * 3, 12 if GPUS else 400
        plan = stentor.Plan(x.shape, 'heat-2d', steps=steps, devices=devices, strategy='direct' if GPUS else 'host')
        for run in (plan, lambda u, **more: heat({'u': u}, steps=steps, devices=devices, strategy='host', **more)['u'])[:1 if GPUS else 2]:
            told = []
            want = run(x)
            np.testing.assert_array_equal(run(x, progress=lambda *each: told.append(each)), want)
            self.assertEqual(told[-1], (steps, steps))
            self.assertTrue(all(a[0] <= b[0] <= steps for a, b in zip(told, told[1:])), told)
            with self.assertRaises(KeyError):
                run(x, progress=self.cancel)
            np.testing.assert_array_equal(run(x), want)
        with self.assertRaisesRegex(ValueError, 'share a batch'):
            stentor.Plan((4, *x.shape), 'heat-2d', devices=['host'] * 2)(np.ones((4, *x.shape)), progress=print)

    def cancel(self, done, total):
        raise KeyError(done)

    @unittest.skipIf(GPUS, 'long')
    def test_cancelled_early(self):
        x = self.rng.random((200, 300))
        system = stentor.System('field u; stencil h = heat-2d; u.next = h(u)')
        for run in (stentor.Plan(x.shape, 'heat-2d', steps=10**6, devices=['host'] * 2, strategy='host'),
                    lambda u, progress: system({'u': u}, steps=10**6, devices=['host'] * 2, strategy='host', progress=progress)):
            with self.assertRaises(KeyError) as raised:
                run(x, progress=self.cancel)
            self.assertLess(raised.exception.args[0], 10**6)

    def test_functions_that_fail(self):
        for wrong in ((3, np.ones(3), ['host']), (np.negative, np.float64(3), ['host']), (np.negative, np.ones((0, 2)), ['host']),
                      (np.negative, np.ones(3), []), (np.negative, np.ones(3), ['host', 0])):
            with self.assertRaises(ValueError, msg=str(wrong)):
                stentor.on_devices(*wrong)
        with self.assertRaises(ValueError):
            stentor.on_devices(np.negative, np.ones(3), ['host'], axis=1)
        with self.assertRaisesRegex(ValueError, 'must keep its length'):
            stentor.on_devices(lambda share: share.sum(0), np.ones((4, 3)), ['host'] * 2)
        with self.assertRaises(KeyError):
            stentor.on_devices(lambda share: {}['missing'], np.ones(3), ['host'] * 2)

    def test_batches_on_emulated_gpus(self):
        if GPUS is None:
            self.skipTest('there are no GPUs to share a batch')
        x, source = self.rng.standard_normal((2, 5, 20, 31))
        given = dict(boundary='mirror', steps=3, source=True)
        plan = stentor.Plan(x.shape, 'box-2d9p', devices=GPUS, **given)
        one = stentor.Plan(x.shape, 'box-2d9p', device='host', **given)
        np.testing.assert_allclose(plan(x, source=source), one(x, source=source), rtol=0, atol=1e-13)
        self.assertIn('5 grids, 1 on cuda:0, 2 on cuda:1, 2 on cuda:2', plan.describe())

    def test_words(self):
        plan = stentor.Plan((40, 8), 'heat-2d', steps=4, devices=['host'] * 2)
        self.assertIn('2 of 2 members', plan.describe())
        for wrong in ({'devices': []}, {'devices': 3}, {'devices': ['nowhere']}, {'devices': ['host', 0]},
                      {'devices': ['host'], 'every': 2}, {'devices': ['host'], 'device': 'host'}):
            with self.assertRaises(ValueError, msg=str(wrong)):
                stentor.Plan((8, 8), 'heat-2d', steps=4, **wrong)
        with self.assertRaises(ValueError):
            plan.describe('json')


if __name__ == '__main__':
    unittest.main()
