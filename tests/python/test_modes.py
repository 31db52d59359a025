"""The strategy modes, which computes all steps of a linear system at once in Fourier space.

It is compared with NumPy's single steps, with the host's, and with exact solutions. With
STENTOR_TEST_DEVICE=cuda, on a GPU.
"""
import json
import os
import unittest
import warnings

import numpy as np

import stentor
from linear_systems import Linear, Signed
from run_settings import COUNT, DEVICE, SEED
from systems import WAVE, named, symbol

BARS = {np.float64: 1e-13, np.float32: 1e-6, np.float16: 1e-3}


def by(strategy):
    return {'strategy': strategy, 'device': 'host' if strategy == 'host' else DEVICE}


def quietly(call, *given, **more):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return call(*given, **more)


class Random(unittest.TestCase):
    def test_random_linear_systems_are_what_numpy_makes_of_them(self):
        served = 0
        print(f'seeds {SEED} to {SEED + COUNT - 1}', flush=True)
        for number in range(COUNT):
            with self.subTest(seed=SEED + number):
                served += self.check(SEED + number)
        self.assertGreater(served, COUNT * 2 // 3 if DEVICE == 'host' else 0)

    def test_mirrors_of_both_signs(self):
        """Systems that do not preserve the mirror parities are refused; other results are right."""
        served = 0
        for number in range(COUNT):
            with self.subTest(seed=SEED + number):
                served += self.check(SEED + number, Signed)
        print(f'{served} of {COUNT} keep the signs', flush=True)
        if DEVICE == 'host':
            self.assertGreater(served, COUNT // 20)

    def check(self, seed, kind=None):
        rng = np.random.default_rng(seed)
        system = kind(rng) if kind else Linear(rng, mirrored=rng.random() < 0.4)
        reach = system.reach()
        extent = tuple(1 + max(max(each[a]) for each in reach.values()) + int(rng.integers(0, (80, 14, 7)[system.rank - 1])) for a in range(system.rank))
        batch, dtype = int(rng.integers(1, 4)), (np.float64, np.float64, np.float32, np.float16)[int(rng.integers(4))]
        state = {name: [rng.uniform(-1, 1, (batch, *extent)).astype(dtype) for _ in range(levels)] for name, levels in system.fields.items()}
        coefficients = {name: float(np.round(rng.uniform(-1, 1), 2)) for name, value in system.coefficients.items() if value is None or rng.random() < 0.3}
        steps = int(rng.choice([1, 2, 3, 7, 16, 29]))
        divisors = [each for each in range(1, steps + 1) if steps % each == 0]
        every = int(rng.choice(divisors)) if rng.random() < 0.4 else 0
        overwrite = not every and bool(rng.random() < 0.4)
        prepared = stentor.System(system.text())
        given = {name: each.copy() for name, each in named(state).items()}
        try:
            if DEVICE != 'host' and overwrite:  # all arrays are on the GPU
                given = {name: stentor.to_device(each, DEVICE) for name, each in given.items()}
            made = quietly(prepared, given, coefficients, steps, every=every, rank=system.rank, overwrite=overwrite, **by('modes'))
            if DEVICE != 'host' and overwrite:
                made = {name: each.numpy() for name, each in made.items()}
        except stentor.StentorError as error:
            self.assertRegex(str(error), 'mirror|changes its sign' + ('|rows, and a GPU|more terms' if DEVICE != 'host' else ''))
            return 0
        if not overwrite:
            for name, each in named(state).items():
                np.testing.assert_array_equal(given[name], each, 'inputs keep their content')
        largest = max(np.sqrt(np.mean(each.astype(np.float64) ** 2)) for each in named(state).values())
        with np.errstate(all='ignore'):
            for step, now, _ in system.run(state, coefficients, steps, dtype):
                largest = max([largest] + [np.sqrt(np.mean(each.astype(np.float64) ** 2)) for each in named(now).values()])
                finite = all(np.isfinite(each).all() for each in named(now).values())
                if not finite or not np.isfinite(largest) or dtype == np.float16 and largest > 1e3:
                    return 1  # the values are near overflow
                if every and step % every == 0:
                    self.compare(system, {name: each[step // every - 1] for name, each in made.items()},
                                 {name: levels[0] for name, levels in now.items()}, dtype, step, largest)
        if not every:
            self.compare(system, made, named(now), dtype, steps, largest)
        return 1

    def compare(self, system, made, expected, dtype, steps, largest):
        self.assertEqual(set(made), set(expected))
        for name, each in expected.items():
            self.assertEqual(made[name].shape, each.shape)
            off = np.sqrt(np.mean((made[name].astype(np.float64) - each.astype(np.float64)) ** 2)) / largest
            self.assertLessEqual(off, BARS[dtype] * max(1, np.sqrt(steps)) * 2, f'{name} of {dtype.__name__}, {steps} steps\n{system.text()}')


MAXWELL = '''
field e, hx, hy
coefficient k = 0.4
stencil xf = taps x [0, 1] (-1 1), xb = taps x [-1, 0] (-1 1), yf = taps y [0, 1] (-1 1), yb = taps y [-1, 0] (-1 1)
hx.next = hx - k*yf(e)
hy.next = hy + k*xf(e)
e.next = e + k*(xb(hy.next) - yb(hx.next))
'''
BASHFORTH = '''
field u(3)
stencil flow = taps x [-2, -1, 1, 2] (1/12 -2/3 2/3 -1/12), damp = laplace-2d
u.next = u - 0.3*(23/12*flow(u) - 16/12*flow(u.prev) + 5/12*flow(u.prev2)) + 0.02*damp(u.prev)
'''
# f is even and g odd at the sides along x; a centred difference maps each parity to the other.
CENTRED = '''
field f, g
stencil d = taps x [-1, 1] (-1/2 1/2), lap = laplace-2d
boundary f = mirror, reflect
boundary g = mirror, odd-reflect
f.next = f - 0.3*d(g) + 0.01*lap(f)
g.next = g - 0.3*d(f.next)
'''


class Steps(unittest.TestCase):
    """Compared with the host's single steps, which have a rounding error in each step."""

    def test_long_runs(self):
        rng = np.random.default_rng(11)
        for text, extent, longest in ((WAVE.format(rank=1, order=8, sides='wrap'), (211,), 301), (WAVE.format(rank=1, order=2, sides='wrap'), (2,), 50),
                                    (WAVE.format(rank=2, order=4, sides='wrap'), (37, 64), 500), (WAVE.format(rank=3, order=2, sides='wrap'), (13, 8, 17), 1023),
                                    (WAVE.format(rank=2, order=2, sides='constant, odd-reflect:reflect'), (31, 20), 1000),
                                    (WAVE.format(rank=3, order=6, sides='mirror, wrap, reflect'), (9, 10, 11), 500),
                                    (MAXWELL, (29, 41), 1500), (BASHFORTH, (30, 23), 2000), (CENTRED, (21, 26), 700)):
            system = stentor.System(text)
            for dtype, steps in ((np.float64, longest), (np.float32, min(longest, 201))):
                state = {name: rng.uniform(-1, 1, (2, *extent)).astype(dtype) for name in named({n: [0] * l for n, l in system.fields.items()})}
                numbers = {'c2': 0.21} if 'c2' in system.coefficients else None
                rank = len(extent)
                made, host = (system(state, numbers, steps, rank=rank, **by(each)) for each in ('modes', 'host'))
                for name in made:
                    off = np.linalg.norm(made[name].astype(np.float64) - host[name]) / np.linalg.norm(host[name].astype(np.float64))
                    bar = 1e-13 * (1 + np.log2(steps)) if dtype == np.float64 else 1e-6 * np.sqrt(steps)
                    with self.subTest(name=name, extent=extent, steps=steps, dtype=dtype.__name__):
                        self.assertLessEqual(off, bar, text)

    def test_many_frames_are_one_run_after_another(self):
        system, u = stentor.System(WAVE.format(rank=2, order=2, sides='wrap')), np.random.default_rng(2).uniform(size=(30, 22))
        state = {'u': u, 'u.prev': u}
        frames = system(state, {'c2': 0.3}, 600, every=50, **by('modes'))['u']
        self.assertEqual(frames.shape, (12, 30, 22))
        for frame in frames:
            state = system(state, {'c2': 0.3}, 50, **by('modes'))
            np.testing.assert_allclose(frame, state['u'], atol=2e-13)

    def test_receivers_between_chunks(self):
        rng = np.random.default_rng(8)
        system = stentor.System('field u(2), v\nstencil lap = laplace-2d\nboundary u, v = reflect, wrap\n'
                                'u.next = 2*u - u.prev + 0.2*lap(u)\nv.next = v + 0.1*lap(u.next)')
        receivers = [('u', (3, 4.5)), ('v', (0, 20)), ('u', (10.25, 0)), ('u', (16, 20))]
        for dtype, steps, every, record_every in ((np.float64, 60, 0, 5), (np.float64, 60, 12, 10), (np.float32, 24, 4, 1), (np.float16, 12, 0, 12)):
            state = {name: rng.uniform(-1, 1, (2, 17, 21)).astype(dtype) for name in ('u', 'u.prev', 'v')}
            (made, seen), (host, expected) = (system(state, None, steps, every=every, receivers=receivers, record_every=record_every, rank=2, **by(each))
                                              for each in ('modes', 'host'))
            bar = BARS[dtype] * np.sqrt(steps) * 5
            self.assertEqual(seen.shape, (steps // record_every, 2, 4))
            np.testing.assert_allclose(seen, expected, atol=bar * max(1, np.abs(expected).max()))
            for name, each in host.items():
                np.testing.assert_allclose(made[name].astype(float), each.astype(float), atol=bar * np.abs(each).max())

    def test_numbers_change_between_executions(self):
        system = stentor.System('field u\ncoefficient k = 0.1\ncoefficient s = 0\nstencil h = laplace-1d\nboundary u = reflect\nu.next = u + k*h(u) + s')
        u = np.random.default_rng(4).uniform(size=65)
        for numbers in (None, {'k': 0.2}, {'s': 0.5}, {'k': -0.1, 's': -2.0}):
            made, host = (quietly(system, {'u': u}, numbers, 60, **by(each))['u'] for each in ('modes', 'host'))
            np.testing.assert_allclose(made, host, rtol=1e-12, atol=1e-12 * np.abs(host).max())

    def test_symmetry_that_numbers_decide(self):
        """The value of a coefficient enables a stencil that is not symmetric."""
        text = 'field u\ncoefficient k = 0\nstencil d = taps y [0, 1] (-1 1), e = taps x [0, 1] (-1 1)\n'
        system, u = stentor.System(text + 'u.next = u + where(k > 1, 0.1, 0)*d(u) + max(k - 2, 0)*e(u)'), np.random.default_rng(9).uniform(size=(12, 15))
        for k in (0.0, 1.5, 2.1):
            made, host = (quietly(system, {'u': u}, {'k': k}, 6, **by(each))['u'] for each in ('modes', 'host'))
            np.testing.assert_allclose(made, host, atol=1e-13)

    def test_symmetry_of_small_stencils_counts(self):
        """Fields in units of their own: an asymmetric stencil counts times its coefficient."""
        system = stentor.System('field u, v\ncoefficient k\nstencil d = taps y [0, 1] (-1 1), e = taps x [0, 1] (-1 1)\n'
                                'u.next = u + 1e-30*k*d(u) + 1e-25*v\nv.next = v + 1e25*(1e-30*k*e(u))')
        u = np.random.default_rng(9).uniform(size=(12, 15))
        made, host = (quietly(system, {'u': u, 'v': u * 1e24}, {'k': 1e29}, 6, **by(each)) for each in ('modes', 'host'))
        for name in made:
            np.testing.assert_allclose(made[name], host[name], rtol=1e-13 * 10, atol=1e-13 * np.abs(host[name]).max())

    def test_what_has_decayed_is_zero(self):
        """After 10^6 steps of the heat equation only the mean is left, which is conserved."""
        system, u = stentor.System('field u\nstencil h = heat-2d\nu.next = h(u)'), np.random.default_rng(6).uniform(size=(40, 50))
        made = system({'u': u}, None, 10**6, **by('modes'))['u']
        np.testing.assert_allclose(made, np.full(u.shape, u.mean()), rtol=1e-12)


class Exact(unittest.TestCase):
    def test_standing_waves(self):
        """mode(x) cos(w t) is a solution with 2 cos w - 2 = c2 * symbol(k), for all boundaries."""
        n, c2 = 48, 0.15
        at = np.arange(n)
        for sides, k, shape in (('wrap', 2 * np.pi * 3 / n, np.cos(2 * np.pi * 3 / n * at)), ('reflect', np.pi * 3 / n, np.cos(np.pi * 3 / n * (at + 0.5))),
                                ('odd-reflect', np.pi * 3 / n, np.sin(np.pi * 3 / n * (at + 0.5))),
                                ('odd-reflect:reflect', np.pi * 3.5 / n, np.sin(np.pi * 3.5 / n * (at + 0.5))),
                                ('mirror', np.pi * 3 / (n - 1), np.cos(np.pi * 3 / (n - 1) * at)),
                                ('constant', np.pi * 3 / (n + 1), np.sin(np.pi * 3 / (n + 1) * (at + 1)))):
            for order in (2, 4, 8) if sides != 'constant' else (2,):
                for steps in (1, 60, 4096):
                    w = np.arccos(1 + c2 * symbol(order, k) / 2)
                    wave = stentor.System(WAVE.format(rank=1, order=order, sides=sides))
                    made = wave({'u': shape, 'u.prev': shape * np.cos(w)}, {'c2': c2}, steps, **by('modes'))
                    with self.subTest(sides=sides, order=order, steps=steps):
                        np.testing.assert_allclose(made['u'], shape * np.cos(w * steps), atol=4e-15 * steps + 1e-14)
                        np.testing.assert_allclose(made['u.prev'], shape * np.cos(w * (steps - 1)), atol=4e-15 * steps + 1e-14)

    @unittest.skipIf(np.finfo(np.longdouble).eps > 2e-19, 'what is exact takes long doubles')
    def test_steps_in_long_double(self):
        """3001 steps of order 8, compared with the same steps in long double.

        Single steps of the host are 2e-12 off in float64 and 2e-3 in float32, since rounding
        errors of the mean add up. Numbers are rounded to the dtype, as stentor.h defines: float32
        weights whose sum is not 0 change the mean."""
        n, steps, c2 = 211, 3001, 0.21
        impulse = np.zeros(n)
        impulse[100] = 1
        lap = stentor.System('field v, u\nstencil lap = laplace-1d:order=8\nu.next = u\nv.next = lap(u)')
        weights = lap({'v': impulse, 'u': impulse}, strategy='host')['v'][96:105]
        wave = stentor.System(WAVE.format(rank=1, order=8, sides='wrap'))
        # On GPUs transforms of float32 data are computed in float32.
        for dtype, bar in ((np.float64, 1e-14), (np.float32, 2e-7 if DEVICE == 'host' else 8e-7)):
            u, before = np.random.default_rng(11).uniform(-1, 1, (2, n)).astype(dtype)
            made = wave({'u': u, 'u.prev': before}, {'c2': c2}, steps, **by('modes'))['u']
            now, before, w, c = u.astype(np.longdouble), before.astype(np.longdouble), weights.astype(dtype), np.longdouble(dtype(c2))
            for _ in range(steps):
                now, before = 2 * now - before + c * sum(np.longdouble(w[4 + j]) * np.roll(now, -j) for j in range(-4, 5)), now
            self.assertLess(float(np.linalg.norm(made - now) / np.linalg.norm(now)), bar, dtype.__name__)

    @unittest.skipIf(np.finfo(np.longdouble).eps > 2e-19, 'what is exact takes long doubles')
    def test_a_million_steps(self):
        """The error is smaller than that of as many single steps, which is 5e-13."""
        n, c2 = 48, 0.15
        k = np.longdouble('3.14159265358979323846264338327950288') * 3 / n
        w = 2 * np.arcsin(np.sqrt(np.longdouble(c2)) * np.sin(k / 2))
        shape = np.sin(k * (np.arange(n) + np.longdouble(0.5)))
        state = {'u': shape.astype(np.float64), 'u.prev': (shape * np.cos(w)).astype(np.float64)}
        made = stentor.System(WAVE.format(rank=1, order=2, sides='odd-reflect'))(state, {'c2': c2}, 10**6, **by('modes'))['u']
        self.assertLess(float(np.abs(made - shape * np.cos(10**6 * w)).max()), 3e-14)

    def test_slow_waves_keep_their_digits(self):
        """The longest wave of a large grid over a quarter period, where steps lose three digits."""
        n, c2 = 4096, 1e-4
        k = 2 * np.pi / n
        s = 4 * c2 * np.sin(k / 2) ** 2
        w = 2 * np.arcsin(np.sqrt(s) / 2)
        steps = round(np.pi / 2 / w) // 2
        shape = np.cos(k * np.arange(n))
        wave = stentor.System(WAVE.format(rank=1, order=2, sides='wrap'))
        made = wave({'u': shape, 'u.prev': shape}, {'c2': c2}, steps, **by('modes'))['u']
        exact = shape * (np.cos(w * steps) - np.tan(w / 2) * np.sin(w * steps))
        self.assertLess(np.linalg.norm(made - exact) / np.linalg.norm(exact), 1e-14)

    def test_the_energy_of_a_leapfrog_is_kept(self):
        """|u - u.prev|^2 / c2 - u . lap(u.prev) is conserved in 10^4 steps and all ten frames."""
        rng, n, c2 = np.random.default_rng(7), (24, 21), 0.3
        lap = stentor.System('field v, u\nstencil lap = laplace-2d\nu.next = u\nv.next = lap(u)')
        wave = stentor.System(WAVE.format(rank=2, order=2, sides='wrap'))

        def energy(state):
            u, before = state['u'], state['u.prev']
            return np.sum((u - before) ** 2) / c2 - np.sum(u * lap({'v': u, 'u': before}, strategy='host')['v'])

        u = rng.uniform(-1, 1, n)
        state = {'u': u, 'u.prev': u + 0.1 * rng.uniform(-1, 1, n)}
        first = energy(state)
        self.assertLess(abs(energy(wave(state, {'c2': c2}, 10000, **by('modes'))) / first - 1), 1e-12)
        for _ in range(10):
            state = wave(state, {'c2': c2}, 1000, **by('modes'))
            self.assertLess(abs(energy(state) / first - 1), 1e-12)


@unittest.skipIf(DEVICE != 'host', 'of the host')
class Choice(unittest.TestCase):
    def test_what_it_cannot_serve_is_said(self):
        u = np.zeros((20, 24))
        for system, coefficients, message in (
                ('field u\nu.next = u*u', {}, 'u.next is not linear: it multiplies fields with each other'),
                ('field u, v\nu.next = u + v\nv.next = v/(1 + u)', {}, 'v.next is not linear: it divides by a field'),
                ('field u\nu.next = abs(u)', {}, 'u.next is not linear: it takes the abs of a field'),
                ('field u\nu.next = where(u > 0, u, 0)', {}, 'u.next is not linear: it compares fields by >'),
                ('field u\nu.next = max(u, 0)', {}, 'u.next is not linear: it takes the max of a field'),
                ('field u\ncoefficient k\nu.next = k*u', {'k': u}, 'the coefficient k is an array'),
                ('field u\nstencil h = heat-2d\nboundary u = nearest\nu.next = h(u)', {}, 'u has nearest sides along z, which no Fourier mode satisfies'.replace('z', 'y')),
                ('field u\nstencil h = heat-2d\nboundary u = fixed\nu.next = h(u)', {}, 'u has fixed sides'),
                ('field u\nstencil h = heat-2d\nboundary u = constant=2\nu.next = h(u)', {}, 'u has constant sides'),
                ('field u\nstencil h = laplace-2d:order=4\nboundary u = constant\nu.next = u + 0.1*h(u)', {}, 'read at most 1 point past its own, not 2'),
                ('field u\nstencil h = heat-2d\nboundary u = odd-mirror\nu.next = h(u)', {}, 'u has odd-mirror sides'),
                ('field u\nstencil h = heat-2d\nboundary u = odd-reflect\nu.next = h(u) + 1', {}, 'a step adds a constant'),
                ('field u\nstencil d = taps x [0, 1] (-1 1)\nboundary u = reflect\nu.next = u - 0.1*d(u)', {}, 'mirror symmetry of the sides along x'),
                ('field u, v\nstencil h = heat-2d\nboundary u = reflect\nu.next = h(u)\nv.next = h(v)', {}, 'v has wrap sides where other fields have none')):
            with self.subTest(message):
                with self.assertRaisesRegex(stentor.StentorError, message.replace('+', '\\+').replace('(', '\\(')) as caught:
                    quietly(stentor.System(system), {name: u for name in stentor.System(system).fields}, coefficients, 5, strategy='modes', rank=2)
                self.assertIn('strategy modes cannot run this problem', str(caught.exception))
        with self.assertRaisesRegex(stentor.StentorError, 'it computes many steps at once, and sources change the state'):
            stentor.System('field u\nstencil h = heat-2d\nu.next = h(u)')({'u': u}, None, 5, strategy='modes', sources=[('u', (3, 3), 1.0)])

    def test_it_is_chosen_for_long_runs_where_accuracy_allows(self):
        wave = stentor.System(WAVE.format(rank=2, order=2, sides='wrap').replace('coefficient c2', 'coefficient c2 = 0.2'))

        def chosen(**more):
            return json.loads(wave.describe((200, 300), form='json', **more))

        self.assertEqual(chosen(steps=2)['strategy'], 'host')
        self.assertEqual(chosen(steps=5000)['strategy'], 'modes')
        self.assertEqual(chosen(steps=5000, every=1)['strategy'], 'host')
        self.assertEqual(chosen(steps=5000, every=1000)['strategy'], 'modes')
        self.assertEqual(chosen(steps=5000, accuracy='local')['strategy'], 'host')
        self.assertEqual(chosen(steps=5000, tolerance=1e-18)['strategy'], 'host')
        self.assertEqual(chosen(steps=2, strategy='modes')['strategy'], 'modes')
        told = chosen(steps=5000)
        self.assertEqual((told['parameters']['matrix'], told['parameters']['matrix_kind']), (2, 'real'))
        text = wave.describe((200, 300), steps=5000)
        self.assertIn('modes, 5000 steps at once as the power of a real 2 x 2 matrix at each frequency of 200 x 300 points', text)
        self.assertIn(', 5 times', wave.describe((200, 300), steps=5000, every=1000))
        self.assertIn('neither local accuracy', wave.describe((200, 300), steps=5000, accuracy='local'))
        with self.assertRaisesRegex(ValueError, 'accuracy is'):
            wave.describe((200, 300), accuracy='some')

    def test_a_call_can_be_cancelled(self):
        wave, told = stentor.System(WAVE.format(rank=2, order=2, sides='wrap')), []
        u = np.random.default_rng(1).uniform(size=(263, 311))  # whose FFTs take long

        def stop(done, total):
            told.append((done, total))
            raise KeyError('enough')

        with self.assertRaisesRegex(KeyError, 'enough'):
            wave({'u': u}, {'c2': 0.2}, 400, every=1, strategy='modes', progress=stop)
        self.assertEqual((len(told), told[-1][1]), (1, 400))
        self.assertTrue(0 < told[-1][0] < 400, told)


@unittest.skipIf(DEVICE == 'host', 'of GPUs')
class ChoiceOnDevice(unittest.TestCase):
    def test_it_is_chosen_for_long_runs_where_accuracy_allows(self):
        wave = stentor.System(WAVE.format(rank=2, order=2, sides='wrap').replace('coefficient c2', 'coefficient c2 = 0.2'))

        def chosen(extent=(1024, 2048), form='json', **more):
            described = wave.describe(extent, form=form, device=DEVICE, **more)
            return json.loads(described) if form == 'json' else described

        self.assertNotEqual(chosen(steps=2)['strategy'], 'modes')
        self.assertEqual(chosen(steps=5000)['strategy'], 'modes')
        self.assertEqual(chosen(steps=5000, dtype='float32')['strategy'], 'modes')
        self.assertNotEqual(chosen(steps=5000, accuracy='local')['strategy'], 'modes')
        self.assertNotEqual(chosen(steps=5000, every=1)['strategy'], 'modes')
        self.assertNotEqual(chosen(steps=5000, tolerance=1e-18)['strategy'], 'modes')
        told = chosen(steps=5000)['parameters']
        self.assertEqual((told['matrix'], told['matrix_kind']), (2, 'real'))
        self.assertIn('5000 steps at once as the power of a real 2 x 2 matrix at each frequency of 1024 x 2048 points',
                      chosen(steps=5000, form='text'))
        # Snapshots are not computed by passes along lines.
        self.assertEqual(chosen(steps=50000, every=25000)['parameters']['transforms'], 'fft')

    def test_what_it_cannot_serve_is_said(self):
        fields = 'abcdefghi'
        chain = 'field ' + ', '.join(fields) + '\n' + '\n'.join(f'{each}.next = {each} + 0.1*{other}' for each, other in zip(fields, fields[1:] + 'a'))
        system = stentor.System(chain)
        with self.assertRaisesRegex(stentor.StentorError, 'a step.s real matrix has 9 rows, and a GPU.s thread holds at most 8'):
            quietly(system, {name: np.zeros(200) for name in system.fields}, None, 5, strategy='modes', device=DEVICE)
        with self.assertRaisesRegex(stentor.StentorError, 'it computes many steps at once, and sources change the state'):
            stentor.System('field u\nstencil h = heat-2d\nu.next = h(u)')({'u': np.zeros((20, 24))}, None, 5, strategy='modes', sources=[('u', (3, 3), 1.0)], device=DEVICE)


if __name__ == '__main__':
    unittest.main()
