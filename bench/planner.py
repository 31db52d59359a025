#!/usr/bin/env python3
"""How well plans are chosen, and how soon: over bench/planner_problems.json.

Usage: planner.py compile|first|regret|online [--stentor PATH] [--list FILE] [--arch sm_90] [--every N] [--limit SECONDS] [--seeds FILE] [--runs FILE] [--json FILE]

  compile  needs no GPU: seconds of NVRTC for each kernel that a plan of each problem has, one after the other, for --arch;
           ends with the median and the longest of each template, which src/context/compile_cost.c keeps
  first    on a GPU: seconds from nothing to the first result (context, plan, first execution; the driver's start apart), with an
           empty cache folder, or only a pack (--pack); and what a second process takes beside the run itself
  regret   on a GPU: seconds of the estimate's choice over those of the fastest of all candidates (`stentor tune --mode patient`) but
           those estimated to take --within times the best (0: none is left out; the best of each strategy never is), and the same
           of MEASURE's; ends with how many are within 15%, 35% and, of MEASURE, 3%. --seeds FILE keeps the fastest as cache/tuned has them,
           --runs FILE what bench/fit_rates.py fits estimates to
  online   on a GPU: ten problems, a thousand executions of an ONLINE plan whose kernels are compiled, and of the best plan that a search
           found, before and after it: by how much ONLINE's total is longer, search included, and how far its results are off (stentor-bench
           --online, of --bench PATH)

Problems that the GPU has no memory for are told and counted. --every takes each N-th problem; after --limit seconds no further one begins,
and the rest is counted too. Nothing installed decides: STENTOR_SEEDS=none.
"""
import argparse
import itertools
import json
import math
import os
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
    """Cold: an empty folder. Warm: the same once more; of our own there are its context and its plan. Each from inside the process: making
    the context (the driver's start apart) and the plan, and the first execution; copies of grids are not in it."""
    rows = []
    end = time.monotonic() + options.limit
    for problem in problems:
        if time.monotonic() > end:
            break
        more = [text for pack in options.pack for text in ('--pack', str(pack))]
        with tempfile.TemporaryDirectory() as folder:
            cold = ask(options.stentor, 'run', problem, '--random', '1', '--cache-dir', folder, *more, limit=60)
            warm = cold and ask(options.stentor, 'run', problem, '--random', '1', '--cache-dir', folder, *more, limit=60)
        if not warm:
            continue
        ours = [told['first_result']['context_seconds'] + told['first_result']['plan_seconds'] for told in (cold, warm)]
        first = ours[0] + cold['first_result']['execute_seconds']
        begins = (cold['plan'].get('begins') or {}).get('with')
        rows.append({'problem': name(problem), 'strategy': warm.get('strategy'), 'begins': begins, 'cold': cold['first_result'],
                     'warm': warm['first_result'], 'seconds': warm['seconds'], 'first': first, 'own': ours[1]})
        print(f"{first:7.3f} s (context {cold['first_result']['context_seconds']:.3f}, plan "
              f"{cold['first_result']['plan_seconds']:.3f}, run {cold['first_result']['execute_seconds']:.3f}), warm "
              f"{1e3 * ours[1]:.1f} ms + {1e3 * warm['seconds']:.3f}: {name(problem)}, "
              f"{'begins with ' + begins if begins else warm['strategy']}", flush=True)
    firsts, owns = sorted(row['first'] for row in rows), sorted(row['own'] for row in rows)
    if rows:
        bar = 0.15 if options.pack else 0.4
        print(f'{len(rows)} problems, driver start apart: median {statistics.median(firsts):.3f} s, longest {firsts[-1]:.3f} s, '
              f'{sum(seconds <= bar for seconds in firsts)} within {bar} s; warm, of our own: median '
              f'{1e3 * statistics.median(owns):.1f} ms, longest {1e3 * owns[-1]:.1f} ms, '
              f'{sum(seconds <= 5e-3 for seconds in owns)} within 5 ms')
    return {'problems': rows}


def tuned(options, listed, folder):
    """What `stentor tune` tells of each problem as it is measured, all in one process: objects, until the time is up."""
    command = [options.stentor, 'tune', '--problems', str(listed), '--mode', 'patient', '--again', '--cache-dir', folder, '--json',
               '--limit', str(options.limit), '--time-limit', str(options.each)]
    command += ['--within', str(options.within)] if options.within else []
    command += ['--seeds', str(options.seeds)] if options.seeds else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            told = json.loads(line)
            if 'error' in told:
                print(f"  {told['label']}: {told['error']}", flush=True)
            else:
                yield told
    if process.returncode:
        sys.exit(f'{" ".join(command)} exited with {process.returncode}')


def key(told):
    return json.dumps(told['problem'], sort_keys=True)


def label(told):
    """A problem in a few words, from what a plan tells."""
    problem = told['problem']
    if 'extent' not in problem:
        return key(told)
    sides = ' '.join(dict.fromkeys(side['kind'] for axis in problem['boundary'] for side in axis))
    return (f"{'x'.join(map(str, problem['extent']))} {problem['dtype']} {problem['pattern']} of {problem['taps']} taps {sides} "
            f"T={problem['steps']}")


def share(lost, bar):
    return f'{sum(each <= bar for each in lost)} of {len(lost)} within {100 * bar:.0f}%'


def summary(rows):
    lost = sorted(row['estimate'] for row in rows if row['estimate'] is not None)
    if not lost:
        return 'no problems'
    text = (f'{len(lost)} problems: estimate median +{100 * statistics.median(lost):.1f}%, '
            f'90% quantile +{100 * lost[math.ceil(0.9 * len(lost)) - 1]:.1f}%, worst +{100 * lost[-1]:.1f}%, '
            f'{share(lost, 0.15)}, {share(lost, 0.35)}')
    measured = [row['measure'] for row in rows if row.get('measure') is not None]
    return text + (f'; MEASURE {share(measured, 0.03)}' if measured else '')


def measured_of(told, choice):
    """The time that the search gave a candidate, [strategy, name]; None where it did not measure it."""
    return next((row['measured_seconds'] for row in told['ranking']
                 if row.get('measured_seconds') and [row['strategy'], row['candidate']] == list(choice)), None)


def regret_of(told):
    ranked = [row for row in told['ranking'] if row.get('measured_seconds')]
    best, estimated = min(row['measured_seconds'] for row in ranked), told['estimated']
    took = measured_of(told, estimated)
    return {'problem': label(told), 'candidates': len(ranked), 'best': best, 'estimate': took and took / best - 1,
            'estimate_was': estimated, 'best_was': [told['strategy'], told['candidate']],
            'waited': told['waited_seconds'], 'measuring': told['measuring_seconds']}


def add_measured(row, all_told, told):
    """MEASURE's choice, by the time that the search over all gave it; None where that did not measure it."""
    took = measured_of(all_told, (told['strategy'], told['candidate']))
    row['measure'] = took and took / row['best'] - 1
    row['measuring_again'] = told['measuring_seconds']


def runs_of(told):
    """What bench/fit_rates.py reads: each strategy's candidate of the least estimate, where it was measured."""
    problem, runs = told['problem'], {}
    for row in told['ranking'] if 'rank' in problem else ():
        if 'seconds' in row and (row['strategy'] not in runs or row['seconds'] < runs[row['strategy']]['seconds']):
            runs[row['strategy']] = row
    chosen = min((row['seconds'] for row in runs.values()), default=None)
    for row in runs.values():
        if row['measured_seconds']:
            yield {'problem': label(told), 'rank': problem['rank'], 'dtype': problem['dtype'], 'steps': problem['steps'], 'strategy': row['strategy'],
                   'fused': int(row['launches'] < problem['steps']), 'chosen': int(row['seconds'] == chosen), 'launches': row['launches'],
                   'model': row['model_seconds'], 'predicted': row['seconds'], 'measured': row['measured_seconds']}


def times(rows):
    """Where the time went."""
    def sums(name):
        return sum(row.get(name, 0) for row in rows)
    return f"{sums('waited'):.1f} s waited for kernels, {sums('measuring'):.1f} s all, {sums('measuring_again'):.1f} s MEASURE"


def regrets(options, problems):
    """One process for all: every candidate, then MEASURE, with the kernels of the first but none of its times."""
    rows, searched, runs = {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        listed = pathlib.Path(folder, 'problems.json')
        listed.write_text(json.dumps(problems), encoding='utf-8')
        for told in tuned(options, listed, str(pathlib.Path(folder, 'cache'))):
            if told['again']:
                add_measured(rows[key(told)], searched.pop(key(told)), told)
                continue
            searched[key(told)] = told
            row = rows[key(told)] = regret_of(told)
            runs += [{'machine': told['machine']}] * (not runs) + list(runs_of(told))
            lost = 'not measured' if row['estimate'] is None else f"+{100 * row['estimate']:.1f}%"
            print(f"estimate {lost}, of {row['candidates']} candidates: {row['problem']}", flush=True)
            if len(rows) % 10 == 0:
                print(f'  so far {summary(list(rows.values()))}; {times(rows.values())}', flush=True)
    if rows:
        print(summary(list(rows.values())))
        print(times(rows.values()))
    if options.runs:
        options.runs.write_text(''.join(json.dumps(run) + '\n' for run in runs), encoding='utf-8')
    return {'problems': list(rows.values())}


def online(options, _):
    command = [options.bench, '--online', '--device', 'cuda'] + (['--quick'] if options.quick else [])
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            row = json.loads(line)
            row['lost'] = row['online'] / ((row['fixed'] + row['fixed_again']) / 2) - 1
            row['equal'] = row['difference'] is not None and row['difference'] <= row['allowed']
            rows.append(row)
            print(f"{100 * row['lost']:+6.2f}% of {1e3 * row['fixed'] / row['units']:.4f} and {1e3 * row['fixed_again'] / row['units']:.4f} ms, "
                  f"{'results equal' if row['equal'] else 'RESULTS DIFFER'} ({row['difference']:.2g}), {row['arms']:.0f} candidates"
                  f"{'' if row['over'] else ', the search goes on'}: {row['problem']}\n"
                  f"          best {row['best']}; first {row['first']}; last {row['last']}", flush=True)
    if process.returncode:
        sys.exit(f'{" ".join(command)} exited with {process.returncode}')
    lost = [row['lost'] for row in rows]
    print(f"{len(rows)} problems: {share(lost, 0.02)}, worst {100 * max(lost):+.2f}%, {sum(row['equal'] for row in rows)} with equal results")
    if not all(row['equal'] for row in rows):
        sys.exit('results differ')
    return {'problems': rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['compile', 'first', 'regret', 'online'])
    parser.add_argument('--stentor', default='build/src/cli/stentor')
    parser.add_argument('--bench', default='build/bench/stentor-bench')
    parser.add_argument('--quick', action='store_true', help='of online: small grids')
    parser.add_argument('--list', default=HERE / 'planner_problems.json', type=pathlib.Path)
    parser.add_argument('--arch', default='sm_90')
    parser.add_argument('--every', default=1, type=int)
    parser.add_argument('--limit', default=120, type=float)
    parser.add_argument('--each', default=6, type=float, help='seconds of measuring a problem')
    parser.add_argument('--within', default=3, type=float, help='times the best estimate')
    parser.add_argument('--seeds', type=pathlib.Path)
    parser.add_argument('--runs', type=pathlib.Path, help='for bench/fit_rates.py')
    parser.add_argument('--pack', type=pathlib.Path, nargs='+', default=[], help='packs that first results may use')
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    os.environ['STENTOR_SEEDS'] = 'none'
    problems = list(expand(json.loads(options.list.read_text(encoding='utf-8'))))[::options.every]
    if options.what != 'online':
        print(f'{len(problems)} problems')
    result = {'compile': compile_times, 'first': first_results, 'regret': regrets, 'online': online}[options.what](options, problems)
    if options.what != 'online':
        print(f"{len(problems) - len(result['problems'])} problems were not measured")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
