#!/usr/bin/env python3
"""stentor compile: kernels for a GPU that is not present. Needs NVRTC; without it, the error must
name the missing library."""
import json
import os
import unittest

from command import CommandTest

NO_COMPILER = 6
PROBLEM = ('--size', '1000x1000', '--stencil', 'heat-2d:alpha=0.2', '--arch', 'sm_90')


class Compile(CommandTest):
    def setUp(self):
        super().setUp()
        probe = self.stentor('compile', *PROBLEM)
        if probe.returncode == NO_COMPILER:
            self.skipTest('NVRTC is not here')

    def test_kernels_are_listed(self):
        report = json.loads(self.succeed('compile', *PROBLEM, '--json').stdout)
        self.assertEqual((report['strategy'], report['arch']), ('direct', 'sm_90'))
        for kernel in report['kernels']:
            self.assertGreater(kernel['registers'], 0)
            self.assertGreater(kernel['ptx_bytes'], 0)
            self.assertGreater(kernel['cubin_bytes'], 0)
        self.assertGreater(len(report['kernels']), 0)

    def test_keep_writes_all_parts(self):
        self.succeed('compile', *PROBLEM, '--keep', 'kept')
        kinds = {}
        for name in os.listdir(self.path / 'kept'):
            kinds.setdefault(name.split('.', 1)[1], []).append(self.path / 'kept' / name)
        self.assertEqual(sorted(kinds), ['cu', 'cubin', 'params.cuh', 'ptx'])
        self.assertIn('__global__', kinds['cu'][0].read_text())
        self.assertIn('constexpr', kinds['params.cuh'][0].read_text())
        self.assertIn('.target sm_90', kinds['ptx'][0].read_text())
        # A volatile read of an argument would take its address for one in global memory.
        self.assertNotIn('volatile', kinds['ptx'][0].read_text())
        self.assertEqual(kinds['cubin'][0].read_bytes()[:4], b'\x7fELF')

    def test_an_architecture_that_nvrtc_does_not_know(self):
        """PTX of an older architecture may serve a newer GPU, but not a mistyped name: one warning
        says so."""
        self.assertNotIn('knows no', self.stentor('compile', *PROBLEM).stderr)
        done = self.succeed('compile', *PROBLEM[:-1], 'sm_900', '--json')
        self.assertEqual(done.stderr.count('knows no sm_900: it makes PTX for'), 1, done.stderr)
        for kernel in json.loads(done.stdout)['kernels']:
            self.assertGreater(kernel['ptx_bytes'], 0)
            self.assertEqual(kernel['cubin_bytes'], 0)

    def test_folders_that_cannot_be_made(self):
        self.refuse(9, 'absent', 'compile', *PROBLEM, '--keep', 'absent/kept')
        self.put('file', 'x')
        self.assertEqual(self.stentor('compile', *PROBLEM, '--keep', 'file').returncode, 9)


class WithoutCompiler(CommandTest):
    def test_the_missing_piece_is_named(self):
        """An invalid NVRTC path is an error; other NVRTC libraries are not searched."""
        done = self.stentor('compile', *PROBLEM, STENTOR_NVRTC_PATH='/nonexistent')
        if done.returncode == 0:
            self.skipTest('NVRTC was found elsewhere')
        self.assertEqual(done.returncode, NO_COMPILER)
        self.assertIn('NVRTC', done.stderr)


if __name__ == '__main__':
    unittest.main()
