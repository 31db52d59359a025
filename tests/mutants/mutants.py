#!/usr/bin/env python3
"""Mutation testing: makes realistic faults, one at a time, and runs the test that must detect each.

The faults are in the *.txt files beside this script, one file for each part of the project:

    # A comment.
    file src/plan/choose.c
    test plan --filter plan/* (the name of a meson test; more arguments of it are optional)
    - a text that occurs once in the file (several such lines: consecutive lines, indented or not)
    + the text in its place
    why no test can detect this fault (optional; such a fault is not made)

Usage: mutants.py WORK [--only TEXT] [--count N] [--seed N] [--jobs N]
       mutants.py --check

WORK is a folder for a copy of the tracked files and a build of it; the sources are not touched.
Tests never run as root, and in a temporary folder: a faulty command may replace any file that it
can write. `--only` selects files or tests by text, `--count` draws some faults at random. The last
line counts the faults that were detected; the exit status is 1 if one was not and has no reason.
`--check` only checks that each fault can still be made."""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOBODY = 65534
SKIPPED = 77
MOST_BYTES = 4 << 30  # of files and of data, in case a fault makes a program grow for ever


def reachable(folder):
    """Whether every user may enter the folder."""
    try:
        resolved = pathlib.Path(folder).resolve(strict=True)
        return all(each.stat().st_mode & 0o001 for each in (resolved, *resolved.parents))
    except OSError:
        return False


class Mutant:
    """One fault: its file, the test that detects it, the text before and after."""

    def __init__(self, area, block):
        lines = [line for line in block.splitlines() if line and not line.startswith('#')]
        fields = {'file': [], 'test': [], '-': [], '+': [], 'why': []}
        for line in lines:
            word, _, rest = line.partition(' ')
            if word not in fields:
                sys.exit(f'{area}: a line begins with none of file, test, -, + and why: {line}')
            fields[word].append(rest)
        if len(fields['file']) != 1 or len(fields['test']) != 1 or not fields['-']:
            sys.exit(f'{area}: this is no fault:\n{block}')
        self.area, self.file, self.why = area, fields['file'][0], ' '.join(fields['why'])
        self.test, *self.arguments = shlex.split(fields['test'][0])
        self.before, self.after = '\n'.join(fields['-']), '\n'.join(fields['+'])
        # Indentation is not compared.
        self.pattern = re.compile(r'\n[ \t]*'.join(map(re.escape, fields['-'])))

    def __str__(self):
        return f'{self.file}: {self.after.strip() or "without " + self.before.strip()}'

    def changed(self, text):
        """The file's text with the fault."""
        return self.pattern.sub(lambda _: self.after, text)


def read_mutants():
    return [Mutant(path.stem, block) for path in sorted(HERE.glob('*.txt')) for block in path.read_text().split('\n\n')
            if any(line and not line.startswith('#') for line in block.splitlines())]


class Build:
    """A copy of the tracked files, its build, and its tests."""

    def __init__(self, work, jobs):
        self.tree, self.folder, self.jobs = work / 'tree', work / 'tree' / 'build', jobs
        self.tree.mkdir(parents=True, exist_ok=True)
        tracked = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z'], check=True, capture_output=True, text=True).stdout
        for name in filter(None, tracked.split('\0')):
            source, copy = ROOT / name, self.tree / name
            if source.is_file() and not (copy.is_file() and copy.read_bytes() == source.read_bytes()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
        # Interpreters that the tests' user can run.
        os.environ['PATH'] = os.pathsep.join(filter(reachable, os.environ['PATH'].split(os.pathsep)))
        if not (self.folder / 'build.ninja').exists():
            subprocess.run(['meson', 'setup', self.folder, self.tree], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(['ninja', '-C', self.folder, 'build.ninja'], check=True, stdout=subprocess.DEVNULL)
        self.tests = {each['name']: each for each in self.introspect('--tests')}
        self.outputs = {each['id']: each['filename'] for each in self.introspect('--targets')}

    def introspect(self, what):
        return json.loads(subprocess.run(['meson', 'introspect', what, self.folder], check=True, capture_output=True, text=True).stdout)

    def make(self, test):
        """Builds what the test needs. False: it does not compile."""
        files = [name for each in test['depends'] for name in self.outputs[each]] + [word for word in test['cmd']]
        wanted = sorted({os.path.relpath(name, self.folder) for name in files if name.startswith(f'{self.folder}/') and not name.endswith('/..')})
        known = [name for name in wanted if not name.startswith('..') and '/../' not in name]
        done = subprocess.run(['ninja', '-C', self.folder, f'-j{self.jobs}', *known], capture_output=True, text=True)
        return done.returncode == 0

    def run(self, test, arguments, seconds):
        """The exit status, None past `seconds`; without a fault it must be 0."""
        with tempfile.TemporaryDirectory(prefix='stentor-mutant-') as folder:
            env = {**os.environ, **test['env'], 'HOME': folder, 'TMPDIR': folder, 'XDG_CACHE_HOME': folder,
                   'MESON_TEST_ITERATION': '1', 'PYTHONDONTWRITEBYTECODE': '1'}
            who = {}
            if os.geteuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
                who = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}

            def limits():
                os.setpgid(0, 0)
                resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
                resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

            process = subprocess.Popen([*test['cmd'], *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, errors='replace', preexec_fn=limits, **who)
            try:
                self.said = process.communicate(timeout=seconds)[0]
                bad = any(line.startswith('not ok') for line in self.said.splitlines())
                return 1 if bad and process.returncode == 0 else process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                self.said = process.communicate()[0]
                return None


def check_all(mutants):
    """Every fault can be made, and its file is tracked."""
    bad = 0
    for mutant in mutants:
        path = ROOT / mutant.file
        count = len(mutant.pattern.findall(path.read_text())) if path.is_file() else 0
        if count != 1:
            print(f'{mutant.area}: {mutant.file} has this text {count} times, and not once: {mutant.before}')
            bad += 1
        elif mutant.before == mutant.after:
            print(f'{mutant.area}: {mutant.file}: this fault changes nothing: {mutant.before}')
            bad += 1
    known = sum(1 for mutant in mutants if mutant.why)
    print(f'{len(mutants)} faults, {bad} of which cannot be made; {known} are known to have no test')
    return bad


def seconds_alone(build, mutant):
    """The seconds of the mutant's test without a fault; None if it does not pass."""
    test = build.tests.get(mutant.test) or sys.exit(f'there is no test {mutant.test}')
    if not build.make(test):
        sys.exit(f'{mutant.test} does not compile without a fault')
    began = time.monotonic()
    status = build.run(test, mutant.arguments, 600)
    if status == 0:
        return time.monotonic() - began
    print('\n'.join(build.said.splitlines()[-20:]))
    print(f'{mutant.test} {"is skipped" if status == SKIPPED else f"ends with {status}"} without a fault', flush=True)
    return None


def is_detected(build, mutant, seconds):
    """Makes the fault, runs its test, and restores the file."""
    path, test = build.tree / mutant.file, build.tests[mutant.test]
    before = path.read_text()
    try:
        path.write_text(mutant.changed(before))
        if not build.make(test):
            sys.exit(f'this fault does not compile: {mutant}')
        status = build.run(test, mutant.arguments, 20 + 5 * seconds)
        if status == SKIPPED:
            sys.exit(f'{mutant.test} is skipped with the fault: {mutant}')
        return status != 0
    finally:
        path.write_text(before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('work', nargs='?', type=pathlib.Path)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('--seed', type=int, default=time.time_ns() % 2**32)
    parser.add_argument('--count', type=int, default=0)
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    options = parser.parse_args()
    mutants = read_mutants()
    bad = check_all(mutants)
    if bad or options.check or not options.work:
        sys.exit(1 if bad else 0)
    mutants = [each for each in mutants if options.only in f'{each.area} {each.file} {each.test}']
    if options.count:
        random.seed(options.seed)
        mutants = random.sample(mutants, min(options.count, len(mutants)))
    build = Build(options.work.resolve(), options.jobs)
    seconds, found, counts = {}, [], {}
    for mutant in mutants:
        if mutant.why:
            print(f'not made     {mutant}: {mutant.why}')
            found.append(False)
            counts.setdefault(mutant.area, []).append(False)
            continue
        key = (mutant.test, *mutant.arguments)
        if key not in seconds:
            seconds[key] = seconds_alone(build, mutant)
        began, alone = time.monotonic(), seconds[key]
        detected = alone is not None and is_detected(build, mutant, alone)
        found.append(detected)
        counts.setdefault(mutant.area, []).append(detected)
        print(f'{"detected    " if detected else "NOT DETECTED"} {mutant.test}, {time.monotonic() - began:.1f} s: {mutant}', flush=True)
    for area, some in counts.items():
        print(f'{area}: {sum(some)} of {len(some)}')
    known = sum(1 for mutant in mutants if mutant.why)
    print(f'{sum(found)} of {len(found)} faults are detected, {known} are known to have no test; seed {options.seed}')
    sys.exit(0 if sum(found) + known == len(found) else 1)


if __name__ == '__main__':
    main()
