"""Systems against NumPy at every point, and against exact solutions and conserved quantities."""
import copy
import itertools
import pickle
import resource
import unittest
import warnings

import numpy as np

import stentor
from run_settings import COUNT, DEVICE, SEED
from systems import WAVE, Generator, named, symbol

TYPES = (np.float64, np.float32, np.float16)


def draw(seed):
    """A random system, its arrays and the parameters of a run."""
    rng = np.random.default_rng(seed)
    system = Generator(rng, smooth=DEVICE != 'host' or rng.random() < 0.7)
    reach = system.reach()
    extent = tuple(1 + max(max(each[a]) for each in reach.values()) + int(rng.integers(0, (40, 9, 5)[system.rank - 1])) for a in range(system.rank))
    if system.rank == 1 and rng.random() < 0.3:
        extent = (int(rng.integers(500, 1500)),)
    batch = int(rng.integers(1, 4))
    dtype = TYPES[int(rng.integers(3))]
    state = {name: [rng.uniform(-1, 1, (batch, *extent)).astype(dtype) for _ in range(levels)] for name, levels in system.fields.items()}
    coefficients = {}
    for name, value in system.coefficients.items():
        if value is None or rng.random() < 0.3:
            coefficients[name] = rng.uniform(-1, 1, extent).astype(dtype) if rng.random() < 0.7 else float(np.round(rng.uniform(-1, 1), 2))
    return rng, system, extent, batch, dtype, state, coefficients


class Random(unittest.TestCase):
    def test_random_systems_are_what_numpy_makes_of_them(self):
        exact = 0
        for number in range(COUNT):
            seed = SEED + number
            with self.subTest(seed=seed):
                exact += self.check(seed)
        print(f'seeds {SEED} to {SEED + COUNT - 1}: {exact} equal to the bit', flush=True)
        if DEVICE == 'host':
            self.assertGreater(exact, COUNT // 2)

    @unittest.skipIf(DEVICE == 'host', 'a strategy of GPUs')
    def test_fused_steps_are_single_steps(self):
        """Several steps a launch give the same bits as one launch a step."""
        ran = 0
        for seed in itertools.count(SEED):
            if seed >= SEED + COUNT // 6 and ran or seed > SEED + 100:
                break
            rng, system, extent, batch, dtype, state, coefficients = draw(seed)
            if system.rank != 2:
                continue
            with self.subTest(seed=seed):
                ran += self.check_fused(rng, system, extent, state, coefficients)
        print(f'seeds {SEED} to {seed - 1}: {ran} by fused', flush=True)
        self.assertGreater(ran, 0)

    @unittest.skipIf(DEVICE == 'host', 'launches of GPUs')
    def test_two_steps_a_launch_are_single_steps(self):
        """Kept states, records and levels of 3D runs that may compute two steps in a launch."""
        rng = np.random.default_rng(SEED)
        shape = (9, 10, 24)
        for text in (WAVE.format(rank=3, order=4, sides='wrap'), 'field u\nstencil lap = laplace-3d\nu.next = u + 0.1*lap(u*u)'):
            prepared = stentor.System(text)
            fields = {name + level: rng.uniform(-1, 1, shape).astype(np.float32) for name, levels in prepared.fields.items()
                      for level in ('', '.prev')[:levels]}
            coefficients = {name: rng.uniform(0, 0.05, shape).astype(np.float32) for name in prepared.coefficients}
            run = dict(strategy='step', device=DEVICE)
            self.assertIn('2 steps a launch', prepared.describe(shape, steps=6, dtype='float32', device=DEVICE, strategy='step'))
            state, single = fields, []
            for _ in range(7):
                state = prepared(state, coefficients, 1, **run)
                single.append(state)
            for steps, every in ((7, 0), (6, 3), (6, 2)):
                made = prepared(fields, coefficients, steps, every=every, **run)
                for name, each in made.items():
                    expected = np.stack([state[name] for state in single[every - 1:steps:every]]) if every else single[steps - 1][name]
                    np.testing.assert_array_equal(each, expected, f'{name}, {steps} steps, every {every}\n{text}')
            for record_every in (1, 2):
                made, records = prepared(fields, coefficients, 6, receivers=[('u', (3, 4, 5))], record_every=record_every, **run)
                np.testing.assert_array_equal(made['u'], single[5]['u'])
                np.testing.assert_array_equal(records[:, 0], [state['u'][3, 4, 5] for state in single[record_every - 1:6:record_every]])

    def check_fused(self, rng, system, extent, state, coefficients):
        steps = int(rng.integers(1, 10))
        every = int(rng.choice([0, 0, 0, 1, steps]))
        prepared, made = stentor.System(system.text()), []
        overwrite = not every and bool(rng.random() < 0.4)
        for strategy in ('step', 'fused'):
            given = {name: stentor.to_device(each, DEVICE) for name, each in named(state).items()}
            there = {name: stentor.to_device(each, DEVICE) if np.ndim(each) else each for name, each in coefficients.items()}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter('ignore')
                    result = prepared(given, there, steps, every=every, rank=system.rank, device=DEVICE, overwrite=overwrite, strategy=strategy)
            except stentor.StentorError as error:
                self.assertIn('cannot run this problem', str(error))
                return False
            made.append({name: each.numpy() for name, each in result.items()})
        self.assertEqual(set(made[0]), set(made[1]))
        for name, each in made[0].items():
            np.testing.assert_array_equal(made[1][name], each, f'{name}, {steps} steps\n{system.text()}')
        return True

    def check(self, seed):
        rng, system, extent, batch, dtype, state, coefficients = draw(seed)
        steps = int(rng.integers(1, 5))
        every = int(rng.choice([0, 0, 1, steps]))
        sources, receivers, told_sources, told_receivers = [], [], [], []
        for _ in range(rng.integers(0, 3)):
            field, index = system.pick(list(system.fields)), tuple(int(rng.integers(n)) for n in extent)
            signal = rng.uniform(-1, 1, steps).astype(np.float32)
            sources.append((field, index, 1.0, signal))
            told_sources.append((field, index, signal))
        for _ in range(rng.integers(0, 3)):
            field, index = system.pick(list(system.fields)), tuple(int(rng.integers(n)) for n in extent)
            receivers.append([(field, index, 1.0)])
            told_receivers.append((field, index))
        prepared = stentor.System(system.text())
        self.assertEqual(stentor.System(prepared.text).text, prepared.text)
        overwrite = not every and bool(rng.random() < 0.4)
        given = {name: each.copy() for name, each in named(state).items()}
        there = coefficients
        on_gpu = DEVICE != 'host' and (overwrite or rng.random() < 0.3)  # all arrays are on the GPU
        if on_gpu:
            given = {name: stentor.to_device(each, DEVICE) for name, each in given.items()}
            there = {name: stentor.to_device(each, DEVICE) if np.ndim(each) else each for name, each in coefficients.items()}
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            run = dict(every=every, sources=told_sources, receivers=told_receivers, rank=system.rank, device=DEVICE, overwrite=overwrite)
            try:
                result = prepared(given, there, steps, strategy='fused' if DEVICE != 'host' and rng.random() < 0.25 else None, **run)
            except stentor.StentorError as error:  # before anything is written
                self.assertIn('strategy fused cannot run this problem', str(error))
                result = prepared(given, there, steps, **run)
        made, records = result if receivers else (result, None)
        if on_gpu:
            made, given = ({name: each.numpy() for name, each in some.items()} for some in (made, given))
            records = records.numpy() if receivers else None
        if not overwrite:
            for name, each in named(state).items():
                np.testing.assert_array_equal(given[name], each, 'inputs keep their content')
        equal = True
        with np.errstate(all='ignore'):
            for step, now, recorded in system.run(state, coefficients, steps, dtype, sources, receivers):
                if every and step % every == 0:
                    equal &= self.compare(system, {name: each[step // every - 1] for name, each in made.items()},
                                          {name: levels[0] for name, levels in now.items()}, dtype, step)
                if recorded is not None:
                    equal &= self.compare(system, {'records': records[step - 1]}, {'records': recorded}, dtype, step)
            if not every:
                equal &= self.compare(system, made, named(now), dtype, steps)
        return equal

    def compare(self, system, made, expected, dtype, steps):
        """Whether results are bitwise equal; if not, they must be within rounding error."""
        self.assertEqual(set(made), set(expected))
        equal = True
        for name, each in expected.items():
            got = made[name]
            self.assertEqual(got.shape, each.shape)
            if np.array_equal(got, each, equal_nan=True):
                continue
            equal = False
            # float16: later steps amplify a difference of one rounding.
            scale = max(1.0, float(np.max(np.abs(np.where(np.isfinite(each), each, 0).astype(np.float64)))))
            limit = {np.float64: 1e-13, np.float32: 3e-5, np.float16: 3e-2}[dtype] * 10 ** (steps - 1) * scale
            finite = np.isfinite(each)
            if scale > 1e4 and dtype == np.float16 or scale > 1e30:
                continue  # near overflow, where one rounding decides about infinity
            np.testing.assert_array_equal(np.isfinite(got), finite, f'{name}\n{system.text()}')
            difference = np.abs(got.astype(np.float64) - each.astype(np.float64))[finite]
            self.assertLessEqual(float(difference.max(initial=0)), limit, f'{name} of {dtype.__name__}\n{system.text()}')
        return equal


class Exact(unittest.TestCase):
    def test_standing_waves(self):
        """cos(k.x) cos(w t) is a solution with 2 cos w - 2 = c2 * symbol(k)."""
        for order in range(2, 18, 2 if DEVICE == 'host' else 6):
            for rank, extent in ((1, (96,)), (2, (36, 44)), (3, (16, 18, 20))):
                c2, steps = 0.1, 60
                k = [2 * np.pi * 2 / n for n in extent]
                grids = np.meshgrid(*[np.arange(n) for n in extent], indexing='ij')
                shape = np.cos(sum(a * g for a, g in zip(k, grids)))
                w = np.arccos(1 + c2 * sum(symbol(order, each) for each in k) / 2)
                wave = stentor.System(WAVE.format(rank=rank, order=order, sides='wrap'))
                made = wave({'u': shape, 'u.prev': shape * np.cos(w)}, {'c2': c2}, steps, device=DEVICE)
                with self.subTest(order=order, rank=rank):
                    np.testing.assert_allclose(made['u'], shape * np.cos(w * steps), atol=2e-12)
                    np.testing.assert_allclose(made['u.prev'], shape * np.cos(w * (steps - 1)), atol=2e-12)

    def test_standing_waves_between_odd_sides(self):
        n, order, c2, steps = 40, 4, 0.2, 50
        for sides, k, shift in (('odd-reflect', np.pi * 3 / n, 0.5), ('odd-mirror', np.pi * 3 / (n - 1), 0.0)):
            shape = np.sin(k * (np.arange(n) + shift))
            w = np.arccos(1 + c2 * symbol(order, k) / 2)
            wave = stentor.System(WAVE.format(rank=1, order=order, sides=sides))
            made = wave({'u': shape, 'u.prev': shape * np.cos(w)}, {'c2': np.full(n, c2)}, steps, device=DEVICE)
            np.testing.assert_allclose(made['u'], shape * np.cos(w * steps), atol=1e-12)

    @unittest.skipIf(DEVICE != 'host', 'long')
    def test_the_energy_of_a_leapfrog_is_kept(self):
        """|u - u.prev|^2 / c2 - u . lap(u.prev) is conserved over 10^4 steps.

        This is exact for a constant c2 and a symmetric lap."""
        rng, n = np.random.default_rng(7), (24, 20)
        c2 = rng.uniform(0.05, 0.3, n)
        lap = stentor.System('field v, u\nstencil lap = laplace-2d\nboundary u = odd-reflect\nu.next = u\nv.next = lap(u)')
        wave = stentor.System(WAVE.format(rank=2, order=2, sides='odd-reflect'))

        def energy(u, before):
            return np.sum((u - before) ** 2 / c2) - np.sum(u * lap({'v': u, 'u': before})['v'])

        u = rng.uniform(-1, 1, n)
        state = {'u': u, 'u.prev': u + 0.1 * rng.uniform(-1, 1, n)}
        first = energy(state['u'], state['u.prev'])
        state = wave(state, {'c2': c2}, 10000)
        self.assertLess(abs(energy(state['u'], state['u.prev']) / first - 1), 1e-12)

    def test_where_keeps_obstacles(self):
        wall = np.zeros((20, 30))
        wall[5:9, 7:12] = 1
        system = stentor.System('field u\ncoefficient wall\nstencil h = heat-2d\nu.next = where(wall > 0, u, h(u))')
        u = np.random.default_rng(3).uniform(size=(20, 30))
        made = system({'u': u}, {'wall': wall}, 7, device=DEVICE)['u']
        np.testing.assert_array_equal(made[5:9, 7:12], u[5:9, 7:12])
        self.assertFalse(np.any(made[0] == u[0]))


class Doors(unittest.TestCase):
    def setUp(self):
        self.wave = stentor.System(WAVE.format(rank=2, order=2, sides='reflect'))
        self.u = np.random.default_rng(5).uniform(size=(2, 12, 14)).astype(np.float32)

    def test_what_is_wrong_is_said(self):
        wave, u, c2 = self.wave, self.u, {'c2': 0.1}
        for message, call in (
                ('u is not given', lambda: wave({}, c2)), ('have \'w\'', lambda: wave({'u': u, 'w': u}, c2)),
                ('c2 is not given', lambda: wave({'u': u})), ('u.prev has shape', lambda: wave({'u': u, 'u.prev': u[0]}, c2)),
                ('c2 has shape', lambda: wave({'u': u}, {'c2': u})), ('does not divide', lambda: wave({'u': u}, c2, 5, every=2)),
                ('steps is 0', lambda: wave({'u': u}, c2, 0)), ('reads 1 point past', lambda: wave({'u': u[:, :1]}, c2)),
                ('not within', lambda: wave({'u': u}, c2, sources=[('u', (0, 14), 1.0)])),
                ('no field', lambda: wave({'u': u}, c2, receivers=[('v', (0, 1))])),
                *((f'source 1 has {found}: give 4, one for each step', lambda given=given: wave(
                    {'u': u}, c2, 4, sources=[('u', (1, 2), np.ones(4)), ('u', (3, 2), given)])) for found, given in (
                        (r'amplitudes of shape \(3,\)', np.ones(3)), (r'amplitudes of shape \(4, 2\)', np.ones((4, 2))), ('no amplitudes', None))),
                ('source 0 has amplitudes of complex128', lambda: wave({'u': u}, c2, sources=[('u', (1, 2), 1j)])),
                (r"source 0 is \('u', \(1, 2\)\): give a field, a position and amplitudes", lambda: wave({'u': u}, c2, sources=[('u', (1, 2))])),
                (r"receiver 1 is 3: give a field and a position", lambda: wave({'u': u}, c2, receivers=[('u', (1, 2)), 3])),
                *(('c2 is .*: give a number', lambda c2=c2: wave({'u': u}, {'c2': c2})) for c2 in (1j, np.array(1j))),
                ('c2 is complex', lambda: wave({'u': u}, {'c2': u[0] * 1j})), ('c2 has dtype <U1', lambda: wave.growth({'c2': 'a'})),
                ('c2 is complex', lambda: wave.growth({'c2': 1j})), (r'shape \(0, 12, 14\)', lambda: wave({'u': u[:0]}, c2)),
                ('amplitudes of source 0 .* give numbers', lambda: wave({'u': u}, c2, sources=[('u', (1, 2), 'a')])),
                ('all levels', lambda: wave({'u': u}, c2, overwrite=True)), ('complex', lambda: wave({'u': u * 1j}, c2)),
                ('have 1 axes', lambda: wave({'u': u[0, 0]}, c2)), ('line 1, column 6', lambda: stentor.System('field')),
                ('give its text', lambda: stentor.System(3)), ('no coefficient', lambda: wave.growth({'k': 1}))):
            with self.subTest(message):
                with self.assertRaisesRegex(ValueError, message):
                    call()

    def test_copies_and_files(self):
        expected = self.wave({'u': self.u}, {'c2': 0.1}, 3)
        for again in (copy.copy(self.wave), copy.deepcopy(self.wave), pickle.loads(pickle.dumps(self.wave))):
            self.assertEqual(again.text, self.wave.text)
            np.testing.assert_array_equal(again({'u': self.u}, {'c2': 0.1}, 3)['u'], expected['u'])

    def test_growth_is_told_before_the_run(self):
        with self.assertWarnsRegex(RuntimeWarning, 'grows without bound') as told:
            self.wave({'u': self.u}, {'c2': np.linspace(0.1, 0.6, 12 * 14).reshape(12, 14)}, 5, device=DEVICE)
        self.assertEqual(told.filename, __file__, 'the warning names the line of the call')
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            self.wave({'u': self.u}, {'c2': 0.5}, 5)
        self.assertTrue(np.isnan(stentor.System('field u\nu.next = u*u').growth(rank=1)))

    def test_sponge(self):
        np.testing.assert_allclose(stentor.sponge((5,), 2, 0.4), [0.4, 0.1, 0, 0.1, 0.4])
        np.testing.assert_allclose(stentor.sponge((3, 5), 2, 4, sides=[(False, False), (False, True)]), [[0, 0, 0, 1, 4]] * 3)

    def test_sources_and_receivers_between_points(self):
        """A source midway between two points adds half of its amplitude to each."""
        system, zero = stentor.System('field u\nu.next = u'), np.zeros((6, 7))
        state, records = system({'u': zero}, steps=4, sources=[('u', (2, 3.5), [1.0, 2.0, 3.0, 4.0])], receivers=[('u', (2.5, 3)), ('u', (2, 4))],
                                record_every=2, device=DEVICE)
        self.assertEqual(state['u'][2, 3], 5.0)
        np.testing.assert_array_equal(records, [[0.75, 1.5], [2.5, 5.0]])

    def test_a_hundred_systems_leak_nothing(self):
        def run(i):
            system = stentor.System(f'field u\ncoefficient k = {i + 1}e-3\nstencil h = laplace-1d\nu.next = u + k*h(u)')
            system({'u': np.ones(5000)}, steps=2, device=DEVICE)

        for i in range(30):
            run(i)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(100 if DEVICE == 'host' else 20):
            run(i)
        # In KiB.
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 4096 if DEVICE == 'host' else 65536)


if __name__ == '__main__':
    unittest.main()
