#!/usr/bin/env python3
"""stentor run: the main job and its variations, against a reference written here in plain
Python."""
import json
import os
import pty
import random
import signal
import subprocess
import time
import unittest

from command import BINARY, CommandTest, npy_values

HEAT_1D = {(-1,): 0.2, (0,): 0.6, (1,): 0.2}


def fold(i, n, low, high):
    """The grid index that is read for an index past an edge; None past a constant side."""
    while i < 0 or i >= n:
        side = low if i < 0 else high
        if side == 'wrap':
            i %= n
        elif side == 'nearest':
            i = 0 if i < 0 else n - 1
        elif side == 'reflect':
            i = -1 - i if i < 0 else 2 * n - 1 - i
        elif side == 'mirror':
            i = -i if i < 0 else 2 * n - 2 - i
        else:
            return None
    return i


def reference_1d(values, taps, steps, low, high, constant=0.0):
    n, now = len(values), list(values)
    for _ in range(steps):
        after = []
        for i in range(n):
            if (low == 'fixed' and any(i + o < 0 for (o,) in taps)) or \
                    (high == 'fixed' and any(i + o >= n for (o,) in taps)):
                after.append(now[i])
                continue
            total = 0.0
            for (o,), weight in taps.items():
                j = fold(i + o, n, low, high)
                total += weight * (constant if j is None else now[j])
            after.append(total)
        now = after
    return now


class Run(CommandTest):
    def assert_close(self, found, expected, within):
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, delta=within)

    def test_main_job(self):
        """Relief in, relief and picture out; heat is conserved between reflecting sides."""
        values = [float((x * 7 + y * 13) % 50) for y in range(30) for x in range(40)]
        self.put_npy('dem.npy', (30, 40), values, descr='<f4')
        done = self.succeed('run', '--in', 'dem.npy', '--out', 'out.npy', '--steps', 500, '--stencil',
                            'heat-2d:alpha=0.2', '--boundary', 'reflect', '--png', 'out.png', '--device', 'host')
        shape, descr, result = npy_values(self.path / 'out.npy')
        self.assertEqual((shape, descr), ((30, 40), '<f4'))
        self.assertAlmostEqual(sum(result) / 1200, sum(values) / 1200, delta=1e-3)
        self.assertLess(max(result) - min(result), 1)
        self.assertEqual((self.path / 'out.png').read_bytes()[:8], b'\x89PNG\r\n\x1a\n')
        for word in ('strategy   host', 'points     1200 (30 x 40), f32, reflect,reflect', 'steps      500', 'time ',
                     'GStencil/s', 'max |K| = 1: stable', 'wrote      out.npy, out.png'):
            self.assertIn(word, done.stdout)
        self.assertEqual(done.stderr, '')
        self.assertEqual(sorted(os.listdir(self.path)), ['dem.npy', 'out.npy', 'out.png'])

    def test_every_boundary(self):
        """Each rule on each side, against the reference."""
        rng = random.Random(5)
        values = [rng.random() for _ in range(9)]
        self.put_npy('in.npy', (9,), values)
        pairs = [(b, b) for b in ('wrap', 'constant', 'nearest', 'reflect', 'mirror', 'fixed')]
        pairs += [('fixed', 'nearest'), ('constant', 'mirror'), ('reflect', 'fixed')]
        for low, high in pairs:
            for constant in (0.0, 2.5):
                def name(b):
                    return f'constant={constant}' if b == 'constant' and constant else b
                self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', '--steps', 7, '--stencil',
                             'heat-1d:alpha=0.2', '--boundary', name(low) if low == high else f'{name(low)}:{name(high)}',
                             '--device', 'host')
                expected = reference_1d(values, HEAT_1D, 7, low, high, constant)
                with self.subTest(low=low, high=high, constant=constant):
                    self.assert_close(npy_values(self.path / 'out.npy')[2], expected, 1e-14)

    def test_mirrors_as_far_off_as_the_axis_is_long(self):
        """A tap lands past the other side, which folds it by its own rule, as in stentor.h."""
        values = [1.0, 20.0, 300.0, 4000.0]
        self.put_npy('in.npy', (4,), values)
        for offset, edge in ((-4, 0), (4, 3)):
            self.put('taps.json', json.dumps([{'offset': [offset], 'weight': 1}]))
            for kind in ('nearest', 'reflect', 'mirror', 'constant'):
                sides = ('mirror', kind) if offset < 0 else (kind, 'mirror')
                self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', '--taps', 'taps.json', '--boundary',
                             ':'.join(f'{side}=7' if side == 'constant' else side for side in sides), '--device', 'host')
                found = npy_values(self.path / 'out.npy')[2]
                self.assertEqual(found, reference_1d(values, {(offset,): 1}, 1, *sides, constant=7.0))
                expected = {'nearest': values[3 - edge], 'reflect': values[3 - edge], 'constant': 7.0,
                            'mirror': values[2 if edge == 0 else 1]}
                self.assertEqual(found[edge], expected[kind], (sides, found))

    def test_taps_that_reach_further_than_the_axis_is_long(self):
        """On the host, with any sides: an index is folded repeatedly."""
        values = [1.0, 20.0, 300.0, 4000.0]
        self.put_npy('in.npy', (4,), values)
        kinds = ('wrap', 'nearest', 'reflect', 'mirror', 'constant', 'fixed')
        for offset in (-64, -13, -9, -5, 5, 6, 9, 14, 64):
            self.put('taps.json', json.dumps([{'offset': [offset], 'weight': 0.5}, {'offset': [1], 'weight': 0.25}]))
            for sides in [('wrap', 'wrap')] + [(low, high) for low in kinds[1:] for high in kinds[1:]]:
                boundary = ':'.join(f'{side}=7' if side == 'constant' else side for side in sides)
                run = ('run', '--in', 'in.npy', '--out', 'out.npy', '--taps', 'taps.json', '--steps', 3, '--device', 'host',
                       '--boundary', boundary)
                if sides[offset < 0] == 'fixed' and sides[offset > 0] in ('reflect', 'mirror'):
                    self.refuse(2, 'opposite side, which is fixed', *run)
                    continue
                self.succeed(*run)
                expected = reference_1d(values, {(offset,): 0.5, (1,): 0.25}, 3, *sides, constant=7.0)
                self.assertEqual(npy_values(self.path / 'out.npy')[2], expected, (offset, sides))

    def test_two_axes_and_taps_that_reach_further_than_both(self):
        """A separable stencil equals its 1D factors in sequence; axis 0 decides corners."""
        values = [float((i * 7) % 11) for i in range(6)]
        self.put_npy('in.npy', (2, 3), values)
        self.put_npy('taps.npy', (11, 9), [float(a * b) for a in range(1, 12) for b in range(1, 10)])
        for side in ('wrap', 'nearest', 'reflect', 'mirror', 'constant'):
            self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', '--taps', 'taps.npy', '--mode', side, '--device', 'cpu')
            rows = [reference_1d(values[3 * r:3 * r + 3], {(b - 4,): b + 1.0 for b in range(9)}, 1, side, side) for r in (0, 1)]
            columns = [reference_1d([rows[0][c], rows[1][c]], {(a - 5,): a + 1.0 for a in range(11)}, 1, side, side)
                       for c in range(3)]
            self.assertEqual(npy_values(self.path / 'out.npy')[2], [columns[c][r] for r in (0, 1) for c in range(3)], side)

    def test_boundary_per_axis(self):
        """The second axis wraps, the first does not."""
        self.put_npy('in.npy', (3, 3), [0, 0, 0, 0, 0, 0, 1, 0, 0])
        self.put('taps.json', json.dumps([{'offset': [0, 1], 'weight': 1}, {'offset': [1, 0], 'weight': 10}]))
        self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', '--taps', 'taps.json', '--boundary',
                     'constant:fixed,wrap', '--device', 'host')
        # row 2 would reach past the fixed side and keeps its values; row 1 sees row 2 from above
        self.assertEqual(npy_values(self.path / 'out.npy')[2], [0, 0, 0, 10, 0, 0, 1, 0, 0])

    def test_taps_both_forms_agree(self):
        values = [float(i * i % 17) for i in range(5 * 6)]
        self.put_npy('in.npy', (5, 6), values)
        self.put_npy('taps.npy', (3, 3), [0, 1, 0, 2, 3, 4, 0, 5, 0])
        self.put('taps.json', json.dumps([{'offset': o, 'weight': w} for o, w in
                                          (([-1, 0], 1), ([0, -1], 2), ([0, 0], 3), ([0, 1], 4), ([1, 0], 5))]))
        results = []
        for taps in ('taps.npy', 'taps.json'):
            self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', '--taps', taps, '--device', 'host', '--quiet')
            results.append(npy_values(self.path / 'out.npy')[2])
        self.assertEqual(results[0], results[1])
        # one point by hand: (2, 2) sees 1*(1,2) + 2*(2,1) + 3*(2,2) + 4*(2,3) + 5*(3,2)
        at = lambda y, x: values[y * 6 + x]
        self.assertEqual(results[0][14], at(1, 2) + 2 * at(2, 1) + 3 * at(2, 2) + 4 * at(2, 3) + 5 * at(3, 2))

    def test_dtypes(self):
        """--dtype decides; else the file's type, where integers become f64 as in NumPy."""
        for descr in ('|i1', '|u1', '|b1', '<i2', '<u2', '<i4', '<u4', '<i8', '>i8', '<u8'):
            self.put_npy('whole.npy', (4,), [1, 0, 1, 0], descr=descr)
            for command in (('run', '--stencil', 'heat-1d:alpha=0.25'), ('fft', '--real')):
                self.succeed(*command, '--in', 'whole.npy', '--out', 'out.npy', '--device', 'host')
                shape, found, values = npy_values(self.path / 'out.npy')
                self.assertEqual((found, values), ('<f8', [0.5] * 4) if command[0] == 'run' else
                                 ('<c16', [2, 0, 0, 0, 2, 0]))
        self.put_npy('in.npy', (4,), [1, 2, 3, 8], descr='<i2')
        for arguments, descr in (([], '<f8'), (['--dtype', 'f64'], '<f8'), (['--dtype', 'f16'], '<f2'), (['--dtype', 'float32'], '<f4'),
                                 (['--dtype', 'single'], '<f4'), (['--dtype', 'half'], '<f2')):
            self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', '--stencil', 'heat-1d:alpha=0.25', '--device',
                         'host', *arguments)
            shape, found, values = npy_values(self.path / 'out.npy')
            self.assertEqual((shape, found), ((4,), descr))
            self.assertEqual(values, [3, 2, 4, 5])

    def test_batch_is_an_axis_in_front(self):
        self.put_npy('in.npy', (2, 4), [1, 2, 3, 8, 40, 30, 20, 10])
        self.succeed('run', '--in', 'in.npy', '--out', 'out.npy', '--stencil', 'heat-1d:alpha=0.25', '--device', 'host')
        shape, _, values = npy_values(self.path / 'out.npy')
        self.assertEqual((shape, values), ((2, 4), [3, 2, 4, 5, 30, 30, 20, 20]))

    def test_random_input_is_the_same_every_time(self):
        for name, seed in (('a.npy', 3), ('b.npy', 3), ('c.npy', 4)):
            self.succeed('run', '--size', '20x30', '--random', seed, '--out', name, '--stencil', 'box-2d9p', '--device',
                         'host')
        a, b, c = ((self.path / name).read_bytes() for name in ('a.npy', 'b.npy', 'c.npy'))
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_json(self):
        done = self.succeed('run', '--size', '64x64', '--stencil', 'heat-2d:alpha=0.2', '--steps', '1e2', '--repeat', 3,
                            '--json', '--strategy', 'host', '--out', 'o "1".npy')
        report = json.loads(done.stdout)
        for key, value in dict(strategy='host', device='host', extents=[64, 64], dtype='f64', points=4096, steps=100,
                               repeat=3, stable=True, log10_growth=0, nonfinite=0, out='o "1".npy', png=None).items():
            self.assertEqual(report[key], value, key)
        self.assertAlmostEqual(report['max_symbol'], 1, delta=1e-6)
        self.assertGreater(report['gstencil_per_second'], 0)
        self.assertIn('ranking', report['plan'])

    def test_several_devices_give_the_result_of_one(self):
        run = ('run', '--size', '50x31', '--random', 3, '--stencil', 'box-2d9p', '--boundary', 'fixed,mirror', '--steps', 13,
               '--strategy', 'host')
        self.succeed(*run, '--device', 'host', '--out', 'one.npy')
        for members in (1, 2, 5):
            done = self.succeed(*run, '--devices', ','.join(['host'] * members), '--out', 'several.npy')
            self.assertIn(f'{members} of {members} members', done.stdout)
            self.assertEqual((self.path / 'one.npy').read_bytes(), (self.path / 'several.npy').read_bytes())
        self.assertEqual(json.loads(self.succeed(*run, '--devices', 'host,host', '--json').stdout)['members'], 2)
        for wrong in ('', 'host,', 'host,nowhere', '0,host'):
            self.refuse(2, '', *run, '--devices', wrong)

    def test_quiet_says_nothing(self):
        done = self.succeed('run', '--size', '8x8', '--stencil', 'heat-2d:alpha=9', '--steps', 500, '--quiet',
                            '--device', 'host', '--progress')
        self.assertEqual((done.stdout, done.stderr), ('', ''))

    def test_growth_is_foretold(self):
        done = self.succeed('run', '--size', 64, '--stencil', 'heat-1d:alpha=2.75', '--steps', 2000, '--device', 'host',
                            '--json')
        report = json.loads(done.stdout)
        self.assertFalse(report['stable'])
        self.assertAlmostEqual(report['max_symbol'], 10, delta=1e-4)
        self.assertAlmostEqual(report['log10_growth'], 2000, delta=0.1)
        self.assertEqual(report['nonfinite'], 64)
        self.assertIn('grows without bound', done.stderr)
        self.assertIn('64 of 64 values of the result are NaN or infinite', done.stderr)

    def test_chunks_give_the_result_of_one_run(self):
        """With a progress bar the steps run in chunks: bit-identical results."""
        whole = ['run', '--size', '13x11', '--stencil', 'star-2d13p', '--boundary', 'mirror,fixed', '--device', 'host']
        for steps in (1, 2, 9, 10, 11, 97):
            self.succeed(*whole, '--steps', steps, '--out', 'a.npy')
            done = self.succeed(*whole, '--steps', steps, '--out', 'b.npy', '--progress')
            self.assertEqual((self.path / 'a.npy').read_bytes(), (self.path / 'b.npy').read_bytes())
            if steps > 1:
                self.assertIn(f'step {steps} of {steps}', done.stderr)
                self.assertIn('left', done.stderr)

    def test_output_replaces_input(self):
        self.put_npy('in.npy', (4,), [1, 2, 3, 8])
        self.succeed('run', '--in', 'in.npy', '--out', 'in.npy', '--stencil', 'heat-1d:alpha=0.25', '--device', 'host')
        self.assertEqual(npy_values(self.path / 'in.npy')[2], [3, 2, 4, 5])

    def test_interrupt_leaves_nothing(self):
        """Ctrl-C in a long run: the previous result stays and no partial file is left."""
        self.put('out.npy', 'old')
        process = subprocess.Popen([BINARY, 'run', '--size', '2000x2000', '--stencil', 'box-2d49p', '--steps', '1000000',
                                    '--out', 'out.npy', '--strategy', 'host', '--threads', '1'], cwd=self.path,
                                   env=dict(os.environ, STENTOR_CACHE_DIR=':memory:'), stderr=subprocess.DEVNULL)
        time.sleep(1)
        self.assertIsNone(process.poll(), 'the run was over too soon')
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), -signal.SIGINT)
        self.assertEqual(os.listdir(self.path), ['out.npy'])
        self.assertEqual((self.path / 'out.npy').read_text(), 'old')

    def test_bar_on_a_terminal_only(self):
        """A run of seconds draws a bar on a terminal, and none into a pipe."""
        arguments = [BINARY, 'run', '--size', '1000x1000', '--stencil', 'heat-2d:alpha=0.2', '--steps', '20000',
                     '--strategy', 'host', '--threads', '1']
        env = dict(os.environ, STENTOR_CACHE_DIR=':memory:')
        try:
            ours, theirs = pty.openpty()
        except OSError as trouble:
            self.skipTest(f'no terminal to draw on: {trouble}')
        process = subprocess.Popen(arguments, stderr=theirs, stdout=subprocess.DEVNULL, env=env)
        os.close(theirs)
        seen = b''
        try:
            while b'left' not in seen:
                seen += os.read(ours, 4096)
        except OSError:
            pass  # the terminal's other end closed
        process.kill()
        process.wait()
        os.close(ours)
        self.assertIn(b'of 20000', seen)


class Deterministic(CommandTest):
    def test_results_do_not_depend_on_the_number_of_threads(self):
        """With --deterministic, for problems whose choice otherwise depends on it."""
        for size, stencil, boundary, dtype, steps in (('5000', 'gaussian-1d:sigma=1.5', 'nearest', 'f32', 100),
                                                      ('50000', 'gaussian-1d:sigma=1.5', 'nearest:constant=2', 'f32', 700),
                                                      ('400x50', 'gaussian-2d:sigma=1.5', 'constant=1,wrap', 'f64', 45),
                                                      ('200x200', 'box-2d9p', 'fixed:nearest,fixed', 'f64', 20),
                                                      ('400000', 'gaussian-1d:sigma=1.5', 'reflect', 'f64', 20)):
            results, strategies = set(), set()
            for threads in (1, 3, 4, 64):
                done = self.succeed('run', '--size', size, '--stencil', stencil, '--boundary', boundary, '--dtype', dtype, '--steps', steps,
                                    '--random', 7, '--device', 'host', '--threads', threads, '--deterministic', '--out', 'a.npy', '--json')
                strategies.add(json.loads(done.stdout)['strategy'])
                results.add((self.path / 'a.npy').read_bytes())
            self.assertEqual((len(strategies), len(results)), (1, 1), f'{size} {stencil} {boundary}: {strategies}')


if __name__ == '__main__':
    unittest.main()
