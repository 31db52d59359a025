#!/usr/bin/env python3
"""Mutation testing: makes realistic faults, one at a time, and runs the test that must detect each.

The faults are in the *.txt files beside this script, one file for each part of the project:

    # A comment.
    file src/plan/choose.c
    test plan --filter plan/* (the name of a meson test; more arguments of it are optional)
    - a text that occurs once in the file (several such lines: consecutive lines, indented or not)
    + the text in its place
    why no test can detect this fault (optional; such a fault is not made)

An empty line separates faults. Without a line `file` or `test` a fault has those of the one before.

Usage: mutants.py WORK [--only TEXT] [--count N] [--seed N] [--jobs N] [--verdicts FILE.json]
       mutants.py --check

WORK is a folder for a copy of the tracked files, a build of it, and a copy of both for each of the
`--jobs` faults that are tried at a time; the sources are not touched. Tests never run as root, and
in a temporary folder: a faulty command may replace any file that it can write. `--only` selects
files or tests by text, `--count` draws some faults at random. The last line counts the faults that
were detected; the exit status is 1 if one was not and has no reason. `--verdicts` writes what was
found after each fault; another run on the same sources tries only the faults that are not in the
file. `--check` only checks that each fault can still be made."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import queue
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOBODY = 65534
SKIPPED = 77
MAX_BYTES = 4 << 30  # of files and of data, in case a fault makes a program grow for ever


def reachable(folder):
    """Whether every user may enter the folder."""
    try:
        resolved = pathlib.Path(folder).resolve(strict=True)
        return all(each.stat().st_mode & 0o001 for each in (resolved, *resolved.parents))
    except OSError:
        return False


class Mutant:
    """One fault: its file, the test that detects it, the text before and after."""

    def __init__(self, area, block, before=None):
        """`before`: the fault before it, or None."""
        lines = [line for line in block.splitlines() if line and not line.startswith('#')]
        fields = {'file': [], 'test': [], '-': [], '+': [], 'why': []}
        for line in lines:
            word, _, rest = line.partition(' ')
            if word not in fields:
                sys.exit(f'{area}: a line begins with none of file, test, -, + and why: {line}')
            fields[word].append(rest)
        for word in ('file', 'test'):
            fields[word] = fields[word] or before and before.fields[word] or []
            if len(fields[word]) != 1:
                sys.exit(f'{area}: this fault has {len(fields[word])} lines "{word}":\n{block}')
        if not fields['-']:
            sys.exit(f'{area}: this is no fault:\n{block}')
        self.fields, self.area, self.file, self.why = fields, area, fields['file'][0], ' '.join(fields['why'])
        self.test, *self.arguments = shlex.split(fields['test'][0])
        self.before, self.after = '\n'.join(fields['-']), '\n'.join(fields['+'])
        # Indentation is not compared.
        self.pattern = re.compile(r'\n[ \t]*'.join(map(re.escape, fields['-'])))

    def __str__(self):
        return f'{self.file}: {self.after.strip() or "without " + self.before.strip()}'

    def name(self):
        """A text that no other fault has."""
        return '\n'.join([self.file, ' '.join([self.test, *self.arguments]), '- ' + self.before, '+ ' + self.after])

    def changed(self, text):
        """The file's text with the fault."""
        return self.pattern.sub(lambda _: self.after, text)


def read_mutants():
    mutants = []
    for path in sorted(HERE.glob('*.txt')):
        before = None
        for block in path.read_text().split('\n\n'):
            if any(line and not line.startswith('#') for line in block.splitlines()):
                before = Mutant(path.stem, block, before)
                mutants.append(before)
    return mutants


def source_names():
    """The tracked files; without git all files that are not in a build folder."""
    listed = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z'], capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split('\0') if name and (ROOT / name).is_file()]
    names = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [each for each in folders if each != '.git' and not os.path.isdir(os.path.join(folder, each, 'meson-private'))]
        names += [os.path.relpath(os.path.join(folder, each), ROOT) for each in files]
    return names


def copy_sources(tree):
    """Copies the sources that differ; the digest of all."""
    digest = hashlib.sha256()
    for name in sorted(source_names()):
        source, copy = ROOT / name, tree / name
        content = source.read_bytes()
        digest.update(name.encode() + hashlib.sha256(content).digest())
        if not (copy.is_file() and copy.read_bytes() == content):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    return digest.hexdigest()


class Build:
    """A copy of the sources, its build, and its tests."""

    def __init__(self, tree, jobs, made_in=None):
        """Makes a build folder in `tree`, or returns the one copied from another folder."""
        self.tree, self.folder, self.jobs = tree, tree / 'build', jobs
        if not made_in and not (self.folder / 'build.ninja').exists():
            subprocess.run(['meson', 'setup', self.folder, self.tree], check=True, stdout=sys.stderr)
        if not made_in:
            subprocess.run(['ninja', '-C', self.folder, 'build.ninja'], check=True, stdout=subprocess.DEVNULL)
        described = [(self.folder / 'meson-info' / f'intro-{name}.json').read_text() for name in ('tests', 'targets')]
        tests, targets = (json.loads(text.replace(f'{made_in or tree}/', f'{tree}/')) for text in described)
        self.tests = {each['name']: each for each in tests}
        self.outputs = {each['id']: each['filename'] for each in targets}

    def copy(self, tree, jobs):
        """A copy with all that is built, as ninja's commands name the sources by relative paths."""
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(['cp', '-a', self.tree, tree], check=True)
        return Build(tree, jobs, self.tree)

    def make(self, *tests):
        """Builds the targets that the tests need; False if a file does not compile."""
        files = [name for test in tests for name in [name for each in test['depends'] for name in self.outputs[each]] + test['cmd']]
        wanted = sorted({os.path.relpath(name, self.folder) for name in files if name.startswith(f'{self.folder}/') and not name.endswith('/..')})
        known = [name for name in wanted if not name.startswith('..') and '/../' not in name]
        done = subprocess.run(['ninja', '-C', self.folder, f'-j{self.jobs}', *known], capture_output=True, text=True)
        return done.returncode == 0

    def run(self, test, arguments, seconds):
        """The exit status (None after a timeout of `seconds`) and the output."""
        with tempfile.TemporaryDirectory(prefix='stentor-mutant-') as folder:
            lists = {name: os.pathsep.join([test['env'][name], os.environ[name]]) for name in ('PYTHONPATH', 'LD_LIBRARY_PATH')
                     if test['env'].get(name) and os.environ.get(name)}
            env = {**os.environ, **test['env'], **lists, 'HOME': folder, 'TMPDIR': folder, 'XDG_CACHE_HOME': folder,
                   'MESON_TEST_ITERATION': '1', 'PYTHONDONTWRITEBYTECODE': '1'}
            who = {}
            if os.geteuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
                who = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}
            limits = [f'--fsize={MAX_BYTES}', f'--data={MAX_BYTES}', '--core=0']
            process = subprocess.Popen(['prlimit', *limits, *test['cmd'], *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', start_new_session=True, **who)
            try:
                said = process.communicate(timeout=seconds)[0]
                bad = any(line.startswith('not ok') for line in said.splitlines())
                return 1 if bad and process.returncode == 0 else process.returncode, said
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None, process.communicate()[0]


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


def seconds_alone(build, name, arguments):
    """The seconds of a test without a fault; None if it does not pass."""
    began = time.monotonic()
    status, said = build.run(build.tests[name], arguments, 600)
    if status == 0:
        return time.monotonic() - began
    print('\n'.join(said.splitlines()[-20:]))
    print(f'{name} {"is skipped" if status == SKIPPED else f"ends with {status}"} without a fault', flush=True)
    return None


def verdict(build, mutant, seconds):
    """Makes the fault, runs its test, and restores the file."""
    path, test = build.tree / mutant.file, build.tests[mutant.test]
    before = path.read_text()
    try:
        path.write_text(mutant.changed(before))
        if not build.make(test):
            return 'does not compile'
        status, _ = build.run(test, mutant.arguments, 20 + 5 * seconds)
        return {None: 'hangs: detected', 0: 'NOT DETECTED', SKIPPED: 'is skipped'}.get(status, 'detected')
    finally:
        path.write_text(before)


class Verdicts:
    """Verdicts, written to a file after each fault, so that an interrupted run can continue."""

    def __init__(self, path, digest):
        self.path, self.found, self.lock = path, {'sources': digest, 'verdicts': {}}, threading.Lock()
        if path and path.exists() and json.loads(path.read_text()).get('sources') == digest:
            self.found = json.loads(path.read_text())

    def known(self, mutant):
        return mutant.why and 'not made' or self.found['verdicts'].get(mutant.name())

    def add(self, mutant, verdict, seconds):
        with self.lock:
            self.found['verdicts'][mutant.name()] = verdict
            print(f'{verdict:16} {mutant.test}, {seconds:.1f} s: {mutant}', flush=True)
            if self.path:
                scratch = self.path.with_suffix('.new')
                scratch.write_text(json.dumps(self.found, indent=1) + '\n')
                scratch.replace(self.path)


def try_all(mutants, work, jobs, verdicts):
    """Tries the faults that have no verdict yet, `jobs` at a time, each in a copy of one build."""
    base = Build(work / 'tree', os.cpu_count())
    for mutant in mutants:
        if mutant.test not in base.tests:
            verdicts.add(mutant, 'has no test here', 0)
    left = [each for each in mutants if not verdicts.known(each)]
    if not left:
        return
    if not base.make(*(base.tests[each.test] for each in left)):
        sys.exit('the tests do not compile without a fault')
    idle = queue.SimpleQueue()
    for number in range(min(jobs, len(left))):
        idle.put(base.copy(work / str(number), max(1, 2 * os.cpu_count() // jobs)))

    def in_idle(function, *arguments):
        build = idle.get()
        try:
            return function(build, *arguments)
        finally:
            idle.put(build)

    def try_one(mutant):
        began, alone = time.monotonic(), seconds[mutant.test, *mutant.arguments].result()
        found = 'its test fails' if alone is None else in_idle(verdict, mutant, alone)
        verdicts.add(mutant, found, time.monotonic() - began)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        seconds = {key: pool.submit(in_idle, seconds_alone, key[0], key[1:]) for key in {(each.test, *each.arguments) for each in left}}
        concurrent.futures.wait(seconds.values())
        # The longest first.
        left.sort(key=lambda each: -(seconds[each.test, *each.arguments].result() or 0))
        for done in [pool.submit(try_one, each) for each in left]:
            done.result()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('work', nargs='?', type=pathlib.Path)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('--seed', type=int, default=time.time_ns() % 2**32)
    parser.add_argument('--count', type=int, default=0)
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--verdicts', type=pathlib.Path)
    options = parser.parse_args()
    mutants = read_mutants()
    bad = check_all(mutants)
    if bad or options.check or not options.work:
        sys.exit(1 if bad else 0)
    mutants = [each for each in mutants if options.only in f'{each.area} {each.file} {each.test}']
    if options.count:
        random.seed(options.seed)
        mutants = random.sample(mutants, min(options.count, len(mutants)))
    # Interpreters that the tests' user can run.
    os.environ['PATH'] = os.pathsep.join(filter(reachable, os.environ['PATH'].split(os.pathsep)))
    work = options.work.resolve()
    verdicts = Verdicts(options.verdicts, copy_sources(work / 'tree'))
    try_all(mutants, work, options.jobs, verdicts)
    found = {each: verdicts.known(each) for each in mutants}
    for each in mutants:
        if not found[each].endswith('detected'):
            print(f'{found[each]}: {each}' + (f': {each.why}' if each.why else f' ({each.test})'))
    for area in sorted({each.area for each in mutants}):
        some = [found[each].endswith('detected') for each in mutants if each.area == area]
        print(f'{area}: {sum(some)} of {len(some)}')
    detected, known = (sum(1 for each in found.values() if each.endswith(end)) for end in ('detected', 'not made'))
    print(f'{detected} of {len(found)} faults are detected, {known} are known to have no test; seed {options.seed}')
    sys.exit(0 if detected + known == len(found) else 1)


if __name__ == '__main__':
    main()
