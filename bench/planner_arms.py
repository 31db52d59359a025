#!/usr/bin/env python3
"""What ONLINE would try of each problem whose candidates were all timed, for tests/tune/recorded_arms.inc.

Usage: planner_arms.py TIMES.jsonl > tests/tune/recorded_arms.inc

TIMES.jsonl is what `planner.py regret --times` wrote. A row is a problem: bytes of a grid, the fastest of all candidates, how many may be tried, and of each
what it was predicted to take and what it took, in microseconds. They are chosen as src/tune/online.c chooses them: the best estimate, the best of each
other strategy that is not hopeless, then whatever is likely.
"""
import json
import math
import re
import sys

ARMS, LIKELY, HOPELESS = 8, 1.5, 3.0
SIZES = {'f64': 8, 'f32': 4, 'f16': 2}


def chosen(rows):
    """The arms of a problem, the estimate's choice first."""
    rows = sorted(rows, key=lambda row: row['predicted'])
    arms = []
    for most in (HOPELESS, LIKELY):
        for row in rows:
            known = [arm['strategy'] for arm in arms]
            wanted = most == LIKELY or row['strategy'] not in known
            if wanted and row['predicted'] <= most * rows[0]['predicted'] and row not in arms and len(arms) < ARMS:
                arms.append(row)
    return arms


def main():
    problems = {}
    with open(sys.argv[1], encoding='utf-8') as lines:
        for line in lines:
            row = json.loads(line)
            problems.setdefault(row['problem'], []).append(row)
    print('/* Made by bench/planner_arms.py of all candidates\' times on an H200, 23 November 2026, commit b77e832 (bench/results/2026-11-23-regret-2.md). */')
    for name, rows in problems.items():
        extents, dtype = re.match(r'(\S+) (f\d\d) ', name).groups()
        size = math.prod(map(int, extents.split('x'))) * SIZES[dtype]
        arms = chosen(rows)
        if len(arms) < 2:
            continue
        best = min(row['measured'] for row in rows)
        told = ', '.join(f"{{{1e6 * arm['predicted']:.4g}, {1e6 * arm['measured']:.4g}}}" for arm in arms)
        print(f'{{"{name}", {size:.4g}, {1e6 * best:.4g}, {len(arms)}, {{{told}}}}},')


if __name__ == '__main__':
    main()
