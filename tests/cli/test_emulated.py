#!/usr/bin/env python3
"""The command on the emulated GPU: kernels are rendered, compiled and launched, with the host's
results.

EXAMPLE_02 names the example with its own stream and device pointers, TEMPLATES the folder of kernel
templates.
"""
import json
import os
import shutil
import subprocess
import unittest

from command import CommandTest, npy_values


class Emulated(CommandTest):
    WITHIN = {'f64': 1e-14, 'f32': 1e-6, 'f16': 2e-3}

    def as_on_the_host(self, within, *command):
        """Compares the outputs of both devices; returns their shape and what both runs told."""
        told = [json.loads(self.succeed(*command, '--device', device, '--out', device + '.npy', '--json').stdout)
                for device in ('cuda', 'host')]
        self.assertEqual([each['device'] for each in told], ['cuda', 'host'])
        ours, theirs = (npy_values(self.path / f'{device}.npy') for device in ('cuda', 'host'))
        self.assertEqual(ours[:2], theirs[:2])
        scale = max(abs(v) for v in theirs[2])
        self.assertGreater(scale, 0)
        for a, b in zip(ours[2], theirs[2]):
            self.assertLessEqual(abs(a - b), within * scale)
        return ours[0], told

    def test_runs_equal_the_host(self):
        """Every boundary, dtype and rank once, through the command; the strategies' own tests go
        deeper."""
        for stencil, size, boundary, dtype in (
                ('heat-1d:alpha=0.2', '67', 'mirror:fixed', 'f64'), ('1d7p', '3x50', 'constant=1.5', 'f32'),
                ('heat-2d:alpha=0.2', '31x45', 'reflect', 'f64'), ('box-2d9p', '20x33', 'wrap,nearest', 'f32'),
                ('star-2d13p', '17x19', 'fixed', 'f16'), ('heat-3d:alpha=0.1', '7x9x11', 'nearest,wrap,mirror', 'f32')):
            with self.subTest(stencil=stencil, dtype=dtype):
                self.as_on_the_host(self.WITHIN[dtype], 'run', '--size', size, '--stencil', stencil, '--boundary', boundary,
                                    '--dtype', dtype, '--steps', 5)

    def test_transforms_equal_the_host(self):
        for size, dtype, *more in (('5x16', 'f64', '--axes', '1'), ('16x6', 'f32', '--axes', '0', '--inverse'),
                                   ('3x8x16', 'f16', '--axes', '1,2', '--norm', 'ortho'), ('4x32', 'f32', '--real')):
            with self.subTest(size=size, dtype=dtype):
                self.as_on_the_host(self.WITHIN[dtype], 'fft', '--size', size, '--dtype', dtype, *more)

    def test_snapshots_and_a_source_equal_the_hosts(self):
        self.succeed('run', '--size', '2x21x30', '--random', 3, '--stencil', 'heat-2d', '--out', 'b.npy', '--device', 'host')
        for boundary in ('wrap', 'fixed,constant=0.5'):
            shape, told = self.as_on_the_host(1e-14, 'run', '--size', '2x21x30', '--stencil', 'heat-2d:alpha=0.2', '--boundary',
                                              boundary, '--steps', 6, '--every', 2, '--source', 'b.npy', '--repeat', 2)
            self.assertEqual((shape, [each['snapshots'] for each in told]), ((3, 2, 21, 30), [3, 3]))

    def test_auto_finds_the_gpu(self):
        run = ('run', '--size', '20x20', '--stencil', 'heat-2d:alpha=0.2', '--progress', '--steps', 23)
        self.assertRegex(self.succeed(*run).stdout, r'strategy   \w+, on the GPU')
        self.assertIn('step 23 of 23', self.succeed(*run, '--strategy', 'direct').stderr)

    def test_a_watched_run_is_the_same_plan(self):
        """With a progress bar the plan's launches are made in parts: same kernels, same bits."""
        problem = ('run', '--size', '61x70', '--stencil', 'heat-2d:alpha=0.2', '--strategy', 'lowrank', '--boundary',
                   'fixed', '--steps', 50, '--cache-dir')
        # measures the copy bandwidth, which plans depend on, once for both folders
        self.succeed('explain', *problem[1:], 'a')
        shutil.copytree(self.path / 'a', self.path / 'b')
        self.succeed(*problem, 'a', '--out', 'a.npy')
        done = self.succeed(*problem, 'b', '--out', 'b.npy', '--progress')
        self.assertIn('step 50 of 50', done.stderr)
        self.assertEqual((self.path / 'a.npy').read_bytes(), (self.path / 'b.npy').read_bytes())
        stored = [{row['key'] for row in json.loads(self.succeed('cache', 'list', '--json', '--cache-dir', folder).stdout)}
                  for folder in 'ab']
        self.assertEqual(stored[0], stored[1])
        self.assertTrue(stored[0])

    def test_taps_longer_than_an_axis_go_to_the_host(self):
        """Unless a GPU is asked for, which is then an error."""
        run = ('run', '--size', '2x9', '--stencil', 'box-2d49p')
        self.assertIn('strategy   host, on the host', self.succeed(*run).stdout)
        self.refuse(8, 'the taps reach 3 points along axis 0, which has only 2', *run, '--device', 'gpu')

    def test_a_gpu_that_is_too_old(self):
        self.refuse(4, 'sm_70, and kernels are written for sm_75 and newer', 'run', '--size', '8x8', '--stencil', 'heat-2d', '--device', 'cuda',
                    STENTOR_EMULATOR_SM='70')

    def test_the_host_may_be_asked_for_by_its_strategy(self):
        done = self.succeed('run', '--size', '20x20', '--stencil', 'heat-2d:alpha=0.2', '--strategy', 'host')
        self.assertIn('strategy   host, on the host', done.stdout)
        done = self.succeed('run', '--size', '20x20', '--stencil', 'heat-2d:alpha=0.2', '--strategy', 'host-spectral')
        self.assertIn('strategy   host-spectral, on the host', done.stdout)

    def test_kernels_are_stored_and_found_again(self):
        """The second process needs no compiler."""
        arguments = ('run', '--size', '20x20', '--stencil', 'heat-2d:alpha=0.2', '--out', 'out.npy', '--cache-dir', 'kept')
        self.succeed(*arguments)
        first = (self.path / 'out.npy').read_bytes()
        self.succeed(*arguments, STENTOR_NVRTC_PATH='/nonexistent')
        self.assertEqual((self.path / 'out.npy').read_bytes(), first)

    SMALL = ('--size', '20x24', '--stencil', 'heat-2d:alpha=0.2', '--boundary', 'fixed', '--steps', 3, '--cache-dir', 'kept')

    def test_tuning_is_remembered(self):
        tuned = json.loads(self.succeed('explain', *self.SMALL, '--tune', '--json').stdout)
        self.assertEqual(tuned['chosen'], 'measured')
        self.assertGreater(tuned['measured_seconds'], 0)
        done = self.succeed('run', *self.SMALL, '--json', '--out', 'out.npy')
        plan = json.loads(done.stdout)['plan']
        for key in ('strategy', 'candidate', 'measured_seconds'):
            self.assertEqual(plan[key], tuned[key], key)
        self.assertEqual(plan['chosen'], 'measured, remembered')
        names = [(row['strategy'], row['candidate']) for row in plan['ranking'] if 'does_not_apply' not in row]
        self.assertEqual(len(names), len(set(names)), 'two rows that look alike')
        entry, = json.loads(self.succeed('wisdom', 'list', '--json', '--cache-dir', 'kept').stdout)
        self.assertIn('2D 20 x 24', entry['measured'])
        self.assertIn('\ncandidate: ', entry['measured'])
        self.assertIn('1 measured problems', self.succeed('cache', 'gc', '--cache-dir', 'kept').stdout)
        cleared = json.loads(self.succeed('cache', 'clear', '--json', '--cache-dir', 'kept').stdout)
        self.assertEqual((cleared['files'], cleared['measured']), (0, 0))
        again = json.loads(self.succeed('explain', *self.SMALL, '--json').stdout)
        self.assertEqual((again['chosen'], again['measured_seconds']), ('estimated', None))

    def test_a_kernel_that_is_wrong_does_not_win(self):
        """One template doubles its input: its candidates are detected, reported and not used."""
        templates = self.path / 'templates'
        shutil.copytree(os.environ['TEMPLATES'], templates)
        fused = templates / 'direct' / 'time_tile.cuh'
        text = fused.read_text()
        after = '#include "params.cuh"\n'
        self.assertEqual(text.count(after), 1)
        fused.write_text(text.replace(after, after + '#define widen(v) (REAL(2) * widen(v))\n'))
        done = self.succeed('run', *self.SMALL, '--strategy', 'direct', '--tune', '--out', 'out.npy', '--json',
                            STENTOR_TEMPLATE_DIR=str(templates))
        self.assertIn('gives a wrong result', done.stderr)
        plan = json.loads(done.stdout)['plan']
        self.assertNotIn('plane', plan['candidate'])
        self.assertTrue(any('wrong result' in row.get('does_not_apply', '') for row in plan['ranking']))
        self.succeed('run', *self.SMALL, '--device', 'host', '--out', 'host.npy')
        for a, b in zip(npy_values(self.path / 'out.npy')[2], npy_values(self.path / 'host.npy')[2]):
            self.assertLessEqual(abs(a - b), 1e-14)

    def test_tiles_by_products_read_whole_sectors(self):
        """Tiles start before the grid, which aligns their inputs to sectors; two tiles write 6
        sectors of a row and read 7."""
        traffic = self.path / 'traffic'
        self.succeed('run', '--device', 'cuda', '--size', '36x36x240', '--stencil', 'box-3d27p', '--steps', 2, '--dtype', 'f64',
                     '--boundary', 'wrap', '--strategy', 'segment', STENTOR_EMULATOR_TRAFFIC=str(traffic))
        rows = [line.split(' 8 ') for line in traffic.read_text().split('  global', 1)[1].splitlines()
                if ' 8 ' in line and 'dense_convolution.cuh' not in line]  # symbol reads
        self.assertEqual(len(rows), 2)
        for what, numbers in rows:
            requests, sectors, fewest = (float(number) for number in numbers.split()[:3])
            self.assertGreater(requests, 0)
            if 'reads' in what:
                self.assertLessEqual(sectors, 8 * requests)  # 32 numbers of 8 bytes
            else:
                self.assertLess(sectors, 1.2 * fewest)

    def test_doctor_names_the_gpu(self):
        self.assertIn('Emulated', self.succeed('doctor').stdout)
        self.assertRegex(self.succeed('doctor', STENTOR_EMULATOR_DEVICES='3').stdout, r'GPU 2 .*GPU 0 reads its memory at .* GB/s, an exchange takes .* us')
        others = json.loads(self.succeed('doctor', '--json', STENTOR_EMULATOR_DEVICES='3').stdout)['other_gpus']
        self.assertEqual([each['number'] for each in others], [1, 2])
        for each in others:
            self.assertTrue(each['link_bandwidth'] > 0 and each['exchange_seconds'] > 0 and each['problem'] is None)

    def test_a_failing_driver_keeps_the_output(self):
        self.put('out.npy', 'old result')
        self.refuse(4, 'STENTOR_CUDA_PATH', 'run', '--size', '20x20', '--stencil', 'heat-2d:alpha=0.2', '--device', 'cuda',
                    '--out', 'out.npy', STENTOR_CUDA_PATH='/nonexistent')
        self.assertEqual((self.path / 'out.npy').read_text(), 'old result')

    def test_own_stream_and_pointers(self):
        """Example 02 opens libcuda.so.1 by its name, so it must be found under that name."""
        (self.path / 'libcuda.so.1').symlink_to(os.environ['STENTOR_CUDA_PATH'])
        done = subprocess.run([os.environ['EXAMPLE_02']], capture_output=True, text=True, cwd=self.path, timeout=60,
                              env=dict(os.environ, LD_LIBRARY_PATH=str(self.path), STENTOR_CACHE_DIR=':memory:'))
        self.assertEqual((done.returncode, done.stdout), (0, 'every mean is 1, as it should be\n'), done.stderr)


if __name__ == '__main__':
    unittest.main()
