#!/usr/bin/env python3
"""Warnings: growth and duration before the run, rounding, options without effect."""
import json
import os
import select
import subprocess
import time
import unittest

from command import BINARY, CommandTest

USAGE = 2


class Warnings(CommandTest):
    def said_before(self, word, *arguments):
        """Messages printed while the command still runs, which would take years; returns them."""
        env = dict(os.environ, STENTOR_CACHE_DIR=':memory:')
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.path, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=env)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        said, until = '', time.monotonic() + 20
        while word not in said.rpartition('\n')[0] and select.select([process.stderr], [], [], max(0, until - time.monotonic()))[0]:
            block = os.read(process.stderr.fileno(), 4096).decode()
            said += block
            if not block:
                break
        self.assertIn(word, said)
        self.assertIsNone(process.poll(), 'it was over too soon')
        return said

    def test_growth_is_said_before_the_run(self):
        said = self.said_before('grows without bound', 'run', '--size', 64, '--stencil', 'heat-1d:alpha=2.75', '--steps',
                                10**15, '--strategy', 'host')
        self.assertRegex(said, r'max \|symbol\| is 10, above 1')
        self.assertRegex(said, r'f64 may overflow from step 309 on')

    def test_growth_may_be_an_error(self):
        run = ('run', '--size', 16, '--steps', 9, '--device', 'host', '--out', 'out.npy', '--stable')
        self.refuse(USAGE, r'max |symbol| is 10, above 1, so that this run grows by up to 10^9', *run, '--stencil', 'heat-1d:alpha=2.75')
        self.assertFalse((self.path / 'out.npy').exists())
        self.succeed(*run, '--stencil', 'heat-1d')

    def test_a_long_run_is_said_to_be_long(self):
        for steps in (2**63, 2**64 - 1):
            said = self.said_before('by estimate', 'run', '--size', 64, '--stencil', 'heat-1d:alpha=0.2', '--steps', steps,
                                    '--strategy', 'host')
            self.assertRegex(said, r'this will take about [\d.e+]+ years')
        done = self.succeed('run', '--size', 64, '--stencil', 'heat-1d:alpha=0.2', '--steps', 10, '--device', 'host')
        self.assertEqual(done.stderr, '')

    def weights(self, middle, steps):
        self.put('taps.json', json.dumps([{'offset': [o], 'weight': w} for o, w in ((-1, .25), (0, middle), (1, .25))]))
        arguments = ('--size', 16, '--taps', 'taps.json', '--steps', steps, '--device', 'host')
        report = json.loads(self.succeed('run', *arguments, '--json').stdout)
        explained = self.succeed('explain', *arguments).stdout
        self.assertEqual('grows without bound' in explained, not report['stable'], 'explain and run agree')
        done = self.succeed('run', *arguments)
        self.assertEqual('grows without bound' in done.stderr, not report['stable'])
        line = next(line for line in done.stdout.splitlines() if line.startswith('symbol'))
        return report['stable'], line.split(maxsplit=1)[1]

    def test_what_grows_may_leave(self):
        """Asymmetric taps between open sides: a wave grows only while it crosses the grid."""
        self.put('taps.json', json.dumps([{'offset': [0], 'weight': .5}, {'offset': [-1], 'weight': .8}]))
        for sides, leaves in (('constant=0', True), ('wrap', False)):
            arguments = ('--size', 40, '--taps', 'taps.json', '--steps', 4000, '--boundary', sides, '--device', 'host')
            done = self.succeed('run', *arguments, '--json')
            report, explained = json.loads(done.stdout), self.succeed('explain', *arguments).stdout
            self.assertFalse(report['stable'])
            for text in (done.stderr, explained):
                self.assertEqual('leaves through' in text, leaves, text)
                self.assertEqual('grows without bound' in text, not leaves, text)
            self.assertEqual(report['nonfinite'] == 0, leaves)
            self.assertEqual(report['log10_growth'] < 20, leaves)
            self.assertEqual('nearly defective' in explained, leaves)

    def test_what_is_called_stable(self):
        """No number above 1 is called stable, and no run long enough to double a number."""
        self.assertEqual(self.weights(0.5, 1000), (True, 'max |K| = 1: stable'))
        self.assertEqual(self.weights(0.4, 1000), (True, 'max |K| = 0.9: stable'))
        stable, line = self.weights(0.5 + 9e-7, 1000)
        self.assertTrue(stable)
        self.assertEqual(line, 'max |K| = 1 + 9e-07: grows by up to 0.09% in these steps')
        stable, line = self.weights(0.5 + 9e-7, 1000000)
        self.assertFalse(stable)
        self.assertIn('unstable, grows by up to 10^0.39', line)
        self.assertFalse(self.weights(0.5 + 2e-6, 1)[0])

    def test_whole_numbers_without_a_double_of_their_own(self):
        big = 2**53
        cases = (('<i8', [big, big + 1, -big - 1, 2**63 - 1, -2**63], 3), ('<u8', [big + 2, 2**64 - 1, 2**63, 3, 5], 1),
                 ('>i8', [big + 1, big + 3, 1, 2, 3], 2), ('<i8', [big, -big, 1, 2, 3], 0),
                 ('<f8', [float(big), 1e300, 1, 2, 3], 0))
        for descr, values, rounded in cases:
            self.put_npy('in.npy', (5,), values, descr=descr)
            for arguments in (('run', '--in', 'in.npy', '--stencil', 'heat-1d:alpha=0.2'), ('fft', '--in', 'in.npy')):
                done = self.succeed(*arguments, '--device', 'host', '--json')
                with self.subTest(descr=descr, values=values, command=arguments[0]):
                    warned = f'{rounded} of 5 whole numbers' in done.stderr
                    self.assertEqual(warned, rounded > 0, done.stderr)
                    json.loads(done.stdout)
                self.assertEqual(self.succeed(*arguments, '--device', 'host', '--quiet').stderr, '')


class Transforms(CommandTest):
    def test_an_empty_half_spectrum(self):
        self.put_npy('empty.npy', (3, 0), [], descr='<c16')
        done = self.refuse(USAGE, 'axis 1', 'fft', '--in', 'empty.npy', '--real', '--inverse')
        self.assertNotRegex(done.stderr, r'\d{10}')

    def test_a_gpu_that_is_not_here(self):
        self.refuse(USAGE, '--explain', 'fft', '--size', '8x8', '--arch', 'sm_90')
        self.assertIn('ranking', self.succeed('fft', '--size', '8x8', '--arch', 'sm_90', '--explain').stdout)


if __name__ == '__main__':
    unittest.main()
