#!/usr/bin/env python3
"""Grids from files in formats that the command does not read.

A library for each format reads and writes files, and Stentor works on its arrays.

    python3 examples/08_files.py [FOLDER]

Writes a smoothed elevation map as .npy, and as HDF5, Zarr and TIFF if h5py, zarr and tifffile are
installed.
"""
import pathlib
import sys
import tempfile

import numpy as np

import stentor

MAP = pathlib.Path(__file__).with_name('data') / 'jacksboro.npy'


def with_npy(folder, z):
    """Memory-mapped files are read and written on access, so they may be larger than memory."""
    source, target = folder / 'z.npy', folder / 'smooth.npy'
    np.save(source, z)
    smooth = np.lib.format.open_memmap(target, 'w+', np.float32, z.shape)
    stentor.gaussian_filter(np.load(source, mmap_mode='r'), 3, output=smooth)
    smooth.flush()
    return np.load(target)


def with_hdf5(folder, z):
    import h5py
    with h5py.File(folder / 'z.h5', 'w') as file:
        file['z'] = z
        file['smooth'] = stentor.gaussian_filter(file['z'][()], 3)
        return file['smooth'][()]


def with_zarr(folder, z):
    import zarr
    zarr.save(str(folder / 'z.zarr'), z)
    zarr.save(str(folder / 'smooth.zarr'), stentor.gaussian_filter(np.asarray(zarr.load(str(folder / 'z.zarr'))), 3))
    return np.asarray(zarr.load(str(folder / 'smooth.zarr')))


def with_tiff(folder, z):
    import tifffile
    tifffile.imwrite(folder / 'z.tif', z)
    tifffile.imwrite(folder / 'smooth.tif', stentor.gaussian_filter(tifffile.imread(folder / 'z.tif'), 3))
    return tifffile.imread(folder / 'smooth.tif')


def main(folder):
    z = np.load(MAP).astype(np.float32)
    expected = stentor.gaussian_filter(z, 3)
    for each in (with_npy, with_hdf5, with_zarr, with_tiff):
        name = each.__name__.rpartition('_')[2]
        try:
            found = each(folder, z)
        except ImportError as error:
            print(f'{name:5} {error}')
            continue
        if not np.array_equal(found, expected):
            sys.exit(f'{name} gives other numbers')
        print(f'{name:5} the same {found.shape} numbers')


if __name__ == '__main__':
    if len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(pathlib.Path(folder))
