#!/usr/bin/env python3
"""Tests of CI's counting of passed, failed, leaking and skipped tests."""
import contextlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

path = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]) / '.ci' / 'count.py'
spec = importlib.util.spec_from_file_location('count', path)
count = importlib.util.module_from_spec(spec)
spec.loader.exec_module(count)

CASES = '[PASS] s::ok: (0.00s)\n[SKIP] s::gpu: no GPU: none found\n'


def verdicts(result, code, stderr='', stdout=''):
    return count.test_results({'name': 't', 'result': result, 'returncode': code, 'stdout': stdout, 'stderr': stderr})


class Counting(unittest.TestCase):
    def test_a_plain_test_is_one_case(self):
        self.assertEqual(verdicts('OK', 0, 'words'), [('pass', 't', '')])
        self.assertEqual(verdicts('FAIL', 1, 'words\nthe reason\n'), [('fail', 't', 'the reason')])
        self.assertEqual(verdicts('FAIL', -11), [('fail', 't', 'exit status -11')])
        self.assertEqual(verdicts('TIMEOUT', -15, 'words'), [('fail', 't', 'out of time')])

    def test_skips_tell_why(self):
        self.assertEqual(verdicts('SKIP', 77, '', 'no GPU here\n'), [('skip', 't', 'no GPU here')])

    def test_cases_are_counted(self):
        log = CASES + '[====] Synthesis: Tested: 1 | Passing: 1 | Failing: 0 | Crashing: 0 \n'
        self.assertEqual(verdicts('OK', 0, log), [('pass', 't/s::ok', ''), ('skip', 't/s::gpu', 'no GPU: none found')])
        log = CASES + '[FAIL] s::bad: (0.00s)\n[====] Synthesis: Tested: 2 | Passing: 1 | Failing: 1 | Crashing: 0 \n'
        self.assertEqual([found[0] for found in verdicts('FAIL', 1, log)], ['pass', 'skip', 'fail'])

    def test_parameters_are_cases(self):
        log = '[====] Synthesis: Tested: 30 | Passing: 28 | Failing: 2 | Crashing: 1 \n'
        self.assertEqual([found[0] for found in verdicts('FAIL', 1, log)], ['pass'] * 28 + ['fail'] * 2)

    def test_a_test_that_dies_after_its_cases_fails(self):
        self.assertEqual([found[0] for found in verdicts('FAIL', -6, CASES)], ['pass', 'skip', 'fail'])

    def test_tap_points_are_cases(self):
        log = '1..3\nok 1 - sizes\nnot ok 2 - radii\nok 3 - large # SKIP no memory\n'
        self.assertEqual(verdicts('FAIL', 0, '', log), [('pass', 't/sizes', ''), ('fail', 't/radii', ''),
                                                        ('skip', 't/large', 'no memory')])
        self.assertEqual(verdicts('SKIP', 0, '', '1..0 # SKIP no GPU\n'), [('skip', 't', 'no GPU')])

    def test_unittest_cases_are_counted(self):
        log = '..\n---\nRan 3 tests in 0.1s\n\nOK (skipped=1)\n'
        self.assertEqual([found[0] for found in verdicts('OK', 0, log)], ['pass', 'pass', 'skip'])
        log = "test_w (__main__.Errors.test_w)\nWords. ... skipped 'root may'\ntest_x (m.X) ... ok\n" + log
        self.assertEqual(verdicts('OK', 0, log)[-1], ('skip', 't/test_w', 'root may'))
        log = 'ERROR: test_x (__main__.Run)\nwords\nRan 3 tests in 0.1s\n\nFAILED (errors=1)\n'
        self.assertEqual(verdicts('FAIL', 1, log), [('pass', 't', ''), ('pass', 't', ''), ('fail', 't/test_x', '')])

    def test_a_program_outside_of_meson(self):
        def said(text, status):
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
                log = pathlib.Path(folder, 'log')
                log.write_text(text)
                count.main('log', str(log), 'wheel:fft', status)
            return out.getvalue().splitlines()

        self.assertEqual(said('Ran 2 tests in 1s\n\nOK\n', '0'), ['pass wheel:fft '] * 2)
        self.assertEqual(said('no PyTorch\n', '77'), ['skip wheel:fft no PyTorch'])
        self.assertEqual(said('Ran 2 tests in 1s\n\nOK\n', '139')[-1], 'fail wheel:fft OK')
        self.assertEqual(said('Traceback\nImportError: no\n', '1'), ['fail wheel:fft ImportError: no'])

    def test_a_leak_is_a_failure(self):
        log = CASES + 'ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 48 byte(s) in 1 object(s) allocated from:\n'
        log += '    #0 0x7f in __interceptor_calloc ../asan_malloc_linux.cpp:77\n'
        theirs = log + '    #1 0x7f  (/lib/x86_64-linux-gnu/libcriterion.so.3+0x1a332)\n\n'
        ours = log + '    #1 0x55 in new_pack ../cache/pack.c:106\n' + theirs
        self.assertEqual([found[0] for found in verdicts('OK', 0, theirs)], ['pass', 'skip'])
        self.assertEqual(verdicts('OK', 0, ours)[-1], ('fail', 't', 'Direct leak of 48 byte(s) in 1 object(s) allocated '
                                                       'from: in new_pack ../cache/pack.c:106'))

    def test_undefined_behaviour_is_a_failure(self):
        log = CASES + '../src/x.c:3:4: runtime error: signed integer overflow\n'
        self.assertEqual(verdicts('OK', 0, log)[-1], ('fail', 't', 'runtime error: signed integer overflow'))
        log = CASES + '==7==ERROR: AddressSanitizer: heap-buffer-overflow\n'
        self.assertEqual(verdicts('OK', 0, log)[-1][0], 'fail')

    def test_readme_blocks(self):
        text = ('# X\n```sh\nzero\n```\n## Build and test\n```sh\none\n```\nthen\n```c\nno\n```\n'
                '```sh\ntwo\n```\n## Use\n```sh\nthree\n```\n')
        self.assertEqual(count.readme_block(text, 1), 'one\n')
        self.assertEqual(count.readme_block(text, 2), 'two\n')
        self.assertIsNone(count.readme_block(text, 3))
        self.assertIsNone(count.readme_block('# X\n', 1))

    def closing(self, lines):
        with tempfile.NamedTemporaryFile('w', suffix='.txt') as file, contextlib.redirect_stdout(io.StringIO()) as out:
            file.write(lines)
            file.flush()
            code = count.main('sum', file.name)
        return code, out.getvalue().splitlines()

    def test_the_closing_line(self):
        self.assertEqual(self.closing('pass a \npass b \nskip c no GPU\n'),
                         (0, ['skipped c: no GPU', '2 passed, 0 failed, 1 skipped']))
        code, lines = self.closing('pass a \nfail b why\n')
        self.assertEqual((code, lines[-1]), (1, '1 passed, 1 failed, 0 skipped'))
        self.assertEqual(self.closing('')[0], 1)


if __name__ == '__main__':
    unittest.main()
