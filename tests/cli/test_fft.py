#!/usr/bin/env python3
"""stentor fft: the results of NumPy's fft module, against sums written here in plain Python."""
import cmath
import itertools
import json
import math
import random
import unittest

from command import CommandTest, npy_values


def transform(values, shape, axes, sign, scale=1.0):
    """The sums, axis by axis; flat complex values in C order."""
    values = list(values)
    for axis in axes:
        n, inner = shape[axis], math.prod(shape[axis + 1:])
        roots = [cmath.exp(sign * 2j * math.pi * k / n) for k in range(n)]
        after = [0j] * len(values)
        for outer, rest in itertools.product(range(math.prod(shape[:axis])), range(inner)):
            start = outer * n * inner + rest
            for k in range(n):
                after[start + k * inner] = sum(values[start + j * inner] * roots[j * k % n] for j in range(n))
        values = after
    return [scale * v for v in values]


def numbers(values):
    return [part for v in values for part in (v.real, v.imag)]


class Fft(CommandTest):
    def setUp(self):
        super().setUp()
        self.dice = random.Random(11)

    def some(self, count):
        return [complex(self.dice.uniform(-1, 1), self.dice.uniform(-1, 1)) for _ in range(count)]

    def check(self, name, shape, descr, expected, within):
        found_shape, found_descr, found = npy_values(self.path / name)
        self.assertEqual((found_shape, found_descr), (tuple(shape), descr))
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, delta=within)

    def test_forward_and_inverse(self):
        x = self.some(30)
        self.put_npy('x.npy', [30], numbers(x), descr='<c16')
        self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--device', 'host')
        self.check('y.npy', [30], '<c16', numbers(transform(x, [30], [0], -1)), 1e-12)
        self.succeed('fft', '--in', 'y.npy', '--out', 'z.npy', '--inverse', '--device', 'host')
        self.check('z.npy', [30], '<c16', numbers(x), 1e-14)

    def test_axes(self):
        """Any axes in any order; the others are a batch, wherever they are."""
        shape = [3, 4, 5]
        x = self.some(60)
        self.put_npy('x.npy', shape, numbers(x), descr='<c16')
        for axes, which in (('0', [0]), ('1', [1]), ('-1', [2]), ('0,2', [0, 2]), ('2,0', [0, 2]), (None, [0, 1, 2])):
            chosen = ['--axes', axes] if axes else []
            self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--device', 'host', *chosen)
            self.check('y.npy', shape, '<c16', numbers(transform(x, shape, which, -1)), 1e-12)

    def test_norms(self):
        x = self.some(8)
        self.put_npy('x.npy', [8], numbers(x), descr='<c16')
        for norm, way, scale in (('backward', [], 1), ('forward', [], 1 / 8), ('ortho', [], 8 ** -0.5),
                                 ('none', ['--inverse'], 1), ('ortho', ['--inverse'], 8 ** -0.5),
                                 ('forward', ['--inverse'], 1), ('backward', ['--inverse'], 1 / 8)):
            self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--norm', norm, '--device', 'host', *way)
            self.check('y.npy', [8], '<c16', numbers(transform(x, [8], [0], 1 if way else -1, scale)), 1e-13)

    def test_real(self):
        """The half spectrum, and its inverse for even and odd sizes."""
        for n in (6, 7):
            x = [self.dice.uniform(-1, 1) for _ in range(4 * n)]
            self.put_npy('x.npy', [4, n], x)
            self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--real', '--device', 'host')
            whole = transform([complex(v) for v in x], [4, n], [0, 1], -1)
            half = [whole[i * n + k] for i in range(4) for k in range(n // 2 + 1)]
            self.check('y.npy', [4, n // 2 + 1], '<c16', numbers(half), 1e-12)
            points = ['--points', n] if n % 2 else []
            self.succeed('fft', '--in', 'y.npy', '--out', 'z.npy', '--real', '--inverse', '--device', 'host', *points)
            self.check('z.npy', [4, n], '<f8', x, 1e-13)

    def test_real_numbers_without_real(self):
        self.put_npy('x.npy', [4], [1.0, 2.0, 3.0, 4.0], descr='<f4')
        self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--device', 'host')
        self.check('y.npy', [4], '<c8', [10, 0, -2, 2, -2, 0, -2, -2], 1e-6)

    def test_pairs(self):
        """Complex f16 is written as pairs and read back."""
        x = self.some(12)
        self.put_npy('x.npy', [3, 4], numbers(x), descr='<c8')
        told = self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--axes', '1', '--dtype', 'f16', '--device', 'host')
        self.assertIn('pairs', told.stdout)
        self.check('y.npy', [3, 4, 2], '<f2', numbers(transform(x, [3, 4], [1], -1)), 5e-3)
        self.succeed('fft', '--in', 'y.npy', '--out', 'z.npy', '--axes', '1', '--pairs', '--inverse', '--dtype', 'f32',
                     '--device', 'host')
        self.check('z.npy', [3, 4], '<c8', numbers(x), 5e-3)

    def test_fortran_order(self):
        x = self.some(6)
        columns = [x[i * 3 + j] for j in range(3) for i in range(2)]
        self.put_npy('x.npy', [2, 3], numbers(columns), descr='<c16', fortran=True)
        self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--axes', '1', '--device', 'host')
        self.check('y.npy', [2, 3], '<c16', numbers(transform(x, [2, 3], [1], -1)), 1e-13)

    def test_report(self):
        done = self.succeed('fft', '--size', '16x8', '--axes', '0', '--repeat', 3, '--device', 'host', '--json')
        told = json.loads(done.stdout)
        self.assertEqual((told['strategy'], told['extents'], told['dtype']), ('host', [16, 8], 'f32'))
        self.assertEqual(told['plan']['problem']['batch'], 8)
        self.assertGreater(told['seconds'], 0)
        self.assertEqual(self.succeed('fft', '--size', '8', '--quiet', '--device', 'host').stdout, '')
        told = json.loads(self.succeed('fft', '--size', '9', '--real', '--inverse', '--device', 'host', '--json').stdout)
        self.assertEqual(told['plan']['problem']['transform'], 'c2r')

    def test_explain(self):
        done = self.succeed('fft', '--size', '1024x1000', '--explain', '--arch', 'sm_90')
        self.assertIn('2D 1024 x 1000 c2c forward, f32', done.stdout)
        self.assertIn('strategy:   fft', done.stdout)
        self.assertIn('cufft     does not apply: cuFFT plans for a GPU that is here only', done.stdout)
        self.refuse(8, 'no strategy can run this problem', 'fft', '--size', '1021', '--explain', '--arch', 'sm_90')

    def test_several_devices_give_the_result_of_one(self):
        for arguments in (('--size', '12x7'), ('--size', '5x6x9', '--real', '--axes', '2,0'), ('--size', '7x4', '--axes', '1')):
            fft = ('fft', *arguments, '--random', 3)
            self.succeed(*fft, '--device', 'host', '--out', 'one.npy')
            for members in (1, 2, 5):
                done = self.succeed(*fft, '--devices', ','.join(['host'] * members), '--out', 'several.npy')
                self.assertIn(f'{members} of {members} members', done.stdout)
                self.assertEqual((self.path / 'one.npy').read_bytes(), (self.path / 'several.npy').read_bytes())
        self.assertEqual(json.loads(self.succeed(*fft, '--devices', 'host,host', '--json').stdout)['members'], 2)
        self.refuse(2, '--devices and --device', *fft, '--devices', 'host,host', '--device', 'host')
        self.refuse(2, '--explain is not offered', *fft, '--devices', 'host,host', '--explain')

    def test_overflow_is_told(self):
        self.put_npy('x.npy', [64], [3000.0] * 64, descr='<f2')
        done = self.succeed('fft', '--in', 'x.npy', '--out', 'y.npy', '--device', 'host')
        self.assertIn('--norm ortho', done.stderr)

    def test_wrong_calls(self):
        self.put_npy('real.npy', [4, 6], [0.5] * 24)
        self.put_npy('complex.npy', [6], [0.5] * 12, descr='<c16')
        self.put_npy('none.npy', [0, 6], [])
        self.put_npy('scalar.npy', [], [0.5])
        self.put_npy('single.npy', [1], [0.5, 0], descr='<c16')
        for says, *call in (('give either --in', ), ("'3' is no axis", '--in', 'real.npy', '--axes', '0,3'),
                            ("'-3' is no axis", '--in', 'real.npy', '--axes', '-3'),
                            ('names axis 1 twice', '--in', 'real.npy', '--axes', '1,-1'),
                            ('give backward, ortho', '--in', 'real.npy', '--norm', 'unitary'),
                            ('holds complex ones', '--in', 'complex.npy', '--real'),
                            ('holds real numbers', '--in', 'real.npy', '--real', '--inverse'),
                            ('--points 9 have 5', '--in', 'complex.npy', '--real', '--inverse', '--points', 9),
                            ('is for --real --inverse only', '--in', 'real.npy', '--points', 9),
                            ('last axis of 2', '--in', 'real.npy', '--pairs'),
                            ('f16_sums is set but', '--in', 'real.npy', '--f16-sums'),
                            ('axis 0 of the array has no elements', '--in', 'none.npy', '--axes', '1'),
                            ('lower the extents or the batch', '--size', '4294967296x4294967296x8', '--axes', '2', '--explain'),
                            ('is one number and has no axes', '--in', 'scalar.npy', '--axes', '0'),
                            ('is one number and has no axes', '--in', 'scalar.npy'),
                            ('--pairs describes a file', '--size', '8x2', '--pairs'),
                            ('axis 0 has 1: give 1\n', '--in', 'single.npy', '--real', '--inverse', '--points', 5),
                            ('extent[0] is 0', '--in', 'none.npy'),
                            ("there is no strategy 'direct' of transforms", '--in', 'real.npy', '--strategy', 'direct'),
                            ('--shape describes a raw file', '--size', 4, '--shape', 4),
                            ('4 axes and 1 to 3', '--size', '2x2x2x2'), ('--repeat must be', '--size', 4, '--repeat', 0)):
            self.refuse(2, says, 'fft', *call, '--device', 'host')
        self.refuse(9, 'cannot open', 'fft', '--in', 'nothing.npy')
        self.refuse(10, '<c16', 'run', '--in', 'complex.npy', '--stencil', 'heat-1d')


class HalfSpectra(CommandTest):
    def test_one_element_says_too_little(self):
        """A half spectrum of one element is an error: 1 real number, or another axis was halved."""
        self.put_npy('one.npy', (3, 1), [3, 0, 0, 0, 0, 0], descr='<c16')
        self.refuse(2, '--points 1', 'fft', '--real', '--inverse', '--in', 'one.npy', '--out', 'out.npy')
        self.assertFalse((self.path / 'out.npy').exists())
        self.succeed('fft', '--real', '--inverse', '--in', 'one.npy', '--out', 'out.npy', '--points', 1)
        self.assertEqual(npy_values(self.path / 'out.npy')[::2], ((3, 1), [1, 1, 1]))
        self.succeed('fft', '--real', '--inverse', '--in', 'one.npy', '--out', 'out.npy', '--axes', '1,0')
        self.assertEqual(npy_values(self.path / 'out.npy')[::2], ((4, 1), [0.75] * 4))


if __name__ == '__main__':
    unittest.main()
