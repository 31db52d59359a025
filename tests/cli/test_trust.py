#!/usr/bin/env python3
"""Untrusted input: it cannot move the terminal's cursor, and a set-user-id command loads nothing
that its caller's environment names."""
import hashlib
import json
import os
import shutil
import struct
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


def empty_pack():
    header = b'STNPACK\n' + struct.pack('<IIQQ', 1, 0, 0, 64)
    return header + hashlib.sha256(header).digest()


class Signatures(CommandTest):
    """Packs are used with --trust only if they are signed by that key."""

    def use(self, *more):
        return ('run', '--size', '8x8', *HEAT, '--device', 'host', '--quiet', '--pack', 'a.stnpack', *more)

    def setUp(self):
        super().setUp()
        self.put('a.stnpack', empty_pack())
        self.public = self.succeed('pack', 'keys', '-o', 'maker.key').stdout.strip()

    def test_what_was_signed_is_used(self):
        self.assertRegex(self.public, '^[0-9a-f]{64}$')
        self.assertEqual((self.path / 'maker.key').stat().st_mode & 0o777, 0o600)
        self.succeed(*self.use())
        self.refuse(10, 'is not signed', *self.use('--trust', self.public))
        self.assertEqual(self.succeed('pack', 'sign', '--key', 'maker.key', 'a.stnpack').stdout, 'a.stnpack.sig\n')
        self.succeed(*self.use('--trust', self.public))
        self.succeed(*self.use('--trust', 'maker.key.pub'))
        self.assertIn('signed by the trusted key', self.succeed('pack', 'verify', '--trust', self.public, 'a.stnpack').stdout)
        other = self.succeed('pack', 'keys', '-o', 'other.key', '--json').stdout
        self.assertNotIn(self.public, other)
        self.refuse(10, 'another key', *self.use('--trust', 'other.key.pub'))
        self.refuse(10, 'another key', 'pack', 'verify', '--trust', 'other.key.pub', 'a.stnpack')

    def test_what_was_changed_is_not(self):
        self.succeed('pack', 'sign', '--key', 'maker.key', 'a.stnpack')
        whole = (self.path / 'a.stnpack.sig').read_bytes()
        for changed, says in ((whole[:-2] + b'\n', 'not in the form'), (whole + b'x', 'not in the form'), (b'', 'not in the form'),
                              (whole.replace(b'signature 1', b'signature 2'), 'not in the form'),
                              (whole[:-2] + (b'0' if whole[-2:-1] != b'0' else b'1') + b'\n', 'its signature is wrong')):
            self.put('a.stnpack.sig', changed)
            self.refuse(10, says, *self.use('--trust', self.public))
        self.put('a.stnpack.sig', whole * 1000)
        self.refuse(10, 'too long', *self.use('--trust', self.public))
        self.put('a.stnpack.sig', whole)
        self.put('a.stnpack', empty_pack()[:-1] + b'x')
        self.refuse(10, 'its signature is wrong', *self.use('--trust', self.public))

    def test_mistakes(self):
        self.refuse(9, 'never replaced', 'pack', 'keys', '-o', 'maker.key')
        self.put('next.key.pub', 'kept')
        self.refuse(9, 'never replaced', 'pack', 'keys', '-o', 'next.key')
        self.assertFalse((self.path / 'next.key').exists())
        self.assertEqual((self.path / 'next.key.pub').read_text(), 'kept')
        self.refuse(2, '--trust does not go', 'pack', 'list', '--trust', self.public, 'a.stnpack')
        self.refuse(2, '--key does not go', 'pack', 'verify', '--key', 'maker.key', 'a.stnpack')
        self.refuse(2, '-o is missing', 'pack', 'keys')
        self.refuse(2, '--key is missing', 'pack', 'sign', 'a.stnpack')
        self.refuse(10, 'no secret key', 'pack', 'sign', '--key', 'maker.key.pub', 'a.stnpack')
        self.refuse(10, 'no public key', *self.use('--trust', 'maker.key'))
        self.refuse(9, 'nowhere', *self.use('--trust', 'nowhere'))
        self.put('a.stnpack', empty_pack()[:-1] + b'x')
        self.refuse(10, 'damaged', 'pack', 'sign', '--key', 'maker.key', 'a.stnpack')
        self.assertFalse((self.path / 'a.stnpack.sig').exists())


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
                 'STENTOR_TEMPLATE_DIR': '/absent-templates', 'HOME': str(self.path / 'home'),
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
