#!/usr/bin/env python3
"""Draws the time of each strategy against the number of steps, and checks the planner's choices.

    build/bench/stentor-bench --envelope > envelope.jsonl
    bench/studies/envelope.py envelope.jsonl --svg envelope.svg

A run that was not measured is drawn with its predicted time and an open mark. The planner's choice
should take at most 10% longer than the cheapest strategy at every number of steps; exceptions are
listed, and the exit code is 1.
"""
import argparse
import json
import math
import sys

WITHIN = 1.10
COLOURS = {'direct': '#1f77b4', 'lowrank': '#2ca02c', 'segment': '#9467bd', 'spectral': '#d62728', 'aperiodic': '#ff7f0e',
           'cufft-spectral': '#8c564b'}
OTHER = '#7f7f7f'
WIDTH, HEIGHT, GAP, LEFT, TOP = 430, 330, 70, 60, 50


def read(lines):
    """The machine, and panel (stencil, boundary) -> runs."""
    machine, panels = {}, {}
    for line in lines:
        row = json.loads(line)
        if 'machine' in row:
            machine = row
        else:
            panels.setdefault((row['stencil'], row['boundary']), []).append(row)
    # A row of the picture is one stencil, wrap first.
    order = sorted(panels, key=lambda name: (name[0], name[1] != 'wrap', name[1]))
    return machine, {name: panels[name] for name in order}


def seconds(run):
    return run.get('measured', run['predicted'])


def off_the_envelope(runs):
    """(steps, chosen run, cheapest measured run) where the choice takes WITHIN times as long."""
    found = []
    for steps in sorted({run['steps'] for run in runs}):
        these = [run for run in runs if run['steps'] == steps]
        chosen = [run for run in these if run['chosen']]
        cheapest = min(these, key=seconds)
        if not chosen or seconds(chosen[0]) > WITHIN * seconds(cheapest):
            found.append((steps, chosen[0] if chosen else None, cheapest))
    return found


class Panel:
    """One pair of logarithmic axes."""

    def __init__(self, name, left, top, runs):
        self.name, self.left, self.top = name, left, top
        self.last = max(run['steps'] for run in runs)
        low, high = min(map(seconds, runs)), max(map(seconds, runs))
        self.low, self.high = math.floor(math.log10(low)), min(math.ceil(math.log10(high)), 1)

    def x(self, steps):
        return self.left + WIDTH * math.log10(steps) / max(math.log10(self.last), 1e-9)

    def y(self, time):
        return self.top + HEIGHT * (self.high - math.log10(time)) / (self.high - self.low)

    def inside(self, time):
        return math.log10(time) <= self.high + 1e-9

    def frame(self, title):
        box = f'<rect x="{self.left}" y="{self.top}" width="{WIDTH}" height="{HEIGHT}"'
        out = [f'<clipPath id="{self.name}">{box}/></clipPath>', f'{box} fill="none" stroke="#444"/>',
               f'<text x="{self.left + WIDTH / 2}" y="{self.top - 10}" text-anchor="middle" font-weight="bold">'
               f'{title}</text>',
               f'<text x="{self.left + WIDTH / 2}" y="{self.top + HEIGHT + 34}" text-anchor="middle">steps</text>']
        for power in range(self.low, self.high + 1):
            y = self.y(10.0 ** power)
            unit, base = ('s', 0) if power >= 0 else ('ms', -3) if power >= -3 else ('us', -6)
            label = f'{10 ** (power - base)} {unit}'
            out.append(f'<line x1="{self.left}" y1="{y:.1f}" x2="{self.left + WIDTH}" y2="{y:.1f}" stroke="#ddd"/>')
            out.append(f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        for power in range(0, int(math.log10(self.last)) + 1):
            x = self.x(10 ** power)
            out.append(f'<line x1="{x:.1f}" y1="{self.top}" x2="{x:.1f}" y2="{self.top + HEIGHT}" stroke="#eee"/>')
            out.append(f'<text x="{x:.1f}" y="{self.top + HEIGHT + 16}" text-anchor="middle">{10 ** power}</text>')
        return out

    def line(self, points, colour, dashes=''):
        """A broken line through (steps, seconds), as far as the frame shows it."""
        path = ' '.join(f'{self.x(s):.1f},{self.y(t):.1f}' for s, t in points)
        return (f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes} '
                f'clip-path="url(#{self.name})"/>')


def draw_panel(panel, name, runs, peers):
    stencil, boundary = name
    points = runs[0]['points']
    out = panel.frame(f'{stencil}, {points:,} points, {boundary}')
    labels = []
    for peer in peers:
        if peer['stencil'] == stencil:
            rate = 1e9 * peer['gstencils']
            out.append(panel.line([(1, points / rate), (panel.last, panel.last * points / rate)], '#000',
                                  ' stroke-dasharray="6 4"'))
            labels.append((f'{peer["peer"]}, {peer["gstencils"]:g} GStencil/s', '#000'))
    for strategy in sorted({run['strategy'] for run in runs}):
        colour = COLOURS.get(strategy, OTHER)
        mine = sorted((run for run in runs if run['strategy'] == strategy), key=lambda run: run['steps'])
        out.append(panel.line([(run['steps'], seconds(run)) for run in mine], colour))
        for run in mine:
            if panel.inside(seconds(run)):
                fill = colour if 'measured' in run else '#fff'
                out.append(f'<circle cx="{panel.x(run["steps"]):.1f}" cy="{panel.y(seconds(run)):.1f}" r="2.6" '
                           f'fill="{fill}" stroke="{colour}"/>')
        labels.append((strategy, colour))
    for run in runs:
        if run['chosen'] and panel.inside(seconds(run)):
            out.append(f'<circle cx="{panel.x(run["steps"]):.1f}" cy="{panel.y(seconds(run)):.1f}" r="6" fill="none" '
                       f'stroke="#000"/>')
    labels.append(('ring: what a plan takes', '#000'))
    for i, (text, colour) in enumerate(labels):
        out.append(f'<text x="{panel.left + 10}" y="{panel.top + 18 + 15 * i}" fill="{colour}">{text}</text>')
    return out


def draw(machine, panels):
    columns = 2
    rows = (len(panels) + 1) // columns
    width = LEFT + columns * (WIDTH + GAP)
    height = TOP + rows * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           'font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>',
           f'<text x="{LEFT}" y="20">{machine.get("machine", "")}, f64, copy '
           f'{1e-9 * machine.get("copy_bandwidth", 0):.0f} GB/s; open marks: predicted, not measured</text>']
    for i, (name, runs) in enumerate(panels.items()):
        panel = Panel(f'panel{i}', LEFT + i % columns * (WIDTH + GAP), TOP + i // columns * (HEIGHT + GAP), runs)
        out += draw_panel(panel, name, runs, machine.get('peers', []))
    return '\n'.join(out + ['</svg>', ''])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('lines', help='what stentor-bench --envelope printed')
    parser.add_argument('--svg', help='the picture')
    options = parser.parse_args()
    with open(options.lines, encoding='utf-8') as file:
        machine, panels = read(file)
    if not panels:
        sys.exit('envelope.py: no runs in ' + options.lines)
    if options.svg:
        with open(options.svg, 'w', encoding='utf-8') as file:
            file.write(draw(machine, panels))
    off = 0
    for (stencil, boundary), runs in panels.items():
        for steps, chosen, cheapest in off_the_envelope(runs):
            off += 1
            took = f'{chosen["strategy"]} {1e3 * seconds(chosen):.3g} ms' if chosen else 'nothing'
            print(f'{stencil}, {boundary}, {steps} steps: a plan takes {took}, '
                  f'{cheapest["strategy"]} {1e3 * seconds(cheapest):.3g} ms')
    total = sum(len({run['steps'] for run in runs}) for runs in panels.values())
    print(f'{off} of {total} numbers of steps off the envelope')
    return 1 if off else 0


if __name__ == '__main__':
    sys.exit(main())
