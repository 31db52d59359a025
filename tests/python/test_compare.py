"""The command bench: a problem with Stentor and with other libraries."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import scipy.ndimage

from stentor import _compare
from stentor.__main__ import main


def printed(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = main(['bench', *arguments, '--device', 'host', '--seconds', '0'])
    return status, out.getvalue().splitlines()


class Bench(unittest.TestCase):
    def test_every_kind_agrees_with_scipy(self):
        for shape, boundary, *kind in (('40x50', 'wrap', '--stencil', 'heat-2d:alpha=0.2', '--steps', '3'), ('40x50', 'mirror', '--gaussian', '1.5'),
                                       ('9x20x21', 'nearest', '--uniform', '5'), ('30x31', 'reflect', '--rfft'), ('30x31', 'reflect', '--fft'),
                                       ('64', 'reflect', '--dct'), ('300', 'constant', '--gaussian', '2')):
            with self.subTest(kind=kind):
                status, lines = printed('--compare', *kind, '--size', shape, '--boundary', boundary, '--dtype', 'f64')
                self.assertEqual(status, 0)
                rows = {line.split()[0]: line.split() for line in lines[2:] if ' ms ' in line}
                self.assertIn('stentor', rows)
                self.assertIn('scipy', rows)
                for name, row in rows.items():
                    if name != 'stentor':
                        self.assertLess(float(row[-1]), 1e-12, name)
                for name in ('scipy', 'cupyx', 'torch', 'cv2'):  # each has a time or a reason
                    self.assertTrue(name in rows or any(line.startswith(name + ' is left out: ') for line in lines), name)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            np.save(path / 'x.npy', np.random.default_rng(1).random((20, 30), dtype=np.float32))
            np.save(path / 'taps.npy', np.arange(15.0).reshape(3, 5))
            status, lines = printed('--compare', '--in', str(path / 'x.npy'), '--taps', str(path / 'taps.npy'))
        self.assertEqual((status, lines[0]), (0, 'stencil 20x30 float32 reflect'))
        self.assertLess(float(next(line for line in lines if line.startswith('scipy')).split()[-1]), 1e-6)

    def test_a_wrong_result_is_seen(self):
        with mock.patch.object(scipy.ndimage, 'gaussian_filter', lambda y, sigma, mode: y + 1):
            _, lines = printed('--compare', '--gaussian', '2', '--size', '30x30')
        self.assertGreater(float(next(line for line in lines if line.startswith('scipy')).split()[-1]), 0.1)

    def test_reasons(self):
        _, lines = printed('--compare', '--stencil', 'heat-2d', '--size', '30x30', '--boundary', 'fixed')
        self.assertIn("scipy is left out: it has no boundary 'fixed'", lines)
        _, lines = printed('--stencil', 'heat-2d', '--size', '30x30')
        self.assertEqual(len(lines), 3)

    def test_exit_codes(self):
        for code, given in ((2, ('--stencil', 'nonsense', '--size', '8x8')), (9, ('--fft', '--in', '/no such.npy')),
                            (4, ('--fft', '--size', '8', '--device', 'cuda:99'))):
            done = subprocess.run([sys.executable, '-m', 'stentor', 'bench', *given], capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertRegex(done.stderr, r'\Astentor: .*\n\Z')

    def test_bad_arguments(self):
        for said, given in (('nonsense', ('--stencil', 'nonsense', '--size', '8x8')), ('no such', ('--fft', '--in', '/no such.npy')),
                            ('steps', ('--fft', '--size', '8', '--steps', '2')), ('axes', ('--stencil', 'heat-2d', '--size', '8'))):
            with self.subTest(said), self.assertRaisesRegex(Exception, said):
                printed(*given)
        for given in (('--size', '8'), ('--fft',), ('--fft', '--rfft', '--size', '8')):
            with self.subTest(given), self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                printed(*given)

    def test_weights_of_a_box_of_even_size(self):
        p = _compare.Problem('uniform', np.zeros((8, 8)), None, 4.0, 'wrap', 1, -1)
        with self.assertRaises(_compare.Unable):
            _compare.line_of(p)


if __name__ == '__main__':
    unittest.main()
