#!/usr/bin/env python3
"""Mutation testing: makes realistic faults, one at a time, in a copy of the built Python package.

Each fault names the test that must detect it. Usage: mutants.py BUILD [--seed N] [--count N].
By default all faults; the last line counts those that were detected."""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def read(path):
    """The faults in a file, as a list of (file, test, before, after)."""
    found = []
    for block in path.read_text().split('\n\n'):
        words = dict(line.split(' ', 1) for line in block.strip().splitlines()
                     if not line.startswith('#'))
        found.append((words['file'], words['test'], words['-'], words['+']))
    return found


def notices(build, mutant, folder):
    name, test, before, after = mutant
    package = pathlib.Path(folder) / 'stentor'
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(build / 'python' / 'stentor', package)
    text = (package / name).read_text()
    if before not in text:
        sys.exit(f'{name} has no line "{before}": the mutant is to be written anew')
    (package / name).write_text(text.replace(before, after))
    env = {**os.environ, 'PYTHONPATH': folder, 'STENTOR_CACHE_DIR': ':memory:'}
    try:
        done = subprocess.run([sys.executable, '-B', str(HERE.parent / 'python' / f'test_{test}.py')], env=env, capture_output=True, timeout=180)
    except subprocess.TimeoutExpired:
        return True
    if done.returncode == 77:
        sys.exit(f'test_{test}.py is skipped here')
    return done.returncode != 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--seed', type=int, default=time.time_ns() % 2**32)
    parser.add_argument('--count', type=int, default=0)
    options = parser.parse_args()
    mutants = read(HERE / 'python.txt')
    if options.count:
        random.seed(options.seed)
        mutants = random.sample(mutants, min(options.count, len(mutants)))
    alive = []
    with tempfile.TemporaryDirectory(prefix='stentor-mutants-') as folder:
        for mutant in mutants:
            if not notices(options.build.resolve(), mutant, folder):
                alive.append(mutant)
                print(f'not noticed by test_{mutant[1]}.py: {mutant[0]}: {mutant[3]}')
    print(f'{len(mutants) - len(alive)} of {len(mutants)} mutants are noticed')
    sys.exit(1 if alive else 0)


if __name__ == '__main__':
    main()
