"""Frames and transforms into given output arrays, on a real or emulated GPU."""
import unittest

import numpy as np

import stentor
from strangers import Interface, start

start()
HEAT = np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]])


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


class Given(unittest.TestCase):
    def test_frames(self):
        """The first frame is the input, also if later frames are not 16-byte aligned.

        Frames can also be taken one at a time."""
        x = random(7, 3, 3)
        for dtype in ('float64', 'float32'):
            given = dict(boundary='reflect', dtype=dtype, steps=4, device='cuda')
            host = stentor.Plan((3, 3), HEAT, **{**given, 'device': 'host', 'every': 2, 'initial': True})(x.astype(dtype))
            frames = stentor.Plan((3, 3), HEAT, every=2, initial=True, **given)(Interface(x.astype(dtype))).numpy()
            np.testing.assert_array_equal(frames[0], x.astype(dtype))
            np.testing.assert_allclose(frames, host, rtol=1e-5, atol=1e-6)
            found = list(stentor.Plan((3, 3), HEAT, **given).frames(Interface(x.astype(dtype)), 2))
            self.assertEqual([step for step, _ in found], [2, 4])
            np.testing.assert_allclose([frame.numpy() for _, frame in found], host[1:], rtol=1e-5, atol=1e-6)

    def test_transforms_into_a_given_array(self):
        x = random(8, 6, 8)
        out = Interface(np.zeros((6, 8), complex))
        z = Interface(x.astype(complex))
        self.assertIs(stentor.fft.fft2(z, out=out), out)
        np.testing.assert_allclose(out.numpy(), np.fft.fft2(x), atol=1e-11)
        for said, bad in (('overlaps', z), ('wrong shape', Interface(np.zeros((6, 7), complex))), ('out is on the host', np.zeros((6, 8), complex))):
            with self.assertRaisesRegex(ValueError, said):
                stentor.fft.fft2(z, out=bad)


if __name__ == '__main__':
    unittest.main()
