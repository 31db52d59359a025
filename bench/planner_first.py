"""First results over a list of problems, for planner.py first: see there."""
import json
import statistics
import subprocess
import tempfile
import time


class First:
    """A problem whose first result is measured twice, each time in a process of its own: with an empty cache folder, then the same once more. The first
    process goes on, after its result, until what compiles beside has ended: meanwhile others are measured, as long as there are cores for it."""

    def __init__(self, options, problem, label):
        self.options, self.problem, self.label, self.folder = options, problem, label, tempfile.TemporaryDirectory()
        self.cold, self.process = None, None
        self.cold = self.start()

    def start(self):
        words = [str(self.problem[key]) for key in ('stencil', 'size', 'dtype', 'boundary', 'steps')]
        self.process = subprocess.Popen([self.options.first, *words, self.folder.name, *map(str, self.options.pack)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ended(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        if self.process.returncode:
            print(f'  {self.label}: {self.process.stderr.read().strip()}')
            self.cold = None
        return True

    def row(self):
        warm = self.cold and self.start()
        if not warm or not self.ended(60):
            return None
        cold, warm_ = self.cold['first_result'], warm['first_result']
        in_driver = warm_['context_in_driver_seconds'] + warm_['plan_in_driver_seconds']
        return {'problem': self.label, 'strategy': warm['strategy'], 'begins': (self.cold['plan'].get('begins') or {}).get('with'),
                'cold': cold, 'warm': warm_, 'seconds': warm['seconds'], 'in_driver': in_driver,
                'first': cold['context_seconds'] + cold['plan_seconds'] + cold['execute_seconds'],
                'own': warm_['context_seconds'] + warm_['plan_seconds'] - in_driver}


def measure(options, problems, name):
    """Warm: of our own there are context and plan, without what both spend in the driver (modules, memory, tables). Cold: context (the driver's start
    apart), plan and first execution; copies of grids are not in it."""
    rows, begun = [], []
    end = time.monotonic() + options.limit

    def take(first):
        row = first.row()
        first.folder.cleanup()
        if not row:
            return
        rows.append(row)
        cold = row['cold']
        print(f"{row['first']:7.3f} s (context {cold['context_seconds']:.3f}, plan {cold['plan_seconds']:.3f}, run "
              f"{cold['execute_seconds']:.3f}), warm {1e3 * row['own']:.1f} ms + driver {1e3 * row['in_driver']:.1f} + "
              f"{1e3 * row['seconds']:.3f}: {row['problem']}, {'begins with ' + row['begins'] if row['begins'] else row['strategy']}", flush=True)

    for problem in problems:
        if time.monotonic() > end:
            break
        begun.append(First(options, problem, name(problem)))
        for first in [each for each in begun if each.ended(0.2 if each is begun[-1] else 0)]:
            begun.remove(first)
            take(first)
        while len(begun) > options.beside:
            first = begun.pop(0)
            if first.ended(60):
                take(first)
    for first in begun:
        if first.ended(60):
            take(first)
    firsts, owns = sorted(row['first'] for row in rows), sorted(row['own'] for row in rows)
    if rows:
        bar = 0.15 if options.pack else 0.4
        print(f'{len(rows)} problems, driver start apart: median {statistics.median(firsts):.3f} s, longest {firsts[-1]:.3f} s, '
              f'{sum(seconds <= bar for seconds in firsts)} within {bar} s; warm, of our own: median '
              f'{1e3 * statistics.median(owns):.1f} ms, longest {1e3 * owns[-1]:.1f} ms, '
              f'{sum(seconds <= 5e-3 for seconds in owns)} within 5 ms')
    return {'problems': rows}
