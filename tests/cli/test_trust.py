#!/usr/bin/env python3
"""Untrusted input: it cannot move the terminal's cursor, and a set-user-id command loads nothing
that its caller's environment names."""
import json
import os
import shutil
import subprocess
import unittest

from command import BINARY, CommandTest, npy_bytes

HEAT = ('--stencil', 'heat-2d:alpha=0.2')


class Terminal(CommandTest):
    """No control character of a file's content or name is printed."""

    def clean(self, done):
        for text in (done.stdout, done.stderr):
            for character in text:
                self.assertFalse((ord(character) < 32 and character not in '\n\t') or 0x7f <= ord(character) < 0xa0, repr(text))

    def test_contents(self):
        header = npy_bytes((4, 4), [1.0] * 16).replace(b"'<f8'", b"'\x1b[2J'").replace(b'  \n', b'\n')
        self.put('a.npy', header)
        done = self.refuse(10, '?[2J', 'run', '--in', 'a.npy', *HEAT)
        self.clean(done)
        evil = 'heat-\x1b]0;owned\x07\x9b2J2d'
        for name, text in (('stencil', json.dumps([{'stencil': evil, 'size': '8x8'}])),
                           ('raw', json.dumps([{'stencil': evil, 'size': '8x8'}], ensure_ascii=False)),
                           ('key', json.dumps([{evil: 1}])), ('kind', json.dumps([{'transform': evil, 'size': '8x8'}]))):
            self.put('l.json', text)
            for command in (('pack', 'build', '--arch', 'sm_90', '-o', 'o.stnpack'), ('tune', '--device', 'host'), ('tune', '--device', 'host', '--json')):
                with self.subTest(name=name, command=command):
                    done = self.stentor(*command, '--problems', 'l.json')
                    self.assertIn('?' if '--json' not in command else '', done.stdout + done.stderr)
                    self.clean(done)
        self.put('t.json', '[{"offset": [0, 0], "weight": 1}, {"\x1b[2J": 1}]')
        self.clean(self.stentor('run', '--size', '8x8', '--taps', 't.json'))

    def test_names(self):
        name = 'a\x1b[31m\x7f\xc2\x9b.npy'
        self.clean(self.refuse(9, 'a?[31m?', 'run', '--in', name, *HEAT))
        self.put('a\x1b[31m.png', b'\x89PNG\r\n\x1a\n')
        self.clean(self.refuse(10, 'a?[31m', 'run', '--in', 'a\x1b[31m.png', *HEAT))


class SetUserId(CommandTest):
    """The caller's environment names libraries, folders, templates: none is used."""

    def run_it(self, command, *arguments, **environment):
        return subprocess.run([command, *arguments], cwd=self.path, env={'PATH': os.environ['PATH'], **environment}, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60)

    def test_the_environment(self):
        if os.environ.get('SANITIZE', 'none') != 'none':
            self.skipTest('a sanitized program refuses to run set-user-id')
        if os.getuid() != 0:
            self.skipTest('only root may give a file to another user')
        self.path.chmod(0o755)
        command = self.path / 'stentor-of-nobody'
        shutil.copy(BINARY, command)
        os.chown(command, 65534, 65534)
        command.chmod(0o4755)
        (self.path / 'cache').mkdir(mode=0o777)
        (self.path / 'home').mkdir(mode=0o777)
        library = self.path / 'lib' / 'python3' / 'site-packages' / 'nvidia' / 'cuda_nvrtc' / 'lib'
        library.mkdir(parents=True)
        (library / 'libnvrtc.so.12').write_text('no library')
        names = {'STENTOR_CUDA_PATH': '/absent-cuda', 'STENTOR_NVRTC_PATH': '/absent-nvrtc', 'STENTOR_CACHE_DIR': str(self.path / 'cache'),
                 'STENTOR_TEMPLATE_DIR': '/absent-templates', 'STENTOR_SEEDS': '/absent-seeds', 'HOME': str(self.path / 'home'),
                 'XDG_CACHE_HOME': str(self.path / 'home'), 'VIRTUAL_ENV': str(self.path), 'CUDA_HOME': str(self.path)}
        plain, secure = self.run_it(BINARY, 'doctor', **names), self.run_it(str(command), 'doctor', **names)
        if 'cannot open shared object' in secure.stderr or 'not permitted' in secure.stderr:
            self.skipTest('set-user-id files do not run here: ' + secure.stderr.strip())
        self.assertIn('/absent-', plain.stdout + plain.stderr, 'a plain command looks there')
        for text in ('/absent-', str(self.path)):
            self.assertNotIn(text, secure.stdout + secure.stderr)
        self.assertEqual(secure.returncode, self.run_it(BINARY, 'doctor', PATH='').returncode)


if __name__ == '__main__':
    unittest.main()
