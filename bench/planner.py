#!/usr/bin/env python3
"""The quality of plans and the time to get them, over the problems of bench/planner_problems.json.

Usage: planner.py list|compile|regret|replay|online|cold|survey [--stentor PATH]
                  [--list FILE|random[:SEED]] [--count N] [--arch sm_90] [--every N]
                  [--limit SECONDS] [--times FILE...]
                  [--missing FILE...] [--json FILE]

  list     prints a line for each problem: stencil, size, type, boundary, steps
  compile  needs no GPU: NVRTC's seconds for each kernel of each problem's plan, compiled one after
           the other for --arch; ends with the median and longest time of each template, the source
           of src/context/compile_batch.c
  regret   on a GPU: the time of the choices of ESTIMATE and MEASURE, divided by that of the fastest
           of all candidates (`stentor tune --mode patient`). Candidates predicted to take over
           --within times as long as the best are skipped (0: none; the best of each strategy is
           always measured). Ends with the numbers of problems within 15%, 35% and, for MEASURE, 3%.
           --times FILE stores every time, for replay; --no-measure skips MEASURE; --missing FILE...
           selects the problems of which these files of an earlier --times have fewer than two
           times, to continue where those runs ended
  replay   needs no GPU: the same for this build's estimates for --arch, with the recorded times in
           --times (those of regret, or entries of wisdom, which have the fastest only: all
           other measured candidates were not faster than the last of them)
           With --list random: --count problems drawn from a seed over everything that the header
           allows, whose choice is predicted to run for --least seconds; the choice of the estimate
           and of MEASURE beside every strategy forced by name (stentor-plans, --plans PATH)
  cold     on a GPU: the wait for plans with an empty cache folder, the first executions of such a
           plan beside those of a plan from stored kernels, and first_result with 1 to 1000
           executions (stentor-plans): medians of --repeat measurements
  survey   needs no GPU: how often the estimate chooses each strategy for --arch, and by how much
           (stentor-plans)
  online   on a GPU: ten problems, a thousand executions each of an ONLINE plan with compiled
           kernels and, alternating with it, of the best plan of a search: how much longer ONLINE
           takes in total, its search included, and how much its results differ
           (stentor-bench --online, of --bench PATH)

Random problems, of regret, cold and survey, are drawn anew from a printed seed, by default from the
clock: others than those that models were fitted to. Problems that exceed the GPU's memory are named
and counted. --every takes each N-th problem; after --limit seconds no further problem begins, and
the rest is counted too.
"""
import argparse
import itertools
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import planner_random  # pylint: disable=wrong-import-position


def expand(entries):
    """One problem for each element of the values that are lists."""
    for entry in entries:
        lists = [value if isinstance(value, list) else [value] for value in entry.values()]
        for values in itertools.product(*lists):
            yield dict(zip(entry, values))


def arguments(problem):
    return [text for key in problem for text in (f'--{key}', str(problem[key]))]


def name(problem):
    return f"{problem['stencil']} {problem['size']} {problem['dtype']} {problem['boundary']} T={problem['steps']}"


def ask(stentor, command, problem, *more, limit=None):
    """The JSON that a command prints; None, after its message, if it fails."""
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


def list_problems(_, problems):
    for problem in problems:
        print(*(problem[key] for key in ('stencil', 'size', 'dtype', 'boundary', 'steps')))
    return {'problems': problems}


def compile_times(options, problems):
    by_template = {}
    rows = []
    for problem in problems:
        record = ask(options.stentor, 'compile', problem, '--arch', options.arch, '--cache-dir', ':memory:', '--threads', '1')
        if not record:
            continue
        seconds = [kernel['compile_seconds'] for kernel in record['kernels']]
        for kernel in record['kernels']:
            by_template.setdefault(kernel['name'], []).append(kernel['compile_seconds'])
        rows.append({'problem': name(problem), 'strategy': record['strategy'], 'kernels': len(seconds),
                     'sum': sum(seconds), 'longest': max(seconds, default=0)})
        print(f"{rows[-1]['sum']:7.3f} s, longest {rows[-1]['longest']:.3f} s, {len(seconds)} kernels, "
              f"{record['strategy']}: {name(problem)}", flush=True)
    for template, seconds in sorted(by_template.items()):
        print(f'{template:24s} {len(seconds):4d} kernels, median {statistics.median(seconds):.3f} s, longest {max(seconds):.3f} s')
    return {'arch': options.arch, 'problems': rows, 'templates': by_template}


def tuned(options, listed, folder):
    """The objects that `stentor tune` prints, one per problem, in one process with a time limit."""
    command = [options.stentor, 'tune', '--problems', str(listed), '--mode', 'patient', '--cache-dir', folder, '--json',
               '--limit', str(options.limit), '--time-limit', str(options.each)]
    command += ['--within', str(options.within)] if options.within else []
    command += [] if options.no_measure else ['--again']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            record = json.loads(line)
            if 'error' in record:
                print(f"  {record['label']}: {record['error']}", flush=True)
            else:
                yield record
    if process.returncode:
        sys.exit(f'{" ".join(command)} exited with {process.returncode}')


def key(record):
    return json.dumps(record['problem'], sort_keys=True)


def label(record):
    """A problem in a few words, from the output of a plan."""
    problem = record['problem']
    if 'extent' not in problem:
        return key(record)
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


def measured_of(record, choice):
    """The time that the search measured for a candidate, [strategy, name], or None."""
    return next((row['measured_seconds'] for row in record['ranking']
                 if row.get('measured_seconds') and [row['strategy'], row['candidate']] == list(choice)), None)


def regret_of(record):
    ranked = [row for row in record['ranking'] if row.get('measured_seconds')]
    best, estimated = min(row['measured_seconds'] for row in ranked), record['estimated']
    took = measured_of(record, estimated)
    return {'problem': label(record), 'candidates': len(ranked), 'best': best, 'estimate': took and took / best - 1,
            'estimate_was': estimated, 'best_was': [record['strategy'], record['candidate']],
            'waited': record['waited_seconds'], 'measuring': record['measuring_seconds']}


def add_measured(row, record_of_all, record):
    """Adds MEASURE's choice with its time in the search over all candidates, or None."""
    took = measured_of(record_of_all, (record['strategy'], record['candidate']))
    row['measure'] = took and took / row['best'] - 1
    row['measuring_again'] = record['measuring_seconds']


def times_of(record):
    """Every measured candidate."""
    for row, values in zip(record['ranking'], record['values']):
        if row.get('measured_seconds'):
            yield {'problem': label(record), 'strategy': row['strategy'], 'candidate': row['candidate'], 'values': values, 'launches': row['launches'],
                   'predicted': row['seconds'], 'measured': row['measured_seconds']}


def words_of(row):
    """The name of a candidate: the order of its stored values may have changed since it was timed.

    It includes the number of launches, since other launches are another candidate.
    """
    return row['strategy'], row['candidate'], row['launches']


def read_times(path):
    """label -> {(strategy, values): seconds, words_of: [seconds]}; labels with the fastest only.

    Reads the --times of regret, the output of `stentor tune --json` for a list, or entries of
    wisdom.
    """
    found, some, at = {}, set(), None
    for line in path.read_text(encoding='utf-8').splitlines():
        if line.startswith('{'):
            record = json.loads(line)
            for row in times_of(record) if 'ranking' in record and 'values' in record else [record] if 'measured' in record else []:
                found.setdefault(row['problem'], {})[row['strategy'], tuple(row['values'])] = row['measured']
                found[row['problem']].setdefault(words_of(row), []).append(row['measured'])
        if words := re.match(r'problem: \dD (.*), (f\d\d), (.*), boundary ([a-z]+)\S*, (\d+) steps?$', line):
            at = found.setdefault(f"{words[1].replace(' ', '')} {words[2]} {words[3]} {words[4]} T={words[5]}", {})
            some.add(next(key for key, value in found.items() if value is at))
        elif line.startswith('candidate: ') and at is not None:
            strategy, seconds, *values = line.split()[1:]
            at[strategy, tuple(map(int, values))] = float(seconds)
    return found, some


def replayed(record, known):
    """A row as in regret, or None if the choice has no recorded time; `least`: its least loss."""
    choice = (record['estimated'][0], tuple(record['estimated_values']))
    ordered = sorted(seconds for seconds in known.values() if not isinstance(seconds, list))
    named = [known.get(words_of(row), []) for row in record['ranking'] if [row['strategy'], row['candidate']] == record['estimated']]
    took = known.get(choice) or (named[0][0] if len(named) == 1 and len(named[0]) == 1 else None)
    return {'problem': label(record), 'candidates': len(ordered), 'best': ordered[0], 'estimate': took and took / ordered[0] - 1,
            'estimate_was': record['estimated'], 'least': ordered[-1] / ordered[0] - 1}


def read_all(paths):
    """The same for several files; times of later files replace earlier ones."""
    known, some = {}, set()
    for path in paths:
        found, kept = read_times(path)
        some |= kept
        for key_, times_ in found.items():
            known[key_] = {**known.get(key_, {}), **times_}
    return known, some


def missing(options, problems):
    """The problems for which the files have fewer than two times.

    One time alone is a trusted result that took all the time there was.
    """
    known, _ = read_all(options.missing)
    held = {name_ for name_, times_ in known.items() if sum(not isinstance(each, list) for each in times_.values()) > 1}
    for problem in problems:
        record = ask(options.stentor, 'explain', problem, '--arch', options.arch, '--cache-dir', ':memory:')
        if not record or label(record) not in held:
            yield problem


def replay(options, problems):
    rows = []
    known, some = read_all(options.times)
    with tempfile.TemporaryDirectory() as folder:
        listed = pathlib.Path(folder, 'problems.json')
        listed.write_text(json.dumps(problems), encoding='utf-8')
        done = subprocess.run([options.stentor, 'tune', '--problems', listed, '--arch', options.arch, '--json', '--cache-dir', ':memory:'],
                              capture_output=True, text=True, check=True)
    for record in map(json.loads, done.stdout.splitlines()):
        if 'error' in record or label(record) not in known:
            continue
        row = replayed(record, known[label(record)])
        rows.append(row)
        lost = (f"+{100 * row['estimate']:.1f}%" if row['estimate'] is not None
                else f"+{100 * row['least']:.1f}% at least" if row['problem'] in some else 'not measured')
        print(f"estimate {lost}, of {row['candidates']} candidates: {row['problem']}: {' '.join(map(str, row['estimate_was']))}")
    print(summary(rows))
    print(f"{sum(row['estimate'] is None for row in rows)} choices have no time of their own")
    return {'problems': rows}


def times(rows):
    """The seconds spent in each part."""
    def sums(name):
        return sum(row.get(name, 0) for row in rows)
    return f"{sums('waited'):.1f} s waited for kernels, {sums('measuring'):.1f} s all, {sums('measuring_again'):.1f} s MEASURE"


def regrets(options, problems):
    """One process for all: times every candidate, then runs MEASURE with their kernels only."""
    rows, searched, every = {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        listed = pathlib.Path(folder, 'problems.json')
        listed.write_text(json.dumps(problems), encoding='utf-8')
        for record in tuned(options, listed, str(pathlib.Path(folder, 'cache'))):
            if record['again']:
                add_measured(rows[key(record)], searched.pop(key(record)), record)
                continue
            searched[key(record)] = record
            row = rows[key(record)] = regret_of(record)
            every += times_of(record)
            lost = 'not measured' if row['estimate'] is None else f"+{100 * row['estimate']:.1f}%"
            print(f"estimate {lost}, of {row['candidates']} candidates: {row['problem']}", flush=True)
            if len(rows) % 10 == 0:
                print(f'  so far {summary(list(rows.values()))}; {times(rows.values())}', flush=True)
    if rows:
        print(summary(list(rows.values())))
        print(times(rows.values()))
    if options.times:
        options.times[0].write_text(''.join(json.dumps(time_) + '\n' for time_ in every), encoding='utf-8')
    return {'problems': list(rows.values())}


def online(options, _):
    command = [options.bench, '--online', '--device', 'cuda'] + (['--quick'] if options.quick else []) + (['--case', options.case] if options.case else [])
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            row = json.loads(line)
            row['lost'] = row['online'] / row['best_seconds'] - 1
            row['equal'] = row['difference'] is not None and row['difference'] <= row['allowed']
            rows.append(row)
            then = f"as many more {100 * (row['online_then'] / row['best_then'] - 1):+.2f}%, " if row['best_then'] else ''
            print(f"{100 * row['lost']:+6.2f}% of {1e3 * row['best_seconds'] / row['units']:.4f} ms, {then}"
                  f"{'results equal' if row['equal'] else 'RESULTS DIFFER'} ({row['difference']:.2g}), {row.get('arms', 1):.0f} candidates"
                  f"{'' if row.get('over', True) else ', the search goes on'}: {row['problem']}\n"
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
    parser.add_argument('what', choices=['list', 'compile', 'regret', 'replay', 'online', 'cold', 'survey'])
    parser.add_argument('--stentor', default='build/src/cli/stentor')
    parser.add_argument('--bench', default='build/bench/stentor-bench')
    parser.add_argument('--plans', default='build/bench/stentor-plans')
    parser.add_argument('--count', default=40, type=int, help='random problems')
    parser.add_argument('--least', default=1e-4, type=float, help='predicted seconds of random problems')
    parser.add_argument('--case', help='of online: of these stencils only, such as heat-1d,box-2d9p')
    parser.add_argument('--quick', action='store_true', help='of online: small grids')
    parser.add_argument('--list', default=str(HERE / 'planner_problems.json'), help='a file, or random, or random:SEED (regret, cold, survey)')
    parser.add_argument('--arch', default='sm_90')
    parser.add_argument('--every', default=1, type=int)
    parser.add_argument('--limit', default=120, type=float)
    parser.add_argument('--repeat', default=3, type=int, help='of cold: measurements of each problem, whose medians are reported')
    parser.add_argument('--each', default=6, type=float, help='seconds of measuring a problem')
    parser.add_argument('--within', default=3, type=float, help='times the best estimate')
    parser.add_argument('--times', type=pathlib.Path, nargs='+', default=[], help='regret: where every time goes; replay: where they come from')
    parser.add_argument('--missing', type=pathlib.Path, nargs='+', default=[], help='times of earlier runs: regret: only what they lack')
    parser.add_argument('--no-measure', action='store_true', help='of regret: without MEASURE')
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    given, _, seed = options.list.partition(':')
    options.seed = seed or str(int(time.time()))
    randomly = {'cold': planner_random.cold, 'survey': planner_random.survey,
                'regret': planner_random.regret if given == 'random' else None}.get(options.what)
    if randomly:
        result = randomly(options)
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
        return 0
    problems = list(expand(json.loads(pathlib.Path(options.list).read_text(encoding='utf-8'))))
    problems = problems[::options.every]
    if options.missing:
        problems = list(missing(options, problems))
    counts = options.what not in ('list', 'online')
    if counts:
        print(f'{len(problems)} problems')
    result = {'list': list_problems, 'compile': compile_times, 'regret': regrets, 'replay': replay, 'online': online}[options.what](options, problems)
    if counts:
        print(f"{len(problems) - len(result['problems'])} problems were not measured")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
