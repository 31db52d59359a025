#!/usr/bin/env python3
"""stentor cache: listing and upkeep of the cache folder. Kernels are compiled by whatever NVRTC the
environment has."""
import hashlib
import json
import os
import struct
import time
import unittest

from command import CommandTest

PROBLEM = ('compile', '--arch', 'sm_90', '--size', '100x100', '--stencil', 'heat-2d', '--quiet', '--cache-dir', 'kept')


class Cache(CommandTest):
    def setUp(self):
        super().setUp()
        probe = self.stentor(*PROBLEM)
        if probe.returncode == 6:
            self.skipTest('NVRTC is not here')
        self.assertEqual(probe.returncode, 0, probe.stderr)

    def cache(self, *arguments):
        return self.succeed('cache', *arguments, '--cache-dir', 'kept').stdout

    def listed(self):
        return json.loads(self.cache('list', '--json'))

    def file_of(self, key):
        return self.path / 'kept' / key[:2] / key[2:]

    def test_list_and_show(self):
        [kernel] = self.listed()
        self.assertEqual((kernel['arch'], kernel['fault']), ('sm_90', None))
        self.assertGreater(kernel['ptx_bytes'], 0)
        self.assertEqual(kernel['bytes'], self.file_of(kernel['key']).stat().st_size)
        self.assertLess(abs(kernel['used'] - time.time()), 60)
        text = self.cache('list')
        self.assertIn(kernel['key'][:16], text)
        self.assertIn('1 kernels', text)
        shown = self.cache('show', kernel['key'][:10])
        for part in (kernel['key'], 'arch: sm_90', 'compiler: NVRTC', 'constexpr int'):
            self.assertIn(part, shown)
        told = json.loads(self.cache('show', kernel['key'], '--json'))
        self.assertIn('constexpr int', told['params'])
        self.assertEqual({key: told[key] for key in kernel if key not in ('used', 'fault')},
                         {key: value for key, value in kernel.items() if key not in ('used', 'fault')})

    def test_counters(self):
        report = json.loads(self.succeed(*(word for word in PROBLEM if word != '--quiet'), '--json').stdout)
        self.assertEqual((report['cache']['disk_hits'], report['cache']['misses']), (1, 0))
        self.assertEqual(report['cache']['bytes_read'], self.listed()[0]['bytes'])

    def test_verify_removes_the_damaged(self):
        [kernel] = self.listed()
        self.assertIn('1 kernels', self.cache('verify'))
        path = self.file_of(kernel['key'])
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        self.assertIn('checksum', self.listed()[0]['fault'])
        self.assertIn('damaged', self.cache('list'))
        self.assertEqual(json.loads(self.cache('verify', '--json'))['damaged'], 1)
        self.assertEqual(self.listed(), [])
        self.succeed(*PROBLEM)
        self.assertEqual(len(self.listed()), 1)

    def test_what_is_told(self):
        """Messages of the library for information are printed with --verbose alone."""
        [kernel] = self.listed()
        path = self.file_of(kernel['key'])
        content = path.read_bytes()
        for more, told in (((), False), (('--quiet',), False), (('--verbose',), True)):
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            done = self.succeed('cache', 'verify', '--cache-dir', 'kept', *more)
            self.assertEqual('stentor: info: the stored kernel' in done.stderr, told, more)
            self.assertEqual(bool(done.stderr), told, more)

    def test_gc_and_clear(self):
        for stencil in ('box-2d9p', 'box-2d49p'):
            self.succeed(*PROBLEM, '--stencil', stencil)
        kernels = self.listed()
        self.assertEqual(len(kernels), 3)
        oldest = self.file_of(kernels[1]['key'])
        os.utime(oldest, (0, 0))
        self.cache('gc', '--max-files', 1)
        self.assertEqual(len(self.listed()), 2, 'what was used today is spared')
        self.assertFalse(oldest.exists())
        # A limit of three hours keeps an entry used two hours ago; a limit of one deletes it.
        for kernel in self.listed():
            os.utime(self.file_of(kernel['key']), 2 * (time.time() - 2 * 3600,))
        self.cache('gc', '--max-files', 1, '--spare-hours', 3)
        self.assertEqual(len(self.listed()), 2)
        os.utime(self.file_of(self.listed()[0]['key']))
        self.cache('gc', '--max-files', 1, '--spare-hours', 1)
        self.assertEqual(len(self.listed()), 1)
        for stencil in ('heat-2d', 'box-2d9p'):
            self.succeed(*PROBLEM, '--stencil', stencil)
        self.assertGreater(len(self.listed()), 1)
        self.cache('gc', '--max-files', 1, '--spare-hours', 0)
        self.assertEqual(len(self.listed()), 1)
        self.assertEqual(json.loads(self.cache('clear', '--json'))['files'], 0)
        self.assertEqual(self.listed(), [])

    def test_shared_folders(self):
        os.chmod(self.path / 'kept', 0o777)
        done = self.refuse_twice('cache', 'list', '--cache-dir', 'kept')
        self.assertIn('may be written by other users', done.stderr)
        self.assertEqual(len(json.loads(self.succeed('cache', 'list', '--json', '--shared', '--cache-dir', 'kept').stdout)), 1)
        self.succeed(*PROBLEM, '--cache-shared')

    def refuse_twice(self, *arguments):
        """A warning and then the error."""
        done = self.stentor(*arguments)
        self.assertEqual((done.returncode, done.stdout), (9, ''))
        return done


class Mistakes(CommandTest):
    def test_path(self):
        self.assertEqual(self.succeed('cache', 'path', '--cache-dir', 'some').stdout, f'{os.path.realpath(self.path)}/some\n')
        self.assertFalse((self.path / 'some').exists())
        self.refuse(9, 'memory only', 'cache', 'path')
        self.refuse(9, 'memory', 'cache', 'list')

    def test_an_empty_name_is_the_default(self):
        # STENTOR_CACHE_DIR is :memory: here
        self.refuse(9, 'memory only', 'cache', 'path', '--cache-dir', '')

    def test_verify_names_what_it_must_leave(self):
        (self.path / 'kept' / 'ab' / ('c' * 62) / 'full').mkdir(parents=True, mode=0o700)
        for folder in ('kept', 'kept/ab'):
            os.chmod(self.path / folder, 0o700)
        done = self.stentor('cache', 'verify', '--cache-dir', 'kept')
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn('c' * 62 + ' is left: it is not a plain file', done.stderr)
        self.assertIn('1 of what is stored could not be read or removed', done.stderr)

    def test_gc_and_clear_name_what_they_cannot_remove(self):
        (self.path / 'kept' / 'ab' / ('c' * 62) / 'full').mkdir(parents=True, mode=0o700)
        for folder in ('kept', 'kept/ab'):
            os.chmod(self.path / folder, 0o700)
        for words in ('gc', '--max-bytes', '1', '--spare-hours', '0'), ('clear',):
            done = self.stentor('cache', *words, '--cache-dir', 'kept')
            self.assertEqual(done.returncode, 9, done.stderr)
            self.assertIn('c' * 62 + ' is left: it cannot be removed (Directory not empty)', done.stderr)
            self.assertIn('1 of what is stored could not be read or removed', done.stderr)

    def test_errors_in_wisdom_name_the_file(self):
        self.succeed('wisdom', 'export', '--cache-dir', 'kept', '--out', 'good')
        self.put('bad', 'no wisdom')
        for words in ('import', 'bad'), ('merge', 'good', 'bad'), ('merge', 'bad', 'good'):
            self.refuse(10, "'bad': this is no wisdom", 'wisdom', *words, '--cache-dir', 'kept')

    def test_an_absent_folder_is_empty(self):
        self.assertIn('0 kernels', self.succeed('cache', 'list', '--cache-dir', 'absent').stdout)
        self.succeed('cache', 'clear', '--cache-dir', 'absent')
        self.assertFalse((self.path / 'absent').exists())

    def test_arguments(self):
        self.refuse(2, 'argument is missing', 'cache')
        self.refuse(2, 'list, show, verify', 'cache', 'lst')
        self.refuse(2, 'cache show needs the KEY', 'cache', 'show')
        self.refuse(2, 'one argument too many', 'cache', 'list', 'abcd', '--cache-dir', 'x')
        self.refuse(2, '4 to 64 hex digits', 'cache', 'show', 'xyz', '--cache-dir', 'x')
        self.refuse(2, '0 stored kernels', 'cache', 'show', 'abcdef', '--cache-dir', 'x')


def entry_bytes(key, metadata, params):
    """A kernel's entry without PTX and cubin, as in cache/FORMAT.md."""
    head = b'STNKERN\n' + struct.pack('<II', 2, 0) + 2 * key + struct.pack('<4Q', len(metadata), len(params), 0, 0)
    return head + hashlib.blake2b(head + metadata + params, digest_size=32).digest() + metadata + params


class TextOfOthers(CommandTest):
    """An entry's text may come from anyone: it must not move the terminal's cursor or change its
    colours."""
    KEY = bytes(range(32))
    HOSTILE = 'ker\x1b[31mnel\x07\r\x7f\u009b5m'
    ENTRY = entry_bytes(KEY, f'kernel: {HOSTILE}\narch: sm\x1b90\ncompiler: by {HOSTILE}\n'.encode(),
                        b'constexpr int a = 1; // \x1b]0;title\x07\n')

    def check(self, *arguments):
        shown = self.succeed(*arguments).stdout
        self.assertIn('ker?[31mnel???', shown)
        self.assertEqual([c for c in shown if c != '\n' and (ord(c) < 32 or 0x7f <= ord(c) < 0xa0)], [], repr(shown))

    def test_cache(self):
        folder = self.path / 'kept' / self.KEY.hex()[:2]
        folder.mkdir(parents=True, mode=0o700)
        os.chmod(self.path / 'kept', 0o700)
        path = folder / self.KEY.hex()[2:]
        path.write_bytes(self.ENTRY)
        path.chmod(0o600)
        self.check('cache', 'list', '--cache-dir', 'kept')
        self.check('cache', 'show', self.KEY.hex(), '--cache-dir', 'kept')

    def test_pack(self):
        index = self.KEY + struct.pack('<QQ', 64 + 48, len(self.ENTRY))
        head = b'STNPACK\n' + struct.pack('<IIQQ', 1, 0, 1, 64 + 48 + len(self.ENTRY))
        self.put('one.stnpack', head + hashlib.sha256(head + index).digest() + index + self.ENTRY)
        self.check('pack', 'list', 'one.stnpack')


if __name__ == '__main__':
    unittest.main()
