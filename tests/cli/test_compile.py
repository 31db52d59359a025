#!/usr/bin/env python3
"""stentor compile: kernels for a GPU that is not present. Needs NVRTC; without it, the error must
name the missing library, except for stencils by the generic kernels that the library contains."""
import json
import os
import shutil
import unittest

from command import CommandTest

NO_COMPILER = 6
PROBLEM = ('--size', '1000x1000', '--stencil', 'heat-2d:alpha=0.2', '--arch', 'sm_90')
COMPILED = (*PROBLEM, '--strategy', 'segment')  # which has no generic kernel
NOWHERE = {'STENTOR_NVRTC_PATH': '/nonexistent'}


class Compile(CommandTest):
    def setUp(self):
        super().setUp()
        probe = self.stentor('compile', *COMPILED)
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
        done = self.stentor('compile', *COMPILED, **NOWHERE)
        self.assertEqual(done.returncode, NO_COMPILER)
        self.assertIn('NVRTC', done.stderr)

    def embedded_archs(self):
        source = os.environ['EMBEDDED_PACK']
        if not source or 'stn_embedded_pack_size = 0;' in open(source, encoding='utf-8').read():
            self.skipTest('the library was built without NVRTC')
        return os.environ['EMBEDDED_ARCHS'].split()

    def test_the_library_contains_the_generic_kernels(self):
        for arch in self.embedded_archs():
            for dtype in ('f64', 'f32', 'f16'):
                with self.subTest(arch=arch, dtype=dtype):
                    done = self.succeed('compile', '--size', '99x100', '--stencil', 'box-2d9p', '--arch', arch,
                                        '--dtype', dtype, '--json', **NOWHERE)
                    report = json.loads(done.stdout)
                    self.assertEqual([kernel['name'] for kernel in report['kernels']], ['direct_any'])
                    self.assertEqual((report['cache']['pack_hits'], report['cache']['misses']), (1, 0))
                    self.assertGreater(report['kernels'][0]['cubin_bytes'] + report['kernels'][0]['ptx_bytes'], 0)
                    self.assertIn('the generic kernel runs, which is slower', done.stderr)

    def test_they_do_not_serve_other_templates(self):
        """Any of them: a key includes all templates."""
        self.embedded_archs()
        shutil.copytree(os.environ['TEMPLATES'], self.path / 'templates')
        self.succeed('compile', *PROBLEM, **NOWHERE, STENTOR_TEMPLATE_DIR=str(self.path / 'templates'))
        with open(self.path / 'templates/fft/scale.cu', 'a', encoding='utf-8') as template:
            template.write('//')
        done = self.stentor('compile', *PROBLEM, **NOWHERE, STENTOR_TEMPLATE_DIR=str(self.path / 'templates'))
        self.assertEqual(done.returncode, NO_COMPILER)


if __name__ == '__main__':
    unittest.main()
