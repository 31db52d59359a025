#!/usr/bin/env python3
"""How well plans are chosen, and how soon: over bench/planner_problems.json.

Usage: planner.py compile|first|regret [--stentor PATH] [--list FILE] [--arch sm_90] [--every N] [--limit SECONDS] [--json FILE]

  compile  needs no GPU: seconds of NVRTC for each kernel that a plan of each problem has, one after the other, for --arch;
           ends with the median and the longest of each template, which src/context/compile_cost.c keeps
  first    seconds from nothing to the first result: an empty cache folder, one run of the command, the start of driver
           and process apart (that of a run that is warm)
  regret   on a GPU: seconds of the estimate's choice over those of the fastest of all candidates (`stentor tune --mode patient`),
           and the same of MEASURE's

Problems that the GPU has no memory for are skipped and counted. --every takes each N-th problem.
"""
import argparse
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def expand(entries):
    """A list instead of a value means one problem for each."""
    for entry in entries:
        lists = [value if isinstance(value, list) else [value] for value in entry.values()]
        for values in itertools.product(*lists):
            yield dict(zip(entry, values))


def arguments(problem):
    return [text for key in problem for text in (f'--{key}', str(problem[key]))]


def name(problem):
    return f"{problem['stencil']} {problem['size']} {problem['dtype']} {problem['boundary']} T={problem['steps']}"


def ask(stentor, command, problem, *more, limit=None):
    """The JSON that a command prints; None, after its message, where it fails."""
    try:
        done = subprocess.run([stentor, command, *arguments(problem), *more, '--json'], capture_output=True, text=True,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        print(f'  {name(problem)}: longer than {limit} s')
        return None
    if done.returncode:
        print(f'  {name(problem)}: {done.stderr.strip()}')
        return None
    return json.loads(done.stdout)


def compile_times(options, problems):
    by_template = {}
    rows = []
    for problem in problems:
        told = ask(options.stentor, 'compile', problem, '--arch', options.arch, '--cache-dir', ':memory:', '--threads', '1')
        if not told:
            continue
        seconds = [kernel['compile_seconds'] for kernel in told['kernels']]
        for kernel in told['kernels']:
            by_template.setdefault(kernel['name'], []).append(kernel['compile_seconds'])
        rows.append({'problem': name(problem), 'strategy': told['strategy'], 'kernels': len(seconds),
                     'sum': sum(seconds), 'longest': max(seconds, default=0)})
        print(f"{rows[-1]['sum']:7.3f} s, longest {rows[-1]['longest']:.3f} s, {len(seconds)} kernels, "
              f"{told['strategy']}: {name(problem)}", flush=True)
    for template, seconds in sorted(by_template.items()):
        print(f'{template:24s} {len(seconds):4d} kernels, median {statistics.median(seconds):.3f} s, longest {max(seconds):.3f} s')
    return {'arch': options.arch, 'problems': rows, 'templates': by_template}


def first_results(options, problems):
    rows = []
    for problem in problems:
        with tempfile.TemporaryDirectory() as folder:
            took = []
            for _ in range(2):
                begin = time.monotonic()
                told = ask(options.stentor, 'run', problem, '--cache-dir', folder, limit=options.limit)
                took.append(time.monotonic() - begin)
        if not told:
            continue
        rows.append({'problem': name(problem), 'strategy': told.get('strategy'), 'cold': took[0], 'warm': took[1],
                     'first': took[0] - took[1]})
        print(f"{rows[-1]['first']:7.3f} s more than warm ({took[1]:.3f} s): {name(problem)}", flush=True)
    return {'problems': rows}


def regrets(options, problems):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems:
            told = ask(options.stentor, 'tune', problem, '--mode', 'patient', '--cache-dir', folder, limit=options.limit)
            if not told:
                continue
            ranked = [row for row in told['ranking'] if row.get('measured_seconds')]
            cheapest = min(ranked, key=lambda row: row['seconds'], default=None)
            if not cheapest:
                continue
            best = min(row['measured_seconds'] for row in ranked)
            quick = ask(options.stentor, 'tune', problem, '--mode', 'measure', '--cache-dir', ':memory:', limit=options.limit)
            measured = None
            if quick:
                key = (quick['strategy'], quick['candidate'])
                measured = next((row['measured_seconds'] for row in ranked if (row['strategy'], row['candidate']) == key), None)
            rows.append({'problem': name(problem), 'candidates': len(ranked), 'best': best,
                         'estimate': cheapest['measured_seconds'] / best - 1,
                         'measure': measured / best - 1 if measured else None})
            print(f"estimate +{100 * rows[-1]['estimate']:.1f}%, of {len(ranked)} candidates: {name(problem)}", flush=True)
    lost = sorted(row['estimate'] for row in rows)
    if lost:
        print(f'{len(lost)} problems: median +{100 * statistics.median(lost):.1f}%, '
              f'90% quantile +{100 * lost[math.ceil(0.9 * len(lost)) - 1]:.1f}%, worst +{100 * lost[-1]:.1f}%')
    return {'problems': rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['compile', 'first', 'regret'])
    parser.add_argument('--stentor', default='build/src/cli/stentor')
    parser.add_argument('--list', default=HERE / 'planner_problems.json', type=pathlib.Path)
    parser.add_argument('--arch', default='sm_90')
    parser.add_argument('--every', default=1, type=int)
    parser.add_argument('--limit', default=120, type=float)
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    problems = list(expand(json.loads(options.list.read_text(encoding='utf-8'))))[::options.every]
    print(f'{len(problems)} problems')
    result = {'compile': compile_times, 'first': first_results, 'regret': regrets}[options.what](options, problems)
    print(f"{len(problems) - len(result['problems'])} problems were not measured")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
