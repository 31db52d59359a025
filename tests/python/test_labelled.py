"""Labelled and chunked arrays: Stentor's functions in xarray.apply_ufunc and dask's map_overlap."""
import sys
import unittest

import numpy as np

import stentor

try:
    import dask.array
    import xarray
except ImportError as error:
    print(f'xarray and dask are not both installed: {error}')
    sys.exit(77)

X = np.random.default_rng(0).standard_normal((40, 30))


class Xarray(unittest.TestCase):
    def test_apply_ufunc(self):
        field = xarray.DataArray(np.stack([X, 2 * X]), dims=('time', 'y', 'x'), coords={'time': [0, 1]})
        smooth = xarray.apply_ufunc(stentor.gaussian_filter, field, kwargs={'sigma': 2, 'axes': (-2, -1)}, input_core_dims=[['y', 'x']],
                                    output_core_dims=[['y', 'x']])
        self.assertEqual(smooth.dims, ('time', 'y', 'x'))
        np.testing.assert_allclose(smooth.values[1], stentor.gaussian_filter(2 * X, 2), rtol=1e-12)

    def test_a_labelled_array_itself(self):
        np.testing.assert_allclose(stentor.laplace(xarray.DataArray(X, dims=('y', 'x'))), stentor.laplace(X))

    def test_missing_values(self):
        masked = xarray.DataArray(X, dims=('y', 'x')).where(X > -1)
        filled = xarray.apply_ufunc(stentor.gaussian_filter, masked, kwargs={'sigma': 2, 'nan': 'ignore'})
        self.assertFalse(bool(filled.isnull().any()))


class Dask(unittest.TestCase):
    def test_map_overlap(self):
        pieces = dask.array.from_array(X, chunks=(16, 16))
        for boundary, mode in (('reflect', 'reflect'), ('periodic', 'wrap'), ('nearest', 'nearest')):
            made = pieces.map_overlap(stentor.gaussian_filter, depth=8, boundary=boundary, sigma=2, mode=mode, dtype=X.dtype)
            np.testing.assert_allclose(made.compute(), stentor.gaussian_filter(X, 2, mode=mode), rtol=1e-11, atol=1e-12)

    def test_map_blocks_along_an_axis(self):
        pieces = dask.array.from_array(X, chunks=(8, -1))
        np.testing.assert_allclose(pieces.map_blocks(stentor.fft.dct, dtype=X.dtype).compute(), stentor.fft.dct(X), rtol=1e-11, atol=1e-11)

    def test_by_xarray(self):
        field = xarray.DataArray(dask.array.from_array(np.stack([X] * 4), chunks=(1, 40, 30)), dims=('time', 'y', 'x'))
        made = xarray.apply_ufunc(stentor.sobel, field, kwargs={'axis': 0}, input_core_dims=[['y', 'x']], output_core_dims=[['y', 'x']],
                                  dask='parallelized', output_dtypes=[X.dtype], vectorize=True)
        np.testing.assert_allclose(made.values[2], stentor.sobel(X, 0), rtol=1e-11, atol=1e-12)


if __name__ == '__main__':
    unittest.main()
