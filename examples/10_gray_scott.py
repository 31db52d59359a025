#!/usr/bin/env python3
"""A nonlinear system of two fields: the Gray-Scott reaction, whose spots divide and fill the plane.

An assignment may be any expression of the values at a point and around it, so that nonlinear terms
need no extra pass. Draws v at four times.

    python3 examples/10_gray_scott.py [PICTURE.png]
"""
import sys

import numpy as np
from picture import SEA, save_png, shades

import stentor

GRAY_SCOTT = stentor.System('''
field u, v
coefficient feed = 0.037, kill = 0.06
stencil lap = taps [-1 -1, -1 0, -1 1, 0 -1, 0 0, 0 1, 1 -1, 1 0, 1 1] (1/20 1/5 1/20 1/5 -1 1/5 1/20 1/5 1/20)
u.next = u + lap(u) - u*v*v + feed*(1 - u)
v.next = v + 0.5*lap(v) + u*v*v - (feed + kill)*v
''')


def main(path='gray_scott.png'):
    shape, random = (160, 160), np.random.default_rng(3)
    u, v = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    for y, x in random.integers(10, 150, (12, 2)):
        u[y - 4:y + 4, x - 4:x + 4], v[y - 4:y + 4, x - 4:x + 4] = 0.5, 0.25
    state = GRAY_SCOTT({'u': u, 'v': v}, steps=3600, every=900)
    save_png(path, np.concatenate([shades(frame / 0.35, SEA) for frame in state['v']], axis=1))
    covered = [float((frame > 0.1).mean()) for frame in state['v']]
    print('v covers ' + ', '.join(f'{100 * each:.0f}%' for each in covered) + f' of the plane; the picture is {path}')
    if not covered[0] < covered[-1] < 0.9:
        sys.exit('the pattern should have grown over the plane')


if __name__ == '__main__':
    main(*sys.argv[1:])
