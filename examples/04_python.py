#!/usr/bin/env python3
"""Stencils and filters on NumPy arrays.

Draws a mountain range, the range after 100 steps of diffusion, and its ridges.

    python3 examples/04_python.py [PICTURE.png]
"""
import pathlib
import sys

import numpy as np
from picture import save_png

import stentor

HERE = pathlib.Path(__file__).resolve().parent


def relief(z):
    """Grey levels of a landscape lit from the north-west; the slopes are correlations."""
    slope = np.array([-0.5, 0.0, 0.5])
    down, right = (stentor.correlate(z, slope, axes=(axis,), mode='nearest') for axis in (0, 1))
    light = (0.6 + 0.02 * (down + right)) / np.sqrt(1 + 0.001 * (down**2 + right**2))
    return np.clip(255 * light, 0, 255).astype(np.uint8)


def main(path='python.png'):
    z = np.load(HERE / 'data/jacksboro.npy').astype(np.float32)
    plan = stentor.Plan(z.shape, 'heat-2d:alpha=0.2', boundary='reflect', dtype=z.dtype, steps=100, device='host')
    worn = plan(z)
    ridges = z - stentor.gaussian_filter(z, sigma=12)
    grey = np.clip(128 + 0.8 * ridges, 0, 255).astype(np.uint8)
    save_png(path, np.concatenate([relief(z), relief(worn), grey], axis=1))
    print(f'{plan!r}\nmean height {z.mean():.3f} before and {worn.mean():.3f} after; the picture is {path}')


if __name__ == '__main__':
    main(*sys.argv[1:])
