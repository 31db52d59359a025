"""First results over a list of problems, for `planner.py first`; see there."""
import json
import statistics
import subprocess
import tempfile
import time


def told_by(options, problem, folder, label):
    """The output of a process for one problem; None, after its message, if it fails."""
    words = [str(problem[key]) for key in ('stencil', 'size', 'dtype', 'boundary', 'steps')]
    try:
        done = subprocess.run([options.first, *words, folder, *map(str, options.pack)], capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        print(f'  {label}: longer than a minute')
        return None
    if done.returncode:
        print(f'  {label}: {done.stderr.strip()}')
        return None
    return json.loads(done.stdout)


def row_of(options, problem, label):
    """Two processes: with an empty cache folder, then the same again."""
    with tempfile.TemporaryDirectory() as folder:
        cold = told_by(options, problem, folder, label)
        warm = cold and told_by(options, problem, folder, label)
    if not warm:
        return None
    first, again = cold['first_result'], warm['first_result']
    in_driver = again['context_in_driver_seconds'] + again['plan_in_driver_seconds']
    first_runs = (cold['plan'].get('first_result') or {}).get('runs')
    return {'problem': label, 'strategy': warm['strategy'], 'generic': first_runs is not None, 'cold': first, 'warm': again,
            'seconds': warm['seconds'], 'in_driver': in_driver,
            'first': first['context_seconds'] + first['plan_seconds'] + first['execute_seconds'],
            'own': again['context_seconds'] + again['plan_seconds'] - in_driver}


def measure(options, problems, name):
    """Prints the times of processes with an empty (cold) and a filled (warm) cache folder.

    Warm: context and plan without their time in the driver (modules, memory, tables). Cold: context
    (without the driver's start), plan and first execution, without copies of grids. A process ends
    after its result, because background compiles would disturb the next one.
    """
    rows = []
    end = time.monotonic() + options.limit
    for problem in problems:
        if time.monotonic() > end:
            break
        row = row_of(options, problem, name(problem))
        if not row:
            continue
        rows.append(row)
        cold = row['cold']
        print(f"{row['first']:7.3f} s (context {cold['context_seconds']:.3f}, plan {cold['plan_seconds']:.3f}, run "
              f"{cold['execute_seconds']:.3f}), warm {1e3 * row['own']:.1f} ms + driver {1e3 * row['in_driver']:.1f} + "
              f"{1e3 * row['seconds']:.3f}: {row['problem']}, {'the generic kernel' if row['generic'] else row['strategy']}", flush=True)
    firsts, owns = sorted(row['first'] for row in rows), sorted(row['own'] for row in rows)
    if rows:
        bar = 0.15 if options.pack else 0.4
        print(f'{len(rows)} problems, driver start apart: median {statistics.median(firsts):.3f} s, longest {firsts[-1]:.3f} s, '
              f'{sum(seconds <= bar for seconds in firsts)} within {bar} s; warm, of our own: median '
              f'{1e3 * statistics.median(owns):.1f} ms, longest {1e3 * owns[-1]:.1f} ms, '
              f'{sum(seconds <= 5e-3 for seconds in owns)} within 5 ms')
    return {'problems': rows}
