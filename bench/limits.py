#!/usr/bin/env python3
"""What limits each kernel of a bench case: Nsight Compute's counters, one Markdown row per kernel.

    bench/limits.py [--ncu NCU] [--launches 12] [--raw DIR] build/bench/stentor-bench \\
        --group sparse --dtype f16 --case heat-2d

Everything after the path of the bench is passed to it; select one case, since ncu runs each launch
about forty times to collect all counters. A kernel is identified by its name and launch dimensions,
and its last launch counts. --raw keeps the output of ncu as DIR/CASE.csv. --read FILE reads such a
file instead of measuring. The column of a counter that this ncu does not have shows a dash.
"""
import argparse
import csv
import io
import pathlib
import re
import subprocess
import sys

KERNELS = r'^(direct|lowrank|sparse|segment|spectral|fft|fno|layer|faces|sourced)_'
# Title, patterns of counters (the sum over the first pattern that matches), patterns of divisors.
COLUMNS = [
    ('ms', r'gpu__time_duration\.sum', None),
    ('DRAM %', r'dram__throughput\.avg\.pct_of_peak_sustained_elapsed', None),
    ('L2 %', r'lts__throughput\.avg\.pct_of_peak_sustained_elapsed', None),
    ('shared and L1 %', r'l1tex__throughput\.avg\.pct_of_peak_sustained_(active|elapsed)', None),
    ('issue slots %', r'sm__inst_issued\.avg\.pct_of_peak_sustained_active|smsp__issue_active\.avg\.pct.*', None),
    ('tensor %', r'sm__(pipe_tensor\w*cycles_active|inst_executed_pipe_tensor\w*)\.avg\.pct_of_peak_sustained_(active|elapsed)',
     None),
    ('f64 %', r'sm__(pipe_fp64_cycles_active|inst_executed_pipe_fp64)\.avg\.pct_of_peak_sustained_(active|elapsed)', None),
    ('conflicts a shared request', r'l1tex__data_bank_conflicts_pipe_lsu_mem_shared(_op_(ld|st))?\.sum',
     r'smsp__inst_executed_op_shared(_ld|_st)?\.sum|smsp__sass_inst_executed_op_shared(_ld|_st)?\.sum'),
    ('sectors a load', r'l1tex__t_sectors_pipe_lsu_mem_global_op_ld\.sum', r'l1tex__t_requests_pipe_lsu_mem_global_op_ld\.sum'),
    ('sectors a store', r'l1tex__t_sectors_pipe_lsu_mem_global_op_st\.sum', r'l1tex__t_requests_pipe_lsu_mem_global_op_st\.sum'),
    ('registers', r'launch__registers_per_thread', None),
    ('warps', r'sm__warps_active\.avg\.per_cycle_active', None),
]
TO_MS = {'nsecond': 1e-6, 'ns': 1e-6, 'usecond': 1e-3, 'us': 1e-3, 'msecond': 1, 'ms': 1, 'second': 1e3, 's': 1e3}


def number(text):
    try:
        return float(text.replace(',', ''))
    except ValueError:
        return None


def found(row, pattern, largest):
    """The largest share, or the sum, of the matching counters; None if there is none."""
    values = [number(text) for name, text in row.items() if name and re.fullmatch(pattern, name)]
    values = [v for v in values if v is not None]
    return None if not values else max(values) if largest else sum(values)


def cells(row, units):
    for title, pattern, over in COLUMNS:
        value = found(row, pattern, over is None)
        if over and value is not None:
            below = found(row, over, False)
            value = value / below if below else None
        if title == 'ms' and value is not None:
            value *= TO_MS.get(units.get('gpu__time_duration.sum', 'nsecond'), 1e-6)
        yield '-' if value is None else f'{value:.4f}' if title == 'ms' else f'{value:.3g}'


def table(text):
    """Markdown from ncu's `--csv --page raw`: a line of names, one of units, one per launch."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith('"ID"')]
    if not starts:
        return None
    rows = list(csv.DictReader(io.StringIO('\n'.join(lines[starts[0]:]))))
    units, launches = rows[0], {}
    for row in rows[1:]:
        if re.search(KERNELS, row.get('Kernel Name', '')):
            launches[row['Kernel Name'], row.get('Grid Size'), row.get('Block Size')] = row
    titles = [title for title, _, _ in COLUMNS]
    made = ['| kernel | grid | ' + ' | '.join(titles) + ' |', '|---|---|' + '--:|' * len(titles)]
    for (name, grid, _), row in launches.items():
        made.append(f'| {name.split("(")[0]} | {grid} | ' + ' | '.join(cells(row, units)) + ' |')
    return '\n'.join(made)


def measure(options, bench):
    command = [options.ncu, '--set', 'full', '--csv', '--page', 'raw', '--kernel-name', 'regex:' + KERNELS, '--launch-count',
               str(options.launches), *bench, '--repeat', '1']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if options.raw:
        name = re.sub(r'[^\w.-]+', '-', '-'.join(bench[1:]).strip('-'))
        pathlib.Path(options.raw).mkdir(parents=True, exist_ok=True)
        pathlib.Path(options.raw, name + '.csv').write_text(done.stdout, encoding='utf-8')
    if '"ID"' not in done.stdout:
        sys.exit('limits.py: ncu measured nothing:\n' + (done.stderr + done.stdout)[-2000:])
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--ncu', default='ncu')
    parser.add_argument('--launches', type=int, default=12)
    parser.add_argument('--raw')
    parser.add_argument('--read')
    parser.add_argument('bench', nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.read and not options.bench:
        parser.error('give the path of stentor-bench and a case, or --read FILE')
    text = pathlib.Path(options.read).read_text(encoding='utf-8') if options.read else measure(options, options.bench)
    made = table(text)
    if not made:
        sys.exit('limits.py: that is not what `ncu --csv --page raw` prints')
    print(made)


if __name__ == '__main__':
    main()
