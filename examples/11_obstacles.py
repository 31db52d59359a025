#!/usr/bin/env python3
"""A system with a mask: waves through two gaps in a wall and around pillars.

`where` keeps the water height at 0 in the obstacles. A column of points at the left oscillates as a
sine, and the other sides absorb waves. Draws the water at three times.

    python3 examples/11_obstacles.py [PICTURE.png]
"""
import sys

import numpy as np
from picture import BLUE_RED, save_png, shades

import stentor

WATER = stentor.System('''
field h(2)
coefficient obstacle, d
stencil lap = laplace-2d:order=4
boundary h = reflect, reflect
h.next = where(obstacle > 0, 0, (2*h - (1 - d)*h.prev + 0.2*lap(h)) / (1 + d))
''')


def main(path='obstacles.png'):
    shape = (240, 300)
    y, x = np.mgrid[0:shape[0], 0:shape[1]]
    obstacle = (abs(x - 100) < 3) & (abs(abs(y - 120) - 34) > 9)  # a wall with two gaps
    for row, column, radius in ((120, 190, 15), (60, 210, 9), (185, 215, 11)):
        obstacle |= (y - row) ** 2 + (x - column) ** 2 < radius**2
    given = {'obstacle': obstacle.astype(np.float32), 'd': stentor.sponge(shape, 30, 0.15, sides=[(True, True), (False, True)])}
    steps = 780
    sine = 0.1 * np.sin(2 * np.pi * np.arange(steps) / 26) * np.minimum(1, np.arange(steps) / 80)
    line = [('h', (row, 8), sine) for row in range(shape[0])]
    frames = WATER({'h': np.zeros(shape, np.float32)}, given, steps, every=steps // 3, sources=line)['h']
    drawn = []
    for frame in frames:
        picture = shades(0.5 + 0.5 * frame / 0.5, BLUE_RED)
        picture[obstacle] = (50, 50, 50)
        drawn.append(picture)
    save_png(path, np.concatenate(drawn, axis=1))
    print(f'the largest wave behind the wall is {np.abs(frames[-1][:, 110:]).max():.3g}; the picture is {path}')
    if frames[-1][obstacle].any() or not np.abs(frames[-1][:, 110:]).max() > 0.1:
        sys.exit('waves should pass through the gaps, and stay 0 in the obstacles')


if __name__ == '__main__':
    main(*sys.argv[1:])
