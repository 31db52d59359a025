#!/usr/bin/env python3
"""stentor pack: kernels compiled once and run without NVRTC. The GPU is emulated."""
import hashlib
import json
import os
import struct
import unittest

from command import CommandTest, npy_values

NAMED = os.environ['NAMED_PROBLEMS']
HEADER = 64  # bytes of a pack's header
NOWHERE = {'STENTOR_NVRTC_PATH': '/nonexistent'}
PROBLEMS = [{'stencil': ['heat-2d:alpha=0.2', 'box-2d9p'], 'size': '20x33', 'dtype': ['f64', 'f32'], 'boundary': 'reflect'},
            {'stencil': 'heat-1d:alpha=0.2', 'size': '100', 'steps': 3}]


class Pack(CommandTest):
    def build(self, out='kernels.stnpack', problems=PROBLEMS, arch='sm_80,sm_90', **more):
        self.put('list.json', json.dumps(problems))
        return json.loads(self.succeed('pack', 'build', '--arch', arch, '--problems', 'list.json', '-o', out, '--json',
                                       **more).stdout)

    def run_it(self, out, *more, stencil='heat-2d:alpha=0.2', size='20x33', dtype='f64', boundary='reflect', steps=3, **environment):
        return self.stentor('run', '--size', size, '--stencil', stencil, '--boundary', boundary, '--dtype', dtype, '--out',
                            out, '--steps', steps, '--json', *more, **environment)

    def test_runs_from_a_pack_without_a_compiler(self):
        report = self.build()
        self.assertEqual((report['problems'], report['archs'], report['kernels']), (5, 2, 32))
        self.assertEqual(report['cache']['misses'], 32)
        for stencil, dtype in (('heat-2d:alpha=0.2', 'f64'), ('heat-2d:alpha=0.1', 'f32'), ('box-2d9p', 'f64')):
            with self.subTest(stencil=stencil, dtype=dtype):
                done = self.run_it('gpu.npy', '--device', 'cuda', '--pack', 'kernels.stnpack', stencil=stencil,
                                   dtype=dtype, **NOWHERE)
                self.assertEqual(done.returncode, 0, done.stderr)
                cache = json.loads(done.stdout)['cache']
                self.assertEqual((cache['pack_hits'], cache['misses']), (1, 0))
                self.assertEqual(self.run_it('host.npy', '--device', 'host', stencil=stencil, dtype=dtype).returncode, 0)
                ours, theirs = npy_values(self.path / 'gpu.npy'), npy_values(self.path / 'host.npy')
                self.assertEqual(ours[:2], theirs[:2])
                for a, b in zip(ours[2], theirs[2]):
                    self.assertLessEqual(abs(a - b), 1e-14 if dtype == 'f64' else 1e-6)

    def test_transforms(self):
        report = self.build(problems=[
            {'transform': ['forward', 'inverse'], 'size': '6x64', 'axes': '-1', 'dtype': ['f32', 'f64']},
            {'transform': 'real', 'size': '12x30', 'norm': 'ortho', 'dtype': 'f64'}], arch='sm_90')
        self.assertEqual(report['problems'], 5)
        cases = (('6x64', 'f64', '--axes', '-1'), ('6x64', 'f32', '--axes', '-1', '--inverse'),
                 ('12x30', 'f64', '--real', '--norm', 'ortho'))
        for size, dtype, *more in cases:
            with self.subTest(size=size, dtype=dtype):
                arguments = ('fft', '--size', size, '--dtype', dtype, '--json', *more)
                done = self.stentor(*arguments, '--device', 'cuda', '--pack', 'kernels.stnpack', '--out', 'gpu.npy', **NOWHERE)
                self.assertEqual(done.returncode, 0, done.stderr)
                cache = json.loads(done.stdout)['cache']
                self.assertEqual(cache['misses'], 0)
                self.assertGreater(cache['pack_hits'], 0)
                self.succeed(*arguments, '--device', 'host', '--out', 'host.npy')
                ours, theirs = npy_values(self.path / 'gpu.npy'), npy_values(self.path / 'host.npy')
                self.assertEqual(ours[:2], theirs[:2])
                most = max(abs(b) for b in theirs[2])
                for a, b in zip(ours[2], theirs[2]):
                    self.assertLessEqual(abs(a - b), (1e-14 if dtype == 'f64' else 1e-6) * most)
        done = self.stentor('fft', '--size', '6x128', '--axes', '-1', '--device', 'cuda', '--pack', 'kernels.stnpack', **NOWHERE)
        self.assertEqual(done.returncode, 6)
        for part in ('128', 'f32', 'stentor pack build --arch sm_90', '--pack', 'NVRTC'):
            self.assertIn(part, done.stderr)

    def test_newer_gpus_and_older_drivers(self):
        """A newer GPU uses the PTX, which a driver older than the NVRTC that made it refuses; it
        loads a cubin."""
        self.build()
        cases = [('90', '12000', 0), ('100', '13000', 0), ('120', '13000', 0), ('100', '12000', 6), ('80', '12000', 0),
                 ('75', '13000', 6)]
        for sm, driver, code in cases:
            with self.subTest(sm=sm, driver=driver):
                done = self.run_it('out.npy', '--device', 'cuda', '--pack', 'kernels.stnpack', STENTOR_EMULATOR_SM=sm,
                                   STENTOR_EMULATOR_DRIVER_VERSION=driver, **NOWHERE)
                self.assertEqual(done.returncode, code, done.stderr)

    def test_a_newer_gpu_runs_the_ptx(self):
        self.build(arch='sm_90')
        done = self.run_it('out.npy', '--device', 'cuda', '--pack', 'kernels.stnpack', '--cache-dir', 'kept',
                           **NOWHERE, STENTOR_EMULATOR_SM='100')
        self.assertEqual(done.returncode, 0, done.stderr)
        cache = json.loads(done.stdout)['cache']
        self.assertEqual((cache['pack_hits'], cache['disk_hits'], cache['misses']), (1, 0, 0))
        self.assertEqual(self.succeed('cache', 'list', '--json', '--cache-dir', 'kept').stdout.strip(), '[]')

    def test_what_is_missing_is_named(self):
        self.build()
        done = self.run_it('out.npy', '--pack', 'kernels.stnpack', '--strategy', 'spectral', stencil='star-2d13p',
                           boundary='wrap', dtype='f16', **NOWHERE)
        self.assertEqual(done.returncode, 6)
        for part in ('20 x 33', 'f16', '13 taps', 'wrap', 'sm_90', 'stentor pack build --arch sm_90', '--pack', 'NVRTC'):
            self.assertIn(part, done.stderr)

    def test_a_pack_runs_other_problems_of_its_types_too(self):
        self.build()
        done = self.run_it('gpu.npy', '--device', 'cuda', '--pack', 'kernels.stnpack', stencil='star-2d13p',
                           boundary='wrap', **NOWHERE)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told['cache']['misses'], told['strategy']), (0, 'direct'))
        self.assertEqual(self.run_it('host.npy', '--device', 'host', stencil='star-2d13p', boundary='wrap').returncode, 0)
        ours, theirs = npy_values(self.path / 'gpu.npy'), npy_values(self.path / 'host.npy')
        for a, b in zip(ours[2], theirs[2]):
            self.assertLessEqual(abs(a - b), 1e-13)

    def test_a_pack_begins_any_stencil_of_any_type_with_a_source_too(self):
        self.build()
        source = ('--source', 'source.npy')
        self.assertEqual(self.run_it('source.npy', '--device', 'host', dtype='f16').returncode, 0)
        for dtype, more, steps in (('f64', (), 3), ('f32', (), 3), ('f16', (), 3), ('f16', source, 3), ('f16', source, 1)):
            with self.subTest(dtype=dtype, more=more, steps=steps):
                stencil, size = ('gaussian-2d:sigma=1', '20x33') if more else ('gaussian-3d:sigma=1', '9x20x33')
                told = self.run_it('gpu.npy', '--device', 'cuda', '--pack', 'kernels.stnpack', *more, stencil=stencil, size=size,
                                   dtype=dtype, boundary='fixed', steps=steps, **NOWHERE)
                self.assertEqual(told.returncode, 0, told.stderr)
                self.assertEqual(json.loads(told.stdout)['cache']['misses'], 0)

    def test_builds_are_reproducible_and_use_what_is_stored(self):
        first = self.build('a.stnpack')
        again = self.build('b.stnpack')
        self.succeed('pack', 'build', '--arch', 'sm_90,sm_80', '--problems', 'list.json', '-o', 'c.stnpack', '--pack',
                     'a.stnpack', '--threads', 1, **NOWHERE)
        contents = [(self.path / f'{name}.stnpack').read_bytes() for name in 'abc']
        self.assertEqual(contents[0], contents[1])
        self.assertEqual(contents[0], contents[2])
        self.assertEqual(first['bytes'], again['bytes'])

    def test_list_verify_merge(self):
        self.build('a.stnpack', PROBLEMS[:1], 'sm_90')
        self.build('b.stnpack', PROBLEMS[1:], 'sm_80')
        self.succeed('pack', 'merge', '-o', 'c.stnpack', 'a.stnpack', 'b.stnpack', 'a.stnpack')
        kernels = json.loads(self.succeed('pack', 'list', '--json', 'c.stnpack').stdout)
        self.assertEqual(sorted(kernel['arch'] for kernel in kernels), 12 * ['sm_80'] + 15 * ['sm_90'])
        self.assertEqual(self.succeed('pack', 'list', 'c.stnpack').stdout.count('sm_90'), 15)
        self.assertIn('27 kernels, all good', self.succeed('pack', 'verify', 'c.stnpack').stdout)
        content = bytearray((self.path / 'c.stnpack').read_bytes())
        content[-1] ^= 1
        self.put('c.stnpack', bytes(content))
        self.refuse(10, 'checksum', 'pack', 'verify', 'c.stnpack')
        self.refuse(10, 'c.stnpack', 'pack', 'list', 'c.stnpack')
        self.refuse(10, 'c.stnpack', 'pack', 'merge', '-o', 'd.stnpack', 'c.stnpack')
        self.assertFalse((self.path / 'd.stnpack').exists())
        self.put('c.stnpack', bytes(content[:100]))
        self.refuse(10, 'c.stnpack', 'run', '--size', '20x20', '--stencil', 'heat-2d', '--pack', 'c.stnpack')

    def change(self, pack, changes):
        """A pack with some text of its entries replaced by text of the same length, and all
        checksums recomputed: the layout of cache/FORMAT.md."""
        data = bytearray((self.path / pack).read_bytes())
        count, = struct.unpack_from('<Q', data, 16)
        changed = False
        for i in range(count):
            start, size = struct.unpack_from('<QQ', data, HEADER + 48 * i + 32)
            entry = data[start:start + size]
            metadata, = struct.unpack_from('<Q', entry, 80)
            text = bytes(entry[144:144 + metadata])
            for old, new in changes:
                self.assertEqual(len(old), len(new))
                text = text.replace(old, new)
            entry[144:144 + metadata] = text
            entry[112:144] = hashlib.blake2b(bytes(entry[:112] + entry[144:]), digest_size=32).digest()
            changed = changed or bytes(data[start:start + size]) != bytes(entry)
            data[start:start + size] = entry
        self.assertEqual(changed, bool(changes), 'the words are there')
        data[HEADER - 32:HEADER] = hashlib.sha256(bytes(data[:HEADER - 32] + data[HEADER:HEADER + 48 * count])).digest()
        self.put('changed.stnpack', bytes(data))

    def test_metadata_that_were_changed(self):
        """With recomputed checksums the key still detects it."""
        self.build('a.stnpack', PROBLEMS[1:], 'sm_80')
        self.change('a.stnpack', [])
        self.assertEqual((self.path / 'a.stnpack').read_bytes(), (self.path / 'changed.stnpack').read_bytes())
        self.succeed('pack', 'verify', 'changed.stnpack')
        for old, new, says in ((b'kernel: direct', b'kernel: dirict', 'not those of its key'), (b'arch: sm_80', b'arch: sm_90', 'not those of its key'),
                               (b'library: stentor', b'library: stentoR', 'version and options'),
                               (b'options: -', b'options: _', 'version and options'), (b', nvrtc ', b', NVRTC ', 'compiler')):
            with self.subTest(new=new):
                self.change('a.stnpack', [(old, new)])
                self.succeed('pack', 'list', 'changed.stnpack')
                self.refuse(10, says, 'pack', 'verify', 'changed.stnpack')

    def test_only_the_newest_keeps_its_ptx(self):
        self.build(arch='sm_80,sm_90,sm_100')
        def ptx():
            kernels = json.loads(self.succeed('pack', 'list', '--json', 'kernels.stnpack').stdout)
            return sorted({(kernel['arch'], kernel['ptx_bytes'] > 0) for kernel in kernels})
        self.assertEqual(ptx(), [('sm_100', True), ('sm_80', False), ('sm_90', False)])
        self.succeed('pack', 'build', '--all-ptx', '--arch', 'sm_80,sm_90', '--problems', 'list.json', '-o', 'kernels.stnpack')
        self.assertEqual(ptx(), [('sm_80', True), ('sm_90', True)])

    def test_the_named_stencils_list_is_sound(self):
        report = json.loads(self.succeed('pack', 'build', '--arch', 'sm_90', '--problems', NAMED, '-o', 'named.stnpack',
                                         '--json').stdout)
        self.assertGreater(report['kernels'], 60)
        for stencil, size in (('laplace-3d:order=2', '31x32x33'), ('box-2d49p', '100x127'), ('gaussian-1d', '4096')):
            done = self.run_it('out.npy', '--pack', 'named.stnpack', stencil=stencil, size=size, boundary='reflect', **NOWHERE)
            self.assertEqual(done.returncode, 0, f'{stencil}: {done.stderr}')

    def test_a_failed_build_keeps_the_old_pack(self):
        self.put('kernels.stnpack', 'old')
        self.put('list.json', json.dumps(PROBLEMS))
        self.refuse(6, "'list.json': problem", 'pack', 'build', '--arch', 'sm_90', '--problems', 'list.json', '-o',
                    'kernels.stnpack', **NOWHERE)
        self.assertEqual((self.path / 'kernels.stnpack').read_text(), 'old')

    def test_mistakes(self):
        build = ('pack', 'build', '--arch', 'sm_90', '-o', 'x.stnpack', '--problems', 'list.json')
        for content, says in (('[', 'not valid JSON'), ('{}', 'not a list of problems'), ('[]', 'not a list'),
                              ('[3]', 'item 0 is no object'), ('[{"stencl": "heat-2d"}]', 'stencl'),
                              ('[{"stencil": 3}]', 'must be a text'), ('[{"steps": "3"}]', 'whole number'),
                              ('[{"steps": []}]', 'no problem'), ('[{"transform": "sideways"}]', "no transform 'sideways'"),
                              ('[{"transform": "real", "steps": 3}]', 'is a transform, which has no key "steps"'),
                              ('[{"stencil": "heat-2d", "axes": "0"}]', 'is a stencil, which has no key "axes"')):
            self.put('list.json', content)
            self.refuse(10, says, *build)
        self.put('list.json', json.dumps(PROBLEMS) + ' ' * (4 << 20))
        self.refuse(10, 'larger than any list', *build)
        self.put('list.json', '[{"stencil": "heat-2d"}]')
        self.refuse(2, 'problem 0 (heat-2d): no grid is given', *build)
        self.put('list.json', json.dumps(PROBLEMS))
        self.refuse(2, 'sm_9x', 'pack', 'build', '--arch', 'sm_90,sm_9x', '-o', 'x.stnpack', '--problems', 'list.json')
        self.refuse(2, '--arch', 'pack', 'build', '--arch', 'sm_90,,sm_80', '-o', 'x', '--problems', 'list.json')
        self.refuse(2, '--arch is missing', 'pack', 'build', '-o', 'x', '--problems', 'list.json')
        self.refuse(2, '-o is missing', 'pack', 'merge', 'a')
        self.refuse(2, 'no pack is named', 'pack', 'list')
        self.refuse(2, 'build, list', 'pack', 'bild')
        self.refuse(9, 'absent', 'pack', 'list', 'absent')
        self.refuse(9, 'absent', 'pack', 'build', '--arch', 'sm_90', '-o', 'absent/x', '--problems', 'list.json')
        self.assertEqual([p.name for p in self.path.iterdir()], ['list.json'])


if __name__ == '__main__':
    unittest.main()
