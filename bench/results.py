#!/usr/bin/env python3
"""Results are data: one JSON object a line in bench/results/GPU.jsonl, the source of RESULTS.md.

    stentor-bench --json ... | bench/results.py add [--commit HASH] [--command TEXT]
    bench/results.py page            writes bench/RESULTS.md
    bench/results.py check           fails if RESULTS.md is not what `page` would write

A line of a measured case has its date, commit, GPU, the copy bandwidth of the same run, the case
and its seconds. A line with a "headline" is a figure of another program, with the command that
prints it. A case that was measured again replaces the older line on the page; the file keeps both.
"""
import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RESULTS, PAGE = HERE / 'results', HERE / 'RESULTS.md'
OPENING = """# Results

Made by `bench/results.py page` from [results/](results/), one JSON object a line; do not edit.
`stentor-bench` (built with the library) measures the copy bandwidth of the machine in the same run,
checks a sample of points against a direct evaluation on the CPU, then takes the median of repeated
runs on random input. *% of copy*: the bytes of one read and one write of every point in each step,
over the time, as a share of the copy bandwidth; several steps in one launch can pass 100.
"""


def gpu_of(machine):
    """The file's name: H200 of "NVIDIA H200", host of a machine without a GPU."""
    found = re.search(r'\b(?:NVIDIA )?((?:[A-Z]{1,3}\d{2,4}|RTX \d{4})\w*)', machine)
    return found.group(1).replace(' ', '-') if found else 'host'


def lines_of(run, date, commit, command):
    """The lines of one run of stentor-bench --json, without wrong and skipped rows."""
    for row in run['results']:
        if row.get('problem') or row['verdict'] == 'WRONG':
            continue
        yield {'date': date, 'commit': commit, 'gpu': gpu_of(run['machine']), 'copy_bytes_per_second':
               run['copy_bytes_per_second'], 'repeat': run['repeat'], 'command': command,
               **{key: row[key] for key in ('group', 'case', 'extent', 'steps', 'dtype', 'boundary', 'strategy', 'seconds',
                                            'gstencils_per_second', 'percent_of_copy', 'bar', 'bar_unit')}}


def add(options):
    run = json.load(sys.stdin)
    date = datetime.date.today().isoformat()
    commit = options.commit or subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], cwd=HERE, capture_output=True,
                                              text=True, check=True).stdout.strip()
    lines = list(lines_of(run, date, commit, options.command))
    if not lines:
        sys.exit('results.py: this run has no right row')
    with open(options.folder / f"{lines[0]['gpu']}.jsonl", 'a') as file:
        file.writelines(json.dumps(line) + '\n' for line in lines)
    print(f"{len(lines)} lines added to {lines[0]['gpu']}.jsonl")


def key_of(line):
    return (line.get('headline'), line.get('group'), line.get('case'), str(line.get('extent')), line.get('steps'),
            line.get('dtype'), line.get('boundary'), line.get('strategy'))


def case_row(line):
    extent = 'x'.join(map(str, line['extent']))
    steps = f", {line['steps']:.0f} steps" if line['steps'] > 1 else ''
    return (f"| {line['case']} {extent}{steps} | {line['dtype']} | {line['boundary']} | {line['strategy']} "
            f"| {1e3 * line['seconds']:.3f} | {line['gstencils_per_second']:.1f} | {line['percent_of_copy']:.1f} "
            f"| {1e-9 * line['copy_bytes_per_second']:.0f} | {line['date']}, {line['commit']} |\n")


def page_of(folder):
    text = OPENING
    for path in sorted(folder.glob('*.jsonl'), reverse=True):
        newest = {}
        for line in map(json.loads, path.read_text().splitlines()):
            newest[key_of(line)] = line
        headlines = [line for line in newest.values() if 'headline' in line]
        cases = [line for line in newest.values() if 'headline' not in line]
        text += f'\n## {path.stem}\n'
        if headlines:
            copy = sorted({round(1e-12 * line['copy_bytes_per_second'], 2) for line in headlines})
            text += (f"\nCopy, read and write: {' to '.join(map(str, sorted({copy[0], copy[-1]})))} TB/s.\n\n"
                     '| case | measured | compared with | command | date, commit |\n|---|--:|--:|---|---|\n')
            for line in headlines:
                text += (f"| {line['headline']} | {line['result']} | {line['beside']} | `{line['command']}` "
                         f"| {line['date']}, {line['commit']} |\n")
        if cases:
            text += ('\n| case | dtype | boundary | strategy | ms | GStencil/s | % of copy | copy, GB/s | date, commit |\n'
                     '|---|---|---|---|--:|--:|--:|--:|---|\n')
            text += ''.join(map(case_row, cases))
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('add', 'page', 'check'))
    parser.add_argument('--commit', help='of the library that was measured; else that of this checkout')
    parser.add_argument('--command', default='', help='the command that was measured')
    parser.add_argument('--folder', type=pathlib.Path, default=RESULTS)
    options = parser.parse_args()
    if options.what == 'add':
        add(options)
    elif options.what == 'page':
        PAGE.write_text(page_of(RESULTS))
    elif PAGE.read_text() != page_of(RESULTS):
        sys.exit('bench/RESULTS.md is not what bench/results.py page makes of bench/results: run it')


if __name__ == '__main__':
    main()
