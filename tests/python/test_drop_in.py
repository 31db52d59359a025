"""Code that calls scipy runs Stentor: the backend of scipy.fft, and replaced functions."""
import sys
import threading
import types
import unittest

import numpy as np
import scipy.fft
import scipy.ndimage
import scipy.signal

import stentor

X = np.random.default_rng(0).standard_normal((12, 10))


class Counted:
    """Counts calls of stentor.fft's functions."""

    def __init__(self, test, module, names):
        self.calls = []
        for name in names:
            function = getattr(module, name)
            setattr(module, name, lambda *given, function=function, name=name, **named: (self.calls.append(name), function(*given, **named))[1])
            test.addCleanup(setattr, module, name, function)


class Backend(unittest.TestCase):
    def test_every_transform_is_called(self):
        names = [name for name in stentor.fft.__all__ if name not in stentor._drop_in.HELPERS]
        counted = Counted(self, stentor.fft, names)
        theirs = {name: getattr(scipy.fft, name)(X) for name in names}
        with scipy.fft.set_backend(stentor.scipy_backend, only=True):
            for name in names:
                np.testing.assert_allclose(getattr(scipy.fft, name)(X), theirs[name], rtol=1e-10, atol=1e-12, err_msg=name)
            np.testing.assert_allclose(scipy.fft.dct(X, 3, axis=0, norm='ortho'), stentor.fft.dct(X, 3, axis=0, norm='ortho'))
        self.assertGreaterEqual(set(counted.calls), set(names))
        before = len(counted.calls)
        scipy.fft.fft(X)
        self.assertEqual(len(counted.calls), before)

    def test_other_arrays_go_to_the_next_backend(self):
        wide = X.astype(np.longdouble)
        with scipy.fft.set_backend(stentor.scipy_backend):
            self.assertEqual(scipy.fft.fft(wide).dtype, np.clongdouble)
            scipy.fft.fht(X[0] ** 2, 0.1, 0.5)
        with self.assertRaises(Exception), scipy.fft.set_backend(stentor.scipy_backend, only=True):
            scipy.fft.fft(wide)


class Installed(unittest.TestCase):
    def user(self):
        """A module that has imported functions by name, and also the library."""
        module = types.ModuleType('somebody')
        exec('import numpy\nfrom scipy import ndimage\nfrom scipy.ndimage import gaussian_filter, maximum_filter\nimport scipy.signal\n'
             'def smooth(x): return gaussian_filter(x, 1), ndimage.sobel(x), maximum_filter(x, 3), ndimage.grey_dilation(x, 3)\n', module.__dict__)
        sys.modules['somebody'] = module
        self.addCleanup(sys.modules.pop, 'somebody')
        return module

    def test_functions_stand_in_and_go(self):
        user, theirs = self.user(), scipy.ndimage.gaussian_filter
        expected, maximum = user.smooth(X), user.maximum_filter
        with stentor.install_as('scipy.ndimage') as names:
            self.assertIn('correlate1d', names)
            self.assertNotIn('Plan', names)
            self.assertIsNot(scipy.ndimage.gaussian_filter, theirs)
            self.assertIs(user.gaussian_filter, scipy.ndimage.gaussian_filter)
            self.assertIs(user.maximum_filter, maximum)
            np.testing.assert_array_equal(user.gaussian_filter(X, 1), stentor.gaussian_filter(X, 1))
            for ours, each in zip(user.smooth(X), expected):
                np.testing.assert_allclose(ours, each, rtol=1e-12, atol=1e-12)
            # An argument that scipy does not have.
            self.assertEqual(user.gaussian_filter(X, 1, nan='ignore').shape, X.shape)
        self.assertIs(scipy.ndimage.gaussian_filter, theirs)
        self.assertIs(user.gaussian_filter, theirs)

    def test_an_exception_and_a_second_block(self):
        theirs = scipy.ndimage.sobel
        with self.assertRaises(KeyError), stentor.install_as('scipy.ndimage'), stentor.install_as('scipy.ndimage'):
            raise KeyError
        self.assertIs(scipy.ndimage.sobel, theirs)

    def test_what_somebody_else_has_changed_stays(self):
        theirs, other = scipy.ndimage.sobel, lambda x: x
        self.addCleanup(setattr, scipy.ndimage, 'sobel', theirs)
        with stentor.install_as('scipy.ndimage'):
            scipy.ndimage.sobel = other
        self.assertIs(scipy.ndimage.sobel, other)

    def test_arrays_that_are_refused_go_to_scipy(self):
        wide, masked = X.astype(np.longdouble), np.ma.masked_array(X, X > 1)
        expected = scipy.fft.fft(wide), scipy.ndimage.gaussian_filter(masked, 1)
        with stentor.install_as('scipy.fft'), stentor.install_as('scipy.ndimage'):
            self.assertEqual(scipy.fft.fft(wide).dtype, np.clongdouble)
            np.testing.assert_array_equal(scipy.fft.fft(wide), expected[0])
            np.testing.assert_array_equal(scipy.ndimage.gaussian_filter(masked, 1), expected[1])

    def test_other_modules(self):
        kernel, out = np.ones((3, 3)), np.empty((12, 10), complex)
        expected = np.fft.fft(X, None, 0, None), scipy.signal.fftconvolve(X, kernel, 'same'), scipy.fft.dctn(X)
        with stentor.install_as('numpy.fft'), stentor.install_as('scipy.signal'), stentor.install_as('scipy.fft'):
            self.assertIs(np.fft.fft(X, None, 0, None, out), out)
            np.testing.assert_allclose(np.fft.fft(a=X, axis=0), expected[0], atol=1e-12)
            np.testing.assert_allclose(scipy.signal.fftconvolve(X, kernel, 'same'), expected[1], atol=1e-12)
            np.testing.assert_allclose(scipy.fft.dctn(X), expected[2], atol=1e-11)
        np.testing.assert_allclose(out, expected[0], atol=1e-12)

    def test_as_numpy_calls(self):
        """Repeated axes, None in s, and an `out` that is not an array."""
        # Before version 2.1, NumPy ignored sizes of a repeated first axis.
        expected = [(name, s, getattr(np.fft, name)(X, s, (0, 0, 1))) for name in ('fftn', 'ifftn', 'rfftn', 'irfftn') for s in (None, (5, 6, 8))
                    if tuple(int(n) for n in np.__version__.split('.')[:2]) >= (2, 1)]
        with stentor.install_as('numpy.fft'):
            for name, s, theirs in expected:
                np.testing.assert_allclose(getattr(np.fft, name)(X, s, (0, 0, 1)), theirs, atol=1e-11)
            with self.assertWarns(DeprecationWarning):
                self.assertEqual(np.fft.irfftn(X, (None, None), (0, 1)).shape, (12, 18))
            with self.assertWarns(DeprecationWarning):
                self.assertEqual(np.fft.fft2(X, (4, -1), None).shape, (4, 10))
            with self.assertRaises(TypeError):
                np.fft.fft(X, out='')

    def test_repeated_axes_as_in_numpy(self):
        """Sizes are those of the input, and an axis may be counted from both ends."""
        twice = np.fft.fft(np.fft.fft(X, axis=0), axis=0)
        short = np.fft.fft(np.fft.fft(X, 5, 0), 12, 0)
        half = np.fft.fft(np.fft.rfft(X, axis=0), 12, 0)
        with stentor.install_as('numpy.fft'):
            for axes in ((0, 0), (0, -2), (-2, 0)):
                np.testing.assert_allclose(np.fft.fftn(X, None, axes), twice, atol=1e-11)
                np.testing.assert_allclose(np.fft.fft2(X, (-1, 5), axes), short, atol=1e-11)
                np.testing.assert_allclose(np.fft.rfftn(X, None, axes), half, atol=1e-11)
                np.testing.assert_allclose(np.fft.irfftn(X, None, axes), np.fft.irfft(np.fft.ifft(X, axis=0), axis=0), atol=1e-11)
                for sizes in ((4,), (4, 4, 4)):
                    with self.assertRaisesRegex(ValueError, 'different lengths'):
                        np.fft.fftn(X, sizes, axes)
            for axes in (None, (0, 1), (1, 1)):
                with self.assertRaisesRegex(ValueError, 'give 1 or more'):
                    np.fft.irfftn(X[:, :1], None, axes)

    def test_threads_that_come_and_go(self):
        theirs = scipy.ndimage.prewitt

        def work():
            for _ in range(20):
                with stentor.install_as('scipy.ndimage'):
                    scipy.ndimage.prewitt(X)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertIs(scipy.ndimage.prewitt, theirs)

    def test_what_is_imported_meanwhile(self):
        with stentor.install_as('scipy.ndimage'):
            user = self.user()
        self.assertIs(user.gaussian_filter, scipy.ndimage.gaussian_filter)

    def test_refused(self):
        for name in ('scipy', 'scipy.linalg', None, 3):
            with self.assertRaises(ValueError), stentor.install_as(name):
                pass


if __name__ == '__main__':
    unittest.main()
