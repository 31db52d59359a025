#!/usr/bin/env python3
"""README.md's promises that a test can hold it to: its exit codes are the command's, its links lead somewhere.

Usage: test_readme.py ROOT
"""
import pathlib
import re
import subprocess
import sys
import unittest

from command import BINARY

ROOT = pathlib.Path(sys.argv.pop(1))
TEXT = (ROOT / 'README.md').read_text(encoding='utf-8')


class Readme(unittest.TestCase):
    def test_exit_codes(self):
        text = subprocess.run([BINARY, '--help'], capture_output=True, text=True, check=True).stdout
        told = re.findall(r'^ +(\d+)  (.+)$', text, re.MULTILINE)
        self.assertGreater(len(told), 5)
        self.assertEqual(re.findall(r'^\| (\d+) \| (.+) \|$', TEXT, re.MULTILINE), told)

    def test_commands(self):
        text = subprocess.run([BINARY, '--help'], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r'^  (\w+) {2,}\w', text.split('\n\n')[2], re.MULTILINE)
        self.assertIn('run', commands)
        for command in commands:
            self.assertIn(f'| `stentor {command}', TEXT)

    def test_links(self):
        prose = re.sub(r'^    .*$|```[^`]*```', '', TEXT, flags=re.MULTILINE)
        links = re.findall(r'\]\(([^)#:]+)\)', prose)
        self.assertGreater(len(links), 5)
        for link in links:
            self.assertTrue((ROOT / link).exists(), link)


if __name__ == '__main__':
    unittest.main()
