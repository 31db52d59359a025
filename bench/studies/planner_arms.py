#!/usr/bin/env python3
"""What ONLINE would try of each problem whose candidates were all timed, for tests/tune/recorded_candidates_24.inc.

Usage: planner_arms.py [--told TOLD.jsonl] TIMES.jsonl ... > tests/tune/recorded_candidates_24.inc

TIMES.jsonl is what `planner.py regret --times` wrote; of a problem that several have, the first counts. TOLD.jsonl is what `stentor tune --arch sm_90 --json`
tells of the list: with it, predictions are this build's, not those of the run that was timed. A row is a problem: bytes of a grid, the fastest of all
candidates, how many may be tried, and of each what it was predicted to take and what it took, in microseconds, and the number of its strategy. They are chosen as src/tune/online_tuning.c chooses
them: the best estimate, the best of each other strategy that is not hopeless, then whatever is likely.
"""
import argparse
import json
import math
import re
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from planner import label, words_of  # noqa: E402

ARMS, LIKELY, HOPELESS = 8, 1.5, 3.0
SIZES = {'f64': 8, 'f32': 4, 'f16': 2}


def chosen(rows, own):
    """The arms of a problem, the estimate's choice first: its own where that is told, for some candidates are for measuring only."""
    rows = sorted(rows, key=lambda row: row['predicted'])
    arms = [row for row in rows if [row['strategy'], row['candidate']] == own][:1]
    for most in (HOPELESS, LIKELY):
        for row in rows:
            known = [arm['strategy'] for arm in arms]
            wanted = most == LIKELY or row['strategy'] not in known
            if wanted and row['predicted'] <= most * rows[0]['predicted'] and row not in arms and len(arms) < ARMS:
                arms.append(row)
    return arms


def read_rows(paths):
    """Of each problem what the first file that has it tells."""
    problems = {}
    for path in paths:
        found = {}
        for line in path.read_text(encoding='utf-8').splitlines():
            row = json.loads(line)
            found.setdefault(row['problem'], []).append(row)
        problems = {**found, **problems}
    return problems


def predict_anew(problems, told_path):
    """Candidates that are none any more are no arms; they tell of the best all the same. Returns what ESTIMATE chooses of each problem."""
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
    print('/* Made by bench/studies/planner_arms.py of candidates\' times on an H200, 24 November 2026, commit 58a45df (bench/results/2026-11-24-first-results-2.md). */')
    for name, rows in problems.items():
        extents, dtype = re.match(r'(\S+) (f\d\d) ', name).groups()
        size = math.prod(map(int, extents.split('x'))) * SIZES[dtype]
        arms = [arm for arm in chosen(rows, own.get(name)) if arm['predicted'] < math.inf]
        if len(arms) < 2:
            continue
        best = min(row['measured'] for row in rows)
        strategies = list(dict.fromkeys(arm['strategy'] for arm in arms))
        told = ', '.join(f"{{{1e6 * arm['predicted']:.4g}, {1e6 * arm['measured']:.4g}, {strategies.index(arm['strategy'])}}}" for arm in arms)
        print(f'{{"{name}", {size:.4g}, {1e6 * best:.4g}, {len(arms)}, {{{told}}}}},')


if __name__ == '__main__':
    main()
