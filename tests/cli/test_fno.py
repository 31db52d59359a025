#!/usr/bin/env python3
"""stentor fno: a Fourier layer on files, against its sums written here in plain Python."""
import cmath
import itertools
import json
import math
import random
import unittest

from command import CommandTest, npy_values


def frequencies(n, kept, low):
    return range(kept) if low else range(-(kept // 2), kept - kept // 2)


def layer(x, weights, points, modes, channels, *, real, low=False):
    """y[o][p] of one item, x[i][p] flat in C order; weights[i][o][mode]."""
    c_in, c_out = channels
    axes = [frequencies(n, m, low or (real and a == len(points) - 1)) for a, (n, m) in enumerate(zip(points, modes))]
    places = list(itertools.product(*map(range, points)))
    y = [[0j] * len(places) for _ in range(c_out)]
    for m, k in enumerate(itertools.product(*axes)):
        waves = [cmath.exp(2j * math.pi * sum(a * b / n for a, b, n in zip(k, p, points))) for p in places]
        sums = [sum(v * w.conjugate() for v, w in zip(x[i], waves)) / len(places) for i in range(c_in)]
        twice = 2 if real and k[-1] and 2 * k[-1] != points[-1] else 1
        for o in range(c_out):
            z = twice * sum(weights[i][o][m] * sums[i] for i in range(c_in))
            y[o] = [have + z * w for have, w in zip(y[o], waves)]
    return [[v.real for v in row] if real else row for row in y]


def parts(values):
    return [part for v in values for part in (v.real, v.imag)]


class Fno(CommandTest):
    def setUp(self):
        super().setUp()
        self.dice = random.Random(5)

    def some(self, count):
        return [complex(self.dice.uniform(-1, 1), self.dice.uniform(-1, 1)) for _ in range(count)]

    def put_weights(self, channels, modes, one_axis=False):
        c_in, c_out = channels
        kept = math.prod(modes)
        weights = [[self.some(kept) for _ in range(c_out)] for _ in range(c_in)]
        flat = [v for row in weights for pair in row for v in pair]
        self.put_npy('w.npy', [c_in, c_out, *([kept] if one_axis else modes)], parts(flat), descr='<c16')
        return weights

    def expect(self, name, shape, expected):
        found_shape, _, found = npy_values(self.path / name)
        self.assertEqual(found_shape, tuple(shape))
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, delta=1e-12)

    def test_real_plane(self):
        points, modes, batch = [6, 5], [4, 3], 2
        items = [[[self.dice.uniform(-1, 1) for _ in range(30)] for _ in range(2)] for _ in range(batch)]
        weights = self.put_weights((2, 3), modes)
        self.put_npy('x.npy', [batch, 2, *points], [v for item in items for row in item for v in row])
        self.succeed('fno', '--in', 'x.npy', '--weights', 'w.npy', '--out', 'y.npy', '--device', 'host')
        made = [v for item in items for row in layer(item, weights, points, modes, (2, 3), real=True) for v in row]
        self.expect('y.npy', [batch, 3, *points], made)

    def test_complex_line_with_all_that_follows(self):
        """One item without a batch axis; low modes, skip weights, a bias, ReLU."""
        x, weights = [self.some(9), self.some(9)], self.put_weights((2, 1), [4])
        bias, skip = self.some(1), self.some(2)
        self.put_npy('x.npy', [2, 9], parts(x[0] + x[1]), descr='<c16')
        self.put_npy('b.npy', [1], parts(bias), descr='<c16')
        self.put_npy('s.npy', [2, 1], parts(skip), descr='<c16')
        self.succeed('fno', '--in', 'x.npy', '--weights', 'w.npy', '--out', 'y.npy', '--low', '--bias', 'b.npy',
                     '--skip', 's.npy', '--activation', 'relu', '--device', 'host')
        y = layer(x, weights, [9], [4], (2, 1), real=False, low=True)[0]
        y = [v + bias[0] + skip[0] * a + skip[1] * b for v, a, b in zip(y, *x)]
        self.expect('y.npy', [1, 9], [max(0.0, part) for part in parts(y)])

    def test_cube(self):
        """The modes of three axes in one axis of the weights."""
        points, modes = [4, 3, 4], [3, 2, 2]
        weights = self.put_weights((1, 1), modes, one_axis=True)
        x = [[self.dice.uniform(-1, 1) for _ in range(48)]]
        self.put_npy('x.npy', [1, *points], x[0])
        self.succeed('fno', '--in', 'x.npy', '--weights', 'w.npy', '--out', 'y.npy', '--modes', '3x2x2', '--device', 'host')
        self.expect('y.npy', [1, *points], layer(x, weights, points, modes, (1, 1), real=True)[0])

    def test_backward_is_the_adjoint(self):
        """<g, layer(x)> = <backward(g), x> without a bias."""
        self.put_weights((2, 3), [3])
        x, g = [[self.dice.uniform(-1, 1) for _ in range(n * 8)] for n in (2, 3)]
        self.put_npy('x.npy', [1, 2, 8], x)
        self.put_npy('g.npy', [1, 3, 8], g)
        self.succeed('fno', '--in', 'x.npy', '--weights', 'w.npy', '--out', 'y.npy', '--device', 'host')
        self.succeed('fno', '--in', 'g.npy', '--weights', 'w.npy', '--out', 'dx.npy', '--backward', '--device', 'host')
        dot = lambda a, b: sum(u * v for u, v in zip(a, b))
        self.assertAlmostEqual(dot(g, npy_values(self.path / 'y.npy')[2]), dot(x, npy_values(self.path / 'dx.npy')[2]))

    def test_words(self):
        self.put_weights((2, 2), [3])
        self.put_npy('x.npy', [1, 2, 8], [0.0] * 16)
        said = json.loads(self.succeed('fno', '--in', 'x.npy', '--weights', 'w.npy', '--json', '--device', 'host').stdout)
        self.assertEqual((said['strategy'], said['plan']['problem']['modes']), ('host', [3]))
        text = self.succeed('fno', '--in', 'x.npy', '--weights', 'w.npy', '--explain', '--device', 'host').stdout
        self.assertIn('1D 8, 3 modes, 2 to 2 channels', text)

    def test_refusals(self):
        self.put_weights((2, 2), [3])
        self.put_npy('x.npy', [1, 2, 8], [0.0] * 16)
        self.put_npy('wide.npy', [1, 3, 8], [0.0] * 24)
        self.put_npy('b.npy', [3], [0.0] * 3)
        for arguments, words in (
                (['--weights', 'w.npy'], '--in is missing'),
                (['--in', 'x.npy'], '--weights is missing'),
                (['--in', 'wide.npy', '--weights', 'w.npy'], 'has 3 channels but the weights'),
                (['--in', 'x.npy', '--weights', 'x.npy', '--modes', '9'], 'not those of the weights'),
                (['--in', 'x.npy', '--weights', 'w.npy', '--modes', '4'], 'not those of the weights'),
                (['--in', 'x.npy', '--weights', 'w.npy', '--bias', 'b.npy'], 'must have shape [2]'),
                (['--in', 'x.npy', '--weights', 'w.npy', '--activation', 'tanh'], 'gelu or relu'),
                (['--in', 'x.npy', '--weights', 'w.npy', '--tolerance', 'much'], 'is no number')):
            with self.subTest(words):
                self.refuse(2, words, 'fno', *arguments, '--device', 'host')


if __name__ == '__main__':
    unittest.main()
