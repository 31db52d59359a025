#!/usr/bin/env python3
"""Fits calibration factors of cost models: writes src/plan/calibration_rows.h from measured times.

    build/bench/stentor-bench --rates 220 > rates.jsonl
    bench/fit_rates.py rates.jsonl [--source RESULTS] [--write src/plan/calibration_rows.h]

Prints the errors of predictions: of the models alone, of this build, of the fit, and of a fit
without the run in question (the error that new problems meet). An error is a factor: 1.25 means
predicted a quarter too long or too short.
"""
import argparse
import json
import math
import sys

FEWEST = 4           # least runs of a class; a class with fewer uses those of a wider class
SCALES = [math.exp(i / 40) for i in range(-60, 61)]
STARTS = [i * 0.25e-6 for i in range(0, 61)]
PULL = 0.4           # regularisation towards scale 1, as |log error|: few runs change a row little
DTYPES = {'f64': 'STN_F64', 'f32': 'STN_F32', 'f16': 'STN_F16'}


def class_of(run):
    return run['strategy'], run['rank'], run['dtype'], run['fused']


# From narrow to wide: classes whose runs are used if a class has too few of its own.
WIDER = [lambda c: c, lambda c: (c[0], c[2], c[3]), lambda c: (c[0], c[3]), lambda c: (c[0],)]


def predicted(run, scale, start):
    return scale * run['model'] + start * run['launches']


def fit(runs):
    """(scale, start) with the least sum of |log error|."""
    best = (math.inf, 1, 0)
    for start in STARTS:
        for scale in SCALES:
            cost = PULL * (abs(math.log(scale)) + start / 5e-6)
            for run in runs:
                cost += abs(math.log(predicted(run, scale, start) / run['measured']))
                if cost >= best[0]:
                    break
            if cost < best[0]:
                best = (cost, scale, start)
    return best[1:]


def runs_for(of, runs):
    """The runs that the row of a class is fitted to."""
    for wider in WIDER:
        found = [run for run in runs if wider(class_of(run)) == wider(of)]
        if len(found) >= FEWEST:
            return found
    return []


def fit_all(runs):
    """{class: (scale, start, number of runs)}."""
    rows = {}
    for of in sorted({class_of(run) for run in runs}):
        some = runs_for(of, runs)
        if some:
            rows[of] = (*fit(some), len(some))
    return rows


def quantile(values, part):
    values = sorted(values)
    place = part * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def errors(runs, time_of):
    return [math.exp(abs(math.log(time_of(run) / run['measured']))) for run in runs]


def left_out(run, runs):
    """The prediction for this run by a fit to all other runs."""
    some = runs_for(class_of(run), [other for other in runs if other is not run])
    return predicted(run, *fit(some)) if some else run['model']


def report(title, runs, rows, everything):
    def by_rows(run):
        return predicted(run, *rows[class_of(run)][:2]) if class_of(run) in rows else run['model']
    columns = [('model', lambda run: run['model']), ('this build', lambda run: run['predicted']),
               ('fitted', by_rows), ('fitted without it', lambda run: left_out(run, everything))]
    print(f'\n{title}: {len(runs)} runs\n\n| error of | median | 90% quantile | largest |\n|---|--:|--:|--:|')
    for name, time_of in columns:
        off = errors(runs, time_of)
        print(f'| {name} | {quantile(off, 0.5):.2f} | {quantile(off, 0.9):.2f} | {max(off):.2f} |')


def header(rows, machine, source):
    text = f'/* Written by bench/fit_rates.py from measurements; see calibration.h. {machine}{", " + source if source else ""}. */\n'
    text += '#ifndef STN_PLAN_CALIBRATION_ROWS_H\n#define STN_PLAN_CALIBRATION_ROWS_H\n'
    text += '/* X(strategy, rank, dtype, several steps a launch, scale, seconds of a launch) */\n'
    lines = ['#define STN_CALIBRATION_ROWS(X)']
    lines += [f'    X("{of[0]}", {of[1]}, {DTYPES[of[2]]}, {"true" if of[3] else "false"}, {row[0]:.3f}, {row[1]:.3g})'
              for of, row in sorted(rows.items())]
    text += ''.join(f'{line:<119}\\\n' for line in lines[:-1]) + lines[-1] + '\n#endif\n'
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('file')
    parser.add_argument('--source', default='', help='the results file that the rows cite')
    parser.add_argument('--write', help='the header to write')
    options = parser.parse_args()
    with open(options.file, encoding='utf-8') as lines:
        read = [json.loads(line) for line in lines if line.startswith('{')]
    machine = next((line['machine'] for line in read if 'machine' in line), 'no machine named')
    runs = [line for line in read if line.get('measured', 0) > 0 and line.get('model', 0) > 0]
    if not runs:
        sys.exit(f'fit_rates.py: {options.file} holds no measured run: write it with stentor-bench --rates 220')
    rows = fit_all(runs)
    report(f'{machine}, what plans chose', [run for run in runs if run['chosen']] or runs, rows, runs)
    report('All that was measured', runs, rows, runs)
    print('\n| strategy | rank | type | several steps | scale | us a launch | fitted to |\n|---|--:|---|---|--:|--:|--:|')
    for of, (scale, start, count) in sorted(rows.items()):
        print(f'| {of[0]} | {of[1]} | {of[2]} | {"yes" if of[3] else "no"} | {scale:.3f} | {1e6 * start:.2f} | {count} |')
    if options.write:
        with open(options.write, 'w', encoding='utf-8') as out:
            out.write(header(rows, machine, options.source))


if __name__ == '__main__':
    main()
