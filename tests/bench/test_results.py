#!/usr/bin/env python3
"""bench/results.py: a run of the bench becomes lines, lines become the page, and the page in the
tree is that of its lines. Usage: test_results.py BENCH."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / 'bench' / 'results.py'
sys.path.insert(0, str(SCRIPT.parent))
import results  # noqa: E402


class Results(unittest.TestCase):
    def test_a_run_becomes_lines_and_a_page(self):
        run = subprocess.run([BENCH, '--quick', '--device', 'host', '--case', 'heat-2d,heat-1d', '--repeat', '3', '--json'],
                             capture_output=True, text=True, check=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            for commit in ('aaaaaaa', 'bbbbbbb'):
                subprocess.run([sys.executable, SCRIPT, 'add', '--folder', folder, '--commit', commit], input=run, text=True,
                               check=True, capture_output=True)
            files = list(pathlib.Path(folder).iterdir())
            self.assertEqual(len(files), 1)
            lines = [json.loads(line) for line in files[0].read_text().splitlines()]
            page = results.page_of(pathlib.Path(folder))
        right = [row for row in json.loads(run)['results'] if not row['problem']]
        self.assertEqual(len(lines), 2 * len(right))
        self.assertGreater(len(right), 1)
        for line in lines:
            self.assertGreater(line['seconds'], 0)
            self.assertGreater(line['copy_bytes_per_second'], 0)
        self.assertNotIn('aaaaaaa', page, 'the newer line replaces the older one')
        self.assertEqual(page.count('bbbbbbb'), len(right))

    def test_what_is_wrong_is_no_line(self):
        row = {'problem': None, 'verdict': 'WRONG'}
        run = {'results': [row, {'problem': 'not run', 'verdict': 'not run'}], 'machine': 'NVIDIA H200'}
        self.assertEqual(list(results.lines_of(run, 'today', 'c', '')), [])

    def test_names_of_gpus(self):
        for machine, name in (('NVIDIA H200', 'H200'), ('NVIDIA H100 80GB HBM3', 'H100'), ('NVIDIA A100-SXM4-80GB', 'A100'),
                              ('NVIDIA GeForce RTX 4090', 'RTX-4090'), ('8 host threads', 'host')):
            self.assertEqual(results.gpu_of(machine), name)

    def test_the_page_in_the_tree(self):
        done = subprocess.run([sys.executable, SCRIPT, 'check'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == '__main__':
    unittest.main()
