#!/usr/bin/env python3
"""Times random problems on one core of the host, by steps and by transforms, and their predictions.

Usage: host_costs.py [--stentor PATH] [--seed N] [--seconds S] [--out FILE.jsonl]

Times are CPU times (a run repeated n + 1 times minus a run of one), so that other work on the
machine disturbs them little. Prints at the end how many plans would lose more than a tenth by
following the predictions, and the errors of the predictions.
"""
import argparse
import json
import pathlib
import random
import resource
import subprocess
import tempfile
import time

SIZES = {1: ['65536', '262147', '1048576', '8388608'],
         2: ['256x256', '500x1200', '1021x1021', '1024x1024', '4096x512', '2048x2048', '3000x3000'],
         3: ['64x64x64', '100x100x100', '61x97x256', '128x128x128', '200x200x200']}
STENCILS = {1: ['heat-1d', '1d5p', '1d7p', 'laplace-1d:order=16', 'gaussian-1d:sigma=8'],
            2: ['heat-2d', 'box-2d9p', 'box-2d49p', 'star-2d13p', 'gaussian-2d:sigma=3'],
            3: ['heat-3d', 'box-3d27p', 'laplace-3d:order=8']}
BOUNDARIES = ['wrap', 'reflect', 'fixed', 'constant=0.5', 'mirror', 'nearest']
STRATEGIES = ['host', 'host-spectral']


def draw():
    rank = random.choice([1, 2, 2, 3, 3])
    stencil, size = random.choice(STENCILS[rank]), random.choice(SIZES[rank])
    steps = 1 if 'laplace' in stencil else random.choice([1, 3, 10, 30, 100, 1000])
    points = 1
    for extent in size.split('x'):
        points *= int(extent)
    return points, steps, ['--device', 'host', '--threads', '1', '--stencil', stencil, '--size', size, '--steps', str(steps),
                           '--dtype', random.choice(['f64', 'f64', 'f32', 'f32', 'f16']), '--boundary', random.choice(BOUNDARIES)]


def predict(stentor, words):
    text = subprocess.run([stentor, 'explain', *words], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[1]: float(row[2]) for row in rows if len(row) > 2 and row[0] in ('1.', '2.') and row[2][0].isdigit()}


def spent(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(stentor, words, strategy, repeat):
    with tempfile.TemporaryDirectory() as folder:
        command = [stentor, 'run', *words, '--strategy', strategy, '--out', f'{folder}/out.npy', '--repeat']
        return min((spent([*command, str(repeat + 1)]) - spent([*command, '1'])) / repeat for _ in range(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--stentor', default='build/src/cli/stentor')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=240)
    parser.add_argument('--out', type=pathlib.Path)
    options = parser.parse_args()
    random.seed(options.seed)
    off, lost, count, end = {name: [] for name in STRATEGIES}, [], 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        points, steps, words = draw()
        predicted, took = predict(options.stentor, words), {}
        for strategy in predicted:
            passes = steps if strategy == 'host' else 4
            if points * passes < 3e8:
                took[strategy] = measure(options.stentor, words, strategy, max(1, min(40, int(2e7 / points / passes))))
        # Shorter times are below the clock's resolution.
        took = {name: seconds for name, seconds in took.items() if seconds > 1e-4}
        for name, seconds in took.items():
            off[name].append(predicted[name] / seconds)
        if len(took) == 2:
            count += 1
            loss = took[min(predicted, key=predicted.get)] / min(took.values())
            if loss > 1.1:
                lost.append(loss)
                print(f'{loss:.2f}', ' '.join(words[5::2]), took, predicted, flush=True)
        if options.out:
            with options.out.open('a', encoding='utf-8') as out:
                out.write(json.dumps({'words': words, 'predicted': predicted, 'seconds': took}) + '\n')
    print(f'{len(lost)} of {count} plans lose more than a tenth, the worst {max(lost, default=1):.2f} times')
    for name, ratios in off.items():
        ratios.sort()
        if ratios:
            print(name, len(ratios), 'predicted / measured:', ' '.join(f'{ratios[int(q * (len(ratios) - 1))]:.2f}' for q in (0, .05, .5, .95, 1)))


if __name__ == '__main__':
    main()
