"""Plans of random problems, by stentor-plans (plans.c), for planner.py's regret, cold, survey."""
import collections
import json
import math
import statistics
import subprocess
import time

COUNTS = ('1', '2', '5', '20', '1000')


def rows_of(options, mode, *more):
    """The objects that stentor-plans prints, as they come."""
    command = [options.plans, mode, '--seed', options.seed, '--count', str(options.count), '--limit', str(options.limit), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise SystemExit(f'{" ".join(command)} exited with {process.returncode}')


def quantile(values, part):
    """The value that at most 1 - part of them exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def spread(values, *parts):
    if not values:
        return 'nothing measured'
    named = {0.5: 'median', 1: 'worst'}
    return ', '.join(f'{named.get(part, f"{100 * part:.0f}%")} {statistics.median(values) if part == 0.5 else quantile(values, part):.3f}'
                     for part in parts)


def print_regret(row, what, times, chosen):
    best = min(times, key=lambda each: each[2])
    print(f'{chosen[2] / best[2]:6.3f} {what} {1e3 * chosen[2]:.4f} ms (predicted {1e3 * chosen[1]:.4f}): {row["label"]}\n'
          f'         chosen {chosen[0]}\n         best   {best[0]}: {1e3 * best[2]:.4f} ms (predicted {1e3 * best[1]:.4f})', flush=True)


def regret(options):
    """The choice over the fastest of it, every strategy forced, and MEASURE's choice."""
    rows, estimate, both, measure = [], [], [], []
    begin = time.monotonic()
    for row in rows_of(options, 'regret', '--least', str(options.least), *(['--no-measure'] if options.no_measure else [])):
        plans = [plan for plan in row['plans'] if plan[2]]
        if not plans or plans[0] is not row['plans'][0]:
            continue
        rows.append(row)
        forced = plans[:-1] if row['measured'] else plans
        best = min(plan[2] for plan in plans)
        estimate.append(plans[0][2] / min(plan[2] for plan in forced))
        both.append(plans[0][2] / best)
        if estimate[-1] > 1.05:
            print_regret(row, 'ESTIMATE', forced, plans[0])
        if row['measured']:
            measure.append(plans[-1][2] / best)
            if measure[-1] > 1.03:
                print_regret(row, 'MEASURE', plans, plans[-1])
    made, timed = (sum(row[key] for row in rows) for key in ('made', 'timed'))
    print(f'regret: seed {options.seed}, {len(rows)} problems in {time.monotonic() - begin:.0f} s (plans {made:.0f}, timing {timed:.0f}); ESTIMATE over every '
          f'strategy forced: {spread(estimate, 0.5, 0.9, 1)} (bars 1.02, 1.12, 1.35), over MEASURE too: {spread(both, 0.5, 0.9, 1)}; '
          f'MEASURE: {spread(measure, 0.5, 0.95, 1)} (bars 95% 1.05, worst 1.12)')
    return {'seed': options.seed, 'problems': rows}


def cold(options):
    """Plans with an empty cache folder; see plans.c."""
    rows = []
    ratios = {key: [] for key in ('first', 'many', *COUNTS)}
    for row in rows_of(options, 'cold', '--least', str(options.least), '--repeat', str(options.repeat)):
        rows.append(row)
        own = {'first': row['cold_first'] / row['stored_first'], 'many': row['cold_many'] and row['cold_many'] / row['stored_many']}
        each = row['stored_many'] / 20 if row['stored_many'] else row['stored_first']
        generic = row['generic'] if row['generic'] is not None else math.inf
        for count in COUNTS:
            compiled = row['cold_plan'] + int(count) * each
            seconds = row['first_result'][count]
            own[count] = seconds and seconds / (min(generic, compiled) if count == '1' else compiled)
        for key, value in own.items():
            if value is not None:
                ratios[key].append(value)
        print(f"plan {row['cold_plan']:.3f} s, stored {1e3 * row['stored_plan']:.1f} ms (choosing {1e3 * row['stored_choose']:.1f}, "
              f"loading {row['stored_kernels']:.0f} kernels {1e3 * row['stored_load']:.1f}), first {own['first']:.3f}, generic {generic:.3f} s, "
              f"compile first {row['cold_plan'] + each:.3f} s, first_result {'runs it' if row['first_result_generic'] else 'compiles'}: "
              + ', '.join(f"N={count} {row['first_result'][count]:.3f} s ({own[count]:.2f})" for count in COUNTS if own[count]) + f": {row['label']}", flush=True)
    print(f"cold: seed {options.seed}, {len(rows)} problems; plan s: {spread([row['cold_plan'] for row in rows], 0.5, 1)} (bars 0.5, 1.2); "
          f"stored plan ms: {spread([1e3 * row['stored_plan'] for row in rows], 0.5, 1)} (bar 5); first execution over that from stored kernels: "
          f"{spread(ratios['first'], 0.5, 0.9, 1)}; 20 enqueued: {spread(ratios['many'], 0.5, 0.9, 1)} (bar 1.05); first_result "
          + '; '.join(f"N={count} {spread(ratios[count], 0.5, 1)}" for count in COUNTS) + ' (bars 1.5 for 1, else 1.3)')
    return {'seed': options.seed, 'problems': rows}


def survey(options):
    """Which strategies the estimate chooses, by how much they win, and the CPU time of choosing."""
    wins, gain, choosing = collections.Counter(), {}, []
    for row in rows_of(options, 'survey', '--arch', options.arch, '--least', str(options.least), '--most', '10'):
        first = row['ranking'][0]
        others = [rank[3] for rank in row['ranking'] if rank[0] != first[0]]
        wins[first[0]] += 1
        choosing.append((row['choosing'], row['label']))
        gain[first[0]] = max(gain.get(first[0], (0, '')), (min(others, default=math.inf) / first[3], row['label']))
    for strategy, count in wins.most_common():
        print(f'{count:5d} {strategy}, at best {gain[strategy][0]:.3f} times as fast as the next strategy: {gain[strategy][1]}')
    seconds = [each[0] for each in choosing]
    print(f'survey: seed {options.seed}, {len(choosing)} problems for {options.arch}; CPU s of choosing: {spread(seconds, 0.5, 0.9, 1)} (bar 0.2), '
          f'{sum(each > 0.2 for each in seconds)} over it; longest: {max(choosing, default=(0, ""))[1]}')
    return {'seed': options.seed, 'wins': wins, 'choosing': choosing}
