"""Test helpers: running the `stentor` command, and reading .npy files without NumPy (which need not
be installed)."""
import math
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

BINARY = os.environ['STENTOR_COMMAND']
FORMATS = {'|i1': 'b', '|u1': 'B', '|b1': '?', '<u2': 'H', '<i4': 'i', '<u4': 'I', '<f8': 'd', '<f4': 'f', '<f2': 'e', '<i2': 'h', '<i8': 'q', '>i8': 'q', '<u8': 'Q', '>f4': 'f', '<c16': 'd', '<c8': 'f'}


def npy_bytes(shape, values, descr='<f8', fortran=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({', '.join(map(str, shape))}{',' * bool(shape)}), }}"
    text += ' ' * (-(len(text) + 11) % 64) + '\n'
    body = struct.pack(f'{descr[0].replace("|", "<")}{len(values)}{FORMATS[descr]}', *values)
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(text)) + text.encode() + body


def npy_values(path):
    """(shape, descr, flat numbers) of a .npy file; a complex value is two numbers."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack_from('<H', data, 8)[0]
    header = eval(data[10:10 + size])  # the command's own output
    count = math.prod(header['shape'])
    descr = header['descr']
    count *= 2 if 'c' in descr else 1
    return header['shape'], descr, list(struct.unpack_from(f'{descr[0]}{count}{FORMATS[descr]}', data, 10 + size))


class CommandTest(unittest.TestCase):
    """Each test runs in an empty folder of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix='stentor-cli-')
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def put(self, name, content):
        (self.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def put_npy(self, name, shape, values, **more):
        return self.put(name, npy_bytes(shape, values, **more))

    def stentor(self, *arguments, **environment):
        """Runs the command in the test's folder, without the user's cache; returns a
        CompletedProcess with text."""
        env = dict(os.environ, STENTOR_CACHE_DIR=':memory:', **environment)
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.path, env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300)

    def succeed(self, *arguments, **environment):
        done = self.stentor(*arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refuse(self, code, says, *arguments, **environment):
        """The command must exit with this code and one sentence on stderr that contains `says`."""
        done = self.stentor(*arguments, **environment)
        self.assertEqual(done.returncode, code, f'{arguments}: {done.stdout}{done.stderr}')
        self.assertEqual(done.stdout, '')
        self.assertTrue(done.stderr.startswith('stentor: '), done.stderr)
        self.assertEqual(done.stderr.count('\n'), 1, f'more than one line: {done.stderr}')
        self.assertIn(says, done.stderr)
        return done
