#!/usr/bin/env python3
"""Fault injection: runs each command with the n-th call of a kind failing.

The command must end with the right result, or with a status and a message of one sentence. It must
not hang, die of a signal, leave an unfinished file, or damage the cache folder.

Usage: faults.py [--all] [--seed N] [--kinds N] [--per N] [--only TEXT]. By default a few random n
of each command and some kinds; --all: every n of every kind, but at most 2000 random ones."""
import argparse
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

KINDS = ('malloc', 'calloc', 'realloc', 'mmap', 'open', 'read', 'write', 'fsync', 'rename', 'pthread_create', 'dlopen')
MAX_RUNS = 2000  # with --all, of one command
COMMAND, INJECT = os.environ['STENTOR_COMMAND'], os.environ['FAULTS_LIBRARY']
HERE = pathlib.Path(__file__).resolve().parent
TAPS = '[{"offset": [0, 1], "weight": 0.5}, {"offset": [0, 0], "weight": 0.25}]'
LIST = '[{"stencil": "heat-2d:alpha=0.2", "size": "20x24", "dtype": "f32"}]'
WAVE = 'field u(2)\ncoefficient c2\nstencil lap = laplace-2d\nu.next = 2*u - u.prev + c2*lap(u)\n'


def key_of(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def wisdom_text(*numbers):
    """A text of wisdom with one entry for each number."""
    text = 'stentor wisdom 3\n'
    for number in numbers:
        text += f'entry: {key_of(number)} {key_of(number)}\nproblem: number {number}\ndevice: D, driver 1\n'
        text += 'candidate: direct 0.5' + 20 * ' 1' + '\n'
    return text + f'sha256 {hashlib.sha256(text.encode()).hexdigest()}\n'


# Name, arguments, whether the output is the same each time.
HOST = [
    ('run', 'run --in in.npy --out out.npy --png out.png --stencil heat-2d:alpha=0.2 --steps 3 --device host --threads 2', False),
    ('run-steps', 'run --size 64x64 --out out.npy --stencil heat-2d:alpha=0.2 --steps 40 --every 20 --device host --threads 2 --json', False),
    ('run-taps', 'run --in in.npy --out out.npy --taps taps.json --boundary nearest --device host --threads 1', False),
    ('run-png', 'run --in grey.png --out out.npy --stencil heat-2d:alpha=0.2 --device host --threads 1', False),
    ('fft', 'fft --in in.npy --out out.npy --real --device host --threads 2', False),
    ('fno', 'fno --in layer.npy --weights weights.npy --modes 3 --out out.npy --device host --threads 2', False),
    ('explain', 'explain --size 64x64 --stencil heat-2d --steps 100 --device host', False),
    ('explain-gpu', 'explain --size 256x256 --stencil heat-2d --steps 20 --arch sm_90', False),
    ('doctor', 'doctor', False),
    ('tune-list', 'tune --problems list.json --device host', False),
    ('system', 'run --system wave.txt --field u=in.npy --coefficient c2=0.2 --steps 3 --out out.npy --device host --threads 2', False),
    ('wisdom-import', 'wisdom import new.txt --cache-dir known', False),
    ('wisdom-export', 'wisdom export --out out.txt --cache-dir known', True),
    ('wisdom-merge', 'wisdom merge old.txt new.txt --out out.txt', True),
    ('wisdom-list', 'wisdom list --cache-dir known', True),
    ('wisdom-forget', f'wisdom forget {key_of(1)} --cache-dir known', False),
]
STORED = [
    ('cache-list', 'cache list --cache-dir cache', True),
    ('cache-verify', 'cache verify --cache-dir cache', True),
    ('cache-gc', 'cache gc --cache-dir cache', True),
    ('pack-list', 'pack list --json a.stnpack', True),
    ('pack-verify', 'pack verify a.stnpack', True),
    ('pack-merge', 'pack merge -o out.stnpack a.stnpack', True),
    ('pack-build', 'pack build --arch sm_90 --problems list.json -o out.stnpack --cache-dir cache --threads 2', False),
    ('pack-sign', 'pack sign --key maker.key a.stnpack', True),
    ('pack-trust', 'pack verify --trust maker.key.pub a.stnpack', True),
    ('compile', 'compile --arch sm_90 --size 30x30 --stencil heat-2d --cache-dir cache', False),
    ('run-gpu', 'run --in in.npy --out out.npy --stencil heat-2d:alpha=0.2 --dtype f32 --device cuda --cache-dir cache', False),
]
OUTPUTS = ('out.npy', 'out.png', 'out.stnpack', 'out.txt', 'a.stnpack.sig')


class Wrong(Exception):
    """A forbidden outcome of a run."""


def listing(folder):
    """The files in the folder; in the caches only unfinished ones."""
    found = set()
    for path in folder.rglob('*'):
        name = str(path.relative_to(folder))
        if path.is_file() and (not name.startswith(('cache/', 'known/')) or '.tmp-' in name):
            found.add(name)
    return found - {'count'}


class Workbench:
    """A folder of inputs, and runs of commands with and without a fault."""

    def __init__(self, folder):
        self.inputs = folder / 'inputs'
        self.inputs.mkdir()
        self.work = folder / 'work'
        # A folder without NVIDIA's libraries, whose own allocations would fail too.
        absent = {f'STENTOR_{name}_PATH': str(self.inputs) for name in ('NVRTC', 'CUFFT', 'CUBLAS', 'NCCL')}
        self.env = {**absent, **os.environ, 'STENTOR_CACHE_DIR': ':memory:', 'LC_ALL': 'C.UTF-8'}
        (self.inputs / 'libnvrtc.so.12').write_bytes(b'none')
        self.run('run --size 20x24 --stencil heat-2d:alpha=0.1 --device host --out in.npy', cwd=self.inputs)
        self.run('run --size 20x24 --stencil heat-2d:alpha=0.1 --device host --out grey.png', cwd=self.inputs)
        self.run('run --size 2x16 --stencil heat-1d:alpha=0.1 --device host --dtype f32 --out layer.npy', cwd=self.inputs)
        self.run('fft --size 2x2x3 --axes -1 --device host --dtype f32 --out weights.npy', cwd=self.inputs)
        (self.inputs / 'taps.json').write_text(TAPS)
        (self.inputs / 'list.json').write_text(LIST)
        (self.inputs / 'wave.txt').write_text(WAVE)
        (self.inputs / 'old.txt').write_text(wisdom_text(1, 2))
        (self.inputs / 'new.txt').write_text(wisdom_text(2, 3))
        self.run('wisdom import old.txt --cache-dir known', cwd=self.inputs)
        (self.inputs / 'out.npy').write_bytes(b'what was there before')
        self.stored = 'STENTOR_NVRTC_PATH' in os.environ
        if self.stored:
            self.run('pack build --arch sm_90 --problems list.json -o a.stnpack --cache-dir cache', cwd=self.inputs)
            self.run('pack keys -o maker.key', cwd=self.inputs)
            self.run('pack sign --key maker.key a.stnpack', cwd=self.inputs)
            (self.inputs / 'a.stnpack.sig').chmod(0o644)
        self.before = listing(self.inputs)

    def run(self, arguments, cwd, **environment):
        done = subprocess.run([COMMAND, *arguments.split()], cwd=cwd, env={**self.env, **environment}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)
        if done.returncode:
            sys.exit(f'stentor {arguments} fails without a fault: {done.stderr}')
        return done

    def fresh(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.inputs, self.work, symlinks=True)

    def start(self, words, kind, at, always=False, within=''):
        self.fresh()
        env = {**self.env, 'LD_PRELOAD': INJECT, 'STENTOR_FAULT_CALL': kind, 'STENTOR_FAULT_AT': str(at),
               'STENTOR_FAULT_COUNT': str(self.work / 'count'), 'STENTOR_FAULT_WITHIN': within}
        if always:
            env['STENTOR_FAULT_ALWAYS'] = '1'
        try:
            return subprocess.run(words, cwd=self.work, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        except subprocess.TimeoutExpired:
            raise Wrong('it hangs') from None

    def calls(self):
        return int((self.work / 'count').read_text())

    def outputs(self):
        return {name: (self.work / name).read_bytes() for name in OUTPUTS if (self.work / name).exists()}


def check(bench, done, kind, good, printed, stable):
    """Checks the outcome of a command with a fault."""
    if done.returncode < 0:
        raise Wrong(f'it died of signal {-done.returncode}: {done.stderr[-300:]}')
    left = listing(bench.work) - bench.before - set(OUTPUTS)
    if left:
        raise Wrong(f'it leaves {sorted(left)}')
    old = {name: (bench.inputs / name).read_bytes() for name in OUTPUTS if (bench.inputs / name).exists()}
    for name, content in bench.outputs().items():
        if content not in (good.get(name), old.get(name)):
            raise Wrong(f'{name} is neither the result nor what was there before')
    if done.returncode == 0:
        if bench.outputs() != good:
            raise Wrong('it says nothing, and its outputs are not the result')
        said = 'not read' in done.stdout or 'stentor: warning: ' in done.stderr
        if stable and done.stdout != printed and not said:
            raise Wrong(f'it says nothing, and prints {done.stdout!r} instead of {printed!r}')
    else:
        if kind == 'calloc' and (done.returncode, done.stderr) == (127, 'out of memory\n'):
            return  # the dynamic linker ended the process
        if done.returncode in (10, 11):
            raise Wrong(f'it blames its input or itself: {done.stderr!r}')
        told = [line for line in done.stderr.splitlines() if line.startswith('stentor: ') and not line.startswith(('stentor: warning: ', 'stentor: error: '))]
        if len(told) != 1 or done.returncode not in range(2, 12):
            raise Wrong(f'status {done.returncode} with {done.stderr!r}')


def check_wisdom(bench, name, succeeded):
    """Earlier wisdom remains, except forgotten entries, and imported wisdom is there."""
    done = subprocess.run([COMMAND, 'wisdom', 'export', '--cache-dir', 'known'], cwd=bench.work, env=bench.env, capture_output=True, text=True,
                          timeout=60)
    known = {int(number) for number in re.findall('problem: number (.)', done.stdout)}
    must = {1, 2} - ({1} if name == 'wisdom-forget' else set()) | ({3} if name == 'wisdom-import' and succeeded else set())
    may = {1, 2} | ({3} if name == 'wisdom-import' else set())
    if name == 'wisdom-forget' and succeeded:
        may.remove(1)
    if done.returncode or not must <= known <= may:
        raise Wrong(f'of wisdom {known} is left: {done.stderr}')


def check_cache(bench):
    if not (bench.work / 'cache').is_dir():
        return
    done = subprocess.run([COMMAND, 'cache', 'verify', '--json', '--cache-dir', 'cache'], cwd=bench.work, env=bench.env, capture_output=True,
                          text=True, timeout=60)
    if done.returncode or '"damaged":0' not in done.stdout:
        raise Wrong(f'the cache is not whole: {done.stdout}{done.stderr}')


def drawn(options, count):
    if options.all and count <= MAX_RUNS:
        return range(1, count + 1)
    return sorted(random.sample(range(1, count + 1), min(count, MAX_RUNS if options.all else options.per)))


def try_command(bench, options, name, words, stable, wrong, within=''):
    python = name == 'python'
    clean = bench.start(words, 'none', 0, within=within)
    if clean.returncode:
        sys.exit(f'{name} fails without a fault: {clean.stdout}{clean.stderr}')
    good, printed, tried = bench.outputs(), clean.stdout, 0
    for kind in KINDS if options.all else random.sample(KINDS, options.kinds):
        bench.start(words, kind, 0, within=within)  # at 0: nothing fails, and the calls are counted
        for at in drawn(options, bench.calls()):
            and_all_after = not python and (options.all or random.random() < 0.3)
            for always in (False, True) if and_all_after else (False,):
                tried += 1
                try:
                    done = bench.start(words, kind, at, always, within)
                    if python and done.returncode:
                        raise Wrong(f'status {done.returncode}: {done.stderr[-400:]}')
                    if not python:
                        check(bench, done, kind, good, printed, stable)
                        check_cache(bench)
                        check_wisdom(bench, name, done.returncode == 0)
                except Wrong as why:
                    wrong.append(f'{name}, {kind} number {at}{" and all after" if always else ""}: {why}')
                    print(wrong[-1], flush=True)
    return tried


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--seed', type=int, default=time.time_ns() % 2**32)
    parser.add_argument('--per', type=int, default=1)
    parser.add_argument('--kinds', type=int, default=4)
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    if os.environ.get('SANITIZE', 'none') != 'none':
        print('a sanitizer has an allocator of its own, which cannot be replaced')
        sys.exit(77)
    random.seed(options.seed)
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory(prefix='stentor-faults-') as folder:
        bench = Workbench(pathlib.Path(folder))
        for name, arguments, stable in HOST + (STORED if bench.stored else []):
            if options.only in name:
                # The emulated driver and NVRTC are not part of Stentor, so no call in them fails.
                within = COMMAND if name in ('compile', 'run-gpu') else ''
                bench.env['STENTOR_CUDA_PATH'] = os.environ.get('STENTOR_CUDA_PATH', '') if within else '/absent'
                tried += try_command(bench, options, name, [COMMAND, *arguments.split()], stable, wrong, within)
        if os.environ.get('FAULTS_PYTHON') and options.only in 'python':
            words = [os.environ['FAULTS_PYTHON'], '-B', str(HERE / 'program.py')]
            tried += try_command(bench, options, 'python', words, False, wrong, 'libstentor')
    print(f'{tried} faults, {len(wrong)} wrong; seed {options.seed}' + ('' if bench.stored else '; no emulated NVRTC: nothing stored'))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
