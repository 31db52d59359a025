#!/usr/bin/env python3
"""bench/planner.py with the emulated GPU (its times are meaningless): it ends, sums are right."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(1))
COMMAND = os.environ['STENTOR_COMMAND']
LIST = [{'stencil': 'heat-1d', 'size': ['512', '4000'], 'dtype': 'f64', 'boundary': 'wrap', 'steps': 1},
        {'stencil': 'heat-1d', 'size': '300', 'dtype': 'f32', 'boundary': 'fixed', 'steps': 2},
        {'stencil': 'no-such', 'size': '9', 'dtype': 'f64', 'boundary': 'wrap', 'steps': 1}]

spec = importlib.util.spec_from_file_location('planner', SCRIPT)
planner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(planner)


class Planner(unittest.TestCase):
    def run_it(self, what, *more):
        with tempfile.TemporaryDirectory() as folder:
            listed, out = pathlib.Path(folder, 'list.json'), pathlib.Path(folder, 'out.json')
            listed.write_text(json.dumps(LIST), encoding='utf-8')
            done = subprocess.run([sys.executable, '-B', SCRIPT, what, '--stentor', COMMAND, '--list', listed, '--json', out, *more],
                                  capture_output=True, text=True, timeout=400, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, json.loads(out.read_text(encoding='utf-8'))['problems']

    def test_regret(self):
        said, rows = self.run_it('regret', '--limit', '400', '--each', '1')
        self.assertEqual(len(rows), 3)
        self.assertIn('no-such', said)
        self.assertIn('1 problems were not measured', said)
        self.assertRegex(said, r'3 problems: estimate median .*\d of 3 within 15%, \d of 3 within 35%; MEASURE \d of \d within 3%')
        for row in rows:
            self.assertGreater(row['best'], 0)
            self.assertGreaterEqual(row['estimate'], 0)

    def test_replay(self):
        """With recorded times."""
        with tempfile.TemporaryDirectory() as folder:
            times = pathlib.Path(folder, 'times.jsonl')
            _, rows = self.run_it('regret', '--limit', '400', '--each', '1', '--no-measure', '--times', times)
            self.assertTrue(all('measure' not in row for row in rows))
            said, replayed = self.run_it('replay', '--times', times)
            self.assertEqual(sorted(row['problem'] for row in replayed), sorted(row['problem'] for row in rows))
            self.assertRegex(said, r'\d problems: estimate median|no problems')
            self.assertTrue(any(row['estimate'] is not None for row in replayed))
            for row in replayed:
                self.assertTrue(row['estimate'] is None or row['estimate'] >= 0)
                self.assertGreater(row['best'], 0)

    def test_a_limit_leaves_the_rest(self):
        said, rows = self.run_it('regret', '--limit', '1e-9', '--each', '1')
        self.assertEqual(rows, [])
        self.assertIn('4 problems were not measured', said)

    def test_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            held, one = pathlib.Path(folder, 'held.jsonl'), pathlib.Path(folder, 'one.jsonl')
            self.run_it('regret', '--limit', '400', '--each', '1', '--every', '2', '--no-measure', '--times', held)
            lines = held.read_text(encoding='utf-8').splitlines()
            one.write_text(lines[0] + '\n', encoding='utf-8')
            found = {json.loads(line)['problem'] for line in lines}
            said, rows = self.run_it('regret', '--limit', '1e-9', '--missing', one)
            self.assertIn('4 problems', said)
            said, rows = self.run_it('regret', '--limit', '400', '--each', '1', '--missing', held)
            self.assertIn(f'{4 - len(found)} problems', said)
            self.assertEqual(len(found), 2)
            self.assertEqual(len(rows), 1)
            self.assertNotIn(rows[0]['problem'], found)

    def test_sums(self):
        told = {'problem': {'n': 1}, 'strategy': 'b', 'candidate': 'y', 'estimated': ['a', 'x'], 'waited_seconds': 0, 'measuring_seconds': 1,
                'ranking': [{'strategy': 'b', 'candidate': 'y', 'seconds': 3.0, 'measured_seconds': 2.0},
                            {'strategy': 'a', 'candidate': 'x', 'seconds': 1.0, 'measured_seconds': 2.5},
                            {'strategy': 'c', 'candidate': None, 'measured_seconds': None}]}
        row = planner.regret_of(told)
        self.assertEqual((row['best'], row['estimate'], row['candidates']), (2.0, 0.25, 2))
        planner.add_measured(row, told, {'strategy': 'a', 'candidate': 'x', 'measuring_seconds': 1})
        self.assertEqual(row['measure'], 0.25)
        planner.add_measured(row, told, {'strategy': 'a', 'candidate': 'z', 'measuring_seconds': 1})
        self.assertIsNone(row['measure'])
        rows = [{'estimate': value, 'measure': value} for value in (0, 0.02, 0.1, 0.3, 0.5)]
        self.assertEqual(planner.summary(rows), '5 problems: estimate median +10.0%, 90% quantile +50.0%, worst +50.0%, '
                                                '3 of 5 within 15%, 4 of 5 within 35%; MEASURE 2 of 5 within 3%')


if __name__ == '__main__':
    unittest.main()
