#!/usr/bin/env python3
"""Writes tests/tune/recorded_candidates_24.inc: recorded times for a simulation of ONLINE tuning.

Usage: recorded_candidates.py [--told TOLD.jsonl] TIMES.jsonl ... > FILE.inc

TIMES.jsonl is written by `planner.py regret --times`; if several files have a problem, the first
counts. TOLD.jsonl is the output of `stentor tune --arch sm_90 --json` for the same list: with it,
predictions are those of this build, else those of the run that was timed. A row of the output is a
problem: the bytes of a grid, the fastest time of all candidates, the number of candidates that may
be tried, and for each of these its predicted and measured time in microseconds and the index of its
strategy. They are chosen as in src/tune/online_tuning.c: the best estimate, the best of each other
strategy that is not dominated, then those predicted to be nearly as fast.
"""
import argparse
import json
import math
import re
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from planner import label, words_of  # noqa: E402

CANDIDATES, LIKELY, DOMINATED = 8, 1.5, 3.0
SIZES = {'f64': 8, 'f32': 4, 'f16': 2}


def chosen(rows, own):
    """The candidates tried for a problem, the estimate's choice first (`own` where it is known)."""
    rows = sorted(rows, key=lambda row: row['predicted'])
    candidates = [row for row in rows if [row['strategy'], row['candidate']] == own][:1]
    for most in (DOMINATED, LIKELY):
        for row in rows:
            known = [candidate['strategy'] for candidate in candidates]
            wanted = most == LIKELY or row['strategy'] not in known
            if wanted and row['predicted'] <= most * rows[0]['predicted'] and row not in candidates and len(candidates) < CANDIDATES:
                candidates.append(row)
    return candidates


def read_rows(paths):
    """A dict from each problem to its rows in the first file that has it."""
    problems = {}
    for path in paths:
        found = {}
        for line in path.read_text(encoding='utf-8').splitlines():
            row = json.loads(line)
            found.setdefault(row['problem'], []).append(row)
        problems = {**found, **problems}
    return problems


def predict_anew(problems, told_path):
    """Sets this build's predictions; returns the choice of ESTIMATE for each problem.

    Candidates that this build no longer has are not tried, but count for the fastest time.
    """
    own = {}
    for told in map(json.loads, told_path.read_text(encoding='utf-8').splitlines()):
        if 'error' in told:
            continue
        now = {words_of(row): row['seconds'] for row in told['ranking'] if 'launches' in row}
        own[label(told)] = told['estimated']
        for row in problems.get(label(told), []):
            row['predicted'] = now.get(words_of(row), math.inf)
    return own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('times', type=pathlib.Path, nargs='+')
    parser.add_argument('--told', type=pathlib.Path)
    options = parser.parse_args()
    problems = read_rows(options.times)
    own = predict_anew(problems, options.told) if options.told else {}
    print('/* Made by bench/studies/recorded_candidates.py of candidates\' times on an H200. */')
    for name, rows in problems.items():
        extents, dtype = re.match(r'(\S+) (f\d\d) ', name).groups()
        size = math.prod(map(int, extents.split('x'))) * SIZES[dtype]
        candidates = [candidate for candidate in chosen(rows, own.get(name)) if candidate['predicted'] < math.inf]
        if len(candidates) < 2:
            continue
        best = min(row['measured'] for row in rows)
        strategies = list(dict.fromkeys(candidate['strategy'] for candidate in candidates))
        told = ', '.join(f"{{{1e6 * candidate['predicted']:.4g}, {1e6 * candidate['measured']:.4g}, {strategies.index(candidate['strategy'])}}}" for candidate in candidates)
        print(f'{{"{name}", {size:.4g}, {1e6 * best:.4g}, {len(candidates)}, {{{told}}}}},')


if __name__ == '__main__':
    main()
