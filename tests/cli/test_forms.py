#!/usr/bin/env python3
"""File formats: PNG of 8 and 16 bits, raw numbers, pipes; and unsupported formats, whose error says
how to convert them."""
import os
import pty
import struct
import subprocess
import unittest
import zlib

from command import BINARY, CommandTest, npy_bytes, npy_values

USAGE, IO, FORMAT = 2, 9, 10
SAME = ('--stencil', 'heat-2d:alpha=0', '--device', 'host')  # the identity


def chunk(name, data):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))


def png_bytes(width, height, bits, colour, rows):
    """A PNG of packed rows."""
    data = zlib.compress(b''.join(b'\0' + bytes(row) for row in rows))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, bits, colour, 0, 0, 0)) +
            chunk(b'IDAT', data) + chunk(b'IEND', b''))


def png_rows(path):
    """(bits, colour, rows of bytes) of a PNG whose rows have the filters 0 to 4."""
    data, at, packed = path.read_bytes(), 8, b''
    while at < len(data):
        size, name = struct.unpack_from('>I4s', data, at)
        body = data[at + 8:at + 8 + size]
        if name == b'IHDR':
            width, height, bits, colour = struct.unpack_from('>IIBB', body)
        packed += body if name == b'IDAT' else b''
        at += size + 12
    step, rows, above = bits // 8, [], bytes(width * bits // 8)
    packed = zlib.decompress(packed)
    for y in range(height):
        size = width * step
        kind, row = packed[y * (size + 1)], bytearray(packed[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for i in range(size):
            left, up, corner = row[i - step] if i >= step else 0, above[i], above[i - step] if i >= step else 0
            guess = left + up - corner
            paeth = min((abs(guess - v), k, v) for k, v in enumerate((left, up, corner)))[2]
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(list(row))
        above = row
    return bits, colour, rows


class Pngs(CommandTest):
    def test_grey_of_all_depths_is_read(self):
        for bits, rows, values in ((8, [[0, 7, 255], [1, 2, 3]], [0, 7, 255, 1, 2, 3]),
                                   (16, [[0, 1, 255, 255, 1, 0], [0, 0, 0, 2, 0, 3]], [1, 65535, 256, 0, 2, 3]),
                                   (1, [[0b10100000], [0b01000000]], [255, 0, 255, 0, 255, 0]),
                                   (4, [[0x1f, 0x00], [0x23, 0x40]], [17, 255, 0, 34, 51, 68])):
            self.put('in.png', png_bytes(3, 2, bits, 0, rows))
            self.succeed('run', '--in', 'in.png', '--out', 'out.npy', *SAME)
            self.assertEqual(npy_values(self.path / 'out.npy'), ((2, 3), '<f8', values))

    def test_what_is_written_is_read(self):
        """8 bits from files of 8 bits, else 16; values are rounded, out-of-range ones reported."""
        for descr, values, bits in (('|u1', [0, 255, 3, 4, 5, 6], 8), ('<u2', [0, 65535, 3, 4, 5, 256], 16)):
            self.put_npy('in.npy', (2, 3), values, descr=descr)
            self.succeed('run', '--in', 'in.npy', '--out', 'out.png', *SAME)
            found, colour, rows = png_rows(self.path / 'out.png')
            self.assertEqual((found, colour), (bits, 0))
            row = b''.join(v.to_bytes(bits // 8, 'big') for v in values)
            self.assertEqual(rows, [list(row[:len(row) // 2]), list(row[len(row) // 2:])])
            self.succeed('run', '--in', 'out.png', '--out', 'back.npy', *SAME)
            self.assertEqual(npy_values(self.path / 'back.npy')[2], values)
        self.put_npy('in.npy', (2, 2), [-3, 70000, 1.4, float('nan')])
        self.put('one.json', '[{"offset": [0, 0], "weight": 1}]')
        done = self.succeed('run', '--in', 'in.npy', '--out', 'out.png', '--taps', 'one.json', '--device', 'host')
        self.assertIn('3 values were past the range of the PNG', done.stderr)
        self.assertEqual(png_rows(self.path / 'out.png')[2], [[0, 0, 255, 255], [0, 1, 0, 0]])

    def test_what_is_no_grid(self):
        for colour, row in ((2, [0] * 9), (6, [0] * 12), (4, [0] * 6)):
            self.put('in.png', png_bytes(3, 1, 8, colour, [row]))
            self.refuse(FORMAT, 'transparency' if colour == 4 else 'colours', 'run', '--in', 'in.png', *SAME)
        good = png_bytes(3, 2, 8, 0, [[1, 2, 3], [4, 5, 6]])
        for cut in range(8, len(good), 3):
            self.put('in.png', good[:cut])
            self.refuse(FORMAT, 'damaged PNG', 'run', '--in', 'in.png', *SAME)
        self.put('in.png', good.replace(struct.pack('>II', 3, 2), struct.pack('>II', 4, 2)))
        self.refuse(FORMAT, 'damaged PNG', 'run', '--in', 'in.png', *SAME)
        for bits in (1, 8, 16):  # a file of few bytes that claims 10^11 points
            self.put('in.png', png_bytes(999999, 99999, bits, 0, [[0]]))
            self.refuse(FORMAT, 'more than its', 'run', '--in', 'in.png', *SAME)
        self.refuse(USAGE, 'two axes', 'run', '--size', '4x4x4', '--stencil', 'heat-3d', '--out', 'out.png', '--device', 'host')
        self.refuse(USAGE, 'two axes', 'run', '--size', '4x4', *SAME, '--every', 1, '--out', 'out.png')
        self.refuse(USAGE, 'complex', 'fft', '--size', '4x4', '--out', 'out.png', '--device', 'host')


class Endings(CommandTest):
    def test_outputs(self):
        for name, says in (('o.tif', 'tifffile.imwrite'), ('o.TIFF', 'tifffile'), ('o.csv', 'np.savetxt'), ('o.h5', 'h5py.File'),
                           ('o.npz', 'np.savez'), ('o.zarr', 'zarr.save'), ('o.jpg', 'Image.fromarray'), ('o.mat', 'savemat'),
                           ('o.xyz', 'not written')):
            for command in (('run', '--size', '8x8', *SAME), ('fft', '--size', '8x8', '--device', 'host')):
                self.refuse(USAGE, says, *command, '--out', name)
                self.assertFalse((self.path / name).exists())
        self.refuse(USAGE, 'end its name in .png', 'run', '--size', '8x8', *SAME, '--png', 'o.jpg')
        for name in ('plain', '.hidden', 'dir.d/plain', 'o.NPY'):
            os.makedirs(self.path / 'dir.d', exist_ok=True)
            self.succeed('run', '--size', '8x8', *SAME, '--out', name)
            self.assertEqual(npy_values(self.path / name)[0], (8, 8))

    def test_inputs(self):
        for name, content, says in (('a.tif', b'II*\0....', 'tifffile.imread'), ('b', b'MM\0*....', 'tifffile'),
                                    ('c.csv', b'1,2,3\n', 'np.loadtxt'), ('d.h5', b'\x89HDF\r\n', 'h5py.File'),
                                    ('e.npz', b'PK\x03\x04...', "np.load('in.npz')['NAME']"), ('f.mat', b'MATLAB 5.0', 'loadmat'),
                                    ('g.jpg', b'\xff\xd8\xff\xe0...', 'Image.open'), ('h.raw', b'12345678', '--shape')):
            self.put(name, content)
            for command in (('run', *SAME), ('fft', '--device', 'host')):
                self.refuse(FORMAT, says, *command, '--in', name)
        os.mkdir(self.path / 'i.zarr')
        self.refuse(FORMAT, 'zarr.load', 'run', '--in', 'i.zarr', *SAME)

    def test_a_run_that_keeps_nothing_says_so(self):
        for command in (('run', '--size', '8x8', *SAME), ('fft', '--size', '8x8', '--device', 'host')):
            self.assertIn('kept       nothing: name a file with --out', self.succeed(*command).stdout)
            self.assertNotIn('kept', self.succeed(*command, '--out', 'o.npy').stdout)


class Raw(CommandTest):
    def test_there_and_back(self):
        for dtype, code, values, to in (('float32', 'f', [1.5, -2, 3, 4, 5, 6], '<f4'), ('f64', 'd', [1.5, -2, 3, 4, 5, 6], '<f8'),
                                        ('uint8', 'B', [1, 2, 3, 4, 5, 255], '<f8'), ('int16', 'h', [-1, 2, 3, 4, 5, 6], '<f8'),
                                        ('half', 'e', [1.5, 2, 3, 4, 5, 6], '<f2')):
            self.put('in.raw', struct.pack(f'<6{code}', *values))
            for shape in ('2x3', '2,3'):
                self.succeed('run', '--in', 'in.raw', '--shape', shape, '--dtype', dtype, '--out', 'out.npy', *SAME)
                self.assertEqual(npy_values(self.path / 'out.npy'), ((2, 3), to, values))
        self.succeed('run', '--in', 'out.npy', '--out', 'back.raw', *SAME)
        self.assertEqual((self.path / 'back.raw').read_bytes(), (self.path / 'in.raw').read_bytes())

    def test_complex(self):
        self.put('in.bin', struct.pack('<4d', 1, 2, 3, 4))
        self.succeed('fft', '--in', 'in.bin', '--shape', 2, '--dtype', 'complex128', '--out', 'out.bin', '--device', 'host')
        self.assertEqual(struct.unpack('<4d', (self.path / 'out.bin').read_bytes()), (4, 6, -2, -2))

    def test_refused(self):
        self.put('in.raw', bytes(48))
        raw = ('run', '--in', 'in.raw', *SAME)
        self.refuse(FORMAT, '48 bytes, but 8 values of 8 bytes', *raw, '--shape', '2x4', '--dtype', 'f64')
        self.refuse(USAGE, '--dtype', *raw, '--shape', '2x3')
        self.refuse(USAGE, 'does not say of which type', *raw, '--shape', '2x3', '--dtype', 'complex64')
        self.refuse(USAGE, '--shape 2x', *raw, '--shape', '2x', '--dtype', 'f64')
        self.refuse(USAGE, 'leave one out', 'run', '--size', '8x8', *SAME, '--shape', '8x8', '--dtype', 'f64')
        self.refuse(USAGE, 'more bytes', *raw, '--shape', '4294967296x4294967296', '--dtype', 'f64')


class Pipes(CommandTest):
    def pipe(self, given, *arguments):
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.path, input=given, capture_output=True, timeout=60)

    def test_in_and_out(self):
        """Two commands in a pipeline; messages go to stderr."""
        grid = npy_bytes((3, 4), [float(i) for i in range(12)])
        done = self.pipe(grid, 'run', '--in', '-', '--out', '-', *SAME)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b'strategy   host', done.stderr)
        again = self.pipe(done.stdout, 'fft', '--in', '-', '--out', '-', '--device', 'host', '--quiet')
        self.assertEqual((again.returncode, again.stderr), (0, b''))
        self.put('spectrum.npy', again.stdout)
        shape, descr, values = npy_values(self.path / 'spectrum.npy')
        self.assertEqual((shape, descr, values[:2]), ((3, 4), '<c16', [66, 0]))
        done = self.pipe(struct.pack('<6f', *range(6)), 'run', '--in', '-', '--shape', '2x3', '--dtype', 'f32', '--out', '-', *SAME)
        self.assertEqual(done.stdout[-24:], struct.pack('<6f', *range(6)))
        self.assertEqual(os.listdir(self.path), ['spectrum.npy'])

    def test_pictures_and_pages(self):
        done = self.pipe(b'', 'run', '--size', '8x8', *SAME, '--png', '-')
        self.assertEqual((done.returncode, done.stdout[:8]), (0, b'\x89PNG\r\n\x1a\n'), done.stderr)
        self.assertIn(b'strategy', done.stderr)
        done = self.pipe(b'', 'tune', '--size', '8x8', *SAME, '--html', '-')
        self.assertEqual((done.returncode, done.stdout[:9].lower()), (0, b'<!doctype'), done.stderr)
        self.assertEqual(self.pipe(b'', 'run', '--size', '8x8', *SAME, '--png', '-', '--out', '-').returncode, USAGE)

    def test_refused(self):
        self.assertEqual(self.pipe(b'', 'run', '--in', '-', *SAME).returncode, FORMAT)
        leader, terminal = pty.openpty()
        for arguments, where in ((('--in', '-'), {'stdin': terminal}), (('--size', '8x8', '--out', '-'), {'stdout': terminal})):
            done = subprocess.run([BINARY, 'run', *arguments, *SAME], stderr=subprocess.PIPE, timeout=60, **where)
            self.assertEqual(done.returncode, IO)
            self.assertIn(b'terminal', done.stderr)
        os.close(leader), os.close(terminal)


if __name__ == '__main__':
    unittest.main()
