#!/usr/bin/env python3
"""Promises of README.md and of the command's page that a test can hold them to: exit codes and commands are those of the command,
links lead somewhere.

Usage: test_readme.py ROOT
"""
import pathlib
import re
import subprocess
import sys
import unittest

from command import BINARY

ROOT = pathlib.Path(sys.argv.pop(1))
PAGES = [ROOT / 'README.md', ROOT / 'src/cli/README.md']
TEXT = PAGES[1].read_text(encoding='utf-8')


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
        links = 0
        for page in PAGES:
            prose = re.sub(r'^    .*$|```[^`]*```', '', page.read_text(encoding='utf-8'), flags=re.MULTILINE)
            for link in re.findall(r'\]\(([^)#:]+)\)', prose):
                links += 1
                self.assertTrue((page.parent / link).exists(), f'{page}: {link}')
        self.assertGreater(links, 5)


if __name__ == '__main__':
    unittest.main()
