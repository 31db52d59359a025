#!/usr/bin/env python3
"""Invalid input of every kind: the exit code, one sentence that names the culprit, and no lost
files."""
import json
import os
import shlex
import struct
import sys
import unittest

from command import CommandTest, npy_bytes, npy_values

USAGE, NO_DEVICE, NO_COMPILER, UNSUPPORTED, IO, FORMAT = 2, 4, 6, 8, 9, 10
HEAT = ('--stencil', 'heat-2d:alpha=0.2')
SMALL = ('--size', '8x8', *HEAT)


class Usage(CommandTest):
    def test_commands(self):
        self.refuse(USAGE, "'stentor --help'")
        self.refuse(USAGE, "did you mean 'run'", 'rnu')
        self.refuse(USAGE, "no command 'zzzzzzzz'", 'zzzzzzzz')

    def test_options(self):
        self.refuse(USAGE, "did you mean '--stencil'", 'run', '--stensil', 'heat-2d')
        self.refuse(USAGE, "no option '-x'", 'run', '-x')
        self.refuse(USAGE, '--steps needs a value', 'run', *SMALL, '--steps')
        self.refuse(USAGE, '--out needs a value', 'run', *SMALL, '--out', '--json')
        self.refuse(USAGE, '--json takes no value', 'run', *SMALL, '--json=yes')
        self.refuse(USAGE, 'one argument too many', 'run', 'dem.npy', *HEAT)
        for steps in ('-1', 'ten', '1.5', '', '99999999999999999999', '1e30', '0x10', ' 5'):
            self.refuse(USAGE, f"--steps must be a whole number without sign, not '{steps}'", 'run', *SMALL, f'--steps={steps}')
        self.refuse(USAGE, '--steps 0', 'run', *SMALL, '--steps', 0)
        for tolerance in ('x', '', 'inf', '-1'):
            self.refuse(USAGE, 'tolerance', 'run', *SMALL, f'--tolerance={tolerance}')
        self.refuse(USAGE, '--repeat', 'run', *SMALL, '--repeat', 0)
        for more, says in ((('--steps', 4), 'needs --every'), (('--steps', 4, '--every', 2, '--repeat', 2), '--repeat is not offered'),
                           (('--steps', 4, '--every', 2, '--png', 'x.png'), '--png is not offered')):
            self.refuse(USAGE, says, 'run', *SMALL, '--device', 'host', '--checkpoint', 'c.npy', *more)

    def test_help_and_version(self):
        overview = self.succeed('--help').stdout
        for command in ('run', 'explain', 'compile', 'doctor'):
            self.assertIn(f'\n  {command} ', overview)
            text = self.succeed(command, '--help').stdout
            self.assertIn(f'Usage: stentor {command}', text)
            self.assertIn('no usable GPU', text, 'exit codes are documented')
        self.assertRegex(self.succeed('--version').stdout, r'^stentor \d+\.\d+\.\d+\n$')
        long_lines = [line for line in overview.splitlines() if len(line) > 110]
        self.assertEqual(long_lines, [])


class Problem(CommandTest):
    def test_stencils(self):
        self.refuse(USAGE, 'no stencil is named', 'run', '--size', '8x8')
        self.refuse(USAGE, 'exclude each other', 'run', *SMALL, '--taps', 'x.npy')
        self.refuse(USAGE, 'heat-2d', 'run', '--size', '8x8', '--stencil', 'heat-9d')
        self.refuse(USAGE, 'alpha', 'run', '--size', '8x8', '--stencil', 'heat-2d:beta=1')

    def test_boundaries(self):
        self.refuse(USAGE, 'bounce', 'run', *SMALL, '--boundary', 'bounce')
        self.refuse(USAGE, 'boundaries for 3 axes but the stencil has 2', 'run', *SMALL, '--boundary', 'wrap,wrap,wrap')
        self.refuse(USAGE, 'wrap', 'run', *SMALL, '--boundary', 'wrap:fixed')
        self.refuse(USAGE, 'constant', 'run', *SMALL, '--boundary', 'constant=much')
        self.refuse(USAGE, '', 'run', *SMALL, '--boundary', '')

    def test_dtype_and_strategy(self):
        self.refuse(USAGE, 'f128', 'run', *SMALL, '--dtype', 'f128')
        self.refuse(USAGE, 'magic', 'run', *SMALL, '--strategy', 'magic')

    def test_sizes(self):
        self.refuse(USAGE, 'no grid is given', 'run', *HEAT)
        self.refuse(USAGE, 'exclude each other', 'run', *SMALL, '--in', 'x.npy')
        for size in ('0x8', '8x', 'x8', '8x-1', 'many', '8;8', '8x8x', '8,,8', '8 8'):
            self.refuse(USAGE, '--size', 'run', '--size', size, *HEAT)
        self.refuse(USAGE, 'give a grid of 2, or of 3 for a batch', 'run', '--size', '8', *HEAT)
        self.refuse(USAGE, 'up to 3 axes', 'run', '--size', '2x2x2x2x2', *HEAT)
        self.refuse(USAGE, '', 'run', '--size', '4294967296x4294967296', *HEAT)
        self.refuse(USAGE, '', 'run', '--size', '1152921504606846976x8', *HEAT)

    def test_more_memory_than_there_is(self):
        sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':allocator_may_return_null=1'
        done = self.stentor('run', '--size', '1000000000x1000000', *HEAT, '--device', 'host', ASAN_OPTIONS=sanitizer)
        self.assertEqual(done.returncode, 3)  # a sanitizer adds a line
        self.assertIn('stentor: the grid needs 8000000000000000 bytes', done.stderr)

    def test_radius_past_the_grid(self):
        """Offsets reach up to 1024 points on the host, and up to 64 on a GPU."""
        self.refuse(USAGE, 'stentor.gaussian_filter', 'run', '--size', 999, '--stencil', 'gaussian-1d:sigma=300')
        self.put('far.json', '[{"offset": [1025], "weight": 1}]')
        self.refuse(USAGE, '1024 either way', 'run', '--size', 999, '--taps', 'far.json')
        self.put_npy('long.npy', (2051,), [1] * 2051)
        self.refuse(USAGE, 'the most possible are 2049', 'run', '--size', 999, '--taps', 'long.npy')
        self.put('far.json', '[{"offset": [65], "weight": 1}]')
        self.put_npy('in.npy', (100,), list(range(100)))
        for device in ((), ('--device', 'host')):
            self.succeed('run', '--in', 'in.npy', '--taps', 'far.json', '--out', 'out.npy', '--boundary', 'nearest', *device)
            self.assertEqual(npy_values(self.path / 'out.npy')[2], [min(i + 65, 99) for i in range(100)])
        self.refuse(8, 'the taps reach 65 points along axis 0: on a GPU they reach no further than 64', 'explain', '--size', 999, '--taps', 'far.json', '--arch', 'sm_90')
        done = self.succeed('explain', '--size', '2x9', '--stencil', 'box-2d49p', '--device', 'host')
        self.assertIn("the host's strategies alone", done.stdout)
        self.refuse(8, 'the taps reach 3 points along axis 0, which has only 2: on a GPU', 'explain', '--size', '2x9', '--stencil', 'box-2d49p', '--arch', 'sm_90')

    def test_spellings(self):
        """Values as NumPy, PyTorch and scipy spell them; errors name the option that was typed."""
        for size in ('8x9', '8,9'):
            done = self.succeed('run', '--size', size, *HEAT, '--device', 'cpu', '--dtype', 'float32', '--mode', 'reflect')
            self.assertIn('8 x 9), f32, reflect,reflect', done.stdout)
        self.succeed('run', *SMALL, '--device', 'host', '--mode', 'estimate', '--boundary', 'mirror')
        self.refuse(USAGE, '--mode refl: ', 'run', *SMALL, '--mode', 'refl')
        self.refuse(USAGE, '--boundary refl: ', 'run', *SMALL, '--boundary', 'refl')
        self.refuse(USAGE, 'grid-wrap, grid-constant and grid-mirror', 'run', *SMALL, '--boundary', 'grid')
        self.refuse(USAGE, '--mode wrap,wrap,wrap: there are boundaries for 3 axes', 'run', *SMALL, '--mode', 'wrap,wrap,wrap')
        self.refuse(USAGE, 'leave one out', 'run', *SMALL, '--mode', 'wrap', '--boundary', 'wrap')
        self.refuse(USAGE, '--dtype f128: ', 'run', *SMALL, '--dtype', 'f128')
        self.refuse(USAGE, '--stencil heta-2d: ', 'run', '--size', '8x8', '--stencil', 'heta-2d')
        self.refuse(USAGE, '--modes 4xx4: ', 'fno', '--in', self.put_npy('x.npy', (1, 8), [1] * 8), '--weights',
                    self.put_npy('w.npy', (1, 1), [1]), '--modes', '4xx4')
        for device in ('gpu', 'cuda', 'gpu:0', 'cuda:0'):
            self.refuse(4, '/absent', 'run', *SMALL, '--device', device, STENTOR_CUDA_PATH='/absent')
            self.refuse(4, '--device host', 'run', *SMALL, '--device', device, STENTOR_CUDA_PATH='/absent')
        for device in ('gpu:', 'cuda:x', 'gpu0', 'tpu'):
            self.refuse(USAGE, '--device ' + device, 'run', *SMALL, '--device', device)

    def test_a_list_of_problems_is_spelt_alike(self):
        self.put('l.json', '[{"stencil": "heat-2d", "size": "8,9", "dtype": "float32", "mode": "grid-mirror"}]')
        self.assertIn('heat-2d, grid-mirror, 8,9, float32', self.succeed('tune', '--problems', 'l.json', '--device', 'host').stdout)
        self.put('l.json', '[{"stencil": "heat-2d", "size": "8,9", "boundary": "wrap", "mode": "wrap"}]')
        self.assertIn('leave one out', self.succeed('tune', '--problems', 'l.json', '--device', 'host').stdout)

    def test_architectures(self):
        self.refuse(USAGE, 'older than sm_75', 'explain', *SMALL, '--arch', 'sm_50')
        self.succeed('explain', *SMALL, '--arch', 'sm_75')

    def test_help_of_a_command(self):
        self.assertEqual(self.succeed('help', 'run').stdout, self.succeed('run', '--help').stdout)
        self.refuse(USAGE, "no command 'rum'", 'help', 'rum')

    def test_taps(self):
        nan = float('nan')
        self.put_npy('even.npy', (2, 2), [1, 1, 1, 1])
        self.put_npy('nan.npy', (3,), [1, nan, 1])
        self.put_npy('deep.npy', (1, 1, 1, 1), [1])
        self.put('twice.json', '[{"offset": [0], "weight": 1}, {"offset": [0], "weight": 2}]')
        self.put('broken.json', '[{"offset": [0], "weight"')
        self.put('far.json', '[{"offset": [100000], "weight": 1}]')
        for name, code, says in (('even.npy', USAGE, 'odd'), ('nan.npy', USAGE, 'finite'),
                                 ('deep.npy', USAGE, '4 axes'), ('twice.json', USAGE, ''), ('broken.json', FORMAT, 'JSON'),
                                 ('far.json', USAGE, ''), ('absent.npy', IO, 'absent.npy')):
            self.refuse(code, says, 'run', '--size', 8, '--taps', name)


class Files(CommandTest):
    def setUp(self):
        super().setUp()
        self.good = npy_bytes((8, 8), [1.0] * 64)

    def test_inputs(self):
        cases = {'empty.npy': b'', 'text.npy': b'hello, world', 'cut.npy': self.good[:-1], 'head.npy': self.good[:40],
                 'long.npy': self.good + b'x', 'huge.npy': b'\x93NUMPY\x02\x00' + struct.pack('<I', 0xffffffff) + b'{}',
                 'negative.npy': self.good.replace(b'(8, 8,)', b'(-8, 8)'),
                 'overflow.npy': npy_bytes((2**62, 2**62), [])}
        for name, content in cases.items():
            self.put(name, content)
            self.refuse(FORMAT, name, 'run', '--in', name, *HEAT)
        self.put('complex.npy', self.good.replace(b'<f8', b'<c8'))
        self.refuse(FORMAT, '<c8', 'run', '--in', 'complex.npy', *HEAT)
        self.put('zero.npy', npy_bytes((0, 8), []))
        self.refuse(USAGE, '', 'run', '--in', 'zero.npy', *HEAT)
        self.refuse(IO, 'absent.npy', 'run', '--in', 'absent.npy', *HEAT)
        self.refuse(IO, 'regular', 'run', '--in', '.', *HEAT)
        self.put_npy('wide.npy', (8, 8), [70000.0] * 64)
        self.refuse(USAGE, 'past the range of f16', 'run', '--in', 'wide.npy', *HEAT, '--dtype', 'f16')

    def test_outputs_are_looked_at_before_the_run(self):
        """Invalid outputs fail at once, however long the run."""
        os.mkdir(self.path / 'folder')
        for option in ('--out', '--png'):
            for name in ('absent/out', 'folder', ''):
                self.refuse(IO, name or 'empty', 'run', '--size', '2000x2000', *HEAT, '--steps', 10**9, '--device',
                            'host', f'{option}={name}')
        self.refuse(USAGE, 'a file of its own', 'run', *SMALL, '--out', 'same', '--png', 'same')
        self.refuse(USAGE, 'two or three axes', 'run', '--size', 8, '--stencil', 'heat-1d:alpha=0.2', '--png', 'a.png')

    @unittest.skipIf(os.geteuid() == 0, 'root may write anywhere')
    def test_read_only_places(self):
        self.put('kept.npy', 'old')
        os.chmod(self.path / 'kept.npy', 0o444)
        self.refuse(IO, 'kept.npy', 'run', *SMALL, '--out', 'kept.npy')

    def test_an_existing_output_survives_failures(self):
        """Failures before the run, in it, and while writing keep the previous file."""
        self.put('out.npy', 'old result')
        self.put('bad.npy', self.good[:-5])
        self.refuse(FORMAT, 'bad.npy', 'run', '--in', 'bad.npy', *HEAT, '--out', 'out.npy')
        self.refuse(IO, 'absent', 'run', *SMALL, '--out', 'out.npy', '--png', 'absent/x.png')
        self.refuse(NO_DEVICE, '', 'run', *SMALL, '--out', 'out.npy', '--device', 'cuda:1000')
        self.refuse(IO, 'No space', 'run', *SMALL, '--device', 'host', '--out', 'out.npy', '--png', '/dev/full')
        self.assertEqual((self.path / 'out.npy').read_text(), 'old result')
        self.put('out.png', 'old picture')
        self.refuse(IO, 'No space', 'run', *SMALL, '--device', 'host', '--out', '/dev/full', '--png', 'out.png')
        self.assertEqual((self.path / 'out.png').read_text(), 'old picture')
        self.assertEqual(sorted(os.listdir(self.path)), ['bad.npy', 'out.npy', 'out.png'])

    def test_standard_output_that_is_full(self):
        import subprocess
        from command import BINARY
        with open('/dev/full', 'w') as full:
            done = subprocess.run([BINARY, '--version'], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, IO)


class Devices(CommandTest):
    def test_device_names(self):
        for name in ('gpus', 'cuda:', 'cuda:x', 'cuda:-1', 'cuda:99999999999', ''):
            self.refuse(USAGE, '--device', 'run', *SMALL, f'--device={name}')

    def test_a_gpu_that_is_not_here(self):
        done = self.refuse(NO_DEVICE, '', 'run', *SMALL, '--device', 'cuda:1000')
        self.assertGreater(len(done.stderr), 30)

    def test_architectures(self):
        for arch in ('sm_', 'h200', '90', 'sm_9x', 'sm_1'):
            self.refuse(USAGE, arch, 'explain', *SMALL, '--arch', arch)
        self.refuse(USAGE, 'exclude each other', 'explain', *SMALL, '--arch', 'sm_90', '--device', 'host')
        self.refuse(USAGE, "no option '--arch'", 'run', *SMALL, '--arch', 'sm_90')

    def test_packs(self):
        self.put('bad.pack', b'not a pack at all')
        self.refuse(FORMAT, 'bad.pack', 'run', *SMALL, '--pack', 'bad.pack')
        self.refuse(IO, 'absent.pack', 'run', *SMALL, '--pack', 'absent.pack')


class Bench(CommandTest):
    """bench runs in Python, with the exit codes of the other commands."""

    def test_a_python_without_numpy_is_named(self):
        self.put('python3', f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS "$@"\n')
        os.chmod(self.path / 'python3', 0o755)
        self.refuse(IO, f'which {sys.executable} cannot import (No module named', 'bench', '--compare', *SMALL, PATH=str(self.path))
        self.refuse(IO, 'python3 cannot be run', 'bench', '--compare', *SMALL, PATH='/nonexistent')


class Looks(CommandTest):
    def test_doctor(self):
        text = self.succeed('doctor').stdout
        for word in ('driver', 'NVRTC', 'cache'):
            self.assertIn(word.lower(), text.lower())
        self.assertIsInstance(json.loads(self.succeed('doctor', '--json').stdout), dict)

    def test_explain(self):
        text = self.succeed('explain', *SMALL, '--device', 'host').stdout
        self.assertIn('host', text)
        self.assertIn('ranking', text)
        ranking = json.loads(self.succeed('explain', *SMALL, '--device', 'host', '--json').stdout)['ranking']
        self.assertEqual(ranking[0]['strategy'], 'host')

    def test_tensor_cores_with_less_precision_are_asked_for(self):
        line = ('explain', '--size', 2**27, '--stencil', 'heat-1d', '--dtype', 'f32', '--steps', 90, '--arch', 'sm_90')
        self.assertIn('tf32 x 3', self.succeed(*line).stdout)
        self.assertNotIn('tf32 x 3', self.succeed(*line, '--tolerance', '5e-4').stdout)

    def test_explain_for_an_absent_gpu_needs_no_compiler(self):
        done = self.succeed('explain', '--size', '16384x16384', *HEAT, '--steps', 100, '--arch', 'sm_90', '--json',
                            STENTOR_NVRTC_PATH='/nonexistent')
        ranking = json.loads(done.stdout)['ranking']
        self.assertGreater(ranking[0]['seconds'], 0)
        self.assertIn('direct', [row['strategy'] for row in ranking])

    def test_compile_without_kernels(self):
        self.assertIn('nothing to compile', self.succeed('compile', *SMALL, '--device', 'host').stdout)


if __name__ == '__main__':
    unittest.main()
