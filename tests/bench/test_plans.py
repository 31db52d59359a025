#!/usr/bin/env python3
"""stentor-plans surveys each listed problem once, and ends. Usage: test_plans.py PROGRAM."""
import json
import subprocess
import sys
import unittest

PLANS = sys.argv.pop(1)


def survey(pairs):
    """The numbers of the problems that are printed, and the last line of the messages."""
    run = subprocess.run([PLANS, 'survey', '--small', '--only', pairs, '--count', '40'], capture_output=True, text=True, check=True)
    return sorted(json.loads(line)['label'].split()[0] for line in run.stdout.splitlines()), run.stderr.splitlines()[-1]


class Plans(unittest.TestCase):
    def test_a_list(self):
        self.assertEqual(survey('5:52,5:44'), (['5:44', '5:52'], '2 drawn'))
        self.assertEqual(survey('5:52'), (['5:52'], '1 drawn'))

    def test_a_pair_that_is_none(self):
        self.assertEqual(survey('5:52,x'), (['5:52'], '2 drawn'))


if __name__ == '__main__':
    unittest.main()
