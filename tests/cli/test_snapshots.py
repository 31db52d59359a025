#!/usr/bin/env python3
"""stentor run --every and --source: stacks of snapshots, numbered pictures, a constant source;
their messages."""
import json
import os
import unittest

from command import CommandTest, npy_bytes, npy_values

USAGE, FORMAT = 2, 10
HEAT = ('--stencil', 'heat-2d:alpha=0.2', '--device', 'host')


def heat_2d(grid, steps, source=None, frozen=False):
    """heat-2d:alpha=0.2 between reflecting or fixed sides."""
    ny, nx = len(grid), len(grid[0])
    for _ in range(steps):
        after = [row[:] for row in grid]
        for y in range(ny):
            for x in range(nx):
                if frozen and (y in (0, ny - 1) or x in (0, nx - 1)):
                    continue
                near = [grid[max(y - 1, 0)][x], grid[min(y + 1, ny - 1)][x], grid[y][max(x - 1, 0)],
                        grid[y][min(x + 1, nx - 1)]]
                after[y][x] = 0.2 * grid[y][x] + 0.2 * sum(near) + (source[y][x] if source else 0)
        grid = after
    return grid


def flat(grid):
    return [value for row in grid for value in row]


class Snapshots(CommandTest):
    def setUp(self):
        super().setUp()
        self.grid = [[float((x * 7 + y * 13) % 11) for x in range(6)] for y in range(5)]
        self.source = [[float((x * 5 + y * 3) % 7) - 3 for x in range(6)] for y in range(5)]
        self.put_npy('in.npy', (5, 6), flat(self.grid))
        self.put_npy('b.npy', (5, 6), flat(self.source))

    def assert_close(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, delta=1e-12)

    def test_a_stack(self):
        """Each snapshot equals the result of a run of so many steps."""
        os.mkdir(self.path / 'pictures.v1')
        done = self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', *HEAT, '--boundary', 'reflect', '--steps', 6,
                            '--every', 2, '--png', 'pictures.v1/out.png', '--repeat', 2)
        shape, _, values = npy_values(self.path / 'out.npy')
        self.assertEqual(shape, (3, 5, 6))
        for i in range(3):
            self.assert_close(values[30 * i:30 * i + 30], flat(heat_2d(self.grid, 2 * i + 2)))
        names = [f'out-000{i}.png' for i in (1, 2, 3)]
        self.assertEqual(sorted(os.listdir(self.path / 'pictures.v1')), names)
        drawn = [(self.path / 'pictures.v1' / name).read_bytes() for name in names]
        self.assertEqual(len(set(drawn)), 3)
        for i, picture in enumerate(drawn):
            self.assertEqual(picture[:8], b'\x89PNG\r\n\x1a\n')
            self.succeed('run', '--in', 'in.npy', *HEAT, '--boundary', 'reflect', '--steps', 2 * i + 2, '--png',
                         'alone.png')
            self.assertEqual((self.path / 'alone.png').read_bytes(), picture)
        self.assertIn('steps      6, a snapshot every 2: 3\n', done.stdout)
        self.assertIn('wrote      out.npy, pictures.v1/out-0001.png, ... pictures.v1/out-0003.png\n', done.stdout)

    def test_a_batch_of_solids_and_a_stack_of_one(self):
        self.succeed('run', '--size', '2x3x4x5', '--stencil', 'heat-3d', '--out', 'out.npy', '--steps', 4, '--every', 2,
                     '--device', 'host')
        self.succeed('run', '--size', '2x3x4x5', '--stencil', 'heat-3d', '--out', 'one.npy', '--steps', 4, '--every', 4,
                     '--device', 'host')
        shape, _, values = npy_values(self.path / 'out.npy')
        self.assertEqual(shape, (2, 2, 3, 4, 5))
        self.assertEqual(npy_values(self.path / 'one.npy')[::2], ((1, 2, 3, 4, 5), values[120:]))

    def test_a_source(self):
        """Added at each step, except at points that fixed sides freeze; with snapshots too."""
        for boundary, frozen in (('reflect', False), ('fixed', True)):
            for more in ((), ('--every', 3)):
                done = self.succeed('run', '--in', 'in.npy', '--source', 'b.npy', '--out', 'out.npy', *HEAT,
                                    '--boundary', boundary, '--steps', 6, '--repeat', 2, *more)
                values = npy_values(self.path / 'out.npy')[2]
                self.assert_close(values[-30:], flat(heat_2d(self.grid, 6, self.source, frozen)))
                self.assertIn('source     b.npy, added at each step\n', done.stdout)
        self.assert_close(values[:30], flat(heat_2d(self.grid, 3, self.source, True)))

    def test_the_source_takes_the_grids_type(self):
        self.put_npy('small.npy', (5, 6), [1] * 30, descr='<i2')
        self.succeed('run', '--in', 'in.npy', '--source', 'small.npy', '--out', 'out.npy', *HEAT, '--boundary', 'reflect',
                     '--dtype', 'f32')
        ones = [[1.0] * 6 for _ in range(5)]
        _, descr, values = npy_values(self.path / 'out.npy')
        self.assertEqual(descr, '<f4')
        for a, b in zip(values, flat(heat_2d(self.grid, 1, ones))):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def test_json_tells_both(self):
        done = self.succeed('run', '--in', 'in.npy', '--source', 'b.npy', *HEAT, '--steps', 6, '--every', 2, '--json')
        told = json.loads(done.stdout)
        self.assertEqual([told[key] for key in ('steps', 'every', 'snapshots', 'source', 'nonfinite')],
                         [6, 2, 3, 'b.npy', 0])
        done = self.succeed('run', '--in', 'in.npy', *HEAT, '--steps', 6, '--json')
        told = json.loads(done.stdout)
        self.assertEqual([told[key] for key in ('every', 'snapshots', 'source')], [0, 1, None])

    def test_growth_counts_the_whole_stack(self):
        """Within one snapshot interval the growth would count as rounding."""
        done = self.succeed('explain', '--size', '40', '--taps', self.put_npy('taps.npy', (3,), [0.2, 0.6 + 9e-7, 0.2]),
                            '--steps', 10**6, '--every', 1, '--device', 'host')
        self.assertIn('grows without bound', done.stdout)

    def test_refused(self):
        run = ('run', '--in', 'in.npy', *HEAT)
        self.refuse(USAGE, '--every 4 does not divide --steps 6', *run, '--steps', 6, '--every', 4)
        self.put_npy('wide.npy', (5, 7), [0.0] * 35)
        self.put_npy('line.npy', (30,), [0.0] * 30)
        self.put_npy('complex.npy', (5, 6), [0.0] * 60, descr='<c16')
        self.refuse(USAGE, "the source 'wide.npy' is 5 x 7 but the grid is 5 x 6", *run, '--source', 'wide.npy')
        self.refuse(USAGE, "the source 'line.npy' is 30 but the grid is 5 x 6", *run, '--source', 'line.npy')
        self.refuse(FORMAT, 'complex.npy', *run, '--source', 'complex.npy')
        self.refuse(USAGE, 'would draw 1001 snapshots', *run, '--steps', 1001, '--every', 1, '--png', 'a.png')
        for option in ('--out', '--png'):
            before = (self.path / 'b.npy').read_bytes()
            self.refuse(USAGE, 'would overwrite the source', *run, '--source', 'b.npy', option, './b.npy')
            self.assertEqual((self.path / 'b.npy').read_bytes(), before)
        self.put('a-0002.png', npy_bytes((5, 6), flat(self.grid)))
        self.refuse(USAGE, 'would overwrite the grid', 'run', '--in', 'a-0002.png', *HEAT, '--steps', 4, '--every', 2,
                    '--png', 'a.png')


if __name__ == '__main__':
    unittest.main()
