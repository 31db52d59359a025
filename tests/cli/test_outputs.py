#!/usr/bin/env python3
"""Paths of outputs: links, streams, long names, and files that must not be overwritten."""
import os
import shutil
import subprocess
import unittest

from command import BINARY, CommandTest, npy_bytes, npy_values

USAGE, IO = 2, 9
RUN = ('run', '--size', '8x8', '--stencil', 'heat-2d:alpha=0.2', '--device', 'host')
LONG = ('run', '--size', '2000x2000', '--stencil', 'heat-2d:alpha=0.2', '--device', 'host', '--steps', 10**9)


class Places(CommandTest):
    def test_two_outputs_that_are_one_file(self):
        """By another path, through a link to the file or its folder, existing or not."""
        os.mkdir(self.path / 'real')
        os.symlink('real', self.path / 'linked')
        os.symlink('a', self.path / 'link')
        for out, png in (('a', 'a'), ('a', './a'), ('a', self.path / 'a'), ('a', 'link'), ('link', 'a'),
                         ('real/x', 'linked/x'), ('real/x', 'linked/../real/x')):
            for there in (False, True):
                with self.subTest(out=out, png=png, there=there):
                    if there:
                        self.put('a', 'old')
                        self.put('real/x', 'old')
                    self.refuse(USAGE, 'a file of its own', *LONG, '--out', out, '--png', png)
                    self.assertEqual((self.path / 'a').exists(), there)
            for name in ('a', 'real/x'):
                (self.path / name).unlink(missing_ok=True)
        self.succeed(*RUN, '--out', 'real/x', '--png', 'x')

    def test_outputs_that_are_inputs(self):
        grid, taps = npy_bytes((8, 8), [1.0] * 64), npy_bytes((3, 3), [0.1] * 9)
        os.symlink('in.npy', self.path / 'link')
        for option, target in (('--png', 'in.npy'), ('--png', './in.npy'), ('--png', 'link'), ('--png', 'taps.npy'),
                               ('--out', 'taps.npy')):
            self.put('in.npy', grid), self.put('taps.npy', taps)
            self.refuse(USAGE, 'would overwrite', 'run', '--in', 'in.npy', '--taps', 'taps.npy', '--device', 'host',
                        option, target)
            self.assertEqual((self.path / 'in.npy').read_bytes(), grid)
            self.assertEqual((self.path / 'taps.npy').read_bytes(), taps)
        self.put('list.json', '[]')
        self.refuse(USAGE, 'would overwrite', 'pack', 'build', '--arch', 'sm_90', '--problems', 'list.json', '-o',
                    './list.json')

    def test_what_cannot_be_written_is_found_before_the_run(self):
        for option in ('--out', '--png'):
            for name in ('newdir/', 'a/', 'newdir/.', '..'):
                self.put('a', 'old')
                self.refuse(IO, name, *LONG, option, name)
        os.symlink('round', self.path / 'round')
        self.refuse(IO, 'symbolic links', *LONG, '--out', 'round')
        with open(self.path / 'a') as reading:
            for fd, says in ((reading.fileno(), 'reading only'), (99, 'Bad file')):
                done = subprocess.run([BINARY, *map(str, LONG), '--out', f'/dev/fd/{fd}'], pass_fds=[reading.fileno()],
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, IO, done.stderr)
                self.assertIn(says, done.stderr)

    def test_a_mount_point(self):
        """It cannot be replaced by rename: reported at once."""
        self.put('mounted', 'old'), self.put('under', '')
        script = 'mount --bind mounted under && exec "$@" --out under'
        prefix = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']
        if not shutil.which('unshare') or subprocess.run([*prefix, 'mount --bind mounted under'], cwd=self.path,
                                                         capture_output=True).returncode:
            self.skipTest('this process may not mount')
        done = subprocess.run([*prefix, script, 'sh', BINARY, *map(str, LONG)], cwd=self.path, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn('mount point', done.stderr)
        self.assertEqual((self.path / 'mounted').read_text(), 'old')

    def test_links_are_followed(self):
        """A link stays a link; its target is created or replaced."""
        os.mkdir(self.path / 'far')
        os.symlink('far/second', self.path / 'first')
        os.symlink('result.npy', self.path / 'far' / 'second')
        for there in (False, True):
            self.succeed(*RUN, '--out', 'first')
            self.assertTrue((self.path / 'first').is_symlink())
            self.assertTrue((self.path / 'far' / 'second').is_symlink())
            self.assertEqual(npy_values(self.path / 'far' / 'result.npy')[0], (8, 8))

    def test_streams_are_written_where_they_stand(self):
        self.succeed(*RUN, '--out', 'plain')
        plain = (self.path / 'plain').read_bytes()
        for name in ('/dev/fd/1', '/dev/stdout', '/proc/self/fd/1'):
            with self.subTest(name=name):
                self.put('log', 'begun\n')
                with open(self.path / 'log', 'ab') as log:
                    done = subprocess.run([BINARY, *RUN, '--quiet', '--out', name], cwd=self.path, stdout=log,
                                          stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((self.path / 'log').read_bytes(), b'begun\n' + plain)
        done = subprocess.run([BINARY, *RUN, '--quiet', '--out', '/dev/stdout'], capture_output=True, timeout=60)
        self.assertEqual(done.stdout, plain)

    def test_long_names(self):
        for length in (100, 245, 255):
            name = 'n' * (length - 4) + '.npy'
            for _ in 'there', 'again':
                self.succeed(*RUN, '--out', name)
        self.refuse(IO, 'too long', *RUN, '--out', 'n' * 256)
        self.assertEqual(sorted(map(len, os.listdir(self.path))), [100, 245, 255])

    def test_a_standard_output_that_is_full(self):
        """The summary is printed last, when the files are in place (src/cli/README.md)."""
        with open('/dev/full', 'w') as full:
            done = subprocess.run([BINARY, *RUN, '--json', '--out', 'out.npy'], cwd=self.path, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, IO)
        self.assertIn('standard output', done.stderr)
        self.assertEqual(npy_values(self.path / 'out.npy')[0], (8, 8))


if __name__ == '__main__':
    unittest.main()
