#!/usr/bin/env python3
"""Deconvolution of a blurred photograph by the Richardson-Lucy iteration

    sharp <- sharp * G(blurred / G(sharp)),

where G is the Gaussian blur, which is its own transpose. Draws the photograph, the photograph with
blur and noise, and the result of 40 iterations.

    python3 examples/06_photograph.py [PICTURE.png]
"""
import pathlib
import sys

import numpy as np
from picture import save_png

import stentor

HERE = pathlib.Path(__file__).resolve().parent
SIGMA = 2.0


def blur(x):
    return stentor.gaussian_filter(x, SIGMA, mode='reflect')


def deblur(blurred, rounds):
    sharp = blurred.copy()
    for _ in range(rounds):  # repeated calls have an overhead of a few microseconds only
        sharp *= blur(blurred / blur(sharp))
    return sharp


def decibels(x, truth):
    """The peak signal-to-noise ratio in decibels."""
    return 10 * np.log10(255**2 / np.mean((x - truth) ** 2))


def main(path='photograph.png'):
    photograph = np.load(HERE / 'data/ascent.npy').astype(np.float32)
    noise = np.random.default_rng(0).normal(0, 0.3, photograph.shape).astype(np.float32)
    blurred = np.maximum(blur(photograph) + noise, 1)
    sharp = deblur(blurred, 40)
    save_png(path, np.clip(np.concatenate([photograph, blurred, sharp], axis=1), 0, 255).astype(np.uint8))
    before, after = decibels(blurred, photograph), decibels(sharp, photograph)
    print(f'{before:.1f} dB blurred, {after:.1f} dB after 40 rounds; the picture is {path}')
    if after < before + 2:
        sys.exit('the photograph should have gained 2 dB')


if __name__ == '__main__':
    main(*sys.argv[1:])
