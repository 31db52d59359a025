#!/usr/bin/env python3
"""bench/fit_rates.py recovers the scale and start of synthetic runs, and writes valid C rows."""
import contextlib
import importlib.util
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location('fit_rates', root / 'bench' / 'fit_rates.py')
fit_rates = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fit_rates)


def made(scale, start, count=8, **more):
    """Runs that took scale * model + start * launches, from short to long ones."""
    runs = []
    for i in range(count):
        run = {'strategy': 'direct', 'rank': 2, 'dtype': 'f64', 'fused': 1, 'chosen': 1, 'launches': 1 + i % 5,
               'model': 4e-6 * 3 ** i, **more}
        run['predicted'] = run['model']
        run['measured'] = scale * run['model'] + start * run['launches']
        runs.append(run)
    return runs


class Fit(unittest.TestCase):
    def test_finds_what_runs_were_made_with(self):
        for scale, start in [(1, 0), (1.5, 3e-6), (0.8, 1e-6), (2.2, 6e-6)]:
            found = fit_rates.fit(made(scale, start))
            self.assertAlmostEqual(math.log(found[0] / scale), 0, delta=0.04)
            self.assertAlmostEqual(found[1], start, delta=0.3e-6)

    def test_one_wrong_run_turns_nothing_over(self):
        runs = made(1.5, 3e-6)
        runs[3]['measured'] *= 10
        self.assertAlmostEqual(math.log(fit_rates.fit(runs)[0] / 1.5), 0, delta=0.1)

    def test_classes_are_fitted_apart_and_small_ones_by_wider_ones(self):
        runs = made(2, 0) + made(0.5, 0, dtype='f32') + made(2, 0, rank=3, count=1)
        rows = fit_rates.fit_all(runs)
        self.assertAlmostEqual(rows['direct', 2, 'f64', 1][0], 2, delta=0.1)
        self.assertAlmostEqual(rows['direct', 2, 'f32', 1][0], 0.5, delta=0.05)
        self.assertAlmostEqual(rows['direct', 3, 'f64', 1][0], 2, delta=0.1)
        self.assertEqual(rows['direct', 3, 'f64', 1][2], 9)

    def test_a_run_left_out_is_not_seen(self):
        runs = made(2, 0)
        runs[0]['measured'] *= 3
        self.assertAlmostEqual(fit_rates.left_out(runs[0], runs), 2 * runs[0]['model'], delta=0.1 * runs[0]['model'])

    def test_quantiles(self):
        self.assertEqual(fit_rates.quantile([3, 1, 2], 0.5), 2)
        self.assertAlmostEqual(fit_rates.quantile([1, 2], 0.9), 1.9)

    def test_rows_are_c(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            lines = [{'machine': 'A GPU', 'arch': 'sm_90'}] + made(2, 3e-6) + made(0.5, 0, dtype='f16')
            (folder / 'rates.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in lines))
            sys.argv = ['fit_rates.py', str(folder / 'rates.jsonl'), '--source', 'a file', '--write', str(folder / 'rows.h')]
            with contextlib.redirect_stdout(io.StringIO()) as out:
                fit_rates.main()
            self.assertIn('| model | 2.', out.getvalue())
            text = (folder / 'rows.h').read_text()
            self.assertIn('A GPU, a file', text)
            (folder / 'rows.c').write_text('#include <stdbool.h>\nenum { STN_F64, STN_F32, STN_F16 };\n#include "rows.h"\n'
                                           '#define COUNT(s, r, d, f, scale, start) + (scale > 0 && start >= 0)\n'
                                           '_Static_assert(STN_CALIBRATION_ROWS(COUNT) == 2, "two rows");\n')
            subprocess.run(['cc', '-std=gnu11', '-fsyntax-only', str(folder / 'rows.c')], check=True)

    def test_a_file_without_runs_is_told(self):
        with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as file:
            sys.argv = ['fit_rates.py', file.name]
            with self.assertRaises(SystemExit) as why:
                fit_rates.main()
        self.assertIn('holds no measured run', str(why.exception))


if __name__ == '__main__':
    unittest.main()
