#!/usr/bin/env python3
"""bench/studies/envelope.py finds plans that are not the cheapest, and draws every run."""
import json
import os
import subprocess
import sys
import tempfile
import xml.dom.minidom

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench', 'studies', 'envelope.py')
MACHINE = {'machine': 'test', 'copy_bandwidth': 4e12, 'peers': [{'stencil': 'heat-2d', 'peer': 'P', 'gstencils': 900}]}


def run_of(steps, strategy, chosen, measured=None, predicted=1e-3, stencil='heat-2d', boundary='wrap'):
    row = {'stencil': stencil, 'boundary': boundary, 'points': 10 ** 8, 'steps': steps, 'strategy': strategy,
           'chosen': chosen, 'predicted': predicted}
    if measured:
        row['measured'] = measured
    return row


def outcome(runs):
    with tempfile.TemporaryDirectory() as folder:
        lines, svg = os.path.join(folder, 'lines'), os.path.join(folder, 'svg')
        with open(lines, 'w', encoding='utf-8') as file:
            file.write('\n'.join(map(json.dumps, [MACHINE] + runs)))
        done = subprocess.run([sys.executable, SCRIPT, lines, '--svg', svg], capture_output=True, text=True, check=False)
        picture = xml.dom.minidom.parse(svg)
    titles = [t.firstChild.data for t in picture.getElementsByTagName('text') if t.getAttribute('font-weight') == 'bold']
    assert len(titles) == len({(run['stencil'], run['boundary']) for run in runs}), titles
    for run in runs:
        assert sum(t.startswith(run['stencil']) and t.endswith(run['boundary']) for t in titles) == 1, titles
    marks = [c for c in picture.getElementsByTagName('circle') if c.getAttribute('r') == '2.6']
    return done.returncode, done.stdout, len(marks)


def main():
    good = [run_of(1, 'direct', 1, 1.05e-3), run_of(1, 'spectral', 0, 1e-3), run_of(1000, 'spectral', 1, 1e-3),
            run_of(1000, 'direct', 0, predicted=0.5)]
    bad = good[:1] + [run_of(1, 'spectral', 0, 0.9e-3)] + good[2:]
    code, text, marks = outcome(good)
    assert code == 0 and '0 of 2' in text and marks == 4, (code, text, marks)
    code, text, _ = outcome(bad)
    assert code == 1 and '1 of 2' in text and 'heat-2d, wrap, 1 steps: a plan takes direct' in text, (code, text)
    every = good + [run_of(1, 'segment', 1, 6e-4, stencil='heat-1d'), run_of(1, 'direct', 0, 7e-4, stencil='heat-1d'),
                    run_of(1, 'direct', 1, 2e-3, stencil='heat-3d')]
    code, text, marks = outcome(every)  # a picture each of lines, planes and solids
    assert code == 0 and '0 of 4' in text and marks == 7, (code, text, marks)
    fixed = [run_of(steps, name, name == 'spectral', 1e-3 * (1 + steps * (name == 'direct')), stencil='heat-3d', boundary='fixed')
             for steps in (1, 1000) for name in ('direct', 'spectral')]
    code, text, marks = outcome(every + fixed)  # and one more for the periodic 3D case
    assert code == 0 and '0 of 6' in text and marks == 11, (code, text, marks)


if __name__ == '__main__':
    main()
