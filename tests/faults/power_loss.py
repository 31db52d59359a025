#!/usr/bin/env python3
"""Power loss: records what commands do to a cache folder, and checks each state that a loss of
power may leave behind.

`record.c` records creates, writes, renames, removals and fsyncs. A state is the folder after a
prefix of these operations, some of which did not reach the disk. Any set of them may be missing,
except:

    - data written to a file before its fsync
    - changes of a folder's names before the folder's fsync

A file whose data were not synced may be empty, cut short or zero. A rename is atomic. In each state
no kernel may be damaged, wisdom must be readable, and all wisdom must be there that a command has
acknowledged by its exit; kernels may be missing. Then the folder must take new wisdom.

Usage: power_loss.py [--all] [--count N] [--seed N]. By default --count random states; --all: each
prefix with each single operation missing, each torn file, and random sets."""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from faults import key_of, wisdom_text

COMMAND, RECORDER = os.environ['STENTOR_COMMAND'], os.environ['RECORDER_LIBRARY']
COMPILE = 'compile --arch sm_90 --size 100x100 --quiet --stencil '


# The commands that are recorded, and the numbers of the entries of wisdom after each.
COMMANDS = [
    ('wisdom import w1', {1}),
    ('wisdom import w23', {1, 2, 3}),
    (COMPILE + 'heat-2d', {1, 2, 3}),
    (COMPILE + 'box-2d9p', {1, 2, 3}),
    (f'wisdom forget {key_of(1)[:16]}', {2, 3}),
    ('wisdom import w4', {2, 3, 4}),
    ('cache gc --max-files 1 --spare-hours 0', {2, 3, 4}),
    (COMPILE + 'heat-2d', {2, 3, 4}),
]

Operation = collections.namedtuple('Operation', 'kind fields')


class State:
    """A folder's files: names are paths, an inode is a number of the record."""

    def __init__(self):
        self.names, self.content, self.modes = {}, collections.defaultdict(bytearray), {}

    def apply(self, operation):
        kind, fields = operation
        if kind == 'create':
            self.names[fields[2]] = ('file', fields[0])
            self.modes[fields[0]] = int(fields[1], 8)
        elif kind == 'mkdir':
            self.names[fields[1]] = ('folder', int(fields[0], 8))
        elif kind == 'symlink':
            self.names[fields[0]] = ('link', fields[1])
        elif kind in ('unlink', 'rmdir'):
            self.names.pop(fields[0], None)

    def make(self, folder, under):
        """Writes the state; files in folders that are missing are missing too."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        for path, (kind, what) in sorted(self.names.items()):
            at = folder / os.path.relpath(path, under)
            if at == folder or not at.parent.is_dir():
                continue
            if kind == 'folder':
                at.mkdir(mode=what)
            elif kind == 'link':
                at.symlink_to(what)
            else:
                at.write_bytes(self.content[what])
                at.chmod(self.modes[what])


def with_inodes(operations):
    """The operations with a new number for each created file, and a rename as the name and what it
    then names: the kernel may use an inode's number again."""
    numbers, names, made = {}, {}, []
    for kind, fields in operations:
        if kind == 'create':
            numbers[fields[0]] = len(made)
            fields = (len(made), *fields[1:])
            names[fields[2]] = ('create', fields)
        elif kind in ('write', 'sync'):
            if fields[0] not in numbers:
                continue  # a file that was there before, such as the lock
            fields = (numbers[fields[0]], *fields[1:])
        elif kind == 'symlink':
            names[fields[0]] = ('symlink', fields)
        elif kind == 'rename':
            source = names.pop(fields[0])
            names[fields[1]] = source
            fields = (*fields, source)
        made.append(Operation(kind, fields))
    return made


def folder_of(operation):
    """The folder whose names an operation changes, or None."""
    path = {'create': 2, 'mkdir': 1, 'symlink': 0, 'unlink': 0, 'rmdir': 0, 'rename': 1}.get(operation.kind)
    return None if path is None else os.path.dirname(operation.fields[path])


def loose(operations):
    """The indices of operations that a loss of power after all of them may undo."""
    found, files, folders = [], set(), set()
    for i in reversed(range(len(operations))):
        operation = operations[i]
        if operation.kind == 'sync':
            files.add(operation.fields[0])
        elif operation.kind == 'syncdir':
            folders.add(operation.fields[0])
        elif operation.kind == 'write' and operation.fields[0] not in files:
            found.append(i)
        elif folder_of(operation) is not None and folder_of(operation) not in folders:
            found.append(i)
    return found


def replay(operations, missing, torn):
    """The state after the operations, without those in `missing`; a write in `torn` is cut short or
    of zeros."""
    state = State()
    for i, operation in enumerate(operations):
        kind, fields = operation
        if kind == 'write':
            data, at = bytes.fromhex(fields[2]), int(fields[1])
            if i in missing:
                continue
            if i in torn:
                data = torn[i](data)
            content = state.content[fields[0]]
            content.extend(bytes(max(0, at + len(data) - len(content))))
            content[at:at + len(data)] = data
        elif i not in missing:
            if kind == 'rename':
                source, target, (of, what) = fields
                state.names.pop(source, None)
                if of == 'create':
                    state.names[target] = ('file', what[0])
                    state.modes[what[0]] = int(what[1], 8)
                else:
                    state.names[target] = ('link', what[1])
            else:
                state.apply(operation)
    return state


TORN = [lambda data: data[:len(data) // 2], lambda data: bytes(len(data)), lambda data: data[:-1] + b'\0']


class Workbench:
    def __init__(self, folder):
        self.folder, self.cache, self.copy = folder, folder / 'cache', folder / 'copy'
        self.env = {**os.environ, 'LC_ALL': 'C.UTF-8'}
        for name, numbers in (('w1', (1,)), ('w23', (2, 3)), ('w4', (4,)), ('w9', (9,))):
            (folder / name).write_text(wisdom_text(*numbers))

    def run(self, words, cache, **more):
        return subprocess.run([COMMAND, *words.split(), '--cache-dir', str(cache)] if not words.startswith('wisdom') else [COMMAND, *words.split()],
                              cwd=self.folder, env={**self.env, 'STENTOR_CACHE_DIR': str(cache), **more}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)

    def record(self):
        """Runs all commands; returns the operations, and the wisdom acknowledged by each."""
        self.cache.mkdir(mode=0o700)
        file, acknowledged = self.folder / 'records', [(0, set(), set())]
        file.touch()
        allowed = {()}
        for words, numbers in COMMANDS:
            if words.startswith('compile') and 'STENTOR_NVRTC_PATH' not in os.environ:
                continue
            done = self.run(words, self.cache, LD_PRELOAD=RECORDER, STENTOR_RECORD_UNDER=str(self.cache), STENTOR_RECORD_FILE=str(file))
            if done.returncode:
                sys.exit(f'{words} fails: {done.stderr}')
            allowed.add(tuple(sorted(numbers)))
            acknowledged.append((len(file.read_text().splitlines()), numbers, set(allowed)))
        lines = [line.split('\t') for line in file.read_text().splitlines()]
        return [Operation(line[0], tuple(line[1:])) for line in lines], acknowledged

    def numbers_of(self, cache):
        done = self.run('wisdom list --json', cache)
        if done.returncode:
            raise AssertionError(f'wisdom cannot be listed: {done.stderr}')
        return {int(line.partition('number ')[2]) for each in json.loads(done.stdout) for line in each['measured'].splitlines()
                if line.startswith('problem: ')}

    def check(self, state, must, may):
        """must: the acknowledged wisdom; may: wisdom that the interrupted command writes."""
        state.make(self.copy, self.cache)
        found = self.numbers_of(self.copy)
        if found not in (must, may):
            raise AssertionError(f'wisdom has {sorted(found)} where {sorted(must)} or {sorted(may)} was written')
        done = self.run('cache verify --json', self.copy)
        if done.returncode or json.loads(done.stdout)['damaged'] or json.loads(done.stdout)['left']:
            raise AssertionError(f'the cache is not whole: {done.stdout}{done.stderr}')
        done = self.run('wisdom import w9', self.copy)
        if done.returncode or self.numbers_of(self.copy) != found | {9}:
            raise AssertionError(f'it takes no new wisdom: {done.stderr}')


def variants(operations, options):
    """Sets of missing operations, and torn writes."""
    may = loose(operations)
    writes = [i for i in may if operations[i].kind == 'write']
    yield set(), {}
    for i in may:
        yield {i}, {}
    for i in writes:
        for how in TORN:
            yield set(), {i: how}
    yield set(may), {}
    for _ in range(options.sets):
        missing = set(random.sample(may, random.randrange(len(may) + 1)))
        yield missing, {i: random.choice(TORN) for i in writes if i not in missing and random.random() < 0.5}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--count', type=int, default=60)
    parser.add_argument('--seed', type=int, default=time.time_ns() % 2**32)
    parser.add_argument('--sets', type=int, default=4)
    options = parser.parse_args()
    if os.environ.get('SANITIZE', 'none') != 'none':
        print('a sanitizer has its own versions of the recorded functions')
        sys.exit(77)
    random.seed(options.seed)
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory(prefix='stentor-power-') as folder:
        bench = Workbench(pathlib.Path(folder).resolve())
        raw, acknowledged = bench.record()
        states = []
        operations = with_inodes(raw)
        # with_inodes leaves out operations on files that it does not know: there are none here.
        assert len(operations) == len(raw), 'a file was written that was not created'
        for count in range(len(operations) + 1):
            known = [each for each in acknowledged if each[0] <= count][-1]
            following = [each for each in acknowledged if each[0] > count]
            for missing, torn in variants(operations[:count], options):
                states.append((count, missing, torn, known[1], following[0][1] if following else known[1]))
        chosen = states if options.all else random.sample(states, min(options.count, len(states)))
        for count, missing, torn, must, may in chosen:
            tried += 1
            try:
                bench.check(replay(operations[:count], missing, torn), must, may)
            except AssertionError as why:
                lost = [f'{i}: {operations[i].kind}' for i in sorted(missing | set(torn))]
                wrong.append(f'after {count} operations, without {", ".join(lost)}: {why}')
                print(wrong[-1], flush=True)
    print(f'{len(operations)} operations, {tried} of {len(states)} states checked, {len(wrong)} wrong; seed {options.seed}')
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
