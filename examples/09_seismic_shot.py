#!/usr/bin/env python3
"""A system: a shot at the surface of layered ground, and the seismogram of a line of receivers.

The text states the physics: two time levels, a spatially varying velocity, a free surface above
(the pressure is 0 there, so that its mirror image has the opposite sign), and damping at the other
sides. Draws the velocities, the travelling wave, and the seismogram with time downwards.

    python3 examples/09_seismic_shot.py [PICTURE.png]
"""
import sys

import numpy as np
from picture import BLUE_RED, EARTH, save_png, shades

import stentor

WAVE = stentor.System('''
field p(2)                               # pressure
coefficient c2                           # (velocity * time step / distance of points)^2
coefficient d                            # damping
stencil lap = laplace-2d:order=8
boundary p = odd-mirror:constant, constant
p.next = (2*p - (1 - d)*p.prev + c2*lap(p)) / (1 + d)
''')
SHAPE, SPACING, STEP = (260, 440), 10.0, 1.2e-3  # points, metres, seconds


def velocities():
    """Velocities in metres per second: dipping layers cut by a fault, and a lens of salt."""
    y, x = np.mgrid[0:SHAPE[0], 0:SHAPE[1]].astype(float)
    depth = y + 14 * np.sin(x / 55) + 0.06 * x - np.where(x > 270 + 0.35 * y, 22, 0)
    layers = np.searchsorted([24, 60, 82, 118, 140, 186, 214], depth)
    speed = np.array([1500, 1850, 2100, 1950, 2500, 2800, 3200, 3700.])[layers] + 1.2 * y
    return np.where(((x - 150) / 70) ** 2 + ((y - 150) / 22) ** 2 < 1, 4300, speed)


def ricker(steps, frequency):
    t = np.pi * frequency * (np.arange(steps) * STEP - 1.2 / frequency)
    return (1 - 2 * t**2) * np.exp(-t**2)


def main(path='seismic_shot.png'):
    speed, steps, first = velocities(), 1900, 620
    c2 = (speed * STEP / SPACING) ** 2
    ground = {'c2': c2, 'd': stentor.sponge(SHAPE, 30, 0.12, sides=[(False, True), (True, True)])}
    still = {'p': np.zeros(SHAPE, np.float32)}
    receivers = [('p', (4, x)) for x in range(20, SHAPE[1] - 20)]
    # The source lies between two grid points.
    shot, pulse = ('p', (6, 205.5)), ricker(steps, 18) * c2[6, 205]
    half, early = WAVE(still, ground, first, sources=[(*shot, pulse[:first])], receivers=receivers)
    state, late = WAVE(half, ground, steps - first, sources=[(*shot, pulse[first:])], receivers=receivers)
    seismogram = np.concatenate([early, late])  # [steps, receivers]

    largest = np.abs(half['p']).max()
    print(f'largest pressure {largest:.3g} after {first} steps, {np.abs(state["p"]).max():.3g} after {steps}; the picture is {path}')
    gain = (1 + 4 * np.arange(steps) / steps)[:, None] ** 2  # amplifies the weaker, deeper echoes
    trace = (seismogram * gain)[:1820:7]
    loud = np.percentile(np.abs(trace), 97)
    ground_picture = shades((speed - speed.min()) / np.ptp(speed), EARTH)
    wave = shades(0.5 + 0.5 * half['p'] / (0.25 * largest), BLUE_RED)
    mixed = (0.45 * ground_picture + 0.55 * wave).astype(np.uint8)
    save_png(path, np.concatenate([ground_picture, mixed, shades(0.5 + 0.5 * trace / loud, BLUE_RED)], axis=1))
    if not np.isfinite(seismogram).all() or np.abs(state['p']).max() > 0.2 * largest:
        sys.exit('the waves should have left through the sides')


if __name__ == '__main__':
    main(*sys.argv[1:])
