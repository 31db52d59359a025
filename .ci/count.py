#!/usr/bin/env python3
"""What .ci/run needs to read: README's commands, test logs, sources to analyse, and the sum of all results.

    count.py readme README.md N      the N-th ```sh block under the heading "Build and test"
    count.py meson testlog.json [P]  one line a test: "pass|fail|skip NAME REASON", names prefixed with P
    count.py log LOG NAME STATUS     the same of one program's output and exit status
    count.py sources commands.json   the C files of the library, the command and the bench, one a line
    count.py sum COUNTS              prints what failed and was skipped, then the closing line; exits 1 on a failure
"""
import json
import pathlib
import re
import sys

SKIPPED, TIMED_OUT = 77, 'TIMEOUT'
# Criterion's own lines; a case that leaks does not fail by itself, so the sanitizers' words count too.
CASE = re.compile(r'^\[(PASS|FAIL|SKIP)\] ([^\s:]+::[^\s:]+):? ?(.*)$', re.MULTILINE)
SYNTHESIS = re.compile(r'Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)')
ASSERTION = re.compile(r'^\[----\] +(?!Criterion v)(\S.*)$', re.MULTILINE)
# The lines of TAP, and of Python's unittest.
POINT = re.compile(r'^(ok|not ok)\b *\d* *-? *([^#\n]*)(?:# *(?i:SKIP) *(.*))?$', re.MULTILINE)
PLAN = re.compile(r'^1\.\.\d', re.MULTILINE)
NO_POINTS = re.compile(r'^1\.\.0 *# *SKIP *(.*)$', re.MULTILINE | re.IGNORECASE)
UNITTEST = re.compile(r'^Ran (\d+) tests? in .*\n+(OK|FAILED)(.*)$', re.MULTILINE)
UNITTEST_FAILURE = re.compile(r'^(?:FAIL|ERROR): (\S+)', re.MULTILINE)
UNITTEST_SKIPS = re.compile(r'skipped=(\d+)')
UNITTEST_SKIP = re.compile(r'^(\S+) \(.*\)(?:\n.*)? \.\.\. skipped [\'"](.*)[\'"]$', re.MULTILINE)  # with -v only
FINDING = re.compile(r'(ERROR: (?:Address|Thread|Memory)Sanitizer.*|runtime error: .*)')
LEAK = re.compile(r'^(?:Direct|Indirect) leak of .*\n((?: +#\d+ .*\n)+)', re.MULTILINE)
NOT_OURS = re.compile(r'libcriterion\.so|interceptor|libc\.so')


def readme_block(text, number):
    """The commands of a block, or None."""
    heading = re.search(r'^#+ *Build and test *$', text, re.MULTILINE)
    if not heading:
        return None
    section = text[heading.end():]
    following = re.search(r'^# |^## ', section, re.MULTILINE)
    blocks = re.findall(r'^```sh\n(.*?)^```', section[:following.start() if following else None], re.MULTILINE | re.DOTALL)
    return blocks[number - 1] if len(blocks) >= number else None


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ''


def finding(output):
    """What a sanitizer found, or None. A leak with no frame of ours is Criterion's own."""
    found = FINDING.search(output)
    if found:
        return found.group(1)
    for leak in LEAK.finditer(output):
        ours = [frame for frame in leak.group(1).splitlines() if not NOT_OURS.search(frame)]
        if ours:
            return leak.group(0).splitlines()[0] + ' in ' + ours[0].split(' in ', 1)[-1]
    return None


def criterion_cases(name, output):
    verdicts = {'PASS': 'pass', 'FAIL': 'fail', 'SKIP': 'skip'}
    asserted = ' '.join(ASSERTION.findall(output))[:400]
    results = [(verdicts[word], f'{name}/{case}', '' if word == 'PASS' else (word == 'FAIL' and asserted) or reason.strip())
               for word, case, reason in CASE.findall(output)]
    whole = SYNTHESIS.search(output)
    if whole and int(whole.group(1)) != sum(1 for result in results if result[0] != 'skip'):
        tested, passing = int(whole.group(1)), int(whole.group(2))  # parameterised: cases without a line of their own
        results = [result for result in results if result[0] == 'skip']
        results += [('pass', name, '')] * passing + [('fail', name, last_line(output))] * (tested - passing)
    return results


def tap_cases(name, output):
    if not PLAN.search(output):
        return []
    return [('skip' if why else 'pass' if word == 'ok' else 'fail',
             f'{name}/{case.strip()}', why or '') for word, case, why in POINT.findall(output)]


def unittest_cases(name, output):
    whole = UNITTEST.search(output)
    if not whole:
        return []
    failed = sorted(set(UNITTEST_FAILURE.findall(output)))
    counted = UNITTEST_SKIPS.search(whole.group(3))
    skips = [('skip', f'{name}/{case}', why) for case, why in UNITTEST_SKIP.findall(output)]
    skips += [('skip', name, 'one of its cases')] * (int(counted.group(1)) - len(skips) if counted else 0)
    passing = max(0, int(whole.group(1)) - len(failed) - len(skips))
    return [('pass', name, '')] * passing + skips + [('fail', f'{name}/{case}', '') for case in failed]


def test_results(record):
    """(verdict, name, reason) of each case in one test of Meson's log; a test without cases is one case."""
    name, output = record['name'].split(' / ')[-1], record.get('stdout', '') + '\n' + record.get('stderr', '')
    if record['result'] == 'SKIP' or record.get('returncode') == SKIPPED:
        none = NO_POINTS.search(output)
        return [('skip', name, none.group(1) if none else last_line(output))]
    results = criterion_cases(name, output) or tap_cases(name, output) or unittest_cases(name, output)
    found = finding(output)
    failed = record['result'] not in ('OK', 'EXPECTEDFAIL')
    if found:
        results.append(('fail', name, found))
    elif failed and not any(result[0] == 'fail' for result in results):
        why = 'out of time' if record['result'] == TIMED_OUT else last_line(output)
        results.append(('fail', name, why or f"exit status {record.get('returncode')}"))
    elif not results:
        results.append(('pass', name, ''))
    return results


def print_meson(path, prefix):
    for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines():
        for verdict, name, reason in test_results(json.loads(line)):
            print(verdict, (prefix + name).replace(' ', '-'), ' '.join(reason.split()))


def print_log(path, name, status):
    verdict = 'OK' if status == 0 else 'SKIP' if status == SKIPPED else 'FAIL'
    record = {'name': name, 'result': verdict, 'returncode': status,
              'stdout': pathlib.Path(path).read_text(encoding='utf-8', errors='replace')}
    for found in test_results(record):
        print(found[0], found[1].replace(' ', '-'), ' '.join(found[2].split()))


def print_sources(path):
    commands = pathlib.Path(path)
    if not commands.is_file():
        return
    seen = set()
    for command in json.loads(commands.read_text(encoding='utf-8')):
        source = (pathlib.Path(command['directory']) / command['file']).resolve()
        for room in ('src', 'cache', 'bench'):
            if source.suffix == '.c' and source.is_relative_to(pathlib.Path.cwd() / room):
                seen.add(str(source))
    print('\n'.join(sorted(seen)))


def print_sum(path):
    """What was skipped, then what failed, so that it stands next to the closing line."""
    totals, told = {'pass': 0, 'fail': 0, 'skip': 0}, {'fail': [], 'skip': []}
    for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines():
        verdict, name, *reason = line.split(' ', 2)
        totals[verdict] += 1
        words = name + (': ' + reason[0] if reason and reason[0] else '')
        if verdict != 'pass' and words not in told[verdict]:
            told[verdict].append(words)
    for words in told['skip']:
        print('skipped', words)
    for words in told['fail']:
        print('FAILED ', words)
    print('{pass} passed, {fail} failed, {skip} skipped'.format(**totals))
    return 1 if totals['fail'] or not totals['pass'] else 0


def main(mode, path, argument='', status='0'):
    if mode == 'readme':
        block = readme_block(pathlib.Path(path).read_text(encoding='utf-8'), int(argument))
        print(block or '', end='')
        return 0 if block else 1
    if mode == 'meson':
        print_meson(path, argument)
    elif mode == 'log':
        print_log(path, argument, int(status))
    elif mode == 'sources':
        print_sources(path)
    elif mode == 'sum':
        return print_sum(path)
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
